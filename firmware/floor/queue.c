/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A ring of ten items of ten bytes. Anyone may send, interrupts too; one context
 * receives. So a receiver that finds an item knows that it stays, and needs no
 * masking to find none.
 */
#include <stdbool.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"

enum { QUEUE_LENGTH = 10, ITEM_BYTES = 10 };

/* Aligned, so that an item is copied word by word, two bytes of padding included. */
struct item {
    uint8_t bytes[ITEM_BYTES];
} __attribute__((aligned(4)));

/* One object, so that one register reaches all of it. */
static struct {
    volatile uint32_t length;
    struct item *next_in;
    struct item *next_out;
    struct item items[QUEUE_LENGTH];
} queue;

static void start_queue(void)
{
    queue.next_in = queue.items;
    queue.next_out = queue.items;
}

static inline struct item *after(struct item *item)
{
    item++;
    return item == &queue.items[QUEUE_LENGTH] ? queue.items : item;
}

static inline bool send(const struct item *item)
{
    cortex_m_disable_interrupts();
    const uint32_t length = queue.length;
    if (length == QUEUE_LENGTH) {
        cortex_m_enable_interrupts();
        return false;
    }
    struct item *slot = queue.next_in;
    *slot = *item;
    queue.next_in = after(slot);
    queue.length = length + 1u;
    cortex_m_enable_interrupts();
    return true;
}

static inline bool receive(struct item *item)
{
    if (queue.length == 0u) {
        return false;
    }
    cortex_m_disable_interrupts();
    struct item *slot = queue.next_out;
    *item = *slot;
    queue.next_out = after(slot);
    queue.length--;
    cortex_m_enable_interrupts();
    return true;
}

/* An item that no other sample has. */
static void fill(struct item *item, uint32_t sample)
{
    for (uint32_t byte = 0; byte < ITEM_BYTES; byte++) {
        item->bytes[byte] = (uint8_t)(3u * sample + byte);
    }
}

static void expect_item(const struct item *item, uint32_t sample)
{
    for (uint32_t byte = 0; byte < ITEM_BYTES; byte++) {
        rtmark_expect("byte of the item received", item->bytes[byte], (uint8_t)(3u * sample + byte));
    }
}

/* -------------------------------------------------------- queue.send.immediate */

static void send_immediate(void)
{
    start_queue();
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        struct item sent;
        struct item received;

        fill(&sent, sample);

        RTMARK_BEGIN("queue.send.immediate");
        const bool done = send(&sent);
        RTMARK_END("queue.send.immediate");

        rtmark_expect("result of the send", done, true);
        rtmark_expect("result of the receive", receive(&received), true);
        expect_item(&received, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("queue.send.immediate", send_immediate);

/* ----------------------------------------------------- queue.receive.immediate */

static void receive_immediate(void)
{
    start_queue();
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        struct item sent;
        struct item received;

        fill(&sent, sample);
        rtmark_expect("result of the send", send(&sent), true);

        RTMARK_BEGIN("queue.receive.immediate");
        const bool done = receive(&received);
        RTMARK_END("queue.receive.immediate");

        rtmark_expect("result of the receive", done, true);
        expect_item(&received, sample);
    }

    for (uint32_t number = 0; number < QUEUE_LENGTH; number++) {
        struct item sent;

        fill(&sent, number);
        rtmark_expect("result of the send", send(&sent), true);
    }
    struct item last;
    fill(&last, QUEUE_LENGTH);
    rtmark_expect("result of the send to a full queue", send(&last), false);
    rtmark_ok();
}
RTMARK_SCENARIO("queue.receive.immediate", receive_immediate);

/* ---------------------------------------------------- queue.receive.poll_empty */

static void poll_empty(void)
{
    uint32_t received = 0;

    start_queue();
    for (uint32_t poll = 0; poll < RTMARK_POLLS; poll++) {
        struct item item;

        RTMARK_BEGIN("queue.receive.poll_empty");
        const bool done = receive(&item);
        RTMARK_END("queue.receive.poll_empty");

        if (done) {
            received++;
        }
    }
    rtmark_expect("items received from an empty queue", received, 0u);
    rtmark_ok();
}
RTMARK_SCENARIO("queue.receive.poll_empty", poll_empty);
