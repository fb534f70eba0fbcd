//! What micro-operations do.
//!
//! [`crate::exec`] defines the meaning of instructions. This module adds only what concerns the
//! engine: whether a pass continues, and where.

use std::marker::PhantomData;

use crate::arch::armm::trap::Trap;
use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::{Dispatched, Following, OnPath, OpCursor, OpFn};
use crate::exec::{Ending, Executing, Flow, Operation, Outcome, Paths, Standalone};
use crate::isa::{Group, Slot};
use crate::state::{ProgramPoint, State, Trial, Watch};

impl Standalone for State {
    type Position<'a> = Cursor<'a>;

    #[inline(always)]
    fn within<T>(&mut self, act: impl FnOnce(&mut Self, &mut Cursor<'_>) -> T) -> T {
        let mut at = Cursor::from(self.progress());
        let result = act(self, &mut at);
        self.set_progress(ProgramPoint { pc: at.target, ..at.progress() });
        result
    }

    #[inline(never)]
    fn execute_alone(&mut self, slot: &Slot) -> Outcome {
        let step = ScheduledOp::alone(*slot);
        let mut at = Cursor::alone(&step, self.progress());
        let outcome = self.execute(&mut at).into();
        let ProgramPoint { pc, mut pipe, .. } = at.progress();
        if outcome == Ok(Flow::Jump) {
            pipe = self.record_jump_distance(slot, pipe, pc, at.target);
        }
        self.set_progress(ProgramPoint { pc: at.target, pipe, ..at.progress() });
        outcome
    }
}

impl State {
    /// Executes the remaining steps of a pass, as far as they follow each other.
    #[inline(always)]
    pub(crate) fn execute(&mut self, at: &mut Cursor<'_>) -> Ending {
        at.resume();
        let Some(next) = at.next() else { return Ending::Next };
        self.execute_from(next.run(), at)
    }

    /// Executes the remaining steps of a pass, beginning with the function `run`.
    #[inline(always)]
    pub(crate) fn execute_from(&mut self, run: OpFn, at: &mut Cursor<'_>) -> Ending {
        let mut ending = run(self, at, at.rest());
        while at.needs_check() {
            if at.resume() {
                let Some(next) = at.next() else { return Ending::Next };
                ending = next.run()(self, at, at.rest());
            } else if ending == Ending::Next
                && let Some(next) = at.resume_as_expected(self.deadline)
            {
                ending = next(self, at, at.rest());
            } else {
                break;
            }
        }
        ending
    }

    /// Returns whether a hit of the watch at an address is recorded while a pass continues: not in a trial,
    /// which it ends, nor if the caches are to be emptied.
    fn hits_within_passes(&self, address: u32) -> bool {
        self.trial == Trial::Inactive && !self.watches.empties_at(address)
    }
}

impl<O: Operation> Dispatched for O {
    const PATHS: Paths = O::PATHS;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        O::execute(state, at.slot(), at)
    }
}

/// An operation whose second operand is shifted in a way that is known at compile time.
pub struct Shifted<O, const KIND: u32>(PhantomData<O>);

impl<O: Operation, const KIND: u32> Dispatched for Shifted<O, KIND> {
    const PATHS: Paths = O::PATHS;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        let slot = at.slot();
        // The same value, but now the compiler sees the type.
        let slot = Slot { aux: KIND << 8 | slot.aux & 0xFF, ..*slot };
        O::execute(state, &slot, at)
    }
}

/// A branch that the block follows to its expected target.
pub struct Followed<O>(PhantomData<O>);

impl<O: Operation> Dispatched for Followed<O> {
    const PATHS: Paths = O::PATHS;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        let slot = at.slot();
        if matches!(O::OP.group(), Group::List) {
            // Lists that are followed write their base back. Their target has the place that says so.
            let pops = Slot { aux: 1, ..*slot };
            return O::execute(state, &pops, &mut Following { at, target: slot.aux });
        }
        O::execute(state, slot, &mut Following { at, target: slot.imm })
    }
}

/// An IT with an expected outcome, or the check of such a condition within an IT block.
pub enum ExpectedCondition {}

impl Dispatched for ExpectedCondition {
    const PATHS: Paths = Paths::Fast;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        let holds = state.cpu.condition_of(at.slot().imm as u8);
        Ok(if holds { Flow::Next } else { Flow::Leave })
    }
}

/// An if-converted IT with this condition.
pub enum If<const CONDITION: u8> {}

impl<const CONDITION: u8> Dispatched for If<CONDITION> {
    const PATHS: Paths = Paths::Fast;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        if !state.cpu.holds(CONDITION) {
            at.skip_steps(at.slot().aux);
        }
        Ok(Flow::Next)
    }
}

/// Skips slots.
pub enum Hop {}

impl Dispatched for Hop {
    const PATHS: Paths = Paths::Fast;

    #[inline(always)]
    fn perform<P: OnPath>(_: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        at.skip_steps(at.slot().aux);
        Ok(Flow::Next)
    }
}

/// Executes nothing.
pub enum Skip {}

impl Dispatched for Skip {
    const PATHS: Paths = Paths::Fast;

    #[inline(always)]
    fn perform<P: OnPath>(_: &mut State, _: &mut OpCursor<'_, '_, P>) -> Outcome {
        Ok(Flow::Next)
    }
}

/// Compares the branch prediction with where the block continues.
pub enum CheckPrediction {}

impl Dispatched for CheckPrediction {
    const PATHS: Paths = Paths::Both;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        let Slot { imm: branch, aux: target, .. } = *at.slot();
        if state.predictor.is_certain(branch, target) {
            return Ok(Flow::Next);
        }
        if OpCursor::<P>::IS_FAST {
            return Ok(Flow::SlowPath);
        }
        if state.predictor.learn(branch, target) {
            return Ok(Flow::Next);
        }
        let pipe = at.pass().progress().pipe;
        at.pass().leave_with_state(pipe.mispredicted());
        Ok(Flow::Leave)
    }
}

/// Ends the pass after an instruction that has shown other facts than expected.
pub enum CheckFacts {}

impl Dispatched for CheckFacts {
    const PATHS: Paths = Paths::Fast;

    #[inline(always)]
    fn perform<P: OnPath>(_: &mut State, _: &mut OpCursor<'_, '_, P>) -> Outcome {
        Ok(Flow::Leave)
    }
}

/// Records that a watched address was reached.
pub enum HitWatch {}

impl Dispatched for HitWatch {
    const PATHS: Paths = Paths::Slow;

    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        let at = at.pass();
        let address = at.address();
        if !state.hits_within_passes(address) {
            return Err(Trap::Watched);
        }
        state.set_progress(at.progress());
        state.settle_memory(at);
        state.note_now(Watch::Execute(address));
        Ok(Flow::Next)
    }
}

/// Fetches the next instruction from another line of its memory.
pub enum FetchLine {}

impl Dispatched for FetchLine {
    const PATHS: Paths = Paths::Both;

    #[inline(always)]
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome {
        if state.try_fetch_next_fast(at) {
            return Ok(Flow::Next);
        }
        if OpCursor::<P>::IS_FAST {
            return Ok(Flow::SlowPath);
        }
        let waits = state.fetch_next(at.now(), at.slot());
        if waits > 0 {
            at.pass().wait_for_next(waits, state.deadline);
            return Ok(at.proceed());
        }
        Ok(Flow::Next)
    }
}
