/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A word that says whether somebody holds the mutex; handed over to the one who waits. */
#include <stdbool.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "switch.h"

static volatile uint32_t held;
static volatile uint32_t times;

static inline bool try_lock(void)
{
    cortex_m_disable_interrupts();
    const bool free = held == 0u;
    if (free) {
        held = 1;
    }
    cortex_m_enable_interrupts();
    return free;
}

/* Nobody can wait for it: one store is all. */
static inline void unlock(void)
{
    held = 0;
}

/* -------------------------------- mutex.lock.immediate, mutex.unlock.immediate */

static void immediate(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("mutex.lock.immediate");
        const bool locked = try_lock();
        RTMARK_END("mutex.lock.immediate");

        rtmark_expect("result of the lock", locked, true);

        RTMARK_BEGIN("mutex.lock.poll_taken");
        const bool again = try_lock();
        RTMARK_END("mutex.lock.poll_taken");

        rtmark_expect("result of another lock", again, false);

        RTMARK_BEGIN("mutex.unlock.immediate");
        unlock();
        RTMARK_END("mutex.unlock.immediate");

        rtmark_expect("mutex held", held, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("mutex.lock.immediate", immediate);
RTMARK_SCENARIO("mutex.unlock.immediate", immediate);
RTMARK_SCENARIO("mutex.lock.poll_taken", immediate);

/* --------------------------------- mutex.lock.blocking, mutex.unlock.wake+ctx */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static bool somebody_waits;

static inline void lock_or_wait(void)
{
    cortex_m_disable_interrupts();
    if (held == 0u) {
        held = 1;
        cortex_m_enable_interrupts();
    } else {
        somebody_waits = true;
        cortex_m_enable_interrupts();
        floor_switch();
    }
}

/* Whoever waits holds it then. */
static inline void unlock_and_wake(void)
{
    cortex_m_disable_interrupts();
    if (somebody_waits) {
        somebody_waits = false;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        held = 0;
        cortex_m_enable_interrupts();
    }
}

static void contending(void)
{
    for (;;) {
        RTMARK_BEGIN("mutex.lock.blocking");
        lock_or_wait();
        RTMARK_END("mutex.unlock.wake+ctx");
        times++;
        unlock();
        floor_switch();
    }
}

static void holding(void)
{
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        lock_or_wait();
        floor_switch();
        RTMARK_END("mutex.lock.blocking");

        RTMARK_BEGIN("mutex.unlock.wake+ctx");
        unlock_and_wake();

        rtmark_expect("times the other context held the mutex", times, sample);
    }
    rtmark_ok();
}

static void contended(void)
{
    floor_prepare_thread(&second_stack, contending);
    floor_run_as_thread(&first_stack, holding);
}
RTMARK_SCENARIO("mutex.lock.blocking", contended);
RTMARK_SCENARIO("mutex.unlock.wake+ctx", contended);

/* ------------------------------------------------------ mutex.critical_section */

static void critical_section(void)
{
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("mutex.critical_section");
        cortex_m_disable_interrupts();
        times++;
        cortex_m_enable_interrupts();
        RTMARK_END("mutex.critical_section");

        rtmark_expect("increments", times, sample);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("mutex.critical_section", critical_section);

/* ------------------------------------------------------------- mutex.condvar.* */

static bool condition;

/* The other context is the only one that may signal. */
static inline void wait_for_signal(void)
{
    unlock_and_wake();
    floor_switch();
    lock_or_wait();
}

static void condition_waiting(void)
{
    lock_or_wait();
    for (;;) {
        while (!condition) {
            RTMARK_BEGIN("mutex.condvar.wait.blocking");
            wait_for_signal();
            RTMARK_END("mutex.condvar.signal.wake+ctx");
        }
        condition = false;
        times++;
    }
}

static void condition_signalling(void)
{
    /* Up to where it waits for the first time. */
    floor_switch();
    RTMARK_END("mutex.condvar.wait.blocking");
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        lock_or_wait();
        condition = true;
        unlock_and_wake();

        RTMARK_BEGIN("mutex.condvar.signal.wake+ctx");
        floor_switch();
        RTMARK_END("mutex.condvar.wait.blocking");

        rtmark_expect("times the condition was seen", times, sample);
        rtmark_expect("mutex held while it waits", held, 0u);
    }
    rtmark_ok();
}

static void condvar(void)
{
    floor_prepare_thread(&second_stack, condition_waiting);
    floor_run_as_thread(&first_stack, condition_signalling);
}
RTMARK_SCENARIO("mutex.condvar.wait.blocking", condvar);
RTMARK_SCENARIO("mutex.condvar.signal.wake+ctx", condvar);
