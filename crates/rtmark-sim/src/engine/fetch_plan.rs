//! Fetch plans: schedules in which the waits of instruction fetches are known before a pass begins.
//!
//! A memoization of the memory's read path, as schedules are one of the pipeline. What fetching a block's code waits for depends on how its memory stands, and that repeats as
//! code does. So a block that is executed often gets plans for the ways in which its memory
//! has stood: fetches are no steps of theirs, and what each waits for is in the cycles that
//! they tell. Behind such a pass the memory is brought to stand as if it had been asked. With
//! or without them the cycles are the same.
//!
//! Whatever takes longer than expected ends such a pass, since later fetches come later then.
//! How a memory stands, and what will become of it, is told by [`crate::timing::Lookahead`]; this
//! module knows nothing of caches and read buffers.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::engine::CortexM;
use crate::engine::block::{Block, Passage, Schedule, ScheduledOp, link};
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::Kind;
use crate::isa::{Op, Slot};
use crate::state::{ProgramPoint, State};
use crate::timing::{Change, FetchState, LineCame, LineMemory, Lookahead};

/// A schedule whose fetches are known to wait so long, if the memory stands like this.
#[derive(Debug)]
pub struct FetchPlan {
    fetch_state: FetchState,
    /// An address in the line that code came from before.
    line: u32,
    pub schedule: Schedule,
    points: Box<[Point]>,
    /// The cached lines that are used, one after the other, by their places.
    used: Box<[u8]>,
    next: OnceLock<Box<FetchPlan>>,
}

/// What has become of the memory when some step of a plan is executed.
#[derive(Debug)]
struct Point {
    change: Change,
    /// Cached lines used until then.
    used: usize,
    /// An address in the line that code comes from.
    line: u32,
}

/// The fetch plans of a schedule, a list to which threads may add at once.
#[derive(Debug, Default)]
pub struct FetchPlans {
    first: OnceLock<Box<FetchPlan>>,
    /// Passes for which there was none, as far as they are counted.
    missed: AtomicU32,
}

/// Passes for which there is no plan, of which the last one is planned.
const MISSED: u32 = 8;
/// The most plans that a schedule has.
const MOST: u32 = 12;
/// Steps of plans that a machine and its clones keep, which bounds their memory.
const STEPS: usize = 1 << 18;

/// Counts of what machines that share code have planned.
#[derive(Clone, Debug, Default)]
pub struct SharedCounts {
    /// Numbers that have been given to what caches keep.
    numbers: Arc<AtomicU64>,
    /// Steps of plans.
    steps: Arc<AtomicUsize>,
    /// Steps of blocks and all that is scheduled of them.
    kept: Arc<AtomicUsize>,
}

impl SharedCounts {
    /// Begins to count steps anew, when all code is forgotten.
    pub fn forget_steps(&mut self) {
        self.steps = Arc::default();
        self.kept = Arc::default();
    }

    /// Counts steps that a block keeps.
    pub fn keep(&self, steps: usize) {
        self.kept.fetch_add(steps, Ordering::Relaxed);
    }

    /// Steps that blocks keep.
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
    /// Finds the plan for a memory that stands like this.
    #[inline(always)]
    fn find(&self, memory: &LineMemory, line: u32, now: u64) -> Option<&FetchPlan> {
        let mut plan = self.first.get()?;
        let mask = memory.line_mask();
        while (plan.line ^ line) & mask != 0 || !memory.stands(&plan.fetch_state, now) {
            plan = plan.next.get()?;
        }
        Some(plan)
    }

    /// Whether it is time to plan the schedule's fetches once more. What other threads count at the same
    /// time may be lost, of which nothing depends but how soon that is.
    fn is_time(&self) -> bool {
        let missed = self.missed.load(Ordering::Relaxed);
        if missed >= MISSED * MOST {
            return false;
        }
        self.missed.store(missed + 1, Ordering::Relaxed);
        missed % MISSED == MISSED - 1
    }

    fn keep(&self, plan: FetchPlan) -> &FetchPlan {
        let mut own = Some(Box::new(plan));
        let mut place = &self.first;
        loop {
            // Another thread may have kept one there meanwhile.
            let kept = place.get_or_init(|| own.take().unwrap_or_else(|| unreachable!()));
            if own.is_none() {
                return kept;
            }
            place = &kept.next;
        }
    }
}

/// Where a pass through a plan is.
#[derive(Clone, Copy, Debug)]
pub struct PlanCursor<'a> {
    plan: &'a FetchPlan,
    began: u64,
    /// Points that the memory has come to.
    stood: u8,
}

impl<'a> PlanCursor<'a> {
    pub fn begin(plan: &'a FetchPlan, began: u64) -> Self {
        Self { plan, began, stood: 0 }
    }
}

impl State {
    /// Has the memory stand as it does when the step is executed that a pass has come to.
    #[inline(always)]
    pub(crate) fn settle_memory(&mut self, at: &mut Cursor<'_>) {
        if let Some(plan) = at.plan {
            self.settle_memory_at(at, plan);
        }
    }

    #[inline(always)]
    fn settle_memory_at<'a>(&mut self, at: &mut Cursor<'a>, cursor: PlanCursor<'a>) {
        let PlanCursor { plan, began, stood } = cursor;
        let to = at.begin().points;
        if to == stood {
            return;
        }
        let at_point = |points: u8| plan.points.get(usize::from(points).wrapping_sub(1));
        let Some(point) = at_point(to) else { return };
        let (used, waited) =
            at_point(stood).map_or((0, 0), |point| (point.used, point.change.waited()));
        let used = plan.used.get(used..point.used).unwrap_or_default();
        let memory = self.lines.near_mut();
        memory.stand(&point.change, waited, used, began);
        self.line = point.line;
        at.plan = Some(PlanCursor { stood: to, ..cursor });
    }

    /// The constant that an instruction loads from the memory of its code, which does not
    /// change, and where it stands there.
    fn literal(&self, slot: &Slot) -> Option<(u32, u32)> {
        let whole = slot.op == Op::LdrLit || slot.op == Op::VldrLit && slot.aux & 0xFF == 1;
        let (bytes, place) = self.bus.near_code(slot.imm).filter(|_| whole)?;
        let near = self.lines.is_near(place.memory)
            && !self.slow.is_at(place)
            && !self.bus.is_writable(place.memory);
        near.then_some((u32::from_le_bytes(bytes), place.offset))
    }
}

impl CortexM {
    /// Finds the plan for a pass that begins now, or makes one if it is time.
    #[inline(always)]
    pub(crate) fn fetch_plan<'a>(
        &mut self,
        block: &'a Block,
        passage: &'a Passage,
        from: ProgramPoint,
    ) -> Option<&'a FetchPlan> {
        let memory = self.state.lines.near();
        if !memory.can_look_ahead()
            || memory.line_mask() != self.state.line_mask
            || self.state.protected
        {
            return None;
        }
        let known = passage.plans.find(memory, self.state.line, from.cycles);
        if known.is_none() { self.plan_fetches(block, passage, from) } else { known }
    }

    /// Plans the fetches of a schedule for how the memory of its code stands now, if it is worth
    /// while.
    #[inline(never)]
    fn plan_fetches<'a>(
        &mut self,
        block: &'a Block,
        Passage { schedule, plans }: &'a Passage,
        from: ProgramPoint,
    ) -> Option<&'a FetchPlan> {
        if block.is_profiled() {
            return None;
        }
        let counts = &self.code.counts;
        self.state.lines.near_mut().number(|| counts.next_number());
        if !plans.is_time() || counts.is_full() {
            return None;
        }
        let now = from.cycles;
        let mask = self.state.line_mask;
        let memory = self.state.lines.near().look_ahead(now);
        let pipelined = self.state.rules.model_buses();
        let is_fetched_before = self.state.rules.fetches_targets() && from.pipe.is_taken();
        let until_first = if is_fetched_before { 0 } else { schedule.first };
        let mut planner = Planner::from(memory, now, self.state.line);
        planner.enter_first(from.pc, block, mask, until_first).ok()?;
        for step in schedule.steps.iter() {
            let ScheduledOp { slot, begin, .. } = *step;
            if begin.kind == Kind::Line {
                planner.enter(slot.aux, slot.imm, begin.cycles).ok()?;
            } else {
                let literal = self.state.literal(&slot).filter(|_| begin.kind == Kind::Plain);
                planner.push(*step, literal, pipelined);
            }
        }
        let Planner { memory, plan, points, used, .. } = planner;
        let mut steps = self.convert_its(from.pc, block, &plan);
        link(&mut steps);
        self.code.counts.count(steps.len());
        self.code.counts.keep(block.keep_more(steps.len()));
        Some(plans.keep(FetchPlan {
            fetch_state: memory.fetch_state(),
            line: self.state.line,
            schedule: Schedule::new(steps),
            points: points.into(),
            used: used.into(),
            next: OnceLock::new(),
        }))
    }
}

/// A walk through a schedule that finds out what its fetches wait for.
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

    /// Fetches the first instruction, unless that is fetched already.
    fn enter_first(
        &mut self,
        first: u32,
        block: &Block,
        mask: u32,
        until_first: u32,
    ) -> Result<(), LineCame> {
        let last = first.wrapping_add(block.first_reach);
        if (first ^ self.line) & mask != 0 {
            self.enter(block.line, first, until_first)?;
        }
        if (last ^ self.line) & mask != 0 {
            // Lines follow each other as their addresses do.
            let further = (last & mask).wrapping_sub(first & mask) / mask.wrapping_neg();
            self.enter(block.line + further, last, until_first)?;
        }
        Ok(())
    }

    /// Fetches from a line, with the address in it that the program has come to.
    fn enter(&mut self, number: u32, line: u32, cycles: u32) -> Result<(), LineCame> {
        let now = self.now + u64::from(cycles) + self.waits;
        let (waits, used) = self.memory.enter(number, now)?;
        self.waits += waits;
        self.used.extend(used);
        self.line = line;
        self.note();
        Ok(())
    }

    /// Notes how the memory stands now.
    fn note(&mut self) {
        let (change, used) = (self.memory.change(), self.used.len());
        self.points.push(Point { change, used, line: self.line });
    }

    /// The cycles that the core waits for a constant there, if that is known now.
    fn waits_for(&self, offset: u32, pipelined: bool) -> Option<u8> {
        let memory = self.memory.memory();
        if memory.holds(offset) {
            return Some(0);
        }
        // A pipeline makes of it what depends on its state.
        memory.data_waits().filter(|_| !pipelined)?.try_into().ok()
    }

    /// Takes over a step, which may load a constant.
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
