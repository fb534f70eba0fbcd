/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The loop with room for more closures than most images need: compiled alone, as it is for them. */
#define RING_LENGTH 128u
#include "ring.c"
