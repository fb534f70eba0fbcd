/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
#include <stdint.h>

static volatile uint32_t ring[8];

static inline uint32_t ring_slot(uint32_t at)
{
    uint32_t slot = ring[at & 7];
    ring[(at + 1) & 7] = slot;
    return slot;
}

static inline uint32_t ring_take(uint32_t at)
{
    uint32_t taken = ring_slot(at) * 7;
    ring[0] = taken;
    return taken;
}
