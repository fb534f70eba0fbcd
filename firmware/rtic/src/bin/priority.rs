//! A lock between three priorities: an arbiter, which knows no priorities, and a shared resource,
//! whose lock raises its holder to the highest priority of those that use it.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH, BELOW])]
mod app {
    use rtic_sync::arbiter::Arbiter;
    use rtic_sync::signal::Signal;
    use rtmark_board::rounds::work_rounds;
    use rtmark_board::{Counter, Interrupt};
    use rtmark_probe::scenario::{self, POINT_SAMPLES};
    use rtmark_probe::{begin_at_pend, end, scenarios};
    use rtmark_rtic::Mono;
    use rtmark_rtic::prelude::*;

    #[shared]
    struct Shared {
        /// How often the middle task had worked when the high one last had the resource.
        record: u32,
    }

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = middle::spawn();
        let _ = low::spawn();
        (Shared { record: 0 }, Local {})
    }

    static HIGH: Signal<()> = Signal::new();
    static MIDDLE: Signal<()> = Signal::new();
    static HIGH_TIMES: Counter = Counter::new();
    static MIDDLE_TIMES: Counter = Counter::new();

    begin_at_pend!("priority.inversion.none", Interrupt::BENCH.exception());
    begin_at_pend!("priority.inversion.ceiling", Interrupt::BENCH.exception());

    #[task(binds = BENCH, priority = 4)]
    fn bench(_: bench::Context) {
        MIDDLE.writer().write(());
        HIGH.writer().write(());
    }

    #[task(priority = 3, shared = [record])]
    async fn high(mut cx: high::Context, arbiter: bool) {
        let mut released = HIGH.take_reader();
        loop {
            released.wait().await;
            if arbiter {
                let mut middle_before = ARBITER.access().await;
                end!("priority.inversion.none");
                *middle_before = MIDDLE_TIMES.get();
                HIGH_TIMES.increment();
            } else {
                cx.shared.record.lock(|middle_before| {
                    end!("priority.inversion.ceiling");
                    *middle_before = MIDDLE_TIMES.get();
                    HIGH_TIMES.increment();
                });
            }
        }
    }

    #[task(priority = 2)]
    async fn middle(_: middle::Context) {
        let mut released = MIDDLE.take_reader();
        loop {
            released.wait().await;
            work_rounds(scenario::point());
            MIDDLE_TIMES.increment();
        }
    }

    #[task(priority = 1, shared = [record])]
    async fn low(mut cx: low::Context) {
        scenarios! {
            "priority.inversion.none" => none().await,
            "priority.inversion.ceiling" => ceiling(&mut cx.shared.record).await,
        }
    }

    fn check(sample: u32, before: u32, middle_before: u32) {
        scenario::expect("times the high task held the lock", HIGH_TIMES.get(), sample);
        scenario::expect("times the middle task worked", MIDDLE_TIMES.get(), sample);
        scenario::expect("times it had before the high one", middle_before, before);
    }

    /// No tick comes before the next one.
    async fn after_a_tick() {
        Mono::delay_until(Mono::now() + rtmark_rtic::millis(1)).await;
    }

    static ARBITER: Arbiter<u32> = Arbiter::new(0);

    async fn none() {
        let _ = high::spawn(true);
        for sample in 1..=POINT_SAMPLES {
            after_a_tick().await;
            let access = ARBITER.access().await;
            rtic::pend(Interrupt::BENCH);
            work_rounds(1);
            scenario::expect(
                "times the high task ran beside this one",
                HIGH_TIMES.get(),
                sample - 1,
            );
            drop(access);

            check(sample, sample, *ARBITER.access().await);
        }
        scenario::point_ok();
    }

    async fn ceiling(record: &mut impl rtic::Mutex<T = u32>) {
        let _ = high::spawn(false);
        for sample in 1..=POINT_SAMPLES {
            after_a_tick().await;
            record.lock(|_| {
                rtic::pend(Interrupt::BENCH);
                work_rounds(1);
                scenario::expect(
                    "times the high task ran beside this one",
                    HIGH_TIMES.get(),
                    sample - 1,
                );
            });

            check(sample, sample - 1, record.lock(|middle_before| *middle_before));
        }
        scenario::point_ok();
    }
}
