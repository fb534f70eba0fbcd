//! The mixed load, once.

#![no_std]
#![no_main]

#[path = "../mixed.rs"]
mod mixed;

use embassy_executor::Spawner;
use rtmark_probe::scenarios;

const HYPERPERIODS: u32 = 1;

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    scenarios! {
        "load.mixed" => mixed::start(spawner),
    }
}

/// First thing in each job of fast.
const fn fast_runs() {}
