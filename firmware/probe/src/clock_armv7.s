@ SPDX-License-Identifier: MIT OR Apache-2.0
@
@ The two routines that clocked probes call, for ARMv7-A and -R in A32: as clock.s has them for
@ Cortex-M, which tells what has to be said before it, but for the counter: it is that of the
@ performance monitors.
@
@ lr is where a call returns to: the probe's site. All other registers are kept.

    .syntax unified

    .pushsection .text.rtmark_clock, "ax", %progbits
    .arm
    .balign 4
    .globl rtmark_clock_1
    .type rtmark_clock_1, %function
rtmark_clock_1:
    push  {r0-r3}
    mrs   r3, cpsr
    cpsid if
    ldr   r0, =rtmark_clock_next
    ldr   r1, [r0]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   r1, r2
    bhs   2f
    str   lr, [r1], #8
    str   r1, [r0]
    mrc   p15, 0, r2, c9, c13, 0
    str   r2, [r1, #-4]
1:  msr   cpsr_c, r3
    pop   {r0-r3}
    bx    lr
@ No room.
2:  ldr   r0, =rtmark_clock_lost
    ldr   r1, [r0]
    add   r1, r1, #1
    str   r1, [r0]
    b     1b
    .size rtmark_clock_1, . - rtmark_clock_1

    .globl rtmark_clock_2
    .type rtmark_clock_2, %function
rtmark_clock_2:
    push  {r0-r3}
    mrs   r3, cpsr
    cpsid if
    mrc   p15, 0, r2, c9, c13, 0
    ldr   r0, =rtmark_clock_next
    ldr   r1, [r0]
    str   r2, [r1, #4]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   r1, r2
    bhs   2b
    str   lr, [r1], #8
    str   r1, [r0]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_FULL
    cmp   r1, r2
    blo   1b
    push  {r3, r4, r12, lr}
    mov   r4, sp
    bic   sp, sp, #7
    bl    rtmark_clock_drain
    mov   sp, r4
    pop   {r3, r4, r12, lr}
    b     1b
    .size rtmark_clock_2, . - rtmark_clock_2
    .ltorg
    .popsection
