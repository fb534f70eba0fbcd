//! Dispatch: operations that call each other, as threaded code does.
//!
//! Each micro-operation has a function of its own, made from what [`State::perform_micro`] says of
//! it, which ends with a call of the next one's. The compiler makes jumps of these calls: no loop
//! and no table stands between two instructions, and each has a jump of its own for the host to
//! predict. Where it does not, no more calls are under way than a block has slots. Each function
//! is made twice: for the *fast path*, which calls nothing and for which no registers have to be
//! saved, and for the *slow path*, which is complete. Pairs that are common, of an instruction that
//! sets flags and the branch behind it, are fused into one function.

use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::{
    Does, EXPECTED_IT, FOLLOWED, FORESEE, HOP, IF, Kind, LINE, MicroOp, SHIFTED, SKIP,
};
use crate::exec::{Ending, Executing, Flow, Path};
use crate::isa::{Op, PerOp, Slot};
use crate::memory::Place;
use crate::state::State;

/// Executes the next step, and those behind it as far as one follows the other.
pub type OpFn = for<'a> fn(&mut State, &mut Cursor<'a>, Iter<'a, ScheduledOp>) -> Ending;

/// What executes each operation, of an instruction that may write the stack pointer, whose low
/// bits are always clear, or of another one.
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

/// Where a pass is while a step executes. The pass itself is told only when somebody asks.
pub struct OpCursor<'p, 'a> {
    pass: &'p mut Cursor<'a>,
    step: &'a ScheduledOp,
    rest: Iter<'a, ScheduledOp>,
}

impl<'a> Executing<'a> for OpCursor<'_, 'a> {
    type At = Cursor<'a>;

    #[inline(always)]
    fn slot(&self) -> &'a Slot {
        &self.step.slot
    }

    #[inline(always)]
    fn context(&mut self) -> &mut Cursor<'a> {
        self.pass()
    }

    #[inline(always)]
    fn reads_literal_at_once(&mut self, state: &mut State, place: Place) -> bool {
        if state.slow.is_at(place) {
            return false;
        }
        let (deadline, has_pipeline) = (state.deadline, state.rules.model_buses());
        let near = state.lines.near_mut();
        if self.pass.plan.is_some() {
            // What is in the read buffer is in the plan, too.
            return near.read_kept(place.offset);
        }
        near.read_at_once(place.offset, |waits| !has_pipeline && self.wait(waits, deadline))
    }

    #[inline(always)]
    fn halts(&self) -> bool {
        self.pass.halts()
    }
}

impl<'a> OpCursor<'_, 'a> {
    /// The pass, at this step.
    #[inline(always)]
    pub fn pass(&mut self) -> &mut Cursor<'a> {
        self.pass.move_to(self.step, &self.rest);
        self.pass
    }

    /// The cycle in which the step begins.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.pass.begin_of(self.step)
    }

    /// Waits before the next instruction, unless that is a reason to go no further; answers
    /// whether it waits.
    #[inline(always)]
    pub fn wait(&mut self, cycles: u64, deadline: u64) -> bool {
        self.pass.wait(cycles, deadline)
    }

    /// Leads past so many steps, as if they had been executed.
    #[inline(always)]
    pub fn hop(&mut self, steps: u32) {
        if let Some(last) = self.rest.nth((steps as usize).wrapping_sub(1)) {
            self.step = last;
        }
    }

    /// Whether the pass ends with this step.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.rest.as_slice().is_empty()
    }
}

impl MicroOp {
    /// What executes it, and those behind it.
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
            Kind::Foresee => run::<FORESEE, false>,
        }
    }
}

macro_rules! shifted {
    ($($op:ident $shift:literal)*) => {
        /// What executes an operation with a shift of a known type.
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
        /// What executes a branch that is followed.
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
        /// What executes an IT that leads either way by a condition.
        fn conditional(condition: u8) -> OpFn {
            match condition {
                $($condition => run::<{ IF + $condition }, false>,)*
                _ => run::<SKIP, false>,
            }
        }
    };
}

conditional! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 }

/// What executes an instruction that sets flags and the branch behind it: of two jumps, the
/// host has one to foresee. `None` for any others.
pub fn run_both(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
    let plain = first.kind == Kind::Plain && !OpFns::of(&first.slot).with_stack_pointer;
    if plain { set_flags(first, second) } else { None }
}

macro_rules! both {
    ($($sets:ident)*; $($shifts:ident $shift:literal)*; $($branch:ident)*; $($condition:literal)*) => {
        fn set_flags(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
            match (first.slot.op, first.known_shift()) {
                $((Op::$sets, _) => branch_behind::<{ Op::$sets as u16 }>(second),)*
                $((Op::$shifts, Some($shift)) => {
                    branch_behind::<{ SHIFTED * (1 + $shift) + Op::$shifts as u16 }>(second)
                })*
                _ => None,
            }
        }

        fn branch_behind<const FIRST: u16>(second: &MicroOp) -> Option<OpFn> {
            Some(match (second.kind, second.slot.op) {
                $((Kind::Plain, Op::$branch) => run_two::<FIRST, { Op::$branch as u16 }>,)*
                $((Kind::Followed, Op::$branch) => {
                    run_two::<FIRST, { FOLLOWED + Op::$branch as u16 }>
                })*
                (Kind::ExpectedIt, _) => run_two::<FIRST, EXPECTED_IT>,
                $((Kind::If($condition), _) => run_two::<FIRST, { IF + $condition }>,)*
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

fn run_two<'a, const FIRST: u16, const SECOND: u16>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    rest: Iter<'a, ScheduledOp>,
) -> Ending {
    run_before::<FIRST, false>(machine, pass, rest, |machine, at| {
        run::<SECOND, false>(machine, at.pass, at.rest)
    })
}

#[inline(always)]
fn run<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    rest: Iter<'a, ScheduledOp>,
) -> Ending {
    run_before::<MICRO, SP>(machine, pass, rest, |machine, at| {
        (at.step.next)(machine, at.pass, at.rest)
    })
}

/// Executes an operation the fast path, and goes on by `next` where it leads to the end.
#[inline(always)]
fn run_before<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    mut rest: Iter<'a, ScheduledOp>,
    next: impl FnOnce(&mut State, OpCursor<'_, 'a>) -> Ending,
) -> Ending {
    let all = rest.clone();
    let Some(step) = rest.next() else { return end(machine, pass, rest) };
    let mut at = OpCursor { pass, step, rest };
    match machine.perform_micro(const { Does::of(MICRO) }, Path::Fast, SP, &mut at) {
        Ok(Flow::Next) => next(machine, at),
        Ok(Flow::SlowPath) => run_slowly::<MICRO, SP>(machine, at.pass, all),
        outcome => {
            at.pass();
            outcome.into()
        }
    }
}

#[inline(never)]
fn run_slowly<'a, const MICRO: u16, const SP: bool>(
    machine: &mut State,
    pass: &mut Cursor<'a>,
    mut rest: Iter<'a, ScheduledOp>,
) -> Ending {
    let Some(step) = rest.next() else { return end(machine, pass, rest) };
    let mut at = OpCursor { pass, step, rest };
    let outcome = machine.perform_micro(const { Does::of(MICRO) }, Path::Slow, SP, &mut at);
    if outcome == Ok(Flow::Next) {
        return (step.next)(machine, at.pass, at.rest);
    }
    at.pass();
    outcome.into()
}

/// Behind the last step.
#[expect(clippy::needless_pass_by_value, reason = "one of those that a step names")]
#[inline(never)]
pub fn end<'a>(_: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    pass.move_to_end(&rest);
    Ending::Next
}
