//! Tasks that take turns: how often one has to wait for another.

use crate::bound::{Arrivals, Bound, Question, Stream};
use crate::costs::{Cost, Costs, Missing};
use crate::model::{Model, NoBound, Order, handlers, job, switch_from, switch_to};
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
        if self.order != Order::Batches {
            return Ok(Vec::new());
        }
        let known = |at: usize| known?.get(at)?.as_ref().ok().map(|bound| bound.response);
        let responses = (0..).zip(&set.tasks).map(|(at, task)| known(at).unwrap_or(task.period));
        let responses: Vec<u64> = responses.collect();
        let turns = (0..).zip(&set.tasks).map(|(at, task)| {
            let until = Self::next_batch(set, costs, at, &responses)?;
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
    fn next_batch(
        set: &Set,
        costs: &Costs,
        index: usize,
        responses: &[u64],
    ) -> Result<Option<u64>, Missing> {
        let mut own = vec![costs.part(Cost::HeldBack, "the kernel", 1)?];
        own.extend(turn(&set.tasks[index], costs)?);
        own.extend(switch_to(&set.tasks[index], costs)?);
        let mut streams = handlers(set, costs)?;
        for (at, task) in set.tasks.iter().enumerate().filter(|(at, _)| *at != index) {
            let (period, jitter) = (task.period, responses[at]);
            let arrivals = Arrivals::AtMost { period, jitter, most: 2 };
            streams.push(Stream { parts: turn(task, costs)?, arrivals });
            // An alarm more, for the batch behind.
            own.push(costs.part(Cost::Tick, &task.name, 1)?);
        }
        // Nothing but these is in its way: no second job of its own.
        let period = u64::MAX;
        let question = Question { period, jitter: 0, own, last: 0, once: Vec::new(), streams };
        Ok(question.bound().ok().map(|bound| bound.response))
    }
}

/// A poll that goes before another task's, with its alarm and the switch from it. The switch to the first one
/// of a batch is that of the task itself.
pub(crate) fn turn(task: &Task, costs: &Costs) -> Result<Vec<Part>, Missing> {
    let mut parts = job(task, Kind::Turns, costs)?;
    if task.release == Release::Clock {
        parts.push(costs.part(Cost::Tick, &task.name, 1)?);
    }
    parts.push(switch_from(task, costs)?);
    Ok(parts)
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
