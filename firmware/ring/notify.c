/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal with one listener. */
#include "bench.h"

static struct ring_signal signal;
static struct ring_listener listener;
static uint32_t given;
static uint32_t times;

static void give_step(void *context);

/* --------------------------------------- notify.give.immediate, notify.handover */

/* The listener's closure runs when the one that emits has ended. */
static void notified_step(void *context)
{
    RTMARK_END("notify.handover");
    (void)context;
    times++;
    enqueue(give_step);
}

static void give_step(void *context)
{
    (void)context;
    rtmark_expect("times the listener ran", times, given);
    if (given++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("notify.handover");
    RTMARK_BEGIN("notify.give.immediate");
    (void)ring_emit(&signal);
    RTMARK_END("notify.give.immediate");
}

static void give(void)
{
    listener.closure.function = notified_step;
    ring_listen(&signal, &listener);
    enqueue(give_step);
}
RTMARK_SCENARIO("notify.give.immediate", give);
RTMARK_SCENARIO("notify.handover", give);
