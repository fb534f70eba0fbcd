/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From reset to the first closure. */
#include "bench.h"

/* What startup code has to bring about before anything runs. */
static volatile uint32_t initialised = 0x600DDA7Au;
static volatile uint32_t cleared;

static void first_step(void *context);

RTMARK_BEGIN_AT_RESET("boot.first_task");
RTMARK_END_AT_ENTRY("boot.first_task", first_step);

static void __attribute__((noinline)) first_step(void *context)
{
    (void)context;
    rtmark_run_selected_scenario();
}

int main(void)
{
    ring_start_ticks();
    enqueue(first_step);
    ring_run();
}

static void ticked_step(void *context)
{
    (void)context;
    rtmark_expect("ticks", ring_now(), 2u);
    rtmark_ok();
}

static void first_task(void)
{
    static struct ring_timer timer;
    const struct closure ticked = {.function = ticked_step};

    rtmark_expect("initialised variable", initialised, 0x600DDA7Au);
    rtmark_expect("cleared variable", cleared, 0u);
    ring_timer_start(&timer, ticked, 2, 0);
}
RTMARK_SCENARIO("boot.first_task", first_task);
