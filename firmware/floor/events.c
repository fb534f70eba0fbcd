/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bits in one word, in which nobody ever sets one. */
#include "cortex_m.h"
#include "rtmark_firmware.h"

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
