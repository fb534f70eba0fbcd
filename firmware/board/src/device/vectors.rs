//! The vector table of a Cortex-M, as far as it belongs to the chip.

use cortex_m::interrupt::InterruptNumber;

use super::handlers::{HANDLERS, Handler};
use super::{Interrupt, TimerInterrupt};
use crate::soc;

// SAFETY: the number is that of an interrupt which the soc has, and belongs to its timer for ever.
unsafe impl InterruptNumber for TimerInterrupt {
    fn number(self) -> u16 {
        self.0
    }
}

// SAFETY: each number is that of an interrupt which every Cortex-M has, and belongs to it for
// ever.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

/// The part of the vector table that comes after the core's own exceptions.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
pub static __INTERRUPTS: [Handler; soc::INTERRUPTS as usize] = HANDLERS;

// In a section of its own behind all else, so that nothing moves for its sake: see device.x.
core::arch::global_asm!(
    ".pushsection .injected, \"ax\", %progbits",
    ".globl rtmark_injected",
    ".type rtmark_injected, %function",
    ".thumb_func",
    "rtmark_injected: bx lr",
    ".size rtmark_injected, . - rtmark_injected",
    ".globl rtmark_injected_too",
    ".type rtmark_injected_too, %function",
    ".thumb_func",
    "rtmark_injected_too: bx lr",
    ".size rtmark_injected_too, . - rtmark_injected_too",
    ".popsection",
);
