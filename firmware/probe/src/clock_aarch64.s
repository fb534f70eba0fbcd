// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The two routines that clocked probes call, for AArch64 in EL1: as clock.s has them for
// Cortex-M, which tells what has to be said before it, but for the counter: it is that of the
// performance monitors.
//
// x17 is the site, where they return to, and x16 is free. All other registers are kept.

    .pushsection .text.rtmark_clock, "ax", %progbits
    .macro rtmark_lock
    stp   x0, x1, [sp, #-32]!
    stp   x2, x3, [sp, #16]
    mrs   x3, daif
    msr   daifset, #3
    .endm

    .balign 4
    .globl rtmark_clock_1
    .type rtmark_clock_1, %function
rtmark_clock_1:
    rtmark_lock
    ldr   x0, =rtmark_clock_next
    ldr   x1, [x0]
    ldr   x2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   x1, x2
    b.hs  2f
    str   w17, [x1], #8
    str   x1, [x0]
    isb
    mrs   x2, pmccntr_el0
    str   w2, [x1, #-4]
1:  msr   daif, x3
    ldp   x2, x3, [sp, #16]
    ldp   x0, x1, [sp], #32
    br    x17
// No room.
2:  ldr   x0, =rtmark_clock_lost
    ldr   w1, [x0]
    add   w1, w1, #1
    str   w1, [x0]
    b     1b
    .size rtmark_clock_1, . - rtmark_clock_1

    .globl rtmark_clock_2
    .type rtmark_clock_2, %function
rtmark_clock_2:
    rtmark_lock
    isb
    mrs   x2, pmccntr_el0
    ldr   x0, =rtmark_clock_next
    ldr   x1, [x0]
    str   w2, [x1, #4]
    ldr   x2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   x1, x2
    b.hs  2b
    str   w17, [x1], #8
    str   x1, [x0]
    ldr   x2, =rtmark_clock_ring + RTMARK_RING_FULL
    cmp   x1, x2
    b.lo  1b
// All that a call may change, but x0 to x3, which are saved already.
    stp   x4, x5, [sp, #-144]!
    stp   x6, x7, [sp, #16]
    stp   x8, x9, [sp, #32]
    stp   x10, x11, [sp, #48]
    stp   x12, x13, [sp, #64]
    stp   x14, x15, [sp, #80]
    stp   x16, x17, [sp, #96]
    stp   x18, x30, [sp, #112]
    str   x3, [sp, #128]
    bl    rtmark_clock_drain
    ldr   x3, [sp, #128]
    ldp   x18, x30, [sp, #112]
    ldp   x16, x17, [sp, #96]
    ldp   x14, x15, [sp, #80]
    ldp   x12, x13, [sp, #64]
    ldp   x10, x11, [sp, #48]
    ldp   x8, x9, [sp, #32]
    ldp   x6, x7, [sp, #16]
    ldp   x4, x5, [sp], #144
    b     1b
    .size rtmark_clock_2, . - rtmark_clock_2
    .ltorg
    .popsection
