//! What rtmark's Rust images share: the soc, its interrupts, where failures end, the items that
//! queues carry, and the work of `workload.prime.*` and `tm.basic`.
//!
//! It takes the place that a HAL and a chip's own crate have in an application. There is no
//! real HAL, because the scenarios use nothing of a chip but its core, and run on any. For the
//! cores that are no Cortex-M, it also knows how they start, tick and are interrupted. It
//! knows no kernel: how tasks are written, and what runs them, is each kernel's own.

#![no_std]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(cortex_r)]
mod cortex_r;
mod counter;
#[cfg(any(cortex_m, cortex_r))]
pub mod device;
mod failure;
mod item;
#[cfg(any(cortex_m, cortex_r))]
pub mod load;
pub mod prime;
mod registers;
#[cfg(target_arch = "riscv32")]
mod riscv;
#[cfg(any(cortex_m, cortex_r))]
pub mod rounds;
pub mod soc;
pub mod tm;

#[cfg(cortex_m)]
use cortex_m::peripheral::NVIC;

#[cfg(cortex_r)]
pub use cortex_r::{Timer, barrier, lower, nest, pend, start_interrupts, unmask};
pub use counter::Counter;
#[cfg(any(cortex_m, cortex_r))]
pub use device::Interrupt;
#[cfg(any(cortex_m, cortex_r))]
pub use device::TimerInterrupt;
pub use item::{Item, Odd};
pub use registers::in_registers;
#[cfg(target_arch = "riscv32")]
pub use riscv::{Timer, TimerInterrupt};

// What all crates of an image are compiled with.
rtmark_probe::setting!("fpu", cfg!(target_abi = "eabihf") as u32);
rtmark_probe::setting!("debug_assertions", cfg!(debug_assertions) as u32);

/// Sets the soc up, as a HAL does: wait states, caches, clocks. To be called first thing.
///
/// Only from `main` on, and not before RAM is initialised: until then Rust code must not run.
/// So `.bss` and `.data` are filled at the speed that the chip has after reset; whatever is
/// measured comes later.
pub fn start() {
    for &(register, value) in soc::INIT {
        // SAFETY: the soc file names registers of this soc, and what to write to them at start.
        unsafe { (register as *mut u32).write_volatile(value) };
    }
}

/// Gives an interrupt the next priority below the highest, which all have after reset.
#[cfg(cortex_m)]
pub fn lower(interrupt: Interrupt, nvic: &mut NVIC) {
    // SAFETY: no critical section relies on a priority; they mask all interrupts.
    unsafe { nvic.set_priority(interrupt, 1 << (8 - soc::PRIORITY_BITS)) };
}

/// Pends an interrupt.
#[cfg(cortex_m)]
#[inline(always)]
pub fn pend(interrupt: Interrupt) {
    NVIC::pend(interrupt);
}

/// Lets an interrupt happen.
#[cfg(cortex_m)]
pub fn unmask(interrupt: Interrupt) {
    // SAFETY: its handler is in the vector table, and no critical section relies on the mask.
    unsafe { NVIC::unmask(interrupt) };
}
