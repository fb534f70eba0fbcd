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

int unused(int value)
{
    return value * 3;
}
