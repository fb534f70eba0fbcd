//! Blocks: instructions one after the other in memory, prepared to be executed at one go.
//!
//! How far the program has come at each instruction of a block is worked out once, before
//! any is executed: its *course*. Executing keeps no account, then. What turns out not to
//! go as expected leaves the block at that instruction, where the course says how far it
//! has come, and another block begins behind it.

use std::sync::OnceLock;

use crate::isa::{Op, Slot};
use crate::machine::Progress;

/// How far the program has come when an instruction of a block begins, counted from the
/// block's beginning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begin {
    pub cycles: u32,
    /// How the pipeline stands with the instruction in its execute stage.
    pub word: u32,
    /// Bytes to the instruction.
    pub offset: u8,
    /// Bytes to the one behind it.
    pub behind: u8,
    /// Instructions before it.
    pub count: u8,
    /// Cycles that it takes, unless they are counted when the next one enters a pipeline.
    pub cost: u8,
}

/// The course of a block that the pipeline enters in one state.
#[derive(Debug)]
struct Course {
    /// How the pipeline stands before the first instruction enters.
    word: u32,
    begins: Box<[Begin]>,
    next: OnceLock<Box<Course>>,
}

/// Instructions up to the first one that always goes elsewhere, or as far as is prepared.
#[derive(Debug)]
pub struct Block {
    pub slots: Box<[Slot]>,
    /// ITSTATE behind the block, if it ends with IT; else zero.
    pub it: u8,
    /// Bytes from the first halfword of its first instruction to the last one.
    pub first_reach: u32,
    /// The course by the table of costs.
    outline: Box<[Begin]>,
    /// The courses through a pipeline, by its state at the block's beginning.
    courses: OnceLock<Box<Course>>,
}

impl Block {
    pub fn new(slots: Vec<Slot>, it: u8) -> Self {
        let mut begin = Begin::default();
        let outline = slots.iter().map(|slot| {
            let this = begin;
            if slot.op == Op::Line {
                return Begin { behind: begin.offset, ..this };
            }
            begin.cycles += u32::from(slot.cost);
            begin.offset += slot.size();
            begin.count += 1;
            Begin { behind: begin.offset, cost: slot.cost, ..this }
        });
        let outline = outline.collect();
        let first_reach = slots.first().map_or(0, |slot| u32::from(slot.size()) - 2);
        Self { outline, first_reach, slots: slots.into(), it, courses: OnceLock::new() }
    }

    /// The course by the table of costs.
    #[inline(always)]
    pub fn outline(&self) -> &[Begin] {
        &self.outline
    }

    /// The course through a pipeline that stands like this, if it is known.
    #[inline(always)]
    pub fn course(&self, word: u32) -> Option<&[Begin]> {
        let mut course = self.courses.get()?;
        while course.word != word {
            course = course.next.get()?;
        }
        Some(&course.begins)
    }

    /// Keeps a course. Clones of a machine share blocks: at the same time another thread may
    /// keep one, of this word or of another.
    pub fn keep(&self, word: u32, begins: Vec<Begin>) -> &[Begin] {
        let mut begins = Some(begins);
        let mut courses = &self.courses;
        loop {
            let course = courses.get_or_init(|| {
                let begins = begins.take().unwrap_or_default().into();
                Box::new(Course { word, begins, next: OnceLock::new() })
            });
            if course.word == word {
                return &course.begins;
            }
            courses = &course.next;
        }
    }
}

/// Where a word has nothing to tell beyond the course. No pipeline stands like this.
const AS_EXPECTED: u32 = u32::MAX;

/// The course of an instruction alone.
const ALONE: &[Begin] = &[Begin { cycles: 0, word: 0, offset: 0, behind: 0, count: 0, cost: 0 }];

/// A pass through a block. Between the instruction that has been taken from it last and
/// the next one it is a point in the program: see [`Pass::progress`].
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// What is still to be executed.
    pub rest: &'a [Slot],
    begins: &'a [Begin],
    /// Slots that were taken off the end, to leave the block earlier.
    cut: usize,
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
    pub fn through(slots: &'a [Slot], begins: &'a [Begin], from: Progress) -> Self {
        Self {
            rest: slots,
            begins,
            cut: 0,
            start: from.pc,
            cycles: from.cycles,
            instructions: from.instructions,
            word: AS_EXPECTED,
            target: from.pc,
        }
    }

    /// Through an instruction alone, behind which the program counter stands.
    pub fn alone(slot: &'a Slot, from: Progress) -> Self {
        Self { word: from.word, ..Self::through(std::slice::from_ref(slot), ALONE, from) }
    }

    /// Within such an instruction.
    #[inline(always)]
    pub fn within(from: Progress) -> Self {
        Self { word: from.word, ..Self::through(&[], ALONE, from) }
    }

    /// Which slot is being executed.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.begins.len().wrapping_sub(1 + self.cut + self.rest.len())
    }

    /// How far the course is when that slot begins.
    #[inline(always)]
    pub fn begin(&self) -> Begin {
        self.begins.get(self.index()).copied().unwrap_or_default()
    }

    #[inline(always)]
    fn last(&self) -> u32 {
        self.begins.last().map_or(0, |begin| begin.cycles)
    }

    /// The cycle in which it begins.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        self.cycles.wrapping_add(u64::from(self.begin().cycles))
    }

    /// The address of the instruction that executes.
    #[inline(always)]
    pub fn address(&self) -> u32 {
        self.start.wrapping_add(self.begin().offset.into())
    }

    /// The address behind it.
    #[inline(always)]
    pub fn behind(&self) -> u32 {
        self.start.wrapping_add(self.begin().behind.into())
    }

    /// How far the program has come while the instruction executes.
    #[inline(always)]
    pub fn progress(&self) -> Progress {
        let begin = self.begin();
        Progress {
            pc: self.start.wrapping_add(begin.behind.into()),
            cycles: self.cycles.wrapping_add(begin.cycles.into()),
            instructions: self.instructions + u64::from(begin.count),
            word: if self.word == AS_EXPECTED { begin.word } else { self.word },
        }
    }

    /// Leaves the block behind this instruction.
    #[inline(always)]
    pub fn leave(&mut self) {
        self.cut += self.rest.len();
        self.rest = &[];
    }

    /// Leaves the block in time for a deadline, but not before the next instruction.
    #[inline(always)]
    pub fn leave_before(&mut self, deadline: u64) {
        // By value: so the compiler can keep a pass in registers.
        *self = self.leaving_before(deadline);
    }

    #[inline(never)]
    fn leaving_before(mut self, deadline: u64) -> Self {
        let next = self.index().wrapping_add(1);
        let begins = self.begins.get(next..).unwrap_or_default();
        let due = |begin: &Begin| self.cycles.wrapping_add(begin.cycles.into()) >= deadline;
        let kept = begins.iter().position(due).unwrap_or(begins.len()).max(1);
        let kept = kept.min(self.rest.len());
        self.cut += self.rest.len() - kept;
        self.rest = &self.rest[..kept];
        self
    }

    /// Takes more cycles than the course says, which is a reason to leave if a deadline
    /// comes closer.
    #[inline(always)]
    pub fn take_longer(&mut self, cycles: u64, deadline: u64) {
        self.cycles = self.cycles.wrapping_add(cycles);
        if self.cycles.wrapping_add(self.last().into()) >= deadline {
            self.leave();
        }
    }

    /// Waits before the next instruction.
    #[inline(always)]
    pub fn wait_for_next(&mut self, cycles: u64, deadline: u64) {
        self.cycles = self.cycles.wrapping_add(cycles);
        if self.cycles.wrapping_add(self.last().into()) >= deadline {
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

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn threads_that_keep_courses_at_once_get_their_own() {
        const THREADS: u32 = 4;
        const WORDS: u32 = 300;
        for _ in 0..20 {
            let (block, barrier) = (Block::new(Vec::new(), 0), Barrier::new(THREADS as usize));
            // All threads at the end of the same list.
            let keep = |thread: u32| {
                barrier.wait();
                for word in (thread..WORDS * THREADS).step_by(THREADS as usize) {
                    let begins = vec![Begin { cycles: word, ..Begin::default() }];
                    assert_eq!(block.keep(word, begins)[0].cycles, word);
                    assert_eq!(block.course(word).expect("kept")[0].cycles, word);
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
