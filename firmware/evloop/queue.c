/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue of ten items of ten bytes. */
#include <string.h>

#include "bench.h"

enum { QUEUE_LENGTH = 10, ITEM_BYTES = 10 };

struct item {
    uint8_t bytes[ITEM_BYTES];
};

static uint8_t storage[QUEUE_LENGTH * ITEM_BYTES];
static struct evloop_queue queue = {
    .storage = storage, .item_bytes = ITEM_BYTES, .length = QUEUE_LENGTH};

/* An item that no other sample has. */
static struct item item_of(uint32_t sample)
{
    struct item item;

    for (uint32_t byte = 0; byte < ITEM_BYTES; byte++) {
        item.bytes[byte] = (uint8_t)(3u * sample + byte);
    }
    return item;
}

static void expect_item(const struct item *item, uint32_t sample)
{
    const struct item expected = item_of(sample);

    rtmark_expect("difference of the item received", memcmp(item, &expected, ITEM_BYTES) != 0, 0u);
}

/* -------------------------------------------------------- queue.send.immediate */

static void send_step(void *context)
{
    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        const struct item sent = item_of(sample);
        struct item received;

        RTMARK_BEGIN("queue.send.immediate");
        const bool done = evloop_send(&queue, &sent);
        RTMARK_END("queue.send.immediate");

        rtmark_expect("result of the send", done, true);
        rtmark_expect("result of the receive", evloop_receive(&queue, &received), true);
        expect_item(&received, sample);
    }
    rtmark_ok();
}

static void send_immediate(void)
{
    enqueue(send_step);
}
RTMARK_SCENARIO("queue.send.immediate", send_immediate);

/* ----------------------------------------------------- queue.receive.immediate */

static void receive_step(void *context)
{
    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        const struct item sent = item_of(sample);
        struct item received;

        rtmark_expect("result of the send", evloop_send(&queue, &sent), true);

        RTMARK_BEGIN("queue.receive.immediate");
        const bool done = evloop_receive(&queue, &received);
        RTMARK_END("queue.receive.immediate");

        rtmark_expect("result of the receive", done, true);
        expect_item(&received, sample);
    }
    rtmark_ok();
}

static void receive_immediate(void)
{
    enqueue(receive_step);
}
RTMARK_SCENARIO("queue.receive.immediate", receive_immediate);

/* ---------------------------------------------------- queue.receive.poll_empty */

static void poll_step(void *context)
{
    uint32_t received = 0;

    (void)context;
    for (uint32_t poll = 0; poll < RTMARK_POLLS; poll++) {
        struct item item;

        RTMARK_BEGIN("queue.receive.poll_empty");
        const bool done = evloop_receive(&queue, &item);
        RTMARK_END("queue.receive.poll_empty");

        if (done) {
            received++;
        }
    }
    rtmark_expect("items received from an empty queue", received, 0u);
    rtmark_ok();
}

static void poll_empty(void)
{
    enqueue(poll_step);
}
RTMARK_SCENARIO("queue.receive.poll_empty", poll_empty);
