//! What Embassy's images share: the start, and the tick.

#![no_std]

mod time_driver;

use cortex_m::Peripherals;
use rtmark_board::Interrupt;
use rtmark_probe::scenario;

rtmark_probe::setting!("libgcc", cfg!(feature = "libgcc_on") as u32);

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    rtmark_board::start();
    // Tasks that preempt others run next to the highest priority, which devices have.
    rtmark_board::lower(Interrupt::RUN_HIGH, &mut core.NVIC);
    time_driver::start(&mut core.SYST);
    core
}
