/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal that nobody listens to. */
#include "bench.h"

static struct evloop_signal signal;

/* ------------------------------------------------------- events.post.immediate */

static void post_step(void *context)
{
    (void)context;
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("events.post.immediate");
        const bool done = evloop_emit(&signal);
        RTMARK_END("events.post.immediate");

        rtmark_expect("result of the emission", done, true);
    }
    rtmark_ok();
}

static void post_immediate(void)
{
    enqueue(post_step);
}
RTMARK_SCENARIO("events.post.immediate", post_immediate);
