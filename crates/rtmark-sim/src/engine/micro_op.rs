//! Micro-operations: the slots of a block.
//!
//! A micro-operation is an instruction as [`crate::isa`] decoded it, with a [`Kind`] that says how
//! the engine treats it: a branch that the block follows to its target, an IT with an expected
//! outcome, an instruction that is skipped, or a slot that executes no instruction at all. Decoder,
//! timing rules and disassembler know nothing of these kinds.

use crate::isa::{Group, Op, Slot};
use crate::timing::NOT_TAKEN;
use crate::timing::memo::PipeState;
use crate::timing::pipeline::CoreBus;

/// How a block executes a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Executes the slot's operation.
    Plain,
    /// A branch that is expected to be taken, or to reach a target that only execution can confirm:
    /// `imm` or, for a list of registers, `aux`. The block continues at that target.
    Followed,
    /// An IT whose condition is expected to hold (`aux` = 1) or to fail. The expectation is met if
    /// the condition in the upper half of `imm` holds; otherwise execution leaves the block.
    ExpectedIt,
    /// An if-converted IT: skips `aux` slots unless the condition with this number holds. See
    /// [`crate::engine::if_conversion`].
    If(u8),
    /// Skips `aux` slots.
    Hop,
    /// An instruction of an IT block whose condition fails.
    Skip,
    /// Executes nothing, but compares the condition of the rest of an IT block, after an instruction of it
    /// that sets flags, with the expected one. `imm` and `aux` are those of an expected IT.
    CheckCondition,
    /// Executes nothing, but compares the branch prediction for the preceding branch, at address
    /// `imm`, with where the block continues (`aux`).
    CheckPrediction,
    /// Executes nothing, but ends the pass, because the preceding instruction has not shown the facts that
    /// were expected of it: if it has, this is skipped. `imm` is the pipeline's state with these facts,
    /// `aux` the instruction's size, and `d` = 1 if the only fact is an access over the Code bus.
    CheckFacts,
    /// Executes nothing, but fetches: the next instruction enters another line of its memory. `imm`
    /// is the address of the instruction's last halfword, `aux` the line's number.
    Line,
    /// Executes nothing, but records that the watched instruction after it is about to execute. It begins
    /// when that one does, and no pass ends between the two.
    Watch,
}

impl Kind {
    /// Returns whether it checks something after the preceding instruction, and executes none itself.
    pub const fn is_check(self) -> bool {
        matches!(self, Self::CheckCondition | Self::CheckPrediction | Self::CheckFacts)
    }

    /// Returns whether it belongs to the instruction after it, and executes none itself.
    pub const fn is_before_instruction(self) -> bool {
        matches!(self, Self::Line | Self::Watch)
    }

    /// Returns whether it stands for an instruction, executed or skipped.
    pub const fn is_instruction(self) -> bool {
        !self.is_before_instruction() && !self.is_check()
    }

    /// Returns whether the pass continues only if a condition is as expected.
    pub const fn expects_condition(self) -> bool {
        matches!(self, Self::ExpectedIt | Self::CheckCondition)
    }
}

/// A slot of a block: an instruction and how the block executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroOp {
    pub slot: Slot,
    pub kind: Kind,
}

impl MicroOp {
    /// Wraps an instruction that executes as decoded.
    pub const fn plain(slot: Slot) -> Self {
        Self { slot, kind: Kind::Plain }
    }

    /// Creates the fetch before an instruction that enters line `number` in sequence, with its last
    /// halfword at `last`. The fetch occupies no bytes of its own.
    pub const fn line(slot: &Slot, last: u32, number: u32) -> Self {
        Self {
            slot: Slot { op: Op::Nop, extent: 0, cost: 0, imm: last, aux: number, ..*slot },
            kind: Kind::Line,
        }
    }

    /// Wraps the slot of a watch, before the instruction that it replaces.
    pub const fn watch(slot: Slot) -> Self {
        Self { slot, kind: Kind::Watch }
    }

    /// Creates the slot after a predicted branch at this address, which compares the prediction
    /// with the direction that the block takes.
    pub fn check_prediction(&self, branch: u32) -> Self {
        let target = if self.is_followed() { self.target() } else { NOT_TAKEN };
        let slot = Slot { op: Op::Nop, extent: 0, cost: 0, imm: branch, aux: target, ..self.slot };
        Self { slot, kind: Kind::CheckPrediction }
    }

    /// Creates the slot after an instruction of an IT block that sets flags, which compares the condition
    /// of the instructions left, in ITSTATE `it`, with the one that is expected to hold or to fail.
    pub fn check_condition(it: u8, holds: bool) -> Self {
        let slot = Slot { op: Op::Nop, imm: it.into(), cost: 0, ..Slot::undefined(0) };
        Self { kind: Kind::CheckCondition, ..Self::expected_it(slot, holds) }
    }

    /// Creates the slot after an instruction of `size` bytes that begins to execute in the pipeline state
    /// `begun` and is expected to leave it in the state `expected`.
    pub fn check_facts(size: u8, begun: PipeState, expected: PipeState) -> Self {
        let d = u8::from(expected == begun.with_bus(CoreBus::Code));
        let extra_cycles = expected.extra_cycles();
        let shows_them = expected == begun.with_extra_cycles(extra_cycles);
        let n = if shows_them { extra_cycles } else { 0 };
        let (imm, aux) = (expected.bits(), size.into());
        let slot = Slot { op: Op::Nop, d, n, imm, aux, cost: 0, ..Slot::undefined(0) };
        Self { slot, kind: Kind::CheckFacts }
    }

    /// Returns whether it expects the preceding instruction to access data over the Code bus, and to show
    /// nothing else.
    #[inline(always)]
    pub const fn expects_code_bus(&self) -> bool {
        matches!(self.kind, Kind::CheckFacts) && self.slot.d == 1
    }

    /// Returns the extra cycles that it expects the preceding instruction to take, if these are all that it expects.
    pub fn expected_extra_cycles(&self) -> Option<u8> {
        (self.kind == Kind::CheckFacts && self.slot.n != 0).then_some(self.slot.n)
    }

    /// Wraps an instruction that is skipped.
    pub const fn skip(slot: Slot, cost: u8) -> Self {
        Self { slot: Slot { cost, ..slot }, kind: Kind::Skip }
    }

    /// Wraps an IT that is expected to hold, or to fail.
    pub fn expected_it(slot: Slot, holds: bool) -> Self {
        let imm = slot.imm ^ if holds { 0 } else { 1 << 4 };
        Self { slot: Slot { imm, aux: u32::from(holds), ..slot }, kind: Kind::ExpectedIt }
    }

    /// Returns ITSTATE after an expected IT, for the outcome that is expected.
    #[inline(always)]
    pub const fn it_after(&self) -> u8 {
        (self.slot.imm ^ (self.slot.aux ^ 1) << 4) as u8
    }

    /// Wraps a branch that the block follows to `target`, if a block can follow such a branch.
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

    /// Returns whether the block follows this branch to its target.
    pub fn is_followed(&self) -> bool {
        self.kind == Kind::Followed
    }

    /// Returns the target of a followed branch.
    pub fn target(&self) -> u32 {
        if self.slot.op.group() == Group::List { self.slot.aux } else { self.slot.imm }
    }

    /// Returns the address at which the block continues after this instruction at `address`.
    pub fn successor(&self, address: u32) -> u32 {
        if self.is_followed() {
            self.target()
        } else {
            address.wrapping_add(self.slot.size().into())
        }
    }

    /// Returns whether the block ends here because the next address is unknown.
    pub fn ends_block(&self) -> bool {
        self.kind == Kind::Plain && self.slot.ends_block()
    }

    /// Returns whether it only computes on registers, so that it always completes.
    pub fn only_calculates(&self) -> bool {
        self.kind == Kind::Plain && self.slot.op.only_calculates()
    }

    /// Returns whether its execution may show the pipeline facts that a block can expect.
    pub fn may_show_facts(&self) -> bool {
        self.kind == Kind::Plain && !self.slot.ends_block() && !self.slot.op.only_calculates()
    }

    /// Returns the shift type of the second operand, for operations that have a faster function for
    /// it.
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
