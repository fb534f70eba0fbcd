/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A first-in, first-out queue of addresses, of a power of two of them. */
#ifndef ADDRESS_QUEUE_H
#define ADDRESS_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct address_queue {
    void **places;
    /* The number of places less one. */
    uint32_t mask;
    /* Both count for ever; their difference is how many wait. */
    uint32_t put;
    uint32_t got;
};

void address_queue_init(struct address_queue *queue, void **places, uint32_t log2_of_places);

/* False when the queue is full. */
bool address_queue_put(struct address_queue *queue, void *address);

/* Null when the queue is empty. */
void *address_queue_get(struct address_queue *queue);

#endif
