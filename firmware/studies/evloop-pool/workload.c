/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One computation in three surroundings: alone, as a closure that enqueues itself for each
 * step, and with another closure that does so too.
 */
#include "bench.h"

#include <stddef.h>

#include "prime_search.h"
#include "rtmark_firmware.h"
#include "rtmark_probe.h"

static struct prime_search search;
static uint32_t counter;

/* Goes on with a closure, after what waits already. */
static void go_on_with(const struct closure *closure)
{
    if (!pool_loop_enqueue(&loop, closure)) {
        rtmark_failed("no room for a closure");
    }
}

static void begin(void *(*function)(struct closure *closure), void *context)
{
    const struct closure closure = {.function = function, .context = context};

    go_on_with(&closure);
}

/* ------------------------------------------------------- workload.prime.single */

static void go_on(void)
{
}

static void *single_step(struct closure *closure)
{
    (void)closure;
    RTMARK_BEGIN("workload.prime.single");
    prime_search(&search, go_on);
    RTMARK_END("workload.prime.single");

    prime_search_check(&search);
    rtmark_ok();
    return NULL;
}

static void single(void)
{
    begin(single_step, NULL);
}
RTMARK_SCENARIO("workload.prime.single", single);

/* ---------------------------------------- workload.prime.one_task and .two_tasks */

/* What a loop keeps in registers, a closure finds by its context: one trial division a step. */
struct step {
    uint64_t n;
    uint64_t i;
};

static struct step step = {.n = PRIME_SEARCH_START, .i = 2};

/* Makes the step; false when the search is over. */
static inline __attribute__((always_inline)) bool divide(struct step *at)
{
    search.divisions++;
    if (at->n % at->i != 0u) {
        at->i++;
        if (at->i * at->i <= at->n) {
            return true;
        }
        search.primes[search.found++] = at->n;
    }
    search.numbers++;
    at->n++;
    at->i = 2;
    return search.found != PRIME_SEARCH_PRIMES;
}

static void *one_task_step(struct closure *closure)
{
    if (divide(closure->context)) {
        go_on_with(closure);
        return NULL;
    }
    RTMARK_END("workload.prime.one_task");
    prime_search_check(&search);
    rtmark_ok();
    return NULL;
}

static void one_task(void)
{
    RTMARK_BEGIN("workload.prime.one_task");
    begin(one_task_step, &step);
}
RTMARK_SCENARIO("workload.prime.one_task", one_task);

static void *count_step(struct closure *closure)
{
    uint32_t *const count = closure->context;

    ++*count;
    go_on_with(closure);
    return NULL;
}

static void *two_tasks_step(struct closure *closure)
{
    if (divide(closure->context)) {
        go_on_with(closure);
        return NULL;
    }
    RTMARK_END("workload.prime.two_tasks");

    /* The counter's turn comes after the search's, and so not after its last one. */
    rtmark_expect("counter", counter, PRIME_SEARCH_DIVISIONS - 1u);
    prime_search_check(&search);
    rtmark_fact("counter", counter);
    rtmark_ok();
    return NULL;
}

static void two_tasks(void)
{
    RTMARK_BEGIN("workload.prime.two_tasks");
    begin(two_tasks_step, &step);
    begin(count_step, &counter);
}
RTMARK_SCENARIO("workload.prime.two_tasks", two_tasks);
