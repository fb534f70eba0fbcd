//! The mixed load for many hyperperiods.

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
use rtmark_board::{Counter, load};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

const HYPERPERIODS: u32 = 200;

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    scenarios! {
        "duty.jitter" => mixed::start(spawner),
        "duty.awake" => mixed::start(spawner),
    }
}

/// The jobs of fast that are left in the hyperperiod.
static JOBS_LEFT: Counter = Counter::new();

begin_at_pend!("duty.jitter", rtmark_embassy::EXCEPTION);

/// First thing in each job of fast.
#[inline(always)]
fn fast_runs() {
    end!("duty.jitter");
    if JOBS_LEFT.get() == 0 {
        end!("duty.awake");
        begin!("duty.awake");
        JOBS_LEFT.set(load::FAST_JOBS);
    }
    JOBS_LEFT.set(JOBS_LEFT.get() - 1);
}
