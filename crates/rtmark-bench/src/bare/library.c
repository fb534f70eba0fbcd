/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What newlib does: numbers to text and back, and sorting by a function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"

#define LINES 24u

static char lines[LINES][32];

static int compared(const void *one, const void *other)
{
    return strcmp(one, other);
}

void program(void)
{
    uint32_t seed = 1;
    long all = 0;
    for (unsigned round = 0; round < 250; round++) {
        for (unsigned i = 0; i < LINES; i++) {
            seed = seed * 1664525u + 1013904223u;
            snprintf(lines[i], sizeof lines[i], "%ld %05u %lx", (long)(int32_t)seed, i,
                     (unsigned long)seed);
        }
        qsort(lines, LINES, sizeof lines[0], compared);
        for (unsigned i = 0; i < LINES; i++) {
            char *rest;
            all += strtol(lines[i], &rest, 10) ^ strtol(rest, &rest, 10);
            all += (long)strtoul(rest, 0, 16);
        }
    }
    keep((uint32_t)all);
}
