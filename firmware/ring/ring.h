/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ring: an event loop, as small as such loops are. Closures wait in a ring.
 *
 * A closure is a function with its context. Whoever has work, in the program or in an
 * interrupt, enqueues a closure; the loop takes one after the other and runs each to its end.
 * So there is one stack, nothing preempts but interrupts, and nothing ever blocks: a closure
 * that wants to go on later enqueues itself, or has a timer, a signal or a queue do it.
 */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

/* ---------------------------------------------------------- critical sections */

/* They may lie within each other: leaving one restores what was before. */
static inline uint32_t ring_enter(void)
{
    return core_mask();
}

static inline void ring_leave(uint32_t before)
{
    core_restore(before);
}

/* ------------------------------------------------------------------- closures */

struct closure {
    void (*function)(void *context);
    void *context;
};

/* How many closures may wait to be run. */
extern const uint32_t ring_length;

/* Has the loop run a closure after those that wait already. Interrupts may call it.
 * False when there is no room. */
bool ring_enqueue(struct closure closure);

/* Runs closures for ever, and sleeps while there are none. A function of its own, by which tools find
 * what it calls. */
void ring_run(void) __attribute__((noreturn, noinline));

/* --------------------------------------------------------------------- timers */

#ifndef RTMARK_SET_TICK_HZ
#define RTMARK_SET_TICK_HZ 1000
#endif
#define RING_TICK_HZ (RTMARK_SET_TICK_HZ + 0u)

struct ring_timer {
    struct ring_timer *next;
    uint32_t due;
    uint32_t period;
    struct closure closure;
    bool armed;
};

/* Starts the tick, from SysTick. */
void ring_start_ticks(void);

/* Ticks since then. */
uint32_t ring_now(void);

/* Has the closure enqueued when so many ticks have passed, and then every `period` ticks unless
 * that is zero. The timer must not be armed. */
void ring_timer_start(struct ring_timer *timer, struct closure closure, uint32_t delay,
                        uint32_t period);

/* False if it was not armed, or has gone off. */
bool ring_timer_stop(struct ring_timer *timer);

/* -------------------------------------------------------------------- signals */

struct ring_listener {
    struct ring_listener *next;
    struct closure closure;
};

struct ring_signal {
    struct ring_listener *listeners;
};

/* From now on, each emission enqueues the listener's closure. */
void ring_listen(struct ring_signal *signal, struct ring_listener *listener);

/* Enqueues the closures of all listeners. Interrupts may call it. False when there was no
 * room for one of them. */
bool ring_emit(struct ring_signal *signal);

/* --------------------------------------------------------------------- queues */

/* A ring of items, copied in and out. */
struct ring_queue {
    void *storage;
    uint32_t item_bytes;
    uint32_t length;
    volatile uint32_t count;
    uint32_t in;
    uint32_t out;
    /* Enqueued when an item comes into the empty queue; its function may be null. */
    struct closure on_item;
};

/* Both may be called by interrupts. False when the queue is full, or empty. */
bool ring_send(struct ring_queue *queue, const void *item);
bool ring_receive(struct ring_queue *queue, void *item);

/* ---------------------------------------------------------------------- pools */

/* Blocks of one size, given out and taken back in constant time. */
struct ring_pool {
    void *free;
};

/* `block_bytes` is a multiple of four. */
void ring_pool_init(struct ring_pool *pool, void *storage, uint32_t block_bytes,
                      uint32_t blocks);

/* Null when none is left. Interrupts may call both. */
void *ring_pool_take(struct ring_pool *pool);
void ring_pool_give(struct ring_pool *pool, void *block);

#endif
