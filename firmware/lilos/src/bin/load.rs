//! The mixed load, once.

#![no_std]
#![no_main]

#[path = "../mixed.rs"]
mod mixed;

use cortex_m_rt::entry;
use rtmark_probe::scenarios;

const HYPERPERIODS: u32 = 1;

#[entry]
fn main() -> ! {
    scenarios! {
        "load.mixed" => mixed::run(),
    }
}

/// First thing in each job of fast.
const fn fast_runs() {}
