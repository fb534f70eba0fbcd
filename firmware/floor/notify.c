/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One word for each context that can be notified: set by anybody, cleared by that context. */
#include <stdbool.h>

#include "rtmark_firmware.h"
#include "switch.h"

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static volatile uint32_t notified;
static volatile uint32_t answered;
static volatile uint32_t times;

static inline bool take(volatile uint32_t *flag)
{
    if (*flag == 0u) {
        return false;
    }
    *flag = 0;
    return true;
}

/* ------------------------------------------------------------ notify.*.immediate */

static void immediate(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("notify.take.poll_empty");
        const bool none = take(&notified);
        RTMARK_END("notify.take.poll_empty");

        RTMARK_BEGIN("notify.give.immediate");
        notified = 1;
        RTMARK_END("notify.give.immediate");

        rtmark_expect("notifications before", none, false);

        RTMARK_BEGIN("notify.take.immediate");
        const bool one = take(&notified);
        RTMARK_END("notify.take.immediate");

        rtmark_expect("notifications", one, true);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("notify.give.immediate", immediate);
RTMARK_SCENARIO("notify.take.immediate", immediate);
RTMARK_SCENARIO("notify.take.poll_empty", immediate);

/* ------------------------------------ notify.give.wake+ctx, notify.take.blocking */

static inline void take_or_wait(void)
{
    while (!take(&notified)) {
        floor_switch();
    }
}

static void waiting(void)
{
    take_or_wait();
    for (;;) {
        RTMARK_END("notify.give.wake+ctx");
        times++;
        RTMARK_BEGIN("notify.take.blocking");
        take_or_wait();
    }
}

static void waking(void)
{
    floor_switch();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("notify.give.wake+ctx");
        notified = 1;
        floor_switch();
        RTMARK_END("notify.take.blocking");

        rtmark_expect("times the other context was notified", times, sample);
    }
    rtmark_ok();
}

static void wake(void)
{
    floor_prepare_thread(&second_stack, waiting);
    floor_run_as_thread(&first_stack, waking);
}
RTMARK_SCENARIO("notify.give.wake+ctx", wake);
RTMARK_SCENARIO("notify.take.blocking", wake);

/* -------------------------------------------------------------- notify.handover */

static void answering(void)
{
    for (;;) {
        while (!take(&notified)) {
            floor_yield();
        }
        RTMARK_END("notify.handover");
        times++;
        answered = 1;
    }
}

static void handover(void)
{
    floor_prepare_coroutine(&second_stack, answering);
    floor_yield();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("notify.handover");
        notified = 1;
        while (!take(&answered)) {
            floor_yield();
        }
        rtmark_expect("times the other context was notified", times, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("notify.handover", handover);
