//! Random task sets: utilizations by UUniFast-Discard, periods log-uniform in whole ticks.
//!
//! UUniFast is from Bini and Buttazzo (2005); draws with a utilization above one are discarded and
//! repeated. Execution times are derived from the periods after rounding.

use oorandom::Rand64;

use crate::set::{Interrupt, Queue, Release, Section, Set, Task};

/// Parameters of a random set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SetParameters {
    /// The number of tasks.
    pub tasks: usize,
    /// Their total utilization, as a share of the processor.
    pub utilisation: f64,
    /// Length of a tick in cycles.
    pub tick: u64,
    /// The shortest and the longest period, in ticks.
    pub periods: (u64, u64),
    /// The least execution time of a job, in cycles.
    pub least_work: u64,
    /// The number of locks; each task takes one of them or none.
    pub locks: usize,
    /// The number of interrupts, each of which releases one of the first tasks of the set.
    pub interrupts: usize,
}

/// Draws `count` utilizations that sum up to `utilisation`.
fn shares(draw: &mut Rand64, count: usize, utilisation: f64) -> Vec<f64> {
    loop {
        let mut left = utilisation;
        let mut shares = Vec::new();
        for others in (1..count).rev() {
            let next = left * draw.rand_float().powf(1.0 / others as f64);
            shares.push(left - next);
            left = next;
        }
        shares.push(left);
        if shares.iter().all(|share| *share <= 1.0) {
            return shares;
        }
    }
}

/// Draws a set. Priorities are rate-monotonic; of tasks with equal periods, the first is the more
/// urgent.
pub fn set(draw: &mut Rand64, parameters: &SetParameters) -> Set {
    let (shortest, longest) =
        (parameters.periods.0.max(1) as f64, parameters.periods.1.max(1) as f64);
    let mut tasks = Vec::new();
    for (number, share) in
        shares(draw, parameters.tasks.max(1), parameters.utilisation).into_iter().enumerate()
    {
        let exponent = shortest.ln() + draw.rand_float() * (longest.ln() - shortest.ln());
        let period = (exponent.exp().round() as u64).max(1) * parameters.tick;
        let work = ((period as f64 * share).ceil() as u64).max(parameters.least_work);
        let mut task = Task::new(&format!("t{number}"), 0, work, period);
        if parameters.locks > 0 && draw.rand_range(0..2) == 1 {
            let lock = draw.rand_range(0..parameters.locks as u64) as usize;
            // One twentieth to one fifth of the job.
            let cycles =
                (work * draw.rand_range(5..21) / 100).max(parameters.least_work / 4).max(1);
            task.sections.push(Section { lock, cycles, inside: None });
        }
        tasks.push(task);
    }
    let mut interrupts = Vec::new();
    for (number, task) in tasks.iter_mut().take(parameters.interrupts).enumerate() {
        // Interrupts are not aligned with ticks. Their handlers do one twentieth of the tasks'
        // work.
        task.period += draw.rand_range(0..parameters.tick);
        task.deadline = task.period;
        task.release = Release::Interrupt(number);
        let work = (task.work / 20).max(1);
        interrupts.push(Interrupt { name: format!("i{number}"), distance: task.period, work });
    }
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(tasks[index].period), std::cmp::Reverse(index)));
    for (priority, index) in (1..).zip(order) {
        tasks[index].priority = priority;
    }
    let locks = (0..parameters.locks).map(|number| format!("l{number}")).collect();
    Set { tick: parameters.tick, granule: 0.into(), tasks, locks, interrupts, queues: Vec::new() }
}

/// Lets some of the tasks that take the first of two locks take the second one within that section,
/// for one fifth to one half of its length. Returns how many do.
pub fn nest(draw: &mut Rand64, set: &mut Set) -> usize {
    let mut nested = 0;
    if set.locks.len() < 2 {
        return nested;
    }
    for task in &mut set.tasks {
        let outer = task.sections.iter().find(|section| section.lock == 0);
        let Some(cycles) = outer.map(|outer| outer.cycles) else { continue };
        if draw.rand_range(0..3) < 2 {
            let cycles = (cycles * draw.rand_range(20..51) / 100).max(1);
            task.sections.push(Section { lock: 1, cycles, inside: Some(0) });
            nested += 1;
        }
    }
    nested
}

/// Adds up to `queues` queues, each between two randomly chosen tasks. Each queue holds as many
/// messages as can accumulate; a queue that would need more than `most` is left out.
pub fn connect(draw: &mut Rand64, set: &mut Set, queues: usize, most: u64) {
    let count = set.tasks.len() as u64;
    for number in 0..queues {
        let from = draw.rand_range(0..count);
        let to = (from + draw.rand_range(1..count.max(2))) % count;
        let (from, to) = (from as usize, to as usize);
        let items = set.accumulated(from, to);
        if items <= most {
            // The capacity is exactly the most messages that accumulate, so this cannot fail.
            let _ = set.connect(Queue { name: format!("q{number}"), from, to, items });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_set_matches_its_parameters() {
        let mut draw = Rand64::new(7);
        let parameters = SetParameters {
            tasks: 5,
            utilisation: 0.8,
            tick: 10_000,
            periods: (2, 200),
            least_work: 400,
            locks: 2,
            interrupts: 0,
        };
        let sets: Vec<Set> = (0..500).map(|_| set(&mut draw, &parameters)).collect();
        for set in &sets {
            assert_eq!(set.tasks.len(), 5);
            assert!(set.utilisation_exact() >= 0.79, "{set:?}");
            for task in &set.tasks {
                let ticks = task.period / set.tick;
                assert!(task.period.is_multiple_of(set.tick) && (2..=200).contains(&ticks));
                let held: u64 = task.sections.iter().map(|section| section.cycles).sum();
                assert!(task.work >= 400, "{task:?}");
                let shares = (task.work / 20).max(100)..=(task.work / 5).max(100);
                assert!(task.sections.is_empty() || shares.contains(&held), "{task:?}");
            }
            let mut priorities: Vec<_> = set.tasks.iter().map(|task| task.priority).collect();
            priorities.sort_unstable();
            assert_eq!(priorities, [1, 2, 3, 4, 5]);
        }
        // UUniFast gives every task the same mean utilization.
        for place in 0..5 {
            let mean: f64 =
                (0..2000).map(|_| shares(&mut draw, 5, 0.8)[place]).sum::<f64>() / 2000.0;
            assert!((mean - 0.16).abs() < 0.015, "{place}: {mean}");
        }
        // Half of the periods are below the geometric mean of the limits.
        let all = sets.iter().flat_map(|set| &set.tasks);
        let short = all.filter(|task| task.period < 20 * 10_000).count();
        assert!((1050..1450).contains(&short), "{short}");
    }
}
