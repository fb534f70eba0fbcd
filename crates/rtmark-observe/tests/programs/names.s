@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Interrupts with handlers of their own, a shared one, and a default one that spins or dispatches.
        .include "thumb.inc"

        .macro  table tim
        .word   0x20001000, reset
        .rept   14
        .word   0
        .endr
        .word   \tim, Shared_IRQHandler, Shared_IRQHandler, PVD, IRQ4_Handler
        .rept   7
        .word   Default_Handler
        .endr
        .rept   4
        .word   Dispatcher
        .endr
        .endm

        .section .vectors, "a"
        table   TIM2_IRQHandler
        .text
        .balign 256
        .global moved
moved:  table   ADC1_IRQHandler

        .irp    name, TIM2_IRQHandler, ADC1_IRQHandler, PVD, IRQ4_Handler, Shared_IRQHandler
function \name
        bx      lr
done \name
        .endr

function reset
        b       .
done reset

function Default_Handler
        b       .
done Default_Handler

@ Reads the exception's number.
function Dispatcher
        push    {r4, lr}
        mrs     r3, ipsr
        pop     {r4, pc}
done Dispatcher
