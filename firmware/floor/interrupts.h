/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Handlers by hand, of which a scenario has one. A Cortex-M finds it in its vector table, and it is a
 * function. A Cortex-R5 has one vector for all interrupts, which leads to it; it acknowledges its interrupt
 * when it begins, and tells the controller when it ends.
 */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "core.h"
#include "cortex_m.h"
#include "rtmark_soc.h"

#if __ARM_ARCH_PROFILE == 'R'

#define HANDLER CORTEX_R5_HANDLER
#define HANDLER_BEGINS const uint32_t handled_interrupt_ = CORTEX_R5_GICC_IAR
#define HANDLER_ENDS CORTEX_R5_GICC_EOIR = handled_interrupt_
#define TICK_BEGINS HANDLER_BEGINS; cortex_r5_acknowledge_tick()
#define TICK_ENDS HANDLER_ENDS

static inline void enable_handler(uint32_t interrupt, void (*handler)(void))
{
    cortex_r5_handle_by(handler);
    NVIC_ISER0 = 1u << interrupt;
}

static inline void start_tick(uint32_t hertz, void (*handler)(void))
{
    cortex_r5_handle_by(handler);
    cortex_r5_start_tick(hertz);
}

#else

#define HANDLER
#define HANDLER_BEGINS ((void)0)
#define HANDLER_ENDS ((void)0)
#define TICK_BEGINS ((void)0)
#define TICK_ENDS ((void)0)

static inline void enable_handler(uint32_t interrupt, void (*handler)(void))
{
    (void)handler;
    NVIC_ISER0 = 1u << interrupt;
}

static inline void start_tick(uint32_t hertz, void (*handler)(void))
{
    (void)handler;
    SYST_RVR = RTMARK_CLOCK_HZ / hertz - 1u;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}

#endif
#endif
