//! Calibration of images whose tasks yield only at the ends of their jobs and are released by a
//! tick: lilos and the event loop.
//!
//! lilos masks interrupts during a round, so all of its costs are between marks of jobs, ticks and
//! handlers. The event loop's handlers interrupt closures; their cost is how much longer a job
//! takes.

use rtmark_plan::{Cost, Costs, Figure, Order};

use crate::alarm::NEVER;
use crate::calibrate::{
    Calibration, Extremes, SHORT, is_begin, is_end, is_tick, locked, loop_cycles, plain, row, spans,
};
use crate::image::{Bench, InterruptSource, Row, SetError, Stretch, Table};
use crate::run::{EventFilter, Mark};

/// Cycles of a tick in which a long job runs undisturbed.
const QUIET_TICK: u64 = 400_000;

/// Cycles of a tick: longer than a round of short jobs.
const TICK: u64 = 30_000;

/// Cycles of a tick while interrupts move across it.
const SHORT_TICK: u64 = 8_000;

/// Upper limit for the cycles of a round that polls no task together with the preceding tick
/// handler.
const EMPTY_ROUND: u64 = 1_600;

/// Cycles by which interrupts shift from one to the next.
const STEP: u64 = 3;

/// Ticks observed.
const TICKS: u64 = 60;

/// Ticks from one job of a measured task to the next.
const PERIOD: u64 = 12;

/// Rounds of a job that lasts for several ticks.
const LONG: u64 = 30_000;

/// The measured costs of the kernel for a task that waits or runs.
struct TurnCosts {
    tick: Extremes,
    release: Extremes,
    start: Extremes,
    end: Extremes,
    held: Extremes,
    lock: Extremes,
    interrupt: Extremes,
    wake: Extremes,
    wait: Extremes,
}

impl Bench {
    /// Calibrates an image whose tasks take turns and are released by ticks.
    pub(crate) fn calibrate_turns(&self) -> Result<Calibration, SetError> {
        let (mut thousand, mut stretch, mut job) = (0, 0, 0);
        // Each task has its own code.
        for slot in 0..self.tasks() {
            let alone = |stretches: &[Stretch]| -> Result<u64, SetError> {
                Ok(self.alone_in(slot, stretches)?.worst)
            };
            let (each, own, around) = loop_cycles(alone)?;
            thousand = thousand.max(each);
            stretch = stretch.max(own);
            job = job.max(around);
        }
        let costs = self.turn_costs()?;
        Ok(Calibration { thousand, stretch, job, costs })
    }

    fn turn_costs(&self) -> Result<Costs, SetError> {
        let messages = self.messages()?;
        let seen = match self.order {
            Order::Rounds => self.rounds()?,
            _ => self.loops(messages.longest())?,
        };
        let mut costs = Costs::default();
        let mut add = |cost, seen: Extremes, scenario: &str| {
            let scenario = format!("on the image: {scenario}");
            let Extremes { least, worst: cycles, samples } = seen;
            costs.known.insert(cost, Figure { cycles, scenario, least, samples });
        };
        add(Cost::Tick, seen.tick, "a tick without releases");
        add(Cost::Release, seen.release, "ticks with one more release");
        add(
            Cost::Start,
            seen.start,
            "from the tick to the first instruction of a job, less a tick",
        );
        add(Cost::End, seen.end, "from an end to the next job");
        let held = match self.order {
            Order::Rounds => "a round that polls no task",
            _ => "the longest call",
        };
        add(Cost::HeldBack, seen.held, held);
        add(Cost::Lock, seen.lock, "time that a lock adds to a job");
        for (cost, seen, scenario) in messages.costs() {
            add(cost, seen, scenario);
        }
        add(Cost::Interrupt, seen.interrupt, "a handler that wakes no task");
        add(Cost::Wake, seen.wake, "from an interrupt to the task that it wakes");
        add(Cost::Wait, seen.wait, "from an end to the next job, waiting for an interrupt");
        Ok(costs)
    }

    /// Returns rows for all of the image's tasks, each in its slot. Tasks for which `row_of`
    /// returns `None` are never released.
    fn filled(&self, row_of: impl Fn(usize) -> Option<Row>) -> Vec<Row> {
        let count = self.tasks();
        let priority = |slot: usize| (count - slot) as u64;
        let never = |slot: usize| row(priority(slot), 1, NEVER, &[]);
        let of = |slot: usize| {
            row_of(slot).map_or_else(|| never(slot), |row| Row { priority: priority(slot), ..row })
        };
        (0..count).map(of).collect()
    }

    /// Returns the length of undisturbed jobs of one of the image's tasks.
    fn alone_in(&self, slot: usize, stretches: &[Stretch]) -> Result<Extremes, SetError> {
        let rows = self.filled(|at| (at == slot).then(|| row(1, 1, 0, stretches)));
        let table = Table { tick: QUIET_TICK, rows, ..Table::default() };
        let marks = self.marks(&table, 8, EventFilter::All)?;
        Extremes::of(spans(&marks, is_begin, is_end, is_tick), "a job")
    }

    /// Measures taking and releasing a lock: by its calls, or by how much longer a job takes with
    /// one.
    fn turn_locks(&self) -> Result<Extremes, SetError> {
        let mut found: Option<Extremes> = None;
        for slot in 0..self.tasks() {
            let stretches = |middle: Stretch| [plain(SHORT), middle, plain(SHORT)];
            let rows =
                self.filled(|at| (at == slot).then(|| row(1, 1, 0, &stretches(locked(SHORT)))));
            let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
            let takes = spans(&marks, |it| it == Mark::Take, |it| it == Mark::Taken, is_tick);
            let gives = spans(&marks, |it| it == Mark::Give, |it| it == Mark::Given, is_tick);
            let (takes, gives) = (Extremes::of(takes, "a take")?, Extremes::of(gives, "a give")?);
            let jobs = Extremes::of(spans(&marks, is_begin, is_end, is_tick), "a job")?;
            let quiet = self.alone_in(slot, &stretches(plain(SHORT)))?;
            let both = Extremes {
                least: takes.least + gives.least,
                worst: (takes.worst + gives.worst).max(jobs.worst.saturating_sub(quiet.least)),
                samples: takes.samples + gives.samples,
            };
            found = Some(found.map_or(both, |found| found.with(both)));
        }
        found.ok_or(SetError::NotObserved("a lock"))
    }

    /// Measures from a tick to the first instruction of the only job that it releases, with the
    /// processor asleep; `besides` further tasks are released at the same time and run after it.
    ///
    /// The other tasks wait for shorter times, so this one is inserted behind them if timers are a
    /// list.
    fn starts(&self, slot: usize, besides: usize) -> Result<Extremes, SetError> {
        // The tasks released with it come after it in the image; their order does not matter.
        let rows = self.filled(|at| {
            let offset = if (slot..=slot + besides).contains(&at) { 0 } else { 5 };
            Some(row(1, PERIOD, offset, &[plain(SHORT)]))
        });
        let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
        let begins = |mark: Mark| mark == Mark::Begin(slot);
        Extremes::of(spans(&marks, is_tick, begins, is_end), "a start")
    }

    /// Measures from an end to the beginning of another job released by the same tick, for all
    /// pairs of tasks, without releases of the tasks between them.
    fn ends(&self) -> Result<Vec<u64>, SetError> {
        let mut found = Vec::new();
        for last in 1..self.tasks() {
            for first in 0..last {
                let rows = self.filled(|at| {
                    let offset = if at == first || at == last { 0 } else { 5 };
                    Some(row(1, PERIOD, offset, &[plain(SHORT)]))
                });
                let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
                found.extend(spans(&marks, is_end, is_begin, is_tick));
            }
        }
        Ok(found)
    }

    /// Measures from an interrupt to the task that it wakes, with the processor asleep, and from
    /// the end of that task to the next job.
    fn wakes(&self) -> Result<(Extremes, Extremes), SetError> {
        let (mut wakes, mut waits) = (Vec::new(), Vec::new());
        let pend = |mark: Mark| matches!(mark, Mark::Pended(_));
        let woken = Row { interrupt: Some(0), ..row(1, 1, 0, &[plain(SHORT)]) };
        let others = |at: usize| row(1, PERIOD, 5 + at as u64 % 2, &[plain(SHORT)]);
        for slot in 0..self.tasks() {
            let rows = self.filled(|at| (at == slot).then(|| woken.clone()));
            let pended =
                InterruptSource { rounds: 0, distance: 2 * TICK + 1_001, offset: TICK / 2 };
            let alone = Table { interrupts: vec![pended], ..table(rows) };
            let marks = self.marks(&alone, TICKS, EventFilter::All)?;
            wakes.extend(spans(&marks, pend, |it| it == Mark::Begin(slot), is_tick));
            // The tick that releases the others occurs at the same time, or while the job runs so
            // that they can queue up.
            let (rounds, before) = match self.order {
                Order::Rounds => (SHORT, 0),
                _ => (LONG / 10, TICK / 20),
            };
            let long = Row { stretches: vec![plain(rounds)], ..woken.clone() };
            let rows = self.filled(|at| Some(if at == slot { long.clone() } else { others(at) }));
            let offset = 5 * TICK - before;
            let pended = InterruptSource { rounds: 0, distance: PERIOD * TICK, offset };
            let together = Table { interrupts: vec![pended], ..table(rows) };
            let marks = self.marks(&together, TICKS, EventFilter::All)?;
            waits.extend(spans(&marks, |it| it == Mark::End(slot), is_begin, is_tick));
        }
        Ok((Extremes::of(wakes, "a wake")?, Extremes::of(waits, "a wait")?))
    }

    /// Measures how much one more release in a tick costs.
    fn release_rise(&self) -> Result<Extremes, SetError> {
        let all = (0..self.tasks()).map(|besides| self.starts(0, besides));
        let all: Vec<Extremes> = all.collect::<Result<_, _>>()?;
        let rises = all.windows(2).map(|pair| Extremes {
            least: pair[1].least.saturating_sub(pair[0].worst),
            worst: pair[1].worst.saturating_sub(pair[0].least),
            samples: pair[1].samples,
        });
        rises.reduce(Extremes::with).ok_or(SetError::NotObserved("a second task"))
    }

    /// Measures the start of each task alone, without the tick.
    fn start_alone(&self, tick: Extremes) -> Result<Extremes, SetError> {
        let all = (0..self.tasks()).map(|slot| self.starts(slot, 0));
        let all = all.collect::<Result<Vec<_>, _>>()?.into_iter().reduce(Extremes::with);
        let Extremes { least, worst, samples } = all.ok_or(SetError::NotObserved("a start"))?;
        let (least, worst) = (least.saturating_sub(tick.worst), worst.saturating_sub(tick.least));
        Ok(Extremes { least, worst, samples })
    }

    /// Measures the costs of lilos.
    fn rounds(&self) -> Result<TurnCosts, SetError> {
        let idle = Table { tick: TICK, rows: self.filled(|_| None), ..Table::default() };
        let marks = self.marks(&idle, TICKS, EventFilter::All)?;
        let ticks = spans(&marks, is_tick, |mark| mark == Mark::TickDone, is_begin);
        let tick = Extremes::of(ticks, "a tick")?;
        let pended = InterruptSource { rounds: 0, distance: 7_001, offset: 11_000 };
        let marks =
            self.marks(&Table { interrupts: vec![pended], ..idle }, TICKS, EventFilter::All)?;
        let pend = |mark: Mark| matches!(mark, Mark::Pended(_));
        let handled = |mark: Mark| matches!(mark, Mark::Handled(_));
        let interrupt = Extremes::of(spans(&marks, pend, handled, is_tick), "an interrupt")?;
        let (wake, wait) = self.wakes()?;
        Ok(TurnCosts {
            tick,
            release: self.release_rise()?,
            start: self.start_alone(tick)?,
            end: Extremes::of(self.ends()?, "an end")?,
            held: self.empty_round()?,
            lock: self.turn_locks()?,
            interrupt,
            wake,
            wait,
        })
    }

    /// Measures the longest delay that a round polling no task causes for a task woken just after
    /// the round has begun: interrupts occur at all distances from a tick that finds nothing to do.
    fn empty_round(&self) -> Result<Extremes, SetError> {
        let mut found: Option<Extremes> = None;
        for slot in [0, self.tasks() - 1] {
            let woken = Row { interrupt: Some(0), ..row(1, 1, 0, &[plain(SHORT)]) };
            let rows = self.filled(|at| (at == slot).then(|| woken.clone()));
            // From well before the tick until long after it.
            let offset = 3 * SHORT_TICK - EMPTY_ROUND / 8;
            let pended = InterruptSource { rounds: 0, distance: 2 * SHORT_TICK + STEP, offset };
            let table =
                Table { tick: SHORT_TICK, rows, interrupts: vec![pended], ..Table::default() };
            let ticks = 2 * EMPTY_ROUND / STEP;
            let marks = self.marks(&table, ticks, EventFilter::All)?;
            let pend = |mark: Mark| matches!(mark, Mark::Pended(_));
            let wakes = spans(&marks, pend, |it| it == Mark::Begin(slot), |_| false);
            let wakes = Extremes::of(wakes, "a wake")?;
            let held = Extremes { least: 0, worst: wakes.worst - wakes.least, ..wakes };
            found = Some(found.map_or(held, |found| found.with(held)));
        }
        found.ok_or(SetError::NotObserved("a round"))
    }

    /// Measures the costs of the event loop; its handlers are measured by how much they prolong a
    /// job.
    fn loops(&self, longest_message: u64) -> Result<TurnCosts, SetError> {
        let runner = row(1, PERIOD, 0, &[plain(LONG)]);
        let quiet = self.alone_in(0, &runner.stretches)?;
        let with = |others: &dyn Fn(usize) -> Option<Row>| {
            self.filled(|at| if at == 0 { Some(runner.clone()) } else { others(at) })
        };
        let longer = |table: &Table| -> Result<Vec<(u64, u64)>, SetError> {
            let marks = self.marks(table, TICKS, EventFilter::All)?;
            Ok(first_task_jobs(&marks, quiet.least))
        };
        let ticks = longer(&table(with(&|_| None)))?;
        let each = ticks.iter().filter(|(_, ticks)| *ticks > 0);
        let tick = Extremes::of(each.map(|(longer, ticks)| longer.div_ceil(*ticks)), "a tick")?;
        let mut releases = Vec::new();
        for count in 1..self.tasks() {
            // These wait for longer than all others, and are inserted behind them.
            let rows = with(&|at| {
                let is_due = at <= count;
                let (period, offset) = if is_due { (2 * PERIOD, 1) } else { (PERIOD, 8) };
                Some(row(1, period, offset, &[plain(SHORT)]))
            });
            let jobs = longer(&table(rows))?;
            let beyond =
                jobs.iter().map(|(longer, ticks)| longer.saturating_sub(ticks * tick.least));
            releases.extend(beyond.map(|cycles| cycles.div_ceil(count as u64)));
        }
        // In every other job, each time slightly later.
        let distance = 2 * PERIOD * TICK + 7;
        let pended = InterruptSource { rounds: 0, distance, offset: TICK + TICK / 3 };
        let interrupted = Table { interrupts: vec![pended], ..table(with(&|_| None)) };
        let marks = self.marks(&interrupted, 4 * TICKS, EventFilter::All)?;
        let jobs = first_task_jobs(&marks, quiet.least);
        let beyond = jobs.iter().map(|(longer, ticks)| longer.saturating_sub(ticks * tick.least));
        let (wake, wait) = self.wakes()?;
        let end = Extremes::of(self.ends()?, "an end")?;
        Ok(TurnCosts {
            tick,
            release: Extremes::of(releases, "a release")?,
            start: self.start_alone(tick)?,
            end,
            held: Extremes { worst: end.worst.max(longest_message), ..end },
            lock: self.turn_locks()?,
            interrupt: Extremes::of(beyond, "an interrupt")?,
            wake,
            wait,
        })
    }
}

fn table(rows: Vec<Row>) -> Table {
    Table { tick: TICK, rows, ..Table::default() }
}

/// Returns how much longer than a quiet job each job of the first task took, and how many ticks it
/// contained.
fn first_task_jobs(marks: &[(Mark, u64)], quiet: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut begun = None;
    let mut ticks = 0;
    for &(mark, cycle) in marks {
        match (mark, begun) {
            (Mark::Begin(0), _) => (begun, ticks) = (Some(cycle), 0),
            (Mark::Tick, Some(_)) => ticks += 1,
            (Mark::End(0), Some(from)) => {
                found.push(((cycle - from).saturating_sub(quiet), ticks));
                begun = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
