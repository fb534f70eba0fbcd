//! Tasks that take turns: how often a job has to wait for another task.

use crate::bound::{Arrivals, Bound, Question, Stream};
use crate::costs::{Cost, Costs, Missing};
use crate::model::{Model, Order, Timer, handlers, job, switch_from, switch_to};
use crate::no_bound::NoBound;
use crate::set::{Release, Set, Task};
use crate::term::{Kind, Part};

/// How often the bounds of tasks that take turns are refined with those of the others.
pub(crate) const ROUNDS: usize = 8;

/// What is known about a task that takes turns with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Bound on its response in cycles.
    pub response: u64,
    /// Most polls of this task for which a job of another task has to wait.
    pub most: u64,
}

impl Model {
    /// Returns, for each task, its longest response (its period while no bound is known) and how
    /// often another task may have to wait for it. Returns nothing for orders without turns.
    pub(crate) fn turns(
        &self,
        set: &Set,
        costs: &Costs,
        known: Option<&[Result<Bound, NoBound>]>,
    ) -> Result<Vec<Turns>, Missing> {
        if !self.order.takes_turns() {
            return Ok(Vec::new());
        }
        let known = |at: usize| known?.get(at)?.as_ref().ok().map(|bound| bound.response);
        let responses = (0..).zip(&set.tasks).map(|(at, task)| known(at).unwrap_or(task.period));
        let responses: Vec<u64> = responses.collect();
        let turns = (0..).zip(&set.tasks).map(|(at, task)| {
            if self.order == Order::Fifo {
                // A task released while a job waits runs after that job.
                return Ok(Turns { response: responses[at], most: 1 });
            }
            let until = self.next_batch(set, costs, at, &responses)?;
            let jitter = task.jitter + self.late_alarm(set, task);
            let again = until.is_none_or(|until| task.period.saturating_sub(jitter) <= until);
            Ok(Turns { response: responses[at], most: if again { 2 } else { 1 } })
        });
        turns.collect()
    }

    /// Returns the longest time from a release of a task to the end of the batch that polls its
    /// job, or `None` if handlers make it unbounded.
    ///
    /// A job that waits during the rest of one batch and then in the next one waits for another
    /// task at most twice: for its poll in the rest of the first batch, and for its poll ahead of
    /// the job in the second. To be polled twice, that task must be released again within the time
    /// computed here. During it, each other task is polled in the rest of the previous batch and in
    /// the batch itself, for releases no longer ago than its response time.
    ///
    /// The same holds for rounds instead of batches.
    fn next_batch(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        responses: &[u64],
    ) -> Result<Option<u64>, Missing> {
        let mut own = vec![self.held_back(set, costs, index)?];
        own.extend(self.turn(&set.tasks[index], costs)?);
        own.extend(switch_to(&set.tasks[index], costs)?);
        let mut streams = handlers(set, costs)?;
        let is_ticked = self.timer == Timer::Tick;
        if is_ticked {
            let parts = vec![costs.part(Cost::Tick, "the tick", 1)?];
            streams.push(Stream { parts, arrivals: Arrivals::every(set.tick) });
        }
        for (at, task) in set.others(index) {
            let (period, jitter) = (task.period, responses[at]);
            let most = if self.share_a_tick(set, at, index) { 1 } else { 2 };
            let arrivals = Arrivals::AtMost { period, jitter, most };
            let mut parts = self.turn(task, costs)?;
            if !is_ticked {
                // One more alarm, for the following batch.
                own.push(costs.part(Cost::Tick, &task.name, 1)?);
            } else if task.release == Release::Clock {
                parts.push(costs.part(Cost::Release, &task.name, 1)?);
            }
            streams.push(Stream { parts, arrivals });
        }
        // Only these delay it; there is no second job of its own.
        let period = u64::MAX;
        let (after, once) = (Vec::new(), Vec::new());
        let question = Question { period, jitter: 0, own, after, last: 0, once, streams };
        Ok(question.bound().ok().map(|bound| bound.response))
    }

    /// Returns the longest stretch during which the kernel holds a job back. For one that an interrupt
    /// releases while a tick's round begins, that is the beginning, as far as the tick and its releases do
    /// not count it already.
    pub(crate) fn held_back(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
    ) -> Result<Part, Missing> {
        let mut held = costs.part(Cost::HeldBack, "the kernel", 1)?;
        let is_clocked = |task: &Task| task.release == Release::Clock;
        if self.order == Order::Rounds
            && !is_clocked(&set.tasks[index])
            && set.tasks.iter().any(is_clocked)
        {
            let cycles = |cost| costs.part(cost, "the tick", 1).map(|part| part.cycles);
            let counted = cycles(Cost::Release)?.saturating_add(cycles(Cost::Tick)?);
            held.cycles = held.cycles.max(cycles(Cost::Start)?.saturating_sub(counted));
        }
        Ok(held)
    }

    /// Returns the cost of another task's job that runs first, with the switch from it and, if an
    /// alarm released it, that alarm. The switch to the first job of a batch or round is counted
    /// for the waiting task.
    pub(crate) fn turn(&self, task: &Task, costs: &Costs) -> Result<Vec<Part>, Missing> {
        let mut parts = job(task, Kind::Turns, costs)?;
        if self.timer == Timer::Alarm && task.release == Release::Clock {
            parts.push(costs.part(Cost::Tick, &task.name, 1)?);
        }
        parts.push(switch_from(task, costs)?);
        Ok(parts)
    }

    /// Returns what is left of the switch from a task's previous job when its next one is released, if
    /// that job ends so late, as far as [`Cost::HeldBack`] does not cover it. A round that a tick
    /// started is over by the next one.
    pub(crate) fn rest_of_previous(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        response: u64,
    ) -> Result<Option<Part>, Missing> {
        let task = &set.tasks[index];
        let switch = switch_from(task, costs)?;
        if self.share_a_tick(set, index, index)
            || response.saturating_add(switch.cycles) <= task.period
        {
            return Ok(None);
        }
        let held = costs.part(Cost::HeldBack, "the kernel", 1)?.cycles;
        let rest = switch.cycles.saturating_sub(held);
        Ok((rest > 0).then_some(Part { kind: Kind::Earlier, cycles: rest, ..switch }))
    }

    /// Returns the turns of all other tasks for which a job may have to wait.
    ///
    /// In rounds, a job released during one round is polled in the next. Each other task may have a
    /// turn in the rest of the first round; tasks earlier in the array also have one in the second.
    pub(crate) fn turns_of_others(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Vec<Stream>, Missing> {
        let mut streams = Vec::new();
        for (number, other) in set.others(index) {
            let Turns { response: jitter, mut most } = turns[number];
            if self.order == Order::Rounds {
                let before = u64::from(!self.share_a_tick(set, number, index));
                let ahead = u64::from(is_polled_before(set, number, index));
                most = most.min(before + ahead);
            }
            let arrivals = Arrivals::AtMost { period: other.period, jitter, most };
            if most > 0 {
                streams.push(Stream { parts: self.turn(other, costs)?, arrivals });
            }
        }
        Ok(streams)
    }

    /// Returns what the clock's releases of all other tasks cost a waiting job.
    pub(crate) fn releases_of_others(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Vec<Stream>, Missing> {
        let clocked = set.others(index).filter(|(_, other)| other.release == Release::Clock);
        let stream = |(number, other): (usize, &Task)| {
            let (period, jitter) = (other.period, other.jitter);
            let (cost, arrivals) = match (self.timer, self.order) {
                // The next release after the polls ahead of the job: its poll comes later, but its
                // alarm may not.
                (Timer::Alarm, _) => (Cost::Tick, Arrivals::AtMost { period, jitter, most: 1 }),
                // A round begins by checking all timers, so tasks polled after the job count as
                // well. Each task is polled between two of its releases.
                (Timer::Tick, Order::Rounds) => {
                    let Turns { response: jitter, most } = turns[number];
                    let most = if self.share_a_tick(set, number, index) { 1 } else { most };
                    (Cost::Release, Arrivals::AtMost { period, jitter, most })
                }
                (Timer::Tick, _) => {
                    (Cost::Release, Arrivals::Every { period, jitter, distance: 0 })
                }
            };
            Ok(Stream { parts: vec![costs.part(cost, &other.name, 1)?], arrivals })
        };
        clocked.map(stream).collect()
    }

    /// Returns whether ticks release both tasks, so that neither of them can be in a round in
    /// progress when the other one is released.
    ///
    /// Every round ends less than a tick after the tick before it; otherwise ticks would be lost
    /// and there would be no bound. A round in progress at a tick therefore began after the round
    /// that polled everything released by the previous tick, and contains only tasks released by
    /// interrupts. If that earlier round itself is still in progress, this is because a round was
    /// already in progress at its tick; it has caught up since then, because handlers and the
    /// longest round together take no more than a tick, so what remains of it is no more than what
    /// remained then.
    fn share_a_tick(&self, set: &Set, one: usize, other: usize) -> bool {
        let is_ticked = |index: usize| {
            let task = &set.tasks[index];
            task.release == Release::Clock && task.jitter == 0
        };
        let is_possible = self.order == Order::Rounds && self.timer == Timer::Tick;
        is_possible && is_ticked(one) && is_ticked(other)
    }
}

/// Returns whether a round polls one task before another: by priority, then by index in the set.
fn is_polled_before(set: &Set, one: usize, other: usize) -> bool {
    let place = |index: usize| (std::cmp::Reverse(set.tasks[index].priority), index);
    place(one) < place(other)
}

pub(crate) fn is_late((task, bound): &(&Task, &Result<Bound, NoBound>)) -> bool {
    !bound.as_ref().is_ok_and(|bound| bound.response <= task.period)
}

/// Returns why other tasks have no bound if a task that takes turns with them may be late, or has
/// no bound itself.
pub(crate) fn late_turn(set: &Set, task: &Task, bound: &Result<Bound, NoBound>) -> NoBound {
    let response = match bound {
        Ok(bound) => bound.response,
        Err(NoBound::LostReleases { cycles, .. }) => cycles.saturating_add(task.work),
        Err(other) => return other.clone(),
    };
    let longest = set.tasks.iter().max_by_key(|other| other.work).unwrap_or(task);
    NoBound::LateTurn {
        task: task.name.clone(),
        response,
        period: task.period,
        longest: longest.name.clone(),
        cycles: longest.work,
    }
}
