/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs in which SVC switches tasks. With FREERTOS, a kernel that keeps control blocks; otherwise one that only
 * has stacks: of two tasks with the same function, and of one whose function's name begins like theirs. With ENDED,
 * the handler ends the call from which it was entered. `seen` tells how far the program is.
 */
volatile unsigned seen;

#define CALLED __attribute__((noinline, noclone, noipa))
#define SVC() __asm__ volatile("svc 0" ::: "memory", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")

void handler(void);
void reset(void);

#ifdef FREERTOS
struct xLIST_ITEM {
    void *pvOwner, *pxContainer;
};

struct tskTaskControlBlock {
    struct xLIST_ITEM xStateListItem;
    char pcTaskName[16];
};

int pxReadyTasksLists[1];
int xDelayedTaskList;
int xSchedulerRunning;
struct tskTaskControlBlock main_task = { { 0, pxReadyTasksLists }, "main" };
struct tskTaskControlBlock idle_task = { { 0, pxReadyTasksLists }, "idle" };
struct tskTaskControlBlock *pxCurrentTCB, *next = &main_task;

void handler(void)
{
    pxCurrentTCB = next;
}

void reset(void)
{
    seen = 1;
    xSchedulerRunning = 1;
    SVC();
    seen = 2;
    next = &idle_task;
    SVC();
    seen = 3;
    __asm__ volatile("cpsid i" ::: "memory");
    main_task.xStateListItem.pxContainer = &xDelayedTaskList;
    __asm__ volatile("cpsie i" ::: "memory");
    seen = 4;
    next = &main_task;
    SVC();
    seen = 5;
    for (;;) {
    }
}
#elif defined(ENDED)
CALLED __attribute__((naked)) void waits(void);
CALLED __attribute__((naked)) void waits(void)
{
    __asm__("svc 0\n udf #0");
}

/* The stacked return address becomes the stacked link register. */
__attribute__((naked)) void handler(void)
{
    __asm__("ldr r0, [sp, #20]\n bic r0, #1\n str r0, [sp, #24]\n bx lr");
}

void reset(void)
{
    seen = 1;
    waits();
    seen = 2;
    waits();
    seen = 3;
    for (;;) {
    }
}
#else
unsigned stacks[4][32];
unsigned *tops[4];
unsigned running = 3;

CALLED void deeper(void);
CALLED void deeper(void)
{
    seen = 3;
    SVC();
    seen = 4;
}

CALLED void worker(void);
CALLED void worker(void)
{
    for (;;) {
        seen = 1;
        deeper();
    }
}

CALLED void worker_b(void);
CALLED void worker_b(void)
{
    for (;;) {
        seen = 2;
        SVC();
    }
}

CALLED __attribute__((used)) unsigned *switched(unsigned *top);
CALLED __attribute__((used)) unsigned *switched(unsigned *top)
{
    seen = 5;
    tops[running] = top;
    running = running >= 2 ? 0 : running + 1;
    return tops[running];
}

__attribute__((naked)) void handler(void)
{
    __asm__("mrs r0, psp\n push {r4, lr}\n bl switched\n msr psp, r0\n pop {r4, pc}");
}

void reset(void)
{
    static void (*const tasks[3])(void) = { worker, worker_b, worker };

    for (unsigned at = 0; at < 3; at++) {
        tops[at] = &stacks[at][24];
        tops[at][6] = (unsigned)tasks[at];
        tops[at][7] = 0x01000000;
    }
    __asm__ volatile("msr psp, %0\n msr control, %1\n isb" : : "r"(&stacks[3][31]), "r"(2));
    SVC();
}
#endif

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    [0] = (void *)0x20004000, [1] = reset, [11] = handler,
};
