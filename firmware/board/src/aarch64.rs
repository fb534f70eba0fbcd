//! An AArch64 core in EL1, without MMU and caches: from reset to `main`, the end of exceptions,
//! and critical sections. The linker script is that of the images in C.

use core::arch::{asm, global_asm};

use rtmark_probe::scenario;

// The sixteen entries of the table of exceptions (DDI 0487, D1.10.2) are all the same: the images
// have no interrupts.
global_asm!(
    ".pushsection .vectors, \"ax\", %progbits",
    ".globl Reset_Handler",
    "Reset_Handler:",
    "   ldr  x0, =rtmark_vectors",
    "   msr  vbar_el1, x0",
    "   ldr  x0, =firmware_stack_top",
    "   mov  sp, x0",
    "   ldr  x0, =firmware_data_load",
    "   ldr  x1, =firmware_data_start",
    "   ldr  x2, =firmware_data_end",
    "1: cmp  x1, x2",
    "   b.hs 2f",
    "   ldr  w3, [x0], #4",
    "   str  w3, [x1], #4",
    "   b    1b",
    "2: ldr  x1, =firmware_bss_start",
    "   ldr  x2, =firmware_bss_end",
    "3: cmp  x1, x2",
    "   b.hs 4f",
    "   str  wzr, [x1], #4",
    "   b    3b",
    "4: bl   main",
    "   b    .",
    ".ltorg",
    ".balign 2048",
    "rtmark_vectors:",
    ".rept 16",
    ".balign 128",
    "   b    rtmark_unexpected_exception",
    ".endr",
    ".popsection",
);

#[unsafe(no_mangle)]
extern "C" fn rtmark_unexpected_exception() -> ! {
    let place: u64;
    // SAFETY: it only reads where the exception came from.
    unsafe {
        asm!("mrs {}, elr_el1", out(reg) place, options(nomem, nostack, preserves_flags));
    }
    scenario::fail_at("unexpected exception", place as u32);
}

struct Masking;
critical_section::set_impl!(Masking);

// SAFETY: there is one core, and nothing but interrupts can come between.
unsafe impl critical_section::Impl for Masking {
    unsafe fn acquire() -> bool {
        let before: u64;
        // SAFETY: it masks IRQ and FIQ, which `release` takes back.
        unsafe { asm!("mrs {}, daif", "msr daifset, #3", out(reg) before, options(nostack)) };
        before & 1 << 7 == 0
    }

    unsafe fn release(was_open: bool) {
        if was_open {
            // SAFETY: interrupts were not masked before.
            unsafe { asm!("msr daifclr, #3", options(nostack)) };
        }
    }
}
