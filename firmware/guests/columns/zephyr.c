/* No kernel: functions of Zephyr's names that a program calls, and the console of its latency_measure,
 * as far as the program comes: -DHALF ends in a loop behind two rows, -DFAULT in a fault. -DPLAIN is
 * no benchmark, -DWRAPPED has a wrapper of a system call, -DOTHER_CLOCK counts another clock's cycles
 * than the core's, and -DLATE waits for more than a second of 25 MHz. */

#include <stdint.h>

extern uint32_t stack_top[];
void reset(void);

__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    [0] = stack_top, [1] = reset,
};

struct k_sem {
    void *wait_q[2];
    uint32_t count;
    uint32_t limit;
};

struct k_mutex {
    void *wait_q[2];
    void *owner;
    uint32_t lock_count;
};

uint32_t _kernel;
static struct k_sem semaphore;
static struct k_mutex mutex;

#ifdef OTHER_CLOCK
#define CLOCK "100 MHz"
#define NS(core, other) other
#else
#define CLOCK "25 MHz"
#define NS(core, other) core
#endif

#define KERNELS __attribute__((noinline, noclone))

static void spend(uint32_t turns)
{
    for (volatile uint32_t turn = 0; turn < turns; turn++) {
    }
}

KERNELS void z_impl_k_sem_give(struct k_sem *given)
{
    given->count++;
    spend(5);
}

KERNELS int z_impl_k_sem_take(struct k_sem *taken, uint32_t unused, int64_t timeout)
{
    (void)unused;
    (void)timeout;
    if (taken->count == 0) {
        return -16;
    }
    taken->count--;
    spend(7);
    return 0;
}

KERNELS int z_impl_k_mutex_lock(struct k_mutex *locked, uint32_t unused, int64_t timeout)
{
    (void)unused;
    (void)timeout;
    spend(locked->lock_count++ == 0 ? 3 : 9);
    return 0;
}

KERNELS void *k_malloc(uint32_t size)
{
    spend(size);
    return &semaphore;
}

#ifdef WRAPPED
/* A system call's wrapper that the compiler has not inlined. */
KERNELS static void k_sem_give(struct k_sem *given)
{
    z_impl_k_sem_give(given);
}
#else
#define k_sem_give z_impl_k_sem_give
#endif

static void print(const char *text)
{
    register uint32_t operation __asm__("r0") = 4;
    register const char *at __asm__("r1") = text;
    __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(at) : "memory");
}

static void calls(void)
{
    for (uint32_t round = 0; round < 10; round++) {
        k_sem_give(&semaphore);
        z_impl_k_sem_take(&semaphore, 0, -1);
        z_impl_k_sem_take(&semaphore, 0, 0);
        z_impl_k_mutex_lock(&mutex, 0, -1);
        k_malloc(10);
    }
}

#ifndef PLAIN
KERNELS void thread_switch_yield(void)
{
    print("thread.yield.preemptive.ctx.k_to_k       - Context switch via k_yield"
          "   :     300 cycles ,     " NS("12000", "3000") " ns :\n");
}

KERNELS void int_to_thread(void)
{
    print("isr.resume.interrupted.thread.kernel     - Switch from ISR back"
          "         :     250 cycles ,     " NS("10000", "2500") " ns :\n");
}
#endif

void reset(void)
{
    semaphore = (struct k_sem){ .count = 0, .limit = 10 };
    mutex = (struct k_mutex){ .lock_count = 0 };
    print("*** Booting Zephyr OS build v3.7.99-guest ***\n");
#ifndef PLAIN
    print("START - Time Measurement\nTiming results: Clock frequency: " CLOCK "\n");
    thread_switch_yield();
    int_to_thread();
#endif
#ifdef LATE
    spend(3000000);
#endif
    calls();
#if defined(FAULT)
    *(volatile uint32_t *)0x60000001 = 1;
    __asm__ volatile("udf 0");
#elif defined(HALF) || defined(PLAIN)
#else
    print("semaphore.give.immediate.kernel          - Give a semaphore (no waiters)"
          " :      90 cycles ,      " NS("3600", "900") " ns :\n");
    print("fifo.put.immediate.kernel                - Add data to FIFO"
          "             :     110 cycles ,     " NS("4400", "1100") " ns :\n");
    print("PROJECT EXECUTION SUCCESSFUL\n");
#endif
    for (;;) {
    }
}
