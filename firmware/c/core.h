/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all images ask of a core, whichever it is. */
#ifndef CORE_H
#define CORE_H

#include <stdint.h>

#if defined(__riscv)
#define CORE_DISABLE_INTERRUPTS "csrci mstatus, 8"
#elif defined(__XTENSA__)
#define CORE_DISABLE_INTERRUPTS "rsil a11, 15"
#elif defined(__aarch64__)
#define CORE_DISABLE_INTERRUPTS "msr daifset, #3"
#elif __ARM_ARCH_PROFILE == 'R'
#define CORE_DISABLE_INTERRUPTS "cpsid if"
#else
#define CORE_DISABLE_INTERRUPTS "cpsid i"
#endif

/* Xtensa's instruction also says what was masked before. */
#if defined(__XTENSA__)
#define CORE_CLOBBERS "memory", "a11"
#else
#define CORE_CLOBBERS "memory"
#endif

static inline void core_disable_interrupts(void)
{
    __asm__ __volatile__(CORE_DISABLE_INTERRUPTS : : : CORE_CLOBBERS);
}

/* What masks interrupts, and has been before: `core_mask` says it, `core_restore` puts it back. */
#if defined(__riscv)
#define CORE_MASK "csrrci %0, mstatus, 8\n\tandi %0, %0, 8"
#define CORE_RESTORE "csrs mstatus, %0"
#elif defined(__XTENSA__)
#define CORE_MASK "rsil %0, 15"
#define CORE_RESTORE "wsr.ps %0\n\trsync"
#elif defined(__aarch64__)
#define CORE_MASK "mrs %x0, daif\n\tmsr daifset, #3"
#define CORE_RESTORE "msr daif, %x0"
#elif __ARM_ARCH_PROFILE == 'R'
#define CORE_MASK "mrs %0, cpsr\n\tcpsid if"
#define CORE_RESTORE "msr cpsr_c, %0"
#else
#define CORE_MASK "mrs %0, primask\n\tcpsid i"
#define CORE_RESTORE "msr primask, %0"
#endif

static inline uint32_t core_mask(void)
{
    uint32_t before;

    __asm__ __volatile__(CORE_MASK : "=r"(before) : : "memory");
    return before;
}

static inline void core_restore(uint32_t before)
{
    __asm__ __volatile__(CORE_RESTORE : : "r"(before) : "memory");
}

#if defined(__riscv)
#define CORE_ENABLE_INTERRUPTS "csrsi mstatus, 8"
#elif defined(__XTENSA__)
#define CORE_ENABLE_INTERRUPTS "rsil a11, 0"
#elif defined(__aarch64__)
#define CORE_ENABLE_INTERRUPTS "msr daifclr, #3"
#elif __ARM_ARCH_PROFILE == 'R'
#define CORE_ENABLE_INTERRUPTS "cpsie if"
#else
#define CORE_ENABLE_INTERRUPTS "cpsie i"
#endif

static inline void core_enable_interrupts(void)
{
    __asm__ __volatile__(CORE_ENABLE_INTERRUPTS : : : CORE_CLOBBERS);
}

/* The exception that is the tick: SysTick, or the interrupt of the counter that is in its place. */
#if __ARM_ARCH_PROFILE == 'R'
#define CORE_TICK 52
#else
#define CORE_TICK 15
#endif

#endif
