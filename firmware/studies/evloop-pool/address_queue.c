/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "address_queue.h"

#include <stddef.h>

void address_queue_init(struct address_queue *queue, void **places, uint32_t log2_of_places)
{
    queue->places = places;
    queue->mask = (1u << log2_of_places) - 1u;
    queue->put = 0;
    queue->got = 0;
}

bool address_queue_put(struct address_queue *queue, void *address)
{
    if (queue->put - queue->got > queue->mask) {
        return false;
    }
    queue->places[queue->put++ & queue->mask] = address;
    return true;
}

void *address_queue_get(struct address_queue *queue)
{
    if (queue->put == queue->got) {
        return NULL;
    }
    return queue->places[queue->got++ & queue->mask];
}
