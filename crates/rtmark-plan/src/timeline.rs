//! Timelines: what ran until a job was done, for the longest response found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stretch of a run, with all that ran in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeline {
    /// The cycle in which it begins.
    pub from: u64,
    /// The cycle in which it ends.
    pub until: u64,
    /// Who ran, in the order of time. Between them the kernel did, or nobody.
    pub ran: Vec<SlicePlan>,
    /// The releases within it.
    pub releases: Vec<ReleasePlan>,
}

/// Somebody ran for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlicePlan {
    /// Who.
    pub who: Actor,
    /// From this cycle.
    pub from: u64,
    /// To this one, which is not part of it.
    pub until: u64,
    /// The lock that a task held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// Who runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// A job of a task, by its name.
    Task(String),
    /// The handler of an interrupt, by its name.
    Interrupt(String),
    /// The handler of what releases tasks by the clock.
    Clock,
}

/// A task was released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleasePlan {
    /// Its name.
    pub task: String,
    /// In this cycle.
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
