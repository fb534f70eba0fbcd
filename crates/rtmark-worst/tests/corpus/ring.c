/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A ring whose writer tells the reader of an item, then writes the item. */
#include "corpus.h"

static volatile uint32_t items[8], written, read, wrong;

void interrupt(void)
{
    while (read != written) {
        wrong |= items[read % 8] != 100 + read;
        read++;
    }
}

void program(void)
{
    mask();
    written = read = wrong = 0;
    for (int i = 0; i < 8; i++) {
        items[i] = 0;
    }
    unmask();
    for (uint32_t i = 0; i < 4; i++) {
#ifdef CORRECTED
        items[i] = 100 + i;
        written = i + 1;
#else
        written = i + 1;
        items[i] = 100 + i;
#endif
    }
    mask();
    interrupt();
    end(!wrong && read == 4);
}
