//! How long bounds take, by the number of tasks.

use std::time::Instant;

use oorandom::Rand64;
use rtmark_plan::draw::{self, Wish};
use rtmark_plan::{Costs, KernelPlan, Model};

/// `cargo test -p rtmark-plan --test growth -- --nocapture` tells the times.
#[test]
#[expect(clippy::print_stdout, reason = "the times are to be read")]
fn a_hundred_tasks_are_no_matter_of_minutes() {
    let model = Model::of("freertos").expect("known");
    let mut draw = Rand64::new(11);
    for tasks in [10, 30, 100] {
        let wish = Wish {
            tasks,
            utilisation: 0.7,
            tick: 12_000,
            periods: (10, 1_000),
            least_work: 1,
            locks: 2,
            interrupts: 2,
        };
        let began = Instant::now();
        for _ in 0..5 {
            let set = draw::set(&mut draw, &wish);
            let plan = KernelPlan::new(&set, &model, &Costs::zero(), 0.0);
            assert!(plan.tasks.iter().all(|task| task.response.is_some()));
        }
        let each = began.elapsed() / 5;
        println!("{tasks} tasks: {} us", each.as_micros());
        assert!(each.as_secs() < 60, "{tasks} tasks took {each:?}");
    }
}
