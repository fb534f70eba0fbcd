/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions, variables and structures of two files, some of the same name. */
#include "app.h"
#include "third-party/ring.h"

typedef uint32_t word;
typedef const volatile word alias;

struct inner { uint8_t a; uint16_t b; };
struct task {
    uint8_t state;
    word *stack;
    struct inner within;
    uint16_t name[5];
    alias ticks;
    uint8_t last;
    unsigned flag : 1;
};
struct list { uint32_t length; };
struct empty_handed { uint8_t x; };

/* Of each member of struct task: its offset and size, by the compiler. */
#define MEMBER(name) { offsetof(struct task, name), sizeof(((struct task *)0)->name) }
const uint32_t members[][2] = {
    MEMBER(state), MEMBER(stack), MEMBER(within), MEMBER(name), MEMBER(ticks), MEMBER(last),
};

struct task task = { .state = 3 };
struct list list;
struct empty_handed empty_handed;
static volatile uint32_t state[3];
uint32_t initial[5] = { 1, 2, 3, 4, 5 };
const uint16_t constant[7] = { 1, 2, 3 };

static NOINLINE uint32_t helper(uint32_t value)
{
    state[0] = value;
    return ring_take(value);
}

int main(void)
{
    uint32_t sum = initial[0] + task.ticks;
    for (uint32_t i = 0; i < 4; i++) {
        sum += helper(i);
    }
    sum += other(sum);
    return (int)sum;
}

extern void stop(void);

void reset(void)
{
    main();
    stop();
}

#ifdef PROBES
__attribute__((section(".rtmark"), used)) static const uint32_t probe = 1;
#endif

#ifdef WRITABLE_TABLE
/* Writable by the flags of its section, as in CMSIS. */
__attribute__((section(".copy.table"), used)) uint32_t copy_table[3] = { 1, 2, 3 };
#endif

/* Without debug information: a function with a second, local name, and two tables that overlap. */
__asm__(
    ".global stop\n .type stop, %function\n .thumb_func\n"
    "stop: b stop\n .size stop, . - stop\n"
    ".type also_stop, %function\n .set also_stop, stop\n .size also_stop, . - stop\n"
    ".balign 4\n .type table, %object\n .type tail, %object\n"
    "table: .word 1, 2\n tail: .word 3, 4\n"
    ".size table, 12\n .size tail, 8\n");

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    0x20001000, (uintptr_t)reset,
};
