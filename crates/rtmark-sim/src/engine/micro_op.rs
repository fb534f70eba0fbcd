//! Micro-operations: what blocks hold besides instructions as they are decoded.
//!
//! A block keeps each instruction as [`crate::isa`] has decoded it, with a [`Kind`] that says what
//! the engine makes of it: a branch behind which the block goes on, an IT whose outcome is
//! expected, an instruction that is passed over. None of this is known to decoders, timing rules
//! or the disassembler.

use crate::isa::{Group, Op, Slot};
use crate::timing::NOT_TAKEN;

/// How a block executes one of its slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As its operation says.
    Plain,
    /// As a branch that is expected to be taken, or to lead to a target that only execution can
    /// tell: `imm` or, of a list of registers, `aux`. Behind it the block goes on there.
    Followed,
    /// As an IT whose condition is expected to hold (`aux` = 1) or not: to be as expected, the
    /// condition in the upper half of `imm` holds. Where it does not, the block is left.
    ExpectedIt,
    /// As an IT that leads past `aux` slots unless the condition with this number holds: see
    /// [`crate::engine::if_conversion`].
    If(u8),
    /// Leads past `aux` slots.
    Hop,
    /// An instruction of an IT block whose condition does not hold.
    Skip,
    /// Nothing but a look at what the branch before it was foreseen to do, whose address is `imm`:
    /// where it leads if the block goes on (`aux`).
    Foresee,
    /// Nothing but a fetch: the next instruction reaches another line of its memory, with the
    /// address of its last halfword (`imm`) and the line's number (`aux`).
    Line,
}

/// A slot of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroOp {
    pub slot: Slot,
    pub kind: Kind,
}

impl MicroOp {
    /// An instruction as it is decoded.
    pub const fn plain(slot: Slot) -> Self {
        Self { slot, kind: Kind::Plain }
    }

    /// The fetch before an instruction, whose last halfword is at this address in the line of
    /// this number: that is the line which it enters in sequence. It has no bytes of its own.
    pub const fn line(slot: &Slot, last: u32, number: u32) -> Self {
        Self {
            slot: Slot { op: Op::Nop, extent: 0, cost: 0, imm: last, aux: number, ..*slot },
            kind: Kind::Line,
        }
    }

    /// What stands behind a branch, at this address, which is foreseen by what it has done.
    pub fn foresee(&self, branch: u32) -> Self {
        let target = if self.is_followed() { self.target() } else { NOT_TAKEN };
        let slot = Slot { op: Op::Nop, extent: 0, cost: 0, imm: branch, aux: target, ..self.slot };
        Self { slot, kind: Kind::Foresee }
    }

    /// An instruction passed over.
    pub const fn skip(slot: Slot, cost: u8) -> Self {
        Self { slot: Slot { cost, ..slot }, kind: Kind::Skip }
    }

    /// An IT that is expected to hold, or not to.
    pub fn expected_it(slot: Slot, holds: bool) -> Self {
        let imm = slot.imm ^ if holds { 0 } else { 1 << 4 };
        Self { slot: Slot { imm, aux: u32::from(holds), ..slot }, kind: Kind::ExpectedIt }
    }

    /// ITSTATE behind an IT that is expected to hold, or not to.
    #[inline(always)]
    pub const fn it_behind(&self) -> u8 {
        (self.slot.imm ^ (self.slot.aux ^ 1) << 4) as u8
    }

    /// A branch for a block that goes on at this target, if there can be one.
    pub fn followed(slot: &Slot, target: u32) -> Option<Self> {
        let slot = match slot.op.group() {
            Group::Branch | Group::Call => Slot { imm: target, ..*slot },
            Group::BranchRegister if slot.is_indirect() => Slot { imm: target, ..*slot },
            Group::List if matches!(slot.op, Op::Pop | Op::Ldm) => {
                let pops = slot.is_indirect() && slot.n == 13 && slot.aux == 1;
                pops.then_some(Slot { aux: target, ..*slot })?
            }
            _ => return None,
        };
        Some(Self { slot, kind: Kind::Followed })
    }

    /// Whether a block goes on at the target of this branch.
    pub fn is_followed(&self) -> bool {
        self.kind == Kind::Followed
    }

    /// Where a followed branch leads.
    pub fn target(&self) -> u32 {
        if self.slot.op.group() == Group::List { self.slot.aux } else { self.slot.imm }
    }

    /// Whether nothing can be executed right after it.
    pub fn ends_block(&self) -> bool {
        self.kind == Kind::Plain && self.slot.ends_block()
    }

    /// Whether it does nothing but calculate with registers, which always takes it to its end.
    pub fn only_calculates(&self) -> bool {
        self.kind == Kind::Plain && self.slot.op.only_calculates()
    }

    /// The type of the shift of the second operand, where executing it is quicker for knowing it.
    pub const fn known_shift(&self) -> Option<u32> {
        let shift = self.slot.aux >> 8;
        match (self.slot.op, shift) {
            (Op::MovX | Op::MovsX | Op::AddX, 0..=2)
            | (Op::OrrX | Op::EorX, 0 | 1)
            | (Op::SubX, 0) => Some(shift),
            _ => None,
        }
    }
}

/// What a micro-operation does, of a number that its function is made for: see
/// [`crate::engine::dispatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Operation(Op),
    /// One with a shift of a known type.
    Shifted(Op, u32),
    Followed(Op),
    ExpectedIt,
    If(u8),
    Hop,
    Skip,
    Line,
    Foresee,
}

/// Bits of a number that name the operation.
const OPERATION: u16 = (1 << 9) - 1;
/// The first shift type, and the step to the next one.
pub const SHIFTED: u16 = 1 << 9;
pub const FOLLOWED: u16 = 4 << 9;
const OTHERS: u16 = 5 << 9;
pub const EXPECTED_IT: u16 = OTHERS;
pub const HOP: u16 = OTHERS + 1;
pub const SKIP: u16 = OTHERS + 2;
pub const LINE: u16 = OTHERS + 3;
pub const FORESEE: u16 = OTHERS + 4;
pub const IF: u16 = OTHERS + 16;

const _: () = assert!(Op::ALL.len() <= OPERATION as usize);

impl Does {
    /// What a number stands for.
    pub const fn of(number: u16) -> Self {
        let op = number & OPERATION;
        match number & !OPERATION {
            0 => Self::Operation(Op::ALL[op as usize]),
            FOLLOWED => Self::Followed(Op::ALL[op as usize]),
            OTHERS => match number {
                EXPECTED_IT => Self::ExpectedIt,
                HOP => Self::Hop,
                SKIP => Self::Skip,
                LINE => Self::Line,
                FORESEE => Self::Foresee,
                _ => Self::If((number - IF) as u8),
            },
            shift => Self::Shifted(Op::ALL[op as usize], (shift / SHIFTED) as u32 - 1),
        }
    }
}
