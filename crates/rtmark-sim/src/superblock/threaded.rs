//! The steps of blocks: threaded code, in which the function of each step calls that of the next one.
//!
//! The compiler turns these calls into jumps. Where it does not, at most as many calls are active as a
//! block has steps. A step that may have to call something else consists of two functions, of which the
//! first one calls nothing and so saves no registers.

use std::fmt::Debug;
use std::slice::Iter;

/// A core whose blocks are threaded code.
pub trait Threaded: Copy + Debug + 'static {
    /// What most steps change: the registers.
    type Registers;
    /// Everything else that steps change.
    type System;
    /// What each step passes to the next one in registers of the host.
    type Carry: Copy;
    /// The operands of a step.
    type Operands: Copy + Debug;
    /// The progress of a run at some point of a block, counted from the block's beginning.
    type Point: Copy + Debug;
    /// What a run checks before it executes a block.
    type Condition: Copy + Debug;
    /// What the way from one block to the next needs.
    type Needs: Copy + Debug;
}

/// Executes the first of the given steps and, as far as the block continues, those after it.
pub type StepFn<T> = for<'a> fn(
    &mut <T as Threaded>::Registers,
    &mut <T as Threaded>::System,
    <T as Threaded>::Carry,
    Iter<'a, ThreadedStep<T>>,
) -> Exit;

/// One operation of a block.
#[derive(Clone, Copy, Debug)]
pub struct ThreadedStep<T: Threaded> {
    /// The function of the next step.
    pub next: StepFn<T>,
    pub operands: T::Operands,
}

/// The key of an exit before an instruction that has not been executed. No outcome has this key.
pub const LEAVE: u32 = u32::MAX;
/// The key of an exit after all instructions. No outcome has this key.
pub const END: u32 = 1 << 17 | 1;

/// Where and how the execution of a block ended, in one word, so that calls of other functions that
/// return it can become jumps.
#[derive(Clone, Copy, Debug)]
pub struct Exit(u64);

impl Exit {
    pub const fn new(left: usize, key: u32) -> Self {
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

    /// Returns the key of that step's outcome, [`LEAVE`] or [`END`].
    #[inline(always)]
    pub const fn key(self) -> u32 {
        self.0 as u32
    }
}

/// What a step did: `Ok` if the block continues, or the key of the exit.
pub type StepResult = Result<(), u32>;

/// Returns the function of steps that one function executes, and that a second one completes where the
/// first one returns `None`.
macro_rules! threaded {
    ($perform:expr) => {
        |registers, system, carry, rest| {
            $crate::superblock::advance(registers, system, carry, rest, $perform)
        }
    };
    ($fast:expr, $slow:expr) => {
        |registers, system, carry, rest| {
            $crate::superblock::advance_or(registers, system, carry, rest, $fast, $slow)
        }
    };
}
pub(crate) use threaded;

/// Executes the first step, and the steps after it if the block continues.
#[inline(always)]
pub fn advance<'a, T: Threaded>(
    registers: &mut T::Registers,
    system: &mut T::System,
    mut carry: T::Carry,
    mut rest: Iter<'a, ThreadedStep<T>>,
    perform: impl FnOnce(
        &'a T::Operands,
        &mut T::Registers,
        &mut T::System,
        &mut T::Carry,
    ) -> StepResult,
) -> Exit {
    let Some(step) = rest.next() else { return Exit::new(0, LEAVE) };
    match perform(&step.operands, registers, system, &mut carry) {
        Ok(()) => (step.next)(registers, system, carry, rest),
        Err(key) => Exit::new(rest.len() + 1, key),
    }
}

/// Executes the first step by `fast`, and by `slow` what remains of it if that returns `None`; and the
/// steps after it if the block continues.
#[inline(always)]
pub fn advance_or<'a, T: Threaded>(
    registers: &mut T::Registers,
    system: &mut T::System,
    mut carry: T::Carry,
    rest: Iter<'a, ThreadedStep<T>>,
    fast: impl FnOnce(
        &'a T::Operands,
        &mut T::Registers,
        &mut T::System,
        &mut T::Carry,
    ) -> Option<StepResult>,
    slow: impl FnOnce(&'a T::Operands, &mut T::Registers, &mut T::System, &mut T::Carry) -> StepResult,
) -> Exit {
    let mut left = rest.clone();
    let Some(step) = left.next() else { return Exit::new(0, LEAVE) };
    match fast(&step.operands, registers, system, &mut carry) {
        Some(Ok(())) => (step.next)(registers, system, carry, left),
        Some(Err(key)) => Exit::new(left.len() + 1, key),
        None => advance_slowly(registers, system, carry, rest, slow),
    }
}

#[inline(never)]
fn advance_slowly<'a, T: Threaded>(
    registers: &mut T::Registers,
    system: &mut T::System,
    carry: T::Carry,
    rest: Iter<'a, ThreadedStep<T>>,
    slow: impl FnOnce(&'a T::Operands, &mut T::Registers, &mut T::System, &mut T::Carry) -> StepResult,
) -> Exit {
    advance(registers, system, carry, rest, slow)
}
