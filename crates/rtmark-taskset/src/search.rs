//! The search for the longest responses over many offsets.

use oorandom::Rand64;
use rtmark_plan::{Cost, Release, Set, Task};

use crate::calibrate::Calibration;
use crate::image::{Bench, SetError};
use crate::run::{Observed, Traffic, Wake, Witness};

/// The effort of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEffort {
    /// Number of random combinations of offsets, besides the stated and the adverse ones.
    pub offsets: u32,
    /// Seed of the random offsets.
    pub seed: u64,
    /// The most cycles per run.
    pub cycles: u64,
}

/// The longest response found for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResult {
    /// The response in cycles.
    pub longest: u64,
    /// Where it occurred; `None` if the job had not ended when the run was over.
    pub witness: Option<Witness>,
    /// The offsets of all tasks in that run, in cycles.
    pub offsets: Vec<u64>,
    /// Number of its jobs seen in all runs.
    pub jobs: u64,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// The tasks, in the set's order.
    pub tasks: Vec<TaskResult>,
    /// The traffic of the queues in all runs, in the set's order.
    pub queues: Vec<Traffic>,
    /// How long the processor was awake in all runs.
    pub wake: Wake,
    /// The number of runs, each from a combination of offsets.
    pub runs: u32,
}

impl Bench {
    /// Runs a set with its stated offsets (all tasks released at once, if it states none), with
    /// offsets that are adverse to tasks that take turns or locks, and with random ones. Each run
    /// lasts for the hyperperiod, limited to `effort.cycles`, but at least for two of the longest
    /// periods, and for one longest period more.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn search(
        &self,
        set: &Set,
        calibration: &Calibration,
        effort: SearchEffort,
    ) -> Result<SearchResult, SetError> {
        let mut draw = Rand64::new(u128::from(effort.seed));
        let none = TaskResult { longest: 0, witness: None, offsets: Vec::new(), jobs: 0 };
        let mut found = vec![none; set.tasks.len()];
        let slowest = set.tasks.iter().map(|task| task.period).max().unwrap_or(1);
        let cycles = set.hyperperiod(effort.cycles).unwrap_or(effort.cycles).max(2 * slowest);
        // An interrupt may occur in any cycle, a release by the clock only at multiples of its
        // unit.
        let step = |task: &Task| match task.release {
            Release::Clock => self.unit(set).max(1),
            Release::Interrupt(_) => 1,
        };
        let mut tried = vec![set.tasks.iter().map(|task| task.offset).collect::<Vec<u64>>()];
        tried.extend(self.behind_all_others(set, calibration, step));
        tried.extend(self.within_sections(set, calibration, step));
        let drawn = |_| -> Vec<u64> {
            let drawn = set.tasks.iter().map(|task| {
                let step = step(task);
                draw.rand_range(0..(task.period / step).max(1)) * step
            });
            drawn.collect()
        };
        // If the stated offsets release all tasks at once, the first draw is skipped.
        let first = u32::from(tried[0].iter().all(|offset| *offset == 0));
        tried.extend((0..effort.offsets + first).map(drawn).skip(first as usize));
        let mut wake = Wake::default();
        let mut queues = vec![Traffic::default(); set.queues.len()];
        let mut shifted = set.clone();
        let runs = u32::try_from(tried.len()).unwrap_or(u32::MAX);
        for offsets in tried {
            for (task, offset) in shifted.tasks.iter_mut().zip(offsets) {
                task.offset = offset;
            }
            let ran = self.run(&shifted, calibration, cycles + slowest)?;
            wake = wake.with(ran.wake);
            for (all, one) in queues.iter_mut().zip(ran.queues) {
                *all = all.with(one);
            }
            for (found, seen) in found.iter_mut().zip(ran.tasks) {
                let Observed { jobs, longest, witness } = seen;
                found.jobs += jobs;
                if longest > found.longest {
                    (found.longest, found.witness) = (longest, witness);
                    found.offsets = shifted.tasks.iter().map(|task| task.offset).collect();
                }
            }
        }
        Ok(SearchResult { tasks: found, queues, wake, runs })
    }

    /// For orders with turns: returns, for each task, offsets with which all others are woken at
    /// once and it is woken just after they have begun.
    fn behind_all_others(
        &self,
        set: &Set,
        calibration: &Calibration,
        step: impl Fn(&Task) -> u64,
    ) -> Vec<Vec<u64>> {
        if !self.order.takes_turns() || set.tasks.len() < 2 {
            return Vec::new();
        }
        let start = calibration.costs.known.get(&Cost::Start).map_or(0, |figure| figure.cycles);
        let of = |last: usize| {
            let behind = |(number, task): (usize, &Task)| {
                if number == last { start.next_multiple_of(step(task)) } else { 0 }
            };
            set.tasks.iter().enumerate().map(behind).collect()
        };
        (0..set.tasks.len()).map(of).collect()
    }

    /// For preemptive orders: returns, for each section of a task, offsets with which all others
    /// are released at once, just after that task's first job has taken the lock. Those whose clock
    /// comes only after the section are released then; a more urgent one has to come within.
    fn within_sections(
        &self,
        set: &Set,
        calibration: &Calibration,
        step: impl Fn(&Task) -> u64,
    ) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        if self.order.takes_turns() {
            return found;
        }
        let cost = |cost| calibration.costs.known.get(&cost).map_or(0, |figure| figure.cycles);
        // Sections of the most urgent task block no other task.
        let blocks = |task: &Task| set.tasks.iter().any(|other| other.priority > task.priority);
        for (number, task) in set.tasks.iter().enumerate().filter(|(_, task)| blocks(task)) {
            let outermost = task.sections.iter().filter(|section| section.inside.is_none());
            let held: u64 = outermost.clone().map(|section| section.cycles).sum();
            let between = task.work.saturating_sub(held) / (outermost.clone().count() as u64 + 1);
            let mut begins = cost(Cost::Tick) + cost(Cost::Start);
            for section in outermost {
                begins += between;
                // One twentieth into the section, because only the worst case of the start is
                // known.
                let within = begins + cost(Cost::Lock) + section.cycles / 20;
                let release = |other: &Task| within.next_multiple_of(step(other));
                let ends = begins + section.cycles;
                begins = ends + cost(Cost::Lock);
                let waits = |other: &Task| other.priority > task.priority && release(other) < ends;
                if set.tasks.iter().any(waits) {
                    let of = |(at, other)| if at == number { 0 } else { release(other) };
                    found.push(set.tasks.iter().enumerate().map(of).collect());
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
