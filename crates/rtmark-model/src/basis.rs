//! The units that are counted, and the backends that count them.

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
    /// Returns the word used in tables and files.
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

/// The backend on which firmware ran.
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

    /// Returns the word used in tables and files.
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
