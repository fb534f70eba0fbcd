//! One decoded instruction.

use super::{Group, Op};

/// In [`Slot::extent`]: fetching the instruction in sequence reaches a line of its
/// memory that the one before did not.
const ENTERS_LINE: u8 = 0x80;
/// In [`Slot::extent`]: the instruction is observed by itself.
const LANDMARK: u8 = 0x40;
/// In [`Slot::extent`]: an observer tells what begins here from what lies before.
const BORDER: u8 = 0x20;

/// One decoded instruction, ready to execute.
///
/// Which operands mean something, and what, is the operation's business.
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
    /// Bytes of the encoding, 2 or 4, with [`ENTERS_LINE`], [`LANDMARK`] and [`BORDER`].
    pub extent: u8,
    /// Cycles that the instruction takes at least, filled in by the timing rules.
    pub cost: u8,
    /// Immediate operand, offset, absolute address or register list.
    pub imm: u32,
    /// What the operation needs besides: shift, rotation, variant.
    pub aux: u32,
}

/// Blocks are read a slot at a time: no more than a quarter of a line of the host's cache.
const _: () = assert!(size_of::<Slot>() == 16);

impl Slot {
    /// An encoding of `size` bytes that no instruction has.
    pub const fn undefined(size: u8) -> Self {
        Self { op: Op::Undefined, d: 0, n: 0, m: 0, a: 0, extent: size, cost: 1, imm: 0, aux: 0 }
    }

    /// Bytes of the encoding: 2 or 4.
    #[inline(always)]
    pub const fn size(&self) -> u8 {
        self.extent & !(ENTERS_LINE | LANDMARK | BORDER)
    }

    /// The instruction within an IT block.
    pub fn inside_it(self) -> Self {
        let op = if self.size() == 2 { self.op.inside_it() } else { self.op };
        Self { op, ..self }
    }

    /// Whether fetching it in sequence reaches another line than the one before.
    #[inline(always)]
    pub const fn enters_line(&self) -> bool {
        self.extent & ENTERS_LINE != 0
    }

    /// The slot for a core with stack limits: what writes the stack pointer stands
    /// behind [`Op::Guarded`], so that nothing else pays for the limit's check. The
    /// operation itself goes to the upper half of `aux`, which no operation uses.
    pub const fn guarded(self) -> Self {
        if !self.writes_stack_pointer() {
            return self;
        }
        Self { op: Op::Guarded, aux: self.aux & 0xFFFF | (self.op as u32) << 16, ..self }
    }

    /// The slot itself, or what stands behind [`Op::Guarded`].
    pub fn unguarded(&self) -> Self {
        if self.op != Op::Guarded {
            return *self;
        }
        let op = Op::ALL.get((self.aux >> 16) as usize).copied().unwrap_or(Op::Undefined);
        Self { op, aux: self.aux & 0xFFFF, ..*self }
    }

    /// Whether the instruction's write of the stack pointer is checked against its
    /// limit: additions to it, moves to it, and write-back by loads and stores, but
    /// neither MSR nor a load of it (DDI 0553, B3.21).
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

    /// Whether the instruction jumps to an address that it does not name.
    pub fn is_indirect(&self) -> bool {
        match self.op.group() {
            Group::BranchRegister => matches!(self.op, Op::Bx | Op::BlxR),
            Group::List => self.imm >> 15 & 1 == 1,
            _ => false,
        }
    }

    /// Whether the instruction jumps to where nobody knows before it has executed.
    pub fn leaps(&self) -> bool {
        match self.op.group() {
            Group::BranchRegister | Group::BranchTable | Group::LoadPc => true,
            Group::List => self.imm >> 15 & 1 == 1,
            _ => false,
        }
    }

    /// Whether where the instruction leads is only known when it has executed: a condition or an
    /// address says so.
    pub fn is_foreseen(&self) -> bool {
        let slot = self.unguarded();
        slot.leaps() || slot.op.group() == Group::Branch && slot.op != Op::B
    }

    /// Whether the program counter comes from memory, and from no table of branches.
    pub fn loads_pc(&self) -> bool {
        match self.op.group() {
            Group::LoadPc => true,
            Group::List => self.is_indirect(),
            _ => false,
        }
    }

    /// Whether executing it may change N, Z, C or V, so that what is known of conditions ends
    /// with it: arithmetic that sets flags, MSR of APSR_nzcvq (DDI 0403, B5.2.3), and VMRS to
    /// APSR_nzcv (A7.7.243). Exception returns do so, too, and are jumps.
    pub fn writes_flags(&self) -> bool {
        let slot = self.unguarded();
        match slot.op {
            Op::Msr => slot.imm < 4 && slot.aux & 2 != 0,
            Op::Vmrs => slot.d == 15,
            op => op.sets_flags(),
        }
    }

    /// Whether nothing can be executed right after the instruction.
    pub fn ends_block(&self) -> bool {
        let slot = self.unguarded();
        match slot.op.group() {
            Group::Special
            | Group::Security
            | Group::Call
            | Group::BranchRegister
            | Group::BranchTable => true,
            Group::LoadPc | Group::Raise | Group::Wait => true,
            Group::Branch => slot.op == Op::B,
            Group::List => slot.imm >> 15 & 1 == 1,
            _ => slot.op == Op::It,
        }
    }

    /// Whether the instruction is observed by itself.
    #[inline(always)]
    pub const fn is_landmark(&self) -> bool {
        self.extent & LANDMARK != 0
    }

    /// Whether an observer is told before the instruction executes, from wherever it is come to.
    #[inline(always)]
    pub const fn is_border(&self) -> bool {
        self.extent & BORDER != 0
    }

    /// The slot with what an observer sees in it.
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

    /// Notes whether the instruction, at this address, reaches a new line.
    pub const fn place_in_lines(&mut self, address: u32, line_bytes: u32) {
        let last = address + self.size() as u32 - 2;
        if address % line_bytes < 2 || last % line_bytes < 2 {
            self.extent |= ENTERS_LINE;
        }
    }
}
