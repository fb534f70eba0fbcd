/* No kernel: the stacks of one. As Zephyr does, it starts on the process stack, on that of the
 * interrupts, and goes on on main's without an exception. Then two threads of the same name follow each
 * other on the same stack. */

#include <stdint.h>

extern uint32_t stack_top[];
void reset(void);
void svcall(void);

__attribute__((section(".vectors"), used)) void *const vectors[16] = {
    [0] = stack_top, [1] = reset, [11] = svcall,
};

struct k_thread {
    struct {
        uint8_t thread_state;
    } base;
    char name[32];
};
struct _cpu {
    struct k_thread *current;
};
struct z_kernel {
    struct _cpu cpus[1];
};

struct z_kernel _kernel;

#define STACK 1024

struct stack {
    uint64_t words[STACK / 8];
};

struct stack interrupt_stack, main_stack, worker_stack;
static struct k_thread main_thread = { .name = "main" }, worker = { .name = "worker" };
uint32_t *next_frame;

/* Returns to the frame of the thread that is next. */
__attribute__((naked)) void svcall(void)
{
    __asm__ volatile("ldr r0, =next_frame\n"
                     "ldr r0, [r0]\n"
                     "msr psp, r0\n"
                     "bx lr");
}

/* Uses so many bytes of the stack. */
__attribute__((noinline)) static void use(uint32_t bytes)
{
    volatile uint8_t used[bytes];
    for (uint32_t at = 0; at < bytes; at++) {
        used[at] = (uint8_t)at;
    }
    (void)used[0];
}

static void begin(struct k_thread *thread, struct stack *stack, void (*entry)(void))
{
    next_frame = (uint32_t *)(stack + 1) - 8;
    next_frame[6] = (uint32_t)entry;
    next_frame[7] = 0x01000000;
    _kernel.cpus[0].current = thread;
    __asm__ volatile("svc 0" : : : "memory");
}

static void second(void)
{
    use(300);
    register uint32_t operation __asm__("r0") = 0x18;
    register uint32_t reason __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xAB" : : "r"(operation), "r"(reason));
    for (;;) {
    }
}

static void first(void)
{
    use(100);
    begin(&worker, &worker_stack, second);
}

static void main_entry(void)
{
    use(200);
    begin(&worker, &worker_stack, first);
}

__attribute__((noinline, used)) static void boot(void)
{
    _kernel.cpus[0].current = 0;
    __builtin_memcpy(main_thread.name, "main", 5);
    __builtin_memcpy(worker.name, "worker", 7);
    use(100);
    _kernel.cpus[0].current = &main_thread;
    __asm__ volatile("msr psp, %0\n"
                     "bx %1"
                     : : "r"(&main_stack + 1), "r"(main_entry));
    __builtin_unreachable();
}

__attribute__((naked)) void reset(void)
{
    __asm__ volatile("ldr r0, =interrupt_stack + 1024\n"
                     "msr psp, r0\n"
                     "movs r0, #2\n"
                     "msr control, r0\n"
                     "isb\n"
                     "b boot");
}
