//! A Cortex-R5 of QEMU's, which no interrupt reaches: from reset to `main`, and the end of
//! exceptions. Critical sections are aarch32-cpu's. The linker script is that of the images in C.

use core::arch::global_asm;

use rtmark_probe::scenario;

// The core starts with its vectors at 0xFFFF_0000. They go to address 0, where it has memory of
// its own, and SCTLR.V is cleared so that they are taken from there (DDI 0406, B4.1.130). All is
// in System mode; an exception has Supervisor mode's stack only to tell of it.
global_asm!(
    ".pushsection .vectors, \"ax\", %progbits",
    ".arm",
    ".globl Reset_Handler",
    "Reset_Handler:",
    "   cpsid if",
    "   mrc  p15, 0, r0, c1, c0, 0",
    "   bic  r0, r0, #(1 << 13)",
    "   mcr  p15, 0, r0, c1, c0, 0",
    "   isb",
    "   adr  r0, rtmark_vectors",
    "   mov  r1, #0",
    "1: ldr  r2, [r0], #4",
    "   str  r2, [r1], #4",
    "   cmp  r1, #64",
    "   bne  1b",
    "   ldr  r0, =firmware_stack_top",
    "   cps  #0x13",
    "   mov  sp, r0",
    "   sub  r0, r0, #0x1000",
    "   cps  #0x1f",
    "   mov  sp, r0",
    "   ldr  r0, =firmware_data_load",
    "   ldr  r1, =firmware_data_start",
    "   ldr  r2, =firmware_data_end",
    "2: cmp  r1, r2",
    "   ldrlo r3, [r0], #4",
    "   strlo r3, [r1], #4",
    "   blo  2b",
    "   ldr  r1, =firmware_bss_start",
    "   ldr  r2, =firmware_bss_end",
    "   mov  r3, #0",
    "3: cmp  r1, r2",
    "   strlo r3, [r1], #4",
    "   blo  3b",
    "   bl   main",
    "   b    .",
    ".ltorg",
    "rtmark_vectors:",
    ".rept 8",
    "   ldr  pc, [pc, #24]",
    ".endr",
    ".rept 8",
    "   .4byte rtmark_exception",
    ".endr",
    "rtmark_exception:",
    "   mov  r0, lr",
    "   cps  #0x13",
    "   b    rtmark_unexpected_exception",
    ".popsection",
);

#[unsafe(no_mangle)]
extern "C" fn rtmark_unexpected_exception(place: u32) -> ! {
    scenario::fail_at("unexpected exception before", place);
}
