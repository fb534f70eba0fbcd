/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of one size in a list. It belongs to one context: nothing is masked. */
#include <stddef.h>

#include "heap_pattern.h"
#include "rtmark_firmware.h"

enum { BLOCKS = 4, SMALL_WORDS = 4, LARGE_WORDS = 32 };

static uint32_t small[BLOCKS][SMALL_WORDS];
static uint32_t large[BLOCKS][LARGE_WORDS];
static void *free_blocks;

/* A free block begins with the address of the next one. */
static inline void give(void *block)
{
    *(void **)block = free_blocks;
    free_blocks = block;
}

static inline void *take(void)
{
    void *const block = free_blocks;

    if (block != NULL) {
        free_blocks = *(void **)block;
    }
    return block;
}

#define SIZED(size, blocks)                                             \
    static void sized_##size(void)                                      \
    {                                                                   \
        for (uint32_t number = 0; number < BLOCKS; number++) {          \
            give(blocks[number]);                                       \
        }                                                               \
        for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {  \
            RTMARK_BEGIN("heap.malloc." #size "b");                     \
            void *const block = take();                                 \
            RTMARK_END("heap.malloc." #size "b");                       \
                                                                        \
            rtmark_expect("block given", block != NULL, 1u);            \
                                                                        \
            RTMARK_BEGIN("heap.free." #size "b");                       \
            give(block);                                                \
            RTMARK_END("heap.free." #size "b");                         \
        }                                                               \
        rtmark_ok();                                                    \
    }                                                                   \
    RTMARK_SCENARIO("heap.malloc." #size "b", sized_##size);            \
    RTMARK_SCENARIO("heap.free." #size "b", sized_##size)

SIZED(16, small);
SIZED(128, large);

/* ---------------------------------------------------------------- heap.pattern */

static uint32_t blocks[PATTERN_HELD][PATTERN_LARGEST / 4];

/* Every block is large enough. */
static inline void *take_sized(size_t bytes)
{
    (void)bytes;
    return take();
}

static void pattern(void)
{
    for (uint32_t number = 0; number < PATTERN_HELD; number++) {
        give(blocks[number]);
    }
    PATTERN_RUN(take_sized, give);
}
RTMARK_SCENARIO("heap.pattern.malloc", pattern);
RTMARK_SCENARIO("heap.pattern.free", pattern);
