/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The mixed load for many hyperperiods. */
#include "duty.h"
#include "load.c"
