@ SPDX-License-Identifier: MIT OR Apache-2.0
@ Two tasks on stacks of their own, between which PendSV switches, and a call of SVCall.
        .include "thumb.inc"
        vectors 0x20001000, svc=svcall, pendsv=pendsv

function reset
        push    {r4-r6}                 @ 12 bytes
        ldr     r0, =0x200005E0         @ the second task's first frame, 32 bytes below its stack's end
        ldr     r1, =second
        str     r1, [r0, #24]
        ldr     r1, =0x01000000
        str     r1, [r0, #28]
        subs    r0, #16                 @ r4 to r7 below it
        ldr     r1, =saved
        str     r0, [r1]
        use_process_stack 0x20000800
        bl      first
stop:   b       stop
done reset

function first
        push    {r4-r7, lr}             @ 20
        sub     sp, #28                 @ 48
        svc     #0                      @ 48 + 32, and 16 that PendSV saves, which follows directly: 96
        add     sp, #8                  @ 40
        bl      yield                   @ 40 + 32 + 16
        sub     sp, #32                 @ 72
        add     sp, #52
        pop     {r4-r7, pc}
done first

function second
        sub     sp, #60                 @ misaligned: the frame is 36 bytes, 96, and PendSV saves 16: 112
1:      bl      yield
        b       1b
done second

function yield
        ldr     r0, =0xE000ED04
        ldr     r1, =0x10000000
        str     r1, [r0]
        isb
        nop
done yield
        @ Goes on where no symbol is, and from there in a function.
        nop
        nop
function back
        bx      lr
done back

@ Saves r4 to r7 below the frame; what it stores further below is not next to that.
function pendsv
        mrs     r0, psp
        subs    r0, #16
        stmia   r0!, {r4-r7}
        subs    r0, #16
        mov     r3, r0
        subs    r3, #100
        str     r3, [r3]
        ldr     r1, =saved
        ldr     r2, [r1]
        str     r0, [r1]
        ldmia   r2!, {r4-r7}
        msr     psp, r2
        bx      lr
done pendsv

@ 24 bytes of its own, and 32 of a function: 56. Requests PendSV.
function svcall
        push    {r4, lr}
        sub     sp, #16
        bl      deeper
        bl      yield
        add     sp, #16
        pop     {r4, pc}
done svcall

function deeper
        push    {r0-r7}
        add     sp, #32
        bx      lr
done deeper

        .bss
        .balign 4
saved:  .space  4
