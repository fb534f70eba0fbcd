@ rtmark's substitute for RP2040's boot ROM (datasheet, 2.8.2 and 2.8.3).
@
@ The tables are where firmware expects them, and the routines do what the datasheet
@ specifies for the chip's own; they were written for this file, and take different
@ times. Floating point is in rp2040_float.c; table entries for which version 2 of the ROM
@ has no function lead to a breakpoint. Flash is erased and programmed in no time.
@
@ To change it: arm-none-eabi-gcc -mcpu=cortex-m0plus -mthumb -O2 -ffreestanding -nostdlib
@ -Wl,-Ttext=0,-e0 rp2040_rom.s rp2040_float.c -o rom.elf, then arm-none-eabi-objcopy
@ -O binary rom.elf rp2040_rom.bin; a test compares the two.

    .syntax unified
    .thumb
    .text

    .word   0x20042000          @ stack pointer
    .word   stop + 1            @ reset
    .word   stop + 1            @ NMI
    .word   stop + 1            @ HardFault
    .byte   'M', 'u', 1, 2      @ magic, and the version of chip revision B1
    .hword  functions
    .hword  data
    .hword  lookup + 1
    .hword  0

@ Searches a table (r0) for a code (r1). Returns what the entry points to, or 0.
lookup:
    ldrh    r2, [r0]
    cmp     r2, #0
    beq     1f
    cmp     r2, r1
    beq     2f
    adds    r0, #4
    b       lookup
2:  ldrh    r2, [r0, #2]
1:  movs    r0, r2
    bx      lr

@ Counts the bits set in r0: sums within two, four, eight, then all of them.
popcount32:
    ldr     r2, =0x55555555
    lsrs    r1, r0, #1
    ands    r1, r2
    subs    r0, r0, r1
    ldr     r2, =0x33333333
    lsrs    r1, r0, #2
    ands    r1, r2
    ands    r0, r2
    adds    r0, r0, r1
    lsrs    r1, r0, #4
    adds    r0, r0, r1
    ldr     r2, =0x0F0F0F0F
    ands    r0, r2
    ldr     r2, =0x01010101
    muls    r0, r2
    lsrs    r0, r0, #24
    bx      lr

@ Reverses the bits of r0: within each byte, then the bytes.
reverse32:
    ldr     r2, =0x55555555
    lsrs    r1, r0, #1
    ands    r1, r2
    ands    r0, r2
    lsls    r0, r0, #1
    orrs    r0, r1
    ldr     r2, =0x33333333
    lsrs    r1, r0, #2
    ands    r1, r2
    ands    r0, r2
    lsls    r0, r0, #2
    orrs    r0, r1
    ldr     r2, =0x0F0F0F0F
    lsrs    r1, r0, #4
    ands    r1, r2
    ands    r0, r2
    lsls    r0, r0, #4
    orrs    r0, r1
    rev     r0, r0
    bx      lr

@ Counts the zeros above the highest one of r0; 32 for 0.
clz32:
    movs    r1, #0
    cmp     r0, #0
    beq     2f
1:  cmp     r0, #0
    blt     3f
    adds    r1, #1
    lsls    r0, r0, #1
    b       1b
2:  movs    r1, #32
3:  movs    r0, r1
    bx      lr

@ Counts the zeros below the lowest one of r0; 32 for 0.
ctz32:
    movs    r1, #0
    cmp     r0, #0
    beq     2f
1:  lsrs    r0, r0, #1
    bcs     3f
    adds    r1, #1
    b       1b
2:  movs    r1, #32
3:  movs    r0, r1
    bx      lr

@ Fills r2 bytes at r0 with r1; returns r0.
memset:
    movs    r3, r0
1:  subs    r2, #1
    bcc     2f
    strb    r1, [r3]
    adds    r3, #1
    b       1b
2:  bx      lr

@ Fills r2 bytes at r0, both multiples of four, with r1.
memset4:
    movs    r3, r0
    uxtb    r1, r1
    push    {r4, lr}
    lsls    r4, r1, #8
    orrs    r1, r4
    lsls    r4, r1, #16
    orrs    r1, r4
1:  subs    r2, #4
    bcc     2f
    stm     r3!, {r1}
    b       1b
2:  pop     {r4, pc}

@ Copies r2 bytes from r1 to r0; returns r0.
memcpy:
    push    {r0, r4, lr}
    mov     r3, r0
    orrs    r3, r1
    lsls    r3, r3, #30
    bne     2f
1:  subs    r2, #4
    bcc     3f
    ldm     r1!, {r3}
    stm     r0!, {r3}
    b       1b
3:  adds    r2, #4
2:  subs    r2, #1
    bcc     4f
    ldrb    r3, [r1]
    strb    r3, [r0]
    adds    r0, #1
    adds    r1, #1
    b       2b
4:  pop     {r0, r4, pc}

@ Copies r2 bytes from r1 to r0, all multiples of four.
memcpy44:
    push    {r0, lr}
1:  subs    r2, #4
    bcc     2f
    ldm     r1!, {r3}
    stm     r0!, {r3}
    b       1b
2:  pop     {r0, pc}

    .equ    XIP, 0x10000000
    .equ    SECTOR, 4096
@ Registers of rtmark's own (the soc file's BOOTROM): an address written to the first erases its sector, a one in the
@ second lets stores program the flash.
    .equ    BOOTROM, 0x1A000000

@ Erases r1 bytes of the flash from offset r0 on, in whole sectors.
flash_range_erase:
    ldr     r2, =XIP
    adds    r0, r2
    adds    r1, r0
    ldr     r2, =BOOTROM
    ldr     r3, =SECTOR
1:  cmp     r0, r1
    bhs     2f
    str     r0, [r2]
    adds    r0, r3
    b       1b
2:  bx      lr

@ Programs r2 bytes from r1, which need not be aligned, to the flash from offset r0 on, in whole words.
flash_range_program:
    push    {r4, r5, r6, lr}
    ldr     r3, =XIP
    adds    r0, r3
    adds    r2, r0
    ldr     r5, =BOOTROM
    movs    r3, #1
    str     r3, [r5, #4]
1:  cmp     r0, r2
    bhs     3f
    movs    r3, #0
    movs    r6, #4
2:  subs    r6, #1
    lsls    r3, #8
    ldrb    r4, [r1, r6]
    orrs    r3, r4
    cmp     r6, #0
    bne     2b
    str     r3, [r0]
    adds    r0, #4
    adds    r1, #4
    b       1b
3:  movs    r3, #0
    str     r3, [r5, #4]
    pop     {r4, r5, r6, pc}

@ Functions that have nothing to do in the simulator.
nothing:
    bx      lr

@ Where the USB loader would take over: a breakpoint ends the run.
stop:
    bkpt    #0
    b       stop

    .pool

    .balign 4
functions:
    .ascii  "P3"
    .hword  popcount32 + 1
    .ascii  "R3"
    .hword  reverse32 + 1
    .ascii  "L3"
    .hword  clz32 + 1
    .ascii  "T3"
    .hword  ctz32 + 1
    .ascii  "MS"
    .hword  memset + 1
    .ascii  "S4"
    .hword  memset4 + 1
    .ascii  "MC"
    .hword  memcpy + 1
    .ascii  "C4"
    .hword  memcpy44 + 1
    .ascii  "IF"
    .hword  nothing + 1
    .ascii  "EX"
    .hword  nothing + 1
    .ascii  "RE"
    .hword  flash_range_erase + 1
    .ascii  "RP"
    .hword  flash_range_program + 1
    .ascii  "FC"
    .hword  nothing + 1
    .ascii  "CX"
    .hword  nothing + 1
    .ascii  "UB"
    .hword  stop + 1
    .ascii  "WV"
    .hword  stop + 1
    .hword  0, 0

data:
    .ascii  "CR"
    .hword  owner
    .ascii  "SF"
    .hword  floats
    .ascii  "SD"
    .hword  doubles
    .hword  0, 0

    .balign 4
floats:
    .word   rom_fadd
    .word   rom_fsub
    .word   rom_fmul
    .word   rom_fdiv
    .word   stop + 1
    .word   stop + 1
    .word   rom_fsqrt
    .word   rom_float2int
    .word   rom_float2fix
    .word   rom_float2uint
    .word   rom_float2ufix
    .word   rom_int2float
    .word   rom_fix2float
    .word   rom_uint2float
    .word   rom_ufix2float
    .word   rom_fcos
    .word   rom_fsin
    .word   rom_ftan
    .word   stop + 1
    .word   rom_fexp
    .word   rom_fln
    .word   rom_fcmp
    .word   rom_fatan2
    .word   rom_int64_2float
    .word   rom_fix64_2float
    .word   rom_uint64_2float
    .word   rom_ufix64_2float
    .word   rom_float2int64
    .word   rom_float2fix64
    .word   rom_float2uint64
    .word   rom_float2ufix64
    .word   rom_float2double

doubles:
    .word   rom_dadd
    .word   rom_dsub
    .word   rom_dmul
    .word   rom_ddiv
    .word   stop + 1
    .word   stop + 1
    .word   rom_dsqrt
    .word   rom_double2int
    .word   rom_double2fix
    .word   rom_double2uint
    .word   rom_double2ufix
    .word   rom_int2double
    .word   rom_fix2double
    .word   rom_uint2double
    .word   rom_ufix2double
    .word   rom_dcos
    .word   rom_dsin
    .word   rom_dtan
    .word   stop + 1
    .word   rom_dexp
    .word   rom_dln
    .word   rom_dcmp
    .word   rom_datan2
    .word   rom_int64_2double
    .word   rom_fix64_2double
    .word   rom_uint64_2double
    .word   rom_ufix64_2double
    .word   rom_double2int64
    .word   rom_double2fix64
    .word   rom_double2uint64
    .word   rom_double2ufix64
    .word   rom_double2float

owner:
    .asciz  "rtmark's substitute for the RP2040 boot ROM"
    .balign 4
