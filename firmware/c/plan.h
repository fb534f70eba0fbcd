/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A task set, `plan.set`: what `rtmark plan --run` runs on a kernel.
 *
 * The set is a table in flash that is written into the image before it starts, as rtmark_select is.
 * As it is compiled it has no tasks. Times are ticks, execution is rounds of a loop.
 *
 *   task n    released in the tick PLAN_START + offset, and every `period` ticks from there on.
 *             A job goes through its stretches: some rounds, and where a stretch names a lock,
 *             with that lock held. A lock within that one is taken after half of its rounds, and held
 *             for those of the next entry; FreeRTOS' and RTIC's images have that;
 *             with `interrupt` i (from 1) released by external interrupt i - 1 instead.
 *             Before the first stretch it receives from each queue of `receives` until that is empty, and
 *             after the last one it sends a message to each of `sends`, without waiting: bit n is queue n
 *   queue n   holds `queue_items[n]` messages of PLAN_MESSAGE_BYTES. One task sends to it, one receives;
 *             rtmark_plan_traffic[n] counts what they do, and what was lost as the queue was full
 *   interrupt its handler goes through `interrupt_rounds`, and wakes the task that waits for it.
 *             Nothing in the image pends it: whoever runs the set does
 *   probes    plan.job.n begins with the first instruction after the wait for the release, and
 *             ends with the first after the last stretch; plan.take and plan.give are a lock's
 *             calls
 *
 * Nothing ends the run: whoever watches does.
 *
 * Images in Rust (firmware/board/plan.rs) have the same table, and
 *
 *   count microseconds instead of ticks, by a timer that is set to the next release: the probe
 *             plan.clock has its exception. Offsets count from the 1000th on
 *   RTIC      has fewer tasks, as many as there are probes. Task n is on level n + 1 whatever its
 *             row says, and lock n is the resource whose ceiling that level is
 *   Embassy   looks at no priority
 *   lilos     counts ticks, as images in C do. Task n is the nth of the array
 *
 * In the ring's image a task is a closure, which needs no lock.
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdint.h>

#include "cortex_m.h"
#include "rtmark_firmware.h"

enum {
    PLAN_TASKS = 8,
    PLAN_STRETCHES = 5,
    PLAN_LOCKS = 2,
    PLAN_INTERRUPTS = 2,
    PLAN_QUEUES = 4,
    /* The most messages of a queue. */
    PLAN_ITEMS = 32,
    /* As queue.send.immediate has them: ten bytes, at a multiple of four. */
    PLAN_MESSAGE_BYTES = 12,
    /* The tick from which offsets count: by then every task waits. */
    PLAN_START = 2,
};

struct plan_stretch {
    uint32_t rounds;
    /* From 1; 0 for none. See PLAN_OUTER and PLAN_INNER. */
    uint32_t lock;
};

/* A stretch's lock, and the one that is taken within its section: 0 for none. */
#define PLAN_OUTER(lock) ((lock) & 0xFFu)
#define PLAN_INNER(lock) ((lock) >> 8)

struct plan_task {
    /* Of the kernel's; 0 where there is no such task. */
    uint32_t priority;
    uint32_t period;
    uint32_t offset;
    /* From 1; 0 for the clock. */
    uint32_t interrupt;
    /* Bit n is queue n. */
    uint32_t receives;
    uint32_t sends;
    uint32_t stretches;
    struct plan_stretch stretch[PLAN_STRETCHES];
};

struct plan_table {
    uint32_t tick_cycles;
    uint32_t interrupt_rounds[PLAN_INTERRUPTS];
    uint32_t queue_items[PLAN_QUEUES];
    struct plan_task task[PLAN_TASKS];
};

/* A section of its own: the compiler must not know what is in it. */
extern const volatile struct plan_table rtmark_plan;
__asm__(".pushsection .rodata.rtmark_plan, \"a\", %progbits\n"
        ".balign 4\n"
        ".globl rtmark_plan\n"
        ".type rtmark_plan, %object\n"
        "rtmark_plan:\n"
        ".zero 28 + 8 * (28 + 5 * 8)\n"
        ".size rtmark_plan, . - rtmark_plan\n"
        ".popsection\n");
_Static_assert(sizeof(struct plan_table) == 28 + 8 * (28 + 5 * 8), "the table's size in the assembly above");

/* What went through a queue, for whoever watches. Its sender writes `sent` and `lost`, its receiver
 * `received`. */
struct plan_traffic {
    uint32_t sent;
    uint32_t received;
    uint32_t lost;
};

extern struct plan_traffic rtmark_plan_traffic[PLAN_QUEUES];

/* So many rounds of two instructions; none for 0. */
static inline void __attribute__((always_inline)) plan_burn_rounds(uint32_t rounds)
{
    if (rounds == 0u) {
        return;
    }
    __asm__ volatile(".syntax unified\n"
                     "1: subs %0, %0, #1\n"
                     "   bne 1b\n"
                     : "+l"(rounds)
                     :
                     : "cc");
}

static void __attribute__((noinline)) plan_burn(uint32_t rounds)
{
    plan_burn_rounds(rounds);
}

#endif
