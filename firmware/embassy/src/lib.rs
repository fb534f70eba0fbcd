//! What Embassy's images share: the start, and the tick.

#![no_std]

mod time_driver;

use cortex_m::Peripherals;
use rtmark_board::{Interrupt, soc};
use rtmark_probe::scenario;

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    rtmark_board::start();
    // SAFETY: no critical section relies on a priority; they mask all interrupts.
    unsafe { core.NVIC.set_priority(Interrupt::RUN_HIGH, BELOW_DEVICES) };
    time_driver::start(&mut core.SYST);
    core
}

/// The priority of tasks that preempt others: next to the highest, which devices have that
/// interrupt them, as they all do after reset.
const BELOW_DEVICES: u8 = 1 << (8 - soc::PRIORITY_BITS);
