@ SPDX-License-Identifier: MIT OR Apache-2.0
@ The main stack grows to its end, and 8 bytes beyond it.
        .include "thumb.inc"
        vectors 0x20001000

function reset
        sub     sp, #32
        push    {r0-r7}
        push    {r0, r1}
        b       .
done reset
