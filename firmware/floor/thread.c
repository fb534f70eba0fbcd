/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Switching between contexts: by agreement, and at once. */
#include "interrupts.h"
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
    /* The first time, this context does not come from a suspension. */
    floor_switch();
    for (;;) {
        RTMARK_END("thread.resume.preempt");
        switches++;
        RTMARK_BEGIN("thread.suspend");
        floor_switch();
    }
}

static void resuming(void)
{
    floor_switch();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("thread.resume.preempt");
        floor_switch();
        RTMARK_END("thread.suspend");

        rtmark_expect("times the context was resumed", switches, sample);
    }
    rtmark_ok();
}

static void resume(void)
{
    floor_prepare_thread(&second_stack, suspended);
    floor_run_as_thread(&first_stack, resuming);
}
RTMARK_SCENARIO("thread.resume.preempt", resume);
RTMARK_SCENARIO("thread.suspend", resume);

/* ---------------------------------------------------------- thread.yield.alone */

static void yield_alone(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("thread.yield.alone");
        floor_yield_if_any();
        RTMARK_END("thread.yield.alone");
        switches++;
    }
    rtmark_expect("yields", switches, RTMARK_SAMPLES);
    rtmark_ok();
}
RTMARK_SCENARIO("thread.yield.alone", yield_alone);

/* --------------------------------------------------------------- thread.create */

static void never_runs(void)
{
    rtmark_failed("a context ran that was never to run");
}

static void create(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("thread.create");
        RTMARK_BEGIN("thread.create.static");
        floor_prepare_thread(&second_stack, never_runs);
        RTMARK_END("thread.create");
        RTMARK_END("thread.create.static");

        rtmark_expect("other context", floor_other_thread != 0, 1u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("thread.create", create);
RTMARK_SCENARIO("thread.create.static", create);

/* ---------------------------------------------------- thread.start, thread.end */

/* What begins above others and ends without ever waiting is an interrupt's handler. */

RTMARK_END_AT_ENTRY("thread.start", IRQ0_Handler);
RTMARK_END_AT_ENTRY("thread.start.static", IRQ0_Handler);
RTMARK_END_AT_RETURN("thread.end", 16);

void IRQ0_Handler(void);

HANDLER void IRQ0_Handler(void)
{
    HANDLER_BEGINS;
    switches++;
    RTMARK_BEGIN("thread.end");
    HANDLER_ENDS;
}

static void start(void)
{
    enable_handler(0, IRQ0_Handler);
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("thread.start");
        RTMARK_BEGIN("thread.start.static");
        NVIC_ISPR0 = 1u;
        __asm__ __volatile__("dsb\n\tisb" : : : "memory");

        rtmark_expect("handlers that ran", switches, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("thread.start", start);
RTMARK_SCENARIO("thread.start.static", start);
RTMARK_SCENARIO("thread.end", start);
