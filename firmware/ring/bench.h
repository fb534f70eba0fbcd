/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the images of the ring share. */
#ifndef BENCH_H
#define BENCH_H

#include "ring.h"
#include "rtmark_firmware.h"

/* Enqueues a closure without context, or ends the run. */
static inline void enqueue(void (*function)(void *context))
{
    const struct closure closure = {.function = function, .context = NULL};

    if (!ring_enqueue(closure)) {
        rtmark_failed("no room for a closure");
    }
}

#endif
