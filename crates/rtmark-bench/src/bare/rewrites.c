/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes a function into RAM each time before it is called. */
#include "bare.h"

void program(void)
{
    static uint16_t code[4] __attribute__((aligned(4)));
    uint32_t (*const call)(uint32_t) = (uint32_t (*)(uint32_t))((uintptr_t)code | 1);
    uint32_t x = 1;
    for (uint32_t round = 0; round < 100000; round++) {
        code[0] = (uint16_t)(0x3000 | (round & 0xFF)); /* adds r0, #n */
        code[1] = 0x0040;                              /* lsls r0, r0, #1 */
        code[2] = 0x4770;                              /* bx lr */
        __asm__ volatile("dsb\n isb" ::: "memory");
        x = call(x);
    }
    keep(x);
}
