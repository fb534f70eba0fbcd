//! Intervals in which a program has masked interrupts.

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
    /// Masks all interrupts.
    Primask,
    /// Masks interrupts that are not more urgent than its value.
    Basepri,
    /// Masks all interrupts and all faults except NMI.
    Faultmask,
    /// Masks all interrupts of a RISC-V core, through its field MIE.
    Mstatus,
    /// Masks all interrupts of a Cortex-R, through its bit I.
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

/// The longest interval of a run, from its first begin probe to its last end probe, in which the
/// program held interrupts back with a mask register. Handlers that run with nothing masked do not
/// count, nor does a sleep that an interrupt would have ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Masked {
    /// Its length, in cycles.
    pub cycles: u64,
    /// The mask register.
    pub by: MaskRegister,
    /// The cycle since reset in which it began.
    pub began: u64,
    /// Where the mask was set.
    pub set: Place,
    /// Where it was cleared.
    pub cleared: Place,
}
