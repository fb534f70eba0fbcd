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

    /// What `second` and `high` do.
    #[derive(Clone, Copy)]
    pub enum Part {
        Yield,
        Wait,
        End,
    }

    #[task(priority = 1)]
    async fn low(_: low::Context) {
        scenarios! {
            "thread.yield" => {
                let _ = second::spawn(Part::Yield);
                yield_first().await;
            },
            "thread.resume.preempt" => resume(),
            "thread.suspend" => resume(),
            "thread.yield.alone" => alone().await,
            "thread.resume.immediate" => wake().await,
            "thread.create" => create().await,
            "thread.create.static" => create_static().await,
            "thread.start" => start(),
            "thread.start.static" => start(),
            "thread.end" => start(),
        }
    }

    static SWITCHES: Counter = Counter::new();
    static RESUME: Signal<()> = Signal::new();
    static RESUMED: Counter = Counter::new();

    #[task(priority = 1)]
    async fn second(_: second::Context, part: Part) {
        match part {
            Part::Yield => yield_second().await,
            Part::Wait => waiting().await,
            Part::End => {
                SWITCHES.increment();
            }
        }
    }

    #[task(priority = 2)]
    async fn high(_: high::Context, part: Part) {
        end!("thread.start");
        end!("thread.start.static");
        match part {
            Part::Wait => suspended().await,
            Part::Yield | Part::End => {
                SWITCHES.increment();
                begin!("thread.end");
            }
        }
    }

    // thread.yield: two tasks of one priority yield to each other. One of them is reached in the
    // same round of the dispatcher; for the other the dispatcher's interrupt comes anew.

    async fn yield_first() {
        loop {
            begin!("thread.yield");
            yield_now().await;
            end!("thread.yield");
            switched(0);
        }
    }

    async fn yield_second() {
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

    // thread.resume.preempt, thread.suspend: a task wakes another one of higher priority, which
    // preempts it.

    async fn suspended() {
        let mut resume = RESUME.take_reader();
        // The first time, nobody has woken this task yet.
        resume.wait().await;
        loop {
            end!("thread.resume.preempt");
            RESUMED.increment();
            begin!("thread.suspend");
            resume.wait().await;
        }
    }

    fn resume() {
        let _ = high::spawn(Part::Wait);
        let mut resume = RESUME.writer();
        for sample in 1..=SAMPLES {
            begin!("thread.resume.preempt");
            resume.write(());
            end!("thread.suspend");

            scenario::expect("times the task was resumed", RESUMED.get(), sample);
        }
        scenario::ok();
    }

    // thread.yield.alone: nobody else is ready.

    async fn alone() {
        for _ in 0..SAMPLES {
            begin!("thread.yield.alone");
            yield_now().await;
            end!("thread.yield.alone");
            SWITCHES.increment();
        }
        scenario::expect("yields", SWITCHES.get(), SAMPLES);
        scenario::ok();
    }

    // thread.resume.immediate: the task that is woken has the same priority.

    async fn waiting() {
        let mut resume = RESUME.take_reader();
        loop {
            resume.wait().await;
            RESUMED.increment();
        }
    }

    async fn wake() {
        let _ = second::spawn(Part::Wait);
        yield_now().await;
        for sample in 1..=SAMPLES {
            begin!("thread.resume.immediate");
            RESUME.writer().write(());
            end!("thread.resume.immediate");

            scenario::expect("times the task ran before", RESUMED.get(), sample - 1);
            yield_now().await;
            scenario::expect("times the task ran", RESUMED.get(), sample);
        }
        scenario::ok();
    }

    // thread.create, thread.create.static: the new task has the same priority, and memory of its own.

    macro_rules! create {
        ($name:ident, $scenario:literal) => {
            async fn $name() {
                for sample in 1..=SAMPLES {
                    begin!($scenario);
                    let created = second::spawn(Part::End);
                    end!($scenario);

                    scenario::expect("tasks refused", u32::from(created.is_err()), 0);
                    // It runs, and ends; then there is room for the next one.
                    yield_now().await;
                    scenario::expect("tasks that ran", SWITCHES.get(), sample);
                }
                scenario::ok();
            }
        };
    }

    create!(create, "thread.create");
    create!(create_static, "thread.create.static");

    // thread.start, thread.end: the new task has a higher priority.

    fn start() {
        for sample in 1..=SAMPLES {
            begin!("thread.start");
            begin!("thread.start.static");
            let started = high::spawn(Part::End);
            end!("thread.end");

            scenario::expect("tasks refused", u32::from(started.is_err()), 0);
            scenario::expect("tasks that ran", SWITCHES.get(), sample);
        }
        scenario::ok();
    }
}
