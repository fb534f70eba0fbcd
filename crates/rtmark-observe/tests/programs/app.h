/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define NOINLINE __attribute__((noinline))

uint32_t other(uint32_t value);
