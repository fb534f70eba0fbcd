//! Times for which an interrupt is held back, by whatever does it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Place;

/// The interrupt whose wait is measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// One of the most urgent priority there is, 0, whose handler may use nothing of the kernel.
    MostUrgent,
    /// One of the most urgent priority from which the kernel may be called.
    MayCall,
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MostUrgent => "the most urgent interrupt",
            Self::MayCall => "an interrupt that may call the kernel",
        })
    }
}

/// Stretches of a run in which an interrupt would have been held back, which begin and end at the
/// same places with the same callers. Time asleep does not count: an interrupt ends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HeldInterval {
    /// The longest of them, in cycles.
    pub cycles: u64,
    /// In which cycle since reset that one began.
    pub began: u64,
    /// And ended.
    pub ended: u64,
    /// How many there were.
    pub times: u64,
    /// The cycles of all.
    pub total_cycles: u64,
    /// What held the interrupt back in the longest one, in its order: PRIMASK, BASEPRI,
    /// FAULTMASK, an exception's handler, or one instruction.
    pub by: Vec<String>,
    /// Where it began, with the callers.
    pub from: Place,
    /// Where it ended.
    pub to: Place,
}
