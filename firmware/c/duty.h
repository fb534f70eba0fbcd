/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The mixed load of load.h for many hyperperiods, `duty.*`: to be included before a kernel's load.c.
 */
#ifndef DUTY_H
#define DUTY_H

#define LOAD_HYPERPERIODS 200
#define LOAD_FAST_RUNS() duty_fast_runs()
#define LOAD_SCENARIO(function)               \
    RTMARK_SCENARIO("duty.jitter", function); \
    RTMARK_SCENARIO("duty.awake", function)

#include "load.h"

/* Each tick begins a span, and those begin it anew that do not make fast ready. */
RTMARK_BEGIN_AT_PEND("duty.jitter", CORE_TICK);

/* First thing in each job of fast. */
static inline void duty_fast_runs(void)
{
    static uint32_t jobs_left;

    RTMARK_END("duty.jitter");
    if (jobs_left == 0u) {
        RTMARK_END("duty.awake");
        RTMARK_BEGIN("duty.awake");
        jobs_left = LOAD_HYPERPERIOD / LOAD_FAST;
    }
    jobs_left--;
}

#endif
