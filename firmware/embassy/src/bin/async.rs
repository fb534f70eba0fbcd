//! Futures put together: both, the first, or not for ever.

#![no_std]
#![no_main]

use embassy_executor::Spawner;
use embassy_futures::join::join;
use embassy_futures::select::{Either, select};
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, with_timeout};
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[cfg_attr(not(own_start), embassy_executor::main)]
#[cfg_attr(own_start, embassy_executor::main(entry = "unsafe(no_mangle)"))]
async fn main(spawner: Spawner) {
    rtmark_embassy::init();

    scenarios! {
        "async.join" => spawner.spawn(both().unwrap()),
        "async.select" => spawner.spawn(first().unwrap()),
        "async.timeout" => spawner.spawn(limited().unwrap()),
    }
}

static ONE: Signal<CriticalSectionRawMutex, u32> = Signal::new();
static OTHER: Signal<CriticalSectionRawMutex, u32> = Signal::new();

#[embassy_executor::task]
async fn both() {
    for sample in 0..SAMPLES {
        ONE.signal(sample);
        OTHER.signal(1);

        begin!("async.join");
        let (one, other) = join(ONE.wait(), OTHER.wait()).await;
        end!("async.join");

        scenario::expect("sum of the signals", one + other, sample + 1);
    }
    scenario::ok();
}

#[embassy_executor::task]
async fn first() {
    for sample in 0..SAMPLES {
        OTHER.signal(sample);

        begin!("async.select");
        let found = select(ONE.wait(), OTHER.wait()).await;
        end!("async.select");

        match found {
            Either::First(_) => scenario::fail("the signal came that nobody gave"),
            Either::Second(found) => scenario::expect("signal", found, sample),
        }
    }
    scenario::ok();
}

#[embassy_executor::task]
async fn limited() {
    for sample in 0..SAMPLES {
        ONE.signal(sample);

        begin!("async.timeout");
        let found = with_timeout(Duration::from_secs(1), ONE.wait()).await;
        end!("async.timeout");

        scenario::expect("signal", found.unwrap_or(u32::MAX), sample);
    }
    scenario::ok();
}
