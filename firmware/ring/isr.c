/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a pending interrupt to its handler, and to the closure that the handler enqueues.
 *
 * isr.entry and isr.wake.thread are the same program; they differ in where the span ends. A closure runs to
 * its end before the next one may begin: the one that is interrupted here ends at once.
 */
#include "bench.h"
#include "rtmark_soc.h"
#include "cortex_m.h"
#include "plain_handlers.h"

static uint32_t pended;
static uint32_t handled;

static void pend_step(void *context);
static void handle_step(void *context);

RTMARK_BEGIN_AT_PEND("isr.entry", 16);
RTMARK_END_AT_ENTRY("isr.entry", IRQ0_Handler);
RTMARK_BEGIN_AT_PEND("isr.entry.task", 16);
RTMARK_END_AT_ENTRY("isr.entry.task", IRQ0_Handler);

RTMARK_BEGIN_AT_PEND("isr.wake.thread", 16);
RTMARK_BEGIN_AT_PEND("isr.wake.notify", 16);
RTMARK_END_AT_ENTRY("isr.wake.notify", handle_step);
RTMARK_END_AT_ENTRY("isr.wake.thread", handle_step);

void IRQ0_Handler(void);

void IRQ0_Handler(void)
{
    enqueue(handle_step);
}

static void __attribute__((noinline)) handle_step(void *context)
{
    (void)context;
    handled++;
    enqueue(pend_step);
}

static void pend_step(void *context)
{
    (void)context;
    rtmark_expect("interrupts handled", handled, pended);
    if (pended == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    pended++;
    NVIC_ISPR0 = 1u;
}

static void interrupt(void)
{
    NVIC_ISER0 = 1u;
    enqueue(pend_step);
}
RTMARK_SCENARIO("isr.entry", interrupt);
RTMARK_SCENARIO("isr.entry.task", interrupt);
RTMARK_SCENARIO("isr.wake.thread", interrupt);
RTMARK_SCENARIO("isr.wake.notify", interrupt);

/* -------------------------------------------------------------- isr.wake.queue */

enum { ITEM_BYTES = 10 };

/* At a multiple of four, as what has a word in it: two bytes of padding follow. */
struct item {
    uint8_t bytes[ITEM_BYTES];
} __attribute__((aligned(4)));

static struct item storage[4];
static struct ring_queue queue = {
    .storage = storage, .item_bytes = sizeof(struct item), .length = 4};

static void pend_queue_step(void *context);

RTMARK_BEGIN_AT_PEND("isr.wake.queue", 22);

void IRQ6_Handler(void);

void IRQ6_Handler(void)
{
    static const struct item item = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};

    (void)ring_send(&queue, &item);
}

static void item_step(void *context)
{
    struct item item = {{0}};

    (void)context;
    (void)ring_receive(&queue, &item);
    RTMARK_END("isr.wake.queue");

    rtmark_expect("last byte of the item", item.bytes[ITEM_BYTES - 1], ITEM_BYTES);
    handled++;
    enqueue(pend_queue_step);
}

static void pend_queue_step(void *context)
{
    (void)context;
    rtmark_expect("interrupts handled", handled, pended);
    if (pended == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    pended++;
    NVIC_ISPR0 = 1u << 6;
}

static void wake_queue(void)
{
    queue.on_item.function = item_step;
    NVIC_ISER0 = 1u << 6;
    enqueue(pend_queue_step);
}
RTMARK_SCENARIO("isr.wake.queue", wake_queue);

/* --------------------------------------------------------- no closure is enqueued */

#if __ARM_ARCH_PROFILE == 'R'
#define ALLOW_NESTING() cortex_r5_start_nesting_handlers()
#else
#define ALLOW_NESTING() ((void)0)
#endif

static void plain_step(void *context)
{
    plain_handlers_enable(0);
    plain_handlers_run((uint32_t)context);
}

static void enqueue_plain(uint32_t interrupt)
{
    const struct closure closure = {.function = plain_step, .context = (void *)interrupt};

    (void)ring_enqueue(closure);
}

static void plain(void)
{
    enqueue_plain(PLAIN);
}
RTMARK_SCENARIO("isr.round_trip", plain);
RTMARK_SCENARIO("isr.return", plain);

static void beside(void)
{
    enqueue_plain(BESIDE);
}
RTMARK_SCENARIO("isr.tail_chain", beside);

static void nested(void)
{
    ALLOW_NESTING();
    enqueue_plain(BELOW);
}
RTMARK_SCENARIO("isr.nested", nested);
