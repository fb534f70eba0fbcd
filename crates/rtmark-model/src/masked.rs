//! Times for which a program has masked interrupts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Place;

/// A register that holds interrupts back.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MaskRegister {
    /// All interrupts.
    Primask,
    /// Those that are not more urgent than its value.
    Basepri,
    /// All interrupts and all faults but NMI.
    Faultmask,
    /// All interrupts of a RISC-V core, by its field MIE.
    Mstatus,
    /// All interrupts of a Cortex-R, by its bit I.
    Cpsr,
}

impl fmt::Display for MaskRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primask => "PRIMASK",
            Self::Basepri => "BASEPRI",
            Self::Faultmask => "FAULTMASK",
            Self::Mstatus => "MSTATUS.MIE",
            Self::Cpsr => "CPSR.I",
        })
    }
}

/// The longest time of a run, from its first begin probe to its last end probe, for which
/// the program held interrupts back by a mask register. Handlers that run with nothing
/// masked do not count, nor does time asleep.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Masked {
    /// How long, in cycles.
    pub cycles: u64,
    /// By which register.
    pub by: MaskRegister,
    /// In which cycle since reset it began.
    pub began: u64,
    /// Where the mask was set.
    pub set: Place,
    /// Where it was cleared.
    pub cleared: Place,
}
