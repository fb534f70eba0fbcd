//! What keeps a pending interrupt from its handler.

use crate::arch::armm::nvic::Masks;

/// What keeps a pending interrupt from its handler at an instruction's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Blocker {
    /// PRIMASK is set.
    Primask,
    /// FAULTMASK is set.
    Faultmask,
    /// BASEPRI holds a priority that is as urgent, or more.
    Basepri,
    /// The handler of this exception runs, at a priority that is as urgent, or more.
    Active(u16),
    /// This exception is pending, too, and more urgent.
    Pending(u16),
    /// The interrupt is not enabled.
    Disabled,
    /// MSTATUS.MIE of a RISC-V core is clear.
    MachineMask,
    /// CPSR.I of a Cortex-R is set.
    StatusMask,
    /// The priority mask of an interrupt controller beside a Cortex-R.
    PriorityMask,
}

impl Blocker {
    /// What a mask is called; the others by what they are.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Primask => "PRIMASK",
            Self::Faultmask => "FAULTMASK",
            Self::Basepri => "BASEPRI",
            Self::MachineMask => "MSTATUS.MIE",
            Self::StatusMask => "CPSR.I",
            Self::PriorityMask => "the interrupt controller's priority mask",
            Self::Active(_) => "a handler",
            Self::Pending(_) => "a more urgent exception",
            Self::Disabled => "not being enabled",
        }
    }

    /// The strongest mask, if one is set.
    pub fn of(masks: Masks) -> Option<Self> {
        match masks {
            Masks { faultmask: true, .. } => Some(Self::Faultmask),
            Masks { primask: true, .. } => Some(Self::Primask),
            Masks { basepri: 0, .. } => None,
            Masks { .. } => Some(Self::Basepri),
        }
    }
}
