//! From reset to the first task.

#![no_std]
#![no_main]

use core::convert::Infallible;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_rt::entry;
use lilos::time::{Millis, TickTime, sleep_for};
use rtmark_lilos::run;
use rtmark_probe::{begin_at_reset, end, scenario, scenarios};

/// What startup code has to bring about before anything runs.
static INITIALISED: AtomicU32 = AtomicU32::new(0x600D_DA7A);
static CLEARED: AtomicU32 = AtomicU32::new(0);

begin_at_reset!("boot.first_task");

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    run!(first())
}

async fn first() -> Infallible {
    end!("boot.first_task");

    scenarios! {
        "boot.first_task" => check().await,
    }
}

/// The compiler must not know it.
fn value_of(variable: &AtomicU32) -> u32 {
    core::hint::black_box(variable).load(Ordering::Relaxed)
}

async fn check() -> Infallible {
    scenario::expect("initialised variable", value_of(&INITIALISED), 0x600D_DA7A);
    scenario::expect("cleared variable", value_of(&CLEARED), 0);
    sleep_for(Millis(2)).await;
    scenario::expect("ticks", u64::from(TickTime::now()) as u32, 2);
    scenario::ok();
}
