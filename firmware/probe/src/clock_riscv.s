# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The two routines that clocked probes call, for RV32 in machine mode: as clock.s has them for
# Cortex-M, which tells what has to be said before it, but for the counter: it is minstret.
#
# t0 is the site, where they return to. All other registers are kept.

    .pushsection .text.rtmark_clock, "ax", %progbits
    .balign 4
    .globl rtmark_clock_1
    .type rtmark_clock_1, %function
rtmark_clock_1:
    addi  sp, sp, -16
    sw    t1, 0(sp)
    sw    t2, 4(sp)
    sw    t3, 8(sp)
    sw    t4, 12(sp)
    csrrci t1, mstatus, 8
    la    t2, rtmark_clock_next
    lw    t3, 0(t2)
    lw    t4, rtmark_clock_ring_end
    bgeu  t3, t4, 2f
    sw    t0, 0(t3)
    addi  t4, t3, 8
    sw    t4, 0(t2)
    csrr  t4, minstret
    sw    t4, 4(t3)
1:  andi  t1, t1, 8
    csrs  mstatus, t1
    lw    t1, 0(sp)
    lw    t2, 4(sp)
    lw    t3, 8(sp)
    lw    t4, 12(sp)
    addi  sp, sp, 16
    jr    t0
# No room.
2:  la    t2, rtmark_clock_lost
    lw    t3, 0(t2)
    addi  t3, t3, 1
    sw    t3, 0(t2)
    j     1b
    .size rtmark_clock_1, . - rtmark_clock_1

    .globl rtmark_clock_2
    .type rtmark_clock_2, %function
rtmark_clock_2:
    addi  sp, sp, -16
    sw    t1, 0(sp)
    sw    t2, 4(sp)
    sw    t3, 8(sp)
    sw    t4, 12(sp)
    csrrci t1, mstatus, 8
    csrr  t4, minstret
    la    t2, rtmark_clock_next
    lw    t3, 0(t2)
    sw    t4, 4(t3)
    lw    t4, rtmark_clock_ring_end
    bgeu  t3, t4, 2b
    sw    t0, 0(t3)
    addi  t3, t3, 8
    sw    t3, 0(t2)
    lw    t4, rtmark_clock_ring_full
    bltu  t3, t4, 1b
# All that a call may change, but t1 to t4, which are saved already. The stack is aligned to 16
# bytes: a probe is nowhere but in functions.
    addi  sp, sp, -64
    sw    t0, 0(sp)
    sw    t1, 4(sp)
    sw    t5, 8(sp)
    sw    t6, 12(sp)
    sw    a0, 16(sp)
    sw    a1, 20(sp)
    sw    a2, 24(sp)
    sw    a3, 28(sp)
    sw    a4, 32(sp)
    sw    a5, 36(sp)
    sw    a6, 40(sp)
    sw    a7, 44(sp)
    sw    ra, 48(sp)
    call  rtmark_clock_drain
    lw    t0, 0(sp)
    lw    t1, 4(sp)
    lw    t5, 8(sp)
    lw    t6, 12(sp)
    lw    a0, 16(sp)
    lw    a1, 20(sp)
    lw    a2, 24(sp)
    lw    a3, 28(sp)
    lw    a4, 32(sp)
    lw    a5, 36(sp)
    lw    a6, 40(sp)
    lw    a7, 44(sp)
    lw    ra, 48(sp)
    addi  sp, sp, 64
    j     1b
    .size rtmark_clock_2, . - rtmark_clock_2

    .balign 4
rtmark_clock_ring_end:
    .4byte rtmark_clock_ring + RTMARK_RING_END
rtmark_clock_ring_full:
    .4byte rtmark_clock_ring + RTMARK_RING_FULL
    .popsection
