@ What every program has before its random code: vectors, handlers that note what they see, the end.
@
@ Assembled by GNU as, which knows nothing of the simulator. A note begins with its kind. The stack
@ pointer of supervisor mode is where the log goes on; calls note all registers of all modes, and
@ lead into the mode that their number says. Other handlers note why they were entered, and go on
@ behind the instruction, outside of any IT block.

        .syntax unified
        .cpu    cortex-r5
        .fpu    vfpv3-d16
        .arm

        .equ    STACKS, 0x007F0000
        .equ    WINDOW, 0x00800000
        .equ    LOG, 0x00804000
        .equ    CLOSED, 0x00700000
        .equ    PROGRAM, 0x1000

        .equ    NOTE, 0xC0DE0000
        .equ    UNDEFINED, 0xC0DE0001
        .equ    DATA, 0xC0DE0002
        .equ    CODE, 0xC0DE0003
        .equ    NOTE_BYTES, 68 * 4

vectors:
        b       start
        b       undefined
        b       call
        b       code_abort
        b       data_abort
        b       .
        b       .
        b       .

        @ Where the program ends, filled in by the generator; where a prefetch abort leads, by programs.
        .org    0x40
end_of_program:
        .word   0
resume:
        .word   0

start:
        mrc     p15, 0, r0, c1, c0, 0
        bic     r0, r0, #1 << 13
        mcr     p15, 0, r0, c1, c0, 0
        mrc     p15, 0, r0, c1, c0, 2
        orr     r0, r0, #0xF << 20
        mcr     p15, 0, r0, c1, c0, 2
        isb
        mov     r0, #1 << 30
        vmsr    fpexc, r0

        adr     r0, regions
        mov     r1, #0
1:      ldmia   r0!, {r2-r4}
        mcr     p15, 0, r1, c6, c2, 0
        mcr     p15, 0, r2, c6, c1, 0
        mcr     p15, 0, r3, c6, c1, 2
        mcr     p15, 0, r4, c6, c1, 4
        add     r1, r1, #1
        cmp     r1, #7
        bne     1b

        @ What RAM holds after a reset differs.
        ldr     r0, =CLOSED - 0x10000
        ldr     r1, =CLOSED + 0x20000
        bl      fill
        ldr     r0, =STACKS
        ldr     r1, =LOG
        bl      fill

        mrc     p15, 0, r0, c1, c0, 0
        orr     r0, r0, #1
        mcr     p15, 0, r0, c1, c0, 0
        isb

        ldr     r0, =STACKS
        .irp    mode, 0x11, 0x12, 0x17, 0x1B, 0x1F
        cps     #\mode
        add     r0, r0, #0x1000
        mov     sp, r0
        mov     lr, r0
        .if     \mode != 0x1F
        mov     r1, #0x1F
        msr     spsr_fsxc, r1
        .endif
        .endr
        cps     #0x13
        ldr     sp, =LOG
        mov     lr, #0
        mov     r1, #0x1F
        msr     spsr_fsxc, r1
        ldr     r12, =PROGRAM
        vldmia  r12, {d0-d15}
        cps     #0x11
        ldmia   r0, {r8-r12}
        cps     #0x1F
        ldmia   r0, {r0-r12}
        b       program

fill:   mov     r2, r0
        str     r2, [r0], #4
        cmp     r0, r1
        blo     fill
        bx      lr

        @ All memory, for all; then pages for nobody, to be read, for the privileged, not to be
        @ executed, to be read by users, and one of which eighths are missing.
regions:
        .word   0x00000000, 31 << 1 | 1, 0x30B
        .word   CLOSED, 11 << 1 | 1, 0x00B
        .word   CLOSED + 0x1000, 11 << 1 | 1, 0x60B
        .word   CLOSED + 0x2000, 11 << 1 | 1, 0x10B
        .word   CLOSED + 0x3000, 11 << 1 | 1, 0x130B
        .word   CLOSED + 0x4000, 11 << 1 | 1, 0x20B
        .word   CLOSED + 0x8000, 0x5A << 8 | 14 << 1 | 1, 0x50B
        .ltorg

call:
        add     sp, sp, #4
        stmia   sp!, {r0-r12}
        ldr     r0, =NOTE
        str     r0, [sp, #-56]
        mrs     r0, spsr
        mov     r1, lr
        stmia   sp!, {r0, r1}
        stmia   sp, {sp, lr}^
        add     sp, sp, #8
        cps     #0x11
        mov     r0, sp
        mov     r1, lr
        mrs     r2, spsr
        mov     r3, r8
        mov     r4, r9
        mov     r5, r10
        mov     r6, r11
        mov     r7, r12
        cps     #0x13
        stmia   sp!, {r0-r7}
        .irp    mode, 0x12, 0x17, 0x1B
        cps     #\mode
        mov     r0, sp
        mov     r1, lr
        mrs     r2, spsr
        cps     #0x13
        stmia   sp!, {r0-r2}
        .endr
        vmrs    r0, fpscr
        str     r0, [sp], #4
        vstmia  sp!, {d0-d15}

        mrs     r0, spsr
        tst     r0, #0x20
        ldreq   r1, [lr, #-4]
        ldrhne  r1, [lr, #-2]
        bic     r0, r0, #0x1F
        and     r1, r1, #0x1F
        orr     r0, r0, r1
        msr     spsr_fsxc, r0

        ldr     r0, =end_of_program
        ldr     r0, [r0]
        cmp     lr, r0
        bhs     finish
        sub     r12, sp, #NOTE_BYTES - 4
        ldmia   r12, {r0-r12}
        movs    pc, lr

        @ Of T32 an instruction of 16 or 32 bits is passed.
undefined:
        push    {r0-r3}
        ldr     r0, =UNDEFINED
        mov     r1, lr
        mrs     r2, spsr
        cps     #0x13
        stmia   sp!, {r0-r2}
        cps     #0x1B
        tst     r2, #0x20
        beq     1f
        ldrh    r3, [lr, #-2]
        lsr     r3, r3, #11
        cmp     r3, #0x1D
        addhs   lr, lr, #2
1:      bic     r2, r2, #0x06000000
        bic     r2, r2, #0x0000FC00
        msr     spsr_fsxc, r2
        pop     {r0-r3}
        movs    pc, lr

data_abort:
        push    {r0-r5}
        ldr     r0, =DATA
        mov     r1, lr
        mrs     r2, spsr
        mrc     p15, 0, r3, c5, c0, 0
        mrc     p15, 0, r4, c6, c0, 0
        cps     #0x13
        stmia   sp!, {r0-r4}
        cps     #0x17
        tst     r2, #0x20
        subeq   lr, lr, #4
        beq     1f
        ldrh    r5, [lr, #-8]
        sub     lr, lr, #6
        lsr     r5, r5, #11
        cmp     r5, #0x1D
        addhs   lr, lr, #2
1:      bic     r2, r2, #0x06000000
        bic     r2, r2, #0x0000FC00
        msr     spsr_fsxc, r2
        pop     {r0-r5}
        movs    pc, lr

code_abort:
        push    {r0-r5}
        ldr     r0, =CODE
        mov     r1, lr
        mrs     r2, spsr
        mrc     p15, 0, r3, c5, c0, 1
        cps     #0x13
        stmia   sp!, {r0-r3}
        cps     #0x17
        ldr     r5, =resume
        ldr     lr, [r5]
        tst     lr, #1
        biceq   r2, r2, #0x20
        orrne   r2, r2, #0x20
        bic     lr, lr, #1
        bic     r2, r2, #0x06000000
        bic     r2, r2, #0x0000FC00
        msr     spsr_fsxc, r2
        pop     {r0-r5}
        movs    pc, lr

        @ Writes the window and the log to the console, and ends.
finish:
        mov     r4, sp
        ldr     r6, =WINDOW
        adr     r1, opening
        mov     r0, #0x01
        svc     0x123456
        mov     r5, r0
1:      sub     r7, r4, r6
        cmp     r7, #0x4000
        movhi   r7, #0x4000
        adr     r1, piece
        stmia   r1, {r5-r7}
        mov     r0, #0x05
        svc     0x123456
        add     r6, r6, r7
        cmp     r6, r4
        blo     1b
        mov     r0, #0x18
        ldr     r1, =0x20026
        svc     0x123456
        b       .
name:   .asciz  ":tt"
opening:
        .word   name, 4, 3
piece:
        .word   0, 0, 0
        .ltorg
        .org    PROGRAM
program:
