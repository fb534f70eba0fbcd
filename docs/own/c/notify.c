/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A flag with which a handler tells the main loop that there is work. */
#include <stdbool.h>

#include "rtmark_firmware.h"

static volatile bool work;

static inline bool take(void)
{
    const bool there = work;

    work = false;
    return there;
}

static void immediate(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("notify.give.immediate");
        work = true;
        RTMARK_END("notify.give.immediate");

        RTMARK_BEGIN("notify.take.immediate");
        const bool there = take();
        RTMARK_END("notify.take.immediate");

        /* Check that what was measured really happened. */
        rtmark_expect("work there", there, true);
        rtmark_expect("work left", work, false);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("notify.give.immediate", immediate);
RTMARK_SCENARIO("notify.take.immediate", immediate);
