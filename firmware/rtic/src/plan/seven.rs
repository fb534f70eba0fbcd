//! Task sets in the levels of a chip with three priority bits or more: seven tasks and,
//! above them, the handlers.
//!
//! An application states its tasks' levels when it is compiled, so that a set is written to those tasks
//! that have the levels. A lock is the resource whose ceiling it has: `up_to_first` is shared by the
//! first task alone, `up_to_second` by the first and the second.

#[rtic::app(
    device = rtmark_board::device,
    peripherals = false,
    dispatchers = [RUN_LOW, RUN_HIGH, BELOW, BESIDE, BENCH_QUEUE, BENCH_SEMAPHORE, INJECTED]
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
        up_to_fourth: (),
        up_to_fifth: (),
        up_to_sixth: (),
        up_to_seventh: (),
        within_first: (),
        within_second: (),
        within_third: (),
        within_fourth: (),
        within_fifth: (),
        within_sixth: (),
        within_seventh: (),
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
            up_to_fourth: (),
            up_to_fifth: (),
            up_to_sixth: (),
            up_to_seventh: (),
            within_first: (),
            within_second: (),
            within_third: (),
            within_fourth: (),
            within_fifth: (),
            within_sixth: (),
            within_seventh: (),
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
        if let Some(task) = SET.task(3) {
            let _ = fourth::spawn(task, ends.of(task));
        }
        if let Some(task) = SET.task(4) {
            let _ = fifth::spawn(task, ends.of(task));
        }
        if let Some(task) = SET.task(5) {
            let _ = sixth::spawn(task, ends.of(task));
        }
        if let Some(task) = SET.task(6) {
            let _ = seventh::spawn(task, ends.of(task));
        }
    }

    /// As RTIC's book has it for those who want to sleep.
    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            rtic::export::wfi();
        }
    }

    #[task(binds = BENCH, priority = 8)]
    fn bench(_: bench::Context) {
        releases::handle(0);
    }

    #[task(binds = PLAIN, priority = 8)]
    fn plain(_: plain::Context) {
        releases::handle(1);
    }

    #[task(priority = 1, shared = [up_to_first, up_to_second, up_to_third, up_to_fourth, up_to_fifth, up_to_sixth, up_to_seventh, within_first, within_second, within_third, within_fourth, within_fifth, within_sixth, within_seventh])]
    async fn first(mut cx: first::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.0", task, ends, cx.shared; [1 => up_to_first, 2 => up_to_second, 3 => up_to_third, 4 => up_to_fourth, 5 => up_to_fifth, 6 => up_to_sixth, 7 => up_to_seventh], [1 => within_first, 2 => within_second, 3 => within_third, 4 => within_fourth, 5 => within_fifth, 6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 2, shared = [up_to_second, up_to_third, up_to_fourth, up_to_fifth, up_to_sixth, up_to_seventh, within_second, within_third, within_fourth, within_fifth, within_sixth, within_seventh])]
    async fn second(mut cx: second::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.1", task, ends, cx.shared; [2 => up_to_second, 3 => up_to_third, 4 => up_to_fourth, 5 => up_to_fifth, 6 => up_to_sixth, 7 => up_to_seventh], [2 => within_second, 3 => within_third, 4 => within_fourth, 5 => within_fifth, 6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 3, shared = [up_to_third, up_to_fourth, up_to_fifth, up_to_sixth, up_to_seventh, within_third, within_fourth, within_fifth, within_sixth, within_seventh])]
    async fn third(mut cx: third::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.2", task, ends, cx.shared; [3 => up_to_third, 4 => up_to_fourth, 5 => up_to_fifth, 6 => up_to_sixth, 7 => up_to_seventh], [3 => within_third, 4 => within_fourth, 5 => within_fifth, 6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 4, shared = [up_to_fourth, up_to_fifth, up_to_sixth, up_to_seventh, within_fourth, within_fifth, within_sixth, within_seventh])]
    async fn fourth(mut cx: fourth::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.3", task, ends, cx.shared; [4 => up_to_fourth, 5 => up_to_fifth, 6 => up_to_sixth, 7 => up_to_seventh], [4 => within_fourth, 5 => within_fifth, 6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 5, shared = [up_to_fifth, up_to_sixth, up_to_seventh, within_fifth, within_sixth, within_seventh])]
    async fn fifth(mut cx: fifth::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.4", task, ends, cx.shared; [5 => up_to_fifth, 6 => up_to_sixth, 7 => up_to_seventh], [5 => within_fifth, 6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 6, shared = [up_to_sixth, up_to_seventh, within_sixth, within_seventh])]
    async fn sixth(mut cx: sixth::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.5", task, ends, cx.shared; [6 => up_to_sixth, 7 => up_to_seventh], [6 => within_sixth, 7 => within_seventh]);
    }

    #[task(priority = 7, shared = [up_to_seventh, within_seventh])]
    async fn seventh(mut cx: seventh::Context, task: &'static Task, ends: Ends) {
        task!("plan.job.6", task, ends, cx.shared; [7 => up_to_seventh], [7 => within_seventh]);
    }
}
