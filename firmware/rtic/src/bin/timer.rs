//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::make_channel;
    use rtmark_board::{Item, in_registers};
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, end_at_return, end_at_sleep, scenarios};
    use rtmark_rtic::prelude::*;
    use rtmark_rtic::{Duration, EXCEPTION, Mono, expect_on_time, millis};

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

    /// As RTIC's book has it for those who want to sleep; without it, the processor spins.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            rtic::export::wfi();
        }
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "timer.delay.1000ms" => delay().await,
            "timer.tick" => spin(),
            "timer.wake" => wake().await,
            "timer.period.10ms" => period().await,
            "timer.now" => now().await,
            "timer.jitter" => jitter(),
            "timer.idle" => asleep().await,
        }
    }

    // timer.delay.1000ms

    const DELAYS: u32 = 4;

    async fn delay() {
        for _ in 0..DELAYS {
            let before = Mono::now();

            begin!("timer.delay.1000ms");
            Mono::delay(millis(1000)).await;
            end!("timer.delay.1000ms");

            // A monotonic never wakes early, whatever part of the current tick is over: hence
            // up to one tick more.
            let passed = Mono::now() - before;
            let as_long = passed > millis(1000) && passed <= millis(1001);
            scenario::expect("a second passed", u32::from(as_long), 1);
        }
        scenario::ok();
    }

    // timer.tick, where there is one: the tick finds nothing to do, and returns to the task that spins.

    begin_at_pend!("timer.tick", 15);
    end_at_return!("timer.tick", 15);

    fn spin() {
        while Mono::now().as_ticks() < SAMPLES.into() {}
        scenario::ok();
    }

    // timer.wake

    begin_at_pend!("timer.wake", EXCEPTION);

    async fn wake() {
        let mut next = Mono::now();
        for _ in 0..=SAMPLES {
            next += millis(1);
            Mono::delay_until(next).await;
            end!("timer.wake");
            expect_on_time(next);
        }
        scenario::ok();
    }

    // timer.period.10ms

    async fn period() {
        let mut next = Mono::now();
        for _ in 0..SAMPLES {
            next += millis(10);
            Mono::delay_until(next).await;
            end!("timer.period.10ms");
            begin!("timer.period.10ms");
            expect_on_time(next);
        }
        scenario::ok();
    }

    // timer.now

    async fn now() {
        Mono::delay(millis(1)).await;
        for _ in 0..SAMPLES {
            begin!("timer.now");
            let ticks = in_registers(Mono::now().as_ticks());
            end!("timer.now");

            scenario::expect("time has come", u32::from(in_registers(ticks) > 0), 1);
        }
        scenario::ok();
    }

    // timer.jitter: of higher priority than the load.

    const JITTER_PERIODS: u32 = 1000;

    begin_at_pend!("timer.jitter", EXCEPTION);

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut next = Mono::now();
        for _ in 0..JITTER_PERIODS {
            next += millis(1);
            Mono::delay_until(next).await;
            end!("timer.jitter");
            expect_on_time(next);
        }
        scenario::ok();
    }

    fn jitter() {
        const ITEM: Item<10> = Item([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let (mut sender, mut receiver) = make_channel!(Item<10>, 4);
        let _ = high::spawn();
        loop {
            let _ = sender.try_send(ITEM);
            let received = receiver.try_recv();
            scenario::expect("other items", u32::from(received.ok() != Some(ITEM)), 0);
        }
    }

    // timer.idle, where there is a tick

    begin_at_pend!("timer.idle", 15);
    end_at_sleep!("timer.idle");

    async fn asleep() {
        Mono::delay(Duration::from_ticks(SAMPLES.into())).await;
        scenario::ok();
    }
}
