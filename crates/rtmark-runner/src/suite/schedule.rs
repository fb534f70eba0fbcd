//! Decides what processors do next, so that the first platform's answers are complete early: of all runs, the longest
//! one of the earliest stage; builds of a stage once earlier ones leave a processor free.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rtmark_units::Cycles;

/// Builds and runs of a plan. `R` is a run that waits for a processor.
pub struct Schedule<R> {
    /// Each stage's units, by their indices in the plan.
    stages: Vec<Range<usize>>,
    /// The number of processors.
    processors: usize,
    load: Mutex<Load<R>>,
    changed: Condvar,
}

/// What the schedule goes by.
struct Load<R> {
    /// Each stage's number of builds that have not ended.
    builds: Vec<usize>,
    /// Each stage's number of runs that have not ended.
    runs: Vec<usize>,
    /// The runs that have not begun: by stage, from the longest to the shortest, in the order of arrival.
    waiting: BTreeMap<(usize, Reverse<Cycles>, usize), R>,
    /// The number of runs that have arrived.
    arrived: usize,
    /// Nobody waits for results any more.
    closed: bool,
}

impl<R> Load<R> {
    /// Returns whether the stages before one leave no processor free.
    fn is_full_before(&self, stage: usize, processors: usize) -> bool {
        let unfinished = self.builds[..stage].iter().chain(&self.runs[..stage]);
        unfinished.sum::<usize>() >= processors
    }
}

impl<R> Schedule<R> {
    /// Schedules these stages, which consist of consecutive units. `builds` are the units that are built.
    pub fn new(
        stages: Vec<Range<usize>>,
        builds: impl Iterator<Item = usize>,
        processors: usize,
    ) -> Self {
        let none = vec![0; stages.len()];
        let load = Load {
            builds: none.clone(),
            runs: none,
            waiting: BTreeMap::new(),
            arrived: 0,
            closed: false,
        };
        let mut schedule =
            Self { stages, processors, load: Mutex::new(load), changed: Condvar::new() };
        for unit in builds {
            let stage = schedule.stage(unit);
            let load = schedule.load.get_mut().unwrap_or_else(PoisonError::into_inner);
            load.builds[stage] += 1;
        }
        schedule
    }

    /// Returns the number of processors, which is that of runs at a time.
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Returns the number of stages.
    pub fn stages(&self) -> usize {
        self.stages.len()
    }

    /// Returns the units of a stage.
    pub fn units(&self, stage: usize) -> Range<usize> {
        self.stages[stage].clone()
    }

    /// Returns the stage of a unit.
    pub fn stage(&self, unit: usize) -> usize {
        self.stages.iter().position(|units| units.contains(&unit)).unwrap_or(0)
    }

    fn load(&self) -> MutexGuard<'_, Load<R>> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Load<R>) -> T) -> T {
        let changed = change(&mut self.load());
        self.changed.notify_all();
        changed
    }

    /// Waits until earlier stages leave a processor free for building a unit's firmware. Returns how many processors
    /// the build may occupy: more than one if there are fewer builds than processors.
    pub fn await_build(&self, unit: usize) -> usize {
        let stage = self.stage(unit);
        let waits =
            |load: &mut Load<R>| load.is_full_before(stage, self.processors) && !load.closed;
        let load = self.changed.wait_while(self.load(), waits);
        let load = load.unwrap_or_else(PoisonError::into_inner);
        self.processors.div_ceil(load.builds[stage].max(1))
    }

    /// Notes the end of the build of a unit's firmware.
    pub fn end_build(&self, unit: usize) {
        let stage = self.stage(unit);
        self.change(|load| load.builds[stage] -= 1);
    }

    /// Adds runs of a stage, each with the cycles that it may take.
    pub fn add(&self, stage: usize, runs: impl Iterator<Item = (Cycles, R)>) {
        self.change(|load| {
            for (budget, run) in runs {
                load.waiting.insert((stage, Reverse(budget), load.arrived), run);
                load.arrived += 1;
                load.runs[stage] += 1;
            }
        });
    }

    /// Waits for the next run. Returns none when the schedule is closed.
    pub fn next_run(&self) -> Option<R> {
        let waits = |load: &mut Load<R>| load.waiting.is_empty() && !load.closed;
        let load = self.changed.wait_while(self.load(), waits);
        let mut load = load.unwrap_or_else(PoisonError::into_inner);
        if load.closed { None } else { load.waiting.pop_first().map(|(_, run)| run) }
    }

    /// Notes the end of this many runs of a stage.
    pub fn end_runs(&self, stage: usize, runs: usize) {
        self.change(|load| load.runs[stage] -= runs);
    }

    /// Returns whether none of a stage's runs is waiting or in progress.
    pub fn is_idle(&self, stage: usize) -> bool {
        self.load().runs[stage] == 0
    }

    /// Closes the schedule when the result is dropped: nothing waits any more, and no run begins.
    pub fn close_at_end(&self) -> ClosesAtEnd<'_, R> {
        ClosesAtEnd(self)
    }
}

/// Closes a schedule when it is dropped.
pub struct ClosesAtEnd<'a, R>(&'a Schedule<R>);

impl<R> Drop for ClosesAtEnd<'_, R> {
    fn drop(&mut self) {
        self.0.change(|load| {
            load.closed = true;
            load.waiting.clear();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;

    /// Two stages of three units each, on this many processors.
    fn schedule(processors: usize) -> Schedule<&'static str> {
        Schedule::new(vec![0..3, 3..6], 0..6, processors)
    }

    /// Returns whether a build waits while `change` has not happened, and begins once it has.
    fn begins_after(schedule: &Schedule<&'static str>, unit: usize, change: impl FnOnce()) -> bool {
        let begun = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _closes = schedule.close_at_end();
            scope.spawn(|| {
                schedule.await_build(unit);
                begun.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(20));
            let waited = !begun.load(Ordering::SeqCst);
            change();
            for _ in 0..1000 {
                if begun.load(Ordering::SeqCst) {
                    return waited;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            false
        })
    }

    #[test]
    fn runs_of_the_earliest_stage_come_first_and_the_longest_of_these() {
        let schedule = schedule(2);
        let run = |cycles, name| (Cycles(cycles), name);
        schedule.add(1, [run(900, "later")].into_iter());
        schedule.add(0, [run(5, "short"), run(70, "long"), run(70, "as long")].into_iter());
        let order: Vec<_> = (0..4).filter_map(|_| schedule.next_run()).collect();
        assert_eq!(order, ["long", "as long", "short", "later"]);
    }

    #[test]
    fn a_closed_schedule_begins_nothing_and_lets_everybody_go() {
        let schedule = schedule(1);
        schedule.add(0, [(Cycles(1), "left over")].into_iter());
        drop(schedule.close_at_end());
        assert_eq!(schedule.next_run(), None);
        schedule.await_build(3);
    }

    #[test]
    fn builds_of_a_later_stage_wait_for_builds_of_earlier_ones() {
        let schedule = schedule(2);
        schedule.await_build(0);
        schedule.end_build(0);
        assert!(begins_after(&schedule, 3, || schedule.end_build(1)));
    }

    #[test]
    fn builds_of_a_later_stage_wait_for_runs_of_earlier_ones() {
        let schedule = schedule(2);
        (0..3).for_each(|unit| schedule.end_build(unit));
        schedule.add(0, [(Cycles(1), "one"), (Cycles(1), "other")].into_iter());
        assert!(begins_after(&schedule, 3, || schedule.end_runs(0, 1)));
    }

    #[test]
    fn runs_of_its_own_stage_hold_no_build_back() {
        let schedule = schedule(2);
        schedule.add(0, std::iter::repeat_n((Cycles(1), "run"), 9));
        schedule.await_build(2);
        assert!(!schedule.is_idle(0) && schedule.is_idle(1));
        schedule.end_runs(0, 9);
        assert!(schedule.is_idle(0));
    }

    #[test]
    fn the_last_builds_of_a_stage_share_all_processors() {
        let schedule = schedule(4);
        assert_eq!(schedule.await_build(0), 2);
        schedule.end_build(0);
        assert_eq!(schedule.await_build(1), 2);
        schedule.end_build(1);
        assert_eq!(schedule.await_build(2), 4);
    }
}
