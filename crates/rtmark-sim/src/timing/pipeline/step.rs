//! What the pipeline knows of an instruction.

use std::ops::Range;

use super::Reads;

/// Which part of the execute stage an instruction keeps busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    #[default]
    Alu,
    /// NOP, which passes through beside a load or store.
    Nop,
    /// Several cycles in the execute stage.
    Long,
    Load,
    Store,
    LoadMany,
    StoreMany,
    /// The decode stage branches.
    Branch,
    /// The decode stage fetches the target, taken or not.
    Conditional,
    /// To the link register: the decode stage branches, unless the register is being written.
    Return,
    /// The execute stage branches.
    Late,
    /// What follows is fetched anew.
    Barrier,
    /// An addition to the program counter: the execute stage branches a cycle later.
    Computed,
    /// Loads a distance from a table and branches.
    Table,
}

/// Traits of a step, as bits.
pub mod has {
    pub const WIDE: u16 = 1 << 0;
    /// It keeps the execute stage for several cycles.
    pub const HOLDS: u16 = 1 << 1;
    pub const WRITEBACK: u16 = 1 << 2;
    /// A register as offset.
    pub const INDEXED: u16 = 1 << 3;
    /// LDM of 16 bits.
    pub const NARROW_LDM: u16 = 1 << 4;
    /// The halfword behind it looks like IT.
    pub const IT_FOLLOWS: u16 = 1 << 5;
    /// May take an IT behind it along, on every revision.
    pub const FOLDS: u16 = 1 << 6;
    /// Folds an IT behind it before r2p0 only.
    pub const FOLDS_EARLY: u16 = 1 << 7;
    /// Folds an IT behind it from r2p0 on.
    pub const FOLDS_LATE: u16 = 1 << 8;
    /// Is IT.
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
    /// CBZ, CBNZ: the execute stage branches, to where it is known to beforehand.
    pub const AIMED: u16 = 1 << 15;
}

/// One instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    pub unit: Unit,
    /// See [`has`].
    pub traits: u16,
    /// Registers that its address is made of.
    pub address: u16,
    pub writes: u16,
    /// Transferred registers, in their order.
    pub first: u8,
    pub second: u8,
    /// MLA's addend; the high result of a long product.
    pub high: u8,
    /// The low result of a long product.
    pub low: u8,
    /// Factors of a product; registers of a list.
    pub factors: u16,
    /// Words that it transfers.
    pub words: u8,
    /// The bus that its data access is expected on.
    pub bus: CoreBus,
    /// Cycles in the execute stage at least, for `Unit::Long`.
    pub cycles: u8,
}

impl Step {
    pub const fn is(&self, which: u16) -> bool {
        self.traits & which != 0
    }

    pub const fn is_transfer(&self) -> bool {
        self.is_single_transfer()
            || matches!(self.unit, Unit::LoadMany | Unit::StoreMany | Unit::Table)
    }

    /// A load or store of one register.
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

    /// Halfwords of the encoding.
    pub(super) const fn length(&self) -> u8 {
        if self.is(has::WIDE) { 2 } else { 1 }
    }

    pub(super) const fn writes_link(&self) -> bool {
        self.writes >> 14 & 1 == 1 && !self.is(has::LINKS)
    }

    /// The register of the word that comes behind so many, as a bit; none for those of the FPU.
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

/// Which bus a data address leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoreBus {
    Code,
    #[default]
    System,
    Private,
}

impl CoreBus {
    /// The one that data passes unless another one is told, which is always told then. It only
    /// spares the telling: no figure depends on which one it is.
    pub const USUAL: Self = Self::System;

    /// The bus by which all of some addresses are reached, if it is one.
    pub fn of_all(addresses: Range<u64>) -> Option<Self> {
        let [first, last] = [addresses.start, addresses.end.saturating_sub(1)]
            .map(|address| u32::try_from(address).ok().map(Self::of));
        first.filter(|_| first == last)
    }

    /// The bus of a data access (DDI 0337G, 12.1).
    pub const fn of(address: u32) -> Self {
        match address >> 29 {
            0 => Self::Code,
            7 => Self::Private,
            _ => Self::System,
        }
    }
}

/// What is known only when an instruction executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    pub taken: bool,
    /// The bus of its data access, if it is not the one that its step expects.
    pub bus: Option<CoreBus>,
    /// Its data access is to the bit-band alias.
    pub bit_band: bool,
    /// Aligned accesses that a transfer is made of, less one.
    pub extra_parts: u8,
    /// Wait states of the data access.
    pub waits: u8,
    /// Cycles in the execute stage beyond those of its step.
    pub longer: u8,
    /// What it reads of a slow memory.
    pub reads: Reads,
}

/// The place of an instruction in an IT block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// In no block.
    #[default]
    None,
    Passed,
    Failed,
}
