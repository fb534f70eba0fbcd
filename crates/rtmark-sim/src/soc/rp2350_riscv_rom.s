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
    .equ    CHIP_INFO, 1

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
    function FO, not_permitted
    function OA, not_permitted
    function GS, system_info
    function GP, not_set_up
    function LP, not_set_up
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

not_permitted:
    li      a0, NOT_PERMITTED
    ret

not_set_up:
    li      a0, PRECONDITION_NOT_MET
    ret

# Where the chip would restart: a breakpoint ends the run.
stop:
    ebreak
    j       stop

# Writes the information selected by flags (a2) to a buffer of a1 words at a0: for the chip, its package and a
# number, which is rtmark's own. Returns the number of words written.
system_info:
    andi    a2, a2, CHIP_INFO
    beqz    a2, 1f
    li      t0, 4
    bltu    a1, t0, 1f
    li      t1, CHIP_INFO
    sw      t1, 0(a0)
    li      t1, 1               # QFN-60
    sw      t1, 4(a0)
    li      t1, 0x3033510D
    sw      t1, 8(a0)
    li      t1, 0x39363434
    sw      t1, 12(a0)
    mv      a0, t0
    ret
1:  beqz    a1, nothing
    sw      zero, 0(a0)
    li      a0, 1
    ret

# Registers of rtmark's own (the soc file's BOOTROM): an address written to the first erases its sector, a one in the
# second lets stores program the flash.
    .equ    XIP, 0x10000000
    .equ    SECTOR, 4096
    .equ    BOOTROM, 0x1A000000

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
