//! What Embassy's images share: the soc, the tick, and what happens when all goes wrong.
//!
//! It takes the place that a HAL has in an application: [`init`] sets the chip up, and the
//! time driver counts. There is no HAL, because the scenarios use nothing of a chip but its
//! core, and run on any.

#![no_std]

mod counter;
pub mod device;
mod failure;
mod soc;
mod time_driver;

pub use counter::Counter;

use cortex_m::Peripherals;
use cortex_m::peripheral::NVIC;
use rtmark_probe::scenario;

use device::Interrupt;

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
///
/// Only here, as in HALs for Embassy, and not before RAM is initialised: until then Rust code
/// must not run. So `.bss` and `.data` are filled at the speed that the chip has after reset;
/// whatever is measured comes later.
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    for &(register, value) in soc::INIT {
        // SAFETY: the soc file names registers of this soc, and what to write to them at start.
        unsafe { (register as *mut u32).write_volatile(value) };
    }
    // SAFETY: no critical section relies on a priority; they mask all interrupts.
    unsafe { core.NVIC.set_priority(Interrupt::EXECUTOR, BELOW_DEVICES) };
    time_driver::start(&mut core.SYST);
    core
}

/// The priority of tasks that preempt others: next to the highest, which devices have that
/// interrupt them, as they all do after reset.
const BELOW_DEVICES: u8 = 1 << (8 - soc::PRIORITY_BITS);

/// Lets an interrupt happen.
pub fn unmask(interrupt: Interrupt) {
    // SAFETY: its handler is in the vector table, and no critical section relies on the mask.
    unsafe { NVIC::unmask(interrupt) };
}
