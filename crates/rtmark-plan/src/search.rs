//! Questions beyond the bound: which priorities hold, how far execution times can grow, what each
//! cost is worth.

use crate::costs::{Cost, Costs};
use crate::model::Model;
use crate::set::Set;

/// What execution times are multiplied by, in steps of a ten-thousandth.
pub const WHOLE: u64 = 10_000;

/// Priorities with which every task holds, by Audsley's search: from the lowest level upwards, any
/// task that holds with all others above it. Levels begin at 1. `None` when there are none.
///
/// A task that has no bound for another reason than time is taken for one that does not hold.
pub fn assign(set: &Set, model: &Model, costs: &Costs) -> Option<Vec<u32>> {
    let count = set.tasks.len();
    let mut trial = set.clone();
    let mut priorities: Vec<Option<u32>> = vec![None; count];
    let above = u32::try_from(count).ok()? + 1;
    // Where several hold, the one with the latest deadline goes lowest.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(set.tasks[index].deadline), index));
    for level in 1..above {
        // Those without a level stand above it, in any order: a bound does not depend on it.
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

/// How far execution times can grow, or must shrink, until the first deadline is missed: the
/// largest factor that holds, in ten-thousandths, by bisection. Costs of the kernel stay as they are.
/// 0 where nothing holds.
pub fn breakdown(set: &Set, holds: impl Fn(&Set) -> bool) -> u64 {
    let utilisation = set.utilisation_exact().max(1e-9);
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

/// The slowest clock with which a set holds, in ten-thousandths of what it is, by bisection: all times are
/// fewer cycles then, and execution and costs as many. `None` where it does not hold as it is.
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

/// The least slack of all tasks, in cycles: deadline less bound. `None` where a task has no bound.
pub fn least_slack(set: &Set, model: &Model, costs: &Costs) -> Option<i64> {
    let bounds = model.bounds(set, costs);
    let slack = set.tasks.iter().zip(bounds).map(|(task, bound)| {
        let response = i64::try_from(bound.ok()?.response).ok()?;
        Some(i64::try_from(task.deadline).ok()? - response)
    });
    slack.collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// What the least slack would grow by if a cost were nothing, for each that matters, in
/// descending order.
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
