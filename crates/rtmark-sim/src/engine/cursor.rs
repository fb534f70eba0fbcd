//! Cursors: where in a block's schedule a run is.
//!
//! A cursor keeps no account of cycles while all goes as scheduled: how far the program has come
//! is told by the schedule. What comes unexpected is added to where the pass began, and mostly
//! ends the pass.

use std::slice::Iter;

use crate::engine::block::{Begin, NOTHING, Schedule, ScheduledOp};
use crate::engine::code_cache::BranchOutcome;
use crate::engine::fetch_plan::{FetchPlan, PlanCursor};
use crate::engine::micro_op::{Kind, MicroOp};
use crate::exec::{ExecContext, Flow};
use crate::isa::{Group, Op};
use crate::memory::Place;
use crate::state::{ProgramPoint, State};
use crate::timing::NOT_TAKEN;
use crate::timing::memo::PipeState;

/// Whether a pass goes on behind the instruction that executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    /// As far as its steps reach.
    On,
    /// For so many slots at most.
    For(usize),
    /// It ends here.
    Nowhere,
}

/// A pass through a block. Between the instruction that has been taken from it last and
/// the next one it is a point in the program: see [`Cursor::progress`].
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// What is executed before the block is left, and in how many cycles at most.
    steps: &'a [ScheduledOp],
    last: u32,
    /// What is still to be executed of it. Nothing but taking the next slot changes this while
    /// slots follow each other, so that they do so quickly.
    rest: Iter<'a, ScheduledOp>,
    going: Going,
    /// What is being executed.
    current: &'a ScheduledOp,
    /// How far the program had come at the beginning, and what came unexpected since.
    pub from: ProgramPoint,
    /// Where a jump has led.
    pub target: u32,
    /// If its fetches are plan.
    pub plan: Option<PlanCursor<'a>>,
}

impl<'a> Cursor<'a> {
    /// A cursor through nothing yet.
    #[inline(always)]
    pub fn from(from: ProgramPoint) -> Self {
        Self {
            steps: &[],
            last: 0,
            rest: [].iter(),
            going: Going::On,
            current: NOTHING,
            from,
            target: from.pc,
            plan: None,
        }
    }

    /// Enters a schedule.
    #[inline(always)]
    pub fn enter(&mut self, schedule: &'a Schedule) {
        self.steps = &schedule.steps;
        self.last = schedule.last;
        self.rest = schedule.steps.iter();
        self.going = Going::On;
        self.from.pipe = PipeState::NONE;
        self.plan = None;
    }

    /// Enters a fetch plan.
    #[inline(always)]
    pub fn enter_planned(&mut self, plan: &'a FetchPlan) {
        self.enter(&plan.schedule);
        self.plan = Some(PlanCursor::begin(plan, self.from.cycles));
    }

    /// Enters a schedule as far as a deadline allows.
    pub fn enter_until(&mut self, schedule: &'a Schedule, deadline: u64) {
        self.enter(schedule);
        self.current = NOTHING;
        self.leave_before(deadline);
    }

    /// Where the program goes on behind the instruction that has executed, if it does not jump.
    #[inline(always)]
    pub fn after(&self) -> ProgramPoint {
        let begin = self.begin();
        let ProgramPoint { pc, cycles, instructions, pipe } = self.progress();
        ProgramPoint {
            pc,
            cycles: cycles + u64::from(begin.cost),
            instructions: instructions + 1,
            pipe,
        }
    }

    /// A cursor through an instruction alone.
    pub fn alone(step: &'a ScheduledOp, from: ProgramPoint) -> Self {
        Self {
            steps: std::slice::from_ref(step),
            rest: std::slice::from_ref(step).iter(),
            ..Self::from(from)
        }
    }

    /// What is executed next.
    #[inline(always)]
    pub fn next(&self) -> Option<&'a ScheduledOp> {
        self.rest.as_slice().first()
    }

    /// What has not been executed yet.
    #[inline(always)]
    pub fn rest(&self) -> Iter<'a, ScheduledOp> {
        self.rest.clone()
    }

    /// Moves to a step.
    #[inline(always)]
    pub fn move_to(&mut self, step: &'a ScheduledOp, rest: &Iter<'a, ScheduledOp>) {
        self.current = step;
        self.rest = rest.clone();
    }

    /// Moves behind the last step.
    pub fn move_to_end(&mut self, rest: &Iter<'a, ScheduledOp>) {
        self.move_to(self.steps.last().unwrap_or(NOTHING), rest);
    }

    /// Whether the next slot may not be taken just like that: see [`Cursor::goes_on`].
    #[inline(always)]
    pub fn halts(&self) -> bool {
        self.going != Going::On
    }

    /// Whether the next slot is to be taken after all, where the pass has halted.
    #[inline(always)]
    pub fn goes_on(&mut self) -> bool {
        let Going::For(count) = self.going else { return false };
        let rest = self.rest.as_slice();
        if let Some(kept) = rest.get(..count) {
            let steps = self.steps.len() - (rest.len() - kept.len());
            self.steps = self.steps.get(..steps).unwrap_or_default();
            self.rest = kept.iter();
        }
        self.going = Going::On;
        true
    }

    /// Which slot is being executed.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.steps.len().wrapping_sub(1 + self.rest.len())
    }

    /// The place of that slot in the block.
    #[inline(always)]
    pub fn place(&self) -> usize {
        self.current.begin.place.into()
    }

    /// What executes there.
    #[inline(always)]
    pub const fn micro(&self) -> MicroOp {
        self.current.micro()
    }

    /// Whether that slot is an IT.
    #[inline(always)]
    pub fn is_behind_it(&self) -> bool {
        self.current.begin.kind == Kind::ExpectedIt
    }

    /// The branch with which the pass ends, by its address, and where it leads, if that may be
    /// foreseen wrongly.
    pub fn last_branch(&self, flow: Flow) -> Option<(u32, u32)> {
        let is_branch = matches!(self.current.begin.kind, Kind::Plain | Kind::Followed)
            && self.current.slot.is_foreseen();
        let target = if flow == Flow::Jump { self.target } else { NOT_TAKEN };
        is_branch.then(|| (self.address(), target))
    }

    /// Whether the pass has ended with a fetch, whose instruction has not entered the pipeline.
    pub fn has_fetched(&self) -> bool {
        self.current.begin.kind == Kind::Line
    }

    /// The jumps up to that slot by their addresses, and what they have done, where that slot
    /// leads on like this.
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
                Kind::ExpectedIt => (at < last) == (slot.aux == 1),
                _ => return None,
            };
            let seen = if is_taken { BranchOutcome::Taken } else { BranchOutcome::NotTaken };
            Some((step.address(self.from.pc), seen))
        })
    }

    /// How far the schedule is when that slot begins.
    #[inline(always)]
    pub const fn begin(&self) -> Begin {
        self.current.begin
    }

    /// The cycle in which a slot begins.
    #[inline(always)]
    pub fn begin_of(&self, step: &ScheduledOp) -> u64 {
        self.from.cycles.wrapping_add(step.begin.cycles.into())
    }

    /// The address of the instruction that executes.
    #[inline(always)]
    pub fn address(&self) -> u32 {
        self.current.address(self.from.pc)
    }

    /// How far the program has come while the instruction executes.
    #[inline(always)]
    pub fn progress(&self) -> ProgramPoint {
        let begin = self.begin();
        ProgramPoint {
            pc: self.behind(),
            cycles: self.from.cycles.wrapping_add(begin.cycles.into()),
            instructions: self.from.instructions + u64::from(begin.count),
            pipe: if self.from.pipe == PipeState::NONE { begin.pipe } else { self.from.pipe },
        }
    }

    /// Leaves the block behind this instruction.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.going = Going::Nowhere;
    }

    /// Leaves the block in time for a deadline, but not before an instruction that is next.
    #[inline(always)]
    pub fn leave_before(&mut self, deadline: u64) {
        // The target of a jump may be fetched, but not have entered a pipeline yet.
        let least = usize::from(!self.begin().pipe.is_taken());
        let rest = self.rest.as_slice();
        self.going = Going::For(before(rest, deadline.saturating_sub(self.from.cycles)).max(least));
    }

    /// Waits before the next instruction, unless that is a reason to leave; answers whether it
    /// waits.
    #[inline(always)]
    pub fn wait(&mut self, cycles: u64, deadline: u64) -> bool {
        let then = self.from.cycles.wrapping_add(cycles);
        let waits = then.wrapping_add(self.last.into()) < deadline;
        if waits {
            self.from.cycles = then;
        }
        waits
    }

    /// Waits before the next instruction, whatever comes of it.
    #[inline(always)]
    pub fn wait_for_next(&mut self, cycles: u64, deadline: u64) {
        self.from.cycles = self.from.cycles.wrapping_add(cycles);
        if self.from.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave_before(deadline);
        }
    }

    /// Takes more cycles than the schedule says, which is a reason to leave if a deadline
    /// comes closer.
    #[inline(always)]
    pub fn take_longer(&mut self, cycles: u64, deadline: u64) {
        self.from.cycles = self.from.cycles.wrapping_add(cycles);
        let is_late = self.plan.is_some() && cycles > 0;
        if is_late || self.from.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave();
        }
    }

    /// The pipeline stands otherwise than the schedule says.
    #[inline(always)]
    pub fn deviate(&mut self, pipe: PipeState) {
        self.from.pipe = pipe;
        self.leave();
    }
}

/// How many begin before a cycle.
#[inline(never)]
fn before(steps: &[ScheduledOp], cycle: u64) -> usize {
    steps.iter().take_while(|step| u64::from(step.begin.cycles) < cycle).count()
}

impl ExecContext for Cursor<'_> {
    #[inline(always)]
    fn behind(&self) -> u32 {
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
        state.take_longer(self, (state.rules.long_multiply)(op, n, m));
    }

    #[inline(always)]
    fn divided(&mut self, state: &State, op: Op, [n, m]: [u32; 2]) {
        state.take_longer(self, (state.rules.divide)(n, m, op == Op::Sdiv));
    }

    /// Measured on a Cortex-M3, in handlers: it takes a cycle more.
    #[inline(always)]
    fn raises_priority(&mut self, state: &State) {
        if state.rules.model_buses() {
            self.take_longer(1, state.deadline);
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
            self.deviate(state.pipe);
        }
        self.take_longer(state.cycles.wrapping_sub(before.cycles), state.deadline);
        result
    }
}

impl State {
    /// Does something that needs a cursor, where there is none.
    #[inline(always)]
    pub(crate) fn within<T>(&mut self, act: impl FnOnce(&mut Self, &mut Cursor<'_>) -> T) -> T {
        let mut at = Cursor::from(self.progress());
        let result = act(self, &mut at);
        self.set_progress(ProgramPoint { pc: at.target, ..at.progress() });
        result
    }
}
