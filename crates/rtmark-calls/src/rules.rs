//! Rules in a kernel's file about which calls have a scenario's span, and which only resemble one.

use rtmark_model::{Pattern, ScenarioId};
use serde::Deserialize;

use crate::condition::Condition;
use crate::cost::Outcome;

/// How a call continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleOutcome {
    /// It returns to its caller.
    Returns,
    /// Another thread continues that has run before.
    Switches,
    /// A thread begins that has not run before.
    Starts,
}

impl RuleOutcome {
    /// Returns the recorded outcome that it corresponds to.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Returns => Outcome::Returned,
            Self::Switches | Self::Starts => Outcome::Switched,
        }
    }
}

/// Calls from a thread whose span is a scenario's, except for the instructions that load their
/// arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equal {
    pub scenario: ScenarioId,
    /// The functions, by their symbols.
    pub calls: Vec<Pattern>,
    pub then: RuleOutcome,
    /// For a call that switches: the functions from which the other thread returns.
    #[serde(default)]
    pub into: Vec<Pattern>,
    /// Further conditions.
    #[serde(default)]
    pub when: Vec<Condition>,
}

/// Calls that resemble a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Near {
    pub scenario: ScenarioId,
    /// The functions, by their symbols.
    pub calls: Vec<Pattern>,
    pub then: RuleOutcome,
    /// Why the two cannot be compared.
    pub differs: String,
}
