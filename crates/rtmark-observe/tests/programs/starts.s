# SPDX-License-Identifier: MIT OR Apache-2.0
# Jumps to functions: within a stack, where they replace each other, and to that of another task.
        .include "function.inc"

        .text
function reset
        li      sp, 0x80110000
        call    main
        j       .
        .size   reset, . - reset

function main
        addi    sp, sp, -256            # as far as a replaced function's frame may be
        j       replacing
        nop
        .size   main, . - main

function replacing
        nop
        li      sp, 0x80120000
        j       task
        nop
        .size   replacing, . - replacing

function task
        nop
        call    called
stop:   j       stop
        .size   task, . - task

function called
        nop
        ret
        .size   called, . - called
