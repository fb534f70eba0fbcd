//! The mixed load for many hyperperiods.

#![no_std]
#![no_main]

#[path = "../mixed.rs"]
mod mixed;

use rtmark_board::{Counter, load};
use rtmark_probe::{begin, begin_at_pend, end, scenarios};

const HYPERPERIODS: u32 = 200;

fn choose(start: fn()) {
    scenarios! {
        "duty.jitter" => start(),
        "duty.awake" => start(),
    }
}

/// The jobs of fast that are left in the hyperperiod.
static JOBS_LEFT: Counter = Counter::new();

begin_at_pend!("duty.jitter", rtmark_rtic::EXCEPTION);

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
