/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "event_pool.h"

#include "core.h"

void event_pool_init(struct event_pool *pool)
{
    address_queue_init(&pool->unused, pool->places, POOL_LOG2_OF_EVENTS);
    for (uint32_t at = 0; at < POOL_EVENTS; at++) {
        (void)address_queue_put(&pool->unused, &pool->events[at]);
    }
}

struct event *event_pool_take(struct event_pool *pool)
{
    const uint32_t before = core_mask();
    struct event *const event = address_queue_get(&pool->unused);

    core_restore(before);
    return event;
}

void event_pool_give(struct event_pool *pool, struct event *event)
{
    const uint32_t before = core_mask();

    (void)address_queue_put(&pool->unused, event);
    core_restore(before);
}
