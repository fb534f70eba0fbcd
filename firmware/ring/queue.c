/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue of ten items of ten bytes. */
#include <string.h>

#include "bench.h"

enum { QUEUE_LENGTH = 10, ITEM_BYTES = 10 };

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
struct item {
    uint8_t bytes[ITEM_BYTES];
} __attribute__((aligned(4)));

static struct item storage[QUEUE_LENGTH];
static struct ring_queue queue = {
    .storage = storage, .item_bytes = sizeof(struct item), .length = QUEUE_LENGTH};

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

    rtmark_expect("difference of the item received", memcmp(item->bytes, expected.bytes, ITEM_BYTES) != 0, 0u);
}

/* -------------------------------------------------------- queue.send.immediate */

static void send_step(void *context)
{
    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        const struct item sent = item_of(sample);
        struct item received;

        RTMARK_BEGIN("queue.send.immediate");
        const bool done = ring_send(&queue, &sent);
        RTMARK_END("queue.send.immediate");

        rtmark_expect("result of the send", done, true);
        rtmark_expect("result of the receive", ring_receive(&queue, &received), true);
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

        rtmark_expect("result of the send", ring_send(&queue, &sent), true);

        RTMARK_BEGIN("queue.receive.immediate");
        const bool done = ring_receive(&queue, &received);
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
        const bool done = ring_receive(&queue, &item);
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

/* ------------------------------------------------------- queue.send.poll_full */

static void full_step(void *context)
{
    (void)context;
    for (uint32_t number = 0; number < QUEUE_LENGTH; number++) {
        const struct item sent = item_of(number);

        rtmark_expect("result of the send", ring_send(&queue, &sent), true);
    }
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        const struct item sent = item_of(sample);

        RTMARK_BEGIN("queue.send.poll_full");
        const bool done = ring_send(&queue, &sent);
        RTMARK_END("queue.send.poll_full");

        rtmark_expect("result of the send", done, false);
    }
    rtmark_ok();
}

static void poll_full(void)
{
    enqueue(full_step);
}
RTMARK_SCENARIO("queue.send.poll_full", poll_full);

/* -------------------------------------------------------------- queue.handover */

/* An item that comes into the empty queue brings the closure that takes it. */

static uint32_t asked;
static uint32_t times;

static void ask_step(void *context)
{
    const struct item sent = item_of(asked);

    (void)context;
    rtmark_expect("items received", times, asked);
    if (asked++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("queue.handover");
    (void)ring_send(&queue, &sent);
}

static void item_step(void *context)
{
    struct item received;

    (void)context;
    const bool done = ring_receive(&queue, &received);
    RTMARK_END("queue.handover");

    rtmark_expect("result of the receive", done, true);
    expect_item(&received, times++);
    enqueue(ask_step);
}

static void handover(void)
{
    queue.on_item.function = item_step;
    enqueue(ask_step);
}
RTMARK_SCENARIO("queue.handover", handover);

/* ------------------------------------ queue.send.<size>b, queue.receive.<size>b */

#define SIZED(size)                                                                        \
    static void sized_##size##_step(void *context)                                         \
    {                                                                                      \
        static uint8_t places[4 * size] __attribute__((aligned(4)));                       \
        static uint8_t sent[size] __attribute__((aligned(4)));                             \
        static uint8_t received[size] __attribute__((aligned(4)));                         \
        static struct ring_queue sized = {                                               \
            .storage = places, .item_bytes = size, .length = 4};                           \
                                                                                           \
        (void)context;                                                                     \
        for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {                     \
            for (uint32_t byte = 0; byte < size; byte++) {                                 \
                sent[byte] = (uint8_t)(3u * sample + byte);                                \
            }                                                                              \
            RTMARK_BEGIN("queue.send." #size "b");                                         \
            const bool was_sent = ring_send(&sized, sent);                               \
            RTMARK_END("queue.send." #size "b");                                           \
                                                                                           \
            RTMARK_BEGIN("queue.receive." #size "b");                                      \
            const bool was_received = ring_receive(&sized, received);                    \
            RTMARK_END("queue.receive." #size "b");                                        \
                                                                                           \
            rtmark_expect("result of the send", was_sent, true);                           \
            rtmark_expect("result of the receive", was_received, true);                    \
            rtmark_expect("difference of the item", memcmp(received, sent, size) != 0, 0u); \
        }                                                                                  \
        rtmark_ok();                                                                       \
    }                                                                                      \
                                                                                           \
    static void sized_##size(void)                                                         \
    {                                                                                      \
        enqueue(sized_##size##_step);                                                      \
    }                                                                                      \
    RTMARK_SCENARIO("queue.send." #size "b", sized_##size);                                \
    RTMARK_SCENARIO("queue.receive." #size "b", sized_##size)

SIZED(4);
SIZED(16);
SIZED(64);
SIZED(256);

/* ---------------------------------------------------- queue.send.16b.unaligned */

/* The item lies one byte behind a multiple of four. */
static void unaligned_step(void *context)
{
    enum { BYTES = 16 };
    static uint8_t places[4 * BYTES] __attribute__((aligned(4)));
    static uint8_t bytes[1 + BYTES] __attribute__((aligned(4)));
    static uint8_t received[BYTES];
    static struct ring_queue unaligned = {
        .storage = places, .item_bytes = BYTES, .length = 4};
    uint8_t *const sent = &bytes[1];

    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        for (uint32_t byte = 0; byte < BYTES; byte++) {
            sent[byte] = (uint8_t)(3u * sample + byte);
        }
        RTMARK_BEGIN("queue.send.16b.unaligned");
        const bool was_sent = ring_send(&unaligned, sent);
        RTMARK_END("queue.send.16b.unaligned");

        rtmark_expect("result of the send", was_sent, true);
        rtmark_expect("result of the receive", ring_receive(&unaligned, received), true);
        rtmark_expect("difference of the item", memcmp(received, sent, BYTES) != 0, 0u);
    }
    rtmark_ok();
}

static void unaligned(void)
{
    enqueue(unaligned_step);
}
RTMARK_SCENARIO("queue.send.16b.unaligned", unaligned);
