# rtmark's substitute for RP2350's boot ROM as its RISC-V cores find it (datasheet, 5.4.1, 5.5 and 5.5.1).
#
# It has what rp2350_rom.s has for the Arm cores. On the chip most of it is Arm code that is emulated here; what
# that costs is not simulated. All of it was written for this file. Where it has LOOKUP and LOOKUP_ENTRY is said near the
# end of the ROM, which memory.rs adds.
#
# To change it: riscv64-unknown-elf-gcc -march=rv32imac_zicsr -mabi=ilp32 -nostdlib -Wl,-Ttext=0,-e0
# rp2350_riscv_rom.s -o rom.elf, then riscv64-unknown-elf-objcopy -O binary rom.elf rp2350_riscv_rom.bin; a test
# compares the two.

    .option norelax
    .text

# Where things are: an object file for RISC-V has no relocation for a halfword. The assembler first takes all jumps
# for long ones, which need more room.
    .equ    TABLE, 0x100
    .equ    REVISION, 0x1C0
    .equ    LOOKUP, 0x1C4
    .equ    LOOKUP_ENTRY, 0x1D0

    .equ    RISC_V, 0x1
    .equ    DATA, 0x40
    .equ    NOT_PERMITTED, -4
    .equ    PRECONDITION_NOT_MET, -14
    .equ    BUFFER_TOO_SMALL, -13
    .equ    CHIP_INFO, 0x1
    .equ    BOOT_RANDOM, 0x10
    .equ    BOOT_INFO, 0x40

# Registers of rtmark's own (the soc file's BOOTROM), as in rp2350_rom.s.
    .equ    BOOTROM, 0x1A000000

    .org    0x10
    .ascii  "Mu"                # magic, and the version of chip revision A2
    .byte   2, 2
    .hword  TABLE

    .macro  entry code, flags
    .ascii  "\code"
    .hword  \flags
    .endm
    .macro  function code, target
    entry   \code, RISC_V
    c.j     \target             # the entry's value, which is executed
    .endm

    .org    TABLE
    function SR, nothing
    function IF, nothing
    function EX, nothing
    function RE, flash_range_erase
    function RP, flash_range_program
    function FC, nothing
    function CX, nothing
    function XM, nothing
    function RA, nothing
    function FA, nothing
    function FO, flash_op
    function OA, otp_access
    function GS, system_info
    function GP, partition_table
    function LP, partition_table
    function RB, stop
    entry   GR, DATA
    .hword  REVISION
    .hword  0

    .org    REVISION
    .asciz  "rtm"

# Searches for an entry with a code (a0) and at least one of some flags (a1). Returns the entry's value, or 0.
    .org    LOOKUP
    li      t0, 1
    j       1f
# Searches as that does. Returns the address of the entry's value, or 0.
    .org    LOOKUP_ENTRY
    li      t0, 0
1:  li      t1, TABLE
2:  lhu     t2, 0(t1)
    beqz    t2, 4f
    bne     t2, a0, 3f
    lhu     t2, 2(t1)
    and     t2, t2, a1
    bnez    t2, 5f
3:  addi    t1, t1, 6
    j       2b
4:  li      a0, 0
    ret
5:  addi    a0, t1, 4
    beqz    t0, nothing
    lhu     a0, 0(a0)
# Functions that have nothing to do in the simulator.
nothing:
    ret

flash_op:
    li      a1, BOOTROM + 12
    j       1f
otp_access:
    li      a1, BOOTROM + 16
1:  li      a0, NOT_PERMITTED
2:  sw      a0, 0(a1)
    ret

partition_table:
    li      a1, BOOTROM + 20
    li      a0, PRECONDITION_NOT_MET
    j       2b

# Where the chip would restart: a breakpoint ends the run.
stop:
    ebreak
    j       stop

# Writes the information selected by flags (a2) to a buffer of a1 words at a0, as rp2350_rom.s does. Returns the number of
# words written.
system_info:
    li      t0, BOOTROM
    sw      a2, 8(t0)
    andi    a2, a2, CHIP_INFO | BOOT_RANDOM | BOOT_INFO
    lla     a3, answers
    addi    a4, a0, 4           # where the next word goes
    slli    a1, a1, 2
    add     a1, a1, a0          # the buffer's end
1:  lhu     t0, 0(a3)           # a flag, and its number of words
    lhu     t1, 2(a3)
    addi    a3, a3, 4
    beqz    t0, 4f
    and     t0, t0, a2
    bnez    t0, 3f
    slli    t1, t1, 2
    add     a3, a3, t1
    j       1b
2:  lw      t0, 0(a3)
    sw      t0, 0(a4)
    addi    a3, a3, 4
    addi    a4, a4, 4
    addi    t1, t1, -1
    beqz    t1, 1b
3:  bltu    a4, a1, 2b
    li      a0, BUFFER_TOO_SMALL
    ret
4:  bltu    a1, a4, 5f
    sw      a2, 0(a0)
    sub     a0, a4, a0
    srli    a0, a0, 2
    ret
5:  li      a0, BUFFER_TOO_SMALL
    ret

    .balign 4
answers:
    .hword  CHIP_INFO, 3
    .word   1, 0x3033510D, 0x39363434           # QFN-60
    .hword  BOOT_RANDOM, 4
    .word   0x5D1FAEB2, 0x0B7C4963, 0xE6925A18, 0x83C0F47D
    .hword  BOOT_INFO, 4
    .word   0x00FF00FF, 0, 0, 0                 # no partitions, an ordinary start
    .hword  0, 0

    .equ    XIP, 0x10000000
    .equ    SECTOR, 4096

# Erases a1 bytes of the flash from offset a0 on, in whole sectors.
flash_range_erase:
    li      t0, XIP
    add     a0, a0, t0
    add     a1, a1, a0
    li      t1, BOOTROM
    li      t2, SECTOR
1:  bgeu    a0, a1, nothing
    sw      a0, 0(t1)
    add     a0, a0, t2
    j       1b

# Programs a2 bytes from a1 to the flash from offset a0 on, in whole words.
flash_range_program:
    li      t0, XIP
    add     a0, a0, t0
    add     a2, a2, a0
    li      t1, BOOTROM
    li      t2, 1
    sw      t2, 4(t1)
1:  bgeu    a0, a2, 2f
    lw      t2, 0(a1)
    sw      t2, 0(a0)
    addi    a0, a0, 4
    addi    a1, a1, 4
    j       1b
2:  sw      zero, 4(t1)
    ret
