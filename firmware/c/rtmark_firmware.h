/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every image of rtmark has in common besides its probes: choosing the
 * scenario, and ending it with one line on the console and an exit status.
 *
 *     thread.yield ok
 *     workload.prime.single ok primes=10 numbers=177
 *     queue.send.immediate FAILED: items received is 7, expected 101
 */
#ifndef RTMARK_FIRMWARE_H
#define RTMARK_FIRMWARE_H

#include <stdint.h>

#include "rtmark_probe.h"

/*
 * How many samples a scenario takes unless the catalogue says otherwise: the
 * first, which finds caches and prefetch buffers cold, and a hundred more.
 */
#define RTMARK_SAMPLES (1u + 100u)

/* The same for each point of a curve. */
#define RTMARK_POINT_SAMPLES (1u + 8u)

/* How often the scenarios that poll do so. */
#define RTMARK_POLLS 100000u

/* Calls the function of the scenario that the word `rtmark_select` names. */
void rtmark_run_selected_scenario(void);

/*
 * Where a scenario is measured against a count: how many, as the upper half of the word
 * `rtmark_select` says, and at least one. rtmark_point_ok() ends the run as ok, and tells that
 * count; rtmark_no_room() tells that there is no memory for so many of `what`.
 */
uint32_t rtmark_point(void);
void rtmark_point_ok(void) __attribute__((noreturn));
void rtmark_no_room(const char *what) __attribute__((noreturn));

/* How many yields are measured where so many threads are ready beside the one that yields: the
 * first, and whole rounds with no fewer samples than a point has. */
static inline uint32_t rtmark_point_yields(void)
{
    const uint32_t threads = rtmark_point() + 1u;

    return 1u + (1u + RTMARK_POINT_SAMPLES / threads) * threads;
}

/* Memory that no section claims and nobody gives back, aligned to eight bytes; ends the run by
 * rtmark_no_room(what) when there is none left. A KiB is kept for the main stack. */
void *rtmark_room(uint32_t bytes, const char *what);

/*
 * Adds ` key=value` to the line that rtmark_ok() prints. A fact must not depend
 * on timing, because the same firmware has to print the same on a simulator,
 * in QEMU and on a board. One that does depend on it carries a key that starts
 * with `~`, and is left out of such comparisons.
 */
void rtmark_fact(const char *key, uint32_t value);

/* Ends the run with the line `<id> ok`. */
void rtmark_ok(void) __attribute__((noreturn));

/* Ends the run with the line `<id> FAILED: <what>`. */
void rtmark_failed(const char *what) __attribute__((noreturn));

/* The same with the address of the code that went wrong: `<what> at 0x08001234`. */
void rtmark_failed_at(const char *what, uint32_t address) __attribute__((noreturn));

/* The same with a number at its end. */
void rtmark_failed_with(const char *what, uint32_t number) __attribute__((noreturn));

/* Ends the run as failed unless both values are equal. */
void rtmark_expect(const char *what, uint32_t value, uint32_t expected);

#endif
