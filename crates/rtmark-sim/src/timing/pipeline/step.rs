//! An instruction as the pipeline model sees it.

use std::ops::Range;

use super::{DataRead, FloatUse};

/// The part of the pipeline that an instruction occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    #[default]
    Alu,
    /// NOP, which can pass through beside a load or store.
    Nop,
    /// Takes several cycles in the execute stage.
    Long,
    Load,
    Store,
    LoadMany,
    StoreMany,
    /// Branches in the decode stage.
    Branch,
    /// A conditional branch: the decode stage fetches the target whether it is taken or not.
    Conditional,
    /// A branch to the link register: the decode stage branches, unless the register is being
    /// written.
    Return,
    /// Branches in the execute stage.
    Late,
    /// Flushes the pipeline: the following instructions are fetched again.
    Barrier,
    /// An addition to the program counter: branches in the execute stage, one cycle later.
    Computed,
    /// Loads a distance from a table, and branches by it.
    Table,
}

/// Traits of a step, as bits.
pub mod has {
    pub const WIDE: u16 = 1 << 0;
    /// Occupies the execute stage for several cycles.
    pub const HOLDS: u16 = 1 << 1;
    pub const WRITEBACK: u16 = 1 << 2;
    /// The offset is a register.
    pub const INDEXED: u16 = 1 << 3;
    /// A 16-bit LDM.
    pub const NARROW_LDM: u16 = 1 << 4;
    /// The next halfword looks like IT.
    pub const IT_FOLLOWS: u16 = 1 << 5;
    /// Folds an IT that follows it, on every revision.
    pub const FOLDS: u16 = 1 << 6;
    /// Folds an IT that follows it, only before r2p0.
    pub const FOLDS_EARLY: u16 = 1 << 7;
    /// Folds an IT that follows it, from r2p0 on.
    pub const FOLDS_LATE: u16 = 1 << 8;
    /// IT itself.
    pub const IT: u16 = 1 << 9;
    /// UMULL, SMULL.
    pub const MULL: u16 = 1 << 10;
    pub const MLA: u16 = 1 << 11;
    /// UMLAL, SMLAL.
    pub const MLAL: u16 = 1 << 12;
    /// BL, BLX.
    pub const LINKS: u16 = 1 << 13;
    /// Loads the program counter.
    pub const TO_PC: u16 = 1 << 14;
    /// CBZ, CBNZ, and MOV and ADD of PC to itself: branches in the execute stage to a target known before.
    pub const AIMED: u16 = 1 << 15;
}

/// One instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    pub unit: Unit,
    /// See [`has`].
    pub traits: u16,
    /// The registers that form its address, as bits.
    pub address: u16,
    pub writes: u16,
    /// The transferred registers, in order.
    pub first: u8,
    pub second: u8,
    /// The addend of MLA, or the high result of a long product.
    pub high: u8,
    /// The low result of a long product.
    pub low: u8,
    /// The factors of a product, or the registers of a list, as bits.
    pub factors: u16,
    /// The number of words that it transfers.
    pub words: u8,
    /// The expected bus of its data access.
    pub bus: CoreBus,
    /// The minimum cycles in the execute stage, for `Unit::Long`.
    pub cycles: u8,
    /// What it needs of the floating-point unit.
    pub float: FloatUse,
}

impl Step {
    pub const fn is(&self, which: u16) -> bool {
        self.traits & which != 0
    }

    pub const fn is_transfer(&self) -> bool {
        self.is_single_transfer()
            || matches!(self.unit, Unit::LoadMany | Unit::StoreMany | Unit::Table)
    }

    /// Returns whether it is a load or store of one register.
    pub(super) const fn is_single_transfer(&self) -> bool {
        matches!(self.unit, Unit::Load | Unit::Store)
    }

    pub(super) const fn is_branch(&self) -> bool {
        self.is(has::TO_PC)
            || matches!(
                self.unit,
                Unit::Branch
                    | Unit::Conditional
                    | Unit::Return
                    | Unit::Late
                    | Unit::Barrier
                    | Unit::Computed
                    | Unit::Table
            )
    }

    /// Returns the number of halfwords of the encoding.
    pub(super) const fn length(&self) -> u8 {
        if self.is(has::WIDE) { 2 } else { 1 }
    }

    pub(super) const fn writes_link(&self) -> bool {
        self.writes >> 14 & 1 == 1 && !self.is(has::LINKS)
    }

    /// Returns the register of the word after `behind` others as a bit, or 0 for a register of the
    /// FPU.
    pub(super) fn register(&self, behind: u8) -> u16 {
        let number = match self.unit {
            Unit::LoadMany if self.factors != 0 => {
                let mut list = self.factors;
                for _ in 0..behind {
                    list &= list.wrapping_sub(1);
                }
                list.trailing_zeros() as u8
            }
            _ if behind == 0 => self.first,
            _ => self.second,
        };
        (1u32 << (number & 31)) as u16
    }
}

/// The bus of a data address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoreBus {
    Code,
    #[default]
    System,
    Private,
}

impl CoreBus {
    /// The default bus of data accesses: only accesses over other buses are recorded. This saves
    /// recording most accesses, and no figure depends on the choice.
    pub const USUAL: Self = Self::System;

    /// Returns the bus of a range of addresses, if it is the same for all of them.
    pub fn of_all(addresses: Range<u64>) -> Option<Self> {
        let [first, last] = [addresses.start, addresses.end.saturating_sub(1)]
            .map(|address| u32::try_from(address).ok().map(Self::of));
        first.filter(|_| first == last)
    }

    /// Returns the bus of a data access (DDI 0337G, 12.1).
    pub const fn of(address: u32) -> Self {
        match address >> 29 {
            0 => Self::Code,
            7 => Self::Private,
            _ => Self::System,
        }
    }
}

/// The facts that only the execution of an instruction shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    pub taken: bool,
    /// The bus of its data access, if it differs from the one that its step expects.
    pub bus: Option<CoreBus>,
    /// Whether its data access is to the bit-band alias.
    pub bit_band: bool,
    /// The number of aligned accesses that make up a transfer, minus one.
    pub extra_parts: u8,
    /// The wait states of its data access.
    pub waits: u8,
    /// The cycles in the execute stage beyond those of its step.
    pub longer: u8,
    /// The word of a slow memory that it reads first.
    pub reads: DataRead,
}

/// The place of an instruction in an IT block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Not in an IT block.
    #[default]
    None,
    Passed,
    Failed,
}
