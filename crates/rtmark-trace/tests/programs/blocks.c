/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What several kernels keep of three threads. `one` is called "main" and is ready, `two` is called "idle" and is
 * ready, `three` is called "reader" and waits. RUNNING is the one that runs. Structures, members and variables have
 * their kernels' names; other members are of every size, so that each stands somewhere else.
 */
#ifndef RUNNING
#define RUNNING one
#endif

#if defined(FREERTOS)
#ifndef BEGUN
#define BEGUN 1
#endif

typedef struct xLIST_ITEM {
#ifdef CHECKED
    unsigned xListItemIntegrityValue1;
#endif
    unsigned xItemValue;
    struct xLIST_ITEM *pxNext, *pxPrevious;
    void *pvOwner;
    struct xLIST *pxContainer;
} ListItem_t;

#ifdef ENDLESS
struct xMINI_LIST_ITEM {};
#else
struct xMINI_LIST_ITEM {
#ifdef CHECKED
    unsigned xListItemIntegrityValue1;
#endif
    unsigned xItemValue;
    ListItem_t *pxNext, *pxPrevious;
};
#endif

typedef struct xLIST {
#ifdef ENDLESS
    struct xMINI_LIST_ITEM xListEnd;
    unsigned uxNumberOfItems;
#else
#ifdef CHECKED
    unsigned xListIntegrityValue1;
#endif
    unsigned uxNumberOfItems;
    ListItem_t *pxIndex;
    struct xMINI_LIST_ITEM xListEnd;
#ifdef CHECKED
    unsigned xListIntegrityValue2;
#endif
#endif
} List_t;

typedef struct tskTaskControlBlock {
    unsigned *pxTopOfStack;
    ListItem_t xStateListItem;
    unsigned uxPriority;
    char pcTaskName[16];
} TCB_t;

extern TCB_t one, two, three;
extern List_t xDelayedTaskList;

#ifdef ENDLESS
#define FIRST(thread)
#define RING(thread) { .uxNumberOfItems = 1 }
#define EMPTY(list) {}
#else
#define FIRST(thread) .xListEnd = { .pxNext = &thread.xStateListItem }
#define RING(thread) { FIRST(thread) }
#define EMPTY(list) { .xListEnd = { .pxNext = (ListItem_t *)&list.xListEnd } }
#endif
#define ITEM(list, thread) \
    { .pxNext = (ListItem_t *)&list.xListEnd, .pvOwner = &thread, .pxContainer = &list }

List_t pxReadyTasksLists[3] = { RING(two), EMPTY(pxReadyTasksLists[1]), RING(one) };
/* No number is an address. */
List_t xDelayedTaskList = { .uxNumberOfItems = 4, FIRST(three) };
TCB_t *pxCurrentTCB = &RUNNING;
unsigned xSchedulerRunning = BEGUN;
#ifndef ENDLESS
TCB_t one = { .xStateListItem = ITEM(pxReadyTasksLists[2], one), .pcTaskName = "main" };
TCB_t two = { .xStateListItem = ITEM(pxReadyTasksLists[0], two), .pcTaskName = "idle" };
TCB_t three = { .xStateListItem = ITEM(xDelayedTaskList, three), .pcTaskName = "reader" };
#else
TCB_t one = { .pcTaskName = "main" }, two = { .pcTaskName = "idle" }, three = { .pcTaskName = "reader" };
#endif

#elif defined(THREADX)
typedef struct TX_THREAD_STRUCT {
    unsigned tx_thread_id, tx_thread_run_count;
    char *tx_thread_name;
    unsigned tx_thread_priority, tx_thread_state;
    char more;
    struct TX_THREAD_STRUCT *tx_thread_created_next, *tx_thread_created_previous;
} TX_THREAD;

extern TX_THREAD one, two, three;
TX_THREAD *_tx_thread_current_ptr = &RUNNING;
TX_THREAD *_tx_thread_created_ptr = &one;
TX_THREAD one = { .tx_thread_name = "main", .tx_thread_created_next = &two };
TX_THREAD two = { .tx_thread_name = "idle", .tx_thread_created_next = &three };
/* TX_SLEEP */
TX_THREAD three = { .tx_thread_name = "reader", .tx_thread_state = 4, .tx_thread_created_next = &one };

#elif defined(ZEPHYR)
struct _thread_base {
    void *node[2];
    unsigned char user_options, thread_state;
};

struct k_thread {
    unsigned callee_saved[3];
    struct _thread_base base;
#ifndef NAMELESS
    char name[32];
#endif
    struct k_thread *next_thread;
};

struct _cpu {
    unsigned nested;
    char *irq_stack;
    struct k_thread *current;
};

struct z_kernel {
    void *timeouts;
    struct _cpu cpus[1];
    struct k_thread *threads;
};

extern struct k_thread one, two, three;
struct z_kernel _kernel = { .cpus = { { .current = &RUNNING } }, .threads = &one };
#ifdef NAMELESS
#define NAME(text)
#else
#define NAME(text) .name = text,
#endif
/* _THREAD_QUEUED, and _THREAD_PENDING beside it. */
struct k_thread one = { NAME("main") .base = { .thread_state = 0x80 }, .next_thread = &two };
struct k_thread two = { NAME("idle") .base = { .thread_state = 0x80 }, .next_thread = &three };
struct k_thread three = { NAME("reader") .base = { .thread_state = 0x82 } };

#elif defined(CHIBIOS)
struct ch_thread {
    void *queue[2];
    const char *name;
    unsigned char priority, state;
};

struct ch_ready_list {
    void *queue[2];
    struct ch_thread *current;
};

#if CHIBIOS == 7
struct ch_os_instance {
    unsigned core_id;
    struct ch_ready_list rlist;
};
#else
struct ch_system {
    struct ch_ready_list rlist;
    unsigned timers;
};
#endif

/* CH_STATE_READY, CH_STATE_CURRENT and CH_STATE_SLEEPING. */
#define THREAD(text, of) { .name = text, .state = &of == &RUNNING ? 1 : 0 }
extern struct ch_thread one, two, three;
#if CHIBIOS == 7
struct ch_os_instance ch0 = { .rlist = { .current = &RUNNING } };
#else
struct ch_system ch = { .rlist = { .current = &RUNNING } };
#endif
struct ch_thread one = THREAD("main", one);
struct ch_thread two = THREAD("idle", two);
struct ch_thread three = { .name = "reader", .state = 8 };

#elif defined(RTX)
typedef struct osRtxThread_s {
    unsigned char id, state, flags, attr;
    const char *name;
} osRtxThread_t;

/* osRtxThreadReady, osRtxThreadRunning and osRtxThreadBlocked. */
#define THREAD(text, of) { .name = text, .state = &of == &RUNNING ? 2 : 1 }
extern osRtxThread_t one, two, three;
struct {
    /* os_id, version, kernel, tick_irqn: the assembly language of RTX has I_T_RUN_OFS = 20. */
    unsigned before[5];
    osRtxThread_t *running, *next;
} osRtxInfo = { .running = &RUNNING };
osRtxThread_t one = THREAD("main", one);
osRtxThread_t two = THREAD("idle", two);
osRtxThread_t three = { .name = "reader", .state = 3 };

#elif defined(RIOT)
struct _thread {
    char *sp;
    unsigned char status, priority;
    const char *name;
};

extern struct _thread one, two, three;
struct _thread *sched_active_thread = &RUNNING;
struct _thread one = { .name = "main" }, two = { .name = "idle" }, three = { .name = "reader" };

#elif defined(NUTTX)
struct tcb_s {
    void *flink, *blink;
    unsigned char task_state;
    char name[24];
};

extern struct tcb_s one, two, three;
#if NUTTX == 7
struct { void *head, *tail; } g_readytorun = { &RUNNING, &two };
#else
void *g_running_tasks[1] = { &RUNNING };
#endif
struct tcb_s one = { .name = "main" }, two = { .name = "idle" }, three = { .name = "reader" };
#endif
