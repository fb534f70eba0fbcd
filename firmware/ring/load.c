/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The mixed load of load.h in closures, for `rtmark worst --load`. A closure runs to its end,
 * so the record needs no lock but against what a job leaves half-done over a tick: that one is
 * a flag, and who finds it set comes back later.
 */
#include "bench.h"

#include "load.h"

static struct load_item storage[LOAD_ITEMS];
static void consume_step(void *context);
static struct ring_queue items = {
    .storage = (uint8_t *)storage,
    .item_bytes = sizeof(struct load_item),
    .length = LOAD_ITEMS,
    .on_item = {.function = consume_step},
};
static struct ring_signal alarmed;
static struct ring_listener urgent;
static struct ring_timer fast_timer, middle_timer, slow_timer, every, once, hold, end;
static bool locked;

static void serve_step(void *context)
{
    (void)context;
    load.taken++;
}

static void count_event(void)
{
    const uint32_t primask = ring_enter();

    load.events++;
    ring_leave(primask);
}

static void send(enum load_source source)
{
    const struct load_item item = load_next(source);

    load_was_sent(source, ring_send(&items, &item));
}

void IRQ0_Handler(void);
void IRQ8_Handler(void);

/* The device. */
void IRQ0_Handler(void)
{
    send(LOAD_DEVICE);
}

/* The alarm. */
void IRQ8_Handler(void)
{
    send(LOAD_ALARM);
    load.given_by_alarm++;
    enqueue(serve_step);
    load.wakes++;
    if (!ring_emit(&alarmed)) {
        rtmark_failed("no room for a closure");
    }
    load.events++;
}

/* An item that comes into the empty queue brings this closure: it takes all that are there. */
static void consume_step(void *context)
{
    struct load_item item;

    (void)context;
    while (ring_receive(&items, &item)) {
        load_received(&item);
    }
}

static void urgent_step(void *context)
{
    (void)context;
    load.woken++;
}

static void fast_step(void *context)
{
    LOAD_FAST_RUNS();
    (void)context;
    count_event();
    NVIC_ISPR0 = 1u;
    if (++load.fast == LOAD_TICKS / LOAD_FAST) {
        (void)ring_timer_stop(&fast_timer);
    }
}

static void middle_step(void *context)
{
    (void)context;
    if (locked) {
        enqueue(middle_step);
        return;
    }
    load.first++;
    count_event();
    load.second++;
    send(LOAD_MIDDLE_TASK);
    if (++load.middle == LOAD_TICKS / LOAD_MIDDLE) {
        (void)ring_timer_stop(&middle_timer);
    }
}

static void slow_ends(void *context)
{
    (void)context;
    load.second++;
    locked = false;
    count_event();
    if (++load.slow == LOAD_TICKS / LOAD_SLOW) {
        (void)ring_timer_stop(&slow_timer);
    }
}

static void give_step(void *context)
{
    /* The timers beyond the hyperperiod are nobody's. */
    (void)context;
    if (load.timers < LOAD_TICKS / LOAD_TIMER + LOAD_TICKS / LOAD_SLOW) {
        load.timers++;
        enqueue(serve_step);
    }
}

static void slow_step(void *context)
{
    const struct closure give = {.function = give_step};
    const struct closure ends = {.function = slow_ends};

    (void)context;
    ring_timer_start(&once, give, 1, 0);
    load.first++;
    locked = true;
    ring_timer_start(&hold, ends, 1, 0);
}

static void judge_step(void *context)
{
    static uint32_t waited;

    (void)context;
    cortex_m_disable_interrupts();
    if (load_is_quiet() || ++waited == LOAD_GRACE) {
        load_judge();
    }
    cortex_m_enable_interrupts();
}

static void begin_step(void *context)
{
    (void)context;
    RTMARK_BEGIN("load.mixed");
    NVIC_ISER0 = 1u;
}

static void mixed(void)
{
    const struct closure fast = {.function = fast_step};
    const struct closure middle = {.function = middle_step};
    const struct closure slow = {.function = slow_step};
    const struct closure give = {.function = give_step};
    const struct closure judge = {.function = judge_step};

    urgent.closure.function = urgent_step;
    ring_listen(&alarmed, &urgent);
    NVIC_IPR0 = 0x40;
    load_set_tick();
    ring_timer_start(&fast_timer, fast, LOAD_FAST, LOAD_FAST);
    ring_timer_start(&middle_timer, middle, LOAD_MIDDLE, LOAD_MIDDLE);
    ring_timer_start(&slow_timer, slow, LOAD_SLOW, LOAD_SLOW);
    ring_timer_start(&every, give, LOAD_TIMER, LOAD_TIMER);
    ring_timer_start(&end, judge, LOAD_END, 1);
    enqueue(begin_step);
}
LOAD_SCENARIO(mixed);
