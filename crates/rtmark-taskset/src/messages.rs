//! The cost of messages on an image: how much longer jobs take that send, receive, or look into an
//! empty queue.

use rtmark_plan::Cost;

use crate::alarm::NEVER;
use crate::calibrate::{Extremes, SHORT, is_tick, plain, row, spans};
use crate::image::{Bench, Channel, Clock, MAX_QUEUES, Row, SetError, Table};
use crate::run::{EventFilter, Mark};

/// Approximate cycles of a tick: more than a job takes that finds the most messages.
const TICK: u64 = 30_000;

/// How many queues a job uses, one after the other.
const QUEUES: [usize; 3] = [1, 2, MAX_QUEUES];

/// How many messages a job finds in a queue.
const ACCUMULATED: [u64; 3] = [1, 3, 12];

/// Ticks observed, with one message each: enough for the longest queue to wrap around.
const TICKS: u64 = 48;

/// The measured costs of messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    send: Extremes,
    receive: Extremes,
    look: Extremes,
}

impl Messages {
    /// Returns the length of the longest call.
    pub fn longest(&self) -> u64 {
        self.send.worst.max(self.receive.worst).max(self.look.worst)
    }

    /// Returns the costs, and how they were measured.
    pub fn costs(self) -> [(Cost, Extremes, &'static str); 3] {
        [
            (
                Cost::Send,
                self.send,
                "time that a send adds to a job, with room and no task waiting",
            ),
            (Cost::Receive, self.receive, "time that a receive adds to a job that finds a message"),
            (Cost::Look, self.look, "time that a look adds to a job that finds none"),
        ]
    }

    fn with(self, other: Self) -> Self {
        Self {
            send: self.send.with(other.send),
            receive: self.receive.with(other.receive),
            look: self.look.with(other.look),
        }
    }
}

/// Which end of the queues the measured task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sends,
    /// Receives from a task that is never released.
    Looks,
    /// Receives this many messages per queue, sent one per tick.
    Receives(u64),
}

impl Bench {
    /// Measures messages, in each of the image's tasks if each has its own code.
    pub(crate) fn messages(&self) -> Result<Messages, SetError> {
        let slots = match self.clock {
            Clock::Tick if !self.order.takes_turns() => 0..1,
            Clock::Tick | Clock::Alarm(_) => 0..self.tasks(),
        };
        let mut found: Option<Messages> = None;
        for slot in slots {
            let own = self.messages_of(slot)?;
            found = Some(found.map_or(own, |found| found.with(own)));
        }
        found.ok_or(SetError::NotObserved("a message"))
    }

    /// Measures messages in one of the image's tasks.
    fn messages_of(&self, slot: usize) -> Result<Messages, SetError> {
        let without = self.jobs_with(slot, End::Looks, 0)?;
        let (mut sends, mut looks, mut receives) = (Vec::new(), Vec::new(), Vec::new());
        for count in QUEUES {
            let each = count as u64;
            sends.push(self.jobs_with(slot, End::Sends, count)?.beyond(without, each));
            let in_vain = self.jobs_with(slot, End::Looks, count)?;
            looks.push(in_vain.beyond(without, each));
            for gathered in ACCUMULATED {
                let jobs = self.jobs_with(slot, End::Receives(gathered), count)?;
                receives.push(jobs.beyond(in_vain, each * gathered));
            }
        }
        let all = |seen: Vec<Extremes>| seen.into_iter().reduce(Extremes::with);
        let (Some(send), Some(receive), Some(look)) = (all(sends), all(receives), all(looks))
        else {
            return Err(SetError::NotObserved("a message"));
        };
        Ok(Messages { send, receive, look })
    }

    /// Returns the length of undisturbed jobs of a task that has one end of `count` queues, another
    /// task having the other.
    fn jobs_with(&self, slot: usize, end: End, count: usize) -> Result<Extremes, SetError> {
        let other = if slot == 0 { 1 } else { slot - 1 };
        let period = if let End::Receives(gathered) = end { gathered } else { 1 };
        let tick = match self.clock {
            Clock::Tick => TICK,
            Clock::Alarm(alarm) => TICK.next_multiple_of(alarm.granule),
        };
        // All of the image's tasks have a row, so a row's index is its slot.
        let row_at = |at: usize| -> Row {
            let runs = at == slot || at == other && end != End::Looks;
            let period = if at == slot { period } else { 1 };
            row(at as u64 + 1, period, if runs { 0 } else { NEVER }, &[plain(SHORT)])
        };
        let (from, to) = if end == End::Sends { (slot, other) } else { (other, slot) };
        // A message sent at the same time as the look may be there in addition.
        let queue = Channel { from, to, items: period + 2 };
        let table = Table {
            tick,
            rows: (0..self.tasks()).map(row_at).collect(),
            queues: vec![queue; count],
            ..Table::default()
        };
        let marks = self.marks(&table, TICKS, EventFilter::Jobs)?;
        let (begins, ends) = (Mark::Begin(slot), Mark::End(slot));
        let jobs = spans(&marks, |it| it == begins, |it| it == ends, is_tick);
        // The first job may find fewer messages than the others.
        Extremes::of(jobs.into_iter().skip(1), "a job")
    }
}

impl Extremes {
    /// Returns the cost of each of `times` things that these jobs did and the others did not.
    fn beyond(self, without: Self, times: u64) -> Self {
        Self {
            least: self.least.saturating_sub(without.worst) / times,
            worst: self.worst.saturating_sub(without.least).div_ceil(times),
            samples: self.samples,
        }
    }
}

#[cfg(test)]
mod tests;
