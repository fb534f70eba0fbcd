//! The steps of blocks: threaded code, in which the function of each step calls that of the next one.
//!
//! The compiler turns these calls into jumps. Where it does not, at most as many calls are active as a
//! block has steps. A step that may have to call something else consists of two functions, of which the
//! first one calls nothing and so saves no registers.

#![expect(clippy::unnecessary_wraps, reason = "the functions of all steps have the same type")]

use std::slice::Iter;

use super::LEAVE;
use crate::armr::exec::{Arch, Effects};
use crate::armr::timing::{Pipeline, PredictionOutcome, key};

/// The key of a step that ends its block with any outcome. No outcome has this key.
pub const ANY: u16 = u16::MAX;
/// Part of the key of an exit after a branch whose target is in the program counter.
pub const VARIES: u32 = 1 << 16;
/// The key of an exit after all instructions.
pub const END: u32 = 1 << 17;
/// The key of an exit at a step whose node's function must be executed.
pub const RUN_NODE: u32 = 1 << 18;
const _: () = assert!(LEAVE > RUN_NODE && RUN_NODE > END && END > VARIES);

/// Executes the first of the given steps and, as far as the block continues, those after it. The number
/// is the cycle in which the block begins.
pub type StepFn = for<'a> fn(&mut Arch, &mut Pipeline, u64, Iter<'a, Step>) -> Exit;

/// Returns the function of steps that one function executes, or a second one where the first one returns
/// `None`.
macro_rules! threaded {
    ($perform:expr) => {
        |arch, pipeline, begin, rest| {
            $crate::armr::graph::steps::advance(arch, pipeline, begin, rest, $perform)
        }
    };
    ($fast:expr, $slow:expr) => {
        |arch, pipeline, begin, rest| {
            $crate::armr::graph::steps::advance_or(arch, pipeline, begin, rest, $fast, $slow)
        }
    };
}
pub(super) use threaded;

/// The operands of one operation of a block.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The function of the next step.
    pub next: StepFn,
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
    /// The distance of a shift, another register, or by how much a list moves its base register.
    pub d: u8,
}

/// Where and how the execution of a block ended, in one word, so that calls of other functions that
/// return it can become jumps.
#[derive(Clone, Copy, Debug)]
pub struct Exit(u64);

impl Exit {
    const fn new(left: usize, key: u32) -> Self {
        Self((left as u64) << 32 | key as u64)
    }

    /// Returns the exit at the same step with another key.
    pub const fn with_key(self, key: u32) -> Self {
        Self::new(self.left(), key)
    }

    /// Returns the number of steps left, including the one at which it ended.
    #[inline(always)]
    pub const fn left(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// Returns the key of that step's outcome; [`LEAVE`] if its instruction has not been executed;
    /// [`END`] or [`RUN_NODE`].
    #[inline(always)]
    pub const fn key(self) -> u32 {
        self.0 as u32
    }
}

/// What a step did: `Ok` if the block continues, or the key of the exit.
pub type Done = Result<(), u32>;

impl Step {
    /// Returns operands without those that depend on the step's place in a block.
    pub const fn new(a: u8, b: u8, c: u8, value: u32) -> Self {
        Self { next: threaded!(end), value, other: 0, issue: 0, key: 0, a, b, c, d: 0 }
    }

    #[inline(always)]
    pub const fn now(&self, begin: u64) -> u64 {
        begin.wrapping_add_signed(self.issue as i64)
    }

    /// Returns whether the block continues after an outcome.
    #[inline(always)]
    pub const fn done(&self, key: u32) -> Done {
        if key == self.key as u32 { Ok(()) } else { Err(key) }
    }

    /// Trains the predictor with a branch. Returns whether the block continues. `skipped` is the part of
    /// the key of a branch that is not taken.
    #[inline(always)]
    fn branch<const BACKWARDS: bool>(
        &self,
        pipeline: &mut Pipeline,
        taken: bool,
        skipped: u32,
    ) -> Done {
        let prediction = key::prediction(pipeline.foresee_fully(self.other, BACKWARDS, taken));
        self.done(prediction | if taken { key::JUMPS } else { skipped })
    }

    /// Branches to an address, with the instruction set in the lowest bit. Returns whether the block
    /// continues there after an outcome.
    #[inline(always)]
    fn exchange(
        &self,
        arch: &mut Arch,
        target: u32,
        outcome: impl FnOnce(u32) -> PredictionOutcome,
    ) -> Done {
        let mut done = Effects::default();
        arch.exchange(target, &mut done);
        arch.cpu.pc = done.jump.unwrap_or(target);
        let key = key::JUMPS | key::prediction(outcome(arch.cpu.pc));
        let is_expected = target == self.value && key == self.key.into();
        if is_expected { Ok(()) } else { Err(key | VARIES) }
    }
}

/// Executes the first step, and the steps after it if the block continues.
#[inline(always)]
pub fn advance<'a>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    begin: u64,
    mut rest: Iter<'a, Step>,
    perform: impl FnOnce(&'a Step, &mut Arch, &mut Pipeline, u64) -> Done,
) -> Exit {
    let Some(step) = rest.next() else { return Exit::new(0, LEAVE) };
    match perform(step, arch, pipeline, begin) {
        Ok(()) => (step.next)(arch, pipeline, begin, rest),
        Err(key) => Exit::new(rest.len() + 1, key),
    }
}

/// Executes the first step by `fast`, or by `slow` if that returns `None` and has changed nothing; and
/// the steps after it if the block continues.
#[inline(always)]
pub fn advance_or<'a>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    begin: u64,
    rest: Iter<'a, Step>,
    fast: impl FnOnce(&'a Step, &mut Arch, &mut Pipeline, u64) -> Option<Done>,
    slow: impl FnOnce(&'a Step, &mut Arch, &mut Pipeline, u64) -> Done,
) -> Exit {
    let mut left = rest.clone();
    let Some(step) = left.next() else { return Exit::new(0, LEAVE) };
    match fast(step, arch, pipeline, begin) {
        Some(Ok(())) => (step.next)(arch, pipeline, begin, left),
        Some(Err(key)) => Exit::new(left.len() + 1, key),
        None => advance_slowly(arch, pipeline, begin, rest, slow),
    }
}

#[inline(never)]
fn advance_slowly<'a>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    begin: u64,
    rest: Iter<'a, Step>,
    slow: impl FnOnce(&'a Step, &mut Arch, &mut Pipeline, u64) -> Done,
) -> Exit {
    advance(arch, pipeline, begin, rest, slow)
}

/// Executes the steps after a guard: all of them if the condition holds, or without those that it
/// guards.
#[inline(always)]
pub fn guard<const CONDITION: u8>(
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    begin: u64,
    mut rest: Iter<'_, Step>,
) -> Exit {
    let Some(mut last) = rest.next() else { return Exit::new(0, LEAVE) };
    if !arch.cpu.holds(CONDITION) {
        for _ in 0..last.value {
            last = rest.next().unwrap_or(last);
        }
    }
    (last.next)(arch, pipeline, begin, rest)
}

/// Ends the block.
pub const fn end(_: &Step, _: &mut Arch, _: &mut Pipeline, _: u64) -> Done {
    Err(END)
}

/// Does nothing.
pub const fn nothing(_: &Step, _: &mut Arch, _: &mut Pipeline, _: u64) -> Done {
    Ok(())
}

/// Has the function of the step's node executed.
pub const fn node(_: &Step, _: &mut Arch, _: &mut Pipeline, _: u64) -> Done {
    Err(RUN_NODE)
}

/// Continues only if a condition holds. Otherwise ends the block with the key in the step's value.
#[inline(always)]
pub const fn expect<const CONDITION: u8>(
    step: &Step,
    arch: &mut Arch,
    _: &mut Pipeline,
    _: u64,
) -> Done {
    if arch.cpu.holds(CONDITION) { Ok(()) } else { Err(step.value) }
}

/// Executes a conditional branch.
#[inline(always)]
pub fn branch<const CONDITION: u8, const BACKWARDS: bool>(
    step: &Step,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: u64,
) -> Done {
    step.branch::<BACKWARDS>(pipeline, arch.cpu.holds(CONDITION), key::SKIPPED)
}

/// Executes CBZ, or CBNZ if `ZERO` is not set. They only branch forwards.
#[inline(always)]
pub fn compare_with_zero<const ZERO: bool>(
    step: &Step,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: u64,
) -> Done {
    step.branch::<false>(pipeline, (arch.cpu.get(step.b) == 0) == ZERO, 0)
}

/// Executes BL, or BLX with an encoded target, which changes the instruction set.
#[inline(always)]
pub const fn call<const EXCHANGES: bool>(
    step: &Step,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: u64,
) -> Done {
    arch.cpu.set(14, step.value);
    if EXCHANGES {
        arch.cpu.set_thumb(step.value & 1 == 0);
    }
    pipeline.predictor.push(step.value & !1);
    Ok(())
}

/// Executes BLX with a register. Continues only at the expected address.
#[inline(always)]
pub fn call_register(step: &Step, arch: &mut Arch, pipeline: &mut Pipeline, _: u64) -> Done {
    let target = arch.cpu.get(step.b);
    arch.cpu.set(14, step.other);
    pipeline.predictor.push(step.other & !1);
    step.exchange(arch, target, |_| PredictionOutcome::Unpredicted)
}

/// Executes a branch to the address in a register that the return stack predicts. Continues only with the
/// expected outcome and at the expected address.
#[inline(always)]
pub fn return_if<const CONDITION: u8>(
    step: &Step,
    arch: &mut Arch,
    pipeline: &mut Pipeline,
    _: u64,
) -> Done {
    let is_conditional = CONDITION < 14;
    if !arch.cpu.holds(CONDITION) {
        return step.branch::<false>(pipeline, false, key::SKIPPED);
    }
    let right = PredictionOutcome::Correct;
    let foreseen = !is_conditional || pipeline.foresee_fully(step.other, false, true) == right;
    let target = arch.cpu.get(step.b);
    step.exchange(arch, target, |address| pipeline.return_outcome(foreseen, address))
}
