# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The two routines that clocked probes call, for Xtensa with the CALL0 ABI: as clock.s has them for
# Cortex-M, which tells what has to be said before it. The counter is CCOUNT.
#
# a0 is the site, where they return to. All other registers are kept.

    .pushsection .text.rtmark_clock, "ax", @progbits
    .literal_position
    .balign 4
    .globl rtmark_clock_1
    .type rtmark_clock_1, @function
rtmark_clock_1:
    addi    a1, a1, -16
    s32i    a2, a1, 0
    s32i    a3, a1, 4
    s32i    a4, a1, 8
    s32i    a5, a1, 12
    rsil    a2, 15
    movi    a3, rtmark_clock_next
    l32i    a4, a3, 0
    movi    a5, rtmark_clock_ring + RTMARK_RING_END
    bgeu    a4, a5, 2f
    s32i    a0, a4, 0
    addi    a5, a4, 8
    s32i    a5, a3, 0
    rsr.ccount a5
    s32i    a5, a4, 4
1:  wsr.ps  a2
    rsync
    l32i    a2, a1, 0
    l32i    a3, a1, 4
    l32i    a4, a1, 8
    l32i    a5, a1, 12
    addi    a1, a1, 16
    jx      a0
# No room.
2:  movi    a3, rtmark_clock_lost
    l32i    a4, a3, 0
    addi    a4, a4, 1
    s32i    a4, a3, 0
    j       1b
    .size rtmark_clock_1, . - rtmark_clock_1

    .balign 4
    .globl rtmark_clock_2
    .type rtmark_clock_2, @function
rtmark_clock_2:
    addi    a1, a1, -16
    s32i    a2, a1, 0
    s32i    a3, a1, 4
    s32i    a4, a1, 8
    s32i    a5, a1, 12
    rsil    a2, 15
    rsr.ccount a5
    movi    a3, rtmark_clock_next
    l32i    a4, a3, 0
    s32i    a5, a4, 4
    movi    a5, rtmark_clock_ring + RTMARK_RING_END
    bgeu    a4, a5, 2b
    s32i    a0, a4, 0
    addi    a4, a4, 8
    s32i    a4, a3, 0
    movi    a5, rtmark_clock_ring + RTMARK_RING_FULL
    bltu    a4, a5, 1b
# All that a call may change, but a3 to a5, which are saved already.
    rsr.sar a3
    addi    a1, a1, -48
    s32i    a0, a1, 0
    s32i    a2, a1, 4
    s32i    a3, a1, 8
    s32i    a6, a1, 12
    s32i    a7, a1, 16
    s32i    a8, a1, 20
    s32i    a9, a1, 24
    s32i    a10, a1, 28
    s32i    a11, a1, 32
    call0   rtmark_clock_drain
    l32i    a0, a1, 0
    l32i    a2, a1, 4
    l32i    a3, a1, 8
    l32i    a6, a1, 12
    l32i    a7, a1, 16
    l32i    a8, a1, 20
    l32i    a9, a1, 24
    l32i    a10, a1, 28
    l32i    a11, a1, 32
    addi    a1, a1, 48
    wsr.sar a3
    j       1b
    .size rtmark_clock_2, . - rtmark_clock_2
    .popsection
