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

systick_monotonic!(Mono, 1_000);

/// Sets the soc up and starts the tick. To be called once, first thing in `init`.
pub fn start(systick: SYST) {
    rtmark_board::start();
    Mono::start(systick, soc::CLOCK_HZ);
}
