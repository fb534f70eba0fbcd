//! A core that issues instructions in order, two per cycle where they fit together.
//!
//! One instruction of a pair is the *older*, the other the *younger*; neither is issued in a cycle
//! in which the older one cannot be. After issue come stages, in which instructions use operands
//! and produce results at different points: addresses and shifted operands are needed in the first
//! stage, where the early adder works as well; the late adder works a stage later; sums of products
//! and stored data are needed after that. A result is represented by the first cycle in which a
//! stage can use it. Floating-point results are counted in the same way.
//!
//! This model does not know how instructions are fetched: it assumes that both instructions of a
//! pair are always there. While a memory makes the core wait, all of its state stands still.

mod instruction;
mod predictor;

pub use instruction::{Alu, Bank, DualFloat, DualInstruction, Half, PairPlace, uses};
pub use predictor::{NOT_TAKEN, Predictor};

use super::pipeline::Condition;

/// The stages in which operands are needed, counted from issue.
const EARLY: u8 = 1;
const LATE: u8 = 2;
const ADDEND: u8 = 3;
const STORED: u8 = 4;
/// The first stage that sees a result of the early adder, and of the late one.
const FROM_EARLY: u8 = 2;
const FROM_LATE: u8 = 3;

const FLAGS: usize = 15;

/// Cycles lost by a mispredicted branch, and those lost if its flags had been set three cycles
/// before.
const MISPREDICTED: u8 = 8;
const MISPREDICTED_EARLY: u8 = 6;

/// The store buffer merges part of a word with the rest in `MERGE` cycles, and holds `MERGES` such
/// stores that wait.
const MERGE: u8 = 4;
const MERGES: u8 = 4;
/// Cycles after a sum of products in which other arithmetic is not issued.
const BEHIND_SUM: u8 = 4;

/// The older of a pair whose younger may still follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Older {
    uses: u16,
    bank: Bank,
    half: Half,
}

/// How an instruction was reached from the newest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionResult {
    Correct,
    /// The newest instruction is a mispredicted branch.
    Mispredicted,
}

/// The state that the next instruction encounters. Cycles count from the issue of the newest
/// instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dual {
    /// Cycles until the next instruction may be issued as an older one.
    next: u8,
    older: Option<Older>,
    /// Whether the newest instruction is the younger of a pair.
    is_younger: bool,
    /// Cycles lost if it is a mispredicted branch.
    penalty: u8,
    /// The first stage in which an instruction issued now could use each core register, and the
    /// flags.
    ready: [u8; 16],
    /// Registers that reach addresses and shifters later than `ready` says.
    stiff: u16,
    /// Registers that words are loaded into.
    words: u16,
    /// Cycles until floating-point registers are available as operands, and as addends.
    operands: [u8; 32],
    addends: [u8; 32],
    /// Cycles until other floating-point arithmetic may follow.
    float: u8,
    behind_sum: u8,
    /// Cycles for which the store buffer is busy merging.
    merging: u8,
}

fn each(registers: u16) -> impl Iterator<Item = usize> {
    (0..15).filter(move |at| registers >> at & 1 == 1)
}

fn each_float(registers: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |at| registers >> at & 1 == 1)
}

impl Dual {
    /// Issues an instruction after the newest one, and returns the cycles from one to the other.
    pub fn issue(
        &mut self,
        instruction: &DualInstruction,
        condition: Condition,
        prediction: PredictionResult,
    ) -> u32 {
        if prediction == PredictionResult::Mispredicted {
            self.next += self.penalty;
            self.older = None;
        }
        // An instruction skipped in an IT block costs as much as if it were executed.
        let mut instruction = *instruction;
        if condition != Condition::None {
            instruction.reads_flags = true;
        }
        let cycles = if self.pairs_with(&instruction) {
            self.is_younger = true;
            0
        } else {
            self.is_younger = false;
            let at = self.wait(&instruction);
            self.pass(at);
            at
        };
        self.occupy(&instruction);
        cycles.into()
    }

    /// Returns whether an instruction may be the younger one after the newest.
    fn pairs_with(&self, instruction: &DualInstruction) -> bool {
        let Some(older) = self.older else { return false };
        let both = |first: u16, second: u16| {
            older.uses & first != 0 && instruction.uses & second != 0
                || older.uses & second != 0 && instruction.uses & first != 0
        };
        let halves = matches!(
            (older.half, instruction.half),
            (Half::Lower(lower), Half::Upper(upper)) if lower == upper
        );
        if instruction.place != PairPlace::Either {
            return false;
        }
        let banks_differ = matches!(
            (older.bank, instruction.bank),
            (Some((base, odd)), Some((other, other_odd))) if base == other && odd != other_odd
        );
        let conflict = both(uses::SHIFTED, uses::SHIFTED | uses::EXTRACTS)
            || both(uses::BITS, uses::BITS)
            || both(uses::MULTIPLIER, uses::MULTIPLIER | uses::STORE)
            || both(uses::STORE, uses::STORE)
            || both(uses::LOAD, uses::LOAD) && !banks_differ
            || both(uses::BRANCH, uses::BRANCH)
            || both(uses::FLOAT, uses::FLOAT)
            || both(uses::FLOAT_SUM, uses::FLOAT_MOVE)
            || both(uses::FLOAT_CONSTANT, uses::FLOAT_CONSTANT);
        !conflict && (halves || self.earliest(instruction) == 0)
    }

    /// Returns the cycles until an instruction can be issued as an older one.
    fn wait(&self, instruction: &DualInstruction) -> u8 {
        self.next.max(self.earliest(instruction))
    }

    /// Returns the cycles until everything that an instruction needs is available in time.
    fn earliest(&self, instruction: &DualInstruction) -> u8 {
        let until = |registers: u16, stage: u8, later: u16| {
            each(registers)
                .map(|at| {
                    let late = (later >> at & 1) as u8;
                    let ready = if self.ready[at] == 0 { 0 } else { self.ready[at] + late };
                    ready.saturating_sub(stage)
                })
                .max()
                .unwrap_or(0)
        };
        let DualInstruction { alu, early, late, factors, addend, stored, .. } = *instruction;
        let adder = if alu == Alu::Early { EARLY } else { LATE };
        // An instruction that needs one operand early gets loaded words no sooner for the others.
        let words = if early & !instruction.base != 0 && late != 0 { self.words } else { 0 };
        let flags =
            if instruction.reads_flags { self.ready[FLAGS].saturating_sub(LATE) } else { 0 };
        let merges =
            if instruction.merges { self.merging.saturating_sub(MERGE * MERGES) } else { 0 };
        until(early, EARLY, self.stiff)
            .max(until(late, adder, if adder == EARLY { self.stiff } else { words }))
            .max(until(factors, LATE, self.words))
            .max(until(addend, ADDEND, 0))
            .max(until(stored, STORED, 0))
            .max(flags)
            .max(merges)
            .max(instruction.float.map_or(0, |float| self.earliest_float(&float, instruction.uses)))
    }

    fn earliest_float(&self, float: &DualFloat, uses: u16) -> u8 {
        let operand =
            |registers: u32| each_float(registers).map(|at| self.operands[at]).max().unwrap_or(0);
        let addend = each_float(float.addend).map(|at| self.addends[at]).max().unwrap_or(0);
        // A loaded register becomes movable to a core register between the two.
        let to_core = each_float(float.to_core)
            .map(|at| self.operands[at].max(self.addends[at].saturating_sub(1)))
            .max()
            .unwrap_or(0);
        let unit = if uses & uses::FLOAT != 0 { self.float } else { 0 };
        let sums = if float.waits_for_sums { self.behind_sum } else { 0 };
        operand(float.operands)
            .max(operand(float.stored).saturating_sub(2))
            .max(addend)
            .max(to_core)
            .max(unit)
            .max(sums)
    }

    /// Issues an instruction now, and updates the state.
    fn occupy(&mut self, instruction: &DualInstruction) {
        let DualInstruction { uses, alu, cycles, .. } = *instruction;
        let is_early = match alu {
            Alu::Late => false,
            Alu::Early => true,
            Alu::EarlyIfOlder if self.is_younger => false,
            Alu::EarlyIfOlder | Alu::EarlyIfReady => {
                each(instruction.late).all(|at| self.ready[at] <= EARLY)
            }
        };
        let adder = if is_early { FROM_EARLY } else { FROM_LATE };
        let results = instruction.writes & !instruction.base;
        // An instruction of several cycles has its last result with its last cycle.
        let at = adder + instruction.latency + cycles.saturating_sub(1);
        self.stiff &= !instruction.writes;
        self.words &= !instruction.writes;
        for register in each(results) {
            self.ready[register] = at;
        }
        for register in each(instruction.base) {
            self.ready[register] = FROM_EARLY;
        }
        if instruction.stiff {
            self.stiff |= results;
        }
        if instruction.word {
            self.words |= results;
        }
        // Uses the flags as they are before this instruction sets any.
        let in_time = instruction.by_flags && self.ready[FLAGS] == 0;
        self.penalty = if in_time { MISPREDICTED_EARLY } else { MISPREDICTED };
        if instruction.sets_flags {
            self.ready[FLAGS] = FROM_LATE + cycles.saturating_sub(1);
        }
        if instruction.merges {
            self.merging += MERGE;
        }
        if let Some(float) = &instruction.float {
            for register in each_float(float.writes) {
                self.operands[register] = float.latency;
                self.addends[register] = float.addend_latency;
            }
            if uses & uses::FLOAT != 0 {
                self.float = float.holds;
            }
            if uses & uses::FLOAT_SUM != 0 {
                self.behind_sum = BEHIND_SUM;
            }
        }
        if self.is_younger {
            self.next = self.next.max(cycles);
            self.older = None;
            return;
        }
        self.next = cycles;
        let DualInstruction { bank, half, .. } = *instruction;
        self.older = (instruction.place != PairPlace::Alone).then_some(Older { uses, bank, half });
    }

    fn pass(&mut self, cycles: u8) {
        let pass = |count: &mut u8| *count = count.saturating_sub(cycles);
        for ready in &mut self.ready {
            pass(ready);
            // No stage comes before the first.
            if *ready < EARLY {
                *ready = 0;
            }
        }
        self.operands.iter_mut().chain(&mut self.addends).for_each(pass);
        [&mut self.float, &mut self.behind_sum, &mut self.merging].into_iter().for_each(pass);
        let still = (0..15).filter(|&at| self.ready[at] != 0).fold(0, |all, at| all | 1 << at);
        (self.stiff, self.words) = (self.stiff & still, self.words & still);
    }

    /// Returns the cycles from the issue of the newest instruction until the next older one could
    /// be issued.
    pub const fn rest(&self) -> u32 {
        self.next as u32
    }

    /// Returns the cycles that the older of a pair still takes once the younger one has been
    /// issued.
    pub const fn first_remaining_cycles(&self) -> u32 {
        if self.is_younger { self.next as u32 } else { 0 }
    }
}
