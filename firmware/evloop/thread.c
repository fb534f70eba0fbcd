/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From one closure to the next. */
#include "bench.h"

static uint32_t switches;

/* ---------------------------------------------------------------- thread.yield */

/* Two closures, each of which re-enqueues itself: a sample begins in one and ends where the
 * other begins. */

static void first_step(void *context);
static void second_step(void *context);

RTMARK_END_AT_ENTRY("thread.yield", first_step);
RTMARK_END_AT_ENTRY("thread.yield", second_step);

static void __attribute__((noinline)) first_step(void *context)
{
    (void)context;
    rtmark_expect("turn", switches % 2u, 0u);
    switches++;

    RTMARK_BEGIN("thread.yield");
    enqueue(first_step);
}

static void __attribute__((noinline)) second_step(void *context)
{
    (void)context;
    rtmark_expect("turn", switches % 2u, 1u);
    switches++;
    if (switches > RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("thread.yield");
    enqueue(second_step);
}

static void yield(void)
{
    enqueue(first_step);
    enqueue(second_step);
}
RTMARK_SCENARIO("thread.yield", yield);
