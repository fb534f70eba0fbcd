//! The mixed load, once.

#![no_std]
#![no_main]

#[path = "../mixed.rs"]
mod mixed;

use rtmark_probe::scenarios;

const HYPERPERIODS: u32 = 1;

fn choose(start: fn()) {
    scenarios! {
        "load.mixed" => start(),
    }
}

/// First thing in each job of fast.
const fn fast_runs() {}
