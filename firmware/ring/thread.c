/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From one closure to the next. */
#include "bench.h"

static uint32_t switches;

/* ---------------------------------------------------------------- thread.yield */

/* Two closures, each of which re-enqueues itself: a sample begins in one and ends where the
 * other begins. */

static void first_step(void *context);
static void second_step(void *context);

RTMARK_END_AT_ENTRY("thread.yield", first_step);
RTMARK_END_AT_ENTRY("thread.yield", second_step);

static void __attribute__((noinline)) first_step(void *context)
{
    (void)context;
    rtmark_expect("turn", switches % 2u, 0u);
    switches++;

    RTMARK_BEGIN("thread.yield");
    enqueue(first_step);
}

static void __attribute__((noinline)) second_step(void *context)
{
    (void)context;
    rtmark_expect("turn", switches % 2u, 1u);
    switches++;
    if (switches > RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("thread.yield");
    enqueue(second_step);
}

static void yield(void)
{
    enqueue(first_step);
    enqueue(second_step);
}
RTMARK_SCENARIO("thread.yield", yield);

/* ---------------------------------------------------------- thread.yield.alone */

static void alone_step(void *context);

RTMARK_END_AT_ENTRY("thread.yield.alone", alone_step);

static void __attribute__((noinline)) alone_step(void *context)
{
    (void)context;
    if (switches++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("thread.yield.alone");
    enqueue(alone_step);
}

static void yield_alone(void)
{
    enqueue(alone_step);
}
RTMARK_SCENARIO("thread.yield.alone", yield_alone);

/* ----------------------------------- thread.create, .end and .resume.immediate */

/* A closure is created by enqueuing it, and resumed by a signal that it listens to. */

static struct ring_signal resume;

static void created_step(void *context);
static void creating_step(void *context);

RTMARK_END_AT_ENTRY("thread.end", creating_step);

static void created_step(void *context)
{
    (void)context;
    switches++;
    enqueue(creating_step);
    RTMARK_BEGIN("thread.end");
}

/* Checks that the last one has run, and ends behind enough of them. */
static inline void count_created(void)
{
    static uint32_t sample;

    rtmark_expect("closures that ran", switches, sample);
    if (sample++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
}

static void __attribute__((noinline)) creating_step(void *context)
{
    const struct closure created = {.function = created_step};

    (void)context;
    count_created();
    RTMARK_BEGIN("thread.create");
    const bool done = ring_enqueue(created);
    RTMARK_END("thread.create");

    rtmark_expect("result of the enqueue", done, true);
}

static void create(void)
{
    enqueue(creating_step);
}
RTMARK_SCENARIO("thread.create", create);
RTMARK_SCENARIO("thread.end", create);

/* Nothing is allocated for a closure, so this is the same. */

static void creating_static_step(void *context);

static void created_static_step(void *context)
{
    (void)context;
    switches++;
    enqueue(creating_static_step);
}

static void creating_static_step(void *context)
{
    const struct closure created = {.function = created_static_step};

    (void)context;
    count_created();
    RTMARK_BEGIN("thread.create.static");
    const bool done = ring_enqueue(created);
    RTMARK_END("thread.create.static");

    rtmark_expect("result of the enqueue", done, true);
}

static void create_static(void)
{
    enqueue(creating_static_step);
}
RTMARK_SCENARIO("thread.create.static", create_static);

static void resuming_step(void *context)
{
    static uint32_t sample;

    (void)context;
    rtmark_expect("closures that ran", switches, sample);
    if (sample++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    RTMARK_BEGIN("thread.resume.immediate");
    const bool done = ring_emit(&resume);
    RTMARK_END("thread.resume.immediate");

    rtmark_expect("result of the emission", done, true);
}

static void resumed_step(void *context)
{
    (void)context;
    switches++;
    enqueue(resuming_step);
}

static void resume_immediate(void)
{
    static struct ring_listener listener = {.closure = {.function = resumed_step}};

    ring_listen(&resume, &listener);
    enqueue(resuming_step);
}
RTMARK_SCENARIO("thread.resume.immediate", resume_immediate);
