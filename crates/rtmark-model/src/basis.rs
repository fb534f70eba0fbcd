//! What is counted, and by what.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a series counts. Bases are never mixed in one comparison.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Cycles of the core's clock: the simulator's model, or a board's counter.
    Cycles,
    /// Executed instructions.
    Instructions,
    /// Nanoseconds.
    Ns,
}

impl Basis {
    /// The word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::Ns => "ns",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where firmware ran.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The simulator.
    Sim,
    /// QEMU.
    Qemu,
    /// Silicon.
    Board,
    /// Somewhere else: read from a log.
    Log,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sim, Self::Qemu, Self::Board, Self::Log];

    /// The word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Qemu => "qemu",
            Self::Board => "board",
            Self::Log => "log",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
