//! What Embassy's images share: the start, and what counts time.

#![no_std]

#[cfg(feature = "timer")]
#[path = "alarms.rs"]
mod time_driver;
#[cfg(not(any(feature = "timer", target_arch = "aarch64")))]
mod time_driver;

#[cfg(cortex_m)]
use cortex_m::Peripherals;
use embassy_time::{Duration, Instant};
#[cfg(cortex_m)]
use rtmark_board::Interrupt;
use rtmark_probe::scenario;

#[cfg(not(target_arch = "aarch64"))]
pub use time_driver::EXCEPTION;

/// On a core whose images do not tell the time.
#[cfg(target_arch = "aarch64")]
pub const EXCEPTION: u16 = 15;

/// Ends the run unless it is the moment at which something was due, or less than a millisecond
/// later.
pub fn expect_on_time(due: Instant) {
    let late = Instant::now().as_ticks().wrapping_sub(due.as_ticks());
    let millisecond = Duration::from_millis(1).as_ticks();
    scenario::expect("milliseconds late", u32::from(late >= millisecond), 0);
}

rtmark_probe::setting!("libgcc", cfg!(feature = "libgcc_on") as u32);

/// Sets the soc up and starts what counts time. To be called once, first thing in `main`.
#[cfg(cortex_m)]
pub fn init() -> Peripherals {
    let Some(mut core) = Peripherals::take() else {
        scenario::fail("init() was called twice");
    };
    rtmark_board::start();
    // Tasks that preempt others run next to the highest priority, which devices have.
    rtmark_board::lower(Interrupt::RUN_HIGH, &mut core.NVIC);
    #[cfg(feature = "timer")]
    time_driver::start();
    #[cfg(not(feature = "timer"))]
    time_driver::start(&mut core.SYST);
    core
}

/// Sets the core up and starts what counts time. To be called once, first thing in `main`.
#[cfg(target_arch = "riscv32")]
pub fn init() {
    rtmark_board::start();
    time_driver::start();
}

/// Has SysTick tick as the mixed load does.
#[cfg(all(cortex_m, not(feature = "timer")))]
pub fn start_ticks_for_load(systick: &mut cortex_m::peripheral::SYST) {
    rtmark_board::load::start_ticks(systick);
}

/// Has the tick's timer tick as the mixed load does.
#[cfg(all(cortex_r, not(feature = "timer")))]
pub fn start_ticks_for_load() {
    rtmark_board::Timer::start(rtmark_board::load::TICK_CYCLES);
}

/// Nothing ticks.
#[cfg(all(cortex_r, feature = "timer"))]
pub fn start_ticks_for_load() {}

/// Nothing ticks.
#[cfg(all(cortex_m, feature = "timer"))]
pub fn start_ticks_for_load(_: &mut cortex_m::peripheral::SYST) {}

/// So many of the mixed load's ticks, each of so many cycles: SysTick's, once it has been set to
/// them.
#[cfg(not(feature = "timer"))]
pub fn load_ticks(count: u32, _: u32) -> Duration {
    Duration::from_ticks(count.into())
}

/// So many of the mixed load's ticks, each of so many cycles, in whole ticks of the timer.
#[cfg(feature = "timer")]
pub fn load_ticks(count: u32, cycles: u32) -> Duration {
    let tick = rtmark_board::soc::CLOCK_HZ / embassy_time::TICK_HZ as u32;
    Duration::from_ticks((count * cycles.div_ceil(tick)).into())
}

/// Sets the core up and, on a chip, starts what counts time: QEMU's machine has no interrupts. To be called
/// once, first thing in `main`.
#[cfg(cortex_r)]
pub fn init() {
    rtmark_board::start();
    if rtmark_board::soc::INTERRUPTS > 0 {
        time_driver::start();
        rtmark_board::start_interrupts();
    }
}

/// Sets the core up, which has no tick. To be called once, first thing in `main`.
#[cfg(target_arch = "aarch64")]
pub fn init() {
    rtmark_board::start();
}

/// Ends the run: what it is about wants an executor in an interrupt, which embassy-executor has
/// for Cortex-M only. `kernel.toml` says so of the scenarios, so that nobody comes here.
#[cfg(not(cortex_m))]
pub fn no_executor_above() -> ! {
    scenario::fail("no executor above the thread's on this core");
}
