/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the images share. */
#ifndef BENCH_H
#define BENCH_H

#include "pool_loop.h"

extern struct pool_loop loop;

#endif
