//! The longest responses over many offsets.

use oorandom::Rand64;
use rtmark_plan::{Cost, Release, Set, Task};

use crate::calibrate::Calibration;
use crate::image::{Bench, SetError};
use crate::run::{Observed, Traffic, Wake, Witness};

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many offsets are drawn besides the releases of all at once.
    pub offsets: u32,
    /// Where the draw begins.
    pub seed: u64,
    /// The most cycles of one run.
    pub cycles: u64,
}

/// The longest response of a task that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The response.
    pub longest: u64,
    /// Where it was; none where the job had not ended when the run was over.
    pub witness: Option<Witness>,
    /// The offsets of all tasks in that run, in cycles.
    pub offsets: Vec<u64>,
    /// How many of its jobs were seen in all runs.
    pub jobs: u64,
}

/// What a search brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The tasks, in the set's order.
    pub tasks: Vec<Found>,
    /// What went through the queues, in the set's order, all runs together.
    pub queues: Vec<Traffic>,
    /// How long the processor was awake, all runs together.
    pub wake: Wake,
}

impl Bench {
    /// Runs a set with the offsets it states, with all released at once, with those that are adverse to
    /// tasks that take turns or locks, and with others that are drawn, each for its hyperperiod or the most
    /// cycles of a run.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn search(
        &self,
        set: &Set,
        calibration: &Calibration,
        effort: Effort,
    ) -> Result<Searched, SetError> {
        let mut draw = Rand64::new(u128::from(effort.seed));
        let none = Found { longest: 0, witness: None, offsets: Vec::new(), jobs: 0 };
        let mut found = vec![none; set.tasks.len()];
        let slowest = set.tasks.iter().map(|task| task.period).max().unwrap_or(1);
        let cycles = set.hyperperiod(effort.cycles).unwrap_or(effort.cycles).max(2 * slowest);
        // An interrupt comes in any cycle, a release of the clock's in one of its units.
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
        // The releases of all at once stand in the place of the first ones that are drawn.
        let first = u32::from(tried[0].iter().all(|offset| *offset == 0));
        tried.extend((0..effort.offsets + first).map(drawn).skip(first as usize));
        let mut wake = Wake::default();
        let mut queues = vec![Traffic::default(); set.queues.len()];
        let mut shifted = set.clone();
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
        Ok(Searched { tasks: found, queues, wake })
    }

    /// Where tasks take turns: for each of them the offsets with which all others are woken at once, and
    /// it just after they have begun.
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

    /// Where tasks preempt each other: for each section of a task the offsets with which all others are
    /// released at once, just after that one's first job has taken the lock.
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
        // Sections of the most urgent task block nobody.
        let blocks = |task: &Task| set.tasks.iter().any(|other| other.priority > task.priority);
        for (number, task) in set.tasks.iter().enumerate().filter(|(_, task)| blocks(task)) {
            let outermost = task.sections.iter().filter(|section| section.inside.is_none());
            let held: u64 = outermost.clone().map(|section| section.cycles).sum();
            let between = task.work.saturating_sub(held) / (outermost.clone().count() as u64 + 1);
            let mut begins = cost(Cost::Tick) + cost(Cost::Start);
            for section in outermost {
                begins += between;
                // A twentieth, as the start is known at its worst only.
                let within = begins + cost(Cost::Lock) + section.cycles / 20;
                let release = |other: &Task| within.next_multiple_of(step(other));
                let ends = begins + section.cycles;
                begins = ends + cost(Cost::Lock);
                if set.tasks.iter().all(|other| release(other) < ends) {
                    let of = |(at, other)| if at == number { 0 } else { release(other) };
                    found.push(set.tasks.iter().enumerate().map(of).collect());
                }
            }
        }
        found
    }
}
