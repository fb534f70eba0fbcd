//! A signal: what one task or handler tells one task.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
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
            "notify.give.immediate" => immediate().await,
            "notify.take.immediate" => immediate().await,
            "notify.take.poll_empty" => immediate().await,
            "notify.give.wake+ctx" => wake(),
            "notify.take.blocking" => wake(),
            "notify.handover" => ask().await,
        }
    }

    static SIGNAL: Signal<()> = Signal::new();
    static ANSWER: Signal<()> = Signal::new();
    static TIMES: Counter = Counter::new();

    // notify.give.immediate, notify.take.immediate, notify.take.poll_empty

    async fn immediate() {
        let (mut writer, mut reader) = SIGNAL.split();
        for _ in 0..SAMPLES {
            begin!("notify.take.poll_empty");
            let none = reader.try_read();
            end!("notify.take.poll_empty");

            begin!("notify.give.immediate");
            writer.write(());
            end!("notify.give.immediate");

            scenario::expect("signals before", u32::from(none.is_some()), 0);

            begin!("notify.take.immediate");
            reader.wait().await;
            end!("notify.take.immediate");

            scenario::expect("signals after", u32::from(reader.try_read().is_some()), 0);
        }
        scenario::ok();
    }

    // notify.give.wake+ctx, notify.take.blocking: a task of higher priority waits.

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut signal = SIGNAL.take_reader();
        // The first time, nobody has signalled yet.
        signal.wait().await;
        loop {
            end!("notify.give.wake+ctx");
            TIMES.increment();
            begin!("notify.take.blocking");
            signal.wait().await;
        }
    }

    fn wake() {
        let _ = high::spawn();
        let mut signal = SIGNAL.writer();
        for sample in 1..=SAMPLES {
            begin!("notify.give.wake+ctx");
            signal.write(());
            end!("notify.take.blocking");

            scenario::expect("times the task was notified", TIMES.get(), sample);
        }
        scenario::ok();
    }

    // notify.handover: two tasks of one priority.

    #[task(priority = 1)]
    async fn second(_: second::Context) {
        let mut signal = SIGNAL.take_reader();
        loop {
            signal.wait().await;
            end!("notify.handover");
            TIMES.increment();
            ANSWER.writer().write(());
        }
    }

    async fn ask() {
        let _ = second::spawn();
        let (mut signal, mut answer) = (SIGNAL.writer(), ANSWER.take_reader());
        for sample in 1..=SAMPLES {
            begin!("notify.handover");
            signal.write(());
            answer.wait().await;

            scenario::expect("times the other task was notified", TIMES.get(), sample);
        }
        scenario::ok();
    }
}
