/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who ticks for the loop, on each kind of core, and how the handler of that is called. */
#ifndef TICK_H
#define TICK_H

#include <stdint.h>

#include "core.h"
#include "rtmark_soc.h"

#if defined(__riscv)

/* The core's own timer counts at the soc's clock. */
#define TICK_MTIME ((volatile uint32_t *)RTMARK_MTIME)
#define TICK_MTIMECMP ((volatile uint32_t *)RTMARK_MTIMECMP)

/* Nothing else is enabled, so every trap is the tick. */
#define TICK_HANDLER __attribute__((interrupt("machine"), aligned(4))) void rv32_trap_handler(void)
#define TICK_BARRIER() ((void)0)

static uint64_t tick_next;

static inline void tick_taken(uint32_t period)
{
    tick_next += period;
    /* Never less on the way than it was, so that nothing comes early. */
    TICK_MTIMECMP[0] = UINT32_MAX;
    TICK_MTIMECMP[1] = (uint32_t)(tick_next >> 32);
    TICK_MTIMECMP[0] = (uint32_t)tick_next;
}

static inline void tick_start(uint32_t period)
{
    tick_next = (uint64_t)TICK_MTIME[1] << 32 | TICK_MTIME[0];
    tick_taken(period);
    __asm__ __volatile__("csrs mie, %0" : : "r"(1u << 7));
    core_enable_interrupts();
}

#elif __ARM_ARCH_PROFILE == 'R' && RTMARK_INTERRUPTS > 0

#include "cortex_m.h"

#define TICK_HANDLER void SysTick_Handler(void)
#define TICK_BARRIER() __asm__ __volatile__("isb" : : : "memory")

static inline void tick_taken(uint32_t period)
{
    (void)period;
    cortex_r5_acknowledge_tick();
}

static inline void tick_start(uint32_t period)
{
    cortex_r5_start_tick(RTMARK_CLOCK_HZ / period);
    cortex_r5_start_handlers();
}

#elif defined(__aarch64__) || __ARM_ARCH_PROFILE == 'R'

/* Nobody: these have no interrupts. */
#define TICK_HANDLER __attribute__((unused)) static void no_tick(void)
#define TICK_BARRIER() __asm__ __volatile__("isb" : : : "memory")

static inline void tick_taken(uint32_t period)
{
    (void)period;
}

static inline void tick_start(uint32_t period)
{
    (void)period;
}

#else

#include "cortex_m.h"

#define TICK_HANDLER void SysTick_Handler(void)
#define TICK_BARRIER() __asm__ __volatile__("isb" : : : "memory")

static inline void tick_taken(uint32_t period)
{
    (void)period;
}

static inline void tick_start(uint32_t period)
{
    SYST_RVR = period - 1u;
    SYST_CVR = 0;
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}

#endif
#endif
