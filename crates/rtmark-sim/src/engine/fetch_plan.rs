//! Fetch plans: schedules in which the waits of instruction fetches are known in advance.
//!
//! Fetch plans memoize a memory's read path as schedules memoize the pipeline. How long the fetches
//! of a block wait depends on the state of its memory (read buffers, cache, prefetch), and that
//! state repeats as code does. So a block that executes often gets a plan for each state in which
//! its memory was found: the plan's cycles include the waits, and its steps no fetches. After such
//! a pass the memory is brought to the state that the fetches would have left. Cycles are the same
//! with or without plans.
//!
//! Anything that takes longer than expected ends a planned pass, because later fetches then come
//! later. [`crate::timing::Lookahead`] describes the state of a memory and its changes; this module
//! knows nothing of caches and read buffers.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::engine::CortexM;
use crate::engine::block::{Block, Schedule, ScheduledOp};
use crate::engine::cursor::Cursor;
use crate::engine::entries::Entry;
use crate::engine::micro_op::Kind;
use crate::engine::native::NativeCode;
use crate::isa::{Op, Slot};
use crate::state::{ProgramPoint, State};
use crate::timing::{Change, FetchState, LineInserted, LineMemory, Lookahead};

/// A schedule whose fetch waits hold for one state of the memory.
#[derive(Debug)]
pub struct FetchPlan {
    pub(super) fetches: PlannedFetches,
    pub schedule: Schedule,
    /// The native code of that schedule.
    pub native: Option<NativeCode>,
    pub(super) next: OnceLock<Box<FetchPlan>>,
}

/// The fetches of a planned pass: what they depend on, and how they change the memory.
#[derive(Debug)]
pub struct PlannedFetches {
    /// The state of the memory before the pass.
    pub state: FetchState,
    /// An address in the line from which code came before the pass.
    line: u32,
    points: Box<[Point]>,
    /// The places of the cached lines that the pass uses, in order.
    used: Box<[u8]>,
}

/// The memory's state at some step of a plan.
#[derive(Debug)]
pub struct Point {
    pub change: Change,
    /// How many cached lines were used so far.
    used: usize,
    /// An address in the line from which code comes.
    pub line: u32,
}

impl PlannedFetches {
    /// Returns the memory's state when it has passed so many points; `None` if it has not changed.
    pub fn after(&self, points: u8) -> Option<&Point> {
        self.points.get(usize::from(points).checked_sub(1)?)
    }

    /// Returns the places of the cached lines used between two points.
    pub fn used(&self, from: Option<&Point>, to: &Point) -> &[u8] {
        self.used.get(from.map_or(0, |point| point.used)..to.used).unwrap_or_default()
    }
}

/// The fetch plans of a schedule: a list to which threads may append concurrently. Each pass reads the first line
/// of the host's cache.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct FetchPlans {
    pub(super) first: OnceLock<Box<FetchPlan>>,
    /// The native code of the schedule itself.
    pub native: Option<NativeCode>,
    /// Passes that found no plan, as far as they are counted.
    missed: AtomicU32,
}

/// Passes without a plan before one is made.
const MISSES_BEFORE_PLAN: u32 = 8;
/// The most plans of a schedule.
const MAX_PLANS: u32 = 12;
/// The most steps of plans that a machine and its clones keep, which bounds their memory.
const STEPS: usize = 1 << 18;

/// Counters shared by all machines that share code.
#[derive(Clone, Debug, Default)]
pub struct SharedCounts {
    /// Identifiers given to cache contents.
    numbers: Arc<AtomicU64>,
    /// Steps of fetch plans.
    steps: Arc<AtomicUsize>,
    /// Steps of blocks, schedules and fetch plans.
    kept: Arc<AtomicUsize>,
}

impl SharedCounts {
    /// Restarts the counts of steps, when all code is forgotten.
    pub fn reset_counts(&mut self) {
        self.steps = Arc::default();
        self.kept = Arc::default();
    }

    /// Adds steps that a block keeps.
    pub fn keep(&self, steps: usize) {
        self.kept.fetch_add(steps, Ordering::Relaxed);
    }

    /// Subtracts the steps of a block that is superseded.
    pub fn release(&self, steps: usize) {
        // They may have been counted before the last reset.
        let subtract = |kept: usize| Some(kept.saturating_sub(steps));
        let _ = self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
    }

    /// Returns the steps that blocks keep.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.steps.load(Ordering::Relaxed) >= STEPS
    }

    fn count(&self, steps: usize) {
        self.steps.fetch_add(steps, Ordering::Relaxed);
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl FetchPlans {
    /// No plans yet, for a schedule with this native code.
    pub fn of(native: Option<NativeCode>) -> Self {
        Self { native, ..Self::default() }
    }

    /// Finds the plan for the memory's present state.
    #[inline(always)]
    fn find(&self, memory: &LineMemory, line: u32, now: u64) -> Option<&FetchPlan> {
        let mut plan = self.first.get()?;
        let mask = memory.line_mask();
        while (plan.fetches.line ^ line) & mask != 0 || !memory.matches(&plan.fetches.state, now) {
            plan = plan.next.get()?;
        }
        Some(plan)
    }

    /// Returns whether it is time to make another plan. Increments that other threads make at the
    /// same time may be lost, which only delays that.
    fn is_time(&self) -> bool {
        let missed = self.missed.load(Ordering::Relaxed);
        if missed >= MISSES_BEFORE_PLAN * MAX_PLANS {
            return false;
        }
        self.missed.store(missed + 1, Ordering::Relaxed);
        missed % MISSES_BEFORE_PLAN == MISSES_BEFORE_PLAN - 1
    }

    fn keep(&self, plan: FetchPlan) -> &FetchPlan {
        let mut own = Some(Box::new(plan));
        let mut place = &self.first;
        loop {
            // Another thread may have added one here meanwhile.
            let kept = place.get_or_init(|| own.take().unwrap_or_else(|| unreachable!()));
            if own.is_none() {
                return kept;
            }
            place = &kept.next;
        }
    }
}

/// The position of a pass within a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanCursor<'a> {
    pub(super) plan: &'a FetchPlan,
    pub(super) began: u64,
    /// How many of the plan's points the memory has passed.
    pub(super) stood: u8,
}

impl<'a> PlanCursor<'a> {
    pub fn begin(plan: &'a FetchPlan, began: u64) -> Self {
        Self { plan, began, stood: 0 }
    }

    /// Returns whether no cycles have been added to a pass that now counts from cycle `from`.
    #[inline(always)]
    pub const fn is_on_time(&self, from: u64) -> bool {
        self.began == from
    }
}

impl State {
    /// Brings the memory to its state at the pass's current step.
    #[inline(always)]
    pub(crate) fn settle_memory(&mut self, at: &mut Cursor<'_>) {
        if let Some(plan) = at.plan {
            self.settle_memory_at(at, plan);
        }
    }

    #[inline(always)]
    fn settle_memory_at<'a>(&mut self, at: &mut Cursor<'a>, cursor: PlanCursor<'a>) {
        let PlanCursor { plan: FetchPlan { fetches, .. }, began, stood } = cursor;
        let to = at.begin().points;
        if to == stood {
            return;
        }
        let Some(point) = fetches.after(to) else { return };
        let before = fetches.after(stood);
        let waited = before.map_or(0, |point| point.change.waited);
        let memory = self.lines.near_mut();
        memory.restore(&point.change, waited, fetches.used(before, point), began);
        self.line = point.line;
        at.plan = Some(PlanCursor { stood: to, ..cursor });
    }

    /// Returns the constant that an instruction loads from the read-only memory of its code, and
    /// the constant's offset there.
    pub(crate) fn literal(&self, slot: &Slot) -> Option<(u32, u32)> {
        let whole = slot.op == Op::LdrLit || slot.op == Op::VldrLit && slot.aux & 0xFF == 1;
        let (bytes, place) = self.bus.near_code(slot.imm).filter(|_| whole)?;
        let near = self.lines.is_near(place.memory)
            && !self.slow.is_at(place)
            && !self.bus.is_writable(place.memory);
        near.then_some((u32::from_le_bytes(bytes), place.offset))
    }
}

impl CortexM {
    /// Finds the plan for a pass that begins now, or makes one if it is time to.
    #[inline(always)]
    pub(crate) fn fetch_plan<'a>(
        &mut self,
        entry: &'a Entry,
        from: &ProgramPoint,
    ) -> Option<&'a FetchPlan> {
        let memory = self.state.lines.near_mut();
        if !memory.can_look_ahead()
            || memory.line_mask() != self.state.line_mask
            || self.state.protected
        {
            return None;
        }
        memory.number(|| self.code.counts.next_number());
        let known = entry.plans.find(memory, self.state.line, from.cycles);
        if known.is_none() { self.plan_fetches(entry, from) } else { known }
    }

    /// Plans the fetches of a schedule for the present state of its memory, if that is worthwhile.
    #[inline(never)]
    fn plan_fetches<'a>(&mut self, entry: &'a Entry, from: &ProgramPoint) -> Option<&'a FetchPlan> {
        let Entry { block, steps, plans, .. } = entry;
        if block.is_profiled() {
            return None;
        }
        if !plans.is_time() || self.code.counts.is_full() {
            return None;
        }
        let now = from.cycles;
        let mask = self.state.line_mask;
        let memory = self.state.lines.near().look_ahead(now);
        let pipelined = self.state.rules.model_buses();
        let is_fetched_before = self.state.rules.fetches_targets() && from.pipe.is_taken();
        let until_first = if is_fetched_before { 0 } else { entry.first() };
        let mut planner = Planner::from(memory, now, self.state.line);
        planner.enter_first(from.pc, block, mask, until_first).ok()?;
        for step in steps.iter() {
            let ScheduledOp { slot, begin, .. } = *step;
            if begin.kind == Kind::Line {
                planner.enter(slot.aux, slot.imm, begin.cycles).ok()?;
            } else {
                let literal = self.state.literal(&slot).filter(|_| begin.kind == Kind::Plain);
                planner.push(*step, literal, pipelined);
            }
        }
        let Planner { memory, plan, points, used, .. } = planner;
        let steps = self.convert_its(from.pc, block, &plan);
        self.code.counts.count(steps.len());
        self.code.counts.keep(block.count_more_kept(steps.len()));
        let fetches = PlannedFetches {
            state: memory.fetch_state(),
            line: self.state.line,
            points: points.into(),
            used: used.into(),
        };
        let pages = &self.code.native_pages;
        let native = NativeCode::of(&self.state, pages, from.pc, &steps, Some(&fetches));
        let schedule = Schedule::new(steps, native.as_ref());
        Some(plans.keep(FetchPlan { fetches, schedule, native, next: OnceLock::new() }))
    }
}

/// A walk through a schedule that computes the waits of its fetches.
struct Planner {
    memory: Lookahead,
    now: u64,
    line: u32,
    /// Cycles waited so far.
    waits: u64,
    plan: Vec<ScheduledOp>,
    points: Vec<Point>,
    used: Vec<u8>,
}

impl Planner {
    fn from(memory: Lookahead, now: u64, line: u32) -> Self {
        let (plan, points, used) = (Vec::new(), Vec::new(), Vec::new());
        Self { memory, now, line, waits: 0, plan, points, used }
    }

    /// Fetches the first instruction, unless it is fetched already.
    fn enter_first(
        &mut self,
        first: u32,
        block: &Block,
        mask: u32,
        until_first: u32,
    ) -> Result<(), LineInserted> {
        let last = first.wrapping_add(block.first_instruction_span);
        if (first ^ self.line) & mask != 0 {
            self.enter(block.line, first, until_first)?;
        }
        if (last ^ self.line) & mask != 0 {
            // Lines are numbered in the order of their addresses.
            let further = (last & mask).wrapping_sub(first & mask) / mask.wrapping_neg();
            self.enter(block.line + further, last, until_first)?;
        }
        Ok(())
    }

    /// Enters a line at an address.
    fn enter(&mut self, number: u32, line: u32, cycles: u32) -> Result<(), LineInserted> {
        let now = self.now + u64::from(cycles) + self.waits;
        let (waits, used) = self.memory.enter(number, now)?;
        self.waits += waits;
        self.used.extend(used);
        self.line = line;
        self.note();
        Ok(())
    }

    /// Records the memory's state.
    fn note(&mut self) {
        let (change, used) = (self.memory.change(), self.used.len());
        self.points.push(Point { change, used, line: self.line });
    }

    /// Returns the cycles that the core waits for a constant, if they are known in advance.
    fn waits_for(&self, offset: u32, pipelined: bool) -> Option<u8> {
        let memory = self.memory.memory();
        if memory.holds(offset) {
            return Some(0);
        }
        // In a pipeline the wait depends on the pipeline's state.
        memory.data_waits().filter(|_| !pipelined)?.try_into().ok()
    }

    /// Appends a step. A load of a known constant becomes a move.
    fn push(&mut self, mut step: ScheduledOp, literal: Option<(u32, u32)>, pipelined: bool) {
        step.begin.cycles += self.waits as u32;
        if let Some((value, offset)) = literal
            && let Some(waits) = self.waits_for(offset, pipelined)
            && let Some(cost) = step.begin.cost.checked_add(waits)
        {
            let op = if step.slot.op == Op::LdrLit { Op::MovI } else { Op::VmovI };
            step.slot = Slot { op, imm: value, ..step.slot };
            step.begin.cost = cost;
            if waits > 0 {
                self.waits += self.memory.read(offset);
                self.note();
            }
        }
        step.begin.points = self.points.len() as u8;
        self.plan.push(step);
    }
}
