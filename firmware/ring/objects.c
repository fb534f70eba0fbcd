/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two of each object, and one more of ONE_MORE_<object>: the two images' difference is what it takes.
 * Two, because what is called from one place is compiled into it.
 */
#include "bench.h"

enum { ITEMS = 4, ITEM_BYTES = 10 };

static void step(void *context)
{
    (void)context;
}

/* What it works on is its context's. */
#define TASK(number)                                                     \
    do {                                                                 \
        static uint32_t volatile state;                                  \
        const struct closure task = {step, (void *)&state};              \
                                                                         \
        (void)ring_enqueue(task);                                      \
    } while (0)

#define QUEUE(number)                                                    \
    do {                                                                 \
        static uint8_t storage[ITEMS * ITEM_BYTES];                      \
        static struct ring_queue queue = {                             \
            .storage = storage, .item_bytes = ITEM_BYTES, .length = ITEMS}; \
        static const uint8_t item[ITEM_BYTES] = {number};                \
                                                                         \
        (void)ring_send(&queue, item);                                 \
    } while (0)

#define TIMER(number)                                                    \
    do {                                                                 \
        static struct ring_timer timer;                                \
        const struct closure due = {.function = step};                   \
                                                                         \
        ring_timer_start(&timer, due, 1000, 1000);                     \
    } while (0)

static void end_step(void *context)
{
    (void)context;
    rtmark_ok();
}

static void all(void)
{
    TASK(1);
    QUEUE(1);
    TIMER(1);
    TASK(2);
    QUEUE(2);
    TIMER(2);
#ifdef ONE_MORE_task
    TASK(3);
#endif
#ifdef ONE_MORE_queue
    QUEUE(3);
#endif
#ifdef ONE_MORE_timer
    TIMER(3);
#endif
    enqueue(end_step);
}
RTMARK_SCENARIO("objects.all", all);
