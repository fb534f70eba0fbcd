//! Dispatch: threaded code, in which each operation calls the next.
//!
//! Each micro-operation has a function of its own, instantiated from [`State::perform_micro`], that
//! ends with a call of the next step's function. The compiler turns these calls into jumps: no loop
//! and no table lies between two instructions, and each has a jump of its own for the host to
//! predict. Where the compiler does not, at most as many calls are active as a block has slots.
//! Each function exists twice: on the *fast path*, which makes no calls and so saves no registers,
//! and on the *slow path*, which is complete. Common pairs of an instruction that sets flags and
//! the following branch are fused into one function.

use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::{
    CHECK_PREDICTION, DispatchKind, EXPECTED_IT, FOLLOWED, HOP, IF, Kind, LINE, MicroOp, SHIFTED,
    SKIP,
};
use crate::exec::{Ending, Executing, Flow, Path};
use crate::isa::{Op, PerOp, Slot};
use crate::memory::Place;
use crate::state::State;

/// Executes the next step, and the steps after it as far as they follow each other.
pub type OpFn = for<'a> fn(&mut State, &mut Cursor<'a>, Iter<'a, ScheduledOp>) -> Ending;

/// Selects the function of an operation, for an instruction that may write the stack pointer, whose
/// low bits are always clear, or for any other.
pub struct OpFns {
    with_stack_pointer: bool,
}

impl OpFns {
    pub fn of(slot: &Slot) -> Self {
        const SP: u8 = crate::arch::armm::registers::SP as u8;
        Self { with_stack_pointer: slot.d == SP || slot.n == SP && slot.op.moves_base() }
    }
}

impl PerOp for OpFns {
    type Item = OpFn;

    fn of<const OP: u16>(self) -> OpFn {
        if self.with_stack_pointer { run::<OP, true> } else { run::<OP, false> }
    }
}

/// The position of a pass while a step executes. The cursor itself is updated only on demand.
pub struct OpCursor<'p, 'a> {
    pass: &'p mut Cursor<'a>,
    step: &'a ScheduledOp,
    rest: Iter<'a, ScheduledOp>,
}

impl<'a> Executing<'a> for OpCursor<'_, 'a> {
    type Position = Cursor<'a>;

    #[inline(always)]
    fn slot(&self) -> &'a Slot {
        &self.step.slot
    }

    #[inline(always)]
    fn context(&mut self) -> &mut Cursor<'a> {
        self.pass()
    }

    #[inline(always)]
    fn reads_literal_fast(&mut self, state: &mut State, place: Place) -> bool {
        if state.slow.is_at(place) {
            return false;
        }
        let (deadline, has_pipeline) = (state.deadline, state.rules.model_buses());
        let near = state.lines.near_mut();
        if self.pass.plan.is_some() {
            // The plan accounts for the read buffer, too.
            return near.read_cached(place.offset);
        }
        near.try_read_fast(place.offset, |waits| !has_pipeline && self.wait(waits, deadline))
    }

    #[inline(always)]
    fn needs_check(&self) -> bool {
        self.pass.needs_check()
    }
}

impl<'a> OpCursor<'_, 'a> {
    /// Returns the cursor, moved to this step.
    #[inline(always)]
    pub fn pass(&mut self) -> &mut Cursor<'a> {
        self.pass.move_to(self.step, &self.rest);
        self.pass
    }

    /// Returns the cycle in which the step begins.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.pass.begin_of(self.step)
    }

    /// Delays the next instruction, unless a deadline would then fall within the pass. Returns
    /// whether it was delayed.
    #[inline(always)]
    pub fn wait(&mut self, cycles: u64, deadline: u64) -> bool {
        self.pass.wait(cycles, deadline)
    }

    /// Skips `steps` steps, as if they had executed.
    #[inline(always)]
    pub fn skip_steps(&mut self, steps: u32) {
        if let Some(last) = self.rest.nth((steps as usize).wrapping_sub(1)) {
            self.step = last;
        }
    }

    /// Returns whether the pass ends with this step.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.rest.as_slice().is_empty()
    }
}

impl MicroOp {
    /// Returns the function that executes it and continues with the steps after it.
    #[inline(always)]
    pub fn run(&self) -> OpFn {
        let slot = &self.slot;
        match self.kind {
            Kind::Plain => match self.known_shift() {
                None => slot.op.pick(OpFns::of(slot)),
                Some(shift) if OpFns::of(slot).with_stack_pointer => {
                    shifted::<true>(slot.op, shift)
                }
                Some(shift) => shifted::<false>(slot.op, shift),
            },
            Kind::Followed => followed(slot.op),
            Kind::ExpectedIt => run::<EXPECTED_IT, false>,
            Kind::If(condition) => conditional(condition),
            Kind::Hop => run::<HOP, false>,
            Kind::Skip => run::<SKIP, false>,
            Kind::Line => run::<LINE, false>,
            Kind::CheckPrediction => run::<CHECK_PREDICTION, false>,
        }
    }
}

macro_rules! shifted {
    ($($op:ident $shift:literal)*) => {
        /// Returns the function of an operation with a known shift type.
        fn shifted<const SP: bool>(op: Op, shift: u32) -> OpFn {
            match (op, shift) {
                $((Op::$op, $shift) => run::<{ SHIFTED * (1 + $shift) + Op::$op as u16 }, SP>,)*
                _ => run::<{ Op::Undefined as u16 }, SP>,
            }
        }
    };
}

shifted! {
    MovX 0 MovX 1 MovX 2 MovsX 0 MovsX 1 MovsX 2 AddX 0 AddX 1 AddX 2 SubX 0 OrrX 0 OrrX 1
    EorX 0 EorX 1
}

macro_rules! followed {
    ($($op:ident)*) => {
        /// Returns the function of a followed branch.
        fn followed(op: Op) -> OpFn {
            match op {
                $(Op::$op => run::<{ FOLLOWED + Op::$op as u16 }, false>,)*
                _ => run::<{ Op::Undefined as u16 }, false>,
            }
        }
    };
}

followed! {
    B Beq Bne Bcs Bcc Bmi Bpl Bvs Bvc Bhi Bls Bge Blt Bgt Ble Cbz Cbnz Bl Bx BlxR Pop Ldm
}

macro_rules! conditional {
    ($($condition:literal)*) => {
        /// Returns the function of an if-converted IT.
        fn conditional(condition: u8) -> OpFn {
            match condition {
                $($condition => run::<{ IF + $condition }, false>,)*
                _ => run::<SKIP, false>,
            }
        }
    };
}

conditional! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 }

/// Returns the fused function of an instruction that sets flags and the branch after it, which
/// leaves the host one jump to predict instead of two. Returns `None` for other pairs.
pub fn fused(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
    let plain = first.kind == Kind::Plain && !OpFns::of(&first.slot).with_stack_pointer;
    if plain { set_flags(first, second) } else { None }
}

macro_rules! both {
    ($($sets:ident)*; $($shifts:ident $shift:literal)*; $($branch:ident)*; $($condition:literal)*) => {
        fn set_flags(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
            match (first.slot.op, first.known_shift()) {
                $((Op::$sets, _) => branch_after::<{ Op::$sets as u16 }>(second),)*
                $((Op::$shifts, Some($shift)) => {
                    branch_after::<{ SHIFTED * (1 + $shift) + Op::$shifts as u16 }>(second)
                })*
                _ => None,
            }
        }

        fn branch_after<const FIRST: u16>(second: &MicroOp) -> Option<OpFn> {
            Some(match (second.kind, second.slot.op) {
                $((Kind::Plain, Op::$branch) => run_fused::<FIRST, { Op::$branch as u16 }>,)*
                $((Kind::Followed, Op::$branch) => {
                    run_fused::<FIRST, { FOLLOWED + Op::$branch as u16 }>
                })*
                (Kind::ExpectedIt, _) => run_fused::<FIRST, EXPECTED_IT>,
                $((Kind::If($condition), _) => run_fused::<FIRST, { IF + $condition }>,)*
                _ => return None,
            })
        }
    };
}

both! {
    CmpI CmpR SubsI SubsR AddsI AddsR TstI TstR MovsI MovsR;
    MovsX 0 MovsX 1;
    Beq Bne Bcs Bcc Bhi Bls Bge Blt Bgt Ble;
    0 1 2 3 4 5 8 9 10 11 12 13
}

fn run_fused<'a, const FIRST: u16, const SECOND: u16>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    rest: Iter<'a, ScheduledOp>,
) -> Ending {
    run_fast::<FIRST, false>(machine, pass, rest, |machine, at| {
        run::<SECOND, false>(machine, at.pass, at.rest)
    })
}

#[inline(always)]
fn run<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    rest: Iter<'a, ScheduledOp>,
) -> Ending {
    run_fast::<MICRO, SP>(machine, pass, rest, |machine, at| {
        (at.step.next)(machine, at.pass, at.rest)
    })
}

/// Executes an operation on the fast path, and continues with `next` if it completes.
#[inline(always)]
fn run_fast<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    mut rest: Iter<'a, ScheduledOp>,
    next: impl FnOnce(&mut State, OpCursor<'_, 'a>) -> Ending,
) -> Ending {
    let all = rest.clone();
    let Some(step) = rest.next() else { return end(machine, pass, rest) };
    let mut at = OpCursor { pass, step, rest };
    match machine.perform_micro(const { DispatchKind::of(MICRO) }, Path::Fast, SP, &mut at) {
        Ok(Flow::Next) => next(machine, at),
        Ok(Flow::SlowPath) => run_slow::<MICRO, SP>(machine, at.pass, all),
        outcome => {
            at.pass();
            outcome.into()
        }
    }
}

#[inline(never)]
fn run_slow<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    mut rest: Iter<'a, ScheduledOp>,
) -> Ending {
    let Some(step) = rest.next() else { return end(machine, pass, rest) };
    let mut at = OpCursor { pass, step, rest };
    let outcome = machine.perform_micro(const { DispatchKind::of(MICRO) }, Path::Slow, SP, &mut at);
    if outcome == Ok(Flow::Next) {
        return (step.next)(machine, at.pass, at.rest);
    }
    at.pass();
    outcome.into()
}

/// Ends a pass after its last step.
#[expect(clippy::needless_pass_by_value, reason = "one of those that a step names")]
#[inline(never)]
pub fn end<'a>(_: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    pass.move_to_end(&rest);
    Ending::Next
}
