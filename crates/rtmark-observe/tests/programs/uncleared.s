@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Variables, which are cleared if CLEARS is 1, behind one that has a value.
        .include "thumb.inc"
        vectors 0x20001000

function reset
        ldr     r0, =variables
        ldr     r2, =CLEARS
        cmp     r2, #0
        beq     0f
        movs    r1, #0
        movs    r2, #64
1:      stmia   r0!, {r1}
        subs    r2, #1
        bne     1b
0:      b       0b
done reset

        .bss
        .balign 4
variables:
        .space 256
        .data
        .word   1
