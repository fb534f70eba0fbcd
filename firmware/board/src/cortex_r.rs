//! A Cortex-R5: from reset to `main`, and the end of exceptions. On a chip, which has an interrupt controller,
//! also its caches and its interrupts. Critical sections are aarch32-cpu's. The linker script is that of
//! the images in C.

use core::arch::global_asm;

use rtmark_probe::scenario;

use crate::soc;

mod interrupts;
mod timer;

pub(crate) use interrupts::unmask_number;
pub use interrupts::{barrier, lower, nest, pend, start_interrupts, unmask};
pub use timer::Timer;

// The core starts with its vectors at 0xFFFF_0000. They go to address 0, where it has memory of
// its own, and SCTLR.V is cleared so that they are taken from there (DDI 0406, B4.1.130). All is
// in System mode: an exception has Supervisor mode's stack only to tell of it, and a handler runs
// on the stack of what it interrupts.
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
    ".if {chip}",
    "   bl   rtmark_prepare_memory",
    ".endif",
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
    "   .4byte rtmark_exception, rtmark_exception, rtmark_exception, rtmark_exception",
    "   .4byte rtmark_exception, rtmark_exception, rtmark_interrupt, rtmark_exception",
    "rtmark_exception:",
    "   mov  r0, lr",
    "   cps  #0x13",
    "   b    rtmark_unexpected_exception",
    ".popsection",
    chip = const (soc::INTERRUPTS > 0) as u32,
);

rtmark_probe::setting!("branch_prediction", cfg!(branch_prediction) as u32);

// Caches and protection as `firmware/c/startup_r5.c` sets them up, which says where that is from: DDR and
// tightly coupled memories are write-back, registers are a device, and branches are predicted only where the
// setting asks for it. ACTLR: bit 17 switches the return stack off, 16 says that no branch is taken, 15 that
// all are. SCTLR: protection, data cache, instruction cache, the usual memory where no region is.
global_asm!(
    ".pushsection .text.rtmark_prepare_memory, \"ax\", %progbits",
    ".arm",
    "rtmark_prepare_memory:",
    "   mrc  p15, 0, r0, c1, c0, 1",
    "   bic  r0, r0, #(7 << 15)",
    ".if {predicted} == 0",
    "   orr  r0, r0, #(6 << 15)",
    ".endif",
    "   mcr  p15, 0, r0, c1, c0, 1",
    "   adr  r0, 2f",
    "   mov  r1, #0",
    // For each region its base, its size as the register has it, and its attributes.
    "1: mcr  p15, 0, r1, c6, c2, 0",
    "   ldr  r2, [r0], #4",
    "   mcr  p15, 0, r2, c6, c1, 0",
    "   ldr  r2, [r0], #4",
    "   mcr  p15, 0, r2, c6, c1, 2",
    "   ldr  r2, [r0], #4",
    "   mcr  p15, 0, r2, c6, c1, 4",
    "   add  r1, r1, #1",
    "   cmp  r1, #3",
    "   bne  1b",
    "   mov  r1, #0",
    "   dsb",
    "   mcr  p15, 0, r1, c7, c5, 0",
    "   mcr  p15, 0, r1, c15, c5, 0",
    "   isb",
    "   mrc  p15, 0, r0, c1, c0, 0",
    "   ldr  r2, =0x21005",
    "   orr  r0, r0, r2",
    "   dsb",
    "   mcr  p15, 0, r0, c1, c0, 0",
    "   isb",
    "   bx   lr",
    "2: .4byte 0x00000000, (31 - 1) << 1 | 1, 0x30B",
    "   .4byte 0xF9000000, (20 - 1) << 1 | 1, 0x310",
    "   .4byte 0xFF000000, (24 - 1) << 1 | 1, 0x310",
    ".ltorg",
    ".popsection",
    predicted = const cfg!(branch_prediction) as u32,
);

#[unsafe(no_mangle)]
extern "C" fn rtmark_unexpected_exception(place: u32) -> ! {
    scenario::fail_at("unexpected exception before", place);
}
