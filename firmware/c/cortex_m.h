/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The few registers of the Cortex-M system control space that the images touch
 * themselves. Addresses and bits: ARMv6-M and ARMv7-M Architecture Reference
 * Manuals, chapter B3.
 */
#ifndef CORTEX_M_H
#define CORTEX_M_H

#include <stdint.h>

#define CORTEX_M_REGISTER(address) (*(volatile uint32_t *)(address))

#define SYST_CSR CORTEX_M_REGISTER(0xE000E010u)
#define SYST_RVR CORTEX_M_REGISTER(0xE000E014u)
#define SYST_CVR CORTEX_M_REGISTER(0xE000E018u)
#define NVIC_ISER0 CORTEX_M_REGISTER(0xE000E100u)
#define NVIC_ISPR0 CORTEX_M_REGISTER(0xE000E200u)
#define NVIC_IPR0 CORTEX_M_REGISTER(0xE000E400u)
#define NVIC_IPR1 CORTEX_M_REGISTER(0xE000E404u)
#define SCB_VTOR CORTEX_M_REGISTER(0xE000ED08u)
#define SCB_CPACR CORTEX_M_REGISTER(0xE000ED88u)

#define SYST_CSR_ENABLE (1u << 0)
#define SYST_CSR_TICKINT (1u << 1)
#define SYST_CSR_CLKSOURCE_CORE (1u << 2)

#define SCB_CPACR_FPU_FULL_ACCESS (0xFu << 20)

static inline void cortex_m_disable_interrupts(void)
{
    __asm__ __volatile__("cpsid i" : : : "memory");
}

static inline void cortex_m_enable_interrupts(void)
{
    __asm__ __volatile__("cpsie i" : : : "memory");
}

#endif
