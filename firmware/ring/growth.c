/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What things cost against how many there are. */

#include "bench.h"

enum { LONG_DELAY = 10000 };

static uint32_t times;

static struct closure closure_of(void (*function)(void *context))
{
    return (struct closure){.function = function, .context = NULL};
}

static void never_step(void *context)
{
    (void)context;
    rtmark_failed("a timer went off that is not due");
}

/* ---------------------------------------------------------- growth.yield.ready */

static void yield_step(void *context);

RTMARK_END_AT_ENTRY("growth.yield.ready", yield_step);

static void __attribute__((noinline)) yield_step(void *context)
{
    (void)context;
    if (times++ == rtmark_point_yields()) {
        rtmark_point_ok();
    }
    RTMARK_BEGIN("growth.yield.ready");
    enqueue(yield_step);
}

static void yield_ready(void)
{
    if (rtmark_point() + 1u > ring_length) {
        rtmark_no_room("closures");
    }
    for (uint32_t number = 0; number <= rtmark_point(); number++) {
        enqueue(yield_step);
    }
}
RTMARK_SCENARIO("growth.yield.ready", yield_ready);

/* --------------------------------------------------- growth.tick.*, .timer.tick */

static void arm_timers(void)
{
    struct ring_timer *armed = rtmark_room(rtmark_point() * sizeof *armed, "timers");

    for (uint32_t number = 0; number < rtmark_point(); number++) {
        ring_timer_start(&armed[number], closure_of(never_step), LONG_DELAY + number, 0);
    }
}

RTMARK_BEGIN_AT_PEND("growth.tick.delayed", CORE_TICK);
RTMARK_END_AT_RETURN("growth.tick.delayed", CORE_TICK);
RTMARK_BEGIN_AT_PEND("growth.timer.tick", CORE_TICK);
RTMARK_END_AT_RETURN("growth.timer.tick", CORE_TICK);

static void spin_step(void *context)
{
    const uint32_t end = ring_now() + RTMARK_POINT_SAMPLES;

    (void)context;
    while (ring_now() <= end) {
    }
    rtmark_point_ok();
}

static void tick_delayed(void)
{
    arm_timers();
    enqueue(spin_step);
}
RTMARK_SCENARIO("growth.tick.delayed", tick_delayed);
RTMARK_SCENARIO("growth.timer.tick", tick_delayed);

/* The first of the closures that the tick enqueues ends the span; the others find none. Each arms
 * its timer anew. */

static void due_step(void *context);

RTMARK_BEGIN_AT_PEND("growth.tick.due", CORE_TICK);
RTMARK_END_AT_ENTRY("growth.tick.due", due_step);

static uint32_t due_period(void)
{
    return 1u + rtmark_point() / 8u;
}

static void arm_due(struct ring_timer *timer, uint32_t ticks_)
{
    const struct closure closure = {.function = due_step, .context = timer};

    ring_timer_start(timer, closure, ticks_, 0);
}

static void __attribute__((noinline)) due_step(void *context)
{
    if (++times == rtmark_point() * (RTMARK_POINT_SAMPLES + 1u)) {
        rtmark_point_ok();
    }
    arm_due(context, due_period() - ring_now() % due_period());
}

static void tick_due(void)
{
    struct ring_timer *due = rtmark_room(rtmark_point() * sizeof *due, "timers");

    for (uint32_t number = 0; number < rtmark_point(); number++) {
        arm_due(&due[number], due_period());
    }
}
RTMARK_SCENARIO("growth.tick.due", tick_due);

/* -------------------------------------- growth.delay.delayed, growth.timer.start */

static struct ring_timer own;

static void other_step(void *context);

RTMARK_END_AT_ENTRY("growth.delay.delayed", other_step);

static void delaying_step(void *context)
{
    (void)context;
    RTMARK_BEGIN("growth.delay.delayed");
    RTMARK_BEGIN("growth.timer.start");
    ring_timer_start(&own, closure_of(never_step), 2u * LONG_DELAY, 0);
    RTMARK_END("growth.timer.start");
}

static void __attribute__((noinline)) other_step(void *context)
{
    (void)context;
    rtmark_expect("timer is the last", own.next == NULL, true);
    rtmark_expect("timer stopped", ring_timer_stop(&own), true);
    if (++times == RTMARK_POINT_SAMPLES) {
        rtmark_point_ok();
    }
    enqueue(delaying_step);
    enqueue(other_step);
}

static void delay_delayed(void)
{
    arm_timers();
    enqueue(delaying_step);
    enqueue(other_step);
}
RTMARK_SCENARIO("growth.delay.delayed", delay_delayed);
RTMARK_SCENARIO("growth.timer.start", delay_delayed);

/* --------------------------------------------------------- growth.timer.expiry */

static void expired_step(void *context);

RTMARK_BEGIN_AT_PEND("growth.timer.expiry", CORE_TICK);
RTMARK_END_AT_ENTRY("growth.timer.expiry", expired_step);

static void __attribute__((noinline)) expired_step(void *context)
{
    (void)context;
    if (++times > RTMARK_POINT_SAMPLES) {
        rtmark_point_ok();
    }
}

static void expiry(void)
{
    arm_timers();
    ring_timer_start(&own, closure_of(expired_step), 1, 1);
}
RTMARK_SCENARIO("growth.timer.expiry", expiry);

/* ------------------------------------------------------------- growth.wake.all */

static struct ring_signal signal;
static uint32_t samples;

static void listening_step(void *context)
{
    (void)context;
    times++;
}

static void emitting_step(void *context)
{
    (void)context;
    rtmark_expect("closures run", times, samples * rtmark_point());
    if (samples++ == RTMARK_POINT_SAMPLES) {
        rtmark_point_ok();
    }
    RTMARK_BEGIN("growth.wake.all");
    const bool done = ring_emit(&signal);
    RTMARK_END("growth.wake.all");

    rtmark_expect("result of the emission", done, true);
    enqueue(emitting_step);
}

static void wake_all(void)
{
    struct ring_listener *listeners =
        rtmark_room(rtmark_point() * sizeof *listeners, "listeners");

    if (rtmark_point() + 1u > ring_length) {
        rtmark_no_room("closures");
    }
    for (uint32_t number = 0; number < rtmark_point(); number++) {
        listeners[number].closure = closure_of(listening_step);
        ring_listen(&signal, &listeners[number]);
    }
    enqueue(emitting_step);
}
RTMARK_SCENARIO("growth.wake.all", wake_all);

/* ---------------------------------------- growth.queue.send, .queue.receive */

static struct ring_queue queue;

static void depth_step(void *context)
{
    (void)context;
    for (uint32_t number = 1; number < rtmark_point(); number++) {
        rtmark_expect("result of a send", ring_send(&queue, &number), true);
    }
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        const uint32_t sent = rtmark_point() + sample;
        uint32_t received = 0;

        RTMARK_BEGIN("growth.queue.send");
        const bool done = ring_send(&queue, &sent);
        RTMARK_END("growth.queue.send");

        rtmark_expect("result of the send", done, true);
        rtmark_expect("items", queue.count, rtmark_point());

        RTMARK_BEGIN("growth.queue.receive");
        ring_receive(&queue, &received);
        RTMARK_END("growth.queue.receive");

        rtmark_expect("item", received, sample + 1u);
    }
    rtmark_point_ok();
}

static void depth(void)
{
    queue.item_bytes = sizeof(uint32_t);
    queue.length = rtmark_point();
    queue.storage = rtmark_room(rtmark_point() * sizeof(uint32_t), "items");
    enqueue(depth_step);
}
RTMARK_SCENARIO("growth.queue.send", depth);
RTMARK_SCENARIO("growth.queue.receive", depth);
