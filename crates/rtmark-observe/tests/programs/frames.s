@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Functions with large frames, which an instruction allocates at once: 300 bytes, and 2 KiB.
        .include "thumb.inc"
        vectors 0x20004000

function reset
        push    {r4, lr}
        sub.w   sp, sp, #300
        nop
        add.w   sp, sp, #300
        sub.w   sp, sp, #2048
        nop
        add.w   sp, sp, #2048
stop:   b       stop
done reset
