# SPDX-License-Identifier: MIT OR Apache-2.0
# A function with a frame of 512 bytes, which jumps within itself, calls another one and goes on in a third one.
        .include "function.inc"

        .text
function reset
        li      sp, 0x80110000
        li      s2, 8
1:      call    large
        addi    s2, s2, -1
        bnez    s2, 1b
stop:   j       stop
        .size   reset, . - reset

function large
        mv      s0, ra
        addi    sp, sp, -512
        li      s1, 2
1:      addi    s1, s1, -1
        bnez    s1, 1b
        call    leaf
        nop
        nop
        nop
        .size   large, . - large

function ends
        addi    sp, sp, 512
        jr      s0
        .size   ends, . - ends

function leaf
        nop
        ret
        .size   leaf, . - leaf
