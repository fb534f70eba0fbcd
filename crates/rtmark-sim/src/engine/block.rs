//! Blocks and their schedules: instructions along a likely path, prepared to be executed at one go.
//!
//! How far the program has come at each instruction of a block is worked out once, before
//! any is executed: its *schedule*, one for each state in which the pipeline may enter the block.
//! Executing keeps no account, then. What turns out not to go as expected leaves the block at that
//! instruction, where the schedule says how far it has come, and another block begins behind it.
//! A block whose passes have been profiled is translated once more, along the path that they took.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::engine::code_cache::ItOutcome;
use crate::engine::dispatch::{OpFn, end, run_both};
use crate::engine::fetch_plan::FetchPlans;
use crate::engine::micro_op::{Kind, MicroOp};
use crate::isa::Slot;
use crate::timing::Rules;
use crate::timing::memo::PipeState;

/// How far the program has come when an instruction of a block begins, counted from the
/// block's beginning.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    pub cycles: u32,
    /// How the pipeline stands with the instruction in its execute stage.
    pub pipe: PipeState,
    /// Bytes to the instruction: fewer than none where a branch has led back.
    pub offset: i16,
    /// Instructions before it.
    pub count: u8,
    /// Cycles that it takes, unless they are counted when the next one enters a pipeline.
    pub cost: u8,
    /// Its place among the slots of the block.
    pub place: u8,
    /// Where its fetch is plan: how many points the memory has come to when it is executed.
    pub points: u8,
    /// What the engine makes of the instruction. It stands here where there is room for it.
    pub kind: Kind,
}

/// An instruction on its schedule. The slot comes first, since nothing else is looked at where
/// all goes as expected.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScheduledOp {
    pub slot: Slot,
    /// What executes the one behind it.
    pub next: OpFn,
    pub begin: Begin,
}

/// Nothing is larger for telling of what kind a step is.
const _: () = assert!(size_of::<ScheduledOp>() <= 40);

/// Steps one behind the other, with what entering them takes. Clones share the steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub steps: Arc<[ScheduledOp]>,
    /// What executes the first.
    pub run: OpFn,
    /// Cycles until the first one begins, and the last one.
    pub first: u32,
    pub last: u32,
}

/// A schedule with what fetching its steps waits for, where that is known.
#[derive(Clone, Debug)]
pub struct Passage {
    pub schedule: Schedule,
    pub plans: Arc<FetchPlans>,
}

/// The schedule of a block that the pipeline enters in one state. Schedules of a block are a tree,
/// along which the bits of a hash lead: of blocks behind calls and returns there may be hundreds.
#[derive(Debug)]
struct ScheduleNode {
    /// How the pipeline stands before the first instruction enters.
    pipe: PipeState,
    passage: Passage,
    next: [OnceLock<Box<ScheduleNode>>; WAYS],
}

/// Branches of each node of that tree.
const WAYS: usize = 4;

/// The bits that lead to a state's schedule, the lowest first.
const fn way_to(pipe: PipeState) -> u32 {
    pipe.bits().wrapping_mul(0x9E37_79B9).rotate_right(16)
}

/// Instructions up to the first one whose successor is not known beforehand, or as far as is
/// prepared. Behind a branch that is followed comes its target.
#[derive(Debug)]
pub struct Block {
    /// Where it begins.
    pub address: u32,
    /// The schedule by the table of costs.
    pub outline: Passage,
    /// ITSTATE before each slot up to the last one of an IT block, and behind the last slot of all
    /// where that decides about the rest of one.
    its: Box<[u8]>,
    /// How it is conditional from its beginning on.
    pub it_outcome: Option<ItOutcome>,
    /// Bytes from the first halfword of its first instruction to the last one.
    pub first_reach: u32,
    /// The number of the line of its memory in which it begins.
    pub line: u32,
    /// An address in each page that it reaches besides the one in which it begins.
    pub far_pages: Box<[u32]>,
    /// The schedules through a pipeline, by its state at the block's beginning.
    schedules: OnceLock<Box<ScheduleNode>>,
    /// Steps that are kept of it: its own, of schedules and of fetch plans.
    kept: AtomicUsize,
    /// Passes that have ended, as far as they are counted.
    profiled: AtomicU32,
    /// The block formed once more, by what has been seen of its branches.
    retranslated: OnceLock<Arc<Block>>,
}

/// Passes through a block that are looked at before it is formed once more.
const PROFILED: u32 = 64;

impl Schedule {
    pub fn new(steps: Vec<ScheduledOp>) -> Self {
        let (first, last) = (steps.first().unwrap_or(NOTHING), steps.last().unwrap_or(NOTHING));
        let (first, last) = (first.begin.cycles, last.begin.cycles);
        let run = begin_with(&steps);
        Self { steps: steps.into(), run, first, last }
    }
}

impl Passage {
    fn new(steps: Vec<ScheduledOp>) -> Self {
        Self { schedule: Schedule::new(steps), plans: Arc::default() }
    }
}

impl Block {
    /// Whether an observer is told before its first instruction executes.
    pub fn begins_at_border(&self) -> bool {
        self.outline.schedule.steps.first().is_some_and(|step| step.slot.is_border())
    }

    /// The block at an address in a line of its memory. Its first slots may be of IT blocks,
    /// with ITSTATE before each in `its`.
    pub fn new(
        address: u32,
        line: u32,
        slots: Vec<MicroOp>,
        its: Vec<u8>,
        it_outcome: Option<ItOutcome>,
        rules: &Rules,
    ) -> Self {
        let mut begin = NOWHERE;
        let first_reach = slots.first().map_or(0, |micro| u32::from(micro.slot.size()) - 2);
        let outline = slots.into_iter().map(|micro| {
            let (slot, this) = (micro.slot, begin);
            if matches!(micro.kind, Kind::Line | Kind::Foresee) {
                return ScheduledOp::new(micro, this);
            }
            begin.cycles += u32::from(slot.cost);
            begin.offset += i16::from(slot.size());
            begin.count += 1;
            if micro.is_followed() {
                let loaded = if slot.loads_pc() { rules.refill_loaded } else { 0 };
                begin.cycles += u32::from(rules.refill + loaded);
                begin.offset = micro.target().wrapping_sub(address) as i16;
            }
            ScheduledOp::new(micro, Begin { cost: slot.cost, ..this })
        });
        let mut steps: Vec<ScheduledOp> = outline.collect();
        for (place, step) in steps.iter_mut().enumerate() {
            step.begin.place = place as u8;
        }
        link(&mut steps);
        let far_pages = far_pages(address, &steps);
        let kept = steps.len();
        let (outline, its) = (Passage::new(steps), its.into());
        Self {
            address,
            far_pages,
            outline,
            first_reach,
            line,
            its,
            it_outcome,
            schedules: OnceLock::new(),
            kept: AtomicUsize::new(kept),
            profiled: AtomicU32::new(0),
            retranslated: OnceLock::new(),
        }
    }

    /// The block as it has been translated last.
    #[inline(always)]
    pub fn latest(self: &Arc<Self>) -> &Arc<Self> {
        self.retranslated.get().unwrap_or(self)
    }

    /// Steps that are kept of it.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// Counts further steps that are kept of it; answers how many these are.
    pub fn keep_more(&self, steps: usize) -> usize {
        self.kept.fetch_add(steps, Ordering::Relaxed);
        steps
    }

    /// The first address of each page that it reaches into.
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        std::iter::once(page_of(self.address)).chain(self.far_pages.iter().copied())
    }

    /// Whether one of its instructions begins at an address.
    pub fn executes_from(&self, address: u32) -> bool {
        let mut steps = self.outline.schedule.steps.iter();
        steps.any(|step| step.is_instruction() && step.address(self.address) == address)
    }

    /// Has a retranslation executed in its place from now on.
    pub fn replace(&self, retranslated: Self) -> &Arc<Self> {
        retranslated.profiled.store(PROFILED, Ordering::Relaxed);
        self.retranslated.get_or_init(|| Arc::new(retranslated))
    }

    /// Whether passes through it are still profiled.
    #[inline(always)]
    pub fn is_profiled(&self) -> bool {
        self.profiled.load(Ordering::Relaxed) < PROFILED
    }

    /// Counts a profiled pass; answers whether it is time to translate the block once more. What other
    /// threads count at the same time may be lost, of which nothing depends but how soon that is.
    pub fn count_profiled(&self) -> bool {
        let profiled = self.profiled.load(Ordering::Relaxed) + 1;
        self.profiled.store(profiled, Ordering::Relaxed);
        profiled == PROFILED
    }

    /// The slots from the beginning on that may be of IT blocks.
    pub fn conditional_slots(&self) -> u8 {
        // No block has more slots than that: see [`Begin::place`].
        self.its.len() as u8
    }

    /// ITSTATE before a slot, which is zero outside IT blocks.
    #[inline(always)]
    pub fn it_before(&self, index: usize) -> u8 {
        self.its.get(index).copied().unwrap_or(0)
    }

    /// The schedule through a pipeline that stands like this, if it is known.
    #[inline(always)]
    pub fn passage(&self, pipe: PipeState) -> Option<&Passage> {
        let mut node = self.schedules.get()?;
        let mut way = way_to(pipe);
        while node.pipe != pipe {
            node = node.next[way as usize % WAYS].get()?;
            way = way.rotate_right(WAYS.trailing_zeros());
        }
        Some(&node.passage)
    }

    /// Keeps a schedule. Clones of a machine share blocks: at the same time another thread may
    /// keep one, of this state or of another.
    pub fn keep(&self, pipe: PipeState, steps: Vec<ScheduledOp>) -> &Passage {
        let mut steps = Some(steps);
        let mut schedules = &self.schedules;
        let mut way = way_to(pipe);
        loop {
            let node = schedules.get_or_init(|| {
                let passage = Passage::new(steps.take().unwrap_or_default());
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

/// Links steps: each names what executes the one behind it.
pub fn link(steps: &mut [ScheduledOp]) {
    let mut at = 0;
    while at < steps.len() {
        let run = begin_with(&steps[at..]);
        if at > 0 {
            steps[at - 1].next = run;
        }
        at += 1;
        if let [first, second, ..] = &steps[at - 1..]
            && run_both(&first.micro(), &second.micro()).is_some()
        {
            // Alone only where the first one ended otherwise.
            steps[at - 1].next = second.run();
            at += 1;
        }
    }
}

/// What executes the first of some steps, perhaps with the second one.
fn begin_with(steps: &[ScheduledOp]) -> OpFn {
    match steps {
        [] => end,
        [first] => first.run(),
        [first, second, ..] => run_both(&first.micro(), &second.micro()).unwrap_or(first.run()),
    }
}

const fn page_of(address: u32) -> u32 {
    address & !(PAGE_BYTES - 1)
}

fn far_pages(address: u32, steps: &[ScheduledOp]) -> Box<[u32]> {
    let mut pages: Vec<u32> = Vec::new();
    for step in steps.iter().filter(|step| step.is_instruction()) {
        let first = step.address(address);
        for at in [first, first.wrapping_add(u32::from(step.slot.size()) - 2)] {
            if page_of(at) != page_of(address) && !pages.contains(&page_of(at)) {
                pages.push(page_of(at));
            }
        }
    }
    pages.into()
}

/// How far the program has come at the beginning.
const NOWHERE: Begin = Begin {
    cycles: 0,
    pipe: PipeState::EMPTY,
    offset: 0,
    count: 0,
    cost: 0,
    place: 0,
    points: 0,
    kind: Kind::Plain,
};

/// Nothing has been taken from a block yet.
pub const NOTHING: &ScheduledOp = &ScheduledOp::alone(Slot::undefined(2));

impl ScheduledOp {
    const fn new(MicroOp { slot, kind }: MicroOp, begin: Begin) -> Self {
        Self { slot, next: end, begin: Begin { kind, ..begin } }
    }

    /// Whether it executes an instruction, or passes over one.
    const fn is_instruction(&self) -> bool {
        !matches!(self.begin.kind, Kind::Line | Kind::Foresee)
    }

    /// What it does.
    #[inline(always)]
    pub const fn micro(&self) -> MicroOp {
        MicroOp { slot: self.slot, kind: self.begin.kind }
    }

    /// What executes it, and those behind it.
    #[inline(always)]
    pub fn run(&self) -> OpFn {
        self.micro().run()
    }

    /// Its address, where the block begins at `base`.
    pub const fn address(&self, base: u32) -> u32 {
        base.wrapping_add_signed(self.begin.offset as i32)
    }

    /// Does something else at its place.
    pub const fn with(self, MicroOp { slot, kind }: MicroOp) -> Self {
        Self { slot, next: self.next, begin: Begin { kind, ..self.begin } }
    }

    /// An instruction alone, behind which the program counter stands.
    pub const fn alone(slot: Slot) -> Self {
        let offset = -(slot.size() as i16);
        Self::new(MicroOp::plain(slot), Begin { offset, ..NOWHERE })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::soc::CoreKind;

    #[test]
    fn threads_that_keep_schedules_at_once_get_their_own() {
        const THREADS: u32 = 4;
        const WORDS: u32 = 300;
        let rules = Rules::of(CoreKind::CortexM3);
        for _ in 0..20 {
            let block = Block::new(0, 0, Vec::new(), Vec::new(), None, rules);
            let barrier = Barrier::new(THREADS as usize);
            // All threads at the end of the same list.
            let keep = |thread: u32| {
                barrier.wait();
                for number in (thread..WORDS * THREADS).step_by(THREADS as usize) {
                    let mut step = *NOTHING;
                    step.begin.cycles = number;
                    let pipe = PipeState::numbered(number);
                    let cycles = |passage: &Passage| passage.schedule.steps[0].begin.cycles;
                    assert_eq!(cycles(block.keep(pipe, vec![step])), number);
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
