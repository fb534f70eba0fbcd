//! The interrupts that the images use, by the names that handlers have.
//!
//! A chip's own crate (its "PAC") would say the same, with a name for each of its interrupts.
//! Both of these are pended by software; which devices they belong to does not matter.

use cortex_m::interrupt::InterruptNumber;

use crate::soc;

pub use self::Interrupt as interrupt;
pub use cortex_m_rt::interrupt;

/// External interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Interrupt {
    /// The interrupt that is measured: exception 16.
    BENCH = 0,
    /// The one that polls the tasks of an `InterruptExecutor`: exception 17.
    EXECUTOR = 1,
}

// SAFETY: each number is that of an interrupt which every Cortex-M has, and belongs to it for
// ever.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

type Handler = unsafe extern "C" fn();

unsafe extern "C" {
    fn BENCH();
    fn EXECUTOR();
    fn DefaultHandler();
}

/// The part of the vector table that comes after the core's own exceptions.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
pub static __INTERRUPTS: [Handler; soc::INTERRUPTS as usize] = {
    let mut handlers: [Handler; _] = [DefaultHandler; soc::INTERRUPTS as usize];
    handlers[Interrupt::BENCH as usize] = BENCH;
    handlers[Interrupt::EXECUTOR as usize] = EXECUTOR;
    handlers
};
