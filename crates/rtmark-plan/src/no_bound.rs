//! Why a task has no bound.

use crate::blocking::Chain;
use crate::bound::Unbounded;
use crate::costs::Missing;

/// Why a task has no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBound {
    /// The recurrence has no bound.
    #[error(transparent)]
    Unbounded(#[from] Unbounded),
    /// Other tasks can keep a lock's holder from releasing it without limit.
    #[error("unbounded inversion: {0}")]
    Chain(#[from] Chain),
    /// A cost is unknown.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// A release falls between two ticks.
    #[error(
        "its {what} of {cycles} cycles is not a whole number of ticks of {tick} cycles: choose \
         one that is, or another `tick`"
    )]
    BetweenTicks {
        /// `period` or `offset`.
        what: &'static str,
        /// Its length.
        cycles: u64,
        /// The length of a tick.
        tick: u64,
    },
    /// Two tasks have the same priority, and the analysis does not know the order among equals.
    #[error(
        "{one} and {other} have the same priority: the analysis does not know how the kernel \
         orders them; give them different priorities"
    )]
    SharedLevel {
        /// One of them.
        one: String,
        /// Another one.
        other: String,
    },
    /// A tick may still be pending when the next one is due.
    #[error(
        "ticks are lost, and time with them: the tick's handler may end {cycles} cycles after it \
         was due, delayed by interrupts and by the kernel, and a tick is {tick} cycles"
    )]
    LostTicks {
        /// Cycles from the time at which a tick is due to the end of its handler, in the worst
        /// case.
        cycles: u64,
        /// Cycles of a tick.
        tick: u64,
    },
    /// A job may not have begun when its interrupt occurs again.
    #[error(
        "releases are lost: a job may begin {cycles} cycles after its interrupt, which may recur \
         after {distance} cycles, and only one release is kept"
    )]
    LostReleases {
        /// Cycles from the interrupt to the start of its job, if no release were lost.
        cycles: u64,
        /// Cycles from one interrupt to the next.
        distance: u64,
    },
    /// A task that is late lets more messages accumulate than were counted.
    #[error(
        "{task} may take {response} cycles, but its deadline is {deadline}: once it is late, more \
         messages may accumulate than are counted"
    )]
    LateEnd {
        /// The task that may be late: the sender or receiver of a queue.
        task: String,
        /// Its bound if no further messages accumulated.
        response: u64,
        /// Its deadline in cycles.
        deadline: u64,
    },
    /// A sender or receiver of a queue has no bound, so the number of messages is unknown.
    #[error(
        "{task} has no bound, and if it is late, more messages may accumulate than are counted"
    )]
    UnboundedEnd {
        /// The sender or receiver.
        task: String,
    },
    /// In an executor, one late task makes all others late.
    #[error(
        "with all turns of the others, {task} may take {response} cycles, but its period is \
         {period}; the longest job is that of {longest}, {cycles} cycles"
    )]
    LateTurn {
        /// The task that may be late.
        task: String,
        /// Its bound if no task were ever late.
        response: u64,
        /// Cycles from one of its jobs to the next.
        period: u64,
        /// The task with the longest jobs.
        longest: String,
        /// Their length in cycles.
        cycles: u64,
    },
}
