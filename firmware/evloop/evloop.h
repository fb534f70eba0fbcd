/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * evloop: an event loop of closures, as small as such loops are.
 *
 * A closure is a function with its context. Whoever has work, in the program or in an
 * interrupt, enqueues a closure; the loop takes one after the other and runs each to its end.
 * So there is one stack, nothing preempts but interrupts, and nothing ever blocks: a closure
 * that wants to go on later enqueues itself, or has a timer, a signal or a queue do it.
 */
#ifndef EVLOOP_H
#define EVLOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

/* ---------------------------------------------------------- critical sections */

/* They may lie within each other: leaving one restores what was before. */
static inline uint32_t evloop_enter(void)
{
    return core_mask();
}

static inline void evloop_leave(uint32_t before)
{
    core_restore(before);
}

/* ------------------------------------------------------------------- closures */

struct closure {
    void (*function)(void *context);
    void *context;
};

/* How many closures may wait to be run. */
extern const uint32_t evloop_length;

/* Has the loop run a closure after those that wait already. Interrupts may call it.
 * False when there is no room. */
bool evloop_enqueue(struct closure closure);

/* Runs closures for ever, and sleeps while there are none. A function of its own, by which tools find
 * what it calls. */
void evloop_run(void) __attribute__((noreturn, noinline));

/* --------------------------------------------------------------------- timers */

#ifndef RTMARK_SET_TICK_HZ
#define RTMARK_SET_TICK_HZ 1000
#endif
#define EVLOOP_TICK_HZ (RTMARK_SET_TICK_HZ + 0u)

struct evloop_timer {
    struct evloop_timer *next;
    uint32_t due;
    uint32_t period;
    struct closure closure;
    bool armed;
};

/* Starts the tick, from SysTick. */
void evloop_start_ticks(void);

/* Ticks since then. */
uint32_t evloop_now(void);

/* Has the closure enqueued when so many ticks have passed, and then every `period` ticks unless
 * that is zero. The timer must not be armed. */
void evloop_timer_start(struct evloop_timer *timer, struct closure closure, uint32_t delay,
                        uint32_t period);

/* False if it was not armed, or has gone off. */
bool evloop_timer_stop(struct evloop_timer *timer);

/* -------------------------------------------------------------------- signals */

struct evloop_listener {
    struct evloop_listener *next;
    struct closure closure;
};

struct evloop_signal {
    struct evloop_listener *listeners;
};

/* From now on, each emission enqueues the listener's closure. */
void evloop_listen(struct evloop_signal *signal, struct evloop_listener *listener);

/* Enqueues the closures of all listeners. Interrupts may call it. False when there was no
 * room for one of them. */
bool evloop_emit(struct evloop_signal *signal);

/* --------------------------------------------------------------------- queues */

/* A ring of items, copied in and out. */
struct evloop_queue {
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
bool evloop_send(struct evloop_queue *queue, const void *item);
bool evloop_receive(struct evloop_queue *queue, void *item);

/* ---------------------------------------------------------------------- pools */

/* Blocks of one size, given out and taken back in constant time. */
struct evloop_pool {
    void *free;
};

/* `block_bytes` is a multiple of four. */
void evloop_pool_init(struct evloop_pool *pool, void *storage, uint32_t block_bytes,
                      uint32_t blocks);

/* Null when none is left. Interrupts may call both. */
void *evloop_pool_take(struct evloop_pool *pool);
void evloop_pool_give(struct evloop_pool *pool, void *block);

#endif
