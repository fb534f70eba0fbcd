//! Intervals in which an interrupt is held back, whatever the cause.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Place;
use crate::samples::is_false;

/// The interrupt whose wait is measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    /// An interrupt with the most urgent priority, 0, whose handler may not call the kernel.
    MostUrgent,
    /// An interrupt with the most urgent priority from which the kernel may be called.
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

/// Stretches of a run in which an interrupt would have been held back, with the same beginning, end and
/// callers. Time asleep does not count if the interrupt would have ended it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct HeldInterval {
    /// The longest of them, in cycles.
    pub cycles: u64,
    /// The cycle since reset in which the longest began.
    pub began: u64,
    /// The cycle since reset in which the longest ended.
    pub ended: u64,
    /// The number of stretches.
    pub times: u64,
    /// The total number of cycles.
    pub total_cycles: u64,
    /// What held the interrupt back in the longest one, in order: PRIMASK, BASEPRI, FAULTMASK, an
    /// exception's handler, or one instruction.
    pub by: Vec<String>,
    /// Where it began, with the callers.
    pub from: Place,
    /// Where it ended.
    pub to: Place,
    /// Whether the run ended in it, so that it is not known how long it would have become.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
}
