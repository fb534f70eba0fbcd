/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Switching between contexts: by agreement, and at once. */
#include "rtmark_firmware.h"
#include "switch.h"

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static volatile uint32_t switches;

/* ---------------------------------------------------------------- thread.yield */

/* Two contexts yield to each other: a sample begins in one and ends in the other. */

static void second_yields(void)
{
    switches++;
    for (;;) {
        rtmark_expect("turn", switches % 2u, 1u);
        if (switches == RTMARK_SAMPLES) {
            rtmark_ok();
        }
        RTMARK_BEGIN("thread.yield");
        floor_yield();
        RTMARK_END("thread.yield");
        switches++;
    }
}
RTMARK_END_AT_ENTRY("thread.yield", second_yields);

static void yield(void)
{
    floor_prepare_coroutine(&second_stack, second_yields);
    for (;;) {
        rtmark_expect("turn", switches % 2u, 0u);
        RTMARK_BEGIN("thread.yield");
        floor_yield();
        RTMARK_END("thread.yield");
        switches++;
    }
}
RTMARK_SCENARIO("thread.yield", yield);

/* ------------------------------------------------------- thread.resume.preempt */

/*
 * The other context runs at once, and either may be one that an interrupt left:
 * hence by exception. SVC is the shortest way, because nothing is written to pend it
 * and no barrier is needed.
 */

static void suspended(void)
{
    for (;;) {
        switches++;
        floor_switch();
        RTMARK_END("thread.resume.preempt");
    }
}

static void resuming(void)
{
    /* The first time the other context does not come from a suspension. */
    floor_switch();

    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("thread.resume.preempt");
        floor_switch();

        rtmark_expect("times the context was resumed", switches, 1u + sample);
    }
    rtmark_ok();
}

static void resume(void)
{
    floor_prepare_thread(&second_stack, suspended);
    floor_run_as_thread(&first_stack, resuming);
}
RTMARK_SCENARIO("thread.resume.preempt", resume);
