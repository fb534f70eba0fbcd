//! Searches on top of the bound: feasible priorities, how far execution times can grow, and how
//! much each cost matters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::costs::{Cost, Costs};
use crate::model::Model;
use crate::set::{Set, Task};
use crate::turns::Turns;

/// The scale of factors for execution times: this many ten-thousandths are 1.
pub const WHOLE: u64 = 10_000;

/// How many bounds a search for priorities may compute when it goes back, times the number of tasks.
const MOST_BOUNDS: usize = 250_000;

/// Finds priorities with which every task meets its deadline, from the lowest level upwards, as Audsley's
/// algorithm does: each level goes to a task that holds with all remaining tasks above it. Levels begin at
/// 1.
///
/// That algorithm needs bounds that depend neither on the order of the tasks above nor on that of those
/// below. Here they may: who waits for a lock depends on the former, chains through nested locks on the
/// latter, and where tasks take turns, the other tasks' bounds matter. So an assignment counts only if the
/// whole set holds, and otherwise the search goes back. Returns `None` if no assignment holds; if going
/// back does not end within a limit, which takes more than eight tasks or so, also if none was found.
///
/// A task without a bound, whatever the reason, counts as one that does not hold.
pub fn assign(set: &Set, model: &Model, costs: &Costs) -> Option<Vec<u32>> {
    let count = set.tasks.len();
    // If several tasks hold, the one with the latest deadline gets the lowest level.
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&index| (Reverse(set.tasks[index].deadline), index));
    let mut search = Assignment {
        model,
        costs: [costs.clone(), costs.without(Cost::Contended)],
        turns: model.turns(set, costs, None).ok()?,
        trial: set.clone(),
        order,
        hopeless: BTreeSet::new(),
        left: count * count + MOST_BOUNDS / count.max(1),
    };
    search.set_levels();
    let found = if model.order.has_priorities() {
        search.descend(0) == Branch::Holds
    } else {
        search.holds()
    };
    found.then(|| search.trial.tasks.iter().map(|task| task.priority).collect())
}

/// What a branch of the search for priorities leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Branch {
    /// An assignment that holds.
    Holds,
    /// None that holds.
    Fails,
    /// Not even an assignment: some level fits no task, whatever the order of those above and below it.
    Hopeless,
}

/// A search for priorities.
struct Assignment<'a> {
    model: &'a Model,
    /// The costs, and the same without those that depend on the order of more urgent tasks.
    costs: [Costs; 2],
    /// What is known about turns before there are bounds.
    turns: Vec<Turns>,
    /// The set with the priorities tried now.
    trial: Set,
    /// The tasks from the lowest level upwards.
    order: Vec<usize>,
    /// Tasks, in ascending order, above which no assignment is possible.
    hopeless: BTreeSet<Vec<usize>>,
    /// The number of bounds that may still be computed.
    left: usize,
}

impl Assignment<'_> {
    fn set_levels(&mut self) {
        for (&index, level) in self.order.iter().zip(1..) {
            self.trial.tasks[index].priority = level;
        }
    }

    fn holds(&mut self) -> bool {
        self.left = self.left.saturating_sub(self.order.len());
        self.model.holds(&self.trial, &self.costs[0])
    }

    /// Returns whether a task may hold at its present level: with the present order of the others, or with
    /// any of them.
    fn fits(&mut self, index: usize, of: Others) -> bool {
        self.left = self.left.saturating_sub(1);
        let task = &self.trial.tasks[index];
        let takes_turns = self.model.order.takes_turns();
        let (costs, limit) = match of {
            Others::AsOrdered if takes_turns => (&self.costs[0], task.deadline.min(task.period)),
            Others::AsOrdered => (&self.costs[0], task.deadline),
            // Bounds of others may tighten this one, as long as it is not late.
            Others::InAnyOrder if takes_turns => (&self.costs[1], task.period),
            Others::InAnyOrder => (&self.costs[1], task.deadline),
        };
        let bound = self.model.bound_with(&self.trial, costs, index, &self.turns);
        bound.is_ok_and(|bound| bound.response <= limit)
    }

    /// Assigns the levels from `at` upwards, counted from 0; those below are assigned.
    fn descend(&mut self, at: usize) -> Branch {
        if at == self.order.len() {
            return if self.holds() { Branch::Holds } else { Branch::Fails };
        }
        let mut below = self.order[..at].to_vec();
        below.sort_unstable();
        if self.hopeless.contains(&below) {
            return Branch::Hopeless;
        }
        let mut is_hopeless = true;
        let mut tried = Vec::new();
        for of in [Others::AsOrdered, Others::InAnyOrder] {
            for from in at..self.order.len() {
                let index = self.order[from];
                if tried.contains(&index) {
                    continue;
                }
                self.order[at..=from].rotate_right(1);
                self.set_levels();
                if self.fits(index, of) {
                    tried.push(index);
                    match self.descend(at + 1) {
                        Branch::Holds => return Branch::Holds,
                        Branch::Fails => is_hopeless = false,
                        Branch::Hopeless => {}
                    }
                }
                self.order[at..=from].rotate_left(1);
                if self.left == 0 {
                    return Branch::Fails;
                }
            }
        }
        let is_nested = |task: &Task| task.sections.iter().any(|it| it.inside.is_some());
        // Through nested locks, it may depend on the order of the tasks below.
        if is_hopeless && !self.trial.tasks.iter().any(is_nested) {
            self.hopeless.insert(below);
            return Branch::Hopeless;
        }
        Branch::Fails
    }
}

/// The other tasks for which a task is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    /// In their present order.
    AsOrdered,
    /// At least in one order, as far as that can be said without trying all.
    InAnyOrder,
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
    found.sort_by_key(|&(cost, gained)| (Reverse(gained), cost));
    found
}
