/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An event loop of the structure that µEvLoop's documentation describes: a closure is copied
 * into an event of a pool; the event's address waits in one queue until the loop runs it, or in
 * another one until the scheduler has put it among its timers; pool and queues are changed with
 * interrupts masked; and the program calls a round of both for ever.
 *
 * Written from that documentation, for studies alone: it holds what a switch of closures passes
 * through, and nothing else of that library.
 */
#ifndef POOL_LOOP_H
#define POOL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "event_pool.h"

#define QUEUE_LOG2_OF_EVENTS 5u
#define QUEUE_EVENTS (1u << QUEUE_LOG2_OF_EVENTS)

struct pool_loop {
    struct event_pool pool;
    void *ready_places[QUEUE_EVENTS];
    void *to_schedule_places[QUEUE_EVENTS];
    /* Events that the loop is to run. */
    struct address_queue ready;
    /* Timers that the scheduler is to sort in. */
    struct address_queue to_schedule;
    /* Timers by when they are due. */
    struct event *timers;
    /* Told by an interrupt. */
    volatile uint32_t now;
};

void pool_loop_init(struct pool_loop *loop);

/* Has the loop run a copy of a closure after what waits already. Interrupts may call it. False
 * when there is no room. */
bool pool_loop_enqueue(struct pool_loop *loop, const struct closure *closure);

/* The same when so many ticks have passed. */
bool pool_loop_run_later(struct pool_loop *loop, uint32_t ticks, const struct closure *closure);

/* One round: timers that are due become ready, and all that is ready runs. */
void pool_loop_round(struct pool_loop *loop);

#endif
