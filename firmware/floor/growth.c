/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What things cost against how many there are, with the structure that costs least to use:
 * contexts that are ready in a ring, those that are delayed in a list sorted by their times, those
 * that wait for something as one bit each, items in a ring.
 */
#include <stddef.h>

#include "interrupts.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"
#include "switch.h"

/* ---------------------------------------------------------- growth.yield.ready */

/* A context of the ring: where its stack ends, and who runs after it. */
struct context {
    uint32_t *stack;
    struct context *next;
};

/* Small, as nothing runs on it but what is below. */
enum { STACK_WORDS = 40 };

static struct context first_context;
struct context *growth_current __attribute__((used));
static uint32_t switches;

void growth_yield(void);

__attribute__((naked)) void growth_yield(void)
{
    __asm__(
        "   .syntax unified         \n"
        "   ldr   r0, =growth_current\n"
        "   ldr   r1, [r0]          \n"
        "   ldr   r3, [r1, #4]      \n"
        "   str   r3, [r0]          \n"
#if defined(__ARM_ARCH_6M__)
        "   push  {r4-r7, lr}       \n"
        "   mov   r4, r8            \n"
        "   mov   r5, r9            \n"
        "   mov   r6, r10           \n"
        "   mov   r7, r11           \n"
        "   push  {r4-r7}           \n"
        "   mov   r2, sp            \n"
        "   str   r2, [r1]          \n"
        "   ldr   r3, [r3]          \n"
        "   mov   sp, r3            \n"
        "   pop   {r4-r7}           \n"
        "   mov   r8, r4            \n"
        "   mov   r9, r5            \n"
        "   mov   r10, r6           \n"
        "   mov   r11, r7           \n"
        "   pop   {r4-r7, pc}       \n"
#else
        "   push  {r4-r11, lr}      \n"
        "   str   sp, [r1]          \n"
        "   ldr   sp, [r3]          \n"
        "   pop   {r4-r11, pc}      \n"
#endif
        "   .ltorg                  \n");
}

static void yields(void)
{
    /* In the first round nothing ends: each context begins the span anew. */
    for (;;) {
        RTMARK_BEGIN("growth.yield.ready");
        growth_yield();
        RTMARK_END("growth.yield.ready");
        if (++switches == rtmark_point_yields()) {
            rtmark_point_ok();
        }
    }
}

static void yield_ready(void)
{
    struct context *last = &first_context;

    for (uint32_t number = 0; number < rtmark_point(); number++) {
        struct context *context = rtmark_room(sizeof *context, "contexts");
        uint32_t *top =
            (uint32_t *)rtmark_room(STACK_WORDS * sizeof(uint32_t), "contexts") + STACK_WORDS;

        top[-1] = (uint32_t)yields;
        context->stack = top - 9;
        last->next = context;
        last = context;
    }
    last->next = &first_context;
    growth_current = &first_context;
    yields();
}
RTMARK_SCENARIO("growth.yield.ready", yield_ready);

/* ------------------------------- growth.tick.delayed, .tick.due, .delay.delayed */

/* A context is a bit of one of these words, here and in what it waits for. */
enum { WORDS = 2, WORD_BITS = 32, LONG_DELAY = 10000 };

static volatile uint32_t ready[WORDS];

struct delayed {
    struct delayed *next;
    /* The tick at which it is ready. */
    uint32_t due;
    volatile uint32_t *word;
    uint32_t bit;
};

/* The one whose time comes first is the head. */
static struct delayed *delayed;
/* Behind which one comes that is delayed for longer than all others; of no meaning when there is
 * none. */
static struct delayed *last_delayed;
static volatile uint32_t ticks;

void SysTick_Handler(void);

HANDLER void SysTick_Handler(void)
{
    TICK_BEGINS;
    struct delayed *due = delayed;
    const uint32_t now = ++ticks;

    if (due != NULL && due->due == now) {
        do {
            *due->word |= due->bit;
            due = due->next;
        } while (due != NULL && due->due == now);
        delayed = due;
    }
    TICK_ENDS;
}

static void start_ticks(void)
{
    start_tick(1000, SysTick_Handler);
}

static inline void insert(struct delayed *context, uint32_t duration)
{
    cortex_m_disable_interrupts();
    const uint32_t due = ticks + duration;

    context->due = due;
    if (delayed == NULL || (int32_t)(last_delayed->due - due) <= 0) {
        context->next = NULL;
        *(delayed == NULL ? &delayed : &last_delayed->next) = context;
        last_delayed = context;
    } else {
        struct delayed **place = &delayed;

        while ((int32_t)((*place)->due - due) <= 0) {
            place = &(*place)->next;
        }
        context->next = *place;
        *place = context;
    }
    cortex_m_enable_interrupts();
}

static struct delayed *make_contexts(void)
{
    struct delayed *contexts = rtmark_room(rtmark_point() * sizeof *contexts, "contexts");

    if (rtmark_point() > WORDS * WORD_BITS) {
        rtmark_no_room("contexts");
    }
    for (uint32_t number = 0; number < rtmark_point(); number++) {
        contexts[number].word = &ready[number / WORD_BITS];
        contexts[number].bit = 1u << number % WORD_BITS;
    }
    return contexts;
}

/* All for the same tick, in one go: one by one each would be inserted behind those before it, and
 * a tick might come between two of them. */
static void delay_together(struct delayed *contexts, uint32_t duration)
{
    const uint32_t last = rtmark_point() - 1u;

    cortex_m_disable_interrupts();
    for (uint32_t number = 0; number <= last; number++) {
        contexts[number].due = ticks + duration;
        contexts[number].next = number < last ? &contexts[number + 1u] : NULL;
    }
    delayed = contexts;
    last_delayed = &contexts[last];
    cortex_m_enable_interrupts();
}

static void delay_all(void)
{
    struct delayed *const contexts = make_contexts();

    for (uint32_t number = 0; number < rtmark_point(); number++) {
        insert(&contexts[number], LONG_DELAY + number);
    }
}

RTMARK_BEGIN_AT_PEND("growth.tick.delayed", CORE_TICK);
RTMARK_END_AT_RETURN("growth.tick.delayed", CORE_TICK);

static void tick_delayed(void)
{
    delay_all();
    start_ticks();
    while (ticks <= RTMARK_POINT_SAMPLES) {
    }
    rtmark_expect("contexts that became ready", ready[0] | ready[1], 0u);
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.tick.delayed", tick_delayed);

RTMARK_BEGIN_AT_PEND("growth.tick.due", CORE_TICK);

static void sleep_until_ready(void)
{
    cortex_m_disable_interrupts();
    while ((ready[0] | ready[1]) == 0u) {
        __asm__ __volatile__("wfi" : : : "memory");
        cortex_m_enable_interrupts();
        __asm__ __volatile__("isb" : : : "memory");
        cortex_m_disable_interrupts();
    }
    cortex_m_enable_interrupts();
}

static void tick_due(void)
{
    struct delayed *const contexts = make_contexts();

    start_ticks();
    for (uint32_t sample = 1; sample <= RTMARK_POINT_SAMPLES; sample++) {
        ready[0] = ready[1] = 0;
        delay_together(contexts, 1);
        sleep_until_ready();
        RTMARK_END("growth.tick.due");

        for (uint32_t number = 0; number < rtmark_point(); number++) {
            rtmark_expect("context ready", (*contexts[number].word & contexts[number].bit) != 0u, 1u);
        }
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.tick.due", tick_due);

static struct floor_stack other_stack;
static struct delayed own;

static void runs_meanwhile(void)
{
    for (;;) {
        RTMARK_END("growth.delay.delayed");
        struct delayed *before = delayed;
        uint32_t shorter = 1;

        while (before->next != &own) {
            before = before->next;
            shorter++;
        }
        rtmark_expect("contexts delayed for less long", shorter, rtmark_point());
        before->next = NULL;
        last_delayed = before;
        switches++;
        floor_yield();
    }
}
RTMARK_END_AT_ENTRY("growth.delay.delayed", runs_meanwhile);

static void delay_delayed(void)
{
    delay_all();
    floor_prepare_coroutine(&other_stack, runs_meanwhile);
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        RTMARK_BEGIN("growth.delay.delayed");
        insert(&own, 2u * LONG_DELAY);
        floor_yield();
    }
    rtmark_expect("times the other context ran", switches, RTMARK_POINT_SAMPLES);
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.delay.delayed", delay_delayed);

/* ------------------------------------------------ growth.wake.one, .wake.all */

static volatile uint32_t waiting[WORDS];

static void all_wait(void)
{
    if (rtmark_point() > WORDS * WORD_BITS) {
        rtmark_no_room("contexts");
    }
    ready[0] = ready[1] = waiting[0] = waiting[1] = 0;
    for (uint32_t number = 0; number < rtmark_point(); number++) {
        waiting[number / WORD_BITS] |= 1u << number % WORD_BITS;
    }
}

static void wake_one(void)
{
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        all_wait();

        RTMARK_BEGIN("growth.wake.one");
        cortex_m_disable_interrupts();
        const uint32_t word = waiting[0] != 0u ? 0u : 1u;
        const uint32_t bit = waiting[word] & -waiting[word];
        waiting[word] &= ~bit;
        ready[word] |= bit;
        cortex_m_enable_interrupts();
        RTMARK_END("growth.wake.one");

        rtmark_expect("contexts ready", ready[0], 1u);
        rtmark_expect("first of those that wait", waiting[0] & 1u, 0u);
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.wake.one", wake_one);

static void wake_all(void)
{
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        all_wait();
        const uint32_t before[WORDS] = {waiting[0], waiting[1]};

        RTMARK_BEGIN("growth.wake.all");
        cortex_m_disable_interrupts();
        for (uint32_t word = 0; word < WORDS; word++) {
            ready[word] |= waiting[word];
            waiting[word] = 0;
        }
        cortex_m_enable_interrupts();
        RTMARK_END("growth.wake.all");

        rtmark_expect("contexts ready", ready[0], before[0]);
        rtmark_expect("further contexts ready", ready[1], before[1]);
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.wake.all", wake_all);

/* ---------------------------------------- growth.queue.send, .queue.receive */

enum { QUEUE_LENGTH = 64 };

static struct {
    volatile uint32_t length;
    uint32_t in;
    uint32_t out;
    uint32_t items[QUEUE_LENGTH];
} queue;

static inline uint32_t send(uint32_t item)
{
    cortex_m_disable_interrupts();
    const uint32_t room = queue.length < QUEUE_LENGTH;
    if (room) {
        queue.items[queue.in] = item;
        queue.in = (queue.in + 1u) % QUEUE_LENGTH;
        queue.length++;
    }
    cortex_m_enable_interrupts();
    return room;
}

static inline uint32_t receive(uint32_t *item)
{
    cortex_m_disable_interrupts();
    const uint32_t there = queue.length != 0u;
    if (there) {
        *item = queue.items[queue.out];
        queue.out = (queue.out + 1u) % QUEUE_LENGTH;
        queue.length--;
    }
    cortex_m_enable_interrupts();
    return there;
}

static void depth(void)
{
    if (rtmark_point() > QUEUE_LENGTH) {
        rtmark_no_room("items");
    }
    for (uint32_t number = 1; number < rtmark_point(); number++) {
        send(number);
    }
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        const uint32_t sent = rtmark_point() + sample;
        uint32_t received = 0;

        RTMARK_BEGIN("growth.queue.send");
        const uint32_t done = send(sent);
        RTMARK_END("growth.queue.send");

        rtmark_expect("result of the send", done, 1u);
        rtmark_expect("items", queue.length, rtmark_point());

        RTMARK_BEGIN("growth.queue.receive");
        receive(&received);
        RTMARK_END("growth.queue.receive");

        rtmark_expect("item", received, sample + 1u);
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("growth.queue.send", depth);
RTMARK_SCENARIO("growth.queue.receive", depth);
