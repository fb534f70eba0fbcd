/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all images ask of a core, whichever it is. */
#ifndef CORE_H
#define CORE_H

#if defined(__riscv)
#define CORE_DISABLE_INTERRUPTS "csrci mstatus, 8"
#elif defined(__aarch64__)
#define CORE_DISABLE_INTERRUPTS "msr daifset, #3"
#elif __ARM_ARCH_PROFILE == 'R'
#define CORE_DISABLE_INTERRUPTS "cpsid if"
#else
#define CORE_DISABLE_INTERRUPTS "cpsid i"
#endif

static inline void core_disable_interrupts(void)
{
    __asm__ __volatile__(CORE_DISABLE_INTERRUPTS : : : "memory");
}

#endif
