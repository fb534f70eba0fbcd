//! Loads and stores of several words, a part at a time.
//!
//! Which words they move, and where, is defined with the complete instructions ([`super::memory`],
//! [`super::fp`]). The code here can suspend an instruction between two words, and continue it at the point
//! that EPSR.ICI records (DDI 0403, B1.4.2 and B1.5.10). It does not decide whether and when to suspend.

use super::{Flow, Standalone};
use crate::arch::armm::trap::Trap;
use crate::isa::{Group, Op, Slot};
use crate::state::{CoreState, State};

/// How much of an instruction has been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of it.
    Whole(Flow),
    /// Some of the words; no further one was requested before the given cycle.
    Partial {
        cycle: u64,
        /// The value of EPSR.ICI with which to continue; zero to restart.
        ici: u8,
    },
}

/// How a suspended instruction is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// It continues with the next word.
    Continued,
    /// It restarts from the beginning.
    Restarted,
}

/// The most words that one instruction moves.
const MOST: usize = 32;

/// The words that an instruction moves, in order.
#[derive(Clone, Copy, Debug)]
struct Words {
    start: u32,
    registers: [u8; MOST],
    count: usize,
    float: bool,
    loads: bool,
    /// The base register, and its new value if it is written back.
    base: u8,
    moved: Option<u32>,
    /// The distance by which the base moves.
    bytes: u32,
}

impl Words {
    fn named(&self) -> &[u8] {
        &self.registers[..self.count]
    }

    /// Returns the base register's position among the registers that are moved.
    fn base_position(&self) -> Option<usize> {
        self.named().iter().position(|&register| !self.float && register == self.base)
    }

    /// Returns whether the base is stored and then written back.
    fn stores_base(&self) -> bool {
        !self.loads && self.moved.is_some() && self.base_position().is_some()
    }

    /// Returns whether words are stored below the stack pointer. The stack pointer moves first then, so
    /// that exception entry cannot overwrite them.
    const fn moves_stack_first(&self) -> bool {
        matches!(self.moved, Some(moved) if !self.loads && self.base == 13 && moved == self.start)
    }

    /// Returns how many words come before the one that EPSR.ICI names, which is a register or a pair of
    /// floating-point registers (DDI 0403, B1.4.2). Returns `None` if the instruction cannot be continued
    /// there: the register is not in the list, or is its first.
    fn before(&self, ici: u8) -> Option<usize> {
        let first = if self.float { ici * 2 } else { ici };
        self.named().iter().position(|&register| register == first).filter(|&before| before > 0)
    }
}

/// Returns an instruction that moves only the words from the one that EPSR.ICI names on, to find out what
/// continuing costs.
pub(crate) fn rest(slot: &Slot, ici: u8) -> Slot {
    match slot.op.group() {
        Group::List => Slot { imm: slot.imm & !0 << (ici & 15), ..*slot },
        Group::FloatMemory => {
            let before = (ici * 2).saturating_sub(slot.d);
            let left = (slot.aux & 0xFF).saturating_sub(before.into()).max(1);
            Slot { aux: slot.aux & !0xFF | left, ..*slot }
        }
        _ => *slot,
    }
}

impl State {
    /// Returns how many words the instruction moves.
    pub(crate) fn words_moved(slot: &Slot) -> usize {
        match slot.op.group() {
            Group::List => slot.imm.count_ones() as usize,
            Group::FloatMemory => (slot.aux & 0xFF).min(MOST as u32) as usize,
            Group::Dual => 2,
            _ => 0,
        }
    }

    fn words(&self, s: &Slot) -> Option<Words> {
        let count = Self::words_moved(s);
        let mut registers = [0; MOST];
        let value = self.cpu.get(s.n);
        let mut bytes = count as u32 * 4;
        let (start, moved, loads) = match s.op.group() {
            Group::List => {
                let mut left = s.imm;
                for register in &mut registers[..count] {
                    *register = left.trailing_zeros() as u8;
                    left &= left - 1;
                }
                let before = matches!(s.op, Op::Push | Op::Stmdb | Op::Ldmdb);
                let start = if before { value.wrapping_sub(bytes) } else { value };
                let end = if before { start } else { value.wrapping_add(bytes) };
                let moves = s.aux == 1;
                let loads = matches!(s.op, Op::Ldm | Op::Ldmdb | Op::Pop);
                (start, moves.then_some(end), loads)
            }
            Group::FloatMemory => {
                for (register, number) in registers[..count].iter_mut().zip(s.d..) {
                    *register = number & 31;
                }
                bytes = (s.aux >> 8) * 4;
                let start = value.wrapping_add(s.imm);
                let end = if s.a == 1 { start } else { value.wrapping_add(bytes) };
                (start, (s.m == 1).then_some(end), s.op == Op::Vldm)
            }
            Group::Dual => {
                registers[..2].copy_from_slice(&[s.d, s.a]);
                let indexed = value.wrapping_add(s.imm);
                let start = match (s.op, s.aux) {
                    (Op::LdrdLit, _) => s.imm,
                    (_, 2) => value,
                    _ => indexed,
                };
                let moves = s.op != Op::LdrdLit && s.aux != 0;
                (start, moves.then_some(indexed), s.op != Op::Strd)
            }
            _ => return None,
        };
        let float = s.op.group() == Group::FloatMemory;
        Some(Words { start, registers, count, float, loads, base: s.n, moved, bytes })
    }

    /// Returns whether a value of EPSR.ICI is valid for an instruction.
    pub(crate) fn continues(&self, s: &Slot, ici: u8) -> bool {
        let list = matches!(s.op.group(), Group::List) || matches!(s.op, Op::Vldm | Op::Vstm);
        let Some(words) = self.words(s).filter(|_| list) else { return false };
        words.before(ici).is_some_and(|before| {
            // The Cortex-M33 continues neither past a loaded base nor with a base that it stores and writes
            // back (100230, C.5).
            let past_base = words.base_position().is_some_and(|base| words.loads && before > base);
            !(self.features.v8m && (past_base || words.stores_base()))
        })
    }

    /// Moves words, starting with the one that EPSR.ICI names, as long as the next one would be requested
    /// before a given cycle; always at least one. Each takes one cycle plus its memory's wait.
    ///
    /// # Errors
    /// The errors of the complete instruction, which restarts afterwards.
    pub(crate) fn move_words(
        &mut self,
        s: &Slot,
        ici: u8,
        until: u64,
        then: Resumption,
    ) -> Result<Progress, Trap> {
        let Some(mut words) = self.words(s) else { return Err(Trap::Undefined) };
        let first = if ici == 0 { 0 } else { words.before(ici).unwrap_or(0) };
        let has_moved = first > 0 && words.moves_stack_first();
        if has_moved {
            words.start = self.cpu.get(words.base);
            words.moved = None;
        }
        let mut values = [0; MOST];
        let (began, waited) = (self.cycles, self.waited().0);
        for at in first..words.count {
            let moved = (at - first) as u64;
            let cycle = began + moved + (self.waited().0 - waited);
            if moved > 0 && cycle >= until {
                return Ok(Progress::Partial {
                    cycle,
                    ici: self.suspend(&words, first, at, &values, then),
                });
            }
            if let Err(trap) = self.move_word(&words, at, &mut values) {
                if has_moved {
                    self.cpu.set_any(words.base, words.start.wrapping_add(words.bytes));
                }
                return Err(trap);
            }
        }
        // A loaded base is not written back.
        if let Some(moved) = words.moved {
            self.cpu.set_any(words.base, moved);
        }
        self.take_words(&words, first..words.count, &values);
        match words.named().last() {
            Some(15) if words.loads && !words.float => {
                let target = values[words.count - 1];
                self.within(|machine, at| machine.branch_loaded(at, target)).map(Progress::Whole)
            }
            _ => Ok(Progress::Whole(Flow::Next)),
        }
    }

    fn move_word(&mut self, words: &Words, at: usize, values: &mut [u32]) -> Result<(), Trap> {
        let address = words.start.wrapping_add(at as u32 * 4);
        let register = usize::from(words.registers[at]);
        if words.loads {
            values[at] = self.read_aligned_word(address)?;
            return Ok(());
        }
        let value = if words.float { self.cpu.s[register] } else { self.cpu.r[register & 15] };
        self.write_aligned_word(address, value)
    }

    /// Writes loaded words to their registers.
    fn take_words(&mut self, words: &Words, which: std::ops::Range<usize>, values: &[u32]) {
        for at in which {
            let register = words.registers[at];
            match (words.loads, words.float) {
                (true, true) => self.cpu.s[usize::from(register & 31)] = values[at],
                (true, false) if register != 15 => self.cpu.set_any(register, values[at]),
                _ => {}
            }
        }
    }

    /// Suspends the instruction before the word `at`; returns the value that EPSR.ICI holds then.
    fn suspend(
        &mut self,
        words: &Words,
        first: usize,
        at: usize,
        values: &[u32],
        then: Resumption,
    ) -> u8 {
        if then == Resumption::Restarted || (self.features.v8m && words.stores_base()) {
            return 0;
        }
        // If the base has been loaded, the instruction continues at the base (DDI 0337, 3.9.1).
        let at = words.base_position().filter(|_| words.loads).map_or(at, |base| at.min(base));
        let register = words.registers[at];
        let ici = if words.float { register / 2 } else { register };
        if words.before(ici).is_none() {
            return 0;
        }
        self.take_words(words, first.min(at)..at, values);
        if let Some(moved) = words.moved.filter(|_| words.moves_stack_first()) {
            self.cpu.set_any(words.base, moved);
        }
        ici
    }
}
