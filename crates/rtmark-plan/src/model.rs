//! Kernel models for the analysis: scheduling order, lock protocol, and what triggers releases.
//!
//! [`Model::question`] turns a task of a set into everything that a job of it may have to wait for.
//! The behaviour of each kernel was read in its sources; docs/plan.md cites them.

use crate::blocking::{LockCycles, Protocol, blockers};
use crate::bound::{Arrivals, Bound, Question, Stream};
use crate::costs::{Cost, Costs, Missing};
use crate::no_bound::NoBound;
use crate::set::{Release, Set, Task};
use crate::term::{Kind, Part};
use crate::turns::{ROUNDS, Turns, is_late, late_turn};

/// The name of the kernel that costs nothing.
const IDEAL: &str = "ideal";

/// Timer units in half a round of its 16-bit counter. The timer interrupts after each half, because
/// drivers extend the counter in software.
const HALF_ROUND: u64 = 1 << 15;

/// How a kernel decides which task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fixed priorities, preemptive.
    Preemptive,
    /// Woken tasks are polled in batches, the most recently woken one first, each until it waits.
    /// This is Embassy's executor.
    Batches,
    /// Rounds over an array: a round polls the tasks that were woken before it began, in the array's
    /// order (here: by priority, then by place in the set). Interrupts are masked until it ends. This is
    /// `run_tasks` of lilos 1.3, `os/src/exec.rs`.
    Rounds,
    /// Jobs run to completion in the order of their releases: an event loop with one queue.
    Fifo,
}

impl Order {
    /// Returns whether tasks yield to each other only at the ends of their jobs, whatever their
    /// priorities, so that each task may have to wait for every other one.
    pub const fn takes_turns(self) -> bool {
        matches!(self, Self::Batches | Self::Rounds | Self::Fifo)
    }

    /// Returns whether priorities matter.
    pub const fn has_priorities(self) -> bool {
        !matches!(self, Self::Batches | Self::Fifo)
    }
}

/// What triggers releases by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A periodic tick, which checks for due releases.
    Tick,
    /// A timer set to the next release.
    Alarm,
}

/// A kernel as the analysis sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub kernel: String,
    /// The scheduling order.
    pub order: Order,
    /// The lock protocol.
    pub protocol: Protocol,
    /// What triggers releases.
    pub timer: Timer,
}

impl Model {
    /// Returns an ideal kernel, which costs nothing, with the given lock protocol.
    pub fn ideal(protocol: Protocol) -> Self {
        Self { kernel: IDEAL.to_owned(), order: Order::Preemptive, protocol, timer: Timer::Alarm }
    }

    /// Returns the model of a kernel, if there is one.
    pub fn of(kernel: &str) -> Option<Self> {
        let (order, protocol, timer) = match kernel {
            "freertos" => (Order::Preemptive, Protocol::Inheritance, Timer::Tick),
            "rtic" => (Order::Preemptive, Protocol::Ceiling, Timer::Alarm),
            "embassy" => (Order::Batches, Protocol::Cooperative, Timer::Alarm),
            "lilos" => (Order::Rounds, Protocol::Cooperative, Timer::Tick),
            "ring" => (Order::Fifo, Protocol::Cooperative, Timer::Tick),
            _ => return None,
        };
        Some(Self { kernel: kernel.to_owned(), order, protocol, timer })
    }

    /// The kernels with a model.
    pub const KERNELS: [&str; 5] = ["freertos", "rtic", "embassy", "lilos", "ring"];

    /// Returns the costs that bounds of this set depend on.
    pub fn costs(&self, set: &Set) -> Vec<Cost> {
        let mut costs = vec![Cost::HeldBack];
        let released =
            |wanted: fn(&Release) -> bool| set.tasks.iter().any(|task| wanted(&task.release));
        if released(|release| matches!(release, Release::Clock)) {
            costs.extend([Cost::Start, Cost::End]);
            costs.extend((self.timer == Timer::Tick).then_some(Cost::Release));
        }
        // A tick occurs whether or not a task waits for it, and so does a timer's overflow.
        costs.push(Cost::Tick);
        if released(|release| matches!(release, Release::Interrupt(_))) {
            costs.extend([Cost::Wake, Cost::Wait]);
        }
        if (0..set.interrupts.len()).any(|index| woken(set, index) == 0) {
            costs.push(Cost::Interrupt);
        }
        if set.tasks.iter().any(|task| !task.sections.is_empty()) {
            costs.push(Cost::Lock);
            costs.extend((self.protocol == Protocol::Inheritance).then_some(Cost::Contended));
        }
        costs.extend(set.tasks.iter().any(|task| task.sends > 0).then_some(Cost::Send));
        if set.tasks.iter().any(|task| task.looks > 0) {
            costs.extend([Cost::Receive, Cost::Look]);
        }
        costs
    }

    /// Returns everything that a job of a task may have to wait for.
    ///
    /// # Errors
    /// When the wait is unbounded or unknown.
    pub fn question(&self, set: &Set, costs: &Costs, index: usize) -> Result<Question, NoBound> {
        let turns = self.turns(set, costs, None)?;
        self.question_with(set, costs, index, &turns)
    }

    /// Does the work of [`Model::question`], given what is known about the other tasks' turns.
    fn question_with(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Question, NoBound> {
        let task = &set.tasks[index];
        if self.timer == Timer::Tick {
            check_whole_ticks(task, set.tick)?;
        }
        if self.order == Order::Preemptive && self.kernel != IDEAL {
            check_unique_level(set, task.priority)?;
        }
        if self.timer == Timer::Tick && task.release == Release::Clock {
            self.check_tick_load(set, costs)?;
        }
        let mut own = job(task, Kind::Work, costs)?;
        own.extend(switch_to(task, costs)?);
        let once = self.blocking(set, costs, index)?;
        let mut streams = self.clock(set, costs, index, turns)?;
        streams.extend(handlers(set, costs)?);
        if self.order.takes_turns() {
            streams.extend(self.turns_of_others(set, costs, index, turns)?);
        } else {
            streams.extend(self.more_urgent(set, costs, index)?);
        }
        let (period, jitter) = (task.period, task.jitter + self.late_alarm(set, task));
        // Where tasks take turns, `bound_with` considers the end of the previous job.
        let preempts = !self.order.takes_turns();
        let after = preempts.then(|| switch_from(task, costs)).transpose()?.into_iter().collect();
        Ok(Question { period, jitter, own, after, last: 0, once, streams })
    }

    /// Returns the jobs of tasks with the same or a higher priority.
    fn more_urgent(&self, set: &Set, costs: &Costs, index: usize) -> Result<Vec<Stream>, Missing> {
        let task = &set.tasks[index];
        let others = set.others(index).filter(|(_, other)| other.priority >= task.priority);
        let stream = |(_, other): (usize, &Task)| {
            let mut parts = job(other, Kind::Preemption, costs)?;
            parts.extend(self.waits(set, other, costs)?);
            parts.extend(switch_to(other, costs)?);
            parts.push(switch_from(other, costs)?);
            let (period, jitter) = (other.period, other.jitter + self.late_alarm(set, other));
            Ok(Stream { parts, arrivals: Arrivals::Every { period, jitter, distance: 0 } })
        };
        others.map(stream).collect()
    }

    /// Returns by how many cycles an alarm may be late because timers are set in whole units.
    pub(crate) fn late_alarm(&self, set: &Set, task: &Task) -> u64 {
        let exact = set.granule.divides(task.period) && set.granule.divides(task.offset);
        let clock = self.timer == Timer::Alarm && task.release == Release::Clock;
        if clock && !exact { set.granule.most } else { 0 }
    }

    /// Returns whether a job that waits for a lock switches to the lock's holder and back.
    const fn switches_to_holders(&self) -> bool {
        matches!(self.protocol, Protocol::Inheritance | Protocol::None)
    }

    /// Returns the blocking of a job by lower-priority tasks and by the kernel.
    fn blocking(&self, set: &Set, costs: &Costs, index: usize) -> Result<Vec<Part>, NoBound> {
        let mut parts = Vec::new();
        let switches = self.switches_to_holders();
        // A cost that is unknown counts as none here: any blocker reports it below.
        let cycles = |cost| costs.known.get(&cost).map_or(0, |figure| figure.cycles);
        let kernel = LockCycles {
            per_lock: cycles(Cost::Lock),
            per_wait: if switches { cycles(Cost::Contended) } else { 0 },
        };
        for blocker in blockers(set, index, self.protocol, kernel)? {
            let of = format!("{} with {}", blocker.task, blocker.lock);
            parts.push(Part::stated(Kind::Blocking, &of, blocker.cycles));
            parts.push(costs.part(Cost::Lock, &of, blocker.locks)?);
            if switches {
                parts.push(costs.part(Cost::Contended, &of, 1)?);
            }
        }
        let level = set.tasks[index].priority;
        let lower = set.tasks.iter().filter(|task| task.priority < level);
        // The call by which a lower-priority task waits for its next release may delay a tick as
        // well.
        let waits = lower.map(|task| switch_from(task, costs)).collect::<Result<Vec<_>, _>>()?;
        let longest = waits.into_iter().max_by_key(|part| part.cycles);
        if let Some(mut longest) = longest.filter(|_| self.order == Order::Preemptive) {
            let held = costs.part(Cost::HeldBack, "the kernel", 1)?;
            (longest.kind, longest.of) = (Kind::HeldBack, "the kernel".to_owned());
            parts.push(if longest.cycles > held.cycles { longest } else { held });
        } else if self.order.takes_turns() {
            parts.push(self.held_back(set, costs, index)?);
        }
        Ok(parts)
    }

    /// Checks that each tick is handled before the next one is due. The tick's handler runs after
    /// all others and, where interrupts are masked during a round, after the longest round.
    fn check_tick_load(&self, set: &Set, costs: &Costs) -> Result<(), NoBound> {
        let mut own = vec![costs.part(Cost::Tick, "the tick", 1)?];
        let clocked = set.tasks.iter().filter(|task| task.release == Release::Clock);
        own.push(costs.part(Cost::Release, "the tick", clocked.count() as u64)?);
        let mut once = vec![costs.part(Cost::HeldBack, "the kernel", 1)?];
        for task in &set.tasks {
            if self.order == Order::Rounds {
                once.extend(self.turn(task, costs)?);
                continue;
            }
            let wait = switch_from(task, costs)?;
            if wait.cycles > once[0].cycles {
                once[0] = wait;
            }
        }
        let streams = handlers(set, costs)?;
        let (period, after) = (set.tick, Vec::new());
        let question = Question { period, jitter: 0, own, after, last: 0, once, streams };
        let cycles = question.bound()?.response;
        if cycles > set.tick {
            return Err(NoBound::LostTicks { cycles, tick: set.tick });
        }
        Ok(())
    }

    /// Returns the switches to lock holders and back that a job may cause: one pair for each of its
    /// sections whose lock a task of the same or a lower priority may hold.
    fn waits(&self, set: &Set, task: &Task, costs: &Costs) -> Result<Option<Part>, Missing> {
        if !self.switches_to_holders() {
            return Ok(None);
        }
        let held = |lock: usize| {
            let others = set.tasks.iter().filter(|other| other.name != task.name);
            others.filter(|other| other.priority <= task.priority).any(|it| it.takes(lock))
        };
        let times = task.sections.iter().filter(|section| held(section.lock)).count() as u64;
        (times > 0).then(|| costs.part(Cost::Contended, &task.name, times)).transpose()
    }

    /// Returns the timer's interrupts and the releases they perform for other tasks. A tick occurs
    /// even when no task waits for it.
    fn clock(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Vec<Stream>, NoBound> {
        let released: Vec<&Task> =
            set.tasks.iter().filter(|task| task.release == Release::Clock).collect();
        let mut streams = Vec::new();
        if self.timer == Timer::Tick {
            let parts = vec![costs.part(Cost::Tick, "the tick", 1)?];
            streams.push(Stream { parts, arrivals: Arrivals::every(set.tick) });
        }
        if self.timer == Timer::Alarm && set.granule.most > 0 {
            let parts = vec![costs.part(Cost::Tick, "the timer, twice each time round", 1)?];
            let period = set.granule.least.max(1).saturating_mul(HALF_ROUND);
            streams.push(Stream { parts, arrivals: Arrivals::every(period) });
        }
        if self.order.takes_turns() {
            streams.extend(self.releases_of_others(set, costs, index, turns)?);
            return Ok(streams);
        }
        let level = set.tasks[index].priority;
        // For more urgent tasks, the cost of the switch to them includes the release.
        for task in released.into_iter().filter(|task| task.priority < level) {
            // An alarm may have fired just before.
            let (cost, late) = match self.timer {
                Timer::Tick => (Cost::Release, 0),
                Timer::Alarm => (Cost::Tick, costs.part(Cost::HeldBack, "the kernel", 1)?.cycles),
            };
            let parts = vec![costs.part(cost, &task.name, 1)?];
            let jitter = task.jitter + late + self.late_alarm(set, task);
            let period = task.period;
            let arrivals = Arrivals::Every { period, jitter, distance: 0 };
            streams.push(Stream { parts, arrivals });
        }
        Ok(streams)
    }

    /// Computes the bounds of all tasks.
    pub fn bounds(&self, set: &Set, costs: &Costs) -> Vec<Result<Bound, NoBound>> {
        let mut bounds = self.bounds_as_counted(set, costs);
        if let Some(why) = late_end(set, &bounds) {
            // Only the jobs of receivers grow longer by this, and with them the tasks that wait for
            // receivers.
            let level =
                set.tasks.iter().filter(|task| task.looks > 0).map(|task| task.priority).max();
            let waits = |task: &Task| {
                self.order.takes_turns() || level.is_some_and(|level| task.priority <= level)
            };
            for (_, bound) in set.tasks.iter().zip(&mut bounds).filter(|(task, _)| waits(task)) {
                if bound.is_ok() {
                    *bound = Err(why.clone());
                }
            }
        }
        bounds
    }

    /// Computes the bounds on the assumption that no more messages accumulate than are counted.
    fn bounds_as_counted(&self, set: &Set, costs: &Costs) -> Vec<Result<Bound, NoBound>> {
        let mut bounds = self.round(set, costs, None);
        if !self.order.takes_turns() {
            return bounds;
        }
        // No bound may rely on a task that is late: each bound counts one poll per release.
        if let Some((task, bound)) = set.tasks.iter().zip(&bounds).find(is_late) {
            let why = late_turn(set, task, bound);
            for bound in bounds.iter_mut().filter(|bound| bound.is_ok()) {
                *bound = Err(why.clone());
            }
            return bounds;
        }
        // Each task's bound tightens those of the others.
        for _ in 0..ROUNDS {
            let shorter = self.round(set, costs, Some(&bounds));
            if shorter == bounds {
                break;
            }
            bounds = shorter;
        }
        bounds
    }

    /// Computes the bounds of all tasks once, given the bounds known so far of tasks that take
    /// turns.
    fn round(
        &self,
        set: &Set,
        costs: &Costs,
        known: Option<&[Result<Bound, NoBound>]>,
    ) -> Vec<Result<Bound, NoBound>> {
        match self.turns(set, costs, known) {
            Ok(turns) => {
                let all = 0..set.tasks.len();
                all.map(|index| self.bound_with(set, costs, index, &turns)).collect()
            }
            Err(missing) => vec![Err(missing.into()); set.tasks.len()],
        }
    }

    /// Computes the bound of one task, given what is known about the other tasks' turns.
    pub(crate) fn bound_with(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Bound, NoBound> {
        let mut question = self.question_with(set, costs, index, turns)?;
        let mut bound = question.bound()?;
        let task = &set.tasks[index];
        if self.order.takes_turns()
            && let Some(part) = self.rest_of_previous(set, costs, index, bound.response)?
        {
            question.once.push(part);
            bound = question.bound()?;
        }
        // From its start, a job takes at least its work.
        let cycles = bound.response.saturating_sub(task.work);
        let distance = task.period;
        // An event loop's queue keeps every release.
        let keeps_one = self.order != Order::Fifo;
        if keeps_one && matches!(task.release, Release::Interrupt(_)) && cycles > distance {
            return Err(NoBound::LostReleases { cycles, distance });
        }
        Ok(bound)
    }

    /// Returns whether every task provably meets its deadline.
    pub fn holds(&self, set: &Set, costs: &Costs) -> bool {
        let in_time = |(task, bound): (&Task, &Result<Bound, NoBound>)| {
            bound.as_ref().is_ok_and(|bound| bound.response <= task.deadline)
        };
        if self.order.takes_turns() {
            let first = self.round(set, costs, None);
            if set.tasks.iter().zip(&first).any(|it| is_late(&it)) {
                return false;
            }
            // Further rounds only tighten bounds.
            let all = |bounds: &[_]| set.tasks.iter().zip(bounds).all(in_time);
            return all(&first) || all(&self.bounds(set, costs));
        }
        // Usually the least urgent task is the first to miss, so check it first.
        let mut order: Vec<usize> = (0..set.tasks.len()).collect();
        order.sort_by_key(|&index| set.tasks[index].priority);
        order
            .into_iter()
            .all(|index| in_time((&set.tasks[index], &self.bound_with(set, costs, index, &[]))))
    }
}

/// Returns why more messages may accumulate than were counted: a sender or receiver may be late, or
/// has no bound.
fn late_end(set: &Set, bounds: &[Result<Bound, NoBound>]) -> Option<NoBound> {
    let mut ends = set.tasks.iter().zip(bounds).filter(|(task, _)| task.sends + task.looks > 0);
    ends.find_map(|(task, bound)| match bound {
        Ok(bound) if bound.response <= task.deadline => None,
        Ok(bound) => {
            let (task, deadline) = (task.name.clone(), task.deadline);
            Some(NoBound::LateEnd { task, response: bound.response, deadline })
        }
        Err(_) => Some(NoBound::UnboundedEnd { task: task.name.clone() }),
    })
}

/// Returns how many tasks an interrupt wakes.
fn woken(set: &Set, interrupt: usize) -> u64 {
    set.tasks.iter().filter(|task| task.release == Release::Interrupt(interrupt)).count() as u64
}

fn check_unique_level(set: &Set, from: u32) -> Result<(), NoBound> {
    let above: Vec<&Task> = set.tasks.iter().filter(|task| task.priority >= from).collect();
    for (at, one) in above.iter().enumerate() {
        if let Some(other) = above[..at].iter().find(|it| it.priority == one.priority) {
            let (one, other) = (other.name.clone(), one.name.clone());
            return Err(NoBound::SharedLevel { one, other });
        }
    }
    Ok(())
}

fn check_whole_ticks(task: &Task, tick: u64) -> Result<(), NoBound> {
    if task.release != Release::Clock {
        return Ok(());
    }
    for (what, cycles) in [("period", task.period), ("offset", task.offset)] {
        if tick == 0 || !cycles.is_multiple_of(tick) {
            return Err(NoBound::BetweenTicks { what, cycles, tick });
        }
    }
    Ok(())
}

/// Returns the interrupt handlers, with the kernel's work for the tasks they wake.
pub(crate) fn handlers(set: &Set, costs: &Costs) -> Result<Vec<Stream>, Missing> {
    let handler = |(number, interrupt): (usize, &crate::set::Interrupt)| {
        let (cost, times) = match woken(set, number) {
            0 => (Cost::Interrupt, 1),
            tasks => (Cost::Wake, tasks),
        };
        let parts = vec![
            Part::stated(Kind::Interrupt, &interrupt.name, interrupt.work),
            costs.part(cost, &interrupt.name, times)?,
        ];
        Ok(Stream { parts, arrivals: Arrivals::every(interrupt.distance) })
    };
    set.interrupts.iter().enumerate().map(handler).collect()
}

/// Returns what a job itself executes.
pub(crate) fn job(task: &Task, kind: Kind, costs: &Costs) -> Result<Vec<Part>, Missing> {
    let mut parts = vec![Part::stated(kind, &task.name, task.work)];
    let counted = [
        (Cost::Lock, task.sections.len() as u64),
        (Cost::Send, task.sends),
        (Cost::Receive, task.receives),
        (Cost::Look, task.looks),
    ];
    for (cost, times) in counted.into_iter().filter(|(_, times)| *times > 0) {
        parts.push(costs.part(cost, &task.name, times)?);
    }
    Ok(parts)
}

/// Returns the switch from a release to the job's first instruction. For releases by an interrupt,
/// the handler's cost includes it.
pub(crate) fn switch_to(task: &Task, costs: &Costs) -> Result<Option<Part>, Missing> {
    match task.release {
        Release::Clock => costs.part(Cost::Start, &task.name, 1).map(Some),
        Release::Interrupt(_) => Ok(None),
    }
}

/// Returns the switch from a job's end to the next task.
pub(crate) fn switch_from(task: &Task, costs: &Costs) -> Result<Part, Missing> {
    let cost = match task.release {
        Release::Clock => Cost::End,
        Release::Interrupt(_) => Cost::Wait,
    };
    costs.part(cost, &task.name, 1)
}
