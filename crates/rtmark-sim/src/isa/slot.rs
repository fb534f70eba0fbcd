//! A decoded instruction.

use super::{Group, Op};

/// In [`Slot::extent`]: fetching the instruction in sequence reaches a line of its memory that the previous
/// instruction did not.
const CROSSES_LINE: u8 = 0x80;
/// In [`Slot::extent`]: the instruction is a landmark, which is observed by itself.
const LANDMARK: u8 = 0x40;
/// In [`Slot::extent`]: a part of the code that an observer distinguishes begins here.
const BORDER: u8 = 0x20;

/// A decoded instruction, ready to execute.
///
/// The operation defines which operands have a meaning, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub op: Op,
    /// Destination or transfer register.
    pub d: u8,
    /// First operand or base register.
    pub n: u8,
    /// Second operand or index register.
    pub m: u8,
    /// Accumulator, second transfer register or high result.
    pub a: u8,
    /// Bytes of the encoding, 2 or 4, combined with [`CROSSES_LINE`], [`LANDMARK`] and [`BORDER`].
    pub extent: u8,
    /// The minimum number of cycles that the instruction takes, filled in by the timing rules.
    pub cost: u8,
    /// Immediate operand, offset, absolute address or register list.
    pub imm: u32,
    /// What else the operation needs: shift, rotation, variant.
    pub aux: u32,
}

/// Blocks are read slot by slot, so a slot should take no more than a quarter of a cache line of the host.
const _: () = assert!(size_of::<Slot>() == 16);

impl Slot {
    /// Returns the slot of an undefined encoding of `size` bytes.
    pub const fn undefined(size: u8) -> Self {
        Self { op: Op::Undefined, d: 0, n: 0, m: 0, a: 0, extent: size, cost: 1, imm: 0, aux: 0 }
    }

    /// Returns the bytes of the encoding: 2 or 4.
    #[inline(always)]
    pub const fn size(&self) -> u8 {
        self.extent & !(CROSSES_LINE | LANDMARK | BORDER)
    }

    /// Returns the instruction as it behaves within an IT block.
    pub fn inside_it(self) -> Self {
        let op = if self.size() == 2 { self.op.inside_it() } else { self.op };
        Self { op, ..self }
    }

    /// Returns whether fetching it in sequence reaches a different line than the previous instruction.
    #[inline(always)]
    pub const fn crosses_line(&self) -> bool {
        self.extent & CROSSES_LINE != 0
    }

    /// Returns the slot for a core with stack limits: an instruction that writes the stack pointer becomes
    /// [`Op::Guarded`], so that nothing else pays for the limit check. The real operation moves to the
    /// upper half of `aux`, which no operation uses.
    pub const fn guarded(self) -> Self {
        if !self.writes_stack_pointer() {
            return self;
        }
        Self { op: Op::Guarded, aux: self.aux & 0xFFFF | (self.op as u32) << 16, ..self }
    }

    /// Returns the slot itself, or the real one if it is [`Op::Guarded`].
    pub fn unguarded(&self) -> Self {
        if self.op != Op::Guarded {
            return *self;
        }
        let op = Op::ALL.get((self.aux >> 16) as usize).copied().unwrap_or(Op::Undefined);
        Self { op, aux: self.aux & 0xFFFF, ..*self }
    }

    /// Returns whether the stack limit applies to the instruction: to additions to the stack pointer, moves
    /// to it, and write-back by loads and stores, but neither to MSR nor to a load of the stack pointer
    /// (DDI 0553, B3.21).
    const fn writes_stack_pointer(&self) -> bool {
        use Op as O;
        match self.op {
            O::Push | O::Pop => true,
            O::AddI | O::AddsI | O::SubI | O::SubsI | O::AddR | O::AddsR | O::SubR | O::SubsR => {
                self.d == 13
            }
            O::AddX | O::AddsX | O::SubX | O::SubsX | O::MovR => self.d == 13,
            O::LdrPcPre | O::LdrPcPost => self.n == 13,
            O::Ldm | O::Ldmdb | O::Stm | O::Stmdb => self.n == 13 && self.aux == 1,
            O::Ldrd | O::Strd => self.n == 13 && self.aux != 0,
            O::Vldm | O::Vstm => self.n == 13 && self.m == 1,
            op => op.moves_base() && self.n == 13,
        }
    }

    /// Returns whether the instruction jumps to an address that is not encoded in it.
    pub fn is_indirect(&self) -> bool {
        match self.op.group() {
            Group::BranchRegister => matches!(self.op, Op::Bx | Op::BlxR),
            Group::List => self.imm >> 15 & 1 == 1,
            _ => false,
        }
    }

    /// Returns whether the instruction jumps to an address that is unknown before it executes.
    pub fn is_indirect_jump(&self) -> bool {
        match self.op.group() {
            Group::BranchRegister | Group::BranchTable | Group::LoadPc => true,
            Group::List => self.imm >> 15 & 1 == 1,
            _ => false,
        }
    }

    /// Returns whether the instruction's successor depends on its execution, by a condition or an address,
    /// and therefore has to be predicted.
    pub fn needs_prediction(&self) -> bool {
        let slot = self.unguarded();
        slot.is_indirect_jump() || slot.op.group() == Group::Branch && slot.op != Op::B
    }

    /// Returns whether the program counter is loaded from memory, other than by a table branch.
    pub fn loads_pc(&self) -> bool {
        match self.op.group() {
            Group::LoadPc => true,
            Group::List => self.is_indirect(),
            _ => false,
        }
    }

    /// Returns whether executing it may change N, Z, C or V, so that known conditions become invalid:
    /// arithmetic that sets flags, MSR of APSR_nzcvq (DDI 0403, B5.2.3), and VMRS to APSR_nzcv (A7.7.243).
    /// Exception returns change them too, but those are jumps.
    pub fn writes_flags(&self) -> bool {
        let slot = self.unguarded();
        match slot.op {
            Op::Msr => slot.imm < 4 && slot.aux & 2 != 0,
            Op::Vmrs => slot.d == 15,
            Op::OfCoprocessor => true,
            op => op.sets_flags(),
        }
    }

    /// Returns whether nothing can be executed directly after the instruction.
    pub fn ends_block(&self) -> bool {
        let slot = self.unguarded();
        match slot.op.group() {
            Group::Special
            | Group::Security
            | Group::Coprocessor
            | Group::Call
            | Group::BranchRegister
            | Group::BranchTable => true,
            Group::LoadPc | Group::Raise | Group::Wait => true,
            Group::Branch => slot.op == Op::B,
            Group::List => slot.imm >> 15 & 1 == 1,
            _ => slot.op == Op::It,
        }
    }

    /// Returns whether the instruction is a landmark, which is observed by itself.
    #[inline(always)]
    pub const fn is_landmark(&self) -> bool {
        self.extent & LANDMARK != 0
    }

    /// Returns whether an observer is called before the instruction executes, however it is reached.
    #[inline(always)]
    pub const fn is_border(&self) -> bool {
        self.extent & BORDER != 0
    }

    /// Returns the slot with its marks for observers.
    #[must_use]
    pub const fn observed(mut self, is_landmark: bool, is_border: bool) -> Self {
        if is_landmark {
            self.extent |= LANDMARK;
        }
        if is_border {
            self.extent |= BORDER;
        }
        self
    }

    /// Returns the slot without marks.
    pub const fn bare(self) -> Self {
        Self { extent: self.size(), ..self }
    }

    /// Records whether the instruction, at this address, reaches a new line.
    pub const fn place_in_lines(&mut self, address: u32, line_bytes: u32) {
        let last = address + self.size() as u32 - 2;
        if address % line_bytes < 2 || last % line_bytes < 2 {
            self.extent |= CROSSES_LINE;
        }
    }
}
