@ SPDX-License-Identifier: MIT OR Apache-2.0
@ What precedes each program's text.
    .syntax unified
    .thumb
    .equ ICSR, 0xE000ED04
    .equ ICSR_PENDSV, 1 << 28
    .equ ICSR_SYSTICK, 1 << 26
    .equ ISER, 0xE000E100
    .equ ISPR, 0xE000E200

    .macro function name
    .ltorg
    .type \name, %function
    .thumb_func
    .global \name
\name:
    .endm

    @ Stores a word, using r2 and r3.
    .macro store address, value
    ldr r2, =\address
    ldr r3, =\value
    str r3, [r2]
    .endm

    @ Ends the run.
    .macro finish
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xAB
    .endm
