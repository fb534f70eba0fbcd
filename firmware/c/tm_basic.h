/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The work of tm.basic, in which no kernel takes part. */
#ifndef TM_BASIC_H
#define TM_BASIC_H

#include <stdint.h>

#include "rtmark_firmware.h"

#define TM_WORDS 256u

static volatile uint32_t tm_array[TM_WORDS];
static volatile uint32_t tm_rounds;

/* One round of Thread-Metric's basic processing. */
static inline void tm_basic_round(uint32_t counter)
{
    for (uint32_t word = 0; word < TM_WORDS; word++) {
        tm_array[word] = (tm_array[word] + counter) ^ tm_array[word];
    }
}

/* As many rounds as make RTMARK_SAMPLES spans from one to the next. */
static inline void tm_basic_run(void)
{
    for (uint32_t round = 0; round <= RTMARK_SAMPLES; round++) {
        RTMARK_END("tm.basic");
        RTMARK_BEGIN("tm.basic");
        tm_rounds = round;
        tm_basic_round(round);
    }
    rtmark_fact("sum", tm_array[0] + tm_array[TM_WORDS - 1u]);
    rtmark_ok();
}

#endif
