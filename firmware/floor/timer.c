/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A tick that counts, and a delay that sleeps until enough were counted. */
#include "interrupts.h"
#include "rtmark_firmware.h"
#include "rtmark_soc.h"

enum { TICK_HZ = 1000 };

static volatile uint32_t ticks;

void SysTick_Handler(void);

HANDLER void SysTick_Handler(void)
{
    TICK_BEGINS;
    ticks++;
    TICK_ENDS;
}

static void start_ticks(void)
{
    start_tick(TICK_HZ, SysTick_Handler);
}

/* ---------------------------------------------------------- timer.delay.1000ms */

static inline void delay(uint32_t duration)
{
    const uint32_t start = ticks;

    /* Masked, so that no tick slips in between the test and the sleep: WFI wakes for
     * a masked interrupt too, and unmasking lets the handler run. */
    cortex_m_disable_interrupts();
    while (ticks - start < duration) {
        __asm__ __volatile__("wfi" : : : "memory");
        cortex_m_enable_interrupts();
        __asm__ __volatile__("isb" : : : "memory");
        cortex_m_disable_interrupts();
    }
    cortex_m_enable_interrupts();
}

static void delay_1000ms(void)
{
    enum { DELAYS = 4 };

    start_ticks();
    for (uint32_t sample = 0; sample < DELAYS; sample++) {
        const uint32_t before = ticks;

        RTMARK_BEGIN("timer.delay.1000ms");
        delay(TICK_HZ);
        RTMARK_END("timer.delay.1000ms");

        rtmark_expect("ticks passed", ticks - before, TICK_HZ);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("timer.delay.1000ms", delay_1000ms);

/* ------------------------------------------------------------------ timer.tick */

RTMARK_BEGIN_AT_PEND("timer.tick", CORE_TICK);
RTMARK_END_AT_RETURN("timer.tick", CORE_TICK);

static void tick(void)
{
    start_ticks();
    while (ticks < RTMARK_SAMPLES) {
    }
    rtmark_ok();
}
RTMARK_SCENARIO("timer.tick", tick);

/* ------------------------------------------------------------------ timer.wake */

RTMARK_BEGIN_AT_PEND("timer.wake", CORE_TICK);

static void wake(void)
{
    start_ticks();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        delay(1);
        RTMARK_END("timer.wake");
        rtmark_expect("ticks", ticks, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("timer.wake", wake);

/* ----------------------------------------------------------- timer.period.10ms */

static void period(void)
{
    enum { PERIOD = 10 };

    start_ticks();
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        delay(PERIOD - ticks % PERIOD);
        RTMARK_END("timer.period.10ms");
        RTMARK_BEGIN("timer.period.10ms");
        rtmark_expect("ticks into the period", ticks % PERIOD, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("timer.period.10ms", period);

/* ------------------------------------------------------------------- timer.now */

static void now(void)
{
    start_ticks();
    delay(1);
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("timer.now");
        const uint32_t time = ticks;
        RTMARK_END("timer.now");

        rtmark_expect("time has come", time != 0u, 1u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("timer.now", now);

/* ------------------------------------------------------------------ timer.idle */

RTMARK_BEGIN_AT_PEND("timer.idle", CORE_TICK);
RTMARK_END_AT_SLEEP("timer.idle");

static void idle(void)
{
    start_ticks();
    delay(RTMARK_SAMPLES + 1u);
    rtmark_ok();
}
RTMARK_SCENARIO("timer.idle", idle);
