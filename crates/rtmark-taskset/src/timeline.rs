//! Repeats a run with a witness to record what ran when.
//!
//! This follows from the marks: of the jobs that have begun, the most urgent one runs, or, if it
//! waits for a lock, the lock's holder. Handlers take precedence over jobs from their first
//! instruction to their return.

use rtmark_plan::{Actor, Order, ReleasePlan, Set, SlicePlan, Timeline};

use crate::calibrate::Calibration;
use crate::image::{Bench, SetError, Stretch, Table};
use crate::run::{EventFilter, Mark, Witness};
use crate::search::TaskResult;

/// The state of a task at a moment.
#[derive(Clone, Debug, Default)]
struct Job {
    begun: bool,
    /// Number of locks it has requested in this job.
    requests: usize,
    waits: Option<usize>,
    /// The locks it holds, the innermost last.
    holds: Vec<usize>,
}

struct State<'a> {
    set: &'a Set,
    order: Order,
    table: &'a Table,
    jobs: Vec<Job>,
    clock: bool,
    interrupts: Vec<bool>,
}

impl Bench {
    /// Returns what ran in a witness's run from slightly before the release of its job to the job's
    /// end, or `None` if there is no witness because the job had not ended.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn timeline(
        &self,
        set: &Set,
        calibration: &Calibration,
        found: &TaskResult,
    ) -> Result<Option<Timeline>, SetError> {
        let Some(witness) = found.witness else { return Ok(None) };
        let mut shifted = set.clone();
        for (task, offset) in shifted.tasks.iter_mut().zip(&found.offsets) {
            task.offset = *offset;
        }
        let table = self.table(&shifted, calibration)?;
        let ticks = witness.ended.div_ceil(table.tick) + 1;
        let marks = self.marks(&table, ticks, EventFilter::Timeline)?;
        let start = self.start(&table, &marks)?;
        Ok(Some(timeline_of(set, self.order, &table, &marks, start, witness)))
    }
}

/// Reads off a run's marks what ran from slightly before a witness's release to its end; offsets count from
/// cycle `start`.
fn timeline_of(
    set: &Set,
    order: Order,
    table: &Table,
    marks: &[(Mark, u64)],
    start: u64,
    witness: Witness,
) -> Timeline {
    let length = witness.ended - witness.released;
    let from = witness.released.saturating_sub(length / 12);
    let until = witness.ended + length / 40;
    let mut state = State {
        set,
        order,
        table,
        jobs: vec![Job::default(); table.rows.len()],
        clock: false,
        interrupts: vec![false; table.interrupts.len()],
    };
    let mut ran: Vec<SlicePlan> = Vec::new();
    let mut before = 0;
    for &(mark, cycle) in marks {
        let (begun, ended) = (before.max(from), cycle.min(until));
        if let Some((who, lock)) = state.who().filter(|_| begun < ended) {
            match ran.last_mut() {
                Some(last) if last.until == begun && last.who == who && last.lock == lock => {
                    last.until = ended;
                }
                _ => ran.push(SlicePlan { who, from: begun, until: ended, lock }),
            }
        }
        state.apply(mark);
        before = cycle;
    }
    let mut releases = Vec::new();
    for (task, row) in set.tasks.iter().zip(&table.rows) {
        let all = (0..).map(|job| table.release(row, job, start));
        let within = all.take_while(|at| *at < until).filter(|at| *at >= from);
        releases.extend(within.map(|at| ReleasePlan { task: task.name.clone(), at }));
    }
    releases.sort_by_key(|release| release.at);
    Timeline { from, until, ran, releases }
}

impl State<'_> {
    /// Returns the task whose job would run if no handler did.
    fn job(&self) -> Option<usize> {
        let begun = (0..self.jobs.len()).filter(|at| self.jobs[*at].begun);
        let mut at = begun.max_by_key(|at| self.table.rows[*at].priority)?;
        // No chain of waits is longer than the number of tasks.
        for _ in 0..self.jobs.len() {
            let Some(lock) = self.jobs[at].waits else { break };
            match self.jobs.iter().position(|job| job.holds.contains(&lock)) {
                Some(holder) => at = holder,
                None => break,
            }
        }
        Some(at)
    }

    fn who(&self) -> Option<(Actor, Option<String>)> {
        if let Some(at) = self.interrupts.iter().position(|handled| *handled) {
            let name = self.set.interrupts.get(at)?.name.clone();
            return Some((Actor::Interrupt(name), None));
        }
        // During a round, a tick stays pending.
        let is_masked = self.order == Order::Rounds && self.jobs.iter().any(|job| job.begun);
        if self.clock && !is_masked {
            return Some((Actor::Clock, None));
        }
        let at = self.job()?;
        let innermost = self.jobs[at].holds.last();
        let lock = innermost.and_then(|lock| self.set.locks.get(*lock).cloned());
        Some((Actor::Task(self.set.tasks[at].name.clone()), lock))
    }

    fn apply(&mut self, mark: Mark) {
        match mark {
            Mark::Begin(task) => self.jobs[task] = Job { begun: true, ..Job::default() },
            Mark::End(task) => self.jobs[task] = Job::default(),
            Mark::TickEntered => self.clock = true,
            Mark::TickDone => self.clock = false,
            Mark::Entered(at) => self.interrupts[at] = true,
            Mark::Handled(at) => self.interrupts[at] = false,
            Mark::Take => {
                if let Some(task) = self.job() {
                    let stretches = self.table.rows[task].stretches.iter();
                    let mut locks = stretches.flat_map(Stretch::locks);
                    self.jobs[task].waits = locks.nth(self.jobs[task].requests);
                    self.jobs[task].requests += 1;
                }
            }
            Mark::Taken => {
                let free = |job: &Job| {
                    let held = |lock| self.jobs.iter().any(|other| other.holds.contains(&lock));
                    job.waits.is_some_and(|lock| !held(lock))
                };
                let waiting = (0..self.jobs.len()).filter(|at| free(&self.jobs[*at]));
                if let Some(task) = waiting.max_by_key(|at| self.table.rows[*at].priority) {
                    let taken = self.jobs[task].waits.take();
                    self.jobs[task].holds.extend(taken);
                }
            }
            Mark::Give => {
                if let Some(task) = self.job() {
                    self.jobs[task].holds.pop();
                }
            }
            Mark::Tick | Mark::Switched | Mark::Pended(_) | Mark::Given => {}
        }
    }
}

#[cfg(test)]
mod tests;
