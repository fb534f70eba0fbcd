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
 * On a Cortex-R5 the hardware saves no registers, and a context may return as a handler does:
 * what it leaves by itself needs no exception, only that none comes in between.
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

#if __ARM_ARCH_PROFILE == 'R'

/*
 * Has the other thread's stack take the place of this one. At the end of a stack that does not run there
 * are r4 to r11, where to continue, and the status to continue with. r12 and lr hold the latter two of
 * this stack.
 */
#define FLOOR_EXCHANGE_STACKS                                     \
    "   push  {r4-r12, lr}           \n"                          \
    "   movw  r0, #:lower16:floor_other_thread\n"                 \
    "   movt  r0, #:upper16:floor_other_thread\n"                 \
    "   ldr   r1, [r0]               \n"                          \
    "   str   sp, [r0]               \n"                          \
    "   mov   sp, r1                 \n"                          \
    "   pop   {r4-r11}               \n"                          \
    "   rfeia sp!                    \n"

/*
 * What a naked handler of the only interrupt begins with: what it does not keep goes to the stack that it
 * has interrupted, in System mode, and the interrupt is acknowledged. r3 and r12 are its own from then on.
 */
#define FLOOR_HANDLER_BEGINS                                      \
    "   sub   lr, lr, #4             \n"                          \
    "   srsdb sp!, #0x1f             \n"                          \
    "   cps   #0x1f                  \n"                          \
    "   push  {r0-r3, r12, lr}       \n"                          \
    "   movw  r12, #0x1000           \n"                          \
    "   movt  r12, #0xf900           \n"                          \
    "   ldr   r3, [r12, #0xc]        \n"

/* What it does to return to what it has interrupted. */
#define FLOOR_HANDLER_ENDS                                        \
    "   str   r3, [r12, #0x10]       \n"                          \
    "   pop   {r0-r3, r12, lr}       \n"                          \
    "   rfeia sp!                    \n"                          \
    "   .ltorg                       \n"

/* What it does to return into the other thread. The one that it leaves continues with interrupts masked
 * where its own registers are taken back. */
#define FLOOR_RETURN_TO_OTHER_THREAD                              \
    "   str   r3, [r12, #0x10]       \n"                          \
    "   adr   r12, 9f                \n"                          \
    "   mov   lr, #0x9f              \n"                          \
    FLOOR_EXCHANGE_STACKS                                         \
    "9: pop   {r0-r3, r12, lr}       \n"                          \
    "   rfeia sp!                    \n"                          \
    "   .ltorg                       \n"

/* What is left goes on with interrupts enabled. */
static inline void floor_switch(void)
{
    __asm__ __volatile__(
        "   cpsid i                      \n"
        "   adr   r12, 1f                \n"
        "   mov   lr, #0x1f              \n"
        FLOOR_EXCHANGE_STACKS
        "1:                              \n"
        : : : "r0", "r1", "r2", "r3", "r12", "lr", "cc", "memory");
}

#else

#define FLOOR_HANDLER_BEGINS ""
#define FLOOR_HANDLER_ENDS "   bx    lr                     \n"

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

#endif
