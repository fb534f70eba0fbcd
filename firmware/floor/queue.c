/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A ring of ten items of ten bytes. Anyone may send, interrupts too; one context
 * receives. So a receiver that finds an item knows that it stays, and needs no
 * masking to find none.
 */
#include <stdbool.h>
#include <stddef.h>

#include "copy.h"
#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "switch.h"

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

/* ------------------------------------------------------- queue.send.poll_full */

static void fill_up(void)
{
    start_queue();
    for (uint32_t number = 0; number < QUEUE_LENGTH; number++) {
        struct item sent;

        fill(&sent, number);
        rtmark_expect("result of the send", send(&sent), true);
    }
}

static void poll_full(void)
{
    fill_up();
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        struct item sent;

        fill(&sent, sample);
        RTMARK_BEGIN("queue.send.poll_full");
        const bool done = send(&sent);
        RTMARK_END("queue.send.poll_full");

        rtmark_expect("result of the send", done, false);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("queue.send.poll_full", poll_full);

/* ------------------------------- queue.send.wake+ctx, queue.receive.blocking */

/* An item goes straight to the one who waits for it. */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static struct item *wanted_at;
static struct item arrived;
static volatile uint32_t times;

static inline void send_and_wake(const struct item *item)
{
    cortex_m_disable_interrupts();
    struct item *const place = wanted_at;
    if (place != NULL) {
        *place = *item;
        wanted_at = NULL;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        cortex_m_enable_interrupts();
        rtmark_expect("result of the send", send(item), true);
    }
}

static inline void receive_or_wait(struct item *item)
{
    cortex_m_disable_interrupts();
    if (queue.length == 0u) {
        wanted_at = item;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        cortex_m_enable_interrupts();
        rtmark_expect("result of the receive", receive(item), true);
    }
}

static void receiving(void)
{
    /* The first time, nobody has sent anything yet. */
    receive_or_wait(&arrived);
    for (;;) {
        RTMARK_END("queue.send.wake+ctx");
        expect_item(&arrived, ++times);
        RTMARK_BEGIN("queue.receive.blocking");
        receive_or_wait(&arrived);
    }
}

static void sending(void)
{
    floor_switch();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        struct item sent;

        fill(&sent, sample);
        RTMARK_BEGIN("queue.send.wake+ctx");
        send_and_wake(&sent);
        RTMARK_END("queue.receive.blocking");

        rtmark_expect("items received", times, sample);
    }
    rtmark_ok();
}

static void send_wake(void)
{
    start_queue();
    floor_prepare_thread(&second_stack, receiving);
    floor_run_as_thread(&first_stack, sending);
}
RTMARK_SCENARIO("queue.send.wake+ctx", send_wake);
RTMARK_SCENARIO("queue.receive.blocking", send_wake);

/* ------------------------------- queue.receive.wake+ctx, queue.send.blocking */

/* Who receives from a full queue moves the item in that waits for room. */

static const struct item *waits_for_room;

static inline void send_or_wait(const struct item *item)
{
    cortex_m_disable_interrupts();
    if (queue.length == QUEUE_LENGTH) {
        waits_for_room = item;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        cortex_m_enable_interrupts();
        rtmark_expect("result of the send", send(item), true);
    }
}

static inline void receive_and_wake(struct item *item)
{
    (void)receive(item);
    const struct item *const next = waits_for_room;
    if (next != NULL) {
        (void)send(next);
        waits_for_room = NULL;
        floor_switch();
    }
}

static void crowding(void)
{
    struct item sent;

    fill_up();
    fill(&sent, QUEUE_LENGTH);
    send_or_wait(&sent);
    for (;;) {
        RTMARK_END("queue.receive.wake+ctx");
        times++;
        fill(&sent, QUEUE_LENGTH + times);
        RTMARK_BEGIN("queue.send.blocking");
        send_or_wait(&sent);
    }
}

static void relieving(void)
{
    floor_switch();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        struct item received;

        RTMARK_BEGIN("queue.receive.wake+ctx");
        receive_and_wake(&received);
        RTMARK_END("queue.send.blocking");

        rtmark_expect("items sent", times, sample);
        expect_item(&received, sample - 1u);
    }
    rtmark_ok();
}

static void receive_wake(void)
{
    floor_prepare_thread(&second_stack, crowding);
    floor_run_as_thread(&first_stack, relieving);
}
RTMARK_SCENARIO("queue.receive.wake+ctx", receive_wake);
RTMARK_SCENARIO("queue.send.blocking", receive_wake);

/* -------------------------------------------------------------- queue.handover */

static volatile uint32_t answered;

static void answering(void)
{
    for (;;) {
        while (!receive(&arrived)) {
            floor_yield();
        }
        RTMARK_END("queue.handover");
        expect_item(&arrived, ++times);
        answered = 1;
    }
}

static void handover(void)
{
    start_queue();
    floor_prepare_coroutine(&second_stack, answering);
    floor_yield();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        struct item sent;

        fill(&sent, sample);
        RTMARK_BEGIN("queue.handover");
        (void)send(&sent);
        while (answered == 0u) {
            floor_yield();
        }
        answered = 0;
        rtmark_expect("items received", times, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("queue.handover", handover);

/* ------------------------------------ queue.send.<size>b, queue.receive.<size>b */

/* The same ring, once for each size. */
#define SIZED(size)                                                                     \
    struct item_##size {                                                                \
        uint8_t bytes[size];                                                            \
    } __attribute__((aligned(4)));                                                      \
                                                                                        \
    static void sized_##size(void)                                                      \
    {                                                                                   \
        enum { LENGTH = 4 };                                                            \
        static struct item_##size items[LENGTH];                                        \
        static struct item_##size sent;                                                 \
        static struct item_##size received;                                             \
        static volatile uint32_t length;                                                \
        static uint32_t in;                                                             \
        static uint32_t out;                                                            \
                                                                                        \
        for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {                  \
            for (uint32_t byte = 0; byte < size; byte++) {                              \
                sent.bytes[byte] = (uint8_t)(3u * sample + byte);                       \
            }                                                                           \
            RTMARK_BEGIN("queue.send." #size "b");                                      \
            cortex_m_disable_interrupts();                                              \
            if (length != LENGTH) {                                                     \
                copy_words(&items[in], &sent, size);                                    \
                in = (in + 1u) % LENGTH;                                                \
                length++;                                                               \
            }                                                                           \
            cortex_m_enable_interrupts();                                               \
            RTMARK_END("queue.send." #size "b");                                        \
                                                                                        \
            rtmark_expect("items sent", length, 1u);                                    \
                                                                                        \
            RTMARK_BEGIN("queue.receive." #size "b");                                   \
            if (length != 0u) {                                                         \
                cortex_m_disable_interrupts();                                          \
                copy_words(&received, &items[out], size);                               \
                out = (out + 1u) % LENGTH;                                              \
                length--;                                                               \
                cortex_m_enable_interrupts();                                           \
            }                                                                           \
            RTMARK_END("queue.receive." #size "b");                                     \
                                                                                        \
            for (uint32_t byte = 0; byte < size; byte++) {                              \
                rtmark_expect("byte of the item received", received.bytes[byte],        \
                              (uint8_t)(3u * sample + byte));                           \
            }                                                                           \
        }                                                                               \
        rtmark_ok();                                                                    \
    }                                                                                   \
    RTMARK_SCENARIO("queue.send." #size "b", sized_##size);                             \
    RTMARK_SCENARIO("queue.receive." #size "b", sized_##size)

SIZED(4);
SIZED(16);
SIZED(64);
SIZED(256);

/* ---------------------------------------------------- queue.send.16b.unaligned */

struct unaligned_item {
    uint8_t bytes[16];
};

/* The item lies one byte behind a multiple of four. */
static void unaligned(void)
{
    enum { LENGTH = 4 };
    static struct unaligned_item items[LENGTH];
    static struct {
        uint8_t before;
        struct unaligned_item item;
    } __attribute__((aligned(4))) sent;
    static volatile uint32_t length;
    static uint32_t in;

    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        for (uint32_t byte = 0; byte < sizeof sent.item; byte++) {
            sent.item.bytes[byte] = (uint8_t)(3u * sample + byte);
        }
        const uint32_t place = in;

        RTMARK_BEGIN("queue.send.16b.unaligned");
        cortex_m_disable_interrupts();
        if (length != LENGTH) {
            copy_unaligned(&items[in], &sent.item, sizeof sent.item);
            in = (in + 1u) % LENGTH;
            length++;
        }
        cortex_m_enable_interrupts();
        RTMARK_END("queue.send.16b.unaligned");

        rtmark_expect("items sent", length, 1u);
        length = 0;
        for (uint32_t byte = 0; byte < sizeof sent.item; byte++) {
            rtmark_expect("byte of the item sent", items[place].bytes[byte],
                          (uint8_t)(3u * sample + byte));
        }
    }
    rtmark_ok();
}
RTMARK_SCENARIO("queue.send.16b.unaligned", unaligned);

/* ------------------------------------------------------------ queue.zerocopy.* */

enum { PLACES = 4, PLACE_BYTES = 256 };

static uint8_t places[PLACES][PLACE_BYTES] __attribute__((aligned(4)));
static volatile uint32_t filled;
static uint32_t next_in;
static uint32_t next_out;

/* One sender and one receiver: only the count is shared. */
static inline uint8_t *free_place(void)
{
    return filled < PLACES ? places[next_in] : NULL;
}

static inline void sent(void)
{
    next_in = (next_in + 1u) % PLACES;
    cortex_m_disable_interrupts();
    filled++;
    cortex_m_enable_interrupts();
}

static inline const uint8_t *filled_place(void)
{
    return filled != 0u ? places[next_out] : NULL;
}

static inline void received(void)
{
    next_out = (next_out + 1u) % PLACES;
    cortex_m_disable_interrupts();
    filled--;
    cortex_m_enable_interrupts();
}

static void zerocopy(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("queue.zerocopy.send.256b");
        uint8_t *const place = free_place();
        if (place != NULL) {
            place[0] = (uint8_t)sample;
            place[PLACE_BYTES - 1] = (uint8_t)sample;
            sent();
        }
        RTMARK_END("queue.zerocopy.send.256b");

        uint32_t sum = 0;
        RTMARK_BEGIN("queue.zerocopy.receive.256b");
        const uint8_t *const item = filled_place();
        if (item != NULL) {
            sum = (uint32_t)item[0] + item[PLACE_BYTES - 1];
            received();
        }
        RTMARK_END("queue.zerocopy.receive.256b");

        rtmark_expect("sum of the bytes", sum, 2u * sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("queue.zerocopy.send.256b", zerocopy);
RTMARK_SCENARIO("queue.zerocopy.receive.256b", zerocopy);
