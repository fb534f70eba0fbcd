@ SPDX-License-Identifier: MIT OR Apache-2.0
@ A handler that uses the stacks of three modes of a Cortex-R.
        .syntax unified
        .arm
        .include "function.inc"

        .text
        b       reset
        b       .
        b       svcall
        .space  52

function reset
        mrc     p15, 0, r0, c1, c0, 0   @ vectors at address 0
        bic     r0, #0x2000
        mcr     p15, 0, r0, c1, c0, 0
        cps     #19                     @ SVC
        mov     sp, #0x8000
        cps     #18                     @ IRQ
        mov     sp, #0x9000
        cps     #31                     @ System
        mov     sp, #0xA000
        bl      task
stop:   b       stop
        .size   reset, . - reset

function task
        push    {r4-r7}                 @ 16 bytes, and 8 of the handler: 24
        svc     #0
        pop     {r4-r7}
        bx      lr
        .size   task, . - task

function svcall
        push    {r0-r3, lr}             @ 20 bytes
        cps     #18
        push    {r4-r9}                 @ and 24: 44
        pop     {r4-r9}
        cps     #31
        push    {r0, r1}
        pop     {r0, r1}
        cps     #19
        ldm     sp!, {r0-r3, pc}^
        .size   svcall, . - svcall
