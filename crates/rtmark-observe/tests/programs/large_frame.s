# SPDX-License-Identifier: MIT OR Apache-2.0
# A function with a frame of 512 bytes, which jumps within itself and calls another one.
        .include "function.inc"

        .text
function reset
        li      sp, 0x80110000
        call    large
stop:   j       stop
        .size   reset, . - reset

function large
        mv      s0, ra
        addi    sp, sp, -512
        li      s1, 2
1:      addi    s1, s1, -1
        bnez    s1, 1b
        call    leaf
        addi    sp, sp, 512
        jr      s0
        .size   large, . - large

function leaf
        nop
        ret
        .size   leaf, . - leaf
