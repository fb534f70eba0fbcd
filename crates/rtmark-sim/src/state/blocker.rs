//! What keeps a pending interrupt from its handler, and for how long.

use serde::{Deserialize, Serialize};

use crate::arch::armm::nvic::Masks;

/// Something that keeps a pending interrupt from its handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Blocker {
    /// PRIMASK is set.
    Primask,
    /// FAULTMASK is set.
    Faultmask,
    /// BASEPRI holds a priority that is at least as urgent.
    Basepri,
    /// MSTATUS.MIE of a RISC-V core is clear.
    MachineMask,
    /// The handler of this exception is active, at a priority that is at least as urgent.
    Active(u16),
    /// The interrupt is not enabled.
    Disabled,
    /// A single instruction that cannot be interrupted, or no longer can. A machine at an instruction
    /// boundary never returns this; the code that follows a run does.
    Instruction,
    /// This exception is pending as well, and more urgent.
    Pending(u16),
    /// CPSR.I of a Cortex-R is set.
    StatusMask,
    /// The priority mask of an interrupt controller beside a Cortex-R holds the interrupt back.
    PriorityMask,
    /// CPSR.F of a Cortex-R is set, and the interrupt arrives as FIQ.
    FastMask,
}

impl Blocker {
    /// Returns the name of the mask register, or the kind of any other blocker.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Primask => "PRIMASK",
            Self::Faultmask => "FAULTMASK",
            Self::Basepri => "BASEPRI",
            Self::MachineMask => "MSTATUS.MIE",
            Self::StatusMask => "CPSR.I",
            Self::FastMask => "CPSR.F",
            Self::PriorityMask => "the interrupt controller's priority mask",
            Self::Active(_) => "a handler",
            Self::Pending(_) => "a more urgent exception",
            Self::Disabled => "not being enabled",
            Self::Instruction => "one instruction",
        }
    }

    /// Returns the exception whose priority blocks, whether its handler is active already or about to be
    /// entered.
    pub const fn exception(self) -> Option<u16> {
        match self {
            Self::Active(exception) | Self::Pending(exception) => Some(exception),
            _ => None,
        }
    }

    /// Returns the strongest mask that is set, if any.
    pub fn of(masks: Masks) -> Option<Self> {
        match masks {
            Masks { faultmask: true, .. } => Some(Self::Faultmask),
            Masks { primask: true, .. } => Some(Self::Primask),
            Masks { basepri: 0, .. } => None,
            Masks { .. } => Some(Self::Basepri),
        }
    }
}

/// A stretch of a run in which an interrupt is, or would be, kept from its handler.
///
/// `By` is how much is known of the cause: one [`Blocker`], all of them, or each with its cycles. `At` is
/// how much is known of a place: an address, or an instruction with its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedInterval<By, At = u32> {
    /// What held the interrupt back.
    pub by: By,
    /// Where the stretch began.
    pub from: At,
    /// Where it ended.
    pub to: At,
    /// Its length in cycles, without a sleep that the interrupt would have ended although it is held back:
    /// see [`Machine::would_wake`](crate::Machine::would_wake).
    pub cycles: u64,
    /// The cycle since reset in which it began.
    pub began: u64,
}
