/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Thread-Metric's tests, those that closures have something for. */
#include "bench.h"
#include "cortex_m.h"
#include "tm_basic.h"

enum { CLOSURES = 5 };

static uint32_t counters[CLOSURES];

static void basic_step(void *context)
{
    (void)context;
    tm_basic_run();
}

static void basic(void)
{
    enqueue(basic_step);
}
RTMARK_SCENARIO("tm.basic", basic);

/* -------------------------------------------------------------- tm.cooperative */

static void other_step(void *context)
{
    const struct closure again = {.function = other_step, .context = context};

    ++*(uint32_t *)context;
    (void)ring_enqueue(again);
}

static void first_step(void *context);

static void between_step(void *context)
{
    (void)context;
    counters[0]++;
    enqueue(first_step);
}

static void first_step(void *context)
{
    RTMARK_END("tm.cooperative");
    RTMARK_BEGIN("tm.cooperative");
    (void)context;
    if (counters[0]++ == 2u * RTMARK_SAMPLES) {
        for (uint32_t closure = 1; closure < CLOSURES; closure++) {
            rtmark_expect("rounds of a closure", counters[closure], 2u * RTMARK_SAMPLES);
        }
        rtmark_ok();
    }
    enqueue(between_step);
}

static void cooperative(void)
{
    enqueue(first_step);
    for (uint32_t number = 1; number < CLOSURES; number++) {
        const struct closure closure = {.function = other_step, .context = &counters[number]};

        (void)ring_enqueue(closure);
    }
}
RTMARK_SCENARIO("tm.cooperative", cooperative);

/* ---------------------------------------------------------------- tm.interrupt */

static void pend_step(void *context);

static void given_step(void *context)
{
    RTMARK_END("tm.interrupt");
    (void)context;
    counters[0]++;
    enqueue(pend_step);
}

void IRQ1_Handler(void);

void IRQ1_Handler(void)
{
    enqueue(given_step);
}

static void pend_step(void *context)
{
    static uint32_t sample;

    (void)context;
    rtmark_expect("interrupts", counters[0], sample);
    if (sample++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("tm.interrupt");
    NVIC_ISPR0 = 1u << 1;
}

static void interrupt(void)
{
    NVIC_ISER0 = 1u << 1;
    enqueue(pend_step);
}
RTMARK_SCENARIO("tm.interrupt", interrupt);

/* ------------------------------------------------------------------ tm.message */

enum { ITEM_WORDS = 4 };

static void message_step(void *context)
{
    static uint32_t storage[10 * ITEM_WORDS];
    static struct ring_queue queue = {
        .storage = storage, .item_bytes = ITEM_WORDS * sizeof(uint32_t), .length = 10};

    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        const uint32_t sent[ITEM_WORDS] = {sample, 1, 2, 3};
        uint32_t received[ITEM_WORDS] = {0};

        RTMARK_BEGIN("tm.message");
        (void)ring_send(&queue, sent);
        (void)ring_receive(&queue, received);
        RTMARK_END("tm.message");

        rtmark_expect("first word of the item", received[0], sample);
        rtmark_expect("last word of the item", received[ITEM_WORDS - 1], 3u);
    }
    rtmark_ok();
}

static void message(void)
{
    enqueue(message_step);
}
RTMARK_SCENARIO("tm.message", message);

/* ------------------------------------------------------------------- tm.memory */

static void memory_step(void *context)
{
    static uint32_t storage[4][128 / 4];
    static struct ring_pool pool;

    (void)context;
    ring_pool_init(&pool, storage, 128, 4);
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("tm.memory");
        void *const block = ring_pool_take(&pool);
        ring_pool_give(&pool, block);
        RTMARK_END("tm.memory");

        rtmark_expect("block given", block != NULL, 1u);
    }
    rtmark_ok();
}

static void memory(void)
{
    enqueue(memory_step);
}
RTMARK_SCENARIO("tm.memory", memory);
