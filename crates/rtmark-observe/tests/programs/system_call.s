@ SPDX-License-Identifier: MIT OR Apache-2.0
@ A system call: the handler of SVCall continues at `serve`, which goes back by a jump.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall

function reset
        use_process_stack 0x20000800
        bl      user
stop:   b       stop
done reset

function user
        push    {lr}
        svc     #0
        bl      helper
        pop     {pc}
done user

function helper
        bx      lr
done helper

function svcall
        mrs     r0, psp
        ldr     r1, [r0, #24]
        mov     r8, r1
        ldr     r1, =serve
        movs    r2, #1
        bics    r1, r2
        str     r1, [r0, #24]
        bx      lr
done svcall

function serve
        mov     r9, sp
        ldr     r0, =0x20000C00
        msr     psp, r0
        bl      work
        mov     r0, r9
        msr     psp, r0
        mov     r0, r8
        movs    r1, #1
        orrs    r0, r1
        bx      r0
done serve

function work
        bx      lr
done work
