/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bits in one word: polled while nobody sets one, and waited for. */
#include <stdbool.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "switch.h"

static volatile uint32_t events;

/* ------------------------------------------------------ events.wait.poll_empty */

/* Takes the bits that are set, whichever they are. Not to wait needs no instruction. */
static inline uint32_t take_events(void)
{
    const uint32_t seen = events;

    if (seen != 0u) {
        cortex_m_disable_interrupts();
        events &= ~seen;
        cortex_m_enable_interrupts();
    }
    return seen;
}

static void wait_poll_empty(void)
{
    uint32_t seen = 0;

    events = 1u << 7;
    rtmark_expect("bits after setting one", take_events(), 1u << 7);
    rtmark_expect("bits after taking it", take_events(), 0u);

    for (uint32_t poll = 0; poll < RTMARK_POLLS; poll++) {
        RTMARK_BEGIN("events.wait.poll_empty");
        const uint32_t now = take_events();
        RTMARK_END("events.wait.poll_empty");

        seen |= now;
    }
    rtmark_expect("bits seen", seen, 0u);
    rtmark_ok();
}
RTMARK_SCENARIO("events.wait.poll_empty", wait_poll_empty);

/* ------------------------------------------------------------- events.get.poll */

static void get_poll(void)
{
    for (uint32_t poll = 0; poll < RTMARK_POLLS; poll++) {
        RTMARK_BEGIN("events.get.poll");
        if (events != 0u) {
            rtmark_failed("a bit is set that nobody set");
        }
        RTMARK_END("events.get.poll");
    }
    rtmark_ok();
}
RTMARK_SCENARIO("events.get.poll", get_poll);

/* -------------------------------- events.post.immediate, events.wait.immediate */

static inline void post(uint32_t bits)
{
    cortex_m_disable_interrupts();
    events |= bits;
    cortex_m_enable_interrupts();
}

static void immediate(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("events.post.immediate");
        post(1u << 3);
        RTMARK_END("events.post.immediate");

        RTMARK_BEGIN("events.wait.immediate");
        const uint32_t seen = take_events();
        RTMARK_END("events.wait.immediate");

        rtmark_expect("bits seen", seen, 1u << 3);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("events.post.immediate", immediate);
RTMARK_SCENARIO("events.wait.immediate", immediate);

/* ------------------------------------------ events.post.wake_*, events.wait.blocking */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static volatile uint32_t times;

/* What the other context waits for, and whether it wants all of it. */
static volatile uint32_t wanted;
static volatile bool wants_all;

static inline bool is_satisfied(uint32_t bits)
{
    const uint32_t found = bits & wanted;

    return wants_all ? found == wanted : found != 0u;
}

static inline void post_and_wake(uint32_t bits)
{
    post(bits);
    if (wanted != 0u && is_satisfied(events)) {
        floor_switch();
    }
}

static inline void wait_for(uint32_t bits)
{
    wanted = bits;
    if (!is_satisfied(events)) {
        floor_switch();
    }
    wanted = 0;
    cortex_m_disable_interrupts();
    events &= ~bits;
    cortex_m_enable_interrupts();
}

static void waiting(void)
{
    wait_for(3u);
    for (;;) {
        RTMARK_END("events.post.wake_any");
        RTMARK_END("events.post.wake_all");
        times++;
        RTMARK_BEGIN("events.wait.blocking");
        wait_for(3u);
    }
}

static void posting(void)
{
    floor_switch();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        if (wants_all) {
            post_and_wake(1u);
            rtmark_expect("times the other context ran", times, sample - 1u);
        }
        RTMARK_BEGIN("events.post.wake_any");
        RTMARK_BEGIN("events.post.wake_all");
        post_and_wake(2u);
        RTMARK_END("events.wait.blocking");

        rtmark_expect("times the other context ran", times, sample);
    }
    rtmark_ok();
}

static void wake_any(void)
{
    floor_prepare_thread(&second_stack, waiting);
    floor_run_as_thread(&first_stack, posting);
}
RTMARK_SCENARIO("events.post.wake_any", wake_any);
RTMARK_SCENARIO("events.wait.blocking", wake_any);

static void wake_all(void)
{
    wants_all = true;
    wake_any();
}
RTMARK_SCENARIO("events.post.wake_all", wake_all);
