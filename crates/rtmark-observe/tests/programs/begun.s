@ SPDX-License-Identifier: MIT OR Apache-2.0
@ A kernel of a Cortex-R starts its first task by one load of its stack pointer and its program counter.
        .syntax unified
        .arm
        .include "function.inc"

        .text
function reset
        mov     sp, #0x8000
        nop
        push    {r0, r1}                @ 8 bytes
        ldr     r0, =context
        ldm     r0, {sp, pc}
        .size   reset, . - reset

function task
        mov     r4, #0
        push    {r4, lr}                @ 8 bytes, and 16 of a function: 24
        bl      deeper
stop:   b       stop
        .size   task, . - task

function deeper
        push    {r4-r7}
        pop     {r4-r7}
        bx      lr
        .size   deeper, . - deeper

        .balign 4
context:
        .word   0xA000, task
