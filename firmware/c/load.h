/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The mixed load, `load.mixed`: what it is, the same in every kernel, and when all is well.
 *
 * A hyperperiod of twelve short ticks, in which
 *
 *   fast      every 2 ticks   starts a device, whose interrupt sends an item
 *   middle    every 3 ticks   changes the record under its lock, and sends an item
 *   slow      every 4 ticks   starts a timer of one tick, and changes the record under its
 *                             lock, which it holds until the next tick
 *   timer     every 3 ticks   gives to the server; so does the one that slow starts
 *   consumer                  receives the items of all sources
 *   server                    takes what is given
 *   urgent                    is woken by the alarm alone
 *   judge     2 ticks later   says whether all is well, when all is quiet
 *
 * The alarm is interrupt 8. Nothing in the image pends it: `rtmark worst` does, in any cycle.
 * It sends an item, gives to the server, wakes urgent, and counts. Whenever it comes, no item
 * may be lost, doubled or out of order, nothing given but not taken, no job left out, both
 * halves of the record equal, and urgent woken.
 *
 * What a kernel lacks is done as its users do it:
 *
 *   lilos   a queue has one sender: there is one a source, and consumer receives from all. A
 *           handler may only notify and push: a task gives to the server what the alarm gives.
 *   RTIC    has no semaphore: what is given is counted, and a signal has the server look.
 *   RTIC and Embassy   have no tick where a timer of the chip counts time: a short tick is then so
 *           many whole microseconds, and a delay of one ends that long after its call.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdint.h>

#include "core.h"
#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

/* How many hyperperiods there are, what a job of fast begins with, and what the image answers:
 * duty.h has others. */
#ifndef LOAD_HYPERPERIODS
#define LOAD_HYPERPERIODS 1
#define LOAD_FAST_RUNS() ((void)0)
#define LOAD_SCENARIO(function) RTMARK_SCENARIO("load.mixed", function)
#endif

enum {
    /* So short that the whole takes no more cycles than can be gone through from each. */
#if __ARM_ARCH_PROFILE == 'R'
    /* And so long that FreeRTOS keeps up, whose critical sections wait for the interrupt controller there. */
    LOAD_TICK_CYCLES = 12000,
#else
    LOAD_TICK_CYCLES = 6000,
#endif
    LOAD_HYPERPERIOD = 12,
    /* Ticks in which jobs begin. */
    LOAD_TICKS = LOAD_HYPERPERIODS * LOAD_HYPERPERIOD,
    LOAD_FAST = 2,
    LOAD_MIDDLE = 3,
    LOAD_SLOW = 4,
    LOAD_TIMER = 3,
    LOAD_END = LOAD_TICKS + 2,
    /* Ticks that the judge waits for what is not done yet. */
    LOAD_GRACE = 4,
    LOAD_ITEMS = 8,
};

enum load_source { LOAD_DEVICE, LOAD_MIDDLE_TASK, LOAD_ALARM, LOAD_SOURCES };

struct load_item {
    uint32_t source;
    uint32_t sequence;
};

/* Has the tick, once the kernel has started it, come every LOAD_TICK_CYCLES. */
static inline void load_set_tick(void)
{
#if __ARM_ARCH_PROFILE == 'R'
    cortex_r5_start_tick(RTMARK_CLOCK_HZ / LOAD_TICK_CYCLES);
#else
    SYST_RVR = LOAD_TICK_CYCLES - 1u;
    SYST_CVR = 0;
#endif
}

static struct {
    /* By source: each has one sender. All are received by one. */
    volatile uint32_t sent[LOAD_SOURCES];
    volatile uint32_t received[LOAD_SOURCES];
    volatile uint32_t given_by_alarm;
    volatile uint32_t taken;
    volatile uint32_t timers;
    volatile uint32_t wakes;
    volatile uint32_t woken;
    volatile uint32_t fast;
    volatile uint32_t middle;
    volatile uint32_t slow;
    /* The record, under its lock. */
    volatile uint32_t first;
    volatile uint32_t second;
    /* Counted by tasks and the alarm, in critical sections. */
    volatile uint32_t events;
} load;

/* The next item of a source; counted as sent by load_was_sent(). */
static inline struct load_item load_next(enum load_source source)
{
    const struct load_item item = {.source = source, .sequence = load.sent[source]};

    return item;
}

static inline void load_was_sent(enum load_source source, uint32_t was_sent)
{
    if (!was_sent) {
        rtmark_failed("an item found no room");
    }
    load.sent[source]++;
}

static inline void load_received(const struct load_item *item)
{
    if (item->source >= LOAD_SOURCES) {
        rtmark_failed("an item of no source was received");
    }
    rtmark_expect("sequence of an item", item->sequence, load.received[item->source]);
    load.received[item->source]++;
}

static inline uint32_t load_given(void)
{
    return load.timers + load.given_by_alarm;
}

/* With interrupts masked: whether everything that was begun is done. */
static inline uint32_t load_is_quiet(void)
{
    for (uint32_t source = 0; source < LOAD_SOURCES; source++) {
        if (load.sent[source] != load.received[source]) {
            return 0;
        }
    }
    return load.taken == load_given() && load.woken == load.wakes &&
           load.fast == LOAD_TICKS / LOAD_FAST &&
           load.middle == LOAD_TICKS / LOAD_MIDDLE &&
           load.slow == LOAD_TICKS / LOAD_SLOW &&
           load.timers == LOAD_TICKS / LOAD_TIMER + LOAD_TICKS / LOAD_SLOW;
}

/*
 * Ends the run; says what is missing if anything is. An alarm between the look whether all is
 * quiet and this would not have been dealt with: interrupts stay masked in between.
 */
static inline void __attribute__((noreturn)) load_judge(void)
{
    const uint32_t fast = LOAD_TICKS / LOAD_FAST;
    const uint32_t middle = LOAD_TICKS / LOAD_MIDDLE;
    const uint32_t slow = LOAD_TICKS / LOAD_SLOW;

    core_disable_interrupts();
    RTMARK_END("load.mixed");
    rtmark_expect("jobs of fast", load.fast, fast);
    rtmark_expect("jobs of middle", load.middle, middle);
    rtmark_expect("jobs of slow", load.slow, slow);
    rtmark_expect("expiries of timers", load.timers, LOAD_TICKS / LOAD_TIMER + slow);
    rtmark_expect("items of the device", load.sent[LOAD_DEVICE], fast);
    rtmark_expect("items of the device received", load.received[LOAD_DEVICE], fast);
    rtmark_expect("items of middle received", load.received[LOAD_MIDDLE_TASK], middle);
    rtmark_expect("items of the alarm received", load.received[LOAD_ALARM], load.sent[LOAD_ALARM]);
    rtmark_expect("takes", load.taken, load_given());
    rtmark_expect("times urgent was woken", load.woken, load.wakes);
    rtmark_expect("first half of the record", load.first, middle + slow);
    rtmark_expect("second half of the record", load.second, middle + slow);
    rtmark_expect("events", load.events, fast + middle + slow + load.wakes);
    rtmark_ok();
}

#endif
