/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interrupt controller of a Zynq UltraScale+'s Cortex-R5 by the names that cortex_m.h has for a
 * Cortex-M's, so that an image which pends an interrupt itself is the same program on both. Compiled
 * for a Cortex-R5, every source begins with this, and cortex_m.h adds nothing to it.
 *
 * Registers: IHI 0048, chapter 4. Interrupts of peripherals have the numbers from 32 on; that they go to
 * this core is the kernel's part to say.
 */
#ifndef CORTEX_M_H
#define CORTEX_M_H

#ifndef __ASSEMBLER__

#include <stdint.h>

#define CORTEX_R5_DISTRIBUTOR(offset) (*(volatile uint32_t *)(0xF9000000u + (offset)))

#define NVIC_ISER0 CORTEX_R5_DISTRIBUTOR(0x104u)
#define NVIC_ISPR0 CORTEX_R5_DISTRIBUTOR(0x204u)
#define NVIC_IPR0 CORTEX_R5_DISTRIBUTOR(0x420u)
#define NVIC_IPR1 CORTEX_R5_DISTRIBUTOR(0x424u)

#endif
#endif
