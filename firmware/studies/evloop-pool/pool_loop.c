/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "pool_loop.h"

#include <stddef.h>

#include "core.h"

void pool_loop_init(struct pool_loop *loop)
{
    event_pool_init(&loop->pool);
    address_queue_init(&loop->ready, loop->ready_places, QUEUE_LOG2_OF_EVENTS);
    address_queue_init(&loop->to_schedule, loop->to_schedule_places, QUEUE_LOG2_OF_EVENTS);
    loop->timers = NULL;
    loop->now = 0;
}

static bool put(struct address_queue *queue, struct event *event)
{
    const uint32_t before = core_mask();
    const bool has_room = address_queue_put(queue, event);

    core_restore(before);
    return has_room;
}

static struct event *get(struct address_queue *queue)
{
    const uint32_t before = core_mask();
    struct event *const event = address_queue_get(queue);

    core_restore(before);
    return event;
}

static bool enqueue(struct pool_loop *loop, struct address_queue *queue, enum event_kind kind,
                    uint32_t due, const struct closure *closure)
{
    struct event *const event = event_pool_take(&loop->pool);

    if (event == NULL) {
        return false;
    }
    event->kind = kind;
    event->closure = *closure;
    event->due = due;
    if (put(queue, event)) {
        return true;
    }
    event_pool_give(&loop->pool, event);
    return false;
}

bool pool_loop_enqueue(struct pool_loop *loop, const struct closure *closure)
{
    return enqueue(loop, &loop->ready, EVENT_CLOSURE, 0, closure);
}

bool pool_loop_run_later(struct pool_loop *loop, uint32_t ticks, const struct closure *closure)
{
    return enqueue(loop, &loop->to_schedule, EVENT_TIMER, loop->now + ticks, closure);
}

/* Ticks wrap around, hence the signed difference. */
static bool is_before(uint32_t one, uint32_t other)
{
    return (int32_t)(one - other) < 0;
}

static void manage_timers(struct pool_loop *loop)
{
    struct event *event;

    while ((event = get(&loop->to_schedule)) != NULL) {
        struct event **place = &loop->timers;

        while (*place != NULL && !is_before(event->due, (*place)->due)) {
            place = &(*place)->next;
        }
        event->next = *place;
        *place = event;
    }
    while (loop->timers != NULL && !is_before(loop->now, loop->timers->due)) {
        event = loop->timers;
        if (!put(&loop->ready, event)) {
            break;
        }
        loop->timers = event->next;
    }
}

static void run_ready(struct pool_loop *loop)
{
    struct event *event;

    while ((event = get(&loop->ready)) != NULL) {
        (void)event->closure.function(&event->closure);
        event_pool_give(&loop->pool, event);
    }
}

void pool_loop_round(struct pool_loop *loop)
{
    manage_timers(loop);
    run_ready(loop);
}
