/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events, and the pool from which they are taken. */
#ifndef EVENT_POOL_H
#define EVENT_POOL_H

#include <stdint.h>

#include "address_queue.h"

/* A function with its context. It is called with the address of a closure, whose parameters
 * may differ from call to call. */
struct closure {
    void *(*function)(struct closure *closure);
    void *context;
    void *parameters;
};

enum event_kind {
    EVENT_CLOSURE,
    EVENT_TIMER,
};

struct event {
    enum event_kind kind;
    struct closure closure;
    /* Of a timer: when it is due, and the next one in the order of that. */
    uint32_t due;
    struct event *next;
};

#define POOL_LOG2_OF_EVENTS 5u
#define POOL_EVENTS (1u << POOL_LOG2_OF_EVENTS)

/* The addresses of the events that are not in use wait in a queue. */
struct event_pool {
    struct event events[POOL_EVENTS];
    void *places[POOL_EVENTS];
    struct address_queue unused;
};

void event_pool_init(struct event_pool *pool);

/* Null when all are in use. Interrupts may call both. */
struct event *event_pool_take(struct event_pool *pool);
void event_pool_give(struct event_pool *pool, struct event *event);

#endif
