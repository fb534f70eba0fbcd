//! What guards shared data: an arbiter that tasks wait for, and a resource that is locked.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW, RUN_HIGH])]
mod app {
    use rtic_sync::arbiter::Arbiter;
    use rtic_sync::signal::Signal;
    use rtmark_board::Counter;
    use rtmark_probe::scenario::{self, SAMPLES};
    use rtmark_probe::{begin, end, scenarios};

    #[shared]
    struct Shared {
        counter: u32,
    }

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        let _ = low::spawn();
        (Shared { counter: 0 }, Local {})
    }

    #[task(priority = 1, shared = [counter])]
    async fn low(mut cx: low::Context) {
        scenarios! {
            "mutex.lock.immediate" => lock().await,
            "mutex.unlock.immediate" => lock().await,
            "mutex.lock.poll_taken" => lock().await,
            "mutex.lock.blocking" => hold().await,
            "mutex.unlock.wake+ctx" => hold().await,
            "mutex.critical_section" => critical(&mut cx.shared.counter),
        }
    }

    static ARBITER: Arbiter<u32> = Arbiter::new(0);

    // mutex.lock.immediate, mutex.lock.poll_taken, mutex.unlock.immediate. Who holds it does not
    // matter: a task can no more access it again than others can.

    async fn lock() {
        for sample in 0..SAMPLES {
            begin!("mutex.lock.immediate");
            let mut access = ARBITER.access().await;
            end!("mutex.lock.immediate");

            scenario::expect("what it guards", *access, sample);
            *access += 1;

            begin!("mutex.lock.poll_taken");
            let again = ARBITER.try_access();
            end!("mutex.lock.poll_taken");

            scenario::expect("accessed again", u32::from(again.is_some()), 0);
            drop(again);

            begin!("mutex.unlock.immediate");
            drop(access);
            end!("mutex.unlock.immediate");
        }
        scenario::ok();
    }

    // mutex.lock.blocking, mutex.unlock.wake+ctx: a task of higher priority waits for it.

    static GO: Signal<()> = Signal::new();
    static TIMES: Counter = Counter::new();

    #[task(priority = 2, shared = [counter])]
    async fn high(mut cx: high::Context) {
        // So that the resource is one of both priorities.
        cx.shared.counter.lock(|counter| *counter = 0);
        let mut go = GO.take_reader();
        loop {
            go.wait().await;
            begin!("mutex.lock.blocking");
            let access = ARBITER.access().await;
            end!("mutex.unlock.wake+ctx");
            TIMES.increment();
            drop(access);
        }
    }

    async fn hold() {
        let _ = high::spawn();
        for sample in 1..=SAMPLES {
            let access = ARBITER.access().await;
            GO.writer().write(());
            end!("mutex.lock.blocking");

            scenario::expect("times the other task had access", TIMES.get(), sample - 1);

            begin!("mutex.unlock.wake+ctx");
            drop(access);

            scenario::expect("times the other task had access", TIMES.get(), sample);
        }
        scenario::ok();
    }

    // mutex.critical_section: those are kept out that use the resource too.

    fn critical(counter: &mut impl rtic::Mutex<T = u32>) {
        for sample in 1..=SAMPLES {
            begin!("mutex.critical_section");
            counter.lock(|counter| *counter += 1);
            end!("mutex.critical_section");

            scenario::expect("increments", counter.lock(|counter| *counter), sample);
        }
        scenario::ok();
    }
}
