//! Blocks and their schedules: superblocks along a likely path, with their timing computed in
//! advance.
//!
//! A *schedule* states how far the program has come (cycles, pipeline state, instructions) at each
//! instruction of a block. It is computed once, before any of them executes; a block has one for
//! each pipeline state in which it may be entered. Executing a block therefore keeps no account of
//! time. An instruction that does not go as the schedule expects leaves the block there: the
//! schedule says how far the program has come, and another block begins after it. A block that
//! executes often is profiled and then translated again, along the path that its passes took.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::engine::code_cache::ItOutcome;
use crate::engine::dispatch::{OpFn, end, fused};
use crate::engine::fetch_plan::FetchPlans;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::engine::native::{self, NativeCode};
use crate::isa::Slot;
use crate::timing::Rules;
use crate::timing::memo::PipeState;

/// The scheduled position of an instruction, relative to the beginning of its block.
#[derive(Clone, Copy, Debug)]
pub struct SchedulePosition {
    pub cycles: u32,
    /// The pipeline's state with the instruction in its execute stage.
    pub pipe: PipeState,
    /// Byte offset of the instruction, negative where a branch has led back.
    pub offset: i16,
    /// Instructions executed before it.
    pub count: u8,
    /// Cycles that it takes, unless a pipeline counts them when the next instruction enters.
    pub cost: u8,
    /// Its index among the slots of the block.
    pub place: u8,
    /// In a fetch plan: how many of the plan's points the memory has passed when it executes.
    pub points: u8,
    /// How the block executes it. The field is here because there is room for it.
    pub kind: Kind,
}

/// A scheduled slot. The slot comes first because the expected path reads nothing else.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScheduledOp {
    pub slot: Slot,
    /// Executes the next step.
    pub next: OpFn,
    pub begin: SchedulePosition,
}

/// The kind fits into padding; steps fill the host's caches.
const _: () = assert!(size_of::<ScheduledOp>() <= 40);

/// Steps in sequence, and what entering them needs. Clones share the steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub steps: Arc<[ScheduledOp]>,
    /// Executes the first step.
    pub run: OpFn,
    /// Cycles until the last step begins.
    pub last: u32,
}

/// A schedule and its fetch plans: variants in which the waits of instruction fetches are known.
#[derive(Clone, Debug)]
pub struct Passage {
    pub schedule: Schedule,
    pub plans: Arc<FetchPlans>,
}

/// A block's schedule for one pipeline state. A block's schedules form a tree that is descended by
/// bits of a hash: blocks after calls and returns may have hundreds.
#[derive(Debug)]
struct ScheduleNode {
    /// The pipeline's state before the first instruction enters.
    pipe: PipeState,
    passage: Passage,
    next: [OnceLock<Box<ScheduleNode>>; WAYS],
}

/// Children of each node of that tree.
const WAYS: usize = 4;

/// Returns the hash of a state, whose bits select a child at each node, lowest first.
const fn hash_of(pipe: PipeState) -> u32 {
    pipe.bits().wrapping_mul(0x9E37_79B9).rotate_right(16)
}

/// What a block executes.
#[derive(Debug)]
pub enum Code {
    /// Without a pipeline: the schedule by fixed costs.
    Scheduled(Passage),
    /// With a pipeline: the slots, of which there is a schedule for each of its states.
    Slots(Box<[MicroOp]>),
}

/// A superblock: instructions up to the first one whose successor is unknown, or up to the limit of
/// its length. A followed branch is succeeded by its target.
#[derive(Debug)]
pub struct Block {
    /// The address of its first instruction.
    pub address: u32,
    /// What it executes.
    pub code: Code,
    /// ITSTATE before each slot up to the last one inside an IT block, and after the last slot of
    /// all where that decides the rest of an IT block.
    it_states: Box<[u8]>,
    /// The outcome of the IT that it begins after, if it begins inside an IT block.
    pub it_outcome: Option<ItOutcome>,
    /// Byte distance from the first to the last halfword of its first instruction.
    pub first_instruction_span: u32,
    /// The number of the memory line in which it begins.
    pub line: u32,
    /// One address in each page that it touches besides its first.
    pub far_pages: Box<[u32]>,
    /// Its schedules, by the pipeline's state at its beginning, if there is a pipeline.
    schedules: OnceLock<Box<ScheduleNode>>,
    /// Steps that it keeps in memory: its own, and those of schedules and fetch plans.
    kept: AtomicUsize,
    /// Profiled passes so far.
    profiled: AtomicU32,
}

/// Profiled passes before a block is retranslated.
const PROFILED: u32 = 64;

impl Schedule {
    /// Creates the schedule with these steps.
    pub fn new(mut steps: Vec<ScheduledOp>, native: Option<&NativeCode>) -> Self {
        let run = if let Some(native) = native {
            native.link(&mut steps);
            native::run
        } else {
            link(&mut steps);
            begin_with(&steps)
        };
        let last = steps.last().unwrap_or(NOTHING).begin.cycles;
        Self { steps: steps.into(), run, last }
    }
}

impl Passage {
    fn new(steps: Vec<ScheduledOp>, native: Option<NativeCode>) -> Self {
        let schedule = Schedule::new(steps, native.as_ref());
        Self { schedule, plans: Arc::new(FetchPlans::of(native)) }
    }
}

impl Block {
    /// Returns whether an observer at landmarks stops before its first instruction.
    pub fn starts_at_landmark(&self) -> bool {
        self.slots().next().is_some_and(|micro| micro.slot.is_border())
    }

    /// Returns its micro-operations.
    fn slots(&self) -> impl Iterator<Item = MicroOp> {
        let (steps, slots) = match &self.code {
            Code::Scheduled(passage) => (&*passage.schedule.steps, &[][..]),
            Code::Slots(slots) => (&[][..], &**slots),
        };
        steps.iter().map(ScheduledOp::micro).chain(slots.iter().copied())
    }

    /// Creates the block at an address in a line of its memory. If it begins inside an IT block,
    /// `it_states` holds ITSTATE before each of the conditional slots.
    pub fn new(
        address: u32,
        line: u32,
        slots: Vec<MicroOp>,
        it_states: Vec<u8>,
        it_outcome: Option<ItOutcome>,
        rules: &Rules,
    ) -> Self {
        let first_instruction_span =
            slots.first().map_or(0, |micro| u32::from(micro.slot.size()) - 2);
        let far_pages = far_pages(address, &slots);
        let (code, kept) = if rules.classify.is_some() {
            let kept = slots.len() * size_of::<MicroOp>() / size_of::<ScheduledOp>();
            (Code::Slots(slots.into()), kept)
        } else {
            let steps = lay_out(address, &slots, rules);
            let kept = steps.len();
            (Code::Scheduled(Passage::new(steps, None)), kept)
        };
        Self {
            address,
            far_pages,
            code,
            first_instruction_span,
            line,
            it_states: it_states.into(),
            it_outcome,
            schedules: OnceLock::new(),
            kept: AtomicUsize::new(kept),
            profiled: AtomicU32::new(0),
        }
    }

    /// Returns how many steps it keeps in memory.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// Counts `steps` more that it keeps, and returns `steps`.
    pub fn count_more_kept(&self, steps: usize) -> usize {
        self.kept.fetch_add(steps, Ordering::Relaxed);
        steps
    }

    /// Returns the first address of each page that it touches.
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        std::iter::once(page_of(self.address)).chain(self.far_pages.iter().copied())
    }

    /// Returns whether one of its instructions begins at an address.
    pub fn executes_from(&self, address: u32) -> bool {
        instructions(self.address, self.slots()).any(|(first, _)| first == address)
    }

    /// Returns the block as one that is not profiled.
    #[must_use]
    pub fn without_profile(mut self) -> Self {
        self.profiled = AtomicU32::new(PROFILED);
        self
    }

    /// Returns the block with native code for its schedule, if it has the same one in all states.
    #[must_use]
    pub fn with_native_code(
        mut self,
        translate: impl FnOnce(u32, &[ScheduledOp]) -> Option<NativeCode>,
    ) -> Self {
        if let Code::Scheduled(passage) = &mut self.code {
            let steps = &passage.schedule.steps;
            if let Some(native) = translate(self.address, steps) {
                *passage = Passage::new(steps.to_vec(), Some(native));
            }
        }
        self
    }

    /// Returns whether passes through it are still profiled.
    #[inline(always)]
    pub fn is_profiled(&self) -> bool {
        self.profiled.load(Ordering::Relaxed) < PROFILED
    }

    /// Counts a profiled pass, and returns whether the block is due for retranslation. Increments
    /// that other threads make at the same time may be lost, which only delays that.
    pub fn count_profiled(&self) -> bool {
        let profiled = self.profiled.load(Ordering::Relaxed) + 1;
        self.profiled.store(profiled, Ordering::Relaxed);
        profiled == PROFILED
    }

    /// Returns the number of slots for which ITSTATE may differ from zero.
    pub fn conditional_slots(&self) -> u8 {
        // A block has at most as many slots as [`SchedulePosition::place`] can number.
        self.it_states.len() as u8
    }

    /// Returns ITSTATE before a slot; zero outside IT blocks.
    #[inline(always)]
    pub fn it_before(&self, index: usize) -> u8 {
        self.it_states.get(index).copied().unwrap_or(0)
    }

    /// Returns the schedule for a pipeline state, if there is one.
    #[inline(always)]
    pub fn passage(&self, pipe: PipeState) -> Option<&Passage> {
        let mut node = self.schedules.get()?;
        let mut way = hash_of(pipe);
        while node.pipe != pipe {
            node = node.next[way as usize % WAYS].get()?;
            way = way.rotate_right(WAYS.trailing_zeros());
        }
        Some(&node.passage)
    }

    /// Adds a schedule and returns it. Clones of a machine share blocks, so another thread may add
    /// one at the same time, for the same or another state; the first one stays.
    pub fn keep(
        &self,
        pipe: PipeState,
        steps: Vec<ScheduledOp>,
        native: Option<NativeCode>,
    ) -> &Passage {
        let mut new = Some((steps, native));
        let mut schedules = &self.schedules;
        let mut way = hash_of(pipe);
        loop {
            let node = schedules.get_or_init(|| {
                let (steps, native) = new.take().unwrap_or_default();
                let passage = Passage::new(steps, native);
                Box::new(ScheduleNode { pipe, passage, next: Default::default() })
            });
            if node.pipe == pipe {
                return &node.passage;
            }
            schedules = &node.next[way as usize % WAYS];
            way = way.rotate_right(WAYS.trailing_zeros());
        }
    }
}

/// Returns the steps of slots, positioned by fixed costs.
pub fn lay_out(address: u32, slots: &[MicroOp], rules: &Rules) -> Vec<ScheduledOp> {
    // The positions of the next instruction, and of the last one.
    let (mut begin, mut last) = (NOWHERE, NOWHERE);
    let positions = slots.iter().enumerate().map(|(place, &micro)| {
        let (slot, this) = (micro.slot, SchedulePosition { place: place as u8, ..begin });
        match micro.kind {
            Kind::Line | Kind::Watch | Kind::CheckPrediction | Kind::CheckFacts => {
                return ScheduledOp::new(micro, this);
            }
            Kind::CheckCondition => {
                let begin = SchedulePosition { offset: this.offset, place: this.place, ..last };
                return ScheduledOp::new(micro, begin);
            }
            _ => {}
        }
        let first = address.wrapping_add_signed(this.offset.into());
        begin.cycles += u32::from(slot.cost);
        begin.offset = micro.successor(first).wrapping_sub(address) as i16;
        begin.count += 1;
        if micro.is_followed() {
            let loaded = if slot.loads_pc() { rules.refill_loaded } else { 0 };
            begin.cycles += u32::from(rules.refill + loaded);
        }
        last = SchedulePosition { cost: slot.cost, ..this };
        ScheduledOp::new(micro, last)
    });
    positions.collect()
}

/// Returns the instructions among slots, the first of which is at `address`, with their addresses.
fn instructions(
    address: u32,
    slots: impl Iterator<Item = MicroOp>,
) -> impl Iterator<Item = (u32, MicroOp)> {
    let mut next = address;
    slots.filter(|micro| micro.kind.is_instruction()).map(move |micro| {
        let first = next;
        next = micro.successor(first);
        (first, micro)
    })
}

/// Links steps: stores in each step the function that executes the next one.
fn link(steps: &mut [ScheduledOp]) {
    let mut at = 0;
    while at < steps.len() {
        let run = begin_with(&steps[at..]);
        if at > 0 {
            steps[at - 1].next = run;
        }
        at += 1;
        if let [first, second, ..] = &steps[at - 1..]
            && fused(&first.micro(), &second.micro()).is_some()
        {
            // The second step executes alone only if the first one left the fused function.
            steps[at - 1].next = second.run();
            at += 1;
        }
    }
}

/// Returns the function that executes the first step, fused with the second one where possible.
fn begin_with(steps: &[ScheduledOp]) -> OpFn {
    match steps {
        [] => end,
        [first] => first.run(),
        [first, second, ..] => fused(&first.micro(), &second.micro()).unwrap_or(first.run()),
    }
}

const fn page_of(address: u32) -> u32 {
    address & !(PAGE_BYTES - 1)
}

fn far_pages(address: u32, slots: &[MicroOp]) -> Box<[u32]> {
    let mut pages: Vec<u32> = Vec::new();
    for (first, micro) in instructions(address, slots.iter().copied()) {
        for at in [first, first.wrapping_add(u32::from(micro.slot.size()) - 2)] {
            if page_of(at) != page_of(address) && !pages.contains(&page_of(at)) {
                pages.push(page_of(at));
            }
        }
    }
    pages.into()
}

/// The position at the beginning of a block.
const NOWHERE: SchedulePosition = SchedulePosition {
    cycles: 0,
    pipe: PipeState::EMPTY,
    offset: 0,
    count: 0,
    cost: 0,
    place: 0,
    points: 0,
    kind: Kind::Plain,
};

/// The current step of a cursor that has taken none yet.
pub const NOTHING: &ScheduledOp = &ScheduledOp::alone(Slot::undefined(2));

impl ScheduledOp {
    const fn new(MicroOp { slot, kind }: MicroOp, begin: SchedulePosition) -> Self {
        Self { slot, next: end, begin: SchedulePosition { kind, ..begin } }
    }

    /// Returns the micro-operation of the step.
    #[inline(always)]
    pub const fn micro(&self) -> MicroOp {
        MicroOp { slot: self.slot, kind: self.begin.kind }
    }

    /// Returns the function that executes it and continues with the steps after it.
    #[inline(always)]
    pub fn run(&self) -> OpFn {
        self.micro().run()
    }

    /// Returns its address, in a block that begins at `base`.
    pub const fn address(&self, base: u32) -> u32 {
        base.wrapping_add_signed(self.begin.offset as i32)
    }

    /// Returns the step with another micro-operation in the same position.
    pub const fn with(self, MicroOp { slot, kind }: MicroOp) -> Self {
        Self { slot, next: self.next, begin: SchedulePosition { kind, ..self.begin } }
    }

    /// Returns the step after this one, which ends the pass unless this one leaves the pipeline in the
    /// state `expected`.
    pub fn check_facts(&self, expected: PipeState) -> Self {
        let size = self.slot.size();
        let offset = self.begin.offset + size as i16;
        let begin = SchedulePosition { offset, cost: 0, ..self.begin };
        Self::new(MicroOp::check_facts(size, begin.pipe, expected), begin)
    }

    /// Creates a step for a single instruction, with the program counter already after it.
    pub const fn alone(slot: Slot) -> Self {
        let offset = -(slot.size() as i16);
        Self::new(MicroOp::plain(slot), SchedulePosition { offset, ..NOWHERE })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::soc::CoreKind;

    #[test]
    fn schedules_stored_concurrently_are_all_kept() {
        const THREADS: u32 = 4;
        const WORDS: u32 = 300;
        let rules = Rules::of(CoreKind::CortexM3);
        for _ in 0..20 {
            let block = Block::new(0, 0, Vec::new(), Vec::new(), None, rules);
            let barrier = Barrier::new(THREADS as usize);
            // All threads append to the same tree.
            let keep = |thread: u32| {
                barrier.wait();
                for number in (thread..WORDS * THREADS).step_by(THREADS as usize) {
                    let mut step = *NOTHING;
                    step.begin.cycles = number;
                    let pipe = PipeState::numbered(number);
                    let cycles = |passage: &Passage| passage.schedule.steps[0].begin.cycles;
                    assert_eq!(cycles(block.keep(pipe, vec![step], None)), number);
                    assert_eq!(cycles(block.passage(pipe).expect("kept")), number);
                }
            };
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    scope.spawn(move || keep(thread));
                }
            });
        }
    }
}
