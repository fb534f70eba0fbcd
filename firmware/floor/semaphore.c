/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A counter that contexts and interrupts may change at any time. */
#include <stdbool.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "switch.h"

static int32_t count;

#if defined(__ARM_ARCH_6M__)

static inline void give(void)
{
    cortex_m_disable_interrupts();
    count++;
    cortex_m_enable_interrupts();
}

static inline bool take(void)
{
    cortex_m_disable_interrupts();
    const int32_t left = count - 1;
    if (left >= 0) {
        count = left;
    }
    cortex_m_enable_interrupts();
    return left >= 0;
}

#else

/*
 * Nothing is masked: who was interrupted between the load and the store tries again.
 * In assembler, because a compiler's loop around the two has branches to spare.
 */

static inline void give(void)
{
    int32_t given;
    uint32_t refused;

    __asm__ __volatile__(
        "1: ldrex %0, [%2]     \n"
        "   adds  %0, #1       \n"
        "   strex %1, %0, [%2] \n"
        "   cmp   %1, #0       \n"
        "   bne   1b           \n"
        : "=&l"(given), "=&l"(refused)
        : "l"(&count)
        : "cc", "memory");
}

static inline bool take(void)
{
    int32_t left;
    uint32_t refused;

    __asm__ __volatile__(
        "1: ldrex %0, [%2]     \n"
        "   subs  %0, #1       \n"
        "   bmi   2f           \n"
        "   strex %1, %0, [%2] \n"
        "   cmp   %1, #0       \n"
        "   bne   1b           \n"
        "2:                    \n"
        : "=&l"(left), "=&l"(refused)
        : "l"(&count)
        : "cc", "memory");
    return left >= 0;
}

#endif

/* ---------------------------------------------------- semaphore.give.immediate */

static void give_immediate(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("semaphore.give.immediate");
        give();
        RTMARK_END("semaphore.give.immediate");

        rtmark_expect("count after the give", (uint32_t)count, 1u);
        rtmark_expect("result of the take", take(), true);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("semaphore.give.immediate", give_immediate);

/* ---------------------------------------------------- semaphore.take.immediate */

static void take_immediate(void)
{
    rtmark_expect("result of a take from nothing", take(), false);

    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        give();

        RTMARK_BEGIN("semaphore.take.immediate");
        const bool taken = take();
        RTMARK_END("semaphore.take.immediate");

        rtmark_expect("result of the take", taken, true);
        rtmark_expect("count after the take", (uint32_t)count, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("semaphore.take.immediate", take_immediate);

/* --------------------------------------------------- semaphore.take.poll_empty */

/* Who expects to find nothing looks first: one load tells, and nothing has to be masked for it. */
static void poll_empty(void)
{
    const int32_t *looked_at = &count;

    /* From here on its address is in a register. */
    __asm__ __volatile__("" : "+l"(looked_at));

    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("semaphore.take.poll_empty");
        int32_t taken = *looked_at;
        if (taken > 0) {
            taken = take();
        }
        RTMARK_END("semaphore.take.poll_empty");

        rtmark_expect("result of the take", (uint32_t)taken, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("semaphore.take.poll_empty", poll_empty);

/* ---------------------------- semaphore.give.wake+ctx, semaphore.take.blocking */

/* The semaphore goes from hand to hand: it is never counted while someone waits. */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static bool somebody_waits;
static volatile uint32_t taken;

/* What is measured is the straight way, hence the expectations. */
#define EXPECTED(condition) __builtin_expect((condition), true)

static inline void give_and_wake(void)
{
    cortex_m_disable_interrupts();
    if (EXPECTED(somebody_waits)) {
        somebody_waits = false;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        count++;
        cortex_m_enable_interrupts();
    }
}

static inline void take_or_wait(void)
{
    cortex_m_disable_interrupts();
    if (EXPECTED(count == 0)) {
        somebody_waits = true;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        count--;
        cortex_m_enable_interrupts();
    }
}

static void waiting(void)
{
    /* The first time, the other context has not given anything yet. */
    take_or_wait();
    for (;;) {
        RTMARK_END("semaphore.give.wake+ctx");
        taken++;
        RTMARK_BEGIN("semaphore.take.blocking");
        take_or_wait();
    }
}

static void waking(void)
{
    /* Up to where it waits for the first time. */
    floor_switch();

    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("semaphore.give.wake+ctx");
        give_and_wake();
        RTMARK_END("semaphore.take.blocking");

        rtmark_expect("times the waiting context took the semaphore", taken, sample);
    }
    rtmark_expect("count", (uint32_t)count, 0u);
    rtmark_ok();
}

static void give_wake(void)
{
    floor_prepare_thread(&second_stack, waiting);
    floor_run_as_thread(&first_stack, waking);
}
RTMARK_SCENARIO("semaphore.give.wake+ctx", give_wake);
RTMARK_SCENARIO("semaphore.take.blocking", give_wake);

/* --------------------------------------------------------- semaphore.handover */

/* Contexts that switch by agreement alone need no masking: these semaphores are theirs only. */

static volatile uint32_t ball;
static volatile uint32_t answer;

static inline void take_in_turn(volatile uint32_t *semaphore)
{
    while (*semaphore == 0u) {
        floor_yield();
    }
    --*semaphore;
}

static void answering(void)
{
    for (;;) {
        take_in_turn(&ball);
        RTMARK_END("semaphore.handover");
        taken++;
        answer++;
    }
}

static void handover(void)
{
    floor_prepare_coroutine(&second_stack, answering);
    floor_yield();
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("semaphore.handover");
        ball++;
        take_in_turn(&answer);

        rtmark_expect("times the other context took the semaphore", taken, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("semaphore.handover", handover);
