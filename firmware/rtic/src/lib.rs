//! What RTIC's images share: the monotonic.
//!
//! In each image a task `low` chooses the scenario and drives it; `second` has the same
//! priority, `high` a higher one. One task of each, however many scenarios: the dispatcher of
//! a priority looks at all its tasks each time, and the others' would cost time.

#![no_std]

mod group;

use cortex_m::peripheral::SYST;
use rtic_monotonics::TimerQueueBasedMonotonic;
use rtmark_board::soc;
use rtmark_probe::scenario;

pub use group::{Group, MOST};

/// What the monotonic's users import.
#[cfg(feature = "nrf52840")]
pub use rtic_monotonics::nrf::rtc::prelude;
/// What the monotonic's users import.
#[cfg(feature = "rp2350")]
pub use rtic_monotonics::rp235x::prelude;
/// What the monotonic's users import.
#[cfg(feature = "rp2040")]
pub use rtic_monotonics::rp2040::prelude;
/// What the monotonic's users import.
#[cfg(feature = "stm32")]
pub use rtic_monotonics::stm32::prelude;
/// What the monotonic's users import.
#[cfg(not(feature = "timer"))]
pub use rtic_monotonics::systick::prelude;

use prelude::*;

/// The monotonic that ticks, as often as the package's features say.
#[cfg(not(feature = "timer"))]
macro_rules! tick {
    ($($feature:literal: $hz:literal),+) => {$(
        #[cfg(feature = $feature)]
        systick_monotonic!(Mono, $hz);
        #[cfg(feature = $feature)]
        rtmark_probe::setting!("tick_hz", $hz);
        #[cfg(feature = $feature)]
        const TICK_HZ: u32 = $hz;
    )+};
}

#[cfg(not(feature = "timer"))]
tick!("tick_hz_100": 100, "tick_hz_1000": 1_000, "tick_hz_10000": 10_000);

/// The exception in which the monotonic wakes what waits.
#[cfg(not(feature = "timer"))]
pub const EXCEPTION: u16 = 15;

#[cfg(feature = "tim2")]
stm32_tim2_monotonic!(Mono, 1_000_000);
#[cfg(feature = "tim3")]
stm32_tim3_monotonic!(Mono, 1_000_000);
#[cfg(feature = "rp2040")]
rp2040_timer_monotonic!(Mono);
#[cfg(feature = "rp2350")]
rp235x_timer_monotonic!(Mono);
#[cfg(feature = "nrf52840")]
nrf_rtc1_monotonic!(Mono);

/// How often the monotonic counts in a second.
#[cfg(feature = "timer")]
const HERTZ: u32 = match soc::TIMER {
    Some(timer) => timer.hertz,
    None => panic!("the soc file names no time base"),
};

#[cfg(feature = "timer")]
rtmark_probe::setting!("tick_hz", 0);

/// The exception in which the monotonic wakes what waits.
#[cfg(feature = "timer")]
pub const EXCEPTION: u16 = match soc::TIMER {
    Some(timer) => rtmark_board::TimerInterrupt::of(timer).exception(),
    None => panic!("the soc file names no time base"),
};

/// A moment.
pub type Instant = <Mono as TimerQueueBasedMonotonic>::Instant;

/// A time between two moments.
pub type Duration = <Mono as TimerQueueBasedMonotonic>::Duration;

/// So many milliseconds, or as little more as the monotonic can tell.
pub fn millis(count: u32) -> Duration {
    Duration::from_millis_at_least(count.into())
}

/// Ends the run unless it is this moment, or less than a millisecond (where a tick is longer, than a tick) later.
pub fn expect_on_time(due: Instant) {
    let now = Mono::now();
    let on_time = now >= due && now - due < millis(1);
    scenario::expect("on time", u32::from(on_time), 1);
}

/// Sets the soc up and starts the monotonic. To be called once, first thing in `init`.
#[cfg(not(feature = "timer"))]
pub fn start(systick: SYST) {
    rtmark_board::start();
    Mono::start(systick, soc::CLOCK_HZ);
}

/// Sets the soc up and starts the monotonic. To be called once, first thing in `init`.
#[cfg(feature = "stm32")]
pub fn start(_: SYST) {
    rtmark_board::start();
    Mono::start(soc::CLOCK_HZ, Priority::rtic_default());
}

/// Sets the soc up and starts the monotonic. To be called once, first thing in `init`.
///
/// The tick that the timer counts is taken to run, as the core's clock is: a HAL's clocks see to both.
#[cfg(feature = "rp2040")]
pub fn start(_: SYST) {
    rtmark_board::start();
    // SAFETY: nobody else has them.
    let chip = unsafe { rp2040_pac::Peripherals::steal() };
    Mono::start(chip.TIMER, &chip.RESETS, Priority::rtic_default());
}

/// Sets the soc up and starts the monotonic. To be called once, first thing in `init`.
///
/// The tick that the timer counts is taken to run, as the core's clock is: a HAL's clocks see to both.
#[cfg(feature = "rp2350")]
pub fn start(_: SYST) {
    rtmark_board::start();
    // SAFETY: nobody else has them.
    let chip = unsafe { rp235x_pac::Peripherals::steal() };
    Mono::start(chip.TIMER0, &chip.RESETS, Priority::rtic_default());
}

/// Sets the soc up and starts the monotonic. To be called once, first thing in `init`.
#[cfg(feature = "nrf52840")]
pub fn start(_: SYST) {
    rtmark_board::start();
    // SAFETY: nobody else has them.
    let chip = unsafe { nrf52840_pac::Peripherals::steal() };
    // SAFETY: any value starts the task.
    chip.CLOCK.tasks_lfclkstart.write(|w| unsafe { w.bits(1) });
    while chip.CLOCK.events_lfclkstarted.read().bits() == 0 {}
    Mono::start(chip.RTC1, Priority::rtic_default());
}

/// As [`start`], for the mixed load: ticks are of so many cycles, by a clock that would make them
/// as long as the features say.
#[cfg(not(feature = "timer"))]
pub fn start_for_load(systick: SYST, cycles: u32) {
    rtmark_board::start();
    Mono::start(systick, cycles * TICK_HZ);
}

/// As [`start`], for the mixed load: nothing ticks.
#[cfg(feature = "timer")]
pub fn start_for_load(systick: SYST, _: u32) {
    start(systick);
}

/// So many of the load's ticks, each of so many cycles.
#[cfg(not(feature = "timer"))]
pub fn load_ticks(count: u32, _: u32) -> Duration {
    Duration::from_ticks(count)
}

/// So many of the load's ticks, each of so many cycles, in whole counts of the monotonic.
#[cfg(feature = "timer")]
pub fn load_ticks(count: u32, cycles: u32) -> Duration {
    Duration::from_ticks((count * cycles.div_ceil(soc::CLOCK_HZ / HERTZ)).into())
}
