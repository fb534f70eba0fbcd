@ SPDX-License-Identifier: MIT OR Apache-2.0
@ The vectors: a program begins in `start`, and defines the handlers that it needs.
    .section .vectors, "a"
    .weak svcall, pendsv, systick, irq0, irq1
    .word 0x20002000, start
    .org 11 * 4
    .word svcall
    .org 14 * 4
    .word pendsv, systick, irq0, irq1
