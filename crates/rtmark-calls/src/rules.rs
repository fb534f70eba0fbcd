//! Which calls have a scenario's span, and which are only like one: data of a kernel's file.

use rtmark_model::{Pattern, ScenarioId};
use serde::Deserialize;

use crate::condition::Condition;
use crate::paid::Outcome;

/// How a call goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// It returns to its caller.
    Returns,
    /// Another thread goes on that has run before.
    Switches,
    /// A thread begins that has not run before.
    Starts,
}

impl Then {
    /// What calls are told by.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Returns => Outcome::Returned,
            Self::Switches | Self::Starts => Outcome::Switched,
        }
    }
}

/// Calls from a thread whose span is a scenario's, but for what loads their arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equal {
    pub scenario: ScenarioId,
    /// The functions, by their symbols.
    pub calls: Vec<Pattern>,
    pub then: Then,
    /// Of a call that switches: the functions from which the other thread comes back.
    #[serde(default)]
    pub into: Vec<Pattern>,
    /// What must hold besides.
    #[serde(default)]
    pub when: Vec<Condition>,
}

/// Calls that are like a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Near {
    pub scenario: ScenarioId,
    /// The functions, by their symbols.
    pub calls: Vec<Pattern>,
    pub then: Then,
    /// What keeps the two from being compared.
    pub differs: String,
}
