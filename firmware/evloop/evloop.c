/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "evloop.h"

#include <string.h>

#include "rtmark_firmware.h"
#include "rtmark_soc.h"
#include "tick.h"

/* ------------------------------------------------------------------- closures */

/* A power of two. */
#ifndef EVLOOP_LENGTH
#define EVLOOP_LENGTH 16u
#endif

const uint32_t evloop_length = EVLOOP_LENGTH;

static struct closure ring[EVLOOP_LENGTH];
/* They count for ever; their difference is the number of closures that wait. */
static uint32_t enqueued;
static uint32_t taken;

bool evloop_enqueue(struct closure closure)
{
    const uint32_t primask = evloop_enter();
    const bool room = enqueued - taken < EVLOOP_LENGTH;

    if (room) {
        ring[enqueued++ % EVLOOP_LENGTH] = closure;
    }
    evloop_leave(primask);
    return room;
}

void evloop_run(void)
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
        const struct closure closure = ring[taken++ % EVLOOP_LENGTH];
        core_enable_interrupts();

        closure.function(closure.context);
    }
}

/* --------------------------------------------------------------------- timers */

static volatile uint32_t ticks;
/* Armed timers, the next one to go off first. */
static struct evloop_timer *timers;

TICK_HANDLER;

void evloop_start_ticks(void)
{
    tick_start(RTMARK_CLOCK_HZ / EVLOOP_TICK_HZ);
}

/* What this loop was compiled with. */
static void __attribute__((used)) settings(void)
{
    RTMARK_SETTING("tick_hz", EVLOOP_TICK_HZ);
    RTMARK_SETTING("tick_bits", 32);
}

uint32_t evloop_now(void)
{
    return ticks;
}

/* Ticks wrap around, hence the signed difference. */
static inline bool is_due(const struct evloop_timer *timer, uint32_t now)
{
    return (int32_t)(now - timer->due) >= 0;
}

static void insert(struct evloop_timer *timer)
{
    struct evloop_timer **place = &timers;

    while (*place != NULL && (int32_t)((*place)->due - timer->due) <= 0) {
        place = &(*place)->next;
    }
    timer->next = *place;
    timer->armed = true;
    *place = timer;
}

void evloop_timer_start(struct evloop_timer *timer, struct closure closure, uint32_t delay,
                        uint32_t period)
{
    const uint32_t primask = evloop_enter();

    timer->closure = closure;
    timer->due = ticks + delay;
    timer->period = period;
    insert(timer);
    evloop_leave(primask);
}

bool evloop_timer_stop(struct evloop_timer *timer)
{
    const uint32_t primask = evloop_enter();
    const bool armed = timer->armed;

    if (armed) {
        struct evloop_timer **place = &timers;

        while (*place != timer) {
            place = &(*place)->next;
        }
        *place = timer->next;
        timer->armed = false;
    }
    evloop_leave(primask);
    return armed;
}

TICK_HANDLER
{
    tick_taken(RTMARK_CLOCK_HZ / EVLOOP_TICK_HZ);

    const uint32_t primask = evloop_enter();
    const uint32_t now = ++ticks;

    while (timers != NULL && is_due(timers, now)) {
        struct evloop_timer *timer = timers;

        timers = timer->next;
        timer->armed = false;
        if (!evloop_enqueue(timer->closure)) {
            rtmark_failed("no room for the closure of a timer");
        }
        if (timer->period != 0u) {
            timer->due += timer->period;
            insert(timer);
        }
    }
    evloop_leave(primask);
}

/* -------------------------------------------------------------------- signals */

void evloop_listen(struct evloop_signal *signal, struct evloop_listener *listener)
{
    const uint32_t primask = evloop_enter();

    listener->next = signal->listeners;
    signal->listeners = listener;
    evloop_leave(primask);
}

bool evloop_emit(struct evloop_signal *signal)
{
    const uint32_t primask = evloop_enter();
    bool room = true;

    for (struct evloop_listener *listener = signal->listeners; listener != NULL;
         listener = listener->next) {
        room = evloop_enqueue(listener->closure) && room;
    }
    evloop_leave(primask);
    return room;
}

/* --------------------------------------------------------------------- queues */

static inline uint32_t after(const struct evloop_queue *queue, uint32_t place)
{
    return place + 1u == queue->length ? 0u : place + 1u;
}

bool evloop_send(struct evloop_queue *queue, const void *item)
{
    const uint32_t primask = evloop_enter();
    bool done = queue->count < queue->length;

    if (done) {
        memcpy((uint8_t *)queue->storage + queue->in * queue->item_bytes, item, queue->item_bytes);
        queue->in = after(queue, queue->in);
        if (queue->count++ == 0u && queue->on_item.function != NULL) {
            done = evloop_enqueue(queue->on_item);
        }
    }
    evloop_leave(primask);
    return done;
}

bool evloop_receive(struct evloop_queue *queue, void *item)
{
    const uint32_t primask = evloop_enter();
    const bool done = queue->count != 0u;

    if (done) {
        memcpy(item, (uint8_t *)queue->storage + queue->out * queue->item_bytes, queue->item_bytes);
        queue->out = after(queue, queue->out);
        queue->count--;
    }
    evloop_leave(primask);
    return done;
}

/* ---------------------------------------------------------------------- pools */

void evloop_pool_init(struct evloop_pool *pool, void *storage, uint32_t block_bytes,
                      uint32_t blocks)
{
    uint8_t *block = storage;

    pool->free = NULL;
    for (uint32_t number = 0; number < blocks; number++, block += block_bytes) {
        evloop_pool_give(pool, block);
    }
}

/* A free block begins with the address of the next one. */

void *evloop_pool_take(struct evloop_pool *pool)
{
    const uint32_t primask = evloop_enter();
    void *const block = pool->free;

    if (block != NULL) {
        pool->free = *(void **)block;
    }
    evloop_leave(primask);
    return block;
}

void evloop_pool_give(struct evloop_pool *pool, void *block)
{
    const uint32_t primask = evloop_enter();

    *(void **)block = pool->free;
    pool->free = block;
    evloop_leave(primask);
}
