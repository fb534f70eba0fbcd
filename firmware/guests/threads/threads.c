/* No kernel: what a debugger sees of one. Control blocks with the names and members that ThreadX
 * (-DTHREADX), ChibiOS/RT (-DCHIBIOS), RTX (-DRTX), RIOT (-DRIOT), NuttX (-DNUTTX) and Zephyr have in
 * their headers, and a pointer that says which thread runs. */

#include <stdint.h>

extern uint32_t stack_top[];
void reset(void);
void svcall(void);

__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    [0] = stack_top, [1] = reset, [11] = svcall,
};

#ifdef THREADX
typedef struct TX_THREAD_STRUCT {
    uint32_t id;
    const char *tx_thread_name;
    uint32_t tx_thread_state;
} TX_THREAD;

TX_THREAD *_tx_thread_current_ptr;
#define THREAD(name) { 0x54485244, name, 0 }
#define RUNS(thread) (_tx_thread_current_ptr = (thread))
#define STATE(thread) (thread)->tx_thread_state
#define WAITS 7
#define UNNAMED 0
typedef TX_THREAD thread_type;
#elif defined(CHIBIOS)
typedef struct ch_thread {
    void *queue[3];
    const char *name;
    uint8_t state;
} thread_type;
struct ch_ready_list {
    void *queue[3];
    thread_type *current;
};
struct ch_os_instance {
    struct ch_ready_list rlist;
};

struct ch_os_instance ch0;
#define THREAD(text) { .name = text }
#define RUNS(thread) (ch0.rlist.current = (thread))
#define STATE(thread) (thread)->state
#define WAITS 4
#define UNNAMED 0
#elif defined(RTX)
typedef struct osRtxThread_s {
    uint8_t id;
    uint8_t state;
    uint8_t flags;
    uint8_t attr;
    const char *name;
} thread_type;

struct {
    uint32_t before[5];
    thread_type *curr;
} osRtxInfo;
#define THREAD(text) { .state = 1, .name = text }
#define RUNS(thread) (osRtxInfo.curr = (thread))
#define STATE(thread) (thread)->state
#define WAITS 3
#define UNNAMED 0
#elif defined(RIOT)
typedef struct _thread {
    char *sp;
    uint8_t status;
    uint8_t priority;
    int16_t pid;
    const char *name;
} thread_type;

thread_type *volatile sched_active_thread;
#define THREAD(text) { .name = text }
#define RUNS(thread) (sched_active_thread = (thread))
#define STATE(thread) (thread)->status
#define WAITS 1
#define UNNAMED 0
#elif defined(NUTTX)
typedef struct tcb_s {
    struct tcb_s *flink;
    struct tcb_s *blink;
    uint8_t task_state;
    char name[32];
} thread_type;

thread_type *g_running_tasks[1];
#define THREAD(text) { .name = text }
#define RUNS(thread) (g_running_tasks[0] = (thread))
#define STATE(thread) (thread)->task_state
#define WAITS 1
#define UNNAMED ""
#else
struct _thread_base {
    void *queued[2];
    uint8_t user_options;
    uint8_t thread_state;
};
struct k_thread {
    struct _thread_base base;
    char name[32];
};
struct _cpu {
    uint32_t nested;
    char *irq_stack;
    struct k_thread *current;
};
struct z_kernel {
    uint32_t idle;
    struct _cpu cpus[1];
};

struct z_kernel _kernel;
#define THREAD(text) { .base = { .thread_state = 0x80 }, .name = text }
#define RUNS(thread) (_kernel.cpus[0].current = (thread))
#define STATE(thread) (thread)->base.thread_state
#define WAITS 2
#define UNNAMED ""
typedef struct k_thread thread_type;
#endif

#if defined(THREADX)
static const thread_type start[3] = { THREAD("sensor"), THREAD("radio"), THREAD("radio") };
#else
static const thread_type start[3] = { THREAD("sensor"), THREAD("radio"), THREAD(UNNAMED) };
#endif
thread_type first_thread, second_thread, third_thread;

void svcall(void)
{
}

static void spend(void)
{
    /* As kernels do behind a switch: an exception returns. */
    __asm__ volatile("svc 0");
    for (volatile uint32_t turn = 0; turn < 20; turn++) {
    }
}

void reset(void)
{
    thread_type *const all[3] = { &first_thread, &second_thread, &third_thread };
    for (uint32_t number = 0; number < 3; number++) {
        *all[number] = start[number];
    }
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t number = 0; number < 3; number++) {
            RUNS(all[number]);
            spend();
            STATE(all[number]) = round % 2 ? WAITS : STATE(&second_thread);
        }
    }
    RUNS(0);
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason));
    for (;;) {
    }
}
