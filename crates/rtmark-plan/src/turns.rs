//! Tasks that take turns: how often one has to wait for another.

use crate::bound::{Arrivals, Bound, Question, Stream};
use crate::costs::{Cost, Costs, Missing};
use crate::model::{Model, NoBound, Order, Timer, handlers, job, switch_from, switch_to};
use crate::set::{Release, Set, Task};
use crate::term::{Kind, Part};

/// How often bounds of tasks that take turns are made with those of the others.
pub(crate) const ROUNDS: usize = 8;

/// What is known of a task that takes turns with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Its longest response.
    pub response: u64,
    /// How often at most another one's job has to wait for a poll of its.
    pub most: u64,
}

impl Model {
    /// What is known of tasks that take turns: how long each takes at the most, its period where that is not
    /// known yet, and how often another one may have to wait for it. Nothing where tasks take none.
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
                // Whoever is released while a job waits runs after that job.
                return Ok(Turns { response: responses[at], most: 1 });
            }
            let until = self.next_batch(set, costs, at, &responses)?;
            let again = until.is_none_or(|until| task.period.saturating_sub(task.jitter) <= until);
            Ok(Turns { response: responses[at], most: if again { 2 } else { 1 } })
        });
        turns.collect()
    }

    /// How long it can take from a release of a task to the end of the batch in which its job is polled; none
    /// where handlers leave no end to it.
    ///
    /// A job that waits in one batch and then in the next waits for a task at most twice: for its poll in the
    /// rest of the one and ahead of itself in the other. For twice, that task's next release must come within
    /// this time. Until then each other task is polled in the rest of the batch before and in that batch, for
    /// releases that are no longer ago than its response.
    ///
    /// The same holds for a round in place of a batch.
    fn next_batch(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        responses: &[u64],
    ) -> Result<Option<u64>, Missing> {
        let mut own = vec![costs.part(Cost::HeldBack, "the kernel", 1)?];
        own.extend(self.turn(&set.tasks[index], costs)?);
        own.extend(switch_to(&set.tasks[index], costs)?);
        let mut streams = handlers(set, costs)?;
        let is_ticked = self.timer == Timer::Tick;
        if is_ticked {
            let parts = vec![costs.part(Cost::Tick, "the tick", 1)?];
            streams.push(Stream { parts, arrivals: Arrivals::every(set.tick) });
        }
        for (at, task) in set.tasks.iter().enumerate().filter(|(at, _)| *at != index) {
            let (period, jitter) = (task.period, responses[at]);
            let most = if self.by_one_tick(set, at, index) { 1 } else { 2 };
            let arrivals = Arrivals::AtMost { period, jitter, most };
            let mut parts = self.turn(task, costs)?;
            if !is_ticked {
                // An alarm more, for the batch behind.
                own.push(costs.part(Cost::Tick, &task.name, 1)?);
            } else if task.release == Release::Clock {
                parts.push(costs.part(Cost::Release, &task.name, 1)?);
            }
            streams.push(Stream { parts, arrivals });
        }
        // Nothing but these is in its way: no second job of its own.
        let period = u64::MAX;
        let question = Question { period, jitter: 0, own, last: 0, once: Vec::new(), streams };
        Ok(question.bound().ok().map(|bound| bound.response))
    }

    /// A job of another task that goes before, with the switch from it and, where an alarm released it,
    /// that alarm. The switch to the first job of a batch or round is that of the waiting task itself.
    pub(crate) fn turn(&self, task: &Task, costs: &Costs) -> Result<Vec<Part>, Missing> {
        let mut parts = job(task, Kind::Turns, costs)?;
        if self.timer == Timer::Alarm && task.release == Release::Clock {
            parts.push(costs.part(Cost::Tick, &task.name, 1)?);
        }
        parts.push(switch_from(task, costs)?);
        Ok(parts)
    }

    /// The turns of all other tasks for which a job may have to wait.
    ///
    /// In rounds, a job that is released during one round is polled in the next. Each other task may have a
    /// turn in the rest of the first round, and those earlier in the array have one in the second.
    pub(crate) fn turns_of_others(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Vec<Stream>, Missing> {
        let others = (0..).zip(&set.tasks).filter(|(number, _)| *number != index);
        let mut streams = Vec::new();
        for (number, other) in others {
            let Turns { response: jitter, mut most } = turns[number];
            if self.order == Order::Rounds {
                let before = u64::from(!self.by_one_tick(set, number, index));
                let ahead = u64::from(goes_first(set, number, index));
                most = most.min(before + ahead);
            }
            let arrivals = Arrivals::AtMost { period: other.period, jitter, most };
            if most > 0 {
                streams.push(Stream { parts: self.turn(other, costs)?, arrivals });
            }
        }
        Ok(streams)
    }

    /// What the clock's releases of all other tasks cost a job that waits.
    pub(crate) fn releases_of_others(
        &self,
        set: &Set,
        costs: &Costs,
        index: usize,
        turns: &[Turns],
    ) -> Result<Vec<Stream>, Missing> {
        let others = (0..).zip(&set.tasks).filter(|(number, _)| *number != index);
        let clocked = others.filter(|(_, other)| other.release == Release::Clock);
        let stream = |(number, other): (usize, &Task)| {
            let (period, jitter) = (other.period, other.jitter);
            let (cost, arrivals) = match (self.timer, self.order) {
                // The next one after the polls that go before: its poll comes later, its alarm need not.
                (Timer::Alarm, _) => (Cost::Tick, Arrivals::AtMost { period, jitter, most: 1 }),
                // A round begins with a look at all timers, so that those count which are polled after
                // the job. Between two of a task's releases lies its poll.
                (Timer::Tick, Order::Rounds) => {
                    let Turns { response: jitter, most } = turns[number];
                    let most = if self.by_one_tick(set, number, index) { 1 } else { most };
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

    /// Whether rounds take two tasks by ticks, so that neither of them is in a round that is going on when the
    /// other one is released.
    ///
    /// Every round ends less than a tick after the tick before it, or ticks would be lost and there were no bound.
    /// So the rounds that a tick finds going on are those that begin after the one with all that the last
    /// tick released: only what interrupts release is in them. If that one itself is still going on, then
    /// because a round went on at its tick, too, and it has caught up on that since: handlers and the longest
    /// round take no more than a tick together, and what is left of it is no more than was left then.
    fn by_one_tick(&self, set: &Set, one: usize, other: usize) -> bool {
        let is_ticked = |index: usize| {
            let task = &set.tasks[index];
            task.release == Release::Clock && task.jitter == 0
        };
        let is_possible = self.order == Order::Rounds && self.timer == Timer::Tick;
        is_possible && is_ticked(one) && is_ticked(other)
    }
}

/// Whether a round polls one task before another: by priority, and by place in the set among equals.
fn goes_first(set: &Set, one: usize, other: usize) -> bool {
    let place = |index: usize| (std::cmp::Reverse(set.tasks[index].priority), index);
    place(one) < place(other)
}

pub(crate) fn is_late((task, bound): &(&Task, &Result<Bound, NoBound>)) -> bool {
    !bound.as_ref().is_ok_and(|bound| bound.response <= task.period)
}

/// Why others have no bound where one that takes turns with them may be late, or has none itself.
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
