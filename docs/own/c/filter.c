/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rtmark_firmware.h"

enum { READINGS = 5 };

static int32_t __attribute__((noinline)) median(const int32_t readings[READINGS])
{
    int32_t sorted[READINGS];

    for (uint32_t taken = 0; taken < READINGS; taken++) {
        uint32_t place = taken;

        while (place > 0 && sorted[place - 1] > readings[taken]) {
            sorted[place] = sorted[place - 1];
            place--;
        }
        sorted[place] = readings[taken];
    }
    return sorted[READINGS / 2];
}

static void filter(void)
{
    static const int32_t readings[READINGS] = {18, 23, 4, 17, 90};

    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("filter.median");
        const int32_t middle = median(readings);
        RTMARK_END("filter.median");

        rtmark_expect("median", (uint32_t)middle, 18u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("filter.median", filter);
