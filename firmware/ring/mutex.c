/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Closures need nothing to keep each other out; interrupts are kept out by masking. */
#include "bench.h"

static volatile uint32_t times;

/* ------------------------------------------------------ mutex.critical_section */

static void critical_step(void *context)
{
    (void)context;
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("mutex.critical_section");
        const uint32_t primask = ring_enter();
        times++;
        ring_leave(primask);
        RTMARK_END("mutex.critical_section");

        rtmark_expect("increments", times, sample);
    }
    rtmark_ok();
}

static void critical_section(void)
{
    enqueue(critical_step);
}
RTMARK_SCENARIO("mutex.critical_section", critical_section);
