//! Calibration of images whose tasks are released by timer alarms: the kernels in Rust.
//!
//! One task, the runner, executes a long job, and whatever occurs meanwhile prolongs it. Every
//! other job of the runner is left undisturbed, so the difference gives the cost of the disturbance
//! to the cycle, with all effects of caches and buffers.

use rtmark_plan::{Cost, Costs, Figure, Order, Protocol};

use crate::calibrate::{
    Calibration, Extremes, SHORT, is_begin, is_end, is_tick, locked, loop_cycles, nested, plain,
    row, spans,
};
use crate::image::{Alarm, Bench, InterruptSource, Row, SetError, Stretch, Table};
use crate::run::{EventFilter, Mark};

/// Approximate cycles of a tick in these tables.
const TICK: u64 = 15_000;

/// Ticks observed.
const TICKS: u64 = 240;

/// Ticks from one job of the runner to the next.
const PERIOD: u64 = 20;

/// Loop rounds of the runner's job: less than three ticks.
const LONG: u64 = 10_000;

/// The tick at which tasks are released while the runner works.
const DUE: u64 = 1;

/// The tick of releases that never occur.
pub(crate) const NEVER: u64 = 100_000;

/// Cycles by which interrupts shift from one job of the runner to the next.
const DRIFT: u64 = 7;

/// What a run showed about the runner, which is the table's first row.
struct RunnerTimes {
    /// For each disturbed job, the cycles by which it was longer than an undisturbed one, without
    /// the time from the others' first release to their last end; with the number of releases.
    longer: Vec<(u64, u64)>,
    /// Cycles from releases to the first instructions of jobs, if nothing ran in between; with the
    /// number of tasks released at once.
    starts: Vec<(u64, u64)>,
    /// Cycles from an end to the next beginning, if nothing was released in between.
    ends: Vec<u64>,
    /// Cycles from the timer's interrupt becoming pending to the handler's return, for interrupts
    /// within the runner's jobs that released one task.
    handled: Vec<u64>,
}

impl RunnerTimes {
    /// Reads the times off a run of `table` in which offsets count from cycle `start`. An undisturbed job
    /// of the runner takes `quiet` cycles.
    fn of(marks: &[(Mark, u64)], table: &Table, start: u64, quiet: u64) -> Self {
        let (mut starts, mut longer, mut handled) = (Vec::new(), Vec::new(), Vec::new());
        let mut jobs = vec![0; table.rows.len()];
        // If nothing began or ended since the release, the path to the first instruction was
        // direct.
        let mut last = 0;
        for &(mark, cycle) in marks.iter().filter(|(mark, _)| is_begin(*mark) || is_end(*mark)) {
            if let Mark::Begin(task) = mark {
                let released = table.release(&table.rows[task], jobs[task], start);
                jobs[task] += 1;
                if last <= released {
                    starts.push((cycle.saturating_sub(released), table.due(released, start)));
                }
            }
            last = cycle;
        }
        for run in jobs_of(marks, 0).into_iter().filter(|run| has_tick(run)) {
            // The others' releases within this job; together they last until the last of them ends.
            let due = |cycle: &u64| (run[0].1..run[run.len() - 1].1).contains(cycle);
            let releases = table.rows[1..]
                .iter()
                .flat_map(|row| (0..TICKS).map(|job| table.release(row, job, start)).filter(due));
            let releases: Vec<u64> = releases.collect();
            let Some(first) = releases.iter().min() else { continue };
            let last = run.iter().rev().find(|(mark, _)| matches!(mark, Mark::End(n) if *n > 0));
            let within = last.map_or(0, |(_, cycle)| cycle.saturating_sub(*first));
            let count = releases.len() as u64;
            if count == 1 {
                let done = spans(run, is_tick, |mark| mark == Mark::TickDone, |_| false);
                handled.extend(done);
            }
            longer.push((length(run).saturating_sub(quiet + within), count));
        }
        Self { longer, starts, ends: spans(marks, is_end, is_begin, is_tick), handled }
    }
}

impl Bench {
    /// Calibrates an image whose tasks are released by alarms.
    pub(crate) fn calibrate_alarm(&self, alarm: Alarm) -> Result<Calibration, SetError> {
        let (mut thousand, mut stretch, mut job) = (0, 0, 0);
        // Each task has its own code.
        for slot in 0..self.tasks() {
            let alone = |stretches: &[Stretch]| self.quiet_job(alarm, slot, stretches);
            let (each, own, around) = loop_cycles(alone)?;
            thousand = thousand.max(each);
            stretch = stretch.max(own);
            job = job.max(around);
        }
        let costs = self.alarm_costs(alarm)?;
        Ok(Calibration { thousand, stretch, job, costs })
    }

    /// Returns the longest undisturbed job of one of the image's tasks, in cycles.
    fn quiet_job(&self, alarm: Alarm, slot: usize, stretches: &[Stretch]) -> Result<u64, SetError> {
        let rows = self.alone_at(slot, stretches);
        let table = Table { tick: 4 * tick(alarm), ..table(alarm, rows) };
        let marks = self.marks(&table, 8, EventFilter::All)?;
        let jobs = spans(&marks, is_begin, is_end, |mark| mark == Mark::Tick);
        Ok(Extremes::of(jobs, "a job")?.worst)
    }

    /// Returns rows in which the first task of interest becomes the image's task `slot`, the others
    /// being never released. If priority levels belong to the image, its row comes first and the
    /// others are above it.
    fn alone_at(&self, slot: usize, stretches: &[Stretch]) -> Vec<Row> {
        let own = row(slot as u64 + 1, 1, 0, stretches);
        let never = |at: usize| row(at as u64 + 1, 1, NEVER, &[]);
        match self.protocol {
            Protocol::Ceiling => {
                std::iter::once(own).chain((slot + 1..self.tasks()).map(never)).collect()
            }
            _ => (0..slot).map(never).chain([own]).collect(),
        }
    }

    fn alarm_costs(&self, alarm: Alarm) -> Result<Costs, SetError> {
        let mut starts = Vec::new();
        let (mut ends, mut ticks, mut handled) = (Vec::new(), Vec::new(), Vec::new());
        for table in self.release_tables(alarm) {
            let shown = self.runner_times(alarm, &table)?;
            starts.extend(shown.starts);
            handled.extend(shown.handled);
            let mut due = table.rows[1..].iter().filter(|row| row.offset == DUE).peekable();
            let disturbed = due.peek().is_some();
            let level = table.rows[0].priority;
            if self.order == Order::Preemptive && due.any(|row| row.priority > level) {
                ends.extend(shown.longer.iter().map(|(cycles, _)| *cycles));
                continue;
            }
            if disturbed {
                let each = shown.longer.iter().map(|(cycles, count)| cycles.div_ceil(*count));
                ticks.extend(each);
            }
            if self.order == Order::Batches {
                ends.extend(shown.ends);
            }
        }
        let tick = Extremes::of(ticks, "an alarm")?;
        // In a bound, each of the other tasks released at the same time counts with an alarm of its
        // own.
        let alone = |(cycles, due): (u64, u64)| cycles.saturating_sub((due - 1) * tick.worst);
        let start = Extremes::of(starts.into_iter().map(alone), "a start")?;
        let end = Extremes::of(ends, "an end")?;
        let handled = Extremes::of(handled, "the timer's handler")?;
        let lock = self.alarm_locks(alarm)?;
        let (interrupt, wake, wait) = self.alarm_interrupts(alarm)?;
        let mut costs = Costs::default();
        let mut add = |cost, seen: Extremes, scenario: &str| {
            let scenario = format!("on the image: {scenario}");
            let Extremes { least, worst: cycles, samples } = seen;
            costs.known.insert(cost, Figure { cycles, scenario, least, samples });
        };
        add(Cost::Tick, tick, "time that an alarm adds to a job that continues");
        add(Cost::Start, start, "from releases to the first instructions of jobs");
        add(Cost::End, end, "from an end to the next task");
        let messages = self.messages()?;
        let held = end.worst.max(handled.worst).max(lock.worst).max(messages.longest());
        let held = Extremes { worst: held, ..end };
        add(Cost::HeldBack, held, "the longest call or handler");
        add(Cost::Lock, lock, "take and give, no task waiting");
        for (cost, seen, scenario) in messages.costs() {
            add(cost, seen, scenario);
        }
        add(Cost::Interrupt, interrupt, "time that a handler adds to a job that continues");
        add(Cost::Wake, wake, "from an interrupt to the task that it wakes");
        add(Cost::Wait, wait, "from an end to the next task, waiting for an interrupt");
        Ok(costs)
    }

    /// Returns tables in which one or several other tasks are released while the runner works,
    /// above or below it in priority, and enter their next wait before or after all remaining
    /// tasks.
    fn release_tables(&self, alarm: Alarm) -> Vec<Table> {
        let most = self.tasks() as u64;
        let runner = |priority| row(priority, PERIOD, 0, &[plain(LONG)]);
        let short = [plain(SHORT)];
        let mut tables = Vec::new();
        for count in 1..most {
            let waiting = most - 1 - count;
            for (period, others) in [(2 * PERIOD, 10), (PERIOD / 2, 30)] {
                // Above the runner, with tasks that wait for later releases above those or in
                // between.
                for first in [2, 2 + waiting] {
                    let mut rows = vec![runner(1)];
                    rows.extend((0..count).map(|n| row(first + n, period, DUE, &short)));
                    let gap = if first == 2 { 2 + count } else { 2 };
                    rows.extend((0..waiting).map(|n| row(gap + n, 2 * PERIOD, others + n, &short)));
                    tables.push(table(alarm, rows));
                }
            }
            // Below the runner; tasks that wait for later releases are above it, at the timer's
            // level.
            let mut rows = vec![runner(most - waiting)];
            rows.extend((0..count).map(|n| row(1 + n, 2 * PERIOD, DUE, &short)));
            let above = most - waiting + 1;
            rows.extend((0..waiting).map(|n| row(above + n, 2 * PERIOD, 10 + n, &short)));
            if waiting > 0 || self.order == Order::Batches {
                tables.push(table(alarm, rows));
            }
            // No task has a long job.
            let rows = (0..=count).map(|n| row(1 + n, 2 + 2 * n, 0, &short)).collect();
            tables.push(table(alarm, rows));
        }
        tables
    }

    /// Runs a table whose first row is the runner.
    fn runner_times(&self, alarm: Alarm, table: &Table) -> Result<RunnerTimes, SetError> {
        let marks = self.marks(table, TICKS, EventFilter::All)?;
        let quiet = quiet_run(&marks).map_or_else(|| self.runner_alone(alarm, table), Ok)?;
        Ok(RunnerTimes::of(&marks, table, alarm.start, quiet))
    }

    /// Returns the length of the runner's job if no other task is ever released.
    fn runner_alone(&self, alarm: Alarm, of: &Table) -> Result<u64, SetError> {
        let mut rows = of.rows.clone();
        for row in &mut rows[1..] {
            row.offset = NEVER;
        }
        let marks = self.marks(&table(alarm, rows), TICKS, EventFilter::All)?;
        let jobs = spans(&marks, is_begin, is_end, is_tick);
        Ok(Extremes::of(jobs, "a job")?.least)
    }

    /// Measures taking and releasing a lock, at each level that has one above it.
    fn alarm_locks(&self, alarm: Alarm) -> Result<Extremes, SetError> {
        let (with, without) = (
            [plain(SHORT), locked(SHORT), plain(SHORT)],
            [plain(SHORT), plain(SHORT), plain(SHORT)],
        );
        let mut found = self.alarm_nested(alarm)?;
        for slot in 0..self.tasks().saturating_sub(1).max(1) {
            for user in slot + 1..self.tasks() {
                let mut rows = self.alone_at(slot, &with);
                if self.protocol == Protocol::Ceiling {
                    rows[user - slot].stretches = with.to_vec();
                }
                let marks = self.marks(&table(alarm, rows), 50, EventFilter::All)?;
                let takes = spans(&marks, |it| it == Mark::Take, |it| it == Mark::Taken, is_tick);
                let gives = spans(&marks, |it| it == Mark::Give, |it| it == Mark::Given, is_tick);
                let (takes, gives) =
                    (Extremes::of(takes, "a take")?, Extremes::of(gives, "a give")?);
                let jobs = Extremes::of(spans(&marks, is_begin, is_end, is_tick), "a job")?;
                let quiet = self.quiet_job(alarm, slot, &without)?;
                let both = Extremes {
                    least: takes.least + gives.least,
                    worst: (takes.worst + gives.worst).max(jobs.worst.saturating_sub(quiet)),
                    samples: takes.samples + gives.samples,
                };
                found = Some(found.map_or(both, |found| found.with(both)));
                if self.protocol != Protocol::Ceiling {
                    break;
                }
            }
        }
        found.ok_or(SetError::NotObserved("a lock"))
    }

    /// Measures one of two locks while the other one's section encloses it or is nested in it, at
    /// each level and with each ceiling of both. Returns `None` if the image does not nest them.
    fn alarm_nested(&self, alarm: Alarm) -> Result<Option<Extremes>, SetError> {
        let mut found: Option<Extremes> = None;
        if self.protocol != Protocol::Ceiling {
            return Ok(found);
        }
        let [outer, inner] = nested(SHORT);
        let with = [plain(SHORT), outer, inner, plain(SHORT)];
        for slot in 0..self.tasks() {
            let quiet = self.quiet_job(alarm, slot, &[plain(SHORT); 4])?;
            for (first, second) in
                [(slot, slot), (slot, self.tasks() - 1), (self.tasks() - 1, slot)]
            {
                let mut rows = self.alone_at(slot, &with);
                for (user, lock) in [(first, 0), (second, 1)] {
                    // If the user is the measured row itself, it takes both locks anyway.
                    if user > slot {
                        let lock = Stretch { lock: Some(lock), ..plain(SHORT) };
                        rows[user - slot].stretches.push(lock);
                    }
                }
                let marks = self.marks(&table(alarm, rows), 50, EventFilter::All)?;
                let jobs = Extremes::of(spans(&marks, is_begin, is_end, is_tick), "a job")?;
                let each = Extremes {
                    least: jobs.least.saturating_sub(quiet) / 2,
                    worst: jobs.worst.saturating_sub(quiet).div_ceil(2),
                    samples: jobs.samples,
                };
                found = Some(found.map_or(each, |found| found.with(each)));
            }
        }
        Ok(found)
    }

    /// Measures an interrupt that wakes no task, one that wakes a task until it runs, and the wait
    /// for the next interrupt.
    fn alarm_interrupts(&self, alarm: Alarm) -> Result<(Extremes, Extremes, Extremes), SetError> {
        let tick = tick(alarm);
        let runner = row(1, PERIOD, 0, &[plain(LONG)]);
        let pended = |distance| InterruptSource { rounds: 0, distance, offset: tick + DRIFT };
        // In every other job of the runner, each time slightly later.
        let rare = pended(2 * PERIOD * tick + DRIFT);
        let alone = Table { interrupts: vec![rare], ..table(alarm, vec![runner.clone()]) };
        let (mut handlers, mut wakes, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        handlers.extend(self.interrupted(&alone, alarm)?.into_iter().map(|(longer, _)| longer));
        for above in 1..self.tasks() as u64 {
            let woken = Row { interrupt: Some(0), ..row(1 + above, 1, 0, &[plain(SHORT)]) };
            let mut rows = vec![runner.clone(), woken.clone()];
            rows.extend((1..above).map(|n| row(1 + n, 1, NEVER, &[])));
            let busy = Table { interrupts: vec![rare], ..table(alarm, rows) };
            // On its own, it occurs while the processor sleeps.
            let idle = Table { interrupts: vec![pended(7_001)], ..table(alarm, vec![woken]) };
            let marks = self.marks(&idle, TICKS, EventFilter::All)?;
            let pend = |mark: Mark| matches!(mark, Mark::Pended(_));
            wakes.extend(spans(&marks, pend, is_begin, is_tick));
            if self.order == Order::Preemptive {
                for (longer, wake) in self.interrupted(&busy, alarm)? {
                    waits.push(longer);
                    wakes.extend(wake);
                }
            } else {
                // A task that waits for an interrupt ends while another one has been released.
                let long = Row { stretches: vec![plain(LONG)], ..busy.rows[1].clone() };
                let other = row(1, PERIOD, 2, &[plain(SHORT)]);
                let turns = Table {
                    interrupts: vec![pended(PERIOD * tick)],
                    ..table(alarm, vec![other, long])
                };
                let marks = self.marks(&turns, TICKS, EventFilter::All)?;
                waits.extend(spans(&marks, |it| it == Mark::End(1), is_begin, is_tick));
            }
        }
        Ok((
            Extremes::of(handlers, "an interrupt")?,
            Extremes::of(wakes, "a wake")?,
            Extremes::of(waits, "a wait")?,
        ))
    }

    /// Runs a table with an interrupt in some of the runner's jobs; see [`interrupted_jobs`].
    fn interrupted(
        &self,
        table: &Table,
        alarm: Alarm,
    ) -> Result<Vec<(u64, Option<u64>)>, SetError> {
        let marks = self.marks(table, TICKS, EventFilter::All)?;
        let quiet = self.runner_alone(alarm, table)?;
        Ok(interrupted_jobs(&marks, quiet))
    }
}

/// Returns by how much each of the runner's jobs with an interrupt, but no tick, in it was longer than
/// `quiet` and the time from that interrupt to the end of the task it woke; and how long that task took to
/// begin.
fn interrupted_jobs(marks: &[(Mark, u64)], quiet: u64) -> Vec<(u64, Option<u64>)> {
    let mut found = Vec::new();
    for run in jobs_of(marks, 0) {
        let at = |wanted: fn(Mark) -> bool| {
            run.iter().find(|(mark, _)| wanted(*mark)).map(|(_, cycle)| *cycle)
        };
        let Some(pended) = at(|mark| matches!(mark, Mark::Pended(_))) else { continue };
        if has_tick(run) {
            continue;
        }
        let begun = at(|mark| matches!(mark, Mark::Begin(n) if n > 0));
        let ended = at(|mark| matches!(mark, Mark::End(n) if n > 0));
        let within = ended.map_or(0, |ended| ended - pended);
        found.push((length(run).saturating_sub(quiet + within), begun.map(|begun| begun - pended)));
    }
    found
}

/// Returns the length of the runner's shortest job without a tick in it, if there is one.
fn quiet_run(marks: &[(Mark, u64)]) -> Option<u64> {
    jobs_of(marks, 0).into_iter().filter(|run| !has_tick(run)).map(length).min()
}

fn has_tick(run: &[(Mark, u64)]) -> bool {
    run.iter().any(|(mark, _)| is_tick(*mark))
}

/// Returns the cycles from a job's first mark to its last.
fn length(run: &[(Mark, u64)]) -> u64 {
    run[run.len() - 1].1 - run[0].1
}

/// Returns a tick of about [`TICK`] cycles that is a whole number of timer counts.
fn tick(alarm: Alarm) -> u64 {
    TICK.next_multiple_of(alarm.granule)
}

fn table(alarm: Alarm, rows: Vec<Row>) -> Table {
    Table { tick: tick(alarm), rows, ..Table::default() }
}

impl Table {
    /// Returns how many tasks the clock releases in the given cycle, and at least 1.
    fn due(&self, released: u64, start: u64) -> u64 {
        let due = |row: &&Row| {
            let first = start + row.offset * self.tick;
            row.interrupt.is_none()
                && released.checked_sub(first).is_some_and(|it| it % (row.period * self.tick) == 0)
        };
        (self.rows.iter().filter(due).count() as u64).max(1)
    }
}

/// Returns the marks from the beginning to the end of each job of a task.
fn jobs_of(marks: &[(Mark, u64)], task: usize) -> Vec<&[(Mark, u64)]> {
    let mut found = Vec::new();
    let mut begun = None;
    for (at, (mark, _)) in marks.iter().enumerate() {
        match (mark, begun) {
            (Mark::Begin(of), _) if *of == task => begun = Some(at),
            (Mark::End(of), Some(from)) if *of == task => {
                found.push(&marks[from..=at]);
                begun = None;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests;
