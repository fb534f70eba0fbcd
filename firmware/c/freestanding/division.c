/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Division of words, for a compiler whose library has none: by shifting and subtracting. */
#include <stdint.h>

uint32_t __udivsi3(uint32_t dividend, uint32_t divisor);
uint32_t __umodsi3(uint32_t dividend, uint32_t divisor);

static uint32_t divide(uint32_t dividend, uint32_t divisor, uint32_t *rest)
{
    uint32_t quotient = 0, remainder = 0;

    for (int bit = 31; bit >= 0; bit--) {
        remainder = remainder << 1 | (dividend >> bit & 1u);
        if (remainder >= divisor) {
            remainder -= divisor;
            quotient |= UINT32_C(1) << bit;
        }
    }
    *rest = remainder;
    return quotient;
}

uint32_t __udivsi3(uint32_t dividend, uint32_t divisor)
{
    uint32_t rest;

    return divide(dividend, divisor, &rest);
}

uint32_t __umodsi3(uint32_t dividend, uint32_t divisor)
{
    uint32_t rest;

    divide(dividend, divisor, &rest);
    return rest;
}
