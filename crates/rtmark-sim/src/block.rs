//! Blocks: instructions one after the other in memory, prepared to be executed at one go.
//!
//! How far the program has come at each instruction of a block is worked out once, before
//! any is executed: its *course*. Executing keeps no account, then. What turns out not to
//! go as expected leaves the block at that instruction, where the course says how far it
//! has come, and another block begins behind it.

use std::slice::Iter;
use std::sync::OnceLock;

use crate::isa::{Op, Slot};
use crate::machine::Progress;
use crate::timing::pace::TAKEN;

/// How far the program has come when an instruction of a block begins, counted from the
/// block's beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin {
    pub cycles: u32,
    /// How the pipeline stands with the instruction in its execute stage.
    pub word: u32,
    /// Bytes to the instruction: fewer than none where a branch has led back.
    pub offset: i16,
    /// Bytes to the one behind it.
    pub behind: i16,
    /// Instructions before it.
    pub count: u8,
    /// Cycles that it takes, unless they are counted when the next one enters a pipeline.
    pub cost: u8,
}

/// An instruction on its course. The slot comes first, since nothing else is looked at where
/// all goes as expected.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Step {
    pub slot: Slot,
    pub begin: Begin,
}

/// The course of a block that the pipeline enters in one state.
#[derive(Debug)]
struct Course {
    /// How the pipeline stands before the first instruction enters.
    word: u32,
    steps: Box<[Step]>,
    next: OnceLock<Box<Course>>,
}

/// Instructions up to the first one whose successor is not known beforehand, or as far as is
/// prepared. Behind a branch that is followed comes its target.
#[derive(Debug)]
pub struct Block {
    /// The course by the table of costs.
    pub outline: Box<[Step]>,
    /// ITSTATE before each slot up to the last one of an IT block.
    its: Box<[u8]>,
    /// Bytes from the first halfword of its first instruction to the last one.
    pub first_reach: u32,
    /// The courses through a pipeline, by its state at the block's beginning.
    courses: OnceLock<Box<Course>>,
}

impl Block {
    /// The block at an address, of a core that takes `refill` cycles to jump. Its first
    /// slots may be of IT blocks, with ITSTATE before each in `its`.
    pub fn new(address: u32, slots: Vec<Slot>, its: Vec<u8>, refill: u8) -> Self {
        let mut begin = Begin::default();
        let first_reach = slots.first().map_or(0, |slot| u32::from(slot.size()) - 2);
        let outline = slots.into_iter().map(|slot| {
            let this = begin;
            if slot.op == Op::Line {
                return Step { slot, begin: Begin { behind: begin.offset, ..this } };
            }
            begin.cycles += u32::from(slot.cost);
            begin.offset += i16::from(slot.size());
            begin.count += 1;
            let behind = begin.offset;
            if slot.is_followed() {
                begin.cycles += u32::from(refill);
                begin.offset = slot.imm.wrapping_sub(address) as i16;
            }
            Step { slot, begin: Begin { behind, cost: slot.cost, ..this } }
        });
        let (outline, its) = (outline.collect(), its.into());
        Self { outline, first_reach, its, courses: OnceLock::new() }
    }

    /// Whether anything in the block is conditional.
    #[inline(always)]
    pub fn has_it(&self) -> bool {
        !self.its.is_empty()
    }

    /// ITSTATE before a slot, which is zero outside IT blocks.
    #[inline(always)]
    pub fn it_before(&self, index: usize) -> u8 {
        self.its.get(index).copied().unwrap_or(0)
    }

    /// The course through a pipeline that stands like this, if it is known.
    #[inline(always)]
    pub fn course(&self, word: u32) -> Option<&[Step]> {
        let mut course = self.courses.get()?;
        while course.word != word {
            course = course.next.get()?;
        }
        Some(&course.steps)
    }

    /// Keeps a course. Clones of a machine share blocks: at the same time another thread may
    /// keep one, of this word or of another.
    pub fn keep(&self, word: u32, steps: Vec<Step>) -> &[Step] {
        let mut steps = Some(steps);
        let mut courses = &self.courses;
        loop {
            let course = courses.get_or_init(|| {
                let steps = steps.take().unwrap_or_default().into();
                Box::new(Course { word, steps, next: OnceLock::new() })
            });
            if course.word == word {
                return &course.steps;
            }
            courses = &course.next;
        }
    }
}

/// Where a word has nothing to tell beyond the course. No pipeline stands like this.
const AS_EXPECTED: u32 = u32::MAX;

/// Nothing has been taken from a block yet.
const NOTHING: &Step = &Step::alone(Slot::undefined(2));

impl Step {
    /// An instruction alone, behind which the program counter stands.
    pub const fn alone(slot: Slot) -> Self {
        let begin = Begin { cycles: 0, word: 0, offset: 0, behind: 0, count: 0, cost: 0 };
        Self { slot, begin }
    }
}

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
/// the next one it is a point in the program: see [`Pass::progress`].
#[derive(Clone, Debug)]
pub struct Pass<'a> {
    /// What is executed before the block is left, and in how many cycles at most.
    steps: &'a [Step],
    last: u32,
    /// What is still to be executed of it. Nothing but taking the next slot changes this while
    /// slots follow each other, so that they do so quickly.
    rest: Iter<'a, Step>,
    going: Going,
    /// What is being executed.
    current: &'a Step,
    /// How far the program had come at the beginning, and what came unexpected since.
    start: u32,
    cycles: u64,
    instructions: u64,
    word: u32,
    /// Where a jump has led.
    pub target: u32,
}

impl<'a> Pass<'a> {
    /// Through a block, from its beginning.
    #[inline(always)]
    pub fn through(steps: &'a [Step], from: Progress) -> Self {
        Self {
            steps,
            last: steps.last().map_or(0, |step| step.begin.cycles),
            rest: steps.iter(),
            going: Going::On,
            current: NOTHING,
            start: from.pc,
            cycles: from.cycles,
            instructions: from.instructions,
            word: AS_EXPECTED,
            target: from.pc,
        }
    }

    /// Through an instruction alone.
    pub fn alone(step: &'a Step, from: Progress) -> Self {
        Self { word: from.word, ..Self::through(std::slice::from_ref(step), from) }
    }

    /// Within such an instruction.
    #[inline(always)]
    pub fn within(from: Progress) -> Self {
        Self { word: from.word, ..Self::through(&[], from) }
    }

    /// Takes the next slot.
    #[inline(always)]
    pub fn next(&mut self) -> Option<&'a Slot> {
        let next = self.rest.next();
        // The last one is being executed already, but knowing that here saves remembering it.
        self.current = next.or(self.steps.last()).unwrap_or(NOTHING);
        next.map(|step| &step.slot)
    }

    /// Whether the block's end comes behind this slot.
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        self.rest.as_slice().is_empty()
    }

    /// Whether the next slot may not be taken just like that: see [`Pass::goes_on`].
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

    /// Whether that slot is an IT.
    #[inline(always)]
    pub fn is_behind_it(&self) -> bool {
        self.current.slot.op == Op::FollowIt
    }

    /// How far the course is when that slot begins.
    #[inline(always)]
    pub const fn begin(&self) -> Begin {
        self.current.begin
    }

    /// The cycle in which it begins.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.cycles.wrapping_add(u64::from(self.begin().cycles))
    }

    /// The address of the instruction that executes.
    #[inline(always)]
    pub fn address(&self) -> u32 {
        self.start.wrapping_add_signed(self.begin().offset.into())
    }

    /// The address behind it.
    #[inline(always)]
    pub fn behind(&self) -> u32 {
        self.start.wrapping_add_signed(self.begin().behind.into())
    }

    /// How far the program has come while the instruction executes.
    #[inline(always)]
    pub fn progress(&self) -> Progress {
        let begin = self.begin();
        Progress {
            pc: self.start.wrapping_add_signed(begin.behind.into()),
            cycles: self.cycles.wrapping_add(begin.cycles.into()),
            instructions: self.instructions + u64::from(begin.count),
            word: if self.word == AS_EXPECTED { begin.word } else { self.word },
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
        let least = usize::from(self.begin().word & TAKEN == 0);
        let rest = self.rest.as_slice();
        self.going = Going::For(before(rest, deadline.saturating_sub(self.cycles)).max(least));
    }

    /// Takes more cycles than the course says, which is a reason to leave if a deadline
    /// comes closer.
    #[inline(always)]
    pub fn take_longer(&mut self, cycles: u64, deadline: u64) {
        self.cycles = self.cycles.wrapping_add(cycles);
        if self.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave();
        }
    }

    /// Waits before the next instruction.
    #[inline(always)]
    pub fn wait_for_next(&mut self, cycles: u64, deadline: u64) {
        self.cycles = self.cycles.wrapping_add(cycles);
        if self.cycles.wrapping_add(self.last.into()) >= deadline {
            self.leave_before(deadline);
        }
    }

    /// Takes a refill that a jump brings with it.
    #[inline(always)]
    pub fn refill(&mut self, cycles: u8) {
        self.cycles += u64::from(cycles);
    }

    /// The pipeline stands otherwise than the course says.
    #[inline(always)]
    pub fn deviate(&mut self, word: u32) {
        self.word = word;
        self.leave();
    }
}

/// How many begin before a cycle.
#[inline(never)]
fn before(steps: &[Step], cycle: u64) -> usize {
    steps.iter().take_while(|step| u64::from(step.begin.cycles) < cycle).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn threads_that_keep_courses_at_once_get_their_own() {
        const THREADS: u32 = 4;
        const WORDS: u32 = 300;
        for _ in 0..20 {
            let (block, barrier) =
                (Block::new(0, Vec::new(), Vec::new(), 0), Barrier::new(THREADS as usize));
            // All threads at the end of the same list.
            let keep = |thread: u32| {
                barrier.wait();
                for word in (thread..WORDS * THREADS).step_by(THREADS as usize) {
                    let mut step = *NOTHING;
                    step.begin.cycles = word;
                    assert_eq!(block.keep(word, vec![step])[0].begin.cycles, word);
                    let known = block.course(word).expect("kept");
                    assert_eq!(known[0].begin.cycles, word);
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
