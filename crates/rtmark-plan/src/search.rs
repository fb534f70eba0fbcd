//! Searches on top of the bound: feasible priorities, how far execution times can grow, and how
//! much each cost matters.

use crate::costs::{Cost, Costs};
use crate::model::Model;
use crate::set::Set;

/// The scale of factors for execution times: this many ten-thousandths are 1.
pub const WHOLE: u64 = 10_000;

/// Finds priorities with which every task meets its deadline, by Audsley's algorithm: from the
/// lowest level upwards, each level goes to a task that holds with all remaining tasks above it.
/// Levels begin at 1. Returns `None` if there is no such assignment.
///
/// A task without a bound, whatever the reason, counts as one that does not hold.
pub fn assign(set: &Set, model: &Model, costs: &Costs) -> Option<Vec<u32>> {
    let count = set.tasks.len();
    let mut trial = set.clone();
    let mut priorities: Vec<Option<u32>> = vec![None; count];
    let above = u32::try_from(count).ok()? + 1;
    // If several tasks hold, the one with the latest deadline gets the lowest level.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(set.tasks[index].deadline), index));
    for level in 1..above {
        // Tasks without a level are above it, in any order: the bound does not depend on it.
        for (task, (priority, free)) in trial.tasks.iter_mut().zip(priorities.iter().zip(above..)) {
            task.priority = priority.unwrap_or(free);
        }
        let found =
            order.iter().copied().filter(|&index| priorities[index].is_none()).find(|&index| {
                let before = trial.tasks[index].priority;
                trial.tasks[index].priority = level;
                let bound =
                    model.question(&trial, costs, index).ok().and_then(|it| it.bound().ok());
                let holds =
                    bound.is_some_and(|bound| bound.response <= trial.tasks[index].deadline);
                trial.tasks[index].priority = before;
                holds
            })?;
        priorities[found] = Some(level);
    }
    priorities.into_iter().collect()
}

/// Returns the largest factor by which the tasks' execution times can be multiplied without a missed
/// deadline, in ten-thousandths, by bisection. Handlers and the kernel's costs stay constant. Returns
/// 0 if no factor works.
pub fn breakdown(set: &Set, holds: impl Fn(&Set) -> bool) -> u64 {
    // Handlers do not grow, so tasks may come to demand more than their present share of the load.
    let tasks = set.tasks.iter().map(|task| task.work as f64 / task.period as f64);
    let utilisation = tasks.sum::<f64>().max(1e-9);
    let (mut good, mut bad) = (0, (WHOLE as f64 / utilisation).ceil() as u64 + 2);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if holds(&set.scaled(middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Returns the slowest clock at which a set holds, in ten-thousandths of its present clock, by
/// bisection: times become fewer cycles, while execution times and costs keep their cycles. Returns
/// `None` if the set does not hold at the present clock.
pub fn slowest_clock(set: &Set, holds: impl Fn(&Set) -> bool) -> Option<u64> {
    if !holds(set) {
        return None;
    }
    let (mut bad, mut good) = (0, WHOLE);
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if holds(&set.clocked(middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

/// Returns the least slack of all tasks (deadline minus bound), in cycles, or `None` if a task has
/// no bound.
pub fn least_slack(set: &Set, model: &Model, costs: &Costs) -> Option<i64> {
    let bounds = model.bounds(set, costs);
    let slack = set.tasks.iter().zip(bounds).map(|(task, bound)| {
        let response = i64::try_from(bound.ok()?.response).ok()?;
        Some(i64::try_from(task.deadline).ok()? - response)
    });
    slack.collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Returns by how much the least slack would grow if a cost were zero, for each cost that matters,
/// in descending order.
pub fn sensitivity(set: &Set, model: &Model, costs: &Costs) -> Vec<(Cost, i64)> {
    let Some(now) = least_slack(set, model, costs) else { return Vec::new() };
    let gain = |cost: &Cost| {
        let gained = least_slack(set, model, &costs.without(*cost))? - now;
        (gained > 0).then_some((*cost, gained))
    };
    let mut found: Vec<_> = Cost::ALL.iter().filter_map(gain).collect();
    found.sort_by_key(|&(cost, gained)| (std::cmp::Reverse(gained), cost));
    found
}
