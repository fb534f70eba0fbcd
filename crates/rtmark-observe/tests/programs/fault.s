@ SPDX-License-Identifier: MIT OR Apache-2.0
@ An instruction faults, with others before it, and the handler of HardFault continues behind it.
        .include "thumb.inc"
        .section .vectors, "a"
        .word   0x20001000, reset, 0, hardfault

function reset
        ldr     r0, =0x90000000         @ no memory
        nop
        nop
        ldrb    r1, [r0]
stop:   b       stop
done reset

function hardfault
        ldr     r0, [sp, #24]
        adds    r0, #2
        str     r0, [sp, #24]
        bx      lr
done hardfault
