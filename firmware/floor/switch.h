/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The two smallest ways to switch between two stacks.
 *
 * Cooperative, by a call: the caller expects no more than the registers that every
 * function preserves. Both contexts run on the main stack pointer.
 *
 * By exception: the context that is left may have been interrupted anywhere. So the
 * hardware saves one half of the registers and the handler the other. The contexts
 * run on the process stack pointer, handlers on the main one.
 *
 * There are exactly two contexts; a switch goes to the other one. On the Cortex-M4F
 * neither has floating-point state, so that none is saved.
 */
#ifndef SWITCH_H
#define SWITCH_H

#include <stdint.h>

enum { FLOOR_STACK_WORDS = 128 };

/* The procedure call standard wants stacks aligned to eight bytes. */
struct floor_stack {
    uint32_t words[FLOOR_STACK_WORDS];
} __attribute__((aligned(8)));

/* ----------------------------------------------------------------- cooperative */

/* The other context will begin with a call of `entry`, which must not return. */
void floor_prepare_coroutine(struct floor_stack *stack, void (*entry)(void));

/* Goes to the other context, and returns when that one yields. */
void floor_yield(void);

/* The same, but returns at once if no other context was prepared. */
void floor_yield_if_any(void);

/* ---------------------------------------------------------------- by exception */

/* As above, for a switch by exception. */
void floor_prepare_thread(struct floor_stack *stack, void (*entry)(void));

/* Leaves main() for ever, for `entry` on a stack of its own. */
void floor_run_as_thread(struct floor_stack *stack, void (*entry)(void)) __attribute__((noreturn));

/* Where the other thread's stack ends, while it is not running. */
extern uint32_t *floor_other_thread;

/*
 * What a naked handler does to return into the other thread. It keeps r3.
 *
 * The half that the hardware did not save goes below the saved stack pointer: the
 * stack of a thread that does not run is nobody else's.
 */
#if defined(__ARM_ARCH_6M__)
#define FLOOR_RETURN_TO_OTHER_THREAD                              \
    "   mrs   r0, psp                \n"                          \
    "   ldr   r1, =floor_other_thread\n"                          \
    "   ldr   r2, [r1]               \n"                          \
    "   str   r0, [r1]               \n"                          \
    "   subs  r0, #32                \n"                          \
    "   stmia r0!, {r4-r7}           \n"                          \
    "   mov   r4, r8                 \n"                          \
    "   mov   r5, r9                 \n"                          \
    "   mov   r6, r10                \n"                          \
    "   mov   r7, r11                \n"                          \
    "   stmia r0!, {r4-r7}           \n"                          \
    "   msr   psp, r2                \n"                          \
    "   subs  r2, #16                \n"                          \
    "   ldmia r2!, {r4-r7}           \n"                          \
    "   mov   r8, r4                 \n"                          \
    "   mov   r9, r5                 \n"                          \
    "   mov   r10, r6                \n"                          \
    "   mov   r11, r7                \n"                          \
    "   subs  r2, #32                \n"                          \
    "   ldmia r2!, {r4-r7}           \n"                          \
    "   bx    lr                     \n"                          \
    "   .ltorg                       \n"
#else
#define FLOOR_RETURN_TO_OTHER_THREAD                              \
    "   mrs   r0, psp                \n"                          \
    "   ldr   r1, =floor_other_thread\n"                          \
    "   ldr   r2, [r1]               \n"                          \
    "   str   r0, [r1]               \n"                          \
    "   stmdb r0, {r4-r11}           \n"                          \
    "   msr   psp, r2                \n"                          \
    "   ldmdb r2, {r4-r11}           \n"                          \
    "   bx    lr                     \n"                          \
    "   .ltorg                       \n"
#endif

/* Goes to the other thread. The handler of SVC does nothing else. */
static inline void floor_switch(void)
{
    __asm__ __volatile__("svc 0" : : : "memory");
}

#endif
