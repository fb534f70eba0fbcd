//! A task that each interrupt signals, of a higher priority than the one that is interrupted.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::signal::Signal;
    use rtmark_board::{Counter, Interrupt};
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, begin_at_pend, end, scenarios};

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

    static WORK: Signal<()> = Signal::new();
    static CAME: Counter = Counter::new();
    static HANDLED: Counter = Counter::new();

    begin_at_pend!("storm.background", Interrupt::BENCH.exception());

    #[task(binds = BENCH, priority = 3)]
    fn bench(_: bench::Context) {
        CAME.increment();
        WORK.writer().write(());
    }

    #[task(priority = 2)]
    async fn high(_: high::Context, storms: bool) {
        if storms { storming().await } else { handling().await }
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "storm.distance" => {
                let _ = high::spawn(true);
            },
            "storm.background" => background(),
        }
    }

    // storm.distance

    async fn storming() {
        let mut work = WORK.take_reader();
        rtic::pend(Interrupt::BENCH);
        for _ in 0..=SAMPLES {
            work.wait().await;
            end!("storm.distance");
            begin!("storm.distance");
            rtic::pend(Interrupt::BENCH);
            HANDLED.increment();
        }
        scenario::expect("interrupts", CAME.get(), HANDLED.get() + 1);
        scenario::ok();
    }

    // storm.background

    async fn handling() {
        let mut work = WORK.take_reader();
        loop {
            work.wait().await;
            HANDLED.increment();
        }
    }

    fn background() {
        let _ = high::spawn(false);
        for sample in 1..=SAMPLES {
            rtic::pend(Interrupt::BENCH);
            // Behind these it has come.
            cortex_m::asm::dsb();
            cortex_m::asm::isb();
            end!("storm.background");

            scenario::expect("interrupts", CAME.get(), sample);
            scenario::expect("interrupts handled", HANDLED.get(), sample);
        }
        scenario::ok();
    }
}
