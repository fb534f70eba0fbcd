//! Compares the search for priorities with all orders, tried one after another.

#[path = "common/sets.rs"]
mod sets;

use oorandom::Rand64;
use proptest::prelude::*;
use rtmark_plan::{Costs, Model, Set, draw, search};

/// Draws a set in which the order matters: deadlines of about the time that a job takes with those that
/// may go before it, and a kernel whose costs are of the size of jobs.
fn drawn(kernel: &str, seed: u64) -> (Model, Set, Costs) {
    let model = Model::of(kernel).expect("known");
    let mut draw = Rand64::new(u128::from(seed));
    let (tick, periods) = if kernel == "lilos" { (50_000, (1, 4)) } else { (5_000, (2, 40)) };
    let mut set = sets::small(&mut draw, tick, periods, 0.6);
    if draw.rand_range(0..2) == 0 {
        draw::nest(&mut draw, &mut set);
    }
    let all: u64 = set.tasks.iter().map(|task| task.work).sum();
    for task in &mut set.tasks {
        let most = all * 2 + 4_000;
        task.deadline = draw.rand_range(task.work + 500..task.work + most);
    }
    let mut costs = Costs::zero();
    let most = draw.rand_range(2..1_500);
    for figure in costs.known.values_mut() {
        figure.cycles = draw.rand_range(0..most);
    }
    (model, set, costs)
}

/// Calls `visit` with every order of the numbers from 1 to `count`, until it returns true.
fn any_order(count: usize, visit: &mut dyn FnMut(&[u32]) -> bool) -> bool {
    fn extend(order: &mut Vec<u32>, count: usize, visit: &mut dyn FnMut(&[u32]) -> bool) -> bool {
        if order.len() == count {
            return visit(order);
        }
        (1..=count as u32).any(|level| {
            if order.contains(&level) {
                return false;
            }
            order.push(level);
            let found = extend(order, count, visit);
            order.pop();
            found
        })
    }
    extend(&mut Vec::new(), count, visit)
}

fn with(set: &Set, priorities: &[u32]) -> Set {
    let mut set = set.clone();
    for (task, priority) in set.tasks.iter_mut().zip(priorities) {
        task.priority = *priority;
    }
    set
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Priorities are found exactly if there are any, and what is found holds.
    #[test]
    fn priorities_are_found_if_any_order_holds(
        kernel in prop::sample::select(Model::KERNELS.to_vec()),
        seed: u64,
    ) {
        let (model, set, costs) = drawn(kernel, seed);
        let found = search::assign(&set, &model, &costs);
        let exists = any_order(set.tasks.len(), &mut |order| model.holds(&with(&set, order), &costs));
        prop_assert_eq!(found.is_some(), exists, "{} {}: {:#?} {:?}", kernel, seed, set, costs);
        if let Some(found) = found {
            prop_assert!(model.holds(&with(&set, &found), &costs), "{} {}: {:?} {:#?} {:?}", kernel, seed, found, set, costs);
        }
    }
}

/// Sets among those drawn for which priorities were not found, or others than these: waits for locks depend on the
/// order of more urgent tasks (FreeRTOS), a release may be lost (RTIC), and the bounds of others tighten those of
/// tasks that take turns (Embassy, lilos).
#[test]
fn priorities_are_found_where_the_bounds_depend_on_the_other_tasks() {
    let sets = [("freertos", [218, 435, 1_103]), ("rtic", [41, 337, 5_736])];
    let turns = [("embassy", [164, 180, 184]), ("lilos", [7_212, 11_984, 14_260])];
    for (kernel, seeds) in sets.into_iter().chain(turns) {
        for seed in seeds {
            let (model, set, costs) = drawn(kernel, seed);
            let found = search::assign(&set, &model, &costs).expect("some order holds");
            assert!(model.holds(&with(&set, &found), &costs), "{kernel} {seed}: {found:?}");
        }
    }
}

/// The property above is not vacuous: for each kernel there are sets for which some orders hold and
/// others do not.
#[test]
fn for_many_sets_the_order_matters() {
    for kernel in ["freertos", "rtic", "lilos"] {
        let matters = |seed: &u64| {
            let (model, set, costs) = drawn(kernel, *seed);
            let mut all = [false; 2];
            any_order(set.tasks.len(), &mut |order| {
                all[usize::from(model.holds(&with(&set, order), &costs))] = true;
                all == [true; 2]
            })
        };
        let count = (0..500).filter(matters).count();
        assert!(count > 50, "{kernel}: {count} of 500");
    }
}
