//! Cursors: the position of a run within a block's schedule.
//!
//! A cursor keeps no account of cycles while execution follows the schedule, which states how far
//! the program has come. Extra cycles are added to the point at which the pass began, and mostly
//! end the pass.

use std::slice::Iter;

use crate::engine::block::{NOTHING, SchedulePosition, ScheduledOp};
use crate::engine::code_cache::BranchOutcome;
use crate::engine::dispatch::OpFn;
use crate::engine::entries::Entry;
use crate::engine::fetch_plan::{FetchPlan, PlanCursor};
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::{Links, NativeCode, Unlinked};
use crate::exec::{ExecContext, Flow};
use crate::isa::{Group, Op};
use crate::memory::Place;
use crate::state::{ProgramPoint, State};
use crate::timing::NOT_TAKEN;
use crate::timing::memo::PipeState;

/// How far a pass may continue after the current instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PassLimit {
    /// To the end of its steps.
    Steps,
    /// For this many slots at most.
    Slots(usize),
    /// Not at all: the pass ends here.
    Leave,
}

/// A pass through a block. Between the step it took last and the next one it denotes a program
/// point: see [`Cursor::progress`].
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// The steps of the schedule, and the cycle offset of the last one.
    steps: &'a [ScheduledOp],
    last: u32,
    /// The steps not executed yet. While slots follow each other, only taking the next one changes
    /// this field, which keeps that fast.
    rest: Iter<'a, ScheduledOp>,
    limit: PassLimit,
    /// The current step.
    current: &'a ScheduledOp,
    /// The program point at which the pass began, plus cycles beyond the schedule since.
    pub from: ProgramPoint,
    /// The target of the last jump.
    pub target: u32,
    /// The position in a fetch plan, if the pass follows one.
    pub plan: Option<PlanCursor<'a>>,
    /// The native code of the schedule, if it has any and the pass may execute all steps.
    pub native: Option<&'a NativeCode>,
    /// Which native code follows which.
    pub links: Option<&'a Links>,
    /// Native code ends with the pass.
    pub is_single: bool,
    /// The entry to whose pass native code has come.
    pub moved: Option<&'a Entry>,
    /// The exit by which native code has ended the pass, if it is not linked.
    pub unlinked: Option<Unlinked<'a>>,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at a program point, before it enters a schedule.
    #[inline(always)]
    pub fn from(from: ProgramPoint) -> Self {
        Self {
            steps: &[],
            last: 0,
            rest: [].iter(),
            limit: PassLimit::Steps,
            current: NOTHING,
            from,
            target: from.pc,
            plan: None,
            native: None,
            links: None,
            is_single: false,
            moved: None,
            unlinked: None,
        }
    }

    /// Enters a schedule, given by its steps and the cycles until the last one begins.
    #[inline(always)]
    pub fn enter(&mut self, steps: &'a [ScheduledOp], last: u32) {
        self.steps = steps;
        self.last = last;
        self.rest = steps.iter();
        self.limit = PassLimit::Steps;
        self.from.pipe = PipeState::NONE;
        self.plan = None;
        self.native = None;
    }

    /// Begins a pass to which native code has come, by a plan or without one.
    pub fn begin_linked(
        &mut self,
        entry: &'a Entry,
        plan: Option<&'a FetchPlan>,
        native: &'a NativeCode,
    ) {
        match plan {
            Some(plan) => self.enter_planned(plan),
            None => self.enter(&entry.steps, entry.last),
        }
        self.from.pc = entry.block.address;
        self.native = Some(native);
        self.moved = Some(entry);
    }

    /// Halts before a step, with which [`Cursor::resume`] continues.
    pub fn halt_before(&mut self, step: usize) {
        self.rest = self.steps.get(step..).unwrap_or_default().iter();
        self.limit = PassLimit::Slots(usize::MAX);
    }

    /// Returns all steps of the schedule.
    pub const fn steps(&self) -> &'a [ScheduledOp] {
        self.steps
    }

    /// Enters a fetch plan.
    #[inline(always)]
    pub fn enter_planned(&mut self, plan: &'a FetchPlan) {
        self.enter(&plan.schedule.steps, plan.schedule.last);
        self.plan = Some(PlanCursor::begin(plan, self.from.cycles));
    }

    /// Enters a schedule, to leave it in time for a deadline.
    pub fn enter_until(&mut self, steps: &'a [ScheduledOp], last: u32, deadline: u64) {
        self.enter(steps, last);
        self.current = NOTHING;
        self.leave_before(deadline);
    }

    /// Moves the program point of a pass that ended with `flow` past its last instruction. Until the
    /// next pass, [`Cursor::from`] is where that begins.
    #[inline(always)]
    pub fn complete(&mut self, flow: Flow) {
        let SchedulePosition { cycles, cost, count, pipe, .. } = self.current.begin;
        let next = self.next_address();
        let from = &mut self.from;
        from.cycles = from.cycles.wrapping_add(u64::from(cycles) + u64::from(cost));
        from.instructions += u64::from(count) + 1;
        if from.pipe == PipeState::NONE {
            from.pipe = pipe;
        }
        if flow == Flow::Jump {
            from.pc = self.target;
            from.pipe = from.pipe.taken();
        } else {
            from.pc = next;
        }
    }

    /// Creates a cursor over a single instruction.
    pub fn alone(step: &'a ScheduledOp, from: ProgramPoint) -> Self {
        Self {
            steps: std::slice::from_ref(step),
            rest: std::slice::from_ref(step).iter(),
            ..Self::from(from)
        }
    }

    /// Returns the next step.
    #[inline(always)]
    pub fn next(&self) -> Option<&'a ScheduledOp> {
        self.rest.as_slice().first()
    }

    /// Returns the steps not executed yet.
    #[inline(always)]
    pub fn rest(&self) -> Iter<'a, ScheduledOp> {
        self.rest.clone()
    }

    /// Moves to a step, with the steps after it.
    #[inline(always)]
    pub fn move_to(&mut self, step: &'a ScheduledOp, rest: &Iter<'a, ScheduledOp>) {
        self.current = step;
        self.rest = rest.clone();
    }

    /// Moves past the last step.
    pub fn move_to_end(&mut self, rest: &Iter<'a, ScheduledOp>) {
        self.move_to(self.steps.last().unwrap_or(NOTHING), rest);
    }

    /// Returns whether the pass must ask [`Cursor::resume`] before it takes the next slot.
    #[inline(always)]
    pub fn needs_check(&self) -> bool {
        self.limit != PassLimit::Steps
    }

    /// Resumes a pass that halted: applies its limit, and returns whether it continues.
    #[inline(always)]
    pub fn resume(&mut self) -> bool {
        let PassLimit::Slots(count) = self.limit else { return false };
        let rest = self.rest.as_slice();
        if let Some(kept) = rest.get(..count) {
            let steps = self.steps.len() - (rest.len() - kept.len());
            self.steps = self.steps.get(..steps).unwrap_or_default();
            self.rest = kept.iter();
            self.native = None;
        }
        self.limit = PassLimit::Steps;
        true
    }

    /// Resumes a pass that an instruction leaves because of the facts that it has shown, if these are
    /// the expected ones. Returns the function of the next step.
    #[inline(always)]
    pub fn resume_as_expected(&mut self, deadline: u64) -> Option<OpFn> {
        let (check, rest) = self.rest.as_slice().split_first()?;
        let is_expected = check.begin.kind == Kind::CheckFacts
            && check.slot.imm == self.from.pipe.bits()
            && self.plan.is_none_or(|plan| plan.is_on_time(self.from.cycles))
            && self.from.cycles.wrapping_add(self.last.into()) < deadline;
        if !is_expected || rest.is_empty() {
            return None;
        }
        self.from.pipe = PipeState::NONE;
        self.limit = PassLimit::Steps;
        self.rest = rest.iter();
        Some(check.next)
    }

    /// Returns the address of the instruction that ended the latest pass, and the facts that it has shown,
    /// if a block can expect facts of it.
    pub fn shown(&self) -> Option<(u32, u32)> {
        let size = match self.current.begin.kind {
            Kind::Plain => self.current.slot.size().into(),
            Kind::CheckFacts => self.current.slot.aux,
            _ => return None,
        };
        let ProgramPoint { pc, pipe, .. } = self.from;
        (!pipe.is_taken()).then(|| (pc.wrapping_sub(size), pipe.shown()))
    }

    /// Returns the index of the current step in the schedule.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.steps.len().wrapping_sub(1 + self.rest.len())
    }

    /// Returns the index of the current slot in the block.
    #[inline(always)]
    pub fn place(&self) -> usize {
        self.current.begin.place.into()
    }

    /// Returns the current micro-operation.
    #[inline(always)]
    pub const fn micro(&self) -> MicroOp {
        self.current.micro()
    }

    /// Returns whether the current slot expects a condition to hold or to fail.
    #[inline(always)]
    pub const fn expects_condition(&self) -> bool {
        self.current.begin.kind.expects_condition()
    }

    /// Returns the address and target of the predicted branch that ends the pass, if one does.
    pub fn last_branch(&self, flow: Flow) -> Option<(u32, u32)> {
        let is_branch = matches!(self.current.begin.kind, Kind::Plain | Kind::Followed)
            && self.current.slot.needs_prediction();
        let target = if flow == Flow::Jump { self.target } else { NOT_TAKEN };
        is_branch.then(|| (self.address(), target))
    }

    /// Returns whether the pass ended with a fetch, whose instruction has not entered the pipeline.
    pub fn has_fetched(&self) -> bool {
        self.current.begin.kind == Kind::Line
    }

    /// Returns the branches of the pass with their outcomes, up to the current slot, which ends
    /// with `flow`.
    pub fn jumps(&self, flow: Flow) -> impl Iterator<Item = (u32, BranchOutcome)> {
        let last = self.index();
        self.steps.iter().take(last + 1).enumerate().filter_map(move |(at, step)| {
            let slot = step.slot;
            let jumps = at == last && flow == Flow::Jump;
            let is_taken = match step.begin.kind {
                Kind::Plain if jumps && slot.is_indirect() => {
                    return Some((step.address(self.from.pc), BranchOutcome::LedTo(self.target)));
                }
                Kind::Followed => at < last || jumps,
                Kind::Plain if slot.op.group() == Group::Branch => jumps,
                Kind::ExpectedIt | Kind::CheckCondition => (at < last) == (slot.aux == 1),
                _ => return None,
            };
            let seen = if is_taken { BranchOutcome::Taken } else { BranchOutcome::NotTaken };
            Some((step.address(self.from.pc), seen))
        })
    }

    /// Returns the scheduled position of the current step.
    #[inline(always)]
    pub const fn begin(&self) -> SchedulePosition {
        self.current.begin
    }

    /// Returns the cycle in which a step begins.
    #[inline(always)]
    pub fn begin_of(&self, step: &ScheduledOp) -> u64 {
        self.from.cycles.wrapping_add(step.begin.cycles.into())
    }

    /// Returns the address of the current instruction.
    #[inline(always)]
    pub fn address(&self) -> u32 {
        self.current.address(self.from.pc)
    }

    /// Returns the program point during the current instruction.
    #[inline(always)]
    pub fn progress(&self) -> ProgramPoint {
        let begin = self.begin();
        ProgramPoint {
            pc: self.next_address(),
            cycles: self.from.cycles.wrapping_add(begin.cycles.into()),
            instructions: self.from.instructions + u64::from(begin.count),
            pipe: if self.from.pipe == PipeState::NONE { begin.pipe } else { self.from.pipe },
        }
    }

    /// Leaves the block after the current instruction.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.limit = PassLimit::Leave;
    }

    /// Leaves the block in time for a deadline, but not before an instruction that must execute
    /// next.
    #[inline(always)]
    pub fn leave_before(&mut self, deadline: u64) {
        // A jump's target may have been fetched without having entered a pipeline.
        let rest = self.rest.as_slice();
        let is_watched = rest.first().is_some_and(|next| next.begin.kind == Kind::Watch);
        let least = if self.begin().pipe.is_taken() { 0 } else { 1 + usize::from(is_watched) };
        self.limit =
            PassLimit::Slots(before(rest, deadline.saturating_sub(self.from.cycles)).max(least));
    }

    /// Delays the next instruction, unless a deadline would then fall within the pass. Returns
    /// whether it was delayed.
    #[inline(always)]
    pub fn wait(&mut self, cycles: u64, deadline: u64) -> bool {
        let then = self.from.cycles.wrapping_add(cycles);
        let waits = then.wrapping_add(self.last.into()) < deadline;
        if waits {
            self.from.cycles = then;
        }
        waits
    }

    /// Delays the next instruction, and leaves the block in time for the deadline.
    #[inline(always)]
    pub fn wait_for_next(&mut self, cycles: u64, deadline: u64) {
        self.from.cycles = self.from.cycles.wrapping_add(cycles);
        if self.from.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave_before(deadline);
        }
    }

    /// Adds cycles beyond the schedule, and leaves the block if a deadline comes within it, or if
    /// later fetches of a plan would come late.
    #[inline(always)]
    pub fn add_cycles(&mut self, cycles: u64, deadline: u64) {
        self.from.cycles = self.from.cycles.wrapping_add(cycles);
        let is_late = self.plan.is_some() && cycles > 0;
        if is_late || self.from.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave();
        }
    }

    /// Records a pipeline state other than the scheduled one, and leaves the block.
    #[inline(always)]
    pub fn leave_with_state(&mut self, pipe: PipeState) {
        self.from.pipe = pipe;
        self.leave();
    }
}

/// Returns how many steps begin before a cycle offset.
#[inline(never)]
fn before(steps: &[ScheduledOp], cycle: u64) -> usize {
    steps.iter().take_while(|step| u64::from(step.begin.cycles) < cycle).count()
}

impl ExecContext for Cursor<'_> {
    #[inline(always)]
    fn next_address(&self) -> u32 {
        self.address().wrapping_add_signed(self.current.slot.size().into())
    }

    #[inline(always)]
    fn jumps(&mut self, state: &State, target: u32) {
        self.target = target;
        self.from.cycles += u64::from(state.rules.refill);
    }

    #[inline(always)]
    fn has_loaded_target(&mut self, state: &State) {
        self.from.cycles += u64::from(state.rules.refill_loaded);
    }

    #[inline(always)]
    fn multiplied_long(&mut self, state: &State, op: Op, [n, m]: [u32; 2]) {
        state.add_cycles(self, state.rules.multiply_long(op, n, m));
    }

    #[inline(always)]
    fn divided(&mut self, state: &State, op: Op, [n, m]: [u32; 2]) {
        state.add_cycles(self, state.rules.divide(n, m, op == Op::Sdiv));
    }

    /// Adds the extra cycle measured on a Cortex-M3, in handlers.
    #[inline(always)]
    fn raises_priority(&mut self, state: &State) {
        if state.rules.model_buses() {
            self.add_cycles(1, state.deadline);
        }
    }

    #[inline(always)]
    fn reads_literal(&mut self, state: &mut State, place: Place) {
        state.settle_memory(self);
        if !state.lines[place.memory].is_immediate() {
            state.wait_for_literal(self, place);
        }
    }

    #[inline(always)]
    fn slow_path<T>(&mut self, state: &mut State, act: impl FnOnce(&mut State) -> T) -> T {
        let before = self.progress();
        state.set_progress(before);
        state.settle_memory(self);
        let result = act(state);
        self.target = state.cpu.pc;
        if state.pipe != before.pipe {
            self.leave_with_state(state.pipe);
        }
        self.add_cycles(state.cycles.wrapping_sub(before.cycles), state.deadline);
        result
    }
}
