/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A context that handles interrupts as they are counted, and switches away when all are handled. */
#include "interrupts.h"
#include "rtmark_firmware.h"
#include "switch.h"

static struct floor_stack first_stack;
static struct floor_stack second_stack;

/* Interrupts that came, and that were handled; and whether the handling context waits for one. */
volatile uint32_t storm_came __attribute__((used));
volatile uint32_t storm_handled __attribute__((used));
volatile uint32_t storm_waits __attribute__((used));

RTMARK_BEGIN_AT_PEND("storm.background", 16);

void IRQ0_Handler(void);

/* Counts, and returns into the context that waits, if it does. */
__attribute__((naked)) void IRQ0_Handler(void)
{
    __asm__(
        "   .syntax unified             \n"
        FLOOR_HANDLER_BEGINS
        "   ldr   r0, =storm_came       \n"
        "   ldr   r1, [r0]              \n"
        "   adds  r1, #1                \n"
        "   str   r1, [r0]              \n"
        "   ldr   r0, =storm_waits      \n"
        "   ldr   r1, [r0]              \n"
        "   cmp   r1, #0                \n"
        "   bne   1f                    \n"
        FLOOR_HANDLER_ENDS
        "1: movs  r1, #0                \n"
        "   str   r1, [r0]              \n"
        FLOOR_RETURN_TO_OTHER_THREAD);
}

#if __ARM_ARCH_PROFILE == 'R'

/* A context that leaves by itself needs no exception for it. */
static inline void wait_for_interrupt(void)
{
    cortex_m_disable_interrupts();
    if (storm_came == storm_handled) {
        storm_waits = 1u;
        floor_switch();
    } else {
        cortex_m_enable_interrupts();
    }
    storm_handled++;
}

#else

#define SCB_ICSR CORTEX_M_REGISTER(0xE000ED04u)
#define SCB_ICSR_PENDSVSET (1u << 28)

void PendSV_Handler(void);

/* Returns into the other context, unless an interrupt has come. Of the same priority as the one
 * above, so that none comes in between. */
__attribute__((naked)) void PendSV_Handler(void)
{
    __asm__(
        "   .syntax unified             \n"
        "   ldr   r0, =storm_came       \n"
        "   ldr   r0, [r0]              \n"
        "   ldr   r1, =storm_handled    \n"
        "   ldr   r1, [r1]              \n"
        "   cmp   r0, r1                \n"
        "   beq   1f                    \n"
        "   bx    lr                    \n"
        "1: ldr   r0, =storm_waits      \n"
        "   movs  r1, #1                \n"
        "   str   r1, [r0]              \n"
        FLOOR_RETURN_TO_OTHER_THREAD);
}

static inline void wait_for_interrupt(void)
{
    if (storm_came == storm_handled) {
        SCB_ICSR = SCB_ICSR_PENDSVSET;
        __asm__ __volatile__("dsb\n\tisb" : : : "memory");
    }
    storm_handled++;
}

#endif

/* -------------------------------------------------------------- storm.distance */

static void storming(void)
{
    enable_handler(0, IRQ0_Handler);
    NVIC_ISPR0 = 1u;
    for (uint32_t sample = 0; sample <= RTMARK_SAMPLES; sample++) {
        wait_for_interrupt();
        RTMARK_END("storm.distance");
        RTMARK_BEGIN("storm.distance");
        NVIC_ISPR0 = 1u;
        rtmark_expect("interrupts handled", storm_handled, sample + 1u);
    }
    rtmark_expect("interrupts", storm_came, storm_handled + 1u);
    rtmark_ok();
}

static void nothing_left(void)
{
    for (;;) {
    }
}

static void distance(void)
{
    floor_prepare_thread(&second_stack, nothing_left);
    floor_run_as_thread(&first_stack, storming);
}
RTMARK_SCENARIO("storm.distance", distance);

/* ------------------------------------------------------------ storm.background */

static void handling(void)
{
    for (;;) {
        wait_for_interrupt();
    }
}

static void background(void)
{
    enable_handler(0, IRQ0_Handler);
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        NVIC_ISPR0 = 1u;
        /* Behind these it has come. */
        __asm__ __volatile__("dsb\n\tisb" : : : "memory");
        RTMARK_END("storm.background");

        rtmark_expect("interrupts", storm_came, sample);
        rtmark_expect("interrupts handled", storm_handled, sample);
        rtmark_expect("waits for the next one", storm_waits, 1u);
    }
    rtmark_ok();
}

static void below(void)
{
    floor_prepare_thread(&second_stack, background);
    floor_run_as_thread(&first_stack, handling);
}
RTMARK_SCENARIO("storm.background", below);
