//! Kernels as analysis sees them: who preempts whom, what locks do, what brings releases.
//!
//! [`Model::question`] turns a task of a set into what a job of it may have to wait for. What each
//! kernel does was read in its sources; docs/plan.md says where.

use crate::blocking::{Chain, Protocol, blockers};
use crate::bound::{Arrivals, Bound, Question, Stream, Unbounded};
use crate::costs::{Cost, Costs, Missing};
use crate::set::{Release, Set, Task};
use crate::term::{Kind, Part};
use crate::turns::{ROUNDS, Turns, is_late, late_turn};

/// What a kernel is called that costs nothing.
const IDEAL: &str = "ideal";

/// Units of a timer after which its counter of 16 bits, half of it done, interrupts for that: drivers
/// count further by it.
const HALF_ROUND: u64 = 1 << 15;

/// How a kernel decides who runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The task of the highest priority, at any time.
    Preemptive,
    /// As before, but a job that has begun runs to its end.
    NonPreemptive,
    /// Tasks that were woken are polled in batches, the last one first, each until it waits: Embassy's
    /// executor.
    Batches,
    /// Rounds over an array: a round polls the tasks that were woken before it began, in the array's
    /// order (here: by priority, then by place in the set). Interrupts are masked until it ends. This is
    /// `run_tasks` of lilos 1.3, `os/src/exec.rs`.
    Rounds,
    /// Jobs run in the order in which they were released, each to its end: an event loop with one queue.
    Fifo,
}

impl Order {
    /// Whether tasks give way to each other only at the ends of their jobs, whatever their priorities, so
    /// that each of them may have to wait for every other one.
    pub const fn takes_turns(self) -> bool {
        matches!(self, Self::Batches | Self::Rounds | Self::Fifo)
    }
}

/// What brings the clock's releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A tick, in which releases are looked for.
    Tick,
    /// A timer that is set to the next release.
    Alarm,
}

/// A kernel as analysis sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub kernel: String,
    /// Who runs.
    pub order: Order,
    /// What locks do.
    pub protocol: Protocol,
    /// What brings releases.
    pub timer: Timer,
}

/// Why a task has no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBound {
    /// The recurrence has none.
    #[error(transparent)]
    Unbounded(#[from] Unbounded),
    /// Who holds a lock can be kept from giving it back.
    #[error("unbounded inversion: {0}")]
    Chain(#[from] Chain),
    /// A cost is not known.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Releases fall between ticks.
    #[error(
        "its {what} of {cycles} cycles is no whole number of ticks of {tick} cycles: choose one \
         that is, or another `tick`"
    )]
    BetweenTicks {
        /// Period or offset.
        what: &'static str,
        /// How long it is.
        cycles: u64,
        /// How long a tick is.
        tick: u64,
    },
    /// Who runs among equals is not known to this analysis.
    #[error(
        "{one} and {other} have the same priority: how a kernel shares time among equals is not \
         known here; give them different ones"
    )]
    SharedLevel {
        /// One of them.
        one: String,
        /// Another one.
        other: String,
    },
    /// A tick is still pending when the next one comes.
    #[error(
        "ticks are lost, and time with them: the tick's handler may come to its end {cycles} cycles \
         after it was due, behind interrupts and what holds it back, and a tick is {tick} cycles"
    )]
    LostTicks {
        /// How long after it was due the tick's handler may end.
        cycles: u64,
        /// Cycles of a tick.
        tick: u64,
    },
    /// A job has not begun when the next interrupt comes.
    #[error(
        "releases are lost: a job may begin {cycles} cycles after its interrupt, which comes every \
         {distance}, and no more than one release is kept"
    )]
    LostReleases {
        /// How late a job begins, were none lost.
        cycles: u64,
        /// Cycles from one interrupt to the next.
        distance: u64,
    },
    /// Who is late leaves more messages to gather than were counted.
    #[error(
        "{task} may take {response} cycles, of {deadline} that it has: once it is late, more messages may \
         gather than are counted"
    )]
    LateEnd {
        /// The task that may be late, one end of a queue.
        task: String,
        /// What its bound would be, were no more messages to gather.
        response: u64,
        /// Cycles until a job of its must be done.
        deadline: u64,
    },
    /// Nothing is known of when an end of a queue sends or receives.
    #[error("{task} has no bound, and if it is late, more messages may gather than are counted")]
    UnboundedEnd {
        /// The end.
        task: String,
    },
    /// In an executor one task that is late makes all others late.
    #[error(
        "with all turns of the others, {task} may take {response} cycles, and comes every {period}; the longest job is that of {longest}, {cycles} cycles"
    )]
    LateTurn {
        /// The task that may be late.
        task: String,
        /// What its bound would be, were nobody ever late.
        response: u64,
        /// Cycles from one of its jobs to the next.
        period: u64,
        /// The task whose jobs take longest.
        longest: String,
        /// How long those take.
        cycles: u64,
    },
}

impl Model {
    /// A kernel that costs nothing, with this protocol of locks.
    pub fn ideal(protocol: Protocol) -> Self {
        Self { kernel: IDEAL.to_owned(), order: Order::Preemptive, protocol, timer: Timer::Alarm }
    }

    /// One of the kernels that have a model.
    pub fn of(kernel: &str) -> Option<Self> {
        let (order, protocol, timer) = match kernel {
            "freertos" => (Order::Preemptive, Protocol::Inheritance, Timer::Tick),
            "rtic" => (Order::Preemptive, Protocol::Ceiling, Timer::Alarm),
            "embassy" => (Order::Batches, Protocol::Cooperative, Timer::Alarm),
            "lilos" => (Order::Rounds, Protocol::Cooperative, Timer::Tick),
            "evloop" => (Order::Fifo, Protocol::Cooperative, Timer::Tick),
            _ => return None,
        };
        Some(Self { kernel: kernel.to_owned(), order, protocol, timer })
    }

    /// The kernels that have a model.
    pub const KERNELS: [&str; 5] = ["freertos", "rtic", "embassy", "lilos", "evloop"];

    /// The costs that bounds of this set take.
    pub fn costs(&self, set: &Set) -> Vec<Cost> {
        let mut costs = vec![Cost::HeldBack];
        let released =
            |wanted: fn(&Release) -> bool| set.tasks.iter().any(|task| wanted(&task.release));
        if released(|release| matches!(release, Release::Clock)) {
            costs.extend([Cost::Start, Cost::End]);
            costs.extend((self.timer == Timer::Tick).then_some(Cost::Release));
        }
        // A tick comes whether anybody waits for it or not, and so does a timer's next round.
        costs.push(Cost::Tick);
        if released(|release| matches!(release, Release::Interrupt(_))) {
            costs.extend([Cost::Wake, Cost::Wait]);
        }
        if (0..set.interrupts.len()).any(|index| !wakes(set, index)) {
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

    /// What a job of a task may have to wait for.
    ///
    /// # Errors
    /// When that has no limit, or is not known.
    pub fn question(&self, set: &Set, costs: &Costs, index: usize) -> Result<Question, NoBound> {
        let turns = self.turns(set, costs, None)?;
        self.question_with(set, costs, index, &turns)
    }

    /// The same, where it is known how long turns of tasks take.
    fn question_with(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Question, NoBound> {
        let task = &set.tasks[index];
        if self.timer == Timer::Tick {
            whole_ticks(task, set.tick)?;
        }
        if self.order == Order::Preemptive && self.kernel != IDEAL {
            different_levels(set, task.priority)?;
        }
        if self.timer == Timer::Tick && task.release == Release::Clock {
            self.keeps_time(set, costs)?;
        }
        let mut own = job(task, Kind::Work, costs)?;
        own.extend(switch_to(task, costs)?);
        let mut once = self.blocking(set, costs, index)?;
        let mut streams = self.clock(set, costs, index, turns)?;
        streams.extend(handlers(set, costs)?);
        let mut last = 0;
        if self.order.takes_turns() {
            streams.extend(self.turns_of_others(set, costs, index, turns)?);
        } else {
            streams.extend(self.more_urgent(set, costs, index)?);
        }
        if self.order == Order::NonPreemptive {
            last = task.work;
            let lower = set.tasks.iter().filter(|other| other.priority < task.priority);
            if let Some(longest) = lower.max_by_key(|other| other.work) {
                once.push(Part::stated(Kind::Blocking, &longest.name, longest.work));
            }
        }
        let (period, jitter) = (task.period, task.jitter + self.late_alarm(set, task));
        Ok(Question { period, jitter, own, last, once, streams })
    }

    /// The jobs of the tasks that go before a task.
    fn more_urgent(&self, set: &Set, costs: &Costs, index: usize) -> Result<Vec<Stream>, Missing> {
        let task = &set.tasks[index];
        let others = set.tasks.iter().enumerate().filter(|(number, _)| *number != index);
        let others = others.filter(|(_, other)| other.priority >= task.priority);
        let stream = |(_, other): (usize, &Task)| {
            let mut parts = job(other, Kind::Preemption, costs)?;
            parts.extend(self.waits(set, other, costs)?);
            parts.extend(switch_to(other, costs)?);
            parts.push(switch_from(other, costs)?);
            let (period, jitter) = (other.period, other.jitter);
            Ok(Stream { parts, arrivals: Arrivals::Every { period, jitter, distance: 0 } })
        };
        others.map(stream).collect()
    }

    /// By how many cycles an alarm is late that is set to whole units of its timer.
    fn late_alarm(&self, set: &Set, task: &Task) -> u64 {
        let whole = |cycles: u64| set.granule == 0 || cycles.is_multiple_of(set.granule);
        let exact = whole(task.period) && whole(task.offset);
        let clock = self.timer == Timer::Alarm && task.release == Release::Clock;
        if clock && !exact { set.granule } else { 0 }
    }

    /// What lower tasks and the kernel hold a job up with.
    fn blocking(&self, set: &Set, costs: &Costs, index: usize) -> Result<Vec<Part>, NoBound> {
        let mut parts = Vec::new();
        for blocker in blockers(set, index, self.protocol)? {
            let of = format!("{} with {}", blocker.task, blocker.lock);
            parts.push(Part::stated(Kind::Blocking, &of, blocker.cycles));
            parts.push(costs.part(Cost::Lock, &of, blocker.locks)?);
            if matches!(self.protocol, Protocol::Inheritance | Protocol::None) {
                parts.push(costs.part(Cost::Contended, &of, 1)?);
            }
        }
        let level = set.tasks[index].priority;
        let lower = set.tasks.iter().filter(|task| task.priority < level);
        // The call by which one of them waits for its next release may hold a tick back, too.
        let waits = lower.map(|task| switch_from(task, costs)).collect::<Result<Vec<_>, _>>()?;
        let longest = waits.into_iter().max_by_key(|part| part.cycles);
        if let Some(mut longest) = longest.filter(|_| self.order == Order::Preemptive) {
            let held = costs.part(Cost::HeldBack, "the kernel", 1)?;
            (longest.kind, longest.of) = (Kind::HeldBack, "the kernel".to_owned());
            parts.push(if longest.cycles > held.cycles { longest } else { held });
        } else if self.order.takes_turns() {
            parts.push(costs.part(Cost::HeldBack, "the kernel", 1)?);
        }
        Ok(parts)
    }

    /// Whether each tick is dealt with before the next one is due: its handler goes behind all others, and
    /// where interrupts are masked for a round, behind the longest round.
    fn keeps_time(&self, set: &Set, costs: &Costs) -> Result<(), NoBound> {
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
        let question = Question { period: set.tick, jitter: 0, own, last: 0, once, streams };
        let cycles = question.bound()?.response;
        if cycles > set.tick {
            return Err(NoBound::LostTicks { cycles, tick: set.tick });
        }
        Ok(())
    }

    /// The switches to holders of locks and back that a job may bring: at each of its sections
    /// that a task of no higher priority can hold.
    fn waits(&self, set: &Set, task: &Task, costs: &Costs) -> Result<Option<Part>, Missing> {
        if !matches!(self.protocol, Protocol::Inheritance | Protocol::None) {
            return Ok(None);
        }
        let held = |lock: usize| {
            let others = set.tasks.iter().filter(|other| other.name != task.name);
            others.filter(|other| other.priority <= task.priority).any(|it| it.takes(lock))
        };
        let times = task.sections.iter().filter(|section| held(section.lock)).count() as u64;
        (times > 0).then(|| costs.part(Cost::Contended, &task.name, times)).transpose()
    }

    /// The timer's interrupts, and what they do for others. A tick goes on where nobody waits for it.
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
        if self.timer == Timer::Alarm && set.granule > 0 {
            let parts = vec![costs.part(Cost::Tick, "the timer, twice each time round", 1)?];
            let period = set.granule.saturating_mul(HALF_ROUND);
            streams.push(Stream { parts, arrivals: Arrivals::every(period) });
        }
        if self.order.takes_turns() {
            streams.extend(self.releases_of_others(set, costs, index, turns)?);
            return Ok(streams);
        }
        let level = set.tasks[index].priority;
        // Of those that go before, the switch to them has it.
        for task in released.into_iter().filter(|task| task.priority < level) {
            // An alarm may have gone off just before.
            let (cost, late) = match self.timer {
                Timer::Tick => (Cost::Release, 0),
                Timer::Alarm => (Cost::Tick, costs.part(Cost::HeldBack, "the kernel", 1)?.cycles),
            };
            let parts = vec![costs.part(cost, &task.name, 1)?];
            let (period, jitter) = (task.period, task.jitter + late);
            let arrivals = Arrivals::Every { period, jitter, distance: 0 };
            streams.push(Stream { parts, arrivals });
        }
        Ok(streams)
    }

    /// The bounds of all tasks.
    pub fn bounds(&self, set: &Set, costs: &Costs) -> Vec<Result<Bound, NoBound>> {
        let mut bounds = self.bounds_as_counted(set, costs);
        if let Some(why) = late_end(set, &bounds) {
            // Only receivers' jobs grow by that, and who waits for them.
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

    /// The same, if no more messages gather than are counted.
    fn bounds_as_counted(&self, set: &Set, costs: &Costs) -> Vec<Result<Bound, NoBound>> {
        let mut bounds = self.round(set, costs, None);
        if !self.order.takes_turns() {
            return bounds;
        }
        // Nobody's bound stands on a task that is late: each counts one poll for each release.
        if let Some((task, bound)) = set.tasks.iter().zip(&bounds).find(is_late) {
            let why = late_turn(set, task, bound);
            for bound in bounds.iter_mut().filter(|bound| bound.is_ok()) {
                *bound = Err(why.clone());
            }
            return bounds;
        }
        // What is known of each task makes the others' bounds shorter.
        for _ in 0..ROUNDS {
            let shorter = self.round(set, costs, Some(&bounds));
            if shorter == bounds {
                break;
            }
            bounds = shorter;
        }
        bounds
    }

    /// The bounds of all tasks with those of tasks that take turns as they are known.
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

    fn bound_with(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Bound, NoBound> {
        let bound = self.question_with(set, costs, index, turns)?.bound()?;
        let task = &set.tasks[index];
        // From its beginning on, a job takes no less than its work.
        let cycles = bound.response.saturating_sub(task.work);
        let distance = task.period;
        // An event loop's queue keeps every release.
        let keeps_one = self.order != Order::Fifo;
        if keeps_one && matches!(task.release, Release::Interrupt(_)) && cycles > distance {
            return Err(NoBound::LostReleases { cycles, distance });
        }
        Ok(bound)
    }

    /// Whether every job of every task is done in time, as far as is known.
    pub fn holds(&self, set: &Set, costs: &Costs) -> bool {
        let in_time = |(task, bound): (&Task, &Result<Bound, NoBound>)| {
            bound.as_ref().is_ok_and(|bound| bound.response <= task.deadline)
        };
        if self.order.takes_turns() {
            let first = self.round(set, costs, None);
            if set.tasks.iter().zip(&first).any(|it| is_late(&it)) {
                return false;
            }
            // Further rounds only make bounds shorter.
            let all = |bounds: &[_]| set.tasks.iter().zip(bounds).all(in_time);
            return all(&first) || all(&self.bounds(set, costs));
        }
        // The least urgent one is the first that does not hold, mostly.
        let mut order: Vec<usize> = (0..set.tasks.len()).collect();
        order.sort_by_key(|&index| set.tasks[index].priority);
        order
            .into_iter()
            .all(|index| in_time((&set.tasks[index], &self.bound_with(set, costs, index, &[]))))
    }
}

/// Why messages may gather that were not counted: an end of a queue may be late, or has no bound.
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

fn wakes(set: &Set, interrupt: usize) -> bool {
    set.tasks.iter().any(|task| task.release == Release::Interrupt(interrupt))
}

fn different_levels(set: &Set, from: u32) -> Result<(), NoBound> {
    let above: Vec<&Task> = set.tasks.iter().filter(|task| task.priority >= from).collect();
    for (at, one) in above.iter().enumerate() {
        if let Some(other) = above[..at].iter().find(|it| it.priority == one.priority) {
            let (one, other) = (other.name.clone(), one.name.clone());
            return Err(NoBound::SharedLevel { one, other });
        }
    }
    Ok(())
}

fn whole_ticks(task: &Task, tick: u64) -> Result<(), NoBound> {
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

/// Interrupt handlers, with what the kernel does for whom they wake.
pub(crate) fn handlers(set: &Set, costs: &Costs) -> Result<Vec<Stream>, Missing> {
    let handler = |(number, interrupt): (usize, &crate::set::Interrupt)| {
        let cost = if wakes(set, number) { Cost::Wake } else { Cost::Interrupt };
        let parts = vec![
            Part::stated(Kind::Interrupt, &interrupt.name, interrupt.work),
            costs.part(cost, &interrupt.name, 1)?,
        ];
        Ok(Stream { parts, arrivals: Arrivals::every(interrupt.distance) })
    };
    set.interrupts.iter().enumerate().map(handler).collect()
}

/// What a job itself executes.
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

/// From its release to a job's first instruction; an interrupt's handler has that in its own cost.
pub(crate) fn switch_to(task: &Task, costs: &Costs) -> Result<Option<Part>, Missing> {
    match task.release {
        Release::Clock => costs.part(Cost::Start, &task.name, 1).map(Some),
        Release::Interrupt(_) => Ok(None),
    }
}

/// From a job's end to whoever runs next.
pub(crate) fn switch_from(task: &Task, costs: &Costs) -> Result<Part, Missing> {
    let cost = match task.release {
        Release::Clock => Cost::End,
        Release::Interrupt(_) => Cost::Wait,
    };
    costs.part(cost, &task.name, 1)
}
