//! Thread-Metric's tests, those that there is something for.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use embassy_futures::yield_now;
    use rtic_sync::arbiter::Arbiter;
    use rtic_sync::make_channel;
    use rtic_sync::signal::Signal;
    use rtmark_board::{Counter, Interrupt, tm};
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
            "tm.basic" => tm::basic_run(),
            "tm.cooperative" => cooperate().await,
            "tm.interrupt" => take().await,
            "tm.interrupt_preempt" => preempted(),
            "tm.message" => message().await,
            "tm.sync" => sync().await,
        }
    }

    // tm.cooperative

    static COUNTERS: [Counter; 5] = [const { Counter::new() }; 5];

    async fn count(counter: &Counter) {
        loop {
            counter.increment();
            yield_now().await;
        }
    }

    #[task(priority = 1)]
    async fn second(_: second::Context) {
        count(&COUNTERS[1]).await;
    }

    #[task(priority = 1)]
    async fn third(_: third::Context) {
        count(&COUNTERS[2]).await;
    }

    #[task(priority = 1)]
    async fn fourth(_: fourth::Context) {
        count(&COUNTERS[3]).await;
    }

    #[task(priority = 1)]
    async fn fifth(_: fifth::Context) {
        count(&COUNTERS[4]).await;
    }

    async fn cooperate() {
        let spawned = [second::spawn(), third::spawn(), fourth::spawn(), fifth::spawn()];
        scenario::expect("tasks refused", spawned.iter().filter(|s| s.is_err()).count() as u32, 0);
        loop {
            end!("tm.cooperative");
            begin!("tm.cooperative");
            if COUNTERS[0].increment() > 2 * SAMPLES {
                break;
            }
            yield_now().await;
            COUNTERS[0].increment();
            yield_now().await;
        }
        for counter in &COUNTERS[1..] {
            scenario::expect("rounds off", u32::from(counter.get().abs_diff(2 * SAMPLES) > 1), 0);
        }
        scenario::ok();
    }

    // tm.interrupt

    static GIVEN: Signal<()> = Signal::new();

    #[task(binds = PLAIN, priority = 3)]
    fn plain(_: plain::Context) {
        GIVEN.writer().write(());
    }

    async fn take() {
        let mut given = GIVEN.take_reader();
        for _ in 0..SAMPLES {
            begin!("tm.interrupt");
            rtic::pend(Interrupt::PLAIN);
            given.wait().await;
            end!("tm.interrupt");
        }
        scenario::ok();
    }

    // tm.interrupt_preempt

    static RESUME: Signal<()> = Signal::new();

    #[task(binds = BENCH, priority = 3)]
    fn bench(_: bench::Context) {
        RESUME.writer().write(());
    }

    #[task(priority = 2)]
    async fn high(_: high::Context) {
        let mut resume = RESUME.take_reader();
        loop {
            resume.wait().await;
            COUNTERS[1].increment();
        }
    }

    fn preempted() {
        let _ = high::spawn();
        for sample in 1..=SAMPLES {
            begin!("tm.interrupt_preempt");
            rtic::pend(Interrupt::BENCH);
            while COUNTERS[1].get() != sample {}
            end!("tm.interrupt_preempt");

            scenario::expect("times the other task ran", COUNTERS[1].get(), sample);
        }
        scenario::ok();
    }

    // tm.message

    async fn message() {
        let (mut sender, mut receiver) = make_channel!([u32; 4], 10);
        for sample in 0..SAMPLES {
            let sent = [sample, 1, 2, 3];

            begin!("tm.message");
            let _ = sender.send(sent).await;
            let received = receiver.recv().await;
            end!("tm.message");

            let [first, .., last] = received.unwrap_or_default();
            scenario::expect("first word of the item", first, sample);
            scenario::expect("last word of the item", last, 3);
        }
        scenario::ok();
    }

    // tm.sync: there is no semaphore; an arbiter does the same.

    static ARBITER: Arbiter<()> = Arbiter::new(());

    async fn sync() {
        for _ in 0..SAMPLES {
            begin!("tm.sync");
            let access = ARBITER.access().await;
            drop(access);
            end!("tm.sync");

            scenario::expect("free", u32::from(ARBITER.try_access().is_some()), 1);
        }
        scenario::ok();
    }
}
