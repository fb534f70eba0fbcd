/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The prime search of the study, for longer: every number divided by those below
 * its root, in 64 bits.
 */
#include "rtmark_firmware.h"

#define LAST 40000u

static void search(void)
{
    uint32_t primes = 0, divisions = 0;
    for (volatile uint64_t next = 2; next <= LAST; next++) {
        const uint64_t number = next;
        uint64_t divisor = 2;
        while (divisor * divisor <= number && (divisions++, number % divisor != 0)) {
            divisor++;
        }
        primes += divisor * divisor > number;
    }
    rtmark_expect("primes", primes, 4203);
    rtmark_fact("divisions", divisions);
    rtmark_ok();
}
RTMARK_SCENARIO("prime.search", search);
