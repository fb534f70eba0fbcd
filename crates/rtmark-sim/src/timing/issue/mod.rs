//! A core that issues instructions in order, one or two per cycle, and what the next instruction
//! may have to wait for.
//!
//! Of the three pipeline stages the first is not modelled; the second and the third execute. A
//! result of the second stage is available to the next instruction, a result of the third one cycle
//! later ([`IssueInstruction::late`]). Only the newest instruction can have such late results: an
//! instruction issued after it does not wait for any older one. Floating-point results take longer,
//! so [`Registers`] counts the cycles for each.
//!
//! This model does not know how instructions are fetched: it assumes that the second of a pair is
//! always there. While a memory makes the core wait, or a division is executing, all of its state
//! stands still.

mod instruction;

pub use instruction::{
    Continuation, Flags, IssueFloat, IssueInstruction, LateAddend, Second, SecondSlot, Source,
};

use super::pipeline::Condition;

/// Floating-point results that are not available yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Registers {
    /// The registers by the cycles until they are available, from two on: fewer make no difference.
    to_come: [u32; Self::LONGEST as usize - 1],
    /// Those of them that are sums of products.
    sums: u32,
}

impl Registers {
    /// An upper bound on the cycles of any result, including one that is issued a cycle early.
    const LONGEST: u8 = 5;

    /// Returns the cycles until registers are available.
    fn ready(&self, registers: u32) -> u8 {
        let last = self.to_come.iter().rposition(|to_come| to_come & registers != 0);
        last.map_or(0, |at| at as u8 + 2)
    }

    /// Returns the cycles until registers are available as addends of products.
    fn ready_to_add(&self, registers: u32) -> u8 {
        let early = self.ready(registers & self.sums).saturating_sub(1);
        self.ready(registers & !self.sums).max(early)
    }

    fn pass(&mut self, cycles: u8) {
        let cycles = usize::from(cycles).min(self.to_come.len());
        self.to_come.copy_within(cycles.., 0);
        let left = self.to_come.len() - cycles;
        self.to_come[left..].fill(0);
        self.sums &= self.to_come.iter().fold(0, |all, to_come| all | to_come);
    }

    fn write(&mut self, registers: u32, cycles: u8, is_sum: bool) {
        for to_come in &mut self.to_come {
            *to_come &= !registers;
        }
        self.sums &= !registers;
        let at = usize::from(cycles.min(Self::LONGEST)).checked_sub(2);
        if let Some(to_come) = at.and_then(|at| self.to_come.get_mut(at)) {
            *to_come |= registers;
            self.sums |= if is_sum { registers } else { 0 };
        }
    }
}

/// The state that the next instruction encounters. Cycles count from the issue of the newest
/// instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Issue {
    /// Cycles until the next instruction may be issued in the first slot.
    next: u8,
    /// Cycles beyond that if the newest instruction branches away.
    refill: u8,
    /// The kinds of instruction that may be issued in the second slot after it.
    second_slot: SecondSlot,
    /// Whether it sets flags.
    sets_flags: bool,
    /// Whether it is in the second slot itself.
    is_second: bool,
    /// Core registers that are not available to an instruction in the second slot.
    unready: u16,
    /// Core registers that are available only one cycle after `next`.
    late: u16,
    source: Source,
    /// Cycles until the flags are available.
    flags: u8,
    /// Cycles until a floating-point instruction may be issued.
    float: u8,
    registers: Registers,
}

impl Issue {
    /// Issues an instruction after the newest one, which has branched away if `taken`. Returns the
    /// cycles from one to the other.
    pub fn issue(
        &mut self,
        instruction: &IssueInstruction,
        condition: Condition,
        taken: bool,
    ) -> u32 {
        if taken && self.refill > 0 {
            self.next += self.refill;
            (self.second_slot, self.late, self.refill) = (SecondSlot::Nothing, 0, 0);
        }
        let instruction = match condition {
            Condition::Failed => instruction.skipped(),
            _ => *instruction,
        };
        let is_conditional = condition != Condition::None;
        let cycles = if self.pairs_with(&instruction) {
            self.issue_second(&instruction, is_conditional)
        } else {
            self.issue_first(&instruction, is_conditional)
        };
        cycles.into()
    }

    /// Returns whether an instruction may go in the second slot after the newest one.
    const fn pairs_with(&self, instruction: &IssueInstruction) -> bool {
        let fits = match self.second_slot {
            SecondSlot::Nothing => false,
            SecondSlot::BranchOrIt => matches!(instruction.second, Second::BranchOrIt),
            SecondSlot::Any => !matches!(instruction.second, Second::Never),
        };
        fits && instruction.reads & self.unready == 0
    }

    /// Issues an instruction in the second slot, in the last cycle of the one in the first slot. A
    /// branch takes no cycle of its own there; if it is taken after an instruction that sets flags,
    /// its target comes a cycle later.
    fn issue_second(&mut self, instruction: &IssueInstruction, is_conditional: bool) -> u8 {
        let cycles = self.next.saturating_sub(1);
        self.pass(cycles);
        self.next = 1;
        self.refill = self.refill_behind(instruction.continuation, is_conditional);
        if self.sets_flags && self.refill > 0 {
            self.refill = self.refill.max(2);
        }
        (self.second_slot, self.unready) = (SecondSlot::Nothing, 0);
        (self.sets_flags, self.is_second) = (false, true);
        cycles
    }

    fn issue_first(&mut self, instruction: &IssueInstruction, is_conditional: bool) -> u8 {
        let branches = matches!(instruction.continuation, Continuation::ByFlags(_))
            || instruction.second == Second::BranchOrIt;
        let mut at = self.next;
        // Load to use, and everything else that the third stage does, is a cycle late.
        if self.comes_late_for(instruction) {
            at += 1;
        }
        // A branch is issued before its flags are available.
        if instruction.reads_carry || is_conditional && !branches {
            at = at.max(self.flags);
        }
        let mut float_begins = at;
        if let Some(float) = &instruction.float {
            // It may be issued a cycle before an operand is available, and then waits for it in the
            // unit, which accepts nothing else meanwhile.
            let operands = self.registers.ready(float.operands);
            at = at
                .max(self.float)
                .max(self.registers.ready(float.moved))
                .max(self.registers.ready_to_add(float.addend))
                .max(operands.saturating_sub(1));
            float_begins = at.max(operands);
        }
        let still_late = if at == self.next && instruction.cycles == 1 { self.late } else { 0 };
        self.pass(at);
        let cycles = instruction.cycles;
        self.next = cycles;
        if let Some(float) = &instruction.float {
            let early = float_begins - at;
            self.float = early + cycles + float.holds;
            self.registers.write(float.writes, early + float.latency, float.is_sum);
        }
        self.flags = match instruction.flags {
            Flags::Kept => self.flags,
            Flags::Set => cycles,
            Flags::SetLate => cycles + 1,
        };
        self.refill = self.refill_behind(instruction.continuation, is_conditional);
        self.second_slot = instruction.second_slot;
        self.unready = match instruction.second_slot {
            SecondSlot::Nothing => 0,
            _ => still_late | instruction.writes,
        };
        (self.late, self.source) = (instruction.late, instruction.source);
        if self.late == 0 {
            self.source = Source::default();
        }
        self.sets_flags =
            instruction.second_slot != SecondSlot::Nothing && instruction.flags != Flags::Kept;
        self.is_second = false;
        at
    }

    /// Returns whether an instruction reads a result that is one cycle late. A product takes its
    /// addend in time from a load or another sum; an operand that is extended and added, only from
    /// a sum; an operand moved to the floating-point unit, from anything but memory.
    const fn comes_late_for(&self, instruction: &IssueInstruction) -> bool {
        let IssueInstruction { reads, moved, addend, late_addend, .. } = *instruction;
        let mut needed = reads;
        if !matches!(
            (self.source, late_addend),
            (Source::Load, LateAddend::Product)
                | (Source::Sum, LateAddend::Product | LateAddend::Extended)
        ) {
            needed |= addend;
        }
        if matches!(self.source, Source::Load) {
            needed |= moved;
        }
        self.late & needed != 0
    }

    /// Returns the cycles without an instruction after a branch that is issued now. The target of a
    /// branch on flags is issued at least two cycles after the flags are available; the flags of
    /// the previous instruction are available when a branch is issued in a cycle of its own.
    fn refill_behind(&self, continuation: Continuation, is_conditional: bool) -> u8 {
        let by_flags = |refill: u8| refill.max((self.flags + 2).saturating_sub(self.next));
        match continuation {
            Continuation::Next => 0,
            Continuation::Elsewhere(refill) if !is_conditional => refill,
            Continuation::Elsewhere(refill) | Continuation::ByFlags(refill) => by_flags(refill),
        }
    }

    fn pass(&mut self, cycles: u8) {
        self.flags = self.flags.saturating_sub(cycles);
        self.float = self.float.saturating_sub(cycles);
        self.registers.pass(cycles);
    }

    /// Returns the cycles from the issue of the newest instruction until the next one could be
    /// issued.
    pub const fn rest(&self) -> u32 {
        self.next as u32
    }

    /// Returns the cycles that the first of a pair still takes once the second one has been issued.
    pub const fn first_remaining_cycles(&self) -> u32 {
        if self.is_second { self.next as u32 } else { 0 }
    }
}
