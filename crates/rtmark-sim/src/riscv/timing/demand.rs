//! What an instruction asks of the pipeline.

use super::cycle::Sleep;

/// What an instruction, or a micro-operation of one, asks of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Demand {
    /// Its address.
    pub pc: u32,
    /// In bytes.
    pub size: u8,
    /// The destination, 0 for none.
    pub rd: u8,
    /// The registers that it waits for.
    pub reads: [u8; 2],
    pub access: Access,
    pub flow: Flow,
    /// Cycles for which the multiplier or divider is busy behind the first.
    pub calculates: Option<u8>,
    /// It raises an exception, or returns from one, in stage M.
    pub excepts: Excepts,
    pub sleep: Sleep,
    /// The last of its instruction's micro-operations.
    pub last: bool,
    /// No interrupt is taken before it.
    pub holds_interrupts: bool,
}

/// What an instruction does on the data port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    None,
    /// With the wait states of the address, and whether nothing answers there.
    Load(u8, Answer),
    Store(u8, Answer),
    LoadReserved(u8, Answer),
    /// A store-conditional whose reservation is gone makes no access.
    StoreConditional(Option<(u8, Answer)>),
    Atomic(u8),
    /// A load or store across a word's end, as two transfers.
    Split([(u8, Answer); 2]),
}

impl Access {
    /// Wait states of its data phase, the first of two.
    pub const fn waits(self) -> u8 {
        match self {
            Self::Load(waits, _)
            | Self::Store(waits, _)
            | Self::LoadReserved(waits, _)
            | Self::StoreConditional(Some((waits, _)))
            | Self::Atomic(waits) => waits,
            Self::Split([(waits, _), _]) => waits,
            Self::None | Self::StoreConditional(None) => 0,
        }
    }

    /// Wait states of all its data phases: an atomic operation has two, and so has a split access.
    pub const fn all_waits(self) -> u16 {
        match self {
            Self::Atomic(waits) => 2 * waits as u16,
            Self::Split([(first, _), (second, _)]) => first as u16 + second as u16,
            one => one.waits() as u16,
        }
    }
}

/// How memory answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    Okay,
    /// With an error, which takes two cycles (IHI 0033, 5.1.3).
    Error,
}

/// Where an instruction leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    Next,
    /// Always there.
    Jump(u32),
    /// To the target of a branch, taken or not.
    Branch {
        target: u32,
        taken: bool,
    },
    /// To the next instruction, fetched anew, without the prediction.
    Refetch,
    /// To the next instruction, behind a cycle in which nothing executes.
    Drain,
}

/// Whether an instruction ends in an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excepts {
    No,
    /// It counts as retired: ECALL, EBREAK, MRET.
    Retired,
    /// It does not.
    NotRetired,
}
