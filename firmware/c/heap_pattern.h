/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The order in which heap.pattern.* allocates and frees, the same in every kernel: HELD blocks are
 * held; each round frees one of them and allocates another one.
 */
#ifndef HEAP_PATTERN_H
#define HEAP_PATTERN_H

#include <stddef.h>

#include "rtmark_firmware.h"

enum { PATTERN_HELD = 12, PATTERN_LARGEST = 128 };

/* The upper half of a linear congruential generator: which block, and how large. */
static inline uint32_t pattern_random(uint32_t below)
{
    static uint32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

static inline size_t pattern_bytes(void)
{
    return 8u * (1u + pattern_random(PATTERN_LARGEST / 8u));
}

/* `allocate(bytes)` answers with a block or null, `give_back(block)` takes it back. */
#define PATTERN_RUN(allocate, give_back)                                  \
    do {                                                                  \
        static void *held[PATTERN_HELD];                                  \
                                                                          \
        for (uint32_t place = 0; place < PATTERN_HELD; place++) {         \
            held[place] = allocate(pattern_bytes());                      \
            rtmark_expect("block given", held[place] != NULL, 1u);        \
        }                                                                 \
        for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {    \
            const uint32_t place = pattern_random(PATTERN_HELD);          \
            const size_t bytes = pattern_bytes();                         \
            void *const old = held[place];                                \
                                                                          \
            RTMARK_BEGIN("heap.pattern.free");                            \
            give_back(old);                                               \
            RTMARK_END("heap.pattern.free");                              \
                                                                          \
            RTMARK_BEGIN("heap.pattern.malloc");                          \
            void *const block = allocate(bytes);                          \
            RTMARK_END("heap.pattern.malloc");                            \
                                                                          \
            rtmark_expect("block given", block != NULL, 1u);              \
            held[place] = block;                                          \
        }                                                                 \
        rtmark_ok();                                                      \
    } while (0)

#endif
