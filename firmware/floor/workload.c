/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One computation in three surroundings: alone, with a yield for each step and
 * nobody to yield to, and with another context that takes every yield.
 */
#include "prime_search.h"
#include "switch.h"

static struct prime_search search;
static struct floor_stack counter_stack;
static volatile uint32_t counter;

static void go_on(void)
{
}

static void single(void)
{
    RTMARK_BEGIN("workload.prime.single");
    prime_search(&search, go_on);
    RTMARK_END("workload.prime.single");

    prime_search_check(&search);
    rtmark_ok();
}
RTMARK_SCENARIO("workload.prime.single", single);

static void one_task(void)
{
    RTMARK_BEGIN("workload.prime.one_task");
    prime_search(&search, floor_yield_if_any);
    RTMARK_END("workload.prime.one_task");

    prime_search_check(&search);
    rtmark_ok();
}
RTMARK_SCENARIO("workload.prime.one_task", one_task);

static void count(void)
{
    for (;;) {
        counter++;
        floor_yield_if_any();
    }
}

static void two_tasks(void)
{
    floor_prepare_coroutine(&counter_stack, count);

    RTMARK_BEGIN("workload.prime.two_tasks");
    prime_search(&search, floor_yield_if_any);
    RTMARK_END("workload.prime.two_tasks");

    rtmark_expect("counter", counter, PRIME_SEARCH_DIVISIONS);
    prime_search_check(&search);
    rtmark_fact("counter", counter);
    rtmark_ok();
}
RTMARK_SCENARIO("workload.prime.two_tasks", two_tasks);
