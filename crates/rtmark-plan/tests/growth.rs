//! How the time to compute bounds grows with the number of tasks.

use std::time::Instant;

use oorandom::Rand64;
use rtmark_plan::draw::{self, SetParameters};
use rtmark_plan::{Costs, KernelPlan, Model, Order};

/// Number of sets of each size.
const SETS: usize = 3;

/// `cargo test -p rtmark-plan --test growth -- --nocapture` prints the times.
#[test]
#[expect(clippy::print_stdout, reason = "the times are to be read")]
fn a_hundred_tasks_do_not_take_minutes() {
    for kernel in Model::KERNELS {
        let model = Model::of(kernel).expect("known");
        let mut draw = Rand64::new(11);
        let mut before: Option<f64> = None;
        for tasks in [10, 30, 100] {
            // If a round has to be shorter than a tick, ticks are long.
            let (tick, periods) = match model.order {
                Order::Rounds => (1_200_000, (1, 10)),
                _ => (12_000, (10, 1_000)),
            };
            let parameters = SetParameters {
                tasks,
                // If each task waits for all others, less load is feasible.
                utilisation: if model.order.takes_turns() { 0.05 } else { 0.7 },
                tick,
                periods,
                least_work: 1,
                locks: 2,
                interrupts: 2,
            };
            let sets: Vec<_> = (0..SETS).map(|_| draw::set(&mut draw, &parameters)).collect();
            let began = Instant::now();
            let plans = sets.iter().map(|set| KernelPlan::new(set, &model, &Costs::zero(), 0.0));
            let bounded = plans.filter(|plan| plan.breakdown_percent.is_some()).count();
            let each = began.elapsed().as_secs_f64() / SETS as f64;
            let grown =
                before.map_or_else(String::new, |before| format!(", {:.1} times", each / before));
            println!(
                "{kernel}, {tasks} tasks: {:.2} ms{grown}; {bounded} of {SETS} bounded",
                each * 1e3
            );
            before = Some(each);
            assert!(bounded > 0, "{kernel}: what has no bound takes no time");
            assert!(each < 60.0, "{tasks} tasks took {each} s");
        }
    }
}
