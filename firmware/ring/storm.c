/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A closure that each interrupt enqueues. */
#include "bench.h"
#include "cortex_m.h"

static volatile uint32_t came;
static uint32_t handled;
static uint32_t sample;

RTMARK_BEGIN_AT_PEND("storm.background", 16);

static void (*handle_step)(void *context);

void IRQ0_Handler(void);

void IRQ0_Handler(void)
{
    came++;
    enqueue(handle_step);
}

/* -------------------------------------------------------------- storm.distance */

static void storming_step(void *context);

static void __attribute__((noinline)) storming_step(void *context)
{
    RTMARK_END("storm.distance");
    RTMARK_BEGIN("storm.distance");
    NVIC_ISPR0 = 1u;
    (void)context;
    rtmark_expect("interrupts handled", ++handled, sample + 1u);
    if (sample++ == RTMARK_SAMPLES) {
        rtmark_expect("interrupts", came, handled + 1u);
        rtmark_ok();
    }
}

static void distance(void)
{
    handle_step = storming_step;
    NVIC_ISER0 = 1u;
    NVIC_ISPR0 = 1u;
}
RTMARK_SCENARIO("storm.distance", distance);

/* -------------------------------------- storm.background: the closure runs when this one returns. */

static void handling_step(void *context)
{
    (void)context;
    handled++;
}

static void background_step(void *context)
{
    RTMARK_END("storm.background");
    (void)context;
    rtmark_expect("interrupts", came, sample);
    rtmark_expect("interrupts handled", handled, sample);
    if (sample++ == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    NVIC_ISPR0 = 1u;
    __asm__ __volatile__("dsb\n\tisb" : : : "memory");
    enqueue(background_step);
}

static void background(void)
{
    handle_step = handling_step;
    NVIC_ISER0 = 1u;
    enqueue(background_step);
}
RTMARK_SCENARIO("storm.background", background);
