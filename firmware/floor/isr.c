/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a pending interrupt to its handler, and to the context that waits for it.
 * isr.entry and isr.wake.thread are the same program; they differ in where the span ends.
 */
#include "interrupts.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"
#include "plain_handlers.h"
#include "switch.h"

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static volatile uint32_t handled;

/* Set by the handler: why the waiting context runs again. */
volatile uint32_t interrupt_happened __attribute__((used));

void IRQ0_Handler(void);

RTMARK_BEGIN_AT_PEND("isr.entry", 16);
RTMARK_END_AT_ENTRY("isr.entry", IRQ0_Handler);
RTMARK_BEGIN_AT_PEND("isr.entry.task", 16);
RTMARK_END_AT_ENTRY("isr.entry.task", IRQ0_Handler);

RTMARK_BEGIN_AT_PEND("isr.wake.thread", 16);

__attribute__((naked)) void IRQ0_Handler(void)
{
    __asm__(
        "   .syntax unified               \n"
        FLOOR_HANDLER_BEGINS
        "   ldr   r0, =interrupt_happened \n"
        "   movs  r1, #1                  \n"
        "   str   r1, [r0]                \n"
        FLOOR_RETURN_TO_OTHER_THREAD);
}

static void waiting(void)
{
    for (;;) {
        floor_switch();
        RTMARK_END("isr.wake.thread");
        rtmark_expect("mark of the handler", interrupt_happened, 1u);
        interrupt_happened = 0;
        handled++;
    }
}

static void interrupted(void)
{
    /* Up to where it waits for the first time. */
    floor_switch();
    enable_handler(0, IRQ0_Handler);

    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        NVIC_ISPR0 = 1u;

        /* The interrupt arrives while this context is busy with something of its own. */
        for (volatile uint32_t spin = 0; spin < 10u; spin++) {
        }

        rtmark_expect("interrupts handled", handled, sample);
    }
    rtmark_ok();
}

static void interrupt(void)
{
    floor_prepare_thread(&second_stack, waiting);
    floor_run_as_thread(&first_stack, interrupted);
}
RTMARK_SCENARIO("isr.entry", interrupt);
RTMARK_SCENARIO("isr.entry.task", interrupt);
RTMARK_SCENARIO("isr.wake.thread", interrupt);

/* --------------------------------------------------------- no context is woken */

#if __ARM_ARCH_PROFILE == 'R'

/* Of several interrupts: looks the handler up. */
static CORTEX_R5_HANDLER void handle_plain(void)
{
    static void (*const handlers[])(void) = {[1] = IRQ1_Handler, [5] = IRQ5_Handler};
    const uint32_t acknowledged = CORTEX_R5_GICC_IAR;

    handlers[acknowledged - CORTEX_R5_FIRST_SHARED]();
    CORTEX_R5_GICC_EOIR = acknowledged;
}
#define HANDLE_PLAIN() cortex_r5_handle_by(handle_plain)

void (*const nesting_handlers[])(void) __attribute__((used)) = {[1] = IRQ1_Handler, [4] = IRQ4_Handler};

/* The same for handlers that others may interrupt: what is to be kept is on the interrupted stack, not in
 * registers of the mode that the next interrupt enters. */
static __attribute__((naked)) void handle_nesting(void)
{
    __asm__(
        "   .syntax unified               \n"
        FLOOR_HANDLER_BEGINS
        "   push  {r3, r12}               \n"
        "   sub   r3, r3, #32             \n"
        "   ldr   r0, =nesting_handlers   \n"
        "   ldr   r0, [r0, r3, lsl #2]    \n"
        "   blx   r0                      \n"
        "   pop   {r3, r12}               \n"
        FLOOR_HANDLER_ENDS);
}
#define HANDLE_NESTING() cortex_r5_handle_by(handle_nesting)

#else
#define HANDLE_PLAIN() ((void)0)
#define HANDLE_NESTING() ((void)0)
#endif

static void plain(void)
{
    HANDLE_PLAIN();
    plain_handlers_enable(0);
    plain_handlers_run(PLAIN);
}
RTMARK_SCENARIO("isr.round_trip", plain);
RTMARK_SCENARIO("isr.return", plain);

static void beside(void)
{
    HANDLE_PLAIN();
    plain_handlers_enable(0);
    plain_handlers_run(BESIDE);
}
RTMARK_SCENARIO("isr.tail_chain", beside);

static void nested(void)
{
    HANDLE_NESTING();
    plain_handlers_enable(0);
    plain_handlers_run(BELOW);
}
RTMARK_SCENARIO("isr.nested", nested);
