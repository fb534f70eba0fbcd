//! What RTIC's images share: the monotonic.
//!
//! In each image a task `low` chooses the scenario and drives it; `second` has the same
//! priority, `high` a higher one. One task of each, however many scenarios: the dispatcher of
//! a priority looks at all its tasks each time, and the others' would cost time.

#![no_std]

mod group;

use cortex_m::peripheral::SYST;
use rtic_monotonics::systick::prelude::*;
use rtmark_board::soc;

pub use group::{Group, MOST};

/// The monotonic, with the tick that the package's features choose.
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

tick!("tick_hz_100": 100, "tick_hz_1000": 1_000, "tick_hz_10000": 10_000);

/// A number of ticks.
pub type Ticks = fugit::TimerDurationU32<{ TICK_HZ as u64 }>;

/// Sets the soc up and starts the tick. To be called once, first thing in `init`.
pub fn start(systick: SYST) {
    rtmark_board::start();
    Mono::start(systick, soc::CLOCK_HZ);
}

/// As [`start`], with ticks of so many cycles: of a clock that would make them as long as the
/// features say.
pub fn start_with_ticks_of(systick: SYST, cycles: u32) {
    rtmark_board::start();
    Mono::start(systick, cycles * TICK_HZ);
}
