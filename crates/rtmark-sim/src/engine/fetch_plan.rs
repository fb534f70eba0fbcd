//! Passes whose fetches are settled before they begin.
//!
//! What fetching a block's code waits for depends on how its memory stands, and that repeats as
//! code does. So a block that is executed often gets courses for the ways in which its memory
//! has stood: fetches are no steps of theirs, and what each waits for is in the cycles that
//! they tell. Behind such a pass the memory is brought to stand as if it had been asked. With
//! or without them the cycles are the same.
//!
//! Whatever takes longer than expected ends such a pass, since later fetches come later then.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::engine::block::{Block, Course, Pass, Step, link};
use crate::engine::micro_op::Kind;
use crate::isa::{Op, Slot};
use crate::machine::Machine;
use crate::state::Progress;
use crate::timing::memo::TAKEN;
use crate::timing::{Came, Change, Foretold, LineMemory, Stance};

/// A course of which the fetches are settled.
#[derive(Debug)]
pub struct Settled {
    stance: Stance,
    /// An address in the line that code came from before.
    line: u32,
    pub course: Course,
    points: Box<[Point]>,
    /// The kept lines that are used, one after the other, by their places.
    used: Box<[u8]>,
    next: OnceLock<Box<Settled>>,
}

/// What has become of the memory when some step of a settled course is executed.
#[derive(Debug)]
struct Point {
    change: Change,
    /// Kept lines used until then.
    used: usize,
    /// An address in the line that code comes from.
    line: u32,
}

/// The settled courses of a course.
#[derive(Debug, Default)]
pub struct SettledCourses {
    first: OnceLock<Box<Settled>>,
    /// Passes for which there was none, as far as they are counted.
    missed: AtomicU32,
}

/// Of so many passes for which there is none, the last one is settled.
const MISSED: u32 = 8;
/// The most that a course has.
const MOST: u32 = 12;
/// Steps of settled courses that a machine and its clones keep, which bounds their memory.
const STEPS: usize = 1 << 18;

/// What machines that share code share of it.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Numbers that have been given to what caches keep.
    numbers: Arc<AtomicU64>,
    /// Steps of settled courses.
    steps: Arc<AtomicUsize>,
}

impl Ledger {
    /// Begins to count steps anew, when all code is forgotten.
    pub fn forget_steps(&mut self) {
        self.steps = Arc::default();
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

impl SettledCourses {
    /// The one for a memory that stands like this, if it is known.
    #[inline(always)]
    fn find(&self, memory: &LineMemory, line: u32, now: u64) -> Option<&Settled> {
        let mut settled = self.first.get()?;
        let mask = memory.line_mask();
        while (settled.line ^ line) & mask != 0 || !memory.stands(&settled.stance, now) {
            settled = settled.next.get()?;
        }
        Some(settled)
    }

    /// Whether it is time to settle the course once more. What other threads count at the same
    /// time may be lost, of which nothing depends but how soon that is.
    fn is_time(&self) -> bool {
        let missed = self.missed.load(Ordering::Relaxed);
        if missed >= MISSED * MOST {
            return false;
        }
        self.missed.store(missed + 1, Ordering::Relaxed);
        missed % MISSED == MISSED - 1
    }

    fn keep(&self, settled: Settled) -> &Settled {
        let mut own = Some(Box::new(settled));
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

/// Where a pass through a settled course is.
#[derive(Clone, Copy, Debug)]
pub struct Settling<'a> {
    settled: &'a Settled,
    began: u64,
    /// Points that the memory has come to.
    stood: u8,
}

impl<'a> Settling<'a> {
    pub fn begin(settled: &'a Settled, began: u64) -> Self {
        Self { settled, began, stood: 0 }
    }
}

impl Machine {
    /// The settled course for a pass that begins now, if there is one.
    #[inline(always)]
    pub(crate) fn settled<'a>(
        &mut self,
        block: &'a Block,
        course: &'a Course,
        from: Progress,
    ) -> Option<&'a Settled> {
        let memory = self.lines.near();
        if !memory.is_foretold() || memory.line_mask() != self.line_mask || self.protected {
            return None;
        }
        let known = course.settled.find(memory, self.line, from.cycles);
        if known.is_none() { self.settle_course(block, course, from) } else { known }
    }

    /// Has the memory stand as it does when the step is executed that a pass has come to.
    #[inline(always)]
    pub(crate) fn stand(&mut self, at: &mut Pass<'_>) {
        if let Some(settling) = at.settling {
            self.stand_at(at, settling);
        }
    }

    #[inline(always)]
    fn stand_at<'a>(&mut self, at: &mut Pass<'a>, settling: Settling<'a>) {
        let Settling { settled, began, stood } = settling;
        let to = at.begin().points;
        if to == stood {
            return;
        }
        let at_point = |points: u8| settled.points.get(usize::from(points).wrapping_sub(1));
        let Some(point) = at_point(to) else { return };
        let (used, waited) =
            at_point(stood).map_or((0, 0), |point| (point.used, point.change.waited()));
        let used = settled.used.get(used..point.used).unwrap_or_default();
        let memory = self.lines.near_mut();
        memory.stand(&point.change, waited, used, began);
        self.line = point.line;
        at.settling = Some(Settling { stood: to, ..settling });
    }

    /// Settles a course for how the memory of its code stands now, if it is worth while.
    #[inline(never)]
    fn settle_course<'a>(
        &mut self,
        block: &'a Block,
        course: &'a Course,
        from: Progress,
    ) -> Option<&'a Settled> {
        if block.is_young() {
            return None;
        }
        let ledger = &self.code.ledger;
        self.lines.near_mut().number(|| ledger.next_number());
        if !course.settled.is_time() || ledger.is_full() {
            return None;
        }
        let now = from.cycles;
        let mask = self.line_mask;
        let memory = self.lines.near().foretell(now);
        let pipelined = self.rules.model_buses();
        let is_fetched_before = self.rules.fetches_targets() && from.word & TAKEN != 0;
        let until_first = if is_fetched_before { 0 } else { course.first };
        let mut walk = Walk::from(memory, now, self.line);
        walk.enter_first(from.pc, block, mask, until_first).ok()?;
        for step in &course.steps {
            let Step { slot, begin, .. } = *step;
            if begin.kind == Kind::Line {
                walk.enter(slot.aux, slot.imm, begin.cycles).ok()?;
            } else {
                let literal = self.literal(&slot).filter(|_| begin.kind == Kind::Plain);
                walk.push(*step, literal, pipelined);
            }
        }
        let Walk { memory, settled, points, used, .. } = walk;
        let mut steps = self.lead_either_way(from.pc, block, &settled);
        link(&mut steps);
        self.code.ledger.count(steps.len());
        Some(course.settled.keep(Settled {
            stance: memory.stance(),
            line: self.line,
            course: Course::new(steps),
            points: points.into(),
            used: used.into(),
            next: OnceLock::new(),
        }))
    }

    /// The constant that an instruction loads from the memory of its code, which does not
    /// change, and where it stands there.
    fn literal(&self, slot: &Slot) -> Option<(u32, u32)> {
        let whole = slot.op == Op::LdrLit || slot.op == Op::VldrLit && slot.aux & 0xFF == 1;
        let (bytes, place) = self.bus.near_code(slot.imm).filter(|_| whole)?;
        let near = self.lines.is_near(place.memory) && !self.slow.is_at(place);
        near.then_some((u32::from_le_bytes(bytes), place.offset))
    }
}

/// A course on its way to being settled.
struct Walk {
    memory: Foretold,
    now: u64,
    line: u32,
    /// Cycles waited so far.
    waits: u64,
    settled: Vec<Step>,
    points: Vec<Point>,
    used: Vec<u8>,
}

impl Walk {
    fn from(memory: Foretold, now: u64, line: u32) -> Self {
        let (settled, points, used) = (Vec::new(), Vec::new(), Vec::new());
        Self { memory, now, line, waits: 0, settled, points, used }
    }

    /// Fetches the first instruction, unless that is fetched already.
    fn enter_first(
        &mut self,
        first: u32,
        block: &Block,
        mask: u32,
        until_first: u32,
    ) -> Result<(), Came> {
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
    fn enter(&mut self, number: u32, line: u32, cycles: u32) -> Result<(), Came> {
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
    fn push(&mut self, mut step: Step, literal: Option<(u32, u32)>, pipelined: bool) {
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
        self.settled.push(step);
    }
}
