/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ring.h"

#include <string.h>

#include "rtmark_firmware.h"
#include "rtmark_soc.h"
#include "tick.h"

/* ------------------------------------------------------------------- closures */

/* A power of two. */
#ifndef RING_LENGTH
#define RING_LENGTH 16u
#endif

const uint32_t ring_length = RING_LENGTH;

static struct closure ring[RING_LENGTH];
/* They count for ever; their difference is the number of closures that wait. */
static uint32_t enqueued;
static uint32_t taken;

bool ring_enqueue(struct closure closure)
{
    const uint32_t primask = ring_enter();
    const bool room = enqueued - taken < RING_LENGTH;

    if (room) {
        ring[enqueued++ % RING_LENGTH] = closure;
    }
    ring_leave(primask);
    return room;
}

void ring_run(void)
{
    for (;;) {
        core_disable_interrupts();
        if (enqueued == taken) {
            /* Wakes for a masked interrupt too, and unmasking lets the handler run. */
            __asm__ __volatile__("wfi" : : : "memory");
            core_enable_interrupts();
            TICK_BARRIER();
            continue;
        }
        const struct closure closure = ring[taken++ % RING_LENGTH];
        core_enable_interrupts();

        closure.function(closure.context);
    }
}

/* --------------------------------------------------------------------- timers */

static volatile uint32_t ticks;
/* Armed timers, the next one to go off first. */
static struct ring_timer *timers;

TICK_HANDLER;

void ring_start_ticks(void)
{
    tick_start(RTMARK_CLOCK_HZ / RING_TICK_HZ);
}

/* What this loop was compiled with. */
static void __attribute__((used)) settings(void)
{
    RTMARK_SETTING("tick_hz", RING_TICK_HZ);
    RTMARK_SETTING("tick_bits", 32);
}

uint32_t ring_now(void)
{
    return ticks;
}

/* Ticks wrap around, hence the signed difference. */
static inline bool is_due(const struct ring_timer *timer, uint32_t now)
{
    return (int32_t)(now - timer->due) >= 0;
}

static void insert(struct ring_timer *timer)
{
    struct ring_timer **place = &timers;

    while (*place != NULL && (int32_t)((*place)->due - timer->due) <= 0) {
        place = &(*place)->next;
    }
    timer->next = *place;
    timer->armed = true;
    *place = timer;
}

void ring_timer_start(struct ring_timer *timer, struct closure closure, uint32_t delay,
                        uint32_t period)
{
    const uint32_t primask = ring_enter();

    timer->closure = closure;
    timer->due = ticks + delay;
    timer->period = period;
    insert(timer);
    ring_leave(primask);
}

bool ring_timer_stop(struct ring_timer *timer)
{
    const uint32_t primask = ring_enter();
    const bool armed = timer->armed;

    if (armed) {
        struct ring_timer **place = &timers;

        while (*place != timer) {
            place = &(*place)->next;
        }
        *place = timer->next;
        timer->armed = false;
    }
    ring_leave(primask);
    return armed;
}

TICK_HANDLER
{
    tick_taken(RTMARK_CLOCK_HZ / RING_TICK_HZ);

    const uint32_t primask = ring_enter();
    const uint32_t now = ++ticks;

    while (timers != NULL && is_due(timers, now)) {
        struct ring_timer *timer = timers;

        timers = timer->next;
        timer->armed = false;
        if (!ring_enqueue(timer->closure)) {
            rtmark_failed("no room for the closure of a timer");
        }
        if (timer->period != 0u) {
            timer->due += timer->period;
            insert(timer);
        }
    }
    ring_leave(primask);
}

/* -------------------------------------------------------------------- signals */

void ring_listen(struct ring_signal *signal, struct ring_listener *listener)
{
    const uint32_t primask = ring_enter();

    listener->next = signal->listeners;
    signal->listeners = listener;
    ring_leave(primask);
}

bool ring_emit(struct ring_signal *signal)
{
    const uint32_t primask = ring_enter();
    bool room = true;

    for (struct ring_listener *listener = signal->listeners; listener != NULL;
         listener = listener->next) {
        room = ring_enqueue(listener->closure) && room;
    }
    ring_leave(primask);
    return room;
}

/* --------------------------------------------------------------------- queues */

static inline uint32_t after(const struct ring_queue *queue, uint32_t place)
{
    return place + 1u == queue->length ? 0u : place + 1u;
}

bool ring_send(struct ring_queue *queue, const void *item)
{
    const uint32_t primask = ring_enter();
    bool done = queue->count < queue->length;

    if (done) {
        memcpy((uint8_t *)queue->storage + queue->in * queue->item_bytes, item, queue->item_bytes);
        queue->in = after(queue, queue->in);
        if (queue->count++ == 0u && queue->on_item.function != NULL) {
            done = ring_enqueue(queue->on_item);
        }
    }
    ring_leave(primask);
    return done;
}

bool ring_receive(struct ring_queue *queue, void *item)
{
    const uint32_t primask = ring_enter();
    const bool done = queue->count != 0u;

    if (done) {
        memcpy(item, (uint8_t *)queue->storage + queue->out * queue->item_bytes, queue->item_bytes);
        queue->out = after(queue, queue->out);
        queue->count--;
    }
    ring_leave(primask);
    return done;
}

/* ---------------------------------------------------------------------- pools */

void ring_pool_init(struct ring_pool *pool, void *storage, uint32_t block_bytes,
                      uint32_t blocks)
{
    uint8_t *block = storage;

    pool->free = NULL;
    for (uint32_t number = 0; number < blocks; number++, block += block_bytes) {
        ring_pool_give(pool, block);
    }
}

/* A free block begins with the address of the next one. */

void *ring_pool_take(struct ring_pool *pool)
{
    const uint32_t primask = ring_enter();
    void *const block = pool->free;

    if (block != NULL) {
        pool->free = *(void **)block;
    }
    ring_leave(primask);
    return block;
}

void ring_pool_give(struct ring_pool *pool, void *block)
{
    const uint32_t primask = ring_enter();

    *(void **)block = pool->free;
    pool->free = block;
    ring_leave(primask);
}
