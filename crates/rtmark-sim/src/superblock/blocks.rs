//! The blocks of a core, and the ways from one to the next.

use super::MAX_STEPS;
use super::threaded::{LEAVE, StepFn, Threaded, ThreadedStep};

/// A block.
#[derive(Clone, Copy, Debug)]
pub struct Superblock<T: Threaded> {
    /// The range of its steps, the last of which ends it.
    first: u32,
    last: u32,
    /// The function of the first step.
    begin: StepFn<T>,
    /// The most cycles that its instructions may need.
    pub most: u32,
    pub condition: T::Condition,
}

impl<T: Threaded> Superblock<T> {
    /// Returns the exit with `left` steps left.
    #[inline(always)]
    pub const fn exit(&self, left: usize, key: u32, target: u32) -> BlockExit {
        BlockExit { point: self.last.wrapping_sub(left as u32), key, target }
    }
}

/// An exit from a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockExit {
    /// The number of its point among those of all blocks.
    pub point: u32,
    /// The outcome, and the target of the branch if neither the instruction nor the outcome determines
    /// it.
    pub key: u32,
    pub target: u32,
}

impl BlockExit {
    #[inline(always)]
    const fn place(self) -> usize {
        let mixed = self.point ^ self.key << 20 ^ self.key >> 1 ^ self.target >> 1;
        (mixed.wrapping_mul(0x9E37_79B1) >> (32 - WAYS.ilog2())) as usize % WAYS
    }
}

/// The number of ways that are known, a power of two.
const WAYS: usize = 1 << 13;

/// The way from an exit to the block that follows.
#[derive(Clone, Copy, Debug)]
pub struct Way<T: Threaded> {
    pub exit: BlockExit,
    /// The progress until then, counted from the beginning of the block that ended.
    pub point: T::Point,
    /// The block that follows.
    pub block: u32,
    pub needs: T::Needs,
}

/// A way in one line of the host's cache, with copies of what leads to the first step of its block, so
/// that this does not wait for the block.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct KnownWay<T: Threaded> {
    way: Way<T>,
    first: u32,
    begin: StepFn<T>,
}

/// A run that executes blocks.
pub trait Runner<T: Threaded> {
    /// Executes a block with the given steps, by the function of the first one. Returns the exit, or
    /// `None` if the block must not be executed now.
    fn execute(
        &mut self,
        block: &Superblock<T>,
        begin: StepFn<T>,
        steps: &[ThreadedStep<T>],
    ) -> Option<BlockExit>;

    /// Goes a way, if what it needs is there; its point is counted from the beginning of the block that
    /// was executed. Returns whether that is so.
    fn go(&mut self, way: &Way<T>) -> bool;
}

/// The blocks of a core.
#[derive(Debug)]
pub struct Blocks<T: Threaded> {
    all: Vec<Superblock<T>>,
    steps: Vec<ThreadedStep<T>>,
    /// The progress of a run before each step.
    points: Vec<T::Point>,
    /// A direct-mapped cache of the ways from exits.
    ways: Vec<KnownWay<T>>,
}

impl<T: Threaded> Default for Blocks<T> {
    fn default() -> Self {
        Self { all: Vec::new(), steps: Vec::new(), points: Vec::new(), ways: Vec::new() }
    }
}

impl<T: Threaded> Blocks<T> {
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether there is no room for another block.
    pub const fn are_full(&self) -> bool {
        self.steps.len() >= MAX_STEPS
    }

    #[inline(always)]
    pub fn get(&self, number: u32) -> Option<&Superblock<T>> {
        self.all.get(number as usize)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Superblock<T>> {
        self.all.get_mut(number as usize)
    }

    /// Discards all blocks.
    pub fn clear(&mut self) {
        self.all.clear();
        self.steps.clear();
        self.points.clear();
        self.ways.clear();
    }

    /// Adds a block of steps, each with its function and the point before it, and returns its number.
    /// The last step must end the block.
    pub fn push(
        &mut self,
        steps: &[(StepFn<T>, T::Operands, T::Point)],
        most: u32,
        condition: T::Condition,
    ) -> u32 {
        let first = self.steps.len() as u32;
        let end = steps.last();
        let next = steps.iter().skip(1).chain(end).map(|(function, ..)| *function);
        let linked = steps.iter().zip(next);
        self.steps.extend(
            linked.map(|((_, operands, _), next)| ThreadedStep { next, operands: *operands }),
        );
        self.points.extend(steps.iter().map(|(.., point)| *point));
        let last = self.steps.len() as u32;
        if let Some((begin, ..)) = steps.first() {
            self.all.push(Superblock { first, last, begin: *begin, most, condition });
        }
        self.all.len() as u32 - 1
    }

    /// Returns the steps of a block.
    #[inline(always)]
    pub fn steps(&self, block: &Superblock<T>) -> &[ThreadedStep<T>] {
        self.steps.get(block.first as usize..block.last as usize).unwrap_or_default()
    }

    /// Returns the progress of a run at an exit.
    pub fn point(&self, exit: BlockExit) -> Option<&T::Point> {
        self.points.get(exit.point as usize)
    }

    /// Keeps a way.
    pub fn keep(&mut self, way: Way<T>) {
        let Some(&Superblock { first, begin, .. }) = self.get(way.block) else { return };
        let known = KnownWay { way, first, begin };
        if self.ways.is_empty() {
            let exit = BlockExit { point: u32::MAX, key: LEAVE, target: 0 };
            self.ways = vec![KnownWay { way: Way { exit, ..way }, ..known }; WAYS];
        }
        self.ways[way.exit.place()] = known;
    }

    /// Executes a block, and those after it as long as the way to them is known. Returns the exit after
    /// which it is not, and its block; or `None` before a block that must not be executed.
    #[inline(always)]
    pub fn run(&self, mut number: u32, run: &mut impl Runner<T>) -> Option<(u32, BlockExit)> {
        let Superblock { mut first, mut begin, .. } = *self.get(number)?;
        loop {
            let block = self.get(number)?;
            let steps = self.steps.get(first as usize..block.last as usize)?;
            let exit = run.execute(block, begin, steps)?;
            let known = self.ways.get(exit.place()).filter(|known| known.way.exit == exit);
            let Some(known) = known else { return Some((number, exit)) };
            if !run.go(&known.way) {
                return Some((number, exit));
            }
            (number, first, begin) = (known.way.block, known.first, known.begin);
        }
    }
}
