@ SPDX-License-Identifier: MIT OR Apache-2.0
@ The other masks of a Cortex-M3.
        .include "thumb.inc"
        vectors 0x20001000

function reset
        movs    r0, #0x40
        movs    r1, #0
        msr     basepri, r0
        nop
        nop
        msr     basepri, r1
        nop
        cpsid   f
        nop
        nop
        nop
        cpsie   f
done reset

function stop
        b       stop
done stop
