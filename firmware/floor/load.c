/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The mixed load of load.h by hand, for `rtmark worst --load`: handlers set flags, and one
 * loop does what is flagged, the most urgent first, and sleeps when nothing is. Jobs run to
 * their end, so the record needs no lock but against what slow leaves half-done over a tick.
 */
#include <stdbool.h>

#include "load.h"

enum job { URGENT = 1, FAST = 2, MIDDLE = 4, CONSUMER = 8, SERVER = 16, SLOW = 32, ENDS = 64, JUDGE = 128 };

static volatile uint32_t released;
static volatile uint32_t ticks;
static volatile uint32_t once_due;

static struct {
    struct load_item items[LOAD_ITEMS];
    volatile uint32_t in;
    volatile uint32_t out;
} ring;

/* Handlers of different priorities release jobs. */
static void release(uint32_t jobs)
{
    const uint32_t masked = core_mask();

    released |= jobs;
    core_restore(masked);
}

static void send(enum load_source source)
{
    const uint32_t masked = core_mask();
    const bool room = ring.in - ring.out < LOAD_ITEMS;

    if (room) {
        ring.items[ring.in % LOAD_ITEMS] = load_next(source);
        ring.in++;
    }
    load_was_sent(source, room);
    released |= CONSUMER;
    core_restore(masked);
}

void SysTick_Handler(void);
void IRQ0_Handler(void);
void IRQ8_Handler(void);

#if __ARM_ARCH_PROFILE == 'R'

#define TICK_TAKEN() cortex_r5_acknowledge_tick()

static inline void start_counting(void)
{
    cortex_r5_start_handlers();
}

#else

#define TICK_TAKEN() ((void)0)

static inline void start_counting(void)
{
    SYST_CSR = SYST_CSR_CLKSOURCE_CORE | SYST_CSR_TICKINT | SYST_CSR_ENABLE;
}

#endif

/* The device. */
void IRQ0_Handler(void)
{
    send(LOAD_DEVICE);
}

/* The alarm. */
void IRQ8_Handler(void)
{
    send(LOAD_ALARM);
    load.given_by_alarm++;
    load.wakes++;
    load.events++;
    release(URGENT | SERVER);
}

void SysTick_Handler(void)
{
    TICK_TAKEN();
    const uint32_t now = ++ticks;
    uint32_t jobs = 0;

    if (now <= LOAD_TICKS) {
        jobs |= now % LOAD_FAST == 0u ? FAST : 0u;
        jobs |= now % LOAD_MIDDLE == 0u ? MIDDLE : 0u;
        jobs |= now % LOAD_SLOW == 0u ? SLOW : 0u;
        if (now % LOAD_TIMER == 0u) {
            load.timers++;
            jobs |= SERVER;
        }
    }
    if (now == once_due) {
        load.timers++;
        jobs |= SERVER | ENDS;
    }
    if (now >= LOAD_END) {
        jobs |= JUDGE;
    }
    release(jobs);
}

static void count_event(void)
{
    const uint32_t masked = core_mask();

    load.events++;
    core_restore(masked);
}

static void fast(void)
{
    LOAD_FAST_RUNS();
    count_event();
    NVIC_ISPR0 = 1u;
    load.fast++;
}

static void middle(void)
{
    load.first++;
    count_event();
    load.second++;
    send(LOAD_MIDDLE_TASK);
    load.middle++;
}

static void slow(void)
{
    load.first++;
    once_due = ticks + 1u;
}

static void slow_ends(void)
{
    load.second++;
    count_event();
    load.slow++;
}

static void consume(void)
{
    while (ring.in != ring.out) {
        load_received(&ring.items[ring.out % LOAD_ITEMS]);
        ring.out++;
    }
}

static void serve(void)
{
    while (load.taken != load_given()) {
        load.taken++;
    }
}

static void judge(void)
{
    static uint32_t waited;
    const uint32_t masked = core_mask();

    if (load_is_quiet() || ++waited == LOAD_GRACE) {
        load_judge();
    }
    core_restore(masked);
}

/* The most urgent job that is released, or none after a sleep. */
static uint32_t next_job(void)
{
    cortex_m_disable_interrupts();
    if (released == 0u) {
        /* Wakes for a masked interrupt too, and unmasking lets the handler run. */
        __asm__ __volatile__("wfi" : : : "memory");
        cortex_m_enable_interrupts();
        __asm__ __volatile__("isb" : : : "memory");
        return 0;
    }
    const uint32_t job = released & -released;
    released &= ~job;
    cortex_m_enable_interrupts();
    return job;
}

static void mixed(void)
{
    bool locked = false;
    bool held_up = false;

    NVIC_IPR0 = 0x40;
    NVIC_ISER0 = 1u;
    load_set_tick();
    start_counting();
    RTMARK_BEGIN("load.mixed");
    for (;;) {
        switch (next_job()) {
        case URGENT:
            load.woken++;
            break;
        case FAST:
            fast();
            break;
        case MIDDLE:
            if (locked) {
                held_up = true;
            } else {
                middle();
            }
            break;
        case CONSUMER:
            consume();
            break;
        case SERVER:
            serve();
            break;
        case SLOW:
            locked = true;
            slow();
            break;
        case ENDS:
            slow_ends();
            locked = false;
            if (held_up) {
                held_up = false;
                middle();
            }
            break;
        case JUDGE:
            judge();
            break;
        default:
            break;
        }
    }
}
LOAD_SCENARIO(mixed);
