/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread-Metric's tests with two contexts: by hand, those that have no more. */
#include "interrupts.h"
#include "rtmark_firmware.h"
#include "switch.h"
#include "tm_basic.h"

static void basic(void)
{
    tm_basic_run();
}
RTMARK_SCENARIO("tm.basic", basic);

/* ---------------------------------------------------------------- tm.interrupt */

static volatile uint32_t given;
static uint32_t taken;

void IRQ1_Handler(void);

HANDLER void IRQ1_Handler(void)
{
    HANDLER_BEGINS;
    given = 1;
    HANDLER_ENDS;
}

static void interrupt(void)
{
    enable_handler(1, IRQ1_Handler);
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("tm.interrupt");
        NVIC_ISPR0 = 1u << 1;
        while (given == 0u) {
        }
        given = 0;
        RTMARK_END("tm.interrupt");
        taken++;
    }
    rtmark_expect("interrupts", taken, RTMARK_SAMPLES);
    rtmark_ok();
}
RTMARK_SCENARIO("tm.interrupt", interrupt);

/* -------------------------------------------------------- tm.interrupt_preempt */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static volatile uint32_t resumed;

void IRQ0_Handler(void);

__attribute__((naked)) void IRQ0_Handler(void)
{
    __asm__("   .syntax unified               \n" FLOOR_HANDLER_BEGINS FLOOR_RETURN_TO_OTHER_THREAD);
}

static void preempting(void)
{
    for (;;) {
        floor_switch();
        resumed++;
    }
}

static void preempted(void)
{
    floor_switch();
    enable_handler(0, IRQ0_Handler);
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("tm.interrupt_preempt");
        NVIC_ISPR0 = 1u;
        while (resumed != sample) {
        }
        RTMARK_END("tm.interrupt_preempt");
        rtmark_expect("times the other context ran", resumed, sample);
    }
    rtmark_ok();
}

static void interrupt_preempt(void)
{
    floor_prepare_thread(&second_stack, preempting);
    floor_run_as_thread(&first_stack, preempted);
}
RTMARK_SCENARIO("tm.interrupt_preempt", interrupt_preempt);
