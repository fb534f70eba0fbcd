/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A loop that SysTick interrupts every 500 cycles. */
#include "bare.h"

static volatile uint32_t ticks;

void tick(void)
{
    ticks++;
}

void program(void)
{
    volatile uint32_t *systick = (volatile uint32_t *)0xE000E010;
    uint32_t sum = 0;
    systick[1] = 499;
    systick[2] = 0;
    systick[0] = 7;
    for (uint32_t n = 0; ticks < 100000; n++) {
        sum = sum * 1664525u + n;
        sum ^= sum >> 7;
    }
    systick[0] = 0;
    keep(sum);
}
