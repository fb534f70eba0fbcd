//! Futures put together: both, the first, or not for ever.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use embassy_futures::join::join;
    use embassy_futures::select::{Either, select};
    use rtic_sync::signal::Signal;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};
    use rtmark_rtic::prelude::*;
    use rtmark_rtic::{Mono, millis};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = low::spawn();
        (Shared {}, Local {})
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "async.join" => both().await,
            "async.select" => first().await,
            "async.timeout" => limited().await,
        }
    }

    static ONE: Signal<u32> = Signal::new();
    static OTHER: Signal<u32> = Signal::new();

    async fn both() {
        let (mut give_one, mut one) = ONE.split();
        let (mut give_other, mut other) = OTHER.split();
        for sample in 0..SAMPLES {
            give_one.write(sample);
            give_other.write(1);

            begin!("async.join");
            let (one, other) = join(one.wait(), other.wait()).await;
            end!("async.join");

            scenario::expect("sum of the signals", one + other, sample + 1);
        }
        scenario::ok();
    }

    async fn first() {
        let mut one = ONE.take_reader();
        let (mut give_other, mut other) = OTHER.split();
        for sample in 0..SAMPLES {
            give_other.write(sample);

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

    async fn limited() {
        let (mut give, mut one) = ONE.split();
        for sample in 0..SAMPLES {
            give.write(sample);

            begin!("async.timeout");
            let found = Mono::timeout_after(millis(1000), one.wait()).await;
            end!("async.timeout");

            scenario::expect("signal", found.unwrap_or(u32::MAX), sample);
        }
        scenario::ok();
    }
}
