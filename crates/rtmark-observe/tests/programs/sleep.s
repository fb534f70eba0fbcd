@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Sleeps until SysTick wakes it, every 1000 cycles.
        .include "thumb.inc"
        vectors 0x20001000, systick=tick

function reset
        ldr     r0, =0xE000E010
        ldr     r1, =999
        str     r1, [r0, #4]
        str     r1, [r0, #8]
        movs    r1, #7
        str     r1, [r0]
1:      wfi                     @ 2 (DDI 0432C, table 3-1)
        adds    r4, #1          @ 1
        b       1b              @ 3
done reset

function tick
        bx      lr
done tick
