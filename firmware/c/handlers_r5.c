/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Interrupts of a Cortex-R5 for a kernel that has nothing of its own for them: one handler looks the others
 * up, with interrupts off; so these do not interrupt each other.
 */
#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

#if RTMARK_INTERRUPTS > 0

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

static void (*const handlers[])(void) = {
    [0] = IRQ0_Handler, [1] = IRQ1_Handler, [4] = IRQ4_Handler, [5] = IRQ5_Handler,
    [6] = IRQ6_Handler, [8] = injected,     [9] = injected,     [CORTEX_R5_TICK] = SysTick_Handler,
};

static CORTEX_R5_HANDLER void look_up(void)
{
    const uint32_t acknowledged = CORTEX_R5_GICC_IAR;
    const uint32_t interrupt = acknowledged - CORTEX_R5_FIRST_SHARED;

    if (interrupt >= sizeof handlers / sizeof handlers[0] || handlers[interrupt] == 0) {
        nobody();
    }
    handlers[interrupt]();
    CORTEX_R5_GICC_EOIR = acknowledged;
}

void cortex_r5_start_handlers(void)
{
    cortex_r5_handle_by(look_up);
    cortex_r5_start_interrupts();
}

#endif
