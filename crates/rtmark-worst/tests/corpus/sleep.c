/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flag that is tested before sleep, while the handler may set it between the two. */
#include "corpus.h"

static volatile uint32_t flag;

void interrupt(void) { flag = 1; }

void program(void)
{
    mask();
    flag = 0;
#ifdef CORRECTED
    while (!flag) {
        /* A masked interrupt ends the sleep, and is served when it is over. */
        wait_for_interrupt();
        unmask();
        mask();
    }
#else
    unmask();
    while (!flag) {
        wait_for_interrupt();
    }
#endif
    end(flag);
}
