@ SPDX-License-Identifier: MIT OR Apache-2.0
@ System calls as of FreeRTOS with an MPU: the handler of SVCall continues at `serve` on a stack of the kernel's, which
@ ends by a call of its own, whose handler continues behind the first one's caller. Two services use that stack.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall
        .equ    CALLER, 0x20000010
        .equ    KERNELS, 0x20000C00

function reset
        use_process_stack 0x20000800
        bl      task
stop:   b       stop
done reset

function task
        push    {r4, lr}
        ldr     r0, =serve
        bl      call
        bl      deeper
        ldr     r0, =advise
        bl      call
        pop     {r4, pc}
done task

function deeper
        push    {r4-r7, lr}
        ldr     r0, =serve
        bl      call
        pop     {r4-r7, pc}
done deeper

function call
        svc     #0
done call

function serve
        push    {r4, lr}
        pop     {r4, pc}
done serve

function advise
        push    {r4-r7, lr}
        sub     sp, #20
        add     sp, #20
        pop     {r4-r7, pc}
done advise

function leave
        svc     #1
        b       leave
done leave

function svcall
        mrs     r0, psp
        ldr     r1, =CALLER
        ldr     r2, [r0, #24]
        ldr     r3, =leave
        @ Behind its SVC; the lowest bit tells that it is Thumb code.
        adds    r3, #1
        cmp     r2, r3
        beq     1f
        @ Continues with the service, which returns to leave.
        str     r0, [r1]
        ldr     r1, =KERNELS - 32
        ldr     r3, =leave
        str     r3, [r1, #20]
        ldr     r3, [r0]
        movs    r2, #1
        bics    r3, r2
        str     r3, [r1, #24]
        ldr     r3, =1 << 24
        str     r3, [r1, #28]
        msr     psp, r1
        bx      lr
        @ Returns to the caller.
1:      ldr     r2, [r1]
        ldr     r3, [r2, #20]
        movs    r1, #1
        bics    r3, r1
        str     r3, [r2, #24]
        msr     psp, r2
        bx      lr
done svcall
