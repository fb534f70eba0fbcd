//! The steps of blocks: their operands, branches, and what ends or continues a block.

#![expect(clippy::unnecessary_wraps, reason = "the functions of all steps have the same type")]

use std::slice::Iter;

use super::block::{CodeCheck, Point};
use crate::armr::cpu::Cpu;
use crate::armr::exec::{Arch, Effects};
use crate::armr::timing::{Pipeline, PredictionOutcome, key};
use crate::superblock::{END, Exit, FIRST, LEAVE, LastOperand, StepResult, Threaded, ThreadedStep};

/// The key of a step that ends its block with any outcome. No outcome has this key.
pub const ANY: u16 = u16::MAX;
/// Part of the key of an exit after a branch whose target is in the program counter.
pub const VARIES: u32 = 1 << 16;
/// The key of an exit at a step whose node's function must be executed.
pub const RUN_NODE: u32 = 1 << 18;
const _: () = assert!(VARIES & END == 0 && RUN_NODE & (VARIES | END) == 0);

/// The Cortex-R5.
#[derive(Clone, Copy, Debug)]
pub enum GraphCode {}

impl Threaded for GraphCode {
    type Registers = Arch;
    type System = Pipeline;
    type Carry = Carry;
    type Operands = Operands;
    type Point = Point;
    type Condition = CodeCheck;
    type Needs = ();
}

/// What each step passes to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Carry {
    /// The cycle in which the block begins.
    pub begin: u64,
    /// The result of the last step that had one.
    pub last: u32,
}

impl Carry {
    /// Returns what is passed to the first step of a block, or after a node's function.
    pub const fn of(begin: u64) -> Self {
        Self { begin, last: 0 }
    }
}

/// The operands of one operation of a block.
#[derive(Clone, Copy, Debug)]
pub struct Operands {
    /// The immediate, a constant, an expected target, or the number of steps that a condition guards.
    pub value: u32,
    /// The address of a branch, or a list of registers and the offset of the first one's word.
    pub other: u32,
    /// The cycle of its issue, counted from the block's beginning.
    pub issue: i16,
    /// The key of the outcome with which the block continues.
    pub key: u16,
    /// The destination or transferred register.
    pub a: u8,
    /// The first operand, or the base register of an address.
    pub b: u8,
    /// The second operand, or the index register of an address.
    pub c: u8,
    /// The distance of a shift, another register, by how much a list moves its base register, or what is
    /// expected of a branch.
    pub d: u8,
}

impl Operands {
    /// Returns operands without those that depend on the step's place in a block.
    pub const fn new(a: u8, b: u8, c: u8, value: u32) -> Self {
        Self { value, other: 0, issue: 0, key: 0, a, b, c, d: 0 }
    }

    #[inline(always)]
    pub const fn now(&self, carry: &Carry) -> u64 {
        carry.begin.wrapping_add_signed(self.issue as i64)
    }

    /// Returns the first operand.
    #[inline(always)]
    pub const fn first<const LAST: LastOperand>(&self, cpu: &Cpu, carry: &Carry) -> u32 {
        if LAST == FIRST { carry.last } else { cpu.get(self.b) }
    }

    /// Sets the destination.
    #[inline(always)]
    pub const fn set(&self, cpu: &mut Cpu, carry: &mut Carry, value: u32) {
        cpu.set(self.a, value);
        carry.last = value;
    }

    /// Returns whether the block continues after an outcome.
    #[inline(always)]
    pub const fn done(&self, key: u32) -> StepResult {
        if key == self.key as u32 { Ok(()) } else { Err(key) }
    }

    /// Sets the operands of a branch at an address, whose expected outcome has a key: `d` is, in bit 0,
    /// whether it is taken, and in the bits above whether it is predicted taken, or [`NEITHER_WAY`].
    /// `skipped` is the part of the key of a branch that is not taken.
    pub fn expect_branch(&mut self, address: u32, key: u16, skipped: u32) {
        let taken = u32::from(key) & key::JUMPS != 0;
        let is = |outcome| u32::from(key) == key_of_branch(taken, outcome, skipped);
        let predicted = if is(PredictionOutcome::Correct) {
            u8::from(taken)
        } else if is(PredictionOutcome::Mispredicted) {
            u8::from(!taken)
        } else {
            NEITHER_WAY
        };
        (self.other, self.key, self.d) = (address, key, predicted << 1 | u8::from(taken));
    }

    /// Trains the predictor with a branch, which is taken if it is expected to be. Returns whether it
    /// was also predicted as expected. `SKIPPED` is the part of the key of one that is not taken.
    #[inline(always)]
    fn branch<const BACKWARDS: bool, const SKIPPED: u32>(
        &self,
        pipeline: &mut Pipeline,
    ) -> StepResult {
        let taken = self.d & 1 != 0;
        let outcome = pipeline.foresee_fully(self.other, BACKWARDS, taken);
        let predicted = (outcome == PredictionOutcome::Correct) == taken;
        if u8::from(predicted) == self.d >> 1 {
            return Ok(());
        }
        Err(key_of_branch(taken, outcome, SKIPPED))
    }

    /// Branches to an address, with the instruction set in the lowest bit. Returns whether the block
    /// continues there after an outcome.
    #[inline(always)]
    fn exchange(
        &self,
        arch: &mut Arch,
        target: u32,
        outcome: impl FnOnce(u32) -> PredictionOutcome,
    ) -> StepResult {
        let mut done = Effects::default();
        arch.exchange(target, &mut done);
        arch.cpu.pc = done.jump.unwrap_or(target);
        let key = key::JUMPS | key::prediction(outcome(arch.cpu.pc));
        let is_expected = target == self.value && key == self.key.into();
        if is_expected { Ok(()) } else { Err(key | VARIES) }
    }
}

/// What is expected of the prediction of a branch after which its block ends in any case.
const NEITHER_WAY: u8 = 2;

/// Returns the key of a branch's outcome. `skipped` is part of that of one that is not taken.
#[inline(always)]
const fn key_of_branch(taken: bool, outcome: PredictionOutcome, skipped: u32) -> u32 {
    key::prediction(outcome) | if taken { key::JUMPS } else { skipped }
}

/// Executes the steps after a guard: all of them if the condition holds, or without those that it
/// guards.
#[inline(always)]
pub fn guard<const CONDITION: u8>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    carry: Carry,
    mut rest: Iter<'_, ThreadedStep<GraphCode>>,
) -> Exit {
    let Some(guard) = rest.as_slice().first() else { return Exit::new(0, LEAVE) };
    // Computed rather than branched on, since conditions are often hard to predict for the host.
    let skipped = if arch.cpu.holds(CONDITION) { 0 } else { guard.operands.value as usize };
    let Some(last) = rest.nth(skipped) else { return Exit::new(0, LEAVE) };
    (last.next)(arch, pipeline, carry, rest)
}

/// Ends the block.
pub const fn end(_: &Operands, _: &mut Arch, _: &mut Pipeline, _: &mut Carry) -> StepResult {
    Err(END)
}

/// Does nothing.
pub const fn nothing(_: &Operands, _: &mut Arch, _: &mut Pipeline, _: &mut Carry) -> StepResult {
    Ok(())
}

/// Has the function of the step's node executed.
pub const fn node(_: &Operands, _: &mut Arch, _: &mut Pipeline, _: &mut Carry) -> StepResult {
    Err(RUN_NODE)
}

/// Continues only if a condition holds. Otherwise ends the block with the key in the step's value.
#[inline(always)]
pub const fn expect<const CONDITION: u8>(
    step: &Operands,
    arch: &mut Arch,
    _: &mut Pipeline,
    _: &mut Carry,
) -> StepResult {
    if arch.cpu.holds(CONDITION) { Ok(()) } else { Err(step.value) }
}

/// Executes a conditional branch if it goes as expected, which it does if a condition holds.
#[inline(always)]
pub fn branch<const CONDITION: u8, const BACKWARDS: bool>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> Option<StepResult> {
    let is_expected = arch.cpu.holds(CONDITION);
    is_expected.then(|| step.branch::<BACKWARDS, { key::SKIPPED }>(pipeline))
}

/// Executes a branch that does not go as expected. `SKIPPED` is the part of the key of one that is not
/// taken.
pub fn branch_elsewhere<const BACKWARDS: bool, const SKIPPED: u32>(
    step: &Operands,
    _: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> StepResult {
    let taken = step.d & 1 == 0;
    Err(key_of_branch(taken, pipeline.foresee_fully(step.other, BACKWARDS, taken), SKIPPED))
}

/// Executes CBZ or CBNZ if it goes as expected: if the register is zero, or is not if `ZERO` is not set.
/// They only branch forwards.
#[inline(always)]
pub fn compare_with_zero<const ZERO: bool>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> Option<StepResult> {
    let is_expected = (arch.cpu.get(step.b) == 0) == ZERO;
    is_expected.then(|| step.branch::<false, 0>(pipeline))
}

/// Executes BL, or BLX with an encoded target, which changes the instruction set.
#[inline(always)]
pub const fn call<const EXCHANGES: bool>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> StepResult {
    arch.cpu.set(14, step.value);
    if EXCHANGES {
        arch.cpu.set_thumb(step.value & 1 == 0);
    }
    pipeline.predictor.push(step.value & !1);
    Ok(())
}

/// Executes BLX with a register. Continues only at the expected address.
#[inline(always)]
pub fn call_register(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> StepResult {
    let target = arch.cpu.get(step.b);
    arch.cpu.set(14, step.other);
    pipeline.predictor.push(step.other & !1);
    step.exchange(arch, target, |_| PredictionOutcome::Unpredicted)
}

/// Executes a branch to the address in a register that the return stack predicts. Continues only with the
/// expected outcome and at the expected address.
#[inline(always)]
pub fn return_if<const CONDITION: u8>(
    step: &Operands,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: &mut Carry,
) -> StepResult {
    let is_conditional = CONDITION < 14;
    if !arch.cpu.holds(CONDITION) {
        let outcome = pipeline.foresee_fully(step.other, false, false);
        return step.done(key_of_branch(false, outcome, key::SKIPPED));
    }
    let right = PredictionOutcome::Correct;
    let foreseen = !is_conditional || pipeline.foresee_fully(step.other, false, true) == right;
    let target = arch.cpu.get(step.b);
    step.exchange(arch, target, |address| pipeline.return_outcome(foreseen, address))
}
