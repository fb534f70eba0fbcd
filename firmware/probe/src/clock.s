@ SPDX-License-Identifier: MIT OR Apache-2.0
@
@ The two routines that clocked probes call, for every Cortex-M: rtmark_clock_1 where a span
@ begins and rtmark_clock_2 where one ends; the numbers are those of the records. The counter is
@ read as late as can be in the first and as early in the second, so that little lies between.
@ Nobody may interrupt, so that events are in the order of their counts.
@
@ Assembled for C (rtmark_clock.c) and for Rust (clock.rs), which say before it
@
@   RTMARK_COUNTER       address of the register that counts
@   RTMARK_RING_END      size of the ring in bytes
@   RTMARK_RING_FULL     from which filling on it is printed
@   rtmark_tick_handler  a macro: the address of the handler of SysTick
@
@ and define rtmark_clock_ring, rtmark_clock_next, rtmark_clock_lost and rtmark_clock_drain.
@
@ lr is where a call returns to: the probe's site. All other registers are kept.

    .syntax unified

    .equ SYST_CSR, 0xE000E010
    .equ SYST_RVR, 4
    .equ SYST_CVR, 8
    .equ ICSR, 0xE000ED04

@ The count, in r2; r0 and r1 are lost. Always as many instructions.
    .macro rtmark_now
    .if RTMARK_COUNTER == SYST_CSR + SYST_CVR
    @ SysTick counts down and begins anew with every tick, which the kernel may use besides. What
    @ passed before is in rtmark_clock_base, but for a tick whose handler has not run yet.
    ldr   r0, =SYST_CSR
    ldr   r1, =ICSR
    ldr   r2, [r0, #SYST_CVR]
    ldr   r1, [r1]
    ldr   r0, [r0, #SYST_RVR]
    lsls  r1, r1, #5                    @ PENDSTSET
    asrs  r1, r1, #31
    cmp   r2, #16
    bhs   77f
    movs  r1, #0                        @ it became pending after the reading
77: subs  r2, r0, r2
    adds  r0, #1
    ands  r1, r0
    adds  r2, r1
    ldr   r0, =rtmark_clock_base
    ldr   r0, [r0]
    adds  r2, r0
    .else
    ldr   r2, =RTMARK_COUNTER
    ldr   r2, [r2]
    .endif
    .endm

    .pushsection .text.rtmark_clock, "ax", %progbits
    .balign 4
    .globl rtmark_clock_1
    .type rtmark_clock_1, %function
    .thumb_func
rtmark_clock_1:
    push  {r0-r3}
    mrs   r3, primask
    cpsid i
    ldr   r0, =rtmark_clock_next
    ldr   r1, [r0]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   r1, r2
    bhs   2f
    mov   r2, lr
    str   r2, [r1]
    adds  r1, #8
    str   r1, [r0]
    subs  r1, #4
    .if RTMARK_COUNTER == SYST_CSR + SYST_CVR
    push  {r1}
    rtmark_now
    pop   {r1}
    .else
    rtmark_now
    .endif
    str   r2, [r1]
1:  msr   primask, r3
    pop   {r0-r3}
    bx    lr
    @ No room.
2:  ldr   r0, =rtmark_clock_lost
    ldr   r1, [r0]
    adds  r1, #1
    str   r1, [r0]
    b     1b
    .size rtmark_clock_1, . - rtmark_clock_1

    .globl rtmark_clock_2
    .type rtmark_clock_2, %function
    .thumb_func
rtmark_clock_2:
    push  {r0-r3}
    mrs   r3, primask
    cpsid i
    rtmark_now
    push  {r2}
    ldr   r0, =rtmark_clock_next
    ldr   r1, [r0]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_END
    cmp   r1, r2
    pop   {r2}
    bhs   2b
    str   r2, [r1, #4]
    mov   r2, lr
    str   r2, [r1]
    adds  r1, #8
    str   r1, [r0]
    ldr   r2, =rtmark_clock_ring + RTMARK_RING_FULL
    cmp   r1, r2
    bhs   4f
3:  msr   primask, r3
    pop   {r0-r3}
    bx    lr
4:  mov   r0, r12
    push  {r0, r3, r4, lr}
    mov   r4, sp
    lsrs  r0, r4, #3
    lsls  r0, r0, #3
    mov   sp, r0
    bl    rtmark_clock_drain
    mov   sp, r4
    pop   {r0, r3, r4}
    mov   r12, r0
    pop   {r0}
    mov   lr, r0
    b     3b
    .size rtmark_clock_2, . - rtmark_clock_2
    .ltorg

    .if RTMARK_COUNTER == SYST_CSR + SYST_CVR
@ The handler of SysTick's exception where it is the counter: it keeps what has passed, and
@ goes on in the kernel's own handler once the kernel has set the timer to ticks of its own.
    .globl rtmark_clock_tick
    .type rtmark_clock_tick, %function
    .thumb_func
rtmark_clock_tick:
    ldr   r0, =rtmark_clock_base
    ldr   r1, =SYST_CSR
    ldr   r1, [r1, #SYST_RVR]
    ldr   r2, [r0]
    adds  r2, r1
    adds  r2, #1
    str   r2, [r0]
    ldr   r2, =0x00FFFFFF
    cmp   r1, r2
    beq   1f
    ldr   r0, 2f
    bx    r0
1:  bx    lr
    .balign 4
2:  rtmark_tick_handler
    .size rtmark_clock_tick, . - rtmark_clock_tick
    .ltorg
    .endif
    .popsection

    .if RTMARK_COUNTER == SYST_CSR + SYST_CVR
    .pushsection .bss.rtmark_clock_base, "aw", %nobits
    .balign 4
    .globl rtmark_clock_base
rtmark_clock_base:
    .space 4
    .popsection
    .endif
