/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The task set of plan.h: closures that timers and interrupts enqueue, with queues between them. A closure
 * runs to its end, so a section with a lock needs nothing to keep the others out.
 */
#include "bench.h"

#include "plan.h"

struct plan_traffic rtmark_plan_traffic[PLAN_QUEUES];

struct message {
    uint32_t words[PLAN_MESSAGE_BYTES / sizeof(uint32_t)];
};

static struct ring_queue queues[PLAN_QUEUES];

/* By interrupt: those whose closures its handler enqueues. */
static struct ring_signal released[PLAN_INTERRUPTS];

/* Receives what has gathered in these queues. */
static void __attribute__((noinline)) receive(uint32_t wanted)
{
    struct message message;

    for (uint32_t queue = 0; queue < PLAN_QUEUES; queue++) {
        if ((wanted & 1u << queue) != 0u) {
            while (ring_receive(&queues[queue], &message)) {
                rtmark_plan_traffic[queue].received++;
            }
        }
    }
}

/* Sends a message to each of these queues. */
static void __attribute__((noinline)) send(uint32_t wanted)
{
    static const struct message message = {{1, 2, 3}};

    for (uint32_t queue = 0; queue < PLAN_QUEUES; queue++) {
        if ((wanted & 1u << queue) != 0u) {
            if (ring_send(&queues[queue], &message)) {
                rtmark_plan_traffic[queue].sent++;
            } else {
                rtmark_plan_traffic[queue].lost++;
            }
        }
    }
}

static void __attribute__((noinline)) run_job(const volatile struct plan_task *task)
{
    const uint32_t stretches = task->stretches;
    const uint32_t receives = task->receives;
    const uint32_t sends = task->sends;

    if (receives != 0u) {
        receive(receives);
    }
    for (uint32_t stretch = 0; stretch < stretches; stretch++) {
        if (task->stretch[stretch].lock == 0u) {
            plan_burn(task->stretch[stretch].rounds);
        } else {
            RTMARK_BEGIN("plan.take");
            RTMARK_END("plan.take");
            plan_burn(task->stretch[stretch].rounds);
            RTMARK_BEGIN("plan.give");
            RTMARK_END("plan.give");
        }
    }
    if (sends != 0u) {
        send(sends);
    }
}

/* A task's closure, with probes of its own. */
#define PLAN_JOB(number)                       \
    static void job_##number(void *context)    \
    {                                          \
        (void)context;                         \
        RTMARK_BEGIN("plan.job." #number);     \
        run_job(&rtmark_plan.task[number]);    \
        RTMARK_END("plan.job." #number);       \
    }

PLAN_JOB(0)
PLAN_JOB(1)
PLAN_JOB(2)
PLAN_JOB(3)
PLAN_JOB(4)
PLAN_JOB(5)
PLAN_JOB(6)
PLAN_JOB(7)

static inline void handle(uint32_t interrupt)
{
    plan_burn(rtmark_plan.interrupt_rounds[interrupt]);
    if (!ring_emit(&released[interrupt])) {
        rtmark_failed("no room for the closure of an interrupt");
    }
}

void IRQ0_Handler(void);
void IRQ1_Handler(void);

void IRQ0_Handler(void)
{
    handle(0);
}

void IRQ1_Handler(void)
{
    handle(1);
}

int main(void)
{
    ring_start_ticks();
    /* Ticks of the table instead of RING_TICK_HZ. */
    SYST_RVR = rtmark_plan.tick_cycles - 1u;
    SYST_CVR = 0;
    rtmark_run_selected_scenario();
    ring_run();
}

static void start(void)
{
    static void (*const jobs[PLAN_TASKS])(void *context) = {
        job_0, job_1, job_2, job_3, job_4, job_5, job_6, job_7};
    static struct message storage[PLAN_QUEUES][PLAN_ITEMS];
    static struct ring_timer timers[PLAN_TASKS];
    static struct ring_listener listeners[PLAN_TASKS];

    for (uint32_t queue = 0; queue < PLAN_QUEUES; queue++) {
        const uint32_t items = rtmark_plan.queue_items[queue];

        if (items > PLAN_ITEMS) {
            rtmark_failed("a queue is too long");
        }
        queues[queue].storage = storage[queue];
        queues[queue].item_bytes = sizeof(struct message);
        queues[queue].length = items;
    }
    for (uint32_t number = 0; number < PLAN_TASKS; number++) {
        const volatile struct plan_task *const task = &rtmark_plan.task[number];
        const struct closure closure = {.function = jobs[number], .context = NULL};

        if (task->priority == 0u) {
            continue;
        }
        if (task->interrupt == 0u) {
            const uint32_t delay = PLAN_START + task->offset - ring_now();

            ring_timer_start(&timers[number], closure, delay, task->period);
        } else {
            listeners[number].closure = closure;
            ring_listen(&released[task->interrupt - 1u], &listeners[number]);
        }
    }
    NVIC_ISER0 = 3u;
}
RTMARK_SCENARIO("plan.set", start);
