//! From a pending interrupt to its handler, and to the task that the handler wakes.
//!
//! Both scenarios are the same program; they differ in where the span ends.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::signal::Signal;
    use rtmark_board::{Counter, Interrupt};
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin_at_pend, end, end_at_entry, scenarios};

    #[shared]
    struct Shared {}

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = high::spawn();
        let _ = low::spawn();
        (Shared {}, Local {})
    }

    begin_at_pend!("isr.entry", 16);
    end_at_entry!("isr.entry", "BENCH");

    begin_at_pend!("isr.wake.thread", 16);

    static WORK: Signal<()> = Signal::new();
    static HANDLED: Counter = Counter::new();

    #[task(binds = BENCH, priority = 3)]
    fn bench(_: bench::Context) {
        WORK.writer().write(());
    }

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut work = WORK.take_reader();
        loop {
            work.wait().await;
            end!("isr.wake.thread");
            HANDLED.increment();
        }
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "isr.entry" => busy(),
            "isr.wake.thread" => busy(),
        }
    }

    fn busy() {
        for sample in 1..=SAMPLES {
            rtic::pend(Interrupt::BENCH);

            // The interrupt arrives while this task is busy with something of its own.
            cortex_m::asm::delay(50);

            scenario::expect("interrupts handled", HANDLED.get(), sample);
        }
        scenario::ok();
    }
}
