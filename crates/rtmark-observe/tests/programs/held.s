@ SPDX-License-Identifier: MIT OR Apache-2.0
@ What holds an interrupt back. The numbers are the cycles of a Cortex-M0 (DDI 0432C, table 3-1).
        .include "thumb.inc"
        vectors 0x20001000, svc=handler, irq0=TIMER0_IRQHandler, irq1=device

function reset
        bl      main
stop:   b       stop
done reset

function main
        push    {r4, lr}
        cpsid   i
        nop                     @ 1
        nop                     @ 1
        bl      leaf            @ 4, and 4
        cpsie   i               @ 1: 11
        movs    r0, #2
        bl      locked          @ 7
        bl      again           @ 19, 11 and 19
        push    {r0-r7}         @ 1 + 8
        pop     {r0-r7}
        svc     #0
        pop     {r4, pc}
done main

function again
        push    {r4, lr}
        movs    r0, #5
        bl      locked
        movs    r0, #3
        bl      locked
        movs    r0, #5
        bl      locked
        pop     {r4, pc}
done again

function leaf
        nop
        bx      lr
done leaf

@ Masks interrupts for 4 n - 1 cycles.
function locked
        cpsid   i
1:      subs    r0, #1          @ 1
        bne     1b              @ 3, and 1 at the end
        cpsie   i               @ 1
        bx      lr
done locked

@ Two cycles, and the return.
function handler
        nop
        nop
        bx      lr
done handler

function TIMER0_IRQHandler
        nop
        bx      lr
done TIMER0_IRQHandler

function device
        bx      lr
done device
