/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sleeps while interrupts are masked, on every core. */
#ifdef __thumb__
        .include "thumb.inc"
        vectors 0x20001000
#else
        .include "function.inc"
        .text
#endif

function reset
#ifdef __riscv
        csrci   mstatus, 8
        wfi
        j       .
#else
        cpsid   i
        wfi
        b       .
#endif
        .size   reset, . - reset
