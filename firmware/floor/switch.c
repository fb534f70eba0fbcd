/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "switch.h"

/* ----------------------------------------------------------------- cooperative */

/* Where the stack of the context ends that does not run; null if there is none. */
uint32_t *floor_other_coroutine __attribute__((used));

/* r0 is the address of that word, r1 its value. */
#if defined(__ARM_ARCH_6M__)
#define SWITCH_COROUTINES                                         \
    "   push  {r4-r7, lr}                 \n"                     \
    "   mov   r4, r8                      \n"                     \
    "   mov   r5, r9                      \n"                     \
    "   mov   r6, r10                     \n"                     \
    "   mov   r7, r11                     \n"                     \
    "   push  {r4-r7}                     \n"                     \
    "   mov   r2, sp                      \n"                     \
    "   str   r2, [r0]                    \n"                     \
    "   mov   sp, r1                      \n"                     \
    "   pop   {r4-r7}                     \n"                     \
    "   mov   r8, r4                      \n"                     \
    "   mov   r9, r5                      \n"                     \
    "   mov   r10, r6                     \n"                     \
    "   mov   r11, r7                     \n"                     \
    "   pop   {r4-r7, pc}                 \n"                     \
    "   .ltorg                            \n"
#elif __ARM_ARCH_PROFILE == 'R'
#define SWITCH_COROUTINES                                         \
    "   push  {r4-r11, lr}                \n"                     \
    "   str   sp, [r0]                    \n"                     \
    "   mov   sp, r1                      \n"                     \
    "   pop   {r4-r11, pc}                \n"                     \
    "   .ltorg                            \n"
#else
#define SWITCH_COROUTINES                                         \
    "   push  {r4-r11, lr}                \n"                     \
    "   mov   r2, sp                      \n"                     \
    "   str   r2, [r0]                    \n"                     \
    "   mov   sp, r1                      \n"                     \
    "   pop   {r4-r11, pc}                \n"                     \
    "   .ltorg                            \n"
#endif

__attribute__((naked)) void floor_yield(void)
{
    __asm__(
        "   .syntax unified                   \n"
        "   ldr   r0, =floor_other_coroutine  \n"
        "   ldr   r1, [r0]                    \n"
        SWITCH_COROUTINES);
}

__attribute__((naked)) void floor_yield_if_any(void)
{
    __asm__(
        "   .syntax unified                   \n"
        "   ldr   r0, =floor_other_coroutine  \n"
        "   ldr   r1, [r0]                    \n"
        "   cmp   r1, #0                      \n"
        "   bne   1f                          \n"
        "   bx    lr                          \n"
        "1:                                   \n"
        SWITCH_COROUTINES);
}

void floor_prepare_coroutine(struct floor_stack *stack, void (*entry)(void))
{
    /* What the switch takes from the stack: r4 to r11, whose values do not matter,
     * and last the address to go to. */
    uint32_t *top = &stack->words[FLOOR_STACK_WORDS];

    top[-1] = (uint32_t)entry;
    floor_other_coroutine = top - 9;
}

/* ---------------------------------------------------------------- by exception */

uint32_t *floor_other_thread;

#if __ARM_ARCH_PROFILE == 'R'

void floor_prepare_thread(struct floor_stack *stack, void (*entry)(void))
{
    /* What the exchange takes from the stack: r4-r11, pc, CPSR of System mode with nothing masked. */
    enum { FRAME_PC = 8, FRAME_CPSR = 9, FRAME_WORDS = 10, SYSTEM_MODE = 0x1F };
    uint32_t *frame = &stack->words[FLOOR_STACK_WORDS - FRAME_WORDS];

    frame[FRAME_PC] = (uint32_t)entry;
    frame[FRAME_CPSR] = SYSTEM_MODE;
    floor_other_thread = frame;
}

__attribute__((naked, noreturn)) static void go_on_stack(uint32_t *top __attribute__((unused)),
                                                         void (*entry)(void) __attribute__((unused)))
{
    __asm__(
        "   mov  sp, r0 \n"
        "   bx   r1     \n");
}

#else

void SVC_Handler(void);

__attribute__((naked)) void SVC_Handler(void)
{
    __asm__(
        "   .syntax unified                   \n"
        FLOOR_RETURN_TO_OTHER_THREAD);
}

void floor_prepare_thread(struct floor_stack *stack, void (*entry)(void))
{
    /* The frame that an exception's return takes: r0-r3, r12, lr, pc, xPSR. */
    enum { FRAME_PC = 6, FRAME_XPSR = 7, FRAME_WORDS = 8, XPSR_THUMB = 1 << 24 };
    uint32_t *frame = &stack->words[FLOOR_STACK_WORDS - FRAME_WORDS];

    /* Bit 0 marks Thumb code in a pointer, but has no place in a frame. */
    frame[FRAME_PC] = (uint32_t)entry & ~1u;
    frame[FRAME_XPSR] = XPSR_THUMB;
    floor_other_thread = frame;
}

__attribute__((naked, noreturn)) static void go_on_stack(uint32_t *top __attribute__((unused)),
                                                         void (*entry)(void) __attribute__((unused)))
{
    __asm__(
        "   .syntax unified  \n"
        "   msr  psp, r0     \n"
        "   movs r2, #2      \n"
        "   msr  control, r2 \n"
        "   isb              \n"
        "   bx   r1          \n");
}

#endif

void floor_run_as_thread(struct floor_stack *stack, void (*entry)(void))
{
    go_on_stack(&stack->words[FLOOR_STACK_WORDS], entry);
}
