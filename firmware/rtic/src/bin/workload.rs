//! One computation in three surroundings: alone, with a yield for each step and nobody to
//! yield to, and with another task that takes every yield.

#![no_std]
#![no_main]

#[rtic::app(device = rtmark_board::device, peripherals = false, dispatchers = [RUN_LOW])]
mod app {
    use embassy_futures::yield_now;
    use rtmark_board::{Counter, prime_search};
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
            "workload.prime.single" => single(),
            "workload.prime.one_task" => one_task().await,
            "workload.prime.two_tasks" => two_tasks().await,
        }
    }

    fn single() {
        begin!("workload.prime.single");
        let found = prime_search!({});
        end!("workload.prime.single");

        found.done();
    }

    async fn one_task() {
        begin!("workload.prime.one_task");
        let found = prime_search!({ yield_now().await });
        end!("workload.prime.one_task");

        found.done();
    }

    static COUNTER: Counter = Counter::new();

    #[task(priority = 1)]
    async fn second(_: second::Context) {
        loop {
            COUNTER.increment();
            yield_now().await;
        }
    }

    async fn two_tasks() {
        let _ = second::spawn();

        begin!("workload.prime.two_tasks");
        let found = prime_search!({ yield_now().await });
        end!("workload.prime.two_tasks");

        found.done_with(COUNTER.get());
    }
}
