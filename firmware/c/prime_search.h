/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The workload of workload.prime.*: the first ten primes from 0xFFFFFFF upward, by
 * trial division in 64 bits. How much work that is, is known; so every kernel that
 * reports it has done the same.
 *
 * A header, so that each kernel compiles it together with its own way to yield.
 */
#ifndef PRIME_SEARCH_H
#define PRIME_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "rtmark_firmware.h"

#define PRIME_SEARCH_START 268435455u
#define PRIME_SEARCH_PRIMES 10u
#define PRIME_SEARCH_NUMBERS 177u
#define PRIME_SEARCH_DIVISIONS 202336u

struct prime_search {
    uint64_t primes[PRIME_SEARCH_PRIMES];
    uint32_t found;
    uint32_t numbers;
    uint32_t divisions;
};

/*
 * Calls `yield` once for each trial division. With a function that does nothing,
 * the compiler leaves no trace of it.
 */
static inline __attribute__((always_inline)) void prime_search(struct prime_search *search,
                                                               void (*yield)(void))
{
    uint64_t primes[PRIME_SEARCH_PRIMES];
    uint32_t found = 0;
    uint32_t numbers = 0;
    uint32_t divisions = 0;

    for (uint64_t n = PRIME_SEARCH_START; found < PRIME_SEARCH_PRIMES; n++) {
        bool is_prime = true;

        for (uint64_t i = 2; i * i <= n; i++) {
            divisions++;
            yield();
            if (n % i == 0u) {
                is_prime = false;
                break;
            }
        }
        numbers++;
        if (is_prime) {
            primes[found++] = n;
        }
    }

    for (uint32_t k = 0; k < PRIME_SEARCH_PRIMES; k++) {
        search->primes[k] = primes[k];
    }
    search->found = found;
    search->numbers = numbers;
    search->divisions = divisions;
}

/* Checks everything that the search counted and found, and puts it on the line. */
static inline void prime_search_check(const struct prime_search *search)
{
    static const uint32_t expected[PRIME_SEARCH_PRIMES] = {
        268435459u, 268435463u, 268435493u, 268435523u, 268435537u,
        268435561u, 268435577u, 268435579u, 268435597u, 268435631u,
    };

    for (uint32_t k = 0; k < PRIME_SEARCH_PRIMES; k++) {
        rtmark_expect("upper half of a prime", (uint32_t)(search->primes[k] >> 32), 0u);
        rtmark_expect("prime", (uint32_t)search->primes[k], expected[k]);
    }
    rtmark_expect("number of primes", search->found, PRIME_SEARCH_PRIMES);
    rtmark_expect("numbers tested", search->numbers, PRIME_SEARCH_NUMBERS);
    rtmark_expect("trial divisions", search->divisions, PRIME_SEARCH_DIVISIONS);

    rtmark_fact("primes", search->found);
    rtmark_fact("numbers", search->numbers);
    rtmark_fact("divisions", search->divisions);
    rtmark_fact("last", (uint32_t)search->primes[PRIME_SEARCH_PRIMES - 1u]);
}

#endif
