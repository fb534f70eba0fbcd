@ rtmark's substitute for RP2350's boot ROM (datasheet, 5.4.1 and 5.5).
@
@ The lookup function is where firmware expects it, and so are the functions that start-up
@ code and drivers call. These return at once, with an error where they would have to do
@ something that is not simulated (one-time programmable memory, partitions); flash is
@ erased and programmed in no time. All of it was written for this file.
@
@ To change it: arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb -nostdlib -Wl,-Ttext=0,-e0
@ rp2350_rom.s -o rom.elf, then arm-none-eabi-objcopy -O binary rom.elf rp2350_rom.bin;
@ a test compares the two.

    .syntax unified
    .thumb
    .text

    .word   0x20081000          @ stack pointer
    .word   stop + 1            @ reset
    .word   stop + 1            @ NMI
    .word   stop + 1            @ HardFault
    .byte   'M', 'u', 2, 2      @ magic, and the version of chip revision A2
    .hword  table
    .hword  lookup + 1
    .hword  lookup_entry + 1

    .equ    ARM_SECURE, 0x4
    .equ    ARM_BOTH, 0x14
    .equ    DATA, 0x40
    .equ    NOT_PERMITTED, -4
    .equ    PRECONDITION_NOT_MET, -14
    .equ    BUFFER_TOO_SMALL, -13
    .equ    CHIP_INFO, 0x1
    .equ    BOOT_RANDOM, 0x10
    .equ    BOOT_INFO, 0x40

@ Searches for an entry with a code (r0) and at least one of some flags (r1). Returns the
@ entry's value, or 0.
lookup:
    movs    r3, #1
    b       1f
@ Searches as lookup does. Returns the address of the entry's value, or 0.
lookup_entry:
    movs    r3, #0
1:  push    {r4, lr}
    ldr     r2, =table
2:  ldrh    r4, [r2]
    cbz     r4, 5f
    cmp     r4, r0
    bne     3f
    ldrh    r4, [r2, #2]
    tst     r4, r1
    bne     4f
3:  adds    r2, #6
    b       2b
4:  adds    r0, r2, #4
    cbz     r3, 6f
    ldrh    r0, [r0]
6:  pop     {r4, pc}
5:  movs    r0, #0
    pop     {r4, pc}

@ Registers of rtmark's own (the soc file's BOOTROM): an address written to the first erases its sector, a one in the
@ second lets stores program the flash, and by the others a program is told of what is not known here.
    .equ    BOOTROM, 0x1A000000

@ Writes the information selected by flags (r2) to a buffer of r1 words at r0, after the flags of what there is: a number
@ of the chip and a random one, which are rtmark's own; and a start from flash without partitions, of which the
@ diagnostics are not known. Returns the number of words written.
system_info:
    push    {r4-r7, lr}
    mov     r3, #BOOTROM
    str     r2, [r3, #8]
    ands    r2, #CHIP_INFO | BOOT_RANDOM | BOOT_INFO
    adr     r3, answers
    adds    r7, r0, #4          @ where the next word goes
1:  ldrh    r4, [r3], #2        @ a flag, and its number of words
    ldrh    r5, [r3], #2
    cbz     r4, 5f
    tst     r2, r4
    bne     3f
    add     r3, r3, r5, lsl #2
    b       1b
2:  ldr     r6, [r3], #4
    str     r6, [r7], #4
    subs    r5, #1
    beq     1b
3:  subs    r6, r7, r0
    cmp     r1, r6, lsr #2
    bhi     2b
4:  mvn     r0, #~BUFFER_TOO_SMALL
    pop     {r4-r7, pc}
5:  cmp     r1, #0
    beq     4b
    str     r2, [r0]
    subs    r0, r7, r0
    lsrs    r0, #2
    pop     {r4-r7, pc}

    .balign 4
answers:
    .hword  CHIP_INFO, 3
    .word   1, 0x3033510D, 0x39363434           @ QFN-60
    .hword  BOOT_RANDOM, 4
    .word   0x5D1FAEB2, 0x0B7C4963, 0xE6925A18, 0x83C0F47D
    .hword  BOOT_INFO, 4
    .word   0x00FF00FF, 0, 0, 0                 @ no partitions, an ordinary start
    .hword  0, 0

    .equ    XIP, 0x10000000
    .equ    SECTOR, 4096
@ Erases r1 bytes of the flash from offset r0 on, in whole sectors.
flash_range_erase:
    add     r0, #XIP
    add     r1, r0
    mov     r2, #BOOTROM
1:  cmp     r0, r1
    bhs     nothing
    str     r0, [r2]
    add     r0, #SECTOR
    b       1b

@ Programs r2 bytes from r1 to the flash from offset r0 on, in whole words.
flash_range_program:
    add     r0, #XIP
    add     r2, r0
    mov     r12, #BOOTROM
    movs    r3, #1
    str     r3, [r12, #4]
1:  cmp     r0, r2
    bhs     2f
    ldr     r3, [r1], #4
    str     r3, [r0], #4
    b       1b
2:  movs    r3, #0
    str     r3, [r12, #4]
    bx      lr

@ Functions that have nothing to do in the simulator.
nothing:
    bx      lr

flash_op:
    movs    r1, #12
    b       1f
otp_access:
    movs    r1, #16
1:  mvn     r0, #~NOT_PERMITTED
2:  mov     r2, #BOOTROM
    str     r0, [r2, r1]
    bx      lr

partition_table:
    movs    r1, #20
    mvn     r0, #~PRECONDITION_NOT_MET
    b       2b

@ Where the chip would restart: a breakpoint ends the run.
stop:
    bkpt    #0
    b       stop

    .pool

    .macro  entry code, flags, value
    .ascii  "\code"
    .hword  \flags, \value
    .endm

    .balign 4
table:
    entry   SR, ARM_SECURE, nothing + 1
    entry   IF, ARM_SECURE, nothing + 1
    entry   EX, ARM_SECURE, nothing + 1
    entry   RE, ARM_SECURE, flash_range_erase + 1
    entry   RP, ARM_SECURE, flash_range_program + 1
    entry   FC, ARM_SECURE, nothing + 1
    entry   CX, ARM_SECURE, nothing + 1
    entry   XM, ARM_SECURE, nothing + 1
    entry   RA, ARM_SECURE, nothing + 1
    entry   FA, ARM_BOTH, nothing + 1
    entry   FO, ARM_BOTH, flash_op + 1
    entry   OA, ARM_BOTH, otp_access + 1
    entry   GS, ARM_BOTH, system_info + 1
    entry   GP, ARM_BOTH, partition_table + 1
    entry   LP, ARM_SECURE, partition_table + 1
    entry   RB, ARM_BOTH, stop + 1
    entry   GR, DATA, revision
    .hword  0

    .balign 4
revision:
    .asciz  "rtm"
