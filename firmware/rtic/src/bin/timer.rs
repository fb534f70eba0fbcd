//! What a delay really takes, and what a tick costs.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_monotonics::systick::prelude::*;
    use rtic_sync::make_channel;
    use rtmark_board::Item;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, end_at_return, end_at_sleep, scenarios};
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

    // timer.wake

    begin_at_pend!("timer.wake", 15);

    async fn wake() {
        let mut next = Mono::now();
        for _ in 0..=SAMPLES {
            next += 1.millis();
            Mono::delay_until(next).await;
            end!("timer.wake");
            scenario::expect("ticks", Mono::now().as_ticks(), next.as_ticks());
        }
        scenario::ok();
    }

    // timer.period.10ms

    async fn period() {
        let mut next = Mono::now();
        for _ in 0..SAMPLES {
            next += 10.millis();
            Mono::delay_until(next).await;
            end!("timer.period.10ms");
            begin!("timer.period.10ms");
            scenario::expect("ticks", Mono::now().as_ticks(), next.as_ticks());
        }
        scenario::ok();
    }

    // timer.now

    async fn now() {
        Mono::delay(1.millis()).await;
        for _ in 0..SAMPLES {
            begin!("timer.now");
            let now = core::hint::black_box(Mono::now());
            end!("timer.now");

            scenario::expect("time has come", u32::from(now.as_ticks() > 0), 1);
        }
        scenario::ok();
    }

    // timer.jitter: of higher priority than the load.

    const JITTER_TICKS: u32 = 1000;

    begin_at_pend!("timer.jitter", 15);

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut next = Mono::now();
        for _ in 0..JITTER_TICKS {
            next += 1.millis();
            Mono::delay_until(next).await;
            end!("timer.jitter");
            scenario::expect("ticks", Mono::now().as_ticks(), next.as_ticks());
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

    // timer.idle

    begin_at_pend!("timer.idle", 15);
    end_at_sleep!("timer.idle");

    async fn asleep() {
        Mono::delay(SAMPLES.millis()).await;
        scenario::ok();
    }
}
