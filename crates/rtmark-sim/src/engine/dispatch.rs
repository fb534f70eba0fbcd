//! Dispatch: threaded code, in which each operation calls the next.
//!
//! Each micro-operation has a function of its own, instantiated from [`Dispatched::perform`], that ends
//! with a call of the next step's function. The compiler turns these calls into jumps: no loop and no
//! table lies between two instructions, and each has a jump of its own for the host to predict. Where
//! the compiler does not, at most as many calls are active as a block has slots. Most functions exist
//! for two paths: the *fast path*, which makes no calls and so saves no registers, and the *slow path*,
//! which is complete; [`Paths`] says which ones an operation needs. Frequent pairs of instructions, and those
//! of an instruction that sets flags and the following branch, are fused into one function.

use std::marker::PhantomData;
use std::slice::Iter;

use crate::engine::block::ScheduledOp;
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::perform::{
    CheckFacts, CheckPrediction, ExpectedCondition, FetchLine, Followed, HitWatch, Hop, If,
    Shifted, Skip,
};
use crate::exec::{
    Ending, Executing, Flow, Operation, Outcome, Path, Paths, PerOperation, operations,
};
use crate::isa::{Op, Slot};
use crate::memory::Place;
use crate::state::State;
use crate::timing::pipeline::CoreBus;

/// Executes the next step, and the steps after it as far as they follow each other.
pub type OpFn = for<'a> fn(&mut State, &mut Cursor<'a>, Iter<'a, ScheduledOp>) -> Ending;

/// Selects the function of an instruction that may write the stack pointer, whose low bits are always
/// clear, or of any other.
struct OpFns {
    with_stack_pointer: bool,
}

impl OpFns {
    fn of(slot: &Slot) -> Self {
        const SP: u8 = crate::arch::armm::registers::SP as u8;
        Self { with_stack_pointer: slot.d == SP || slot.n == SP && slot.op.moves_base() }
    }

    /// Returns the function of a micro-operation.
    fn function<M: Dispatched>(self) -> OpFn {
        if const { !M::PATHS.has_fast() } {
            return M::run_slow;
        }
        if const { M::PATHS.has_sp() } && self.with_stack_pointer {
            return M::run::<OnFastPathWithSp>;
        }
        M::run::<OnFastPath>
    }
}

impl PerOperation for OpFns {
    type Item = OpFn;

    fn of<O: Operation>(self) -> OpFn {
        self.function::<O>()
    }
}

/// A micro-operation, as a type for which there are functions of dispatch.
pub trait Dispatched: Sized {
    /// The paths that it has.
    const PATHS: Paths;

    /// Executes the step at which the cursor is.
    fn perform<P: OnPath>(state: &mut State, at: &mut OpCursor<'_, '_, P>) -> Outcome;

    /// Executes it on a fast path, and continues with the next step.
    fn run<'a, P: OnPath>(
        state: &mut State,
        pass: &mut Cursor<'a>,
        rest: Iter<'a, ScheduledOp>,
    ) -> Ending {
        run_fast::<Self, P>(state, pass, rest, |state, at| (at.step.next)(state, at.pass, at.rest))
    }

    /// Executes it on the fast path together with a second micro-operation, and continues with the next
    /// step.
    fn run_fused<'a, Second: Dispatched>(
        state: &mut State,
        pass: &mut Cursor<'a>,
        rest: Iter<'a, ScheduledOp>,
    ) -> Ending {
        run_fast::<Self, OnFastPath>(state, pass, rest, |state, at| {
            run_fast::<Second, OnFastPath>(state, at.pass, at.rest, |state, at| {
                (at.step.next)(state, at.pass, at.rest)
            })
        })
    }

    /// Executes it on the slow path, and continues with the next step.
    #[inline(never)]
    fn run_slow<'a>(
        state: &mut State,
        pass: &mut Cursor<'a>,
        mut rest: Iter<'a, ScheduledOp>,
    ) -> Ending {
        let Some(step) = rest.next() else { return end(state, pass, rest) };
        let mut at = OpCursor { pass, step, rest, path: PhantomData::<OnSlowPath> };
        let outcome = Self::perform(state, &mut at);
        if outcome == Ok(Flow::Next) {
            return (at.step.next)(state, at.pass, at.rest);
        }
        at.pass();
        outcome.into()
    }
}

/// A path, as a type with which functions are parametrized.
pub trait OnPath {
    const PATH: Path;
}

pub enum OnFastPath {}

impl OnPath for OnFastPath {
    const PATH: Path = Path::Fast;
}

pub enum OnFastPathWithSp {}

impl OnPath for OnFastPathWithSp {
    const PATH: Path = Path::FastWithSp;
}

pub enum OnSlowPath {}

impl OnPath for OnSlowPath {
    const PATH: Path = Path::Slow;
}

/// The position of a pass while a step executes on a path. The cursor itself is updated only on demand.
pub struct OpCursor<'p, 'a, P> {
    pass: &'p mut Cursor<'a>,
    step: &'a ScheduledOp,
    rest: Iter<'a, ScheduledOp>,
    path: PhantomData<P>,
}

impl<'a, P: OnPath> Executing for OpCursor<'_, 'a, P> {
    type Position = Cursor<'a>;

    const PATH: Path = P::PATH;

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
    fn reads_code_fast(&mut self, state: &mut State, address: u32, place: Place) -> bool {
        let is_immediate = state.lines.near().is_immediate();
        if Self::IS_FAST && !is_immediate || !state.lines.is_near(place.memory) {
            return false;
        }
        let (deadline, has_pipeline) = (state.deadline, state.rules.model_buses());
        let shows_facts = has_pipeline && CoreBus::of(address) != CoreBus::USUAL;
        if shows_facts && !self.expects_code_bus() {
            return false;
        }
        if !is_immediate {
            if state.slow.is_at(place) {
                return false;
            }
            // Whether the read buffer holds the data is known only once the memory is settled.
            let is_planned = self.pass.plan.is_some();
            if is_planned {
                state.settle_memory(self.pass());
            }
            let wait = |waits| !has_pipeline && !is_planned && self.wait(waits, deadline);
            if !state.lines.near_mut().try_read_fast(place.offset, wait) {
                return false;
            }
        }
        if shows_facts {
            self.skip_steps(1);
        }
        true
    }

    #[inline(always)]
    fn needs_check(&self) -> bool {
        self.pass.needs_check()
    }

    #[inline(always)]
    fn follows(&self, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn not_taken(&self) -> Flow {
        Flow::Next
    }
}

/// The same for a branch that the block follows to a target.
pub struct Following<'c, 'p, 'a, P> {
    pub at: &'c mut OpCursor<'p, 'a, P>,
    pub target: u32,
}

impl<'a, P: OnPath> Executing for Following<'_, '_, 'a, P> {
    type Position = Cursor<'a>;

    const PATH: Path = P::PATH;

    #[inline(always)]
    fn context(&mut self) -> &mut Cursor<'a> {
        self.at.context()
    }

    #[inline(always)]
    fn reads_literal_fast(&mut self, state: &mut State, place: Place) -> bool {
        self.at.reads_literal_fast(state, place)
    }

    #[inline(always)]
    fn reads_code_fast(&mut self, state: &mut State, address: u32, place: Place) -> bool {
        self.at.reads_code_fast(state, address, place)
    }

    #[inline(always)]
    fn needs_check(&self) -> bool {
        self.at.needs_check()
    }

    #[inline(always)]
    fn follows(&self, target: u32) -> bool {
        target == self.target | 1 && !self.at.is_over()
    }

    #[inline(always)]
    fn not_taken(&self) -> Flow {
        Flow::Leave
    }
}

impl<'a, P> OpCursor<'_, 'a, P> {
    /// Returns the slot of the step.
    #[inline(always)]
    pub const fn slot(&self) -> &'a Slot {
        &self.step.slot
    }

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

    /// Returns whether the pass continues if the step accesses data over the Code bus, and shows the
    /// pipeline nothing else.
    #[inline(always)]
    fn expects_code_bus(&self) -> bool {
        matches!(self.rest.as_slice(), [check, _, ..] if check.micro().expects_code_bus())
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
                None => operations::pick(slot.op, OpFns::of(slot)),
                Some(shift) => shifted(slot, shift),
            },
            Kind::Followed => followed(slot.op),
            Kind::ExpectedIt | Kind::CheckCondition => ExpectedCondition::run::<OnFastPath>,
            Kind::If(condition) => conditional(condition),
            Kind::Hop => Hop::run::<OnFastPath>,
            Kind::Skip => Skip::run::<OnFastPath>,
            Kind::Line => FetchLine::run::<OnFastPath>,
            Kind::CheckPrediction => CheckPrediction::run::<OnFastPath>,
            Kind::CheckFacts => CheckFacts::run::<OnFastPath>,
            Kind::Watch => HitWatch::run_slow,
        }
    }
}

macro_rules! shifted {
    ($($op:ident $shift:literal)*) => {
        /// Returns the function of an operation with a known shift type.
        fn shifted(slot: &Slot, shift: u32) -> OpFn {
            let from = OpFns::of(slot);
            match (slot.op, shift) {
                $((Op::$op, $shift) => from.function::<Shifted<operations::$op, $shift>>(),)*
                _ => operations::Undefined::run_slow,
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
                $(Op::$op => Followed::<operations::$op>::run::<OnFastPath>,)*
                _ => operations::Undefined::run_slow,
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
                $($condition => If::<$condition>::run::<OnFastPath>,)*
                _ => Skip::run::<OnFastPath>,
            }
        }
    };
}

conditional! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 }

/// Returns the function that executes two steps: an instruction that sets flags and the branch after it, or
/// two frequent instructions. That leaves the host one jump to predict instead of two. Returns `None` for
/// other pairs.
pub fn fused(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
    let writes_sp = |micro: &MicroOp| OpFns::of(&micro.slot).with_stack_pointer;
    if first.kind != Kind::Plain || writes_sp(first) {
        return None;
    }
    if let Some(fused) = set_flags(first, second) {
        return Some(fused);
    }
    if const { IS_SMALL } || writes_sp(second) { None } else { frequent(first, second) }
}

/// Whether only the most useful pairs have a function: the program of the page in a browser is small.
const IS_SMALL: bool = cfg!(target_family = "wasm");

/// Returns whether an operation that sets flags is fused with a branch.
const fn precedes_branches(op: Op) -> bool {
    !IS_SMALL || !matches!(op, Op::MovsI | Op::MovsR | Op::MovsX)
}

macro_rules! frequent {
    (
        $($first:ident)*; $($first_shifted:ident $first_shift:literal)*;
        $($second:ident)*; $($shifted:ident $shift:literal)*; $($branch:ident)*
    ) => {
        fn frequent(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
            match (first.slot.op, first.known_shift()) {
                $((Op::$first, _) => frequent_after::<operations::$first>(second),)*
                $((Op::$first_shifted, Some($first_shift)) => {
                    frequent_after::<Shifted<operations::$first_shifted, $first_shift>>(second)
                })*
                _ => None,
            }
        }

        fn frequent_after<M: Dispatched>(second: &MicroOp) -> Option<OpFn> {
            Some(match (second.kind, second.slot.op, second.known_shift()) {
                $((Kind::Plain, Op::$second, _) => M::run_fused::<operations::$second>,)*
                $((Kind::Plain, Op::$shifted, Some($shift)) => {
                    M::run_fused::<Shifted<operations::$shifted, $shift>>
                })*
                $((Kind::Followed, Op::$branch, _) => {
                    M::run_fused::<Followed<operations::$branch>>
                })*
                _ => return None,
            })
        }
    };
}

// In programs of many kinds, these are among the most frequent instructions.
frequent! {
    LdrI LdrbI LdrhI LdrR LdrbR StrI StrbI StrhI MovR MovsI AddI AddR AddsI AddsR SubI SubsI SubsR AndsR
    OrrsR EorsR;
    MovsX 0 MovsX 1;
    LdrI LdrbI LdrhI LdrR LdrbR StrI StrbI StrhI MovR MovsI AddI AddR AddsI AddsR SubI SubsI SubsR AndsR
    OrrsR EorsR CmpI CmpR;
    MovsX 0 MovsX 1;
    Beq Bne
}

macro_rules! both {
    ($($sets:ident)*; $($shifts:ident $shift:literal)*; $($branch:ident)*; $($condition:literal)*) => {
        fn set_flags(first: &MicroOp, second: &MicroOp) -> Option<OpFn> {
            match (first.slot.op, first.known_shift()) {
                $((Op::$sets, _) if const { precedes_branches(Op::$sets) } => {
                    branch_after::<operations::$sets>(second)
                })*
                $((Op::$shifts, Some($shift)) if const { precedes_branches(Op::$shifts) } => {
                    branch_after::<Shifted<operations::$shifts, $shift>>(second)
                })*
                _ => None,
            }
        }

        fn branch_after<M: Dispatched>(second: &MicroOp) -> Option<OpFn> {
            Some(match (second.kind, second.slot.op) {
                $((Kind::Plain, Op::$branch) => M::run_fused::<operations::$branch>,)*
                $((Kind::Followed, Op::$branch) => {
                    M::run_fused::<Followed<operations::$branch>>
                })*
                (Kind::ExpectedIt | Kind::CheckCondition, _) => M::run_fused::<ExpectedCondition>,
                $((Kind::If($condition), _) => M::run_fused::<If<$condition>>,)*
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

/// Executes a micro-operation on the fast path, and continues with `next` if it completes.
#[inline(always)]
fn run_fast<'a, M: Dispatched, P: OnPath>(
    state: &mut State,
    pass: &mut Cursor<'a>,
    mut rest: Iter<'a, ScheduledOp>,
    next: impl FnOnce(&mut State, OpCursor<'_, 'a, P>) -> Ending,
) -> Ending {
    let all = rest.clone();
    let Some(step) = rest.next() else { return end(state, pass, rest) };
    let mut at = OpCursor { pass, step, rest, path: PhantomData };
    match M::perform(state, &mut at) {
        Ok(Flow::Next) => next(state, at),
        Ok(Flow::SlowPath) if const { M::PATHS.has_slow() } => M::run_slow(state, at.pass, all),
        outcome => {
            at.pass();
            outcome.into()
        }
    }
}

/// Ends a pass after its last step.
#[expect(clippy::needless_pass_by_value, reason = "one of those that a step names")]
#[inline(never)]
pub fn end<'a>(_: &mut State, pass: &mut Cursor<'a>, rest: Iter<'a, ScheduledOp>) -> Ending {
    pass.move_to_end(&rest);
    Ending::Next
}
