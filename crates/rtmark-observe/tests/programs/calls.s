@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Calls of every kind. The numbers are the cycles of a Cortex-M0 (DDI 0432C, table 3-1).
        .include "thumb.inc"
        vectors 0x20001000, svc=handler, irq0=device

function reset
        bl      main            @ 4
stop:   b       stop
done reset

function main                   @ 59, and the call of SVCall
        push    {r4, lr}        @ 3
        movs    r4, #3          @ 1
1:      bl      twice           @ 4, three times
        subs    r4, #1          @ 1, three times
        bne     1b              @ 3, 3, 1
        movs    r0, #3          @ 1
        bl      down            @ 4
        bl      jumps           @ 4
        bl      falls           @ 4
        bl      edge            @ 4
        mov     r7, sp          @ 1
        bl      outer           @ 4
.Lback: nop                     @ 1
        bl      leaf            @ 4
        svc     #0              @ 1, and the 16 of an entry
        pop     {r4, pc}        @ 4 + 2
done main

function twice                  @ 15
        push    {lr}            @ 2
        bl      leaf            @ 4
        bl      leaf            @ 4
        pop     {pc}            @ 4 + 1
done twice

@ Goes on in the next function.
function falls
        nop                     @ 1
        nop                     @ 1
done falls

function leaf                   @ 4
        nop                     @ 1
        bx      lr              @ 3
done leaf

@ Calls itself until r0 is zero: 13, 13 and 11.
function down
        push    {lr}            @ 2
        subs    r0, #1          @ 1
        beq     1f              @ 1, or 3 at the end
        bl      down            @ 4
1:      pop     {pc}            @ 4 + 1
done down

@ Ends by jumping to another function.
function jumps
        b       leaf            @ 3
done jumps

@ Goes on where no symbol is.
function edge
        nop                     @ 1
done edge
        bx      lr              @ 3

@ Jumps out of two functions.
function outer
        push    {r4, lr}        @ 3
        bl      inner           @ 4
        pop     {r4, pc}
done outer

function inner
        push    {r4, lr}        @ 3
        mov     sp, r7          @ 1
        ldr     r0, =.Lback + 1   @ 2
        bx      r0              @ 3
done inner

function handler
        nop                     @ 1
        nop                     @ 1
        bx      lr
done handler

function device
        nop                     @ 1
        bx      lr
done device
