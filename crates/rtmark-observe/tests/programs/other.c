/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "app.h"

struct list { uint16_t first, last; uint8_t end; };
struct list another_list;
static volatile uint8_t state[6];

static NOINLINE uint32_t helper(uint32_t value)
{
    state[1] = (uint8_t)value;
    return state[1];
}

uint32_t other(uint32_t value)
{
    another_list.end = 1;
    return helper(value) + helper(value + 1);
}

#define STORE(at) state[at] = (uint8_t)(value ^ state[5 - (at)]);
#define STORES STORE(0) STORE(1) STORE(2) STORE(3) STORE(4) STORE(5)

static inline __attribute__((always_inline)) uint32_t last(uint32_t value)
{
    state[0] = (uint8_t)value;
    return value ^ state[1];
}

/* Larger than all other functions together. */
uint32_t unused(uint32_t value)
{
    STORES STORES STORES STORES STORES STORES STORES STORES
    return last(value);
}
