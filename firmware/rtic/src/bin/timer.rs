//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use rtic_monotonics::systick::prelude::*;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, end_at_return, scenarios};
    use rtmark_rtic::Mono;

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
            "timer.delay.1000ms" => delay().await,
            "timer.tick" => spin(),
        }
    }

    // timer.delay.1000ms

    const DELAYS: u32 = 4;

    async fn delay() {
        for _ in 0..DELAYS {
            let before = Mono::now();

            begin!("timer.delay.1000ms");
            Mono::delay(1000.millis()).await;
            end!("timer.delay.1000ms");

            // A monotonic never wakes early, whatever part of the current tick is over: hence
            // one tick more.
            let passed = (Mono::now() - before).as_millis();
            scenario::expect("milliseconds passed", passed, 1001);
        }
        scenario::ok();
    }

    // timer.tick: the tick finds nothing to do, and returns to the task that spins.

    begin_at_pend!("timer.tick", 15);
    end_at_return!("timer.tick", 15);

    fn spin() {
        while Mono::now().as_ticks() < SAMPLES {}
        scenario::ok();
    }
}
