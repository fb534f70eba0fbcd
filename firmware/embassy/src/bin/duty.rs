//! The mixed load for many hyperperiods.

#![no_std]
#![no_main]

#[path = "../mixed.rs"]
mod mixed;

use embassy_executor::Spawner;
use rtmark_board::{Counter, load};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

const HYPERPERIODS: u32 = 200;

#[embassy_executor::main]
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
