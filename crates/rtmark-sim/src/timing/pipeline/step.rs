//! What the pipeline knows of an instruction.

use super::Reads;

/// Which part of the execute stage an instruction keeps busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    #[default]
    Alu,
    /// NOP: the only instruction that a load or store lets pass without a bus of its own.
    Nop,
    /// Several cycles in the execute stage.
    Long,
    Load,
    Store,
    LoadMany,
    StoreMany,
    /// The target is known while it is decoded.
    Branch,
    /// The same, speculatively.
    Conditional,
    /// To the link register: while decoded, unless the register is just being written.
    Return,
    /// The target is known in the execute stage.
    Late,
    /// What follows is fetched anew.
    Barrier,
    /// An addition to the program counter: one cycle later still.
    Computed,
    Table,
}

/// Traits of a step, as bits.
pub mod has {
    pub const WIDE: u16 = 1 << 0;
    /// The next instruction leaves the prefetch queue only when this one is through.
    pub const HOLDS: u16 = 1 << 1;
    pub const WRITEBACK: u16 = 1 << 2;
    /// A register as offset.
    pub const INDEXED: u16 = 1 << 3;
    pub const SETS_FLAGS: u16 = 1 << 4;
    pub const NARROW_LDM: u16 = 1 << 5;
    /// The halfword behind it looks like IT.
    pub const IT_FOLLOWS: u16 = 1 << 6;
    /// May be folded over by an IT behind it.
    pub const FOLDS: u16 = 1 << 7;
    /// Is IT.
    pub const IT: u16 = 1 << 8;
    /// MUL: conditional branches behind it wait.
    pub const MUL: u16 = 1 << 9;
    /// UMULL, SMULL.
    pub const MULL: u16 = 1 << 10;
    pub const MLA: u16 = 1 << 11;
    pub const LINKS: u16 = 1 << 12;
    /// Loads the program counter.
    pub const TO_PC: u16 = 1 << 13;
    pub const MLAL: u16 = 1 << 14;
    /// Jumps when it executes, to where it is known to beforehand.
    pub const AIMED: u16 = 1 << 15;
}

/// One instruction as the pipeline sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    pub unit: Unit,
    pub traits: u16,
    /// Registers that its address is made of.
    pub address: u16,
    pub writes: u16,
    /// Transferred registers, in their order.
    pub first: u8,
    pub second: u8,
    /// MLA's addend; xMULL's high result.
    pub high: u8,
    pub low: u8,
    pub factors: u16,
    /// Words that it transfers.
    pub words: u8,
    /// The bus that its data access is expected on.
    pub bus: Bus,
    /// Cycles in the execute stage at least, for `Unit::Long`.
    pub cycles: u8,
}

impl Step {
    pub const fn is(&self, which: u16) -> bool {
        self.traits & which != 0
    }

    pub const fn is_transfer(&self) -> bool {
        matches!(
            self.unit,
            Unit::Load | Unit::Store | Unit::LoadMany | Unit::StoreMany | Unit::Table
        )
    }

    pub(super) const fn is_branch(&self) -> bool {
        matches!(
            self.unit,
            Unit::Branch
                | Unit::Conditional
                | Unit::Return
                | Unit::Late
                | Unit::Barrier
                | Unit::Computed
                | Unit::Table
        ) || self.is(has::TO_PC)
    }

    pub(super) const fn length(&self) -> u8 {
        if self.is(has::WIDE) { 2 } else { 1 }
    }
}

/// Which bus a data address leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bus {
    #[default]
    Code,
    System,
    Private,
}

impl Bus {
    /// The bus of a data access (DDI 0337, 12.1).
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
    pub bus: Option<Bus>,
    /// It is a store that the System bus makes a read, a change and a write of.
    pub reads_first: bool,
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

/// A register as a bit; none for those of the FPU.
pub(super) const fn mask(register: u8) -> u16 {
    (1u32 << (register & 31)) as u16
}

impl Step {
    pub(super) const fn address_base(&self) -> u16 {
        self.address
    }

    /// The register of the nth transferred word.
    pub(super) fn nth(&self, at: u8) -> u8 {
        match self.unit {
            Unit::LoadMany if self.factors != 0 => {
                let mut list = self.factors;
                for _ in 0..at {
                    list &= list - 1;
                }
                list.trailing_zeros() as u8 & 15
            }
            _ if at == 0 => self.first,
            _ => self.second,
        }
    }
}
