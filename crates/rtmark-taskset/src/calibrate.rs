//! Calibration of an image: a round of its loop and the kernel's operations, in the worst case
//! seen.
//!
//! Everything is measured on the image that runs sets, so its code is at the same addresses. The
//! measuring sets are built so that a single effect is visible between two marks.

use rtmark_plan::{Cost, Costs, Figure};

use crate::image::{Bench, Clock, InterruptSource, MAX_TASKS, Row, SetError, Stretch, Table};
use crate::run::{EventFilter, Mark};

/// Cycles of a tick long enough that nothing else intervenes.
const QUIET_TICK: u64 = 400_000;

/// Cycles of a tick for frequent measurements.
const TICK: u64 = 30_000;

/// Ticks observed.
const TICKS: u64 = 200;

/// Length in ticks of a job that is interrupted.
const JOB_TICKS: u64 = 10;

/// Cycles of a tick while the ends of jobs are moved across a whole call.
const SHORT_TICK: u64 = 8_000;

/// Cycles within which every waiting call has finished, twice over.
const CALL: u64 = 2_400;

/// Cycles by which ends are moved.
const STEP: u64 = 6;

/// Rounds of jobs that only have to exist.
pub(crate) const SHORT: u64 = 20;

/// The calibration of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Cycles of a thousand rounds of the loop.
    pub thousand: u64,
    /// Overhead of a stretch around its rounds, in cycles.
    pub stretch: u64,
    /// Overhead of a job around its stretches, in cycles.
    pub job: u64,
    /// The costs of the kernel.
    pub costs: Costs,
}

impl Calibration {
    /// Returns how many rounds fit into `cycles` together with the overhead of a stretch.
    pub fn rounds(&self, cycles: u64) -> u64 {
        cycles.saturating_sub(self.stretch) * 1000 / self.thousand.max(1)
    }

    /// Returns how long a stretch of so many rounds takes, with its overhead.
    pub(crate) fn length(&self, rounds: u64) -> u64 {
        self.stretch + (rounds * self.thousand).div_ceil(1000)
    }
}

/// The least and the largest value seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extremes {
    pub least: u64,
    pub worst: u64,
    pub samples: u64,
}

impl Extremes {
    pub fn of(spans: impl IntoIterator<Item = u64>, what: &'static str) -> Result<Self, SetError> {
        let mut seen: Option<Self> = None;
        for span in spans {
            let so_far = seen.unwrap_or(Self { least: span, worst: span, samples: 0 });
            seen = Some(Self {
                least: so_far.least.min(span),
                worst: so_far.worst.max(span),
                samples: so_far.samples + 1,
            });
        }
        seen.ok_or(SetError::NotObserved(what))
    }

    pub fn with(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            worst: self.worst.max(other.worst),
            samples: self.samples + other.samples,
        }
    }
}

/// Returns the spans from marks of one kind to the next of another, unless a mark of a third kind
/// is in between.
pub(crate) fn spans(
    marks: &[(Mark, u64)],
    from: impl Fn(Mark) -> bool,
    to: impl Fn(Mark) -> bool,
    not: impl Fn(Mark) -> bool,
) -> Vec<u64> {
    let mut found = Vec::new();
    let mut begun = None;
    for &(mark, cycle) in marks {
        match begun {
            Some(began) if to(mark) => {
                found.push(cycle - began);
                begun = None;
            }
            Some(_) if not(mark) => begun = None,
            _ => {}
        }
        if from(mark) {
            begun = Some(cycle);
        }
    }
    found
}

pub(crate) fn plain(rounds: u64) -> Stretch {
    Stretch { rounds, ..Stretch::default() }
}

pub(crate) fn locked(rounds: u64) -> Stretch {
    Stretch { rounds, lock: Some(0), inner: None }
}

/// Returns a section with one lock and, nested in it, one with another lock, of `rounds` each.
pub(crate) fn nested(rounds: u64) -> [Stretch; 2] {
    [Stretch { rounds, lock: Some(0), inner: Some(1) }, plain(rounds)]
}

pub(crate) fn row(priority: u64, period: u64, offset: u64, stretches: &[Stretch]) -> Row {
    Row { priority, period, offset, interrupt: None, stretches: stretches.to_vec() }
}

fn table(rows: Vec<Row>) -> Table {
    Table { tick: TICK, rows, ..Table::default() }
}

impl Bench {
    /// Calibrates the image.
    ///
    /// # Errors
    /// When a run ends by itself, or an event to be measured does not occur.
    pub fn calibrate(&self) -> Result<Calibration, SetError> {
        if let Clock::Alarm(alarm) = self.clock {
            return self.calibrate_alarm(alarm);
        }
        if self.order.takes_turns() {
            return self.calibrate_turns();
        }
        let (thousand, stretch, job) = loop_cycles(|stretches| self.alone(stretches))?;
        let costs = self.costs(thousand)?;
        Ok(Calibration { thousand, stretch, job, costs })
    }

    /// Returns the longest job of a single task, in cycles.
    fn alone(&self, stretches: &[Stretch]) -> Result<u64, SetError> {
        let rows = vec![row(1, 1, 0, stretches)];
        let table = Table { tick: QUIET_TICK, ..table(rows) };
        let marks = self.marks(&table, 8, EventFilter::All)?;
        let jobs = spans(&marks, is_begin, is_end, |mark| mark == Mark::Tick);
        Ok(Extremes::of(jobs, "a job")?.worst)
    }

    fn costs(&self, thousand: u64) -> Result<Costs, SetError> {
        // A job that never ends.
        let endless = [plain(u64::from(u32::MAX))];
        let ticks = self.ticks(0, &endless)?;
        let tick = Extremes::of(ticks.clone(), "a tick")?;
        let mut releases: Vec<Extremes> = vec![tick];
        let mut wakes: Vec<Extremes> = Vec::new();
        let mut ends = Vec::new();
        for count in 1..MAX_TASKS as u64 {
            // Released below the task that the tick interrupts: only the tick takes longer.
            releases.push(Extremes::of(self.ticks(count, &endless)?, "a tick with releases")?);
            // Released above it: the first one runs. Whether others wait for later releases affects
            // the tick, which then checks when they are due.
            let mut seen = Vec::new();
            for waiting in [0, 1] {
                let mut rows = vec![row(1, 1_000_000, 0, &endless)];
                let above = count.min(MAX_TASKS as u64 - 1 - waiting);
                rows.extend((0..above).map(|n| row(2 + n, 4, 3, &[plain(SHORT)])));
                rows.extend((0..waiting).map(|_| row(1, 1, 1_000_000, &[plain(SHORT)])));
                let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
                seen.extend(spans(&marks, is_tick, is_begin_above, is_end));
                ends.extend(spans(&marks, is_end, is_switched, is_tick));
            }
            wakes.push(Extremes::of(seen, "a wake")?);
            // With all periods, so that they are inserted anywhere in the list of waiting tasks.
            let rows = (0..=count).map(|n| row(1 + n, 2 + 2 * n, 0, &[plain(SHORT)])).collect();
            let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
            ends.extend(spans(&marks, is_end, is_switched, is_tick));
            let rows = (0..=count).map(|n| row(1 + n, 20 - 2 * n, 0, &[plain(SHORT)])).collect();
            let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
            ends.extend(spans(&marks, is_end, is_switched, is_tick));
        }
        let release = rise(&releases).max(rise(&wakes));
        let again = self.rerun(thousand, wakes[0].worst)?;
        let start = wakes[0].worst.saturating_sub(tick.least) + again;
        let end = Extremes::of(ends, "an end")?;
        let (lock, call) = self.locks()?;
        let (contended, longest) = self.contended(thousand)?;
        let (reload, refill) = self.reloads(thousand)?;
        let mut costs = Costs::default();
        let mut add = |cost, cycles, seen: Extremes, scenario: &str| {
            let scenario = format!("on the image: {scenario}");
            let (least, samples) = (seen.least.min(cycles), seen.samples);
            costs.known.insert(cost, Figure { cycles, scenario, least, samples });
        };
        add(Cost::Tick, tick.worst + reload, tick, "ticks without releases");
        add(Cost::Release, release, releases[1], "ticks with one more release");
        add(
            Cost::Start,
            start,
            wakes[0],
            "the first release above, less a tick, with the rest of a wait",
        );
        add(Cost::End, end.worst + refill, end, "from an end to the next task");
        let messages = self.messages()?;
        let held = end.worst.max(call.worst).max(longest.worst).max(messages.longest());
        add(Cost::HeldBack, held, end, "the longest call");
        add(Cost::Lock, lock.worst, lock, "take and give, no task waiting");
        for (cost, seen, scenario) in messages.costs() {
            add(cost, seen.worst, seen, scenario);
        }
        let (interrupt, wake, wait) = self.interrupts()?;
        add(Cost::Interrupt, interrupt.worst + reload, interrupt, "a handler that wakes no task");
        add(
            Cost::Wake,
            wake.worst + refill + again,
            wake,
            "from an interrupt to the task that it wakes",
        );
        add(
            Cost::Wait,
            wait.worst + refill,
            wait,
            "from an end to the next task, waiting for an interrupt",
        );
        add(
            Cost::Contended,
            contended.worst + 2 * refill + again,
            contended,
            "take and give, with a wait",
        );
        Ok(costs)
    }

    /// Returns the length of ticks that interrupt a job without preempting it, with `released`
    /// releases below it.
    fn ticks(&self, released: u64, endless: &[Stretch]) -> Result<Vec<u64>, SetError> {
        // Each release occurs once: the tasks below never run, and so never wait again.
        let mut found = Vec::new();
        for offset in [5, 6, 7] {
            let mut rows = vec![row(MAX_TASKS as u64, 1_000_000, 0, endless)];
            rows.extend((0..released).map(|n| row(1 + n, 1_000_000, offset, &[plain(SHORT)])));
            if rows.len() < MAX_TASKS {
                rows.push(row(1, 1, 1_000_000, &[plain(SHORT)]));
            }
            let ticks = if released == 0 { TICKS } else { offset + 3 };
            let marks = self.marks(&table(rows), ticks, EventFilter::All)?;
            let done = |mark: Mark| mark == Mark::TickDone;
            let all = spans(&marks, is_tick, done, |mark| mark == Mark::Switched);
            // Ticks 1 and 2 precede the job.
            let at = usize::try_from(offset).unwrap_or(0);
            if released == 0 {
                found.extend(all.into_iter().skip(4));
            } else {
                // The tick that releases tasks is the longest of those nearby.
                let near = all.iter().skip(at.saturating_sub(2)).take(4);
                found.extend(near.max().copied());
            }
        }
        Ok(found)
    }

    /// Measures taking and releasing a lock without contention, and the longer of the two calls.
    fn locks(&self) -> Result<(Extremes, Extremes), SetError> {
        let job = [plain(SHORT), locked(SHORT), plain(SHORT), locked(SHORT), plain(SHORT)];
        let [outer, inner] = nested(SHORT);
        let (mut takes, mut gives) = (Vec::new(), Vec::new());
        for job in [&job[..], &[outer, inner, plain(SHORT)]] {
            let rows = vec![row(2, 1, 0, job)];
            let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
            let tick = is_tick;
            takes.extend(spans(&marks, |it| it == Mark::Take, |it| it == Mark::Taken, tick));
            gives.extend(spans(&marks, |it| it == Mark::Give, |it| it == Mark::Given, tick));
        }
        let (takes, gives) = (Extremes::of(takes, "a take")?, Extremes::of(gives, "a give")?);
        let both = Extremes {
            least: takes.least + gives.least,
            worst: takes.worst + gives.worst,
            samples: takes.samples + gives.samples,
        };
        Ok((both, takes.with(gives)))
    }

    /// Returns the extra time a job takes to start if its task was preempted in the middle of the
    /// call by which it waited: the rest of that call runs after the release. FreeRTOS makes a
    /// task that was switched away before its yield yield once more then.
    fn rerun(&self, thousand: u64, wake: u64) -> Result<u64, SetError> {
        let mut worst = wake;
        let rounds = |cycles: u64| cycles * 1000 / thousand.max(1);
        let latest = rounds(SHORT_TICK);
        for step in 0..CALL / STEP {
            // It ends at a different moment before the tick that releases the other task.
            let job = [plain(latest.saturating_sub(rounds(step * STEP)))];
            let rows = vec![row(1, 4, 0, &job), row(2, 4, 1, &[plain(SHORT)])];
            let marks =
                self.marks(&Table { tick: SHORT_TICK, ..table(rows) }, 12, EventFilter::All)?;
            let starts = spans(&marks, is_tick, |mark| mark == Mark::Begin(0), is_begin_above);
            worst = worst.max(starts.into_iter().max().unwrap_or(0));
        }
        Ok(worst - wake)
    }

    /// Returns the extra time of a job after a tick, and after another task, beyond what is visible
    /// of those: the refill of caches and buffers that they filled with other code.
    fn reloads(&self, thousand: u64) -> Result<(u64, u64), SetError> {
        let job = [plain(JOB_TICKS * TICK * 1000 / thousand.max(1))];
        let quiet = self.alone(&job)?;
        let beyond = |rows: Vec<Row>| -> Result<u64, SetError> {
            let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
            Ok(unseen(&marks, quiet))
        };
        let alone = row(1, 2 * JOB_TICKS, 0, &job);
        let reload = beyond(vec![alone.clone()])?;
        // A task that runs in every tick.
        let refill = beyond(vec![alone, row(2, 1, 0, &[plain(SHORT)])])?;
        Ok((reload, refill.max(reload)))
    }

    /// Measures an interrupt that wakes no task, one that wakes a task until it runs, and the wait
    /// for the next interrupt.
    fn interrupts(&self) -> Result<(Extremes, Extremes, Extremes), SetError> {
        let endless = [plain(u64::from(u32::MAX))];
        // The distance is not a divisor of the tick, so interrupts occur at all phases of it.
        let pended = InterruptSource { rounds: 0, distance: 7_001, offset: 11_000 };
        let rows = vec![row(1, 1_000_000, 0, &endless)];
        let alone = Table { interrupts: vec![pended], ..table(rows) };
        let marks = self.marks(&alone, TICKS, EventFilter::All)?;
        let pend = |mark: Mark| matches!(mark, Mark::Pended(_));
        let handled = |mark: Mark| matches!(mark, Mark::Handled(_));
        let interrupt = Extremes::of(spans(&marks, pend, handled, is_tick), "an interrupt")?;
        let (mut wakes, mut waits) = (Vec::new(), Vec::new());
        for above in 1..MAX_TASKS as u64 {
            let woken = Row { interrupt: Some(0), ..row(1 + above, 1, 0, &[plain(SHORT)]) };
            let rows = vec![row(1, 1_000_000, 0, &endless), woken.clone()];
            let busy = Table { interrupts: vec![pended], ..table(rows) };
            // On its own, it switches to the idle task when it waits.
            let idle = Table { interrupts: vec![pended], ..table(vec![woken]) };
            for table in [busy, idle] {
                let marks = self.marks(&table, TICKS, EventFilter::All)?;
                let last = table.rows.len() - 1;
                let begins = |mark: Mark| mark == Mark::Begin(last);
                wakes.extend(spans(&marks, pend, begins, is_tick));
                waits.extend(spans(&marks, |it| it == Mark::End(last), is_switched, is_tick));
            }
        }
        Ok((interrupt, Extremes::of(wakes, "a wake")?, Extremes::of(waits, "a wait")?))
    }

    /// Measures the switch to a lock's holder and back to the waiting task, and the longer of the
    /// two.
    fn contended(&self, thousand: u64) -> Result<(Extremes, Extremes), SetError> {
        let of = |ticks: u64| ticks * TICK * 1000 / thousand.max(1);
        // The holder has the lock from its first tick to its fourth; the other task arrives at its
        // second.
        let rows = vec![
            row(1, 10, 0, &[plain(SHORT), locked(of(3)), plain(SHORT)]),
            row(5, 10, 2, &[plain(SHORT), locked(SHORT), plain(SHORT)]),
        ];
        let marks = self.marks(&table(rows), TICKS, EventFilter::All)?;
        let tick = is_tick;
        let there = |mark: Mark| matches!(mark, Mark::Taken) || tick(mark);
        let to = spans(&marks, |it| it == Mark::Take, is_switched, there);
        let back = |mark: Mark| matches!(mark, Mark::Given) || tick(mark);
        let back = spans(&marks, |it| it == Mark::Give, |it| it == Mark::Taken, back);
        let (to, back) = (
            Extremes::of(to, "a wait for a lock")?,
            Extremes::of(back, "a give to a waiting task")?,
        );
        let both = Extremes {
            least: to.least + back.least,
            worst: to.worst + back.worst,
            samples: to.samples + back.samples,
        };
        Ok((both, to.with(back)))
    }
}

/// Returns the cycles of a thousand rounds, of a stretch around its rounds, and of a job around its stretches.
/// `alone` returns the longest job of these stretches.
///
/// A job of many rounds and one of few differ in rounds alone; one of two stretches and one of a single
/// stretch differ in a stretch. Both overheads are two cycles more than that.
pub(crate) fn loop_cycles(
    alone: impl Fn(&[Stretch]) -> Result<u64, SetError>,
) -> Result<(u64, u64, u64), SetError> {
    let (few, many) = (1_000, 11_000);
    let (short, long) = (alone(&[plain(few)])?, alone(&[plain(many)])?);
    let two = alone(&[plain(few), plain(few)])?;
    let thousand = (long - short).div_ceil((many - few) / 1000);
    let rounds = few * thousand / 1000;
    let stretch = (two - short).saturating_sub(rounds) + 2;
    let job = short.saturating_sub(rounds + stretch) + 2;
    Ok((thousand, stretch, job))
}

/// Returns by how much one more of something made a span longer, at most: from the least span with fewer
/// of it to the longest with more.
fn rise(seen: &[Extremes]) -> u64 {
    let rises = seen.windows(2).map(|pair| pair[1].worst.saturating_sub(pair[0].least));
    rises.max().unwrap_or(0)
}

/// Returns by how much jobs of the first task were longer than `quiet` and what is seen of the ticks and
/// tasks within them, per tick, at most.
fn unseen(marks: &[(Mark, u64)], quiet: u64) -> u64 {
    let mut most = 0;
    for (at, &(_, began)) in
        marks.iter().enumerate().filter(|(_, (mark, _))| *mark == Mark::Begin(0))
    {
        let length = marks[at..].iter().position(|(mark, _)| *mark == Mark::End(0));
        let Some(length) = length else { continue };
        let within = &marks[at..=at + length];
        let took = within[length].1 - began;
        let ticks = within.iter().filter(|(mark, _)| is_tick(*mark)).count() as u64;
        // From a tick until its end, or until the end of the task that it released.
        let seen: u64 = if within.iter().any(|(mark, _)| is_begin_above(*mark)) {
            spans(within, is_tick, is_end, |_| false).iter().sum::<u64>()
                + spans(within, is_end, is_switched, is_tick).iter().sum::<u64>()
        } else {
            spans(within, is_tick, |mark| mark == Mark::TickDone, |_| false).iter().sum()
        };
        most = most.max(took.saturating_sub(quiet + seen).div_ceil(ticks.max(1)));
    }
    most
}

pub(crate) fn is_begin(mark: Mark) -> bool {
    matches!(mark, Mark::Begin(_))
}

fn is_begin_above(mark: Mark) -> bool {
    matches!(mark, Mark::Begin(task) if task > 0)
}

pub(crate) fn is_end(mark: Mark) -> bool {
    matches!(mark, Mark::End(_))
}

pub(crate) fn is_tick(mark: Mark) -> bool {
    mark == Mark::Tick
}

fn is_switched(mark: Mark) -> bool {
    mark == Mark::Switched
}

#[cfg(test)]
mod tests;
