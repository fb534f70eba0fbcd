//! What Embassy's images share: the start, and the tick.

#![no_std]

#[cfg(not(own_start))]
mod time_driver;

#[cfg(cortex_m)]
use cortex_m::Peripherals;
#[cfg(cortex_m)]
use rtmark_board::Interrupt;
use rtmark_probe::scenario;

rtmark_probe::setting!("libgcc", cfg!(feature = "libgcc_on") as u32);

/// Sets the soc up and starts the tick. To be called once, first thing in `main`.
#[cfg(cortex_m)]
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

/// Sets the core up and starts the tick. To be called once, first thing in `main`.
#[cfg(target_arch = "riscv32")]
pub fn init() {
    rtmark_board::start();
    time_driver::start();
}

/// Sets the core up, which has no tick. To be called once, first thing in `main`.
#[cfg(own_start)]
pub fn init() {
    rtmark_board::start();
}

/// Ends the run: what it is about wants an executor in an interrupt, which embassy-executor has
/// for Cortex-M only. `kernel.toml` says so of the scenarios, so that nobody comes here.
#[cfg(not(cortex_m))]
pub fn no_executor_above() -> ! {
    scenario::fail("no executor above the thread's on this core");
}
