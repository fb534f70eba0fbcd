/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A word that counts readers, or says that a writer holds the lock; handed over to the writer who waits. */
#include <stdbool.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"
#include "switch.h"

enum { FREE = 0, WRITER = -1 };

static volatile int32_t state;
static volatile uint32_t times;

static inline bool try_read(void)
{
    cortex_m_disable_interrupts();
    const int32_t before = state;
    if (before >= FREE) {
        state = before + 1;
    }
    cortex_m_enable_interrupts();
    return before >= FREE;
}

/* Nobody can wait for it. */
static inline void read_unlock(void)
{
    cortex_m_disable_interrupts();
    state--;
    cortex_m_enable_interrupts();
}

static inline bool try_write(void)
{
    cortex_m_disable_interrupts();
    const bool free = state == FREE;
    if (free) {
        state = WRITER;
    }
    cortex_m_enable_interrupts();
    return free;
}

/* Nobody can wait for it: one store is all. */
static inline void write_unlock(void)
{
    state = FREE;
}

/* ---------------- rwlock.read.{immediate,shared,unlock}, rwlock.write.poll_read */

static void reading_alone(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("rwlock.read.immediate");
        const bool first = try_read();
        RTMARK_END("rwlock.read.immediate");

        RTMARK_BEGIN("rwlock.read.shared");
        const bool second = try_read();
        RTMARK_END("rwlock.read.shared");

        /* A look is enough to be refused. */
        RTMARK_BEGIN("rwlock.write.poll_read");
        const int32_t seen = state;
        if (__builtin_expect(seen == FREE, 0)) {
            try_write();
        }
        RTMARK_END("rwlock.write.poll_read");

        rtmark_expect("first reader", first, true);
        rtmark_expect("second reader", second, true);
        rtmark_expect("readers, where one would write", (uint32_t)seen, 2u);
        read_unlock();

        RTMARK_BEGIN("rwlock.read.unlock");
        read_unlock();
        RTMARK_END("rwlock.read.unlock");

        rtmark_expect("readers left", (uint32_t)state, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("rwlock.read.immediate", reading_alone);
RTMARK_SCENARIO("rwlock.read.shared", reading_alone);
RTMARK_SCENARIO("rwlock.read.unlock", reading_alone);
RTMARK_SCENARIO("rwlock.write.poll_read", reading_alone);

/* ---------------------------------------------- rwlock.write.{immediate,unlock} */

static void writing_alone(void)
{
    for (uint32_t sample = 0; sample < RTMARK_SAMPLES; sample++) {
        RTMARK_BEGIN("rwlock.write.immediate");
        const bool locked = try_write();
        RTMARK_END("rwlock.write.immediate");

        rtmark_expect("result of the lock", locked, true);
        rtmark_expect("a reader beside the writer", try_read(), false);

        RTMARK_BEGIN("rwlock.write.unlock");
        write_unlock();
        RTMARK_END("rwlock.write.unlock");

        rtmark_expect("lock held", (uint32_t)state, 0u);
    }
    rtmark_ok();
}
RTMARK_SCENARIO("rwlock.write.immediate", writing_alone);
RTMARK_SCENARIO("rwlock.write.unlock", writing_alone);

/* ---------------------------- rwlock.write.blocking, rwlock.read.unlock.wake+ctx */

static struct floor_stack first_stack;
static struct floor_stack second_stack;
static bool writer_waits;

static inline void write_or_wait(void)
{
    cortex_m_disable_interrupts();
    if (state == FREE) {
        state = WRITER;
        cortex_m_enable_interrupts();
    } else {
        writer_waits = true;
        cortex_m_enable_interrupts();
        floor_switch();
    }
}

/* The last reader hands the lock over to the writer who waits. */
static inline void read_unlock_and_wake(void)
{
    cortex_m_disable_interrupts();
    if (state == 1 && writer_waits) {
        writer_waits = false;
        state = WRITER;
        cortex_m_enable_interrupts();
        floor_switch();
    } else {
        state--;
        cortex_m_enable_interrupts();
    }
}

static void writing(void)
{
    for (;;) {
        RTMARK_BEGIN("rwlock.write.blocking");
        write_or_wait();
        RTMARK_END("rwlock.read.unlock.wake+ctx");
        times++;
        write_unlock();
        floor_switch();
    }
}

static void reading(void)
{
    for (uint32_t sample = 1; sample <= RTMARK_SAMPLES; sample++) {
        rtmark_expect("lock for reading", try_read(), true);
        floor_switch();
        RTMARK_END("rwlock.write.blocking");

        rtmark_expect("times the lock was held for writing", times, sample - 1u);

        RTMARK_BEGIN("rwlock.read.unlock.wake+ctx");
        read_unlock_and_wake();

        rtmark_expect("times the lock was held for writing", times, sample);
    }
    rtmark_ok();
}

static void contended(void)
{
    floor_prepare_thread(&second_stack, writing);
    floor_run_as_thread(&first_stack, reading);
}
RTMARK_SCENARIO("rwlock.write.blocking", contended);
RTMARK_SCENARIO("rwlock.read.unlock.wake+ctx", contended);
