//! Task sets in the levels of a chip with two priority bits, as all Cortex-M0 and M0+ have: three tasks and,
//! above them, the handlers.
//!
//! An application states its tasks' levels when it is compiled, so that a set is written to those tasks
//! that have the levels. A lock is the resource whose ceiling it has: `up_to_first` is shared by the
//! first task alone, `up_to_second` by the first and the second.

#[rtic::app(
    device = rtmark_board::device,
    peripherals = false,
    dispatchers = [RUN_LOW, RUN_HIGH, BELOW]
)]
mod app {
    use rtmark_probe::scenarios;

    use crate::channels::Ends;
    use crate::plan::{SET, Task};
    use crate::{releases, task};

    #[shared]
    struct Shared {
        up_to_first: (),
        up_to_second: (),
        up_to_third: (),
        within_first: (),
        within_second: (),
        within_third: (),
    }

    #[local]
    struct Local {}

    #[init]
    fn init(cx: init::Context) -> (Shared, Local) {
        rtmark_rtic::start(cx.core.SYST);
        scenarios! {
            "plan.set" => start(),
        }
        let shared = Shared {
            up_to_first: (),
            up_to_second: (),
            up_to_third: (),
            within_first: (),
            within_second: (),
            within_third: (),
        };
        (shared, Local {})
    }

    fn start() {
        let mut ends = Ends::all();
        if let Some(task) = SET.task(0) {
            let _ = first::spawn(task, ends.of(task));
        }
        if let Some(task) = SET.task(1) {
            let _ = second::spawn(task, ends.of(task));
        }
        if let Some(task) = SET.task(2) {
            let _ = third::spawn(task, ends.of(task));
        }
    }

    /// As RTIC's book has it for those who want to sleep.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            rtic::export::wfi();
        }
    }

    #[task(binds = BENCH, priority = 4)]
    fn bench(_: bench::Context) {
        releases::handle(0);
    }

    #[task(binds = PLAIN, priority = 4)]
    fn plain(_: plain::Context) {
        releases::handle(1);
    }

    #[task(priority = 1, shared = [up_to_first, up_to_second, up_to_third, within_first, within_second, within_third])]
    async fn first(mut cx: first::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.0", task, ends, cx.shared; [1 => up_to_first, 2 => up_to_second, 3 => up_to_third], [1 => within_first, 2 => within_second, 3 => within_third]);
    }

    #[task(priority = 2, shared = [up_to_second, up_to_third, within_second, within_third])]
    async fn second(mut cx: second::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.1", task, ends, cx.shared; [2 => up_to_second, 3 => up_to_third], [2 => within_second, 3 => within_third]);
    }

    #[task(priority = 3, shared = [up_to_third, within_third])]
    async fn third(mut cx: third::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.2", task, ends, cx.shared; [3 => up_to_third], [3 => within_third]);
    }
}
