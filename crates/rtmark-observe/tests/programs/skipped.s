@ SPDX-License-Identifier: MIT OR Apache-2.0
@ The handler of SVCall continues behind the instruction that follows the call.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall

function reset
        push    {r4-r5}                 @ 8 bytes
        svc     #0
        b       .
        push    {r4-r7}                 @ and 16: 24
        pop     {r4-r7}
stop:   b       stop
done reset

function svcall
        ldr     r0, [sp, #24]
        adds    r0, #2
        str     r0, [sp, #24]
        bx      lr
done svcall
