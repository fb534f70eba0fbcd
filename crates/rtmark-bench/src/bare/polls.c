/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A loop that polls a timer: the CMSDK's first one. */
#include "bare.h"

void program(void)
{
    volatile uint32_t *timer = (volatile uint32_t *)TIMER;
    uint32_t wraps = 0;
    timer[2] = 999;
    timer[1] = 999;
    timer[0] = 1;
    for (uint32_t before = timer[1]; wraps < 40000;) {
        uint32_t now = timer[1];
        wraps += now > before;
        before = now;
    }
    timer[0] = 0;
    keep(wraps);
}
