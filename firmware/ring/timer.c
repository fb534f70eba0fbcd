/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a delay really takes, and what a tick costs. */
#include "bench.h"

/* ---------------------------------------------------------- timer.delay.1000ms */

enum { DELAYS = 4 };

static struct ring_timer timer;
static uint32_t delays;
static uint32_t before;

static void delayed(void *context);

static void start_delay(void)
{
    const struct closure closure = {.function = delayed};

    before = ring_now();

    RTMARK_BEGIN("timer.delay.1000ms");
    ring_timer_start(&timer, closure, RING_TICK_HZ, 0);
}

static void delayed(void *context)
{
    RTMARK_END("timer.delay.1000ms");

    (void)context;
    rtmark_expect("ticks passed", ring_now() - before, RING_TICK_HZ);
    if (++delays == DELAYS) {
        rtmark_ok();
    }
    start_delay();
}
RTMARK_SCENARIO("timer.delay.1000ms", start_delay);

/* ------------------------------------------------------------------ timer.tick */

RTMARK_BEGIN_AT_PEND("timer.tick", CORE_TICK);
RTMARK_END_AT_RETURN("timer.tick", CORE_TICK);

static void spin(void *context)
{
    (void)context;
    while (ring_now() < RTMARK_SAMPLES) {
    }
    rtmark_ok();
}

static void tick(void)
{
    enqueue(spin);
}
RTMARK_SCENARIO("timer.tick", tick);

/* --------------------------------------------------- timer.wake, timer.expiry */

static uint32_t expired;

static void expired_step(void *context);

RTMARK_BEGIN_AT_PEND("timer.wake", CORE_TICK);
RTMARK_END_AT_ENTRY("timer.wake", expired_step);
RTMARK_BEGIN_AT_PEND("timer.expiry", CORE_TICK);
RTMARK_END_AT_ENTRY("timer.expiry", expired_step);

static void __attribute__((noinline)) expired_step(void *context)
{
    (void)context;
    rtmark_expect("ticks", ring_now(), ++expired);
    if (expired > RTMARK_SAMPLES) {
        rtmark_ok();
    }
}

static void expiry(void)
{
    const struct closure closure = {.function = expired_step};

    ring_timer_start(&timer, closure, 1, 1);
}
RTMARK_SCENARIO("timer.wake", expiry);
RTMARK_SCENARIO("timer.expiry", expiry);

/* ----------------------------------------------------------- timer.period.10ms */

#define PERIOD_TICKS (RING_TICK_HZ / 100u)

static void period_step(void *context)
{
    RTMARK_END("timer.period.10ms");
    RTMARK_BEGIN("timer.period.10ms");
    (void)context;
    rtmark_expect("ticks", ring_now(), PERIOD_TICKS * ++expired);
    if (expired > RTMARK_SAMPLES) {
        rtmark_ok();
    }
}

static void period(void)
{
    const struct closure closure = {.function = period_step};

    ring_timer_start(&timer, closure, PERIOD_TICKS, PERIOD_TICKS);
}
RTMARK_SCENARIO("timer.period.10ms", period);

/* --------------------------------------- timer.now, timer.start and timer.stop */

static void never_step(void *context)
{
    (void)context;
    rtmark_failed("a timer went off that was stopped");
}

static void start_step(void *context)
{
    const struct closure closure = {.function = never_step};

    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("timer.now");
        const uint32_t now = ring_now();
        RTMARK_END("timer.now");

        rtmark_expect("time has come", now != 0u, 1u);

        RTMARK_BEGIN("timer.start");
        ring_timer_start(&timer, closure, RING_TICK_HZ, 0);
        RTMARK_END("timer.start");

        rtmark_expect("timer armed", timer.armed, true);

        RTMARK_BEGIN("timer.stop");
        const bool stopped = ring_timer_stop(&timer);
        RTMARK_END("timer.stop");

        rtmark_expect("timer stopped", stopped, true);
    }
    rtmark_ok();
}

static void start(void)
{
    const struct closure closure = {.function = start_step};

    ring_timer_start(&timer, closure, 1, 0);
}
RTMARK_SCENARIO("timer.now", start);
RTMARK_SCENARIO("timer.start", start);
RTMARK_SCENARIO("timer.stop", start);

/* ----------------------------------------------------------- timer.jitter */

enum { JITTER_TICKS = 1000, ITEM_BYTES = 10 };

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
struct item {
    uint8_t bytes[ITEM_BYTES];
} __attribute__((aligned(4)));

static struct item load_storage[4];
static struct ring_queue load_queue = {
    .storage = load_storage, .item_bytes = sizeof(struct item), .length = 4};

static void jitter_step(void *context);

RTMARK_BEGIN_AT_PEND("timer.jitter", CORE_TICK);
RTMARK_END_AT_ENTRY("timer.jitter", jitter_step);

static void __attribute__((noinline)) jitter_step(void *context)
{
    (void)context;
    rtmark_expect("ticks", ring_now(), ++expired);
    if (expired == JITTER_TICKS) {
        rtmark_ok();
    }
}

/* What takes its time is cut into steps: one item each. */
static void load_step(void *context)
{
    static const struct item sent = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
    struct item item = {{0}};

    (void)context;
    (void)ring_send(&load_queue, &sent);
    (void)ring_receive(&load_queue, &item);
    rtmark_expect("last byte of the item", item.bytes[ITEM_BYTES - 1], ITEM_BYTES);
    enqueue(load_step);
}

static void jitter(void)
{
    const struct closure closure = {.function = jitter_step};

    ring_timer_start(&timer, closure, 1, 1);
    enqueue(load_step);
}
RTMARK_SCENARIO("timer.jitter", jitter);

/* ------------------------------------------------------------------ timer.idle */

RTMARK_BEGIN_AT_PEND("timer.idle", CORE_TICK);
RTMARK_END_AT_SLEEP("timer.idle");

static void end_step(void *context)
{
    (void)context;
    rtmark_ok();
}

static void idle(void)
{
    const struct closure closure = {.function = end_step};

    ring_timer_start(&timer, closure, RTMARK_SAMPLES + 1u, 0);
}
RTMARK_SCENARIO("timer.idle", idle);
