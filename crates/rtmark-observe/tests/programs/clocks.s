@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Stores the words of a list of addresses and values. The numbers are the cycles of a Cortex-M0+ (DDI 0484C).
        .include "thumb.inc"
        vectors 0x20001000

function reset
        ldr     r0, =0x20000400         @ 2
1:      ldmia   r0!, {r1, r2}           @ 1 + 2
        cmp     r1, #0                  @ 1
        beq     stop                    @ 1
        str     r2, [r1]                @ 2
        b       1b                      @ 2
stop:   b       stop
done reset
