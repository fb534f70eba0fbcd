@ SPDX-License-Identifier: MIT OR Apache-2.0
@ A program with only the main stack, and two nested interrupts.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall, irq0=device

function reset
        ldr     r0, =0xE000ED1C         @ SVCall is the least urgent
        ldr     r1, =0xC0000000
        str     r1, [r0]
        ldr     r0, =0xE000E100         @ IRQ 0 is enabled
        movs    r1, #1
        str     r1, [r0]
        sub     sp, #44
        svc     #0
        add     sp, #44
stop:   b       stop
done reset

@ A frame of 36 bytes, because the stack pointer was misaligned, and 8: 44.
function svcall
        push    {r4, lr}
        ldr     r0, =0xE000E200
        movs    r1, #1
        str     r1, [r0]
        isb
        pop     {r4, pc}
done svcall

@ A frame of 32 bytes, and 20: 52.
function device
        push    {r0-r3, lr}
        pop     {r0-r3, pc}
done device
