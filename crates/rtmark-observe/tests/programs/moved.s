@ SPDX-License-Identifier: MIT OR Apache-2.0
@ A call that SVCall continues on another stack, and that a second SVCall ends behind its caller's instruction.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall

function reset
        use_process_stack 0x20000800
        bl      task
stop:   b       stop
done reset

function task                   @ 3 + 4 + 1 + 4 + 6
        push    {r4, lr}
        bl      call
        nop
        bl      leaf
        pop     {r4, pc}
done task

function leaf                   @ 3
        bx      lr
done leaf

function call                   @ 1, and the 16 of an entry, twice
        svc     #0
done call

function carried                @ 1 + 3
        nop
        bx      lr
done carried

function leave
        svc     #0
done leave

function svcall
        mrs     r0, psp
        ldr     r1, =caller
        ldr     r2, [r1]
        cmp     r2, #0
        bne     1f
        str     r0, [r1]
        ldr     r0, =0x20000C00 - 32
        ldr     r1, =leave
        str     r1, [r0, #20]
        ldr     r1, =carried
        str     r1, [r0, #24]
        ldr     r1, =0x01000000
        str     r1, [r0, #28]
        msr     psp, r0
        bx      lr
1:      ldr     r3, [r2, #20]   @ to the caller's return address
        subs    r3, #1
        str     r3, [r2, #24]
        msr     psp, r2
        bx      lr
done svcall

        .bss
        .balign 4
caller: .space  4
