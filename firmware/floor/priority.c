/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A lock that keeps everybody out, by hand: the low thread is main(), the high and the middle one
 * are handlers. And waiters as one bit each, the highest priority the lowest bit.
 */
#include "interrupts.h"
#include "rounds.h"
#include "rtmark_firmware.h"

/* -------------------------------------------------- priority.inversion.ceiling */

/* Of the interrupts, the high thread's has the highest priority, which all have after reset. */
enum { HIGH = 1u << 0, MIDDLE = 1u << 4, MIDDLE_PRIORITY = 0x40 };

static volatile uint32_t high_times;
static volatile uint32_t middle_times;
static volatile uint32_t middle_before;

RTMARK_BEGIN_AT_PEND("priority.inversion.ceiling", 16);

void IRQ0_Handler(void);
void IRQ4_Handler(void);

#if __ARM_ARCH_PROFILE == 'R'

/* Handlers run with interrupts masked, which is the lock. */
#define LOCK_IN_HANDLER() ((void)0)
#define UNLOCK_IN_HANDLER() ((void)0)

static HANDLER void handle(void)
{
    static void (*const handlers[])(void) = {[0] = IRQ0_Handler, [4] = IRQ4_Handler};

    HANDLER_BEGINS;
    handlers[handled_interrupt_ - CORTEX_R5_FIRST_SHARED]();
    HANDLER_ENDS;
}
#define HANDLE() cortex_r5_handle_by(handle)

#else
#define LOCK_IN_HANDLER() cortex_m_disable_interrupts()
#define UNLOCK_IN_HANDLER() cortex_m_enable_interrupts()
#define HANDLE() ((void)0)
#endif

void IRQ0_Handler(void)
{
    NVIC_ISPR0 = MIDDLE;
    LOCK_IN_HANDLER();
    RTMARK_END("priority.inversion.ceiling");
    middle_before = middle_times;
    high_times++;
    UNLOCK_IN_HANDLER();
}

void IRQ4_Handler(void)
{
    work_rounds(rtmark_point());
    middle_times++;
}

static void ceiling(void)
{
    HANDLE();
    NVIC_IPR1 = MIDDLE_PRIORITY;
    NVIC_ISER0 = HIGH | MIDDLE;
    for (uint32_t sample = 1; sample <= RTMARK_POINT_SAMPLES; sample++) {
        cortex_m_disable_interrupts();
        NVIC_ISPR0 = HIGH;
        work_rounds(1);
        rtmark_expect("times the high thread ran while the lock was held", high_times, sample - 1u);
        cortex_m_enable_interrupts();

        rtmark_expect("times the high thread held the lock", high_times, sample);
        rtmark_expect("times the middle thread worked", middle_times, sample);
        rtmark_expect("times it had before the high one", middle_before, sample - 1u);
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("priority.inversion.ceiling", ceiling);

/* ------------------------------------------------------------- priority.waiters */

enum { WORDS = 2, WORD_BITS = 32 };

static volatile uint32_t ready[WORDS];
static volatile uint32_t waiting[WORDS];

/* The highest comes last. */
static void all_wait(void)
{
    ready[0] = ready[1] = waiting[0] = waiting[1] = 0;
    for (uint32_t number = rtmark_point(); number-- > 0u;) {
        waiting[number / WORD_BITS] |= 1u << number % WORD_BITS;
    }
}

static void waiters(void)
{
    if (rtmark_point() > WORDS * WORD_BITS) {
        rtmark_no_room("threads");
    }
    for (uint32_t sample = 0; sample < RTMARK_POINT_SAMPLES; sample++) {
        all_wait();

        RTMARK_BEGIN("priority.waiters");
        cortex_m_disable_interrupts();
        const uint32_t word = waiting[0] != 0u ? 0u : 1u;
        const uint32_t bit = waiting[word] & -waiting[word];
        waiting[word] &= ~bit;
        ready[word] |= bit;
        cortex_m_enable_interrupts();
        RTMARK_END("priority.waiters");

        rtmark_expect("the highest ready", ready[0], 1u);
        rtmark_expect("others ready", ready[1], 0u);
        rtmark_expect("the highest still waiting", waiting[0] & 1u, 0u);
    }
    rtmark_point_ok();
}
RTMARK_SCENARIO("priority.waiters", waiters);
