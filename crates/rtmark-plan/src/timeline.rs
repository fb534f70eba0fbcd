//! Timelines: what ran until a job was done, for the longest response found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of a run, and everything that ran in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The first cycle.
    pub from: u64,
    /// The cycle after the last one.
    pub until: u64,
    /// What ran, in chronological order. In the gaps the kernel ran, or the processor was idle.
    pub ran: Vec<SlicePlan>,
    /// The releases in this part.
    pub releases: Vec<ReleasePlan>,
}

/// A period in which a task or handler ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlicePlan {
    /// The task or handler.
    pub who: Actor,
    /// The first cycle.
    pub from: u64,
    /// The cycle after the last one.
    pub until: u64,
    /// The lock that the task held, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// A task or a handler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A job of the task with this name.
    Task(String),
    /// The handler of the interrupt with this name.
    Interrupt(String),
    /// The handler of the timer that releases tasks.
    Clock,
}

/// The release of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleasePlan {
    /// The task's name.
    pub task: String,
    /// The cycle of the release.
    pub at: u64,
}

impl Timeline {
    /// Returns the cycles for which each task or handler ran, in the order in which they first ran.
    /// The remaining cycles went to the kernel or were idle.
    pub fn shares(&self) -> Vec<(Actor, u64)> {
        let mut shares: Vec<(Actor, u64)> = Vec::new();
        for ran in &self.ran {
            let cycles = ran.until - ran.from;
            match shares.iter_mut().find(|(who, _)| *who == ran.who) {
                Some((_, sum)) => *sum += cycles,
                None => shares.push((ran.who.clone(), cycles)),
            }
        }
        shares
    }
}
