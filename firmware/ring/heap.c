/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pool of blocks for each size. */
#include "bench.h"
#include "heap_pattern.h"

enum { BLOCKS = 4 };

#define SIZED(size)                                                         \
    static void sized_##size##_step(void *context)                          \
    {                                                                       \
        static uint32_t storage[BLOCKS][size / 4];                          \
        static struct ring_pool pool;                                     \
                                                                            \
        (void)context;                                                      \
        ring_pool_init(&pool, storage, size, BLOCKS);                     \
        for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {      \
            RTMARK_BEGIN("heap.malloc." #size "b");                         \
            void *const block = ring_pool_take(&pool);                    \
            RTMARK_END("heap.malloc." #size "b");                           \
                                                                            \
            rtmark_expect("block given", block == storage[BLOCKS - 1], 1u); \
                                                                            \
            RTMARK_BEGIN("heap.free." #size "b");                           \
            ring_pool_give(&pool, block);                                 \
            RTMARK_END("heap.free." #size "b");                             \
        }                                                                   \
        rtmark_ok();                                                        \
    }                                                                       \
                                                                            \
    static void sized_##size(void)                                          \
    {                                                                       \
        enqueue(sized_##size##_step);                                       \
    }                                                                       \
    RTMARK_SCENARIO("heap.malloc." #size "b", sized_##size);                \
    RTMARK_SCENARIO("heap.free." #size "b", sized_##size)

SIZED(16);
SIZED(128);

/* ---------------------------------------------------------------- heap.pattern */

static struct ring_pool pattern_pool;

/* Every block is large enough. */
static inline void *pattern_take(size_t bytes)
{
    (void)bytes;
    return ring_pool_take(&pattern_pool);
}

static inline void pattern_give(void *block)
{
    ring_pool_give(&pattern_pool, block);
}

static void pattern_step(void *context)
{
    static uint32_t storage[PATTERN_HELD][PATTERN_LARGEST / 4];

    (void)context;
    ring_pool_init(&pattern_pool, storage, PATTERN_LARGEST, PATTERN_HELD);
    PATTERN_RUN(pattern_take, pattern_give);
}

static void pattern(void)
{
    enqueue(pattern_step);
}
RTMARK_SCENARIO("heap.pattern.malloc", pattern);
RTMARK_SCENARIO("heap.pattern.free", pattern);
