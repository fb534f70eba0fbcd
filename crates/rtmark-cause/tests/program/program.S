/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Four rounds of two spans: `test.once` calls work() once, `test.twice` does so twice. work() calls a() to d().
 * outside() is called after the last round. What the functions do, apart from calling and returning, is given by
 * macros of their names; GAP is a number of bytes before all of them.
 */
    .syntax unified
    .cpu cortex-m0plus
    .thumb

.macro record kind, place, name
    .pushsection .rtmark, "", %progbits
    .word 0x524D0000 + \kind, \place
    .asciz "\name"
    .balign 4
    .popsection
.endm

.macro probe kind, name
772:
    record \kind, 772b, \name
.endm

.macro function name
    .section .text.\name, "ax", %progbits
    .type \name, %function
    .thumb_func
\name:
.endm

.macro end name
    .ltorg
    .size \name, . - \name
.endm

    .section .vectors, "a", %progbits
    .word 0x20001000, reset

    .section .text.gap, "ax", %progbits
    .rept GAP
    .byte 0
    .endr

    record 5, 0, "test.once"
    record 5, 1, "test.twice"

function reset
    movs r4, #4
round:
    probe 1, "test.once"
    bl work
    probe 2, "test.once"
    nop
    probe 1, "test.twice"
    bl work
    bl work
    probe 2, "test.twice"
    subs r4, #1
    bne round
    bl outside
    /* Semihosting: SYS_WRITE0 and SYS_EXIT. */
    movs r0, #0x04
    ldr r1, =said
    bkpt 0xAB
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xAB
end reset

function outside
    OUTSIDE
    bx lr
end outside

function work
    push {lr}
    WORK
    bl a
    bl b
    bl c
    bl d
    pop {pc}
end work

function a
    A
    bx lr
end a

function b
    B
    bx lr
end b

function c
    C
    bx lr
end c

function d
    D
    bx lr
end d

#ifdef FRESH
function fresh
    FRESH
    bx lr
end fresh
#endif

    .section .rodata, "a", %progbits
    .type number, %object
    .size number, 4
    .balign 4
number:
    .word NUMBER
said:
    .asciz "test.once ok\ntest.twice ok\n"

    .section .bss, "aw", %nobits
    .globl rtmark_select
rtmark_select:
    .space 4
