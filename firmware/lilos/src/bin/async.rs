//! Futures put together: both, the first, or not for ever.

#![no_std]
#![no_main]

use core::cell::Cell;
use core::convert::Infallible;

use cortex_m_rt::entry;
use embassy_futures::join::join;
use embassy_futures::select::{Either, select};
use lilos::exec::Notify;
use lilos::time::{Millis, with_timeout};
use rtmark_lilos::run;
use rtmark_probe::scenario::{self, SAMPLES};
use rtmark_probe::{begin, end, scenarios};

#[entry]
fn main() -> ! {
    rtmark_lilos::init();
    let (one, other) = (Signal::default(), Signal::default());

    scenarios! {
        "async.join" => run!(both(&one, &other)),
        "async.select" => run!(first(&one, &other)),
        "async.timeout" => run!(limited(&one)),
    }
}

/// A value, and the notification that it is there.
#[derive(Default)]
struct Signal {
    value: Cell<Option<u32>>,
    changed: Notify,
}

impl Signal {
    fn set(&self, value: u32) {
        self.value.set(Some(value));
        self.changed.notify();
    }

    async fn wait(&self) -> u32 {
        self.changed.until(|| self.value.take()).await
    }
}

async fn both(one: &Signal, other: &Signal) -> Infallible {
    for sample in 0..SAMPLES {
        one.set(sample);
        other.set(1);

        begin!("async.join");
        let (one, other) = join(one.wait(), other.wait()).await;
        end!("async.join");

        scenario::expect("sum of the signals", one + other, sample + 1);
    }
    scenario::ok();
}

async fn first(one: &Signal, other: &Signal) -> Infallible {
    for sample in 0..SAMPLES {
        other.set(sample);

        begin!("async.select");
        let found = select(one.wait(), other.wait()).await;
        end!("async.select");

        match found {
            Either::First(_) => scenario::fail("the signal came that nobody gave"),
            Either::Second(found) => scenario::expect("signal", found, sample),
        }
    }
    scenario::ok();
}

async fn limited(one: &Signal) -> Infallible {
    for sample in 0..SAMPLES {
        one.set(sample);

        begin!("async.timeout");
        let found = with_timeout(Millis(1000), one.wait()).await;
        end!("async.timeout");

        scenario::expect("signal", found.unwrap_or(u32::MAX), sample);
    }
    scenario::ok();
}
