//! Runs of a set on the simulator: when its jobs were released, began and ended.

use std::collections::BTreeMap;

use rtmark_observe::stack_overflow;
use rtmark_plan::{Protocol, Queue, Release, Section, Set};
use rtmark_sim::{Hit, Machine, Stop, Watch, WatchId};
use rtmark_units::Cycles;

use crate::calibrate::Calibration;
use crate::image::{
    Bench, Channel, Clock, InterruptSource, MAX_ITEMS, Row, START, SetError, Stretch, Table,
};

/// The exception number of PendSV, which FreeRTOS uses for switches.
pub(crate) const PENDSV: u16 = 14;

/// The exception number of the first external interrupt.
pub(crate) const FIRST_INTERRUPT: u16 = 16;

/// Cycles after which hits are collected.
const SLICE: u64 = 4_000_000;

/// Observable events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A job of this task begins.
    Begin(usize),
    /// A job of this task ends.
    End(usize),
    /// A tick becomes pending.
    Tick,
    /// The tick's handler has begun; for SysTick, it is about to begin.
    TickEntered,
    /// The tick's handler has returned.
    TickDone,
    /// A context switch has completed.
    Switched,
    /// An interrupt becomes pending.
    Pended(usize),
    /// Its handler has begun.
    Entered(usize),
    /// Its handler has returned.
    Handled(usize),
    /// A lock is about to be taken.
    Take,
    /// A lock has been taken.
    Taken,
    /// A lock is about to be released.
    Give,
    /// A lock has been released.
    Given,
}

/// Where the longest response occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Index of the job, from 0.
    pub job: u64,
    /// The cycle of its release.
    pub released: u64,
    /// The cycle of its end.
    pub ended: u64,
}

/// Observations of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The number of jobs that ended.
    pub jobs: u64,
    /// The longest response in cycles, from the tick of the release becoming pending to the job's
    /// last instruction.
    pub longest: u64,
    /// Where it occurred; `None` if that job had not ended when the run was over.
    pub witness: Option<Witness>,
}

/// How long the processor was awake, from the beginning of a run's first job to that of its last
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// Cycles in total.
    pub cycles: u64,
    /// Cycles in which it did not sleep.
    pub awake: u64,
}

impl Wake {
    /// Returns the sum of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { cycles: self.cycles + other.cycles, awake: self.awake + other.awake }
    }
}

/// The traffic of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent.
    pub sent: u64,
    /// Messages received by the end of the run.
    pub received: u64,
    /// Messages not sent because the queue was full.
    pub lost: u64,
}

impl Traffic {
    /// Returns the sum of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
        }
    }
}

/// Observations of a table's run.
struct RunEvents {
    marks: Vec<(Mark, u64)>,
    wake: Wake,
    queues: Vec<Traffic>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetRun {
    /// The tasks, in the set's order.
    pub tasks: Vec<Observed>,
    /// The queues, in the set's order.
    pub queues: Vec<Traffic>,
    /// How long the processor was awake.
    pub wake: Wake,
    /// Cycles run.
    pub cycles: u64,
}

impl Bench {
    /// Runs a table for `ticks` ticks from the first release on, and returns all marks in order.
    pub(crate) fn marks(
        &self,
        table: &Table,
        ticks: u64,
        wanted: EventFilter,
    ) -> Result<Vec<(Mark, u64)>, SetError> {
        self.watched(table, ticks, wanted).map(|watched| watched.marks)
    }

    /// Runs a table like [`Bench::marks`], and also returns the awake time and the queues' traffic.
    fn watched(
        &self,
        table: &Table,
        ticks: u64,
        wanted: EventFilter,
    ) -> Result<RunEvents, SetError> {
        self.check(table)?;
        let mut machine = self.machine(table)?;
        let mut watched: BTreeMap<WatchId, Mark> = BTreeMap::new();
        let mut watch = |machine: &mut Machine, addresses: &[u32], mark: Mark| {
            for address in addresses {
                watched.insert(machine.watch(Watch::Execute(*address)), mark);
            }
        };
        for (task, slot) in self.slots(&table.rows).into_iter().enumerate() {
            watch(&mut machine, &self.probes.begins[slot], Mark::Begin(task));
            watch(&mut machine, &self.probes.ends[slot], Mark::End(task));
        }
        if wanted != EventFilter::Jobs {
            for (addresses, mark) in [
                (&self.probes.take[0], Mark::Take),
                (&self.probes.take[1], Mark::Taken),
                (&self.probes.give[0], Mark::Give),
                (&self.probes.give[1], Mark::Given),
            ] {
                watch(&mut machine, addresses, mark);
            }
            watched.insert(machine.watch(Watch::Return(self.exception())), Mark::TickDone);
            if self.clock == Clock::Tick {
                watched.insert(machine.watch(Watch::Return(PENDSV)), Mark::Switched);
            }
            for (number, _) in table.interrupts.iter().enumerate() {
                let exception = self.interrupts_from + number as u16;
                watched.insert(machine.watch(Watch::Pend(exception)), Mark::Pended(number));
                watched.insert(machine.watch(Watch::Return(exception)), Mark::Handled(number));
            }
        }
        watched.insert(machine.watch(Watch::Pend(self.exception())), Mark::Tick);
        if wanted == EventFilter::Timeline {
            // SysTick is rarely delayed.
            let clock = match self.clock {
                Clock::Tick => Watch::Pend(self.exception()),
                Clock::Alarm(alarm) => handler(&machine, alarm.exception - FIRST_INTERRUPT)?,
            };
            watched.insert(machine.watch(clock), Mark::TickEntered);
            for number in 0..table.interrupts.len() {
                let entered = handler(&machine, self.interrupt(number))?;
                watched.insert(machine.watch(entered), Mark::Entered(number));
            }
        }
        // The time before the first tick is short compared with the ticks.
        let before = match self.clock {
            Clock::Tick => table.tick.saturating_mul(START + 1),
            Clock::Alarm(alarm) => alarm.start,
        };
        let limit = table.tick.saturating_mul(ticks).saturating_add(before + 100_000);
        let mut marks = Vec::new();
        let mut beginnings = Beginnings::default();
        let mut begun = vec![false; table.rows.len()];
        let mut scheduled = table.interrupts.is_empty();
        loop {
            if let (false, Ok(start)) = (scheduled, self.start(table, &marks)) {
                self.schedule(&mut machine, table, start, limit);
                scheduled = true;
            }
            let slice = if scheduled { SLICE } else { table.tick / 2 };
            let until = machine.cycles().0.saturating_add(slice).min(limit);
            let stop = machine.run(Cycles(until));
            let hits = machine.take_hits();
            beginnings.observe(&hits, |watch| matches!(watched.get(&watch), Some(Mark::Begin(_))));
            let hits = hits.into_iter();
            let seen = hits.filter_map(|hit| Some((*watched.get(&hit.watch)?, hit.cycle.0)));
            // The first wait may share its first instruction with the waits at the ends of jobs.
            marks.extend(seen.filter(|(mark, _)| match mark {
                Mark::Begin(task) => {
                    begun[*task] = true;
                    true
                }
                Mark::End(task) => std::mem::take(&mut begun[*task]),
                _ => true,
            }));
            let cycle = machine.cycles().0;
            if let Some(overflow) = stack_overflow(&machine, |at| format!("{at:#010x}")) {
                return Err(SetError::StackOverflow(overflow));
            }
            match stop {
                Stop::Limit if cycle >= limit => {
                    let queues = self.traffic(&machine, table);
                    return Ok(RunEvents { marks, wake: beginnings.wake(), queues });
                }
                Stop::Limit => {}
                other => {
                    let console = machine.take_console();
                    let output = String::from_utf8_lossy(&console).trim().to_owned();
                    return Err(SetError::Ended { cycle, how: format!("{other:?} {output}") });
                }
            }
        }
    }

    /// Runs a set for `cycles` cycles from its first release on.
    ///
    /// # Errors
    /// When the set does not fit the image, or the run ends by itself.
    pub fn run(
        &self,
        set: &Set,
        calibration: &Calibration,
        cycles: u64,
    ) -> Result<SetRun, SetError> {
        let table = self.table(set, calibration)?;
        let ticks = cycles.div_ceil(table.tick);
        let RunEvents { marks, wake, queues } = self.watched(&table, ticks, EventFilter::Jobs)?;
        Ok(SetRun { queues, wake, ..observed(&table, self.start(&table, &marks)?, &marks)? })
    }

    /// Returns the cycle from which offsets count.
    pub(crate) fn start(&self, table: &Table, marks: &[(Mark, u64)]) -> Result<u64, SetError> {
        match self.clock {
            // SysTick is free-running: its nth tick is n - 1 periods after the first.
            Clock::Tick => Ok(first_tick(marks)? + (START - 1) * table.tick),
            Clock::Alarm(alarm) => Ok(alarm.start),
        }
    }

    /// Returns the number of one of a table's interrupts on the soc.
    fn interrupt(&self, number: usize) -> u16 {
        self.interrupts_from.saturating_sub(FIRST_INTERRUPT) + number as u16
    }

    /// Schedules all interrupts of a table up to the end of the run.
    fn schedule(&self, machine: &mut Machine, table: &Table, start: u64, limit: u64) {
        for (number, pended) in table.interrupts.iter().enumerate() {
            let mut at = start + pended.offset;
            while at < limit {
                machine.pend_interrupt(self.interrupt(number), Cycles(at));
                at += pended.distance.max(1);
            }
        }
    }
}

/// The first and the last beginning of a job, each with the cycles slept so far. At these points
/// the core is awake and its sleep has been counted.
#[derive(Default)]
struct Beginnings {
    first: Option<(u64, u64)>,
    last: Option<(u64, u64)>,
}

impl Beginnings {
    fn observe(&mut self, hits: &[Hit], begins: impl Fn(WatchId) -> bool) {
        let all = hits.iter().filter(|hit| begins(hit.watch));
        let mut all = all.map(|hit| (hit.cycle.0, hit.overhead.asleep.0)).peekable();
        self.first = self.first.or_else(|| all.peek().copied());
        self.last = all.last().or(self.last);
    }

    fn wake(&self) -> Wake {
        let (Some((from, before)), Some((until, after))) = (self.first, self.last) else {
            return Wake::default();
        };
        let cycles = until.saturating_sub(from);
        Wake { cycles, awake: cycles.saturating_sub(after.saturating_sub(before)) }
    }
}

/// Returns a watch on the first instruction of an interrupt's handler.
fn handler(machine: &Machine, interrupt: u16) -> Result<Watch, SetError> {
    let none = |(vector, holds)| {
        SetError::Image(format!(
            "the vector at {vector:#x} holds {holds:#x}, which is not a handler"
        ))
    };
    machine.handler_watch(interrupt).map_err(none)
}

/// Which events to observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventFilter {
    /// The beginnings and ends of jobs.
    Jobs,
    /// Everything except the beginnings of handlers.
    All,
    /// Everything.
    Timeline,
}

/// Returns the cycle in which the first tick became pending.
fn first_tick(marks: &[(Mark, u64)]) -> Result<u64, SetError> {
    let tick = marks.iter().find(|(mark, _)| *mark == Mark::Tick);
    tick.map(|(_, cycle)| *cycle).ok_or(SetError::NotObserved("the tick"))
}

impl Table {
    /// Returns the cycle of a job's release.
    pub(crate) fn release(&self, row: &Row, job: u64, start: u64) -> u64 {
        let pended = row.interrupt.and_then(|interrupt| self.interrupts.get(interrupt));
        start
            + match pended {
                Some(pended) => pended.offset + job * pended.distance,
                None => (row.offset + job * row.period) * self.tick,
            }
    }
}

fn observed(table: &Table, start: u64, marks: &[(Mark, u64)]) -> Result<SetRun, SetError> {
    let none = Observed { jobs: 0, longest: 0, witness: None };
    let mut tasks = vec![none; table.rows.len()];
    let release = |row: &Row, job: u64| table.release(row, job, start);
    for &(mark, ended) in marks {
        let Mark::End(task) = mark else { continue };
        let (row, seen) = (&table.rows[task], &mut tasks[task]);
        let released = release(row, seen.jobs);
        let response = ended.checked_sub(released).ok_or(SetError::NotObserved("a release"))?;
        if response > seen.longest {
            seen.longest = response;
            seen.witness = Some(Witness { job: seen.jobs, released, ended });
        }
        seen.jobs += 1;
    }
    let cycles = marks.last().map_or(0, |(_, cycle)| *cycle);
    for (row, seen) in table.rows.iter().zip(&mut tasks) {
        // A job that has not ended takes at least until the end of the run.
        let so_far = cycles.saturating_sub(release(row, seen.jobs));
        if so_far > seen.longest {
            (seen.longest, seen.witness) = (so_far, None);
        }
    }
    Ok(SetRun { tasks, queues: Vec::new(), wake: Wake::default(), cycles })
}

impl Bench {
    /// Returns the unit in which the image counts a set's times, in cycles.
    pub(crate) fn unit(&self, set: &Set) -> u64 {
        match self.clock {
            Clock::Tick => set.tick,
            Clock::Alarm(alarm) => alarm.granule,
        }
    }

    /// Checks that the image supports the nesting of a job's sections: at most one within another.
    fn nests(&self, sections: &[Section]) -> Result<(), String> {
        let mut outers = sections.iter().filter_map(|section| section.inside).peekable();
        if outers.peek().is_some() && self.protocol == Protocol::Cooperative {
            return Err("the image has no nested locks".to_owned());
        }
        for outer in outers {
            let all = sections.iter().filter(|section| section.inside == Some(outer));
            let around = sections.iter().filter(|section| section.lock == outer);
            if all.count() > 1 || around.clone().count() != 1 {
                return Err("the image has one section within another, not several".to_owned());
            }
            if around.clone().any(|section| section.inside.is_some()) {
                return Err("the image nests two locks, not three".to_owned());
            }
        }
        Ok(())
    }

    /// Converts a set to the image's table.
    pub(crate) fn table(&self, set: &Set, calibration: &Calibration) -> Result<Table, SetError> {
        let unit = self.unit(set);
        let units = if self.clock == Clock::Tick { "ticks" } else { "microseconds" };
        let mut levels: Vec<u32> = set.tasks.iter().map(|task| task.priority).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut rows = Vec::new();
        for (at, task) in set.tasks.iter().enumerate() {
            let name = &task.name;
            let unfit = |text: &str| Err(SetError::DoesNotFit(format!("{name}: {text}")));
            let whole = |cycles: u64, what: &str| {
                if unit == 0 || !cycles.is_multiple_of(unit) {
                    let text = format!("the {what} of {name} is not a whole number of {units}");
                    return Err(SetError::DoesNotFit(text));
                }
                Ok(cycles / unit)
            };
            self.nests(&task.sections)
                .map_err(|text| SetError::DoesNotFit(format!("{name}: {text}")))?;
            let ends = |is_end: fn(&Queue, usize) -> bool| {
                set.queues.iter().filter(|queue| is_end(queue, at)).count() as u64
            };
            let (sends, looks) = (ends(|it, at| it.from == at), ends(|it, at| it.to == at));
            if (task.sends, task.looks) != (sends, looks) {
                return unfit("its messages belong to no queue");
            }
            // Levels are consecutive, starting above the idle task.
            let level = levels.iter().position(|level| *level == task.priority).unwrap_or(0);
            let (period, offset, interrupt) = match task.release {
                Release::Clock => {
                    (whole(task.period, "period")?, whole(task.offset, "offset")?, None)
                }
                Release::Interrupt(interrupt) => (1, 0, Some(interrupt)),
            };
            rows.push(Row {
                priority: level as u64 + 1,
                period,
                offset,
                interrupt,
                stretches: stretches(task.work, &task.sections, calibration),
            });
        }
        let pended = set.interrupts.iter().enumerate().map(|(number, interrupt)| {
            // If it releases a task, the task's offset applies; otherwise it coincides with the start. Its
            // distance is the least that is stated, which is the adverse one.
            let released = set.tasks.iter().find(|it| it.release == Release::Interrupt(number));
            let rounds = calibration.rounds(interrupt.work);
            let offset = released.map_or(0, |task| task.offset);
            InterruptSource { rounds, distance: interrupt.distance, offset }
        });
        let mut queues = Vec::new();
        for Queue { name, from, to, items } in &set.queues {
            let (from, to, items) = (*from, *to, *items);
            if items > MAX_ITEMS {
                return Err(SetError::DoesNotFit(format!(
                    "{name} holds {items} messages; a queue of the image holds {MAX_ITEMS} at most"
                )));
            }
            queues.push(Channel { from, to, items });
        }
        let table = Table { tick: unit, rows, interrupts: pended.collect(), queues };
        self.check(&table)?;
        Ok(table)
    }
}

/// Returns a job's work as stretches of rounds with its sections distributed over it, never more
/// than stated: where sections leave too little for the overhead of a job and of its stretches, they are
/// shorter.
fn stretches(work: u64, sections: &[Section], calibration: &Calibration) -> Vec<Stretch> {
    let outermost = sections.iter().filter(|section| section.inside.is_none());
    let locked: u64 = outermost.clone().map(|section| section.cycles).sum();
    let pieces = outermost.clone().count() as u64 + 1;
    let free = work.saturating_sub(locked).saturating_sub(calibration.job);
    let plain = |cycles| Stretch { rounds: calibration.rounds(cycles), ..Stretch::default() };
    let mut stretches = Vec::new();
    // The positions of those that are parts of sections.
    let mut held = Vec::new();
    for section in outermost {
        stretches.push(plain(free / pieces));
        let inner = sections.iter().find(|inner| inner.inside == Some(section.lock));
        // The section around the inner one is split into two parts.
        let room = section.cycles.saturating_sub(calibration.stretch);
        let within = inner.map_or(0, |inner| inner.cycles.min(room) + calibration.stretch);
        held.push(stretches.len());
        stretches.push(Stretch {
            lock: Some(section.lock),
            inner: inner.map(|inner| inner.lock),
            ..plain(section.cycles.saturating_sub(within))
        });
        if let Some(inner) = inner {
            held.push(stretches.len());
            stretches.push(plain(inner.cycles.min(room)));
        }
    }
    stretches.push(plain(free / pieces));
    let lengths = stretches.iter().map(|stretch| calibration.length(stretch.rounds));
    let mut excess = (calibration.job + lengths.sum::<u64>()).saturating_sub(work);
    if excess > 0 {
        let mut order: Vec<usize> = (0..stretches.len()).collect();
        // Sections last, and the longest one first.
        order.sort_by_key(|at| (held.contains(at), std::cmp::Reverse(stretches[*at].rounds)));
        for at in order {
            let rounds = &mut stretches[at].rounds;
            let before = calibration.length(*rounds);
            *rounds -= (excess * 1000).div_ceil(calibration.thousand.max(1)).min(*rounds);
            excess = excess.saturating_sub(before - calibration.length(*rounds));
        }
    }
    stretches
}

#[cfg(test)]
mod tests;
