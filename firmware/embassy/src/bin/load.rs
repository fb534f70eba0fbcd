//! The mixed load, once.

#![no_std]
#![no_main]
#![cfg_attr(
    cortex_r,
    expect(
        non_snake_case,
        clippy::no_mangle_with_rust_abi,
        reason = "handlers have their interrupts' names, and are called from Rust"
    )
)]

#[path = "../mixed.rs"]
mod mixed;

use embassy_executor::Spawner;
use rtmark_probe::scenarios;

const HYPERPERIODS: u32 = 1;

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    scenarios! {
        "load.mixed" => mixed::start(spawner),
    }
}

/// First thing in each job of fast.
const fn fast_runs() {}
