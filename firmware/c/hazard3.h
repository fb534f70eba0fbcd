/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interrupt controller of a Hazard3 by the names that cortex_m.h has for a Cortex-M's, so that
 * an image which pends an interrupt itself is the same program on both. Compiled for a Hazard3,
 * every source begins with this, and cortex_m.h adds nothing to it.
 *
 * Registers: Xh3irq (RP2350 datasheet, 3.8.6.1). Each is a window of 16 bits, or of four priorities,
 * in an array; what is written chooses it.
 */
#ifndef CORTEX_M_H
#define CORTEX_M_H

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "rtmark_soc.h"

/* Enables some of interrupts 0 to 15, and external interrupts in general. */
static inline void hazard3_enable(uint32_t interrupts)
{
    uint32_t external;

    /* By name, since GCC 12 with Zbs ends in an internal error over this constant as an operand. */
    __asm__("li %0, 1 << 11" : "=r"(external));
    __asm__ __volatile__("csrs mie, %0" : : "r"(external));
    __asm__ __volatile__("csrs 0xbe0, %0" : : "r"(interrupts << 16)); /* meiea */
}

/* Pends some of interrupts 0 to 15, until the program reads their numbers in MEINEXT. */
static inline void hazard3_pend(uint32_t interrupts)
{
    __asm__ __volatile__("csrs 0xbe2, %0" : : "r"(interrupts << 16) : "memory"); /* meifa */
}

/* Gives four interrupts the priorities that a Cortex-M has in the bytes of a word: there 0 is the
 * most urgent, here 15 is. */
static inline void hazard3_prioritise(uint32_t window, uint32_t priorities)
{
    uint32_t levels = window;

    for (uint32_t at = 0; at < 4u; at++) {
        levels |= (15u - (priorities >> (8u * at + 4u) & 15u)) << (16u + 4u * at);
    }
    __asm__ __volatile__("csrw 0xbe3, %0" : : "r"(levels)); /* meipra */
}

#define HAZARD3_PRIORITISE_0(priorities) hazard3_prioritise(0u, priorities)
#define HAZARD3_PRIORITISE_1(priorities) hazard3_prioritise(1u, priorities)

/* What stands in front of `= value;`: the value is handed to a function. */
#define HAZARD3_STORE(function)                                                                   \
    for (uint32_t value_, once_ = 1u; once_ != 0u; once_ = 0u, function(value_)) value_

#define NVIC_ISER0 HAZARD3_STORE(hazard3_enable)
#define NVIC_ISPR0 HAZARD3_STORE(hazard3_pend)
#define NVIC_IPR0 HAZARD3_STORE(HAZARD3_PRIORITISE_0)
#define NVIC_IPR1 HAZARD3_STORE(HAZARD3_PRIORITISE_1)

/* Barriers: writes of CSRs take effect before the next instruction. */
__asm__(".ifndef .Lrtmark_barriers\n"
        ".set .Lrtmark_barriers, 1\n"
        ".macro dsb\n.endm\n"
        ".macro isb\n.endm\n"
        ".endif");

#endif
#endif
