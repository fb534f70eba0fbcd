//! The demands of an instruction on the pipeline.

use super::cycle::Sleep;

/// The demands of an instruction, or of one of its micro-operations, on the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Demand {
    /// Its address.
    pub pc: u32,
    /// The size in bytes.
    pub size: u8,
    /// The destination; 0 for none.
    pub rd: u8,
    /// The registers that it waits for.
    pub reads: [u8; 2],
    pub access: Access,
    pub flow: Flow,
    /// Cycles for which the multiplier or divider is busy after the first.
    pub calculates: Option<u8>,
    /// Whether it raises an exception, or returns from one, in stage M.
    pub raises: ExceptionOutcome,
    pub sleep: Sleep,
    /// Whether it is the last micro-operation of its instruction.
    pub last: bool,
    /// Whether no interrupt is taken before it.
    pub holds_interrupts: bool,
}

/// The access of an instruction on the data port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    None,
    /// With the wait states of the address, and the response there.
    Load(u8, BusResponse),
    Store(u8, BusResponse),
    LoadReserved(u8, BusResponse),
    /// A store-conditional makes no access if its reservation is gone.
    StoreConditional(Option<(u8, BusResponse)>),
    Atomic(u8),
    /// A load or store across a word boundary, as two transfers.
    Split([(u8, BusResponse); 2]),
}

impl Access {
    /// Returns the wait states of its data phase; of two, those of the first.
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

    /// Returns the wait states of all its data phases. Atomic operations and split accesses have
    /// two.
    pub const fn all_waits(self) -> u16 {
        match self {
            Self::Atomic(waits) => 2 * waits as u16,
            Self::Split([(first, _), (second, _)]) => first as u16 + second as u16,
            one => one.waits() as u16,
        }
    }
}

/// The response of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BusResponse {
    Okay,
    /// With an error, which takes two cycles (IHI 0033, 5.1.3).
    Error,
}

/// The control flow of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flow {
    Next,
    /// Always jumps to the target.
    Jump(u32),
    /// Branches to the target if taken.
    Branch {
        target: u32,
        taken: bool,
    },
    /// To the next instruction, fetched again without the prediction.
    Refetch,
    /// To the next instruction, after a cycle in which nothing executes.
    Drain,
}

/// Whether an instruction ends in an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExceptionOutcome {
    No,
    /// It counts as retired: ECALL, EBREAK, MRET.
    Retired,
    /// It does not count as retired.
    NotRetired,
}
