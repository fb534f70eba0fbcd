/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Interrupts that have nothing to do with a kernel: one that counts, and two that pend it, one
 * below it and one beside it. For the scenarios about interrupts alone, in the image `isr`;
 * what a kernel adds to them, such as masking in between, is what they show.
 */
#ifndef PLAIN_HANDLERS_H
#define PLAIN_HANDLERS_H

#include <stdint.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"

enum { PLAIN = 1u << 1, BELOW = 1u << 4, BESIDE = 1u << 5 };

static volatile uint32_t plain_count;

RTMARK_BEGIN_AT_PEND("isr.round_trip", 17);
RTMARK_END_AT_RETURN("isr.round_trip", 17);
RTMARK_END_AT_RETURN("isr.return", 17);
RTMARK_END_AT_ENTRY("isr.tail_chain", IRQ1_Handler);
RTMARK_BEGIN_AT_PEND("isr.nested", 17);
RTMARK_END_AT_ENTRY("isr.nested", IRQ1_Handler);

void IRQ1_Handler(void);
void IRQ4_Handler(void);
void IRQ5_Handler(void);

void IRQ1_Handler(void)
{
    plain_count++;
    RTMARK_BEGIN("isr.return");
}

/* A Cortex-R5 masks interrupts when it takes one: a handler that others may interrupt unmasks them. */
#if __ARM_ARCH_PROFILE == 'R'
#define NESTING_BEGINS() cortex_m_enable_interrupts()
#define NESTING_ENDS() cortex_m_disable_interrupts()
#else
#define NESTING_BEGINS() ((void)0)
#define NESTING_ENDS() ((void)0)
#endif

/* Of lower priority than the one that it pends, which therefore comes at once. */
void IRQ4_Handler(void)
{
    NESTING_BEGINS();
    NVIC_ISPR0 = PLAIN;
    __asm__ __volatile__("dsb\n\tisb" : : : "memory");
    NESTING_ENDS();
}

/* Of the same priority, so that the other one has to wait for its end. */
void IRQ5_Handler(void)
{
    NVIC_ISPR0 = PLAIN;
    RTMARK_BEGIN("isr.tail_chain");
}

/* `highest` is the priority of the interrupt that counts, in the bits that the chip has. */
static inline void plain_handlers_enable(uint32_t highest)
{
    const uint32_t below = highest + (1u << (8 - RTMARK_PRIORITY_BITS));

    NVIC_IPR0 = highest | highest << 8;
    NVIC_IPR1 = below | highest << 8 | highest << 16 | highest << 24;
    NVIC_ISER0 = PLAIN | BELOW | BESIDE;
}

/* Pends an interrupt as often as there are samples; each time it has happened by the end of a
 * short loop. */
static inline void plain_handlers_run(uint32_t interrupt)
{
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        NVIC_ISPR0 = interrupt;
        for (volatile uint32_t spin = 0; spin < 10u; spin++) {
        }
        rtmark_expect("interrupts counted", plain_count, sample);
    }
    rtmark_ok();
}

#endif
