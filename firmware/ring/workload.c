/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One computation in three surroundings: alone, as a closure that re-enqueues itself for each
 * step, and with another closure that does so too.
 */
#include "bench.h"

#include "prime_search.h"

static struct prime_search search;
static uint32_t counter;

/* ------------------------------------------------------- workload.prime.single */

static void go_on(void)
{
}

static void single_step(void *context)
{
    (void)context;
    RTMARK_BEGIN("workload.prime.single");
    prime_search(&search, go_on);
    RTMARK_END("workload.prime.single");

    prime_search_check(&search);
    rtmark_ok();
}

static void single(void)
{
    enqueue(single_step);
}
RTMARK_SCENARIO("workload.prime.single", single);

/* ---------------------------------------- workload.prime.one_task and .two_tasks */

/* What a loop keeps in registers, a closure keeps in memory: one trial division a step. */

static uint64_t n;
static uint64_t i;

static void begin_search(void)
{
    n = PRIME_SEARCH_START;
    i = 2;
}

/* Makes the step; false when the search is over. */
static inline __attribute__((always_inline)) bool divide(void)
{
    search.divisions++;
    if (n % i != 0u) {
        i++;
        if (i * i <= n) {
            return true;
        }
        search.primes[search.found++] = n;
    }
    search.numbers++;
    n++;
    i = 2;
    return search.found != PRIME_SEARCH_PRIMES;
}

static void one_task_step(void *context)
{
    (void)context;
    if (divide()) {
        enqueue(one_task_step);
        return;
    }
    RTMARK_END("workload.prime.one_task");
    prime_search_check(&search);
    rtmark_ok();
}

static void one_task(void)
{
    begin_search();
    RTMARK_BEGIN("workload.prime.one_task");
    enqueue(one_task_step);
}
RTMARK_SCENARIO("workload.prime.one_task", one_task);

static void count_step(void *context)
{
    (void)context;
    counter++;
    enqueue(count_step);
}

static void two_tasks_step(void *context)
{
    (void)context;
    if (divide()) {
        enqueue(two_tasks_step);
        return;
    }
    RTMARK_END("workload.prime.two_tasks");

    /* The counter's turn comes after the search's, and so not after its last one. */
    rtmark_expect("counter", counter, PRIME_SEARCH_DIVISIONS - 1u);
    prime_search_check(&search);
    rtmark_fact("counter", counter);
    rtmark_ok();
}

static void two_tasks(void)
{
    begin_search();
    RTMARK_BEGIN("workload.prime.two_tasks");
    enqueue(two_tasks_step);
    enqueue(count_step);
}
RTMARK_SCENARIO("workload.prime.two_tasks", two_tasks);
