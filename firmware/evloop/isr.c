/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a pending interrupt to its handler, and to the closure that the handler enqueues.
 *
 * Both scenarios are the same program; they differ in where the span ends. A closure runs to
 * its end before the next one may begin: the one that is interrupted here ends at once.
 */
#include "bench.h"
#include "cortex_m.h"

static uint32_t pended;
static uint32_t handled;

static void pend_step(void *context);
static void handle_step(void *context);

RTMARK_BEGIN_AT_PEND("isr.entry", 16);
RTMARK_END_AT_ENTRY("isr.entry", IRQ0_Handler);

RTMARK_BEGIN_AT_PEND("isr.wake.thread", 16);
RTMARK_END_AT_ENTRY("isr.wake.thread", handle_step);

void IRQ0_Handler(void);

void IRQ0_Handler(void)
{
    enqueue(handle_step);
}

static void __attribute__((noinline)) handle_step(void *context)
{
    (void)context;
    handled++;
    enqueue(pend_step);
}

static void pend_step(void *context)
{
    (void)context;
    rtmark_expect("interrupts handled", handled, pended);
    if (pended == RTMARK_SAMPLES) {
        rtmark_ok();
    }
    pended++;
    NVIC_ISPR0 = 1u;
}

static void interrupt(void)
{
    NVIC_ISER0 = 1u;
    enqueue(pend_step);
}
RTMARK_SCENARIO("isr.entry", interrupt);
RTMARK_SCENARIO("isr.wake.thread", interrupt);
