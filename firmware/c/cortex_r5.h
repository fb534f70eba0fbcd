/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interrupt controller of a Zynq UltraScale+'s Cortex-R5 by the names that cortex_m.h has for a
 * Cortex-M's, so that an image which pends an interrupt itself is the same program on both. Compiled
 * for a Cortex-R5, every source begins with this, and cortex_m.h adds nothing to it.
 *
 * And what images need whose kernel has no port of its own: the start of the controller, handlers, and a
 * tick, which is the interrupt of the first counter of the first triple timer.
 *
 * Registers: IHI 0048, chapter 4; UG1087, module TTC. Interrupts of peripherals have the numbers from 32 on.
 */
#ifndef CORTEX_M_H
#define CORTEX_M_H

#ifndef __ASSEMBLER__

#include <stdint.h>

#define CORTEX_R5_DISTRIBUTOR(offset) (*(volatile uint32_t *)(0xF9000000u + (offset)))

#define CORTEX_R5_GICD_CTLR CORTEX_R5_DISTRIBUTOR(0x000u)
#define CORTEX_R5_GICD_ISENABLER2 CORTEX_R5_DISTRIBUTOR(0x108u)
#define CORTEX_R5_GICD_ITARGETSR(interrupt) \
    (*((volatile uint8_t *)0xF9000800u + CORTEX_R5_FIRST_SHARED + (interrupt)))
#define CORTEX_R5_GICC_CTLR CORTEX_R5_DISTRIBUTOR(0x1000u)
#define CORTEX_R5_GICC_PMR CORTEX_R5_DISTRIBUTOR(0x1004u)
#define CORTEX_R5_GICC_IAR CORTEX_R5_DISTRIBUTOR(0x100Cu)
#define CORTEX_R5_GICC_EOIR CORTEX_R5_DISTRIBUTOR(0x1010u)

#define CORTEX_R5_TTC(offset) (*(volatile uint32_t *)(0xFF110000u + (offset)))

enum {
    CORTEX_R5_FIRST_SHARED = 32,
    /* Interrupts that images pend, or that are injected: the first ones. */
    CORTEX_R5_PENDED = 16,
    CORTEX_R5_TICK = 36,
    CORTEX_R5_TTC_HZ = 100000000,
};

#define NVIC_ISER0 CORTEX_R5_DISTRIBUTOR(0x104u)
#define NVIC_ISPR0 CORTEX_R5_DISTRIBUTOR(0x204u)
#define NVIC_IPR0 CORTEX_R5_DISTRIBUTOR(0x420u)
#define NVIC_IPR1 CORTEX_R5_DISTRIBUTOR(0x424u)

static inline void cortex_m_disable_interrupts(void)
{
    __asm__ __volatile__("cpsid i" : : : "memory");
}

static inline void cortex_m_enable_interrupts(void)
{
    __asm__ __volatile__("cpsie i" : : : "memory");
}

/* A handler that the vector leads to: it keeps all registers, and returns to what was interrupted. */
#define CORTEX_R5_HANDLER __attribute__((interrupt("IRQ")))

/* Has the vector of all interrupts lead to a handler. It is in the core's own memory. */
static inline void cortex_r5_handle_by(void (*handler)(void))
{
    *(void (*volatile *)(void))0x38u = handler;
}

/* Has the controller raise the interrupts that are enabled, and the core take them. */
static inline void cortex_r5_start_interrupts(void)
{
    for (uint32_t interrupt = 0; interrupt < CORTEX_R5_PENDED; interrupt++) {
        CORTEX_R5_GICD_ITARGETSR(interrupt) = 1u;
    }
    CORTEX_R5_GICC_PMR = 0xFFu;
    CORTEX_R5_GICD_CTLR = 1u;
    CORTEX_R5_GICC_CTLR = 1u;
    cortex_m_enable_interrupts();
}

/* The same, by the handlers of a Cortex-M's names, each a function: handlers_r5.c looks them up. */
void cortex_r5_start_handlers(void);

/* The same for handlers that may unmask interrupts, so that more urgent ones interrupt them. */
void cortex_r5_start_nesting_handlers(void);

/* Interrupts so often in a second. */
static inline void cortex_r5_start_tick(uint32_t hertz)
{
    enum { STOPPED = 1, INTERVALS = 2, FROM_ZERO = 1 << 4 };

    CORTEX_R5_GICD_ITARGETSR(CORTEX_R5_TICK) = 1u;
    CORTEX_R5_GICD_ISENABLER2 = 1u << ((CORTEX_R5_FIRST_SHARED + CORTEX_R5_TICK) % 32u);
    CORTEX_R5_TTC(0x0Cu) = STOPPED;
    CORTEX_R5_TTC(0x24u) = CORTEX_R5_TTC_HZ / hertz - 1u;
    CORTEX_R5_TTC(0x60u) = 1u;
    CORTEX_R5_TTC(0x0Cu) = INTERVALS | FROM_ZERO;
}

/* Reading clears. */
static inline void cortex_r5_acknowledge_tick(void)
{
    (void)CORTEX_R5_TTC(0x54u);
}

#endif
#endif
