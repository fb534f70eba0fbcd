/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work of a known length: rounds of ROUND_LOOPS times two instructions, the same in every kernel. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdint.h>

enum { ROUND_LOOPS = 50 };

/* The loop is aligned, so that fetching it takes as long in every kernel. */
static void __attribute__((noinline)) work_rounds(uint32_t rounds)
{
    uint32_t loops = rounds * ROUND_LOOPS;

    __asm__ __volatile__(
        ".syntax unified \n"
        ".balign 16      \n"
        "1: subs %0, #1  \n"
        "   bne  1b      \n"
        : "+l"(loops)
        :
        : "cc");
}

#endif
