//! Switching between tasks: between equals by yielding, and upwards by waking.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use embassy_futures::yield_now;
    use rtic_sync::signal::Signal;
    use rtmark_board::Counter;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

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
            "thread.yield" => {
                let _ = second::spawn();
                yield_first().await;
            },
            "thread.resume.preempt" => {
                let _ = high::spawn();
                resume();
            },
        }
    }

    // thread.yield: two tasks of one priority yield to each other. One of them is reached in the
    // same round of the dispatcher; for the other the dispatcher's interrupt comes anew.

    static SWITCHES: Counter = Counter::new();

    async fn yield_first() {
        loop {
            begin!("thread.yield");
            yield_now().await;
            end!("thread.yield");
            switched(0);
        }
    }

    #[task(priority = 1)]
    async fn second(_: second::Context) {
        loop {
            end!("thread.yield");
            switched(1);
            begin!("thread.yield");
            yield_now().await;
        }
    }

    /// Checks that the tasks were reached in turn: `second` by odd switches, `low` by even ones.
    fn switched(odd: u32) {
        let switches = SWITCHES.increment();
        scenario::expect("turn", switches % 2, odd);
        if switches == SAMPLES {
            scenario::ok();
        }
    }

    // thread.resume.preempt: a task wakes another one of higher priority, which preempts it.

    static RESUME: Signal<()> = Signal::new();
    static RESUMED: Counter = Counter::new();

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut resume = RESUME.take_reader();
        loop {
            resume.wait().await;
            end!("thread.resume.preempt");
            RESUMED.increment();
        }
    }

    fn resume() {
        let mut resume = RESUME.writer();
        for sample in 1..=SAMPLES {
            begin!("thread.resume.preempt");
            resume.write(());

            scenario::expect("times the task was resumed", RESUMED.get(), sample);
        }
        scenario::ok();
    }
}
