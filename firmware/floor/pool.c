/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of one size in a list, from which a handler may take, too: it is changed with interrupts masked. */
#include <stddef.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"

enum { BLOCKS = 2, WORDS = 16 };

static uint32_t blocks[BLOCKS][WORDS];
static void *free_blocks;

/* A free block begins with the address of the next one. */
static inline void give(void *block)
{
    cortex_m_disable_interrupts();
    *(void **)block = free_blocks;
    free_blocks = block;
    cortex_m_enable_interrupts();
}

static inline void *take(void)
{
    cortex_m_disable_interrupts();
    void *const block = free_blocks;
    if (block != NULL) {
        free_blocks = *(void **)block;
    }
    cortex_m_enable_interrupts();
    return block;
}

static void pool(void)
{
    for (uint32_t number = 0; number < BLOCKS; number++) {
        give(blocks[number]);
    }
    void *const held = take();

    rtmark_expect("blocks held", held != NULL, 1u);
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("pool.take.64b");
        uint32_t *const block = take();
        RTMARK_END("pool.take.64b");

        rtmark_expect("block taken", block != NULL, 1u);
        rtmark_expect("what was left in it", block[WORDS - 1], sample);
        block[WORDS - 1]++;

        /* A look is enough to find it empty. */
        RTMARK_BEGIN("pool.take.empty");
        const void *another = *(void *volatile *)&free_blocks;
        if (__builtin_expect(another != NULL, 0)) {
            another = take();
        }
        RTMARK_END("pool.take.empty");

        rtmark_expect("blocks taken of an empty pool", another != NULL, 0u);

        RTMARK_BEGIN("pool.give.64b");
        give(block);
        RTMARK_END("pool.give.64b");
    }
    rtmark_ok();
}
RTMARK_SCENARIO("pool.take.64b", pool);
RTMARK_SCENARIO("pool.give.64b", pool);
RTMARK_SCENARIO("pool.take.empty", pool);
