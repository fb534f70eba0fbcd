/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Interrupts of a Cortex-R5 for a kernel that has nothing of its own for them: one handler looks the others
 * up, with interrupts off. These do not interrupt each other, unless an image asks for it.
 */
#include "cortex_m.h"
#include "rtmark_firmware.h"

static void nobody(void)
{
    rtmark_failed("an interrupt came that nobody handles");
}

#define UNLESS_DEFINED __attribute__((weak, alias("nobody")))

void IRQ0_Handler(void) UNLESS_DEFINED;
void IRQ1_Handler(void) UNLESS_DEFINED;
void IRQ4_Handler(void) UNLESS_DEFINED;
void IRQ5_Handler(void) UNLESS_DEFINED;
void IRQ6_Handler(void) UNLESS_DEFINED;
void SysTick_Handler(void) UNLESS_DEFINED;

/* What `rtmark worst` injects. */
static void injected(void)
{
}

void IRQ8_Handler(void) __attribute__((weak, alias("injected")));

static void (*const handlers[])(void) = {
    [0] = IRQ0_Handler, [1] = IRQ1_Handler, [4] = IRQ4_Handler, [5] = IRQ5_Handler,
    [6] = IRQ6_Handler, [8] = IRQ8_Handler, [9] = injected,     [CORTEX_R5_TICK] = SysTick_Handler,
};

static inline void handle(void)
{
    const uint32_t acknowledged = CORTEX_R5_GICC_IAR;
    const uint32_t interrupt = acknowledged - CORTEX_R5_FIRST_SHARED;

    if (interrupt >= sizeof handlers / sizeof handlers[0] || handlers[interrupt] == 0) {
        nobody();
    }
    handlers[interrupt]();
    CORTEX_R5_GICC_EOIR = acknowledged;
}

static CORTEX_R5_HANDLER void look_up(void)
{
    handle();
}

void cortex_r5_handle_nesting(void) __attribute__((used));

void cortex_r5_handle_nesting(void)
{
    handle();
}

/* The return address and status go to the interrupted stack, where System mode also keeps the registers that a
 * handler does not: the next interrupt overwrites what Interrupt mode has. That stack need not be aligned to
 * eight bytes there. */
static __attribute__((naked)) void look_up_nesting(void)
{
    __asm__(
        "   .syntax unified                 \n"
        "   sub   lr, lr, #4                \n"
        "   srsdb sp!, #0x1f                \n"
        "   cps   #0x1f                     \n"
        "   push  {r0-r3, r12, lr}          \n"
        "   and   r1, sp, #4                \n"
        "   sub   sp, sp, r1                \n"
        "   push  {r1, r2}                  \n"
        "   bl    cortex_r5_handle_nesting  \n"
        "   pop   {r1, r2}                  \n"
        "   add   sp, sp, r1                \n"
        "   pop   {r0-r3, r12, lr}          \n"
        "   rfeia sp!                       \n");
}

void cortex_r5_start_handlers(void)
{
    cortex_r5_handle_by(look_up);
    cortex_r5_start_interrupts();
}

void cortex_r5_start_nesting_handlers(void)
{
    cortex_r5_handle_by(look_up_nesting);
    cortex_r5_start_interrupts();
}
