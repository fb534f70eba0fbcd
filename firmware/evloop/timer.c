/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a delay really takes, and what a tick costs. */
#include "bench.h"

/* ---------------------------------------------------------- timer.delay.1000ms */

enum { DELAYS = 4 };

static struct evloop_timer timer;
static uint32_t delays;
static uint32_t before;

static void delayed(void *context);

static void start_delay(void)
{
    const struct closure closure = {.function = delayed};

    before = evloop_now();

    RTMARK_BEGIN("timer.delay.1000ms");
    evloop_timer_start(&timer, closure, EVLOOP_TICK_HZ, 0);
}

static void delayed(void *context)
{
    RTMARK_END("timer.delay.1000ms");

    (void)context;
    rtmark_expect("ticks passed", evloop_now() - before, EVLOOP_TICK_HZ);
    if (++delays == DELAYS) {
        rtmark_ok();
    }
    start_delay();
}
RTMARK_SCENARIO("timer.delay.1000ms", start_delay);

/* ------------------------------------------------------------------ timer.tick */

RTMARK_BEGIN_AT_PEND("timer.tick", 15);
RTMARK_END_AT_RETURN("timer.tick", 15);

static void spin(void *context)
{
    (void)context;
    while (evloop_now() < RTMARK_SAMPLES) {
    }
    rtmark_ok();
}

static void tick(void)
{
    enqueue(spin);
}
RTMARK_SCENARIO("timer.tick", tick);
