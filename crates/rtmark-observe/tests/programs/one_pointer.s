# SPDX-License-Identifier: MIT OR Apache-2.0
# One stack pointer for all: software moves it to the stack of a task, and of handlers.
        .include "function.inc"

        .text
function reset
        li      sp, 0x8010FC00          # by way of 0x80110000, which is no stack
        la      t0, trap
        csrw    mtvec, t0
        addi    sp, sp, -32             # 32 bytes of the main stack
        mv      s0, sp
        li      sp, 0x80120000
        call    task
        mv      sp, s0
        addi    sp, sp, -256            # and 256 more: 288
        addi    sp, sp, 256
stop:   j       stop
        .size   reset, . - reset

function task
        mv      s1, ra
        addi    sp, sp, -48             # 48 bytes
        ecall                           # and 64 that the handler saves: 112
        addi    sp, sp, 48
        jr      s1
        .size   task, . - task

        .balign 4
function trap
        addi    sp, sp, -64
        sw      ra, 0(sp)
        mv      s2, sp
        li      sp, 0x8012FC00          # by way of 0x80130000
        call    handle
        mv      sp, s2
        csrr    t0, mepc
        addi    t0, t0, 4
        csrw    mepc, t0
        lw      ra, 0(sp)
        addi    sp, sp, 64
        mret
        .size   trap, . - trap

function handle
        addi    sp, sp, -800            # 800 bytes of the handlers' stack
        nop
        addi    sp, sp, 800
        ret
        .size   handle, . - handle
