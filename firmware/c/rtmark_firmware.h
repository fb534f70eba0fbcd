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

/* How often the scenarios that poll do so. */
#define RTMARK_POLLS 100000u

/* Calls the function of the scenario that the word `rtmark_select` names. */
void rtmark_run_selected_scenario(void);

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
