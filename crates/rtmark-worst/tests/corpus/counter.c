/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A read-modify-write of what a handler modifies, too. */
#include "corpus.h"

static volatile uint32_t events, interrupts;

void interrupt(void)
{
    events++;
    interrupts++;
}

void program(void)
{
    mask();
    events = interrupts = 0;
    unmask();
    for (int i = 0; i < 5; i++) {
#ifdef CORRECTED
        mask();
        events++;
        unmask();
#else
        events++;
#endif
    }
    mask();
    end(events == 5 + interrupts);
}
