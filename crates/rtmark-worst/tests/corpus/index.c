/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue whose index has two words, which are read one after the other. */
#include "corpus.h"

static volatile uint32_t low, high;

void interrupt(void)
{
    low = 0;
    high = 1;
}

void program(void)
{
    int right = 1;

    mask();
    low = 0xFFFFFFFF;
    high = 0;
    unmask();
    for (int i = 0; i < 3; i++) {
#ifdef CORRECTED
        mask();
        uint32_t l = low, h = high;
        unmask();
#else
        uint32_t l = low, h = high;
#endif
        right &= (l == 0xFFFFFFFF && h == 0) || (l == 0 && h == 1);
    }
    end(right);
}
