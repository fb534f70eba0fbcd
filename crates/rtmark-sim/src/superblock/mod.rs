//! Superblocks, for the cores that execute along a graph: when they are formed, how they are executed,
//! and how one leads to the next.
//!
//! It knows neither nodes nor what steps do: each core says that by [`Threaded`].

mod blocks;
mod last;
mod threaded;

pub use blocks::{BlockExit, Blocks, Runner, Superblock, Way};
pub(crate) use last::by_last;
pub use last::{FIRST, LastOperand, NEITHER, SECOND, last_operand};
pub(crate) use threaded::threaded;
pub use threaded::{
    END, Exit, LEAVE, StepFn, StepResult, Threaded, ThreadedStep, advance, advance_or,
};

/// Executions of a node outside of blocks before a block is formed there.
const HEAT: u16 = 12;
/// Executions of a node before forming a block is tried again, where it failed.
const COOLED: u16 = 4096;
/// The number of a block that does not exist.
const NO_BLOCK: u32 = u32::MAX;
/// The number of steps at which all blocks are discarded.
const MAX_STEPS: usize = 1 << 18;
/// The maximum number of instructions in a block.
pub const LONGEST: u32 = 192;
/// From this many instructions on, a block ends where it reaches its own beginning or another
/// block.
pub const ENOUGH: u32 = 64;
/// From this many instructions on, a block ends where no outcome is likely.
pub const FORKS: u32 = 64;
/// The maximum number of nested calls whose returns a block predicts.
pub const MAX_CALL_DEPTH: usize = 16;
/// A block follows an edge that has been taken at least this many times out of [`OF`].
const OFTEN: u32 = 7;
const OF: u32 = 8;

/// The block that begins at a node, or the countdown to forming one.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The number of the block; of none if none begins here.
    pub block: u32,
    /// Executions left until a block is formed.
    heat: u16,
}

impl Start {
    pub const NEW: Self = Self { block: NO_BLOCK, heat: HEAT };

    pub const fn has_block(self) -> bool {
        self.block != NO_BLOCK
    }

    /// Counts an execution of the node outside of blocks. Returns whether a block must be formed
    /// now.
    #[inline(always)]
    pub const fn count_execution(&mut self) -> bool {
        self.heat = self.heat.saturating_sub(1);
        self.heat == 0 && self.block == NO_BLOCK
    }

    /// Delays the next attempt, since no block could be formed.
    pub const fn cool(&mut self) {
        self.heat = COOLED;
    }
}

/// Returns whether an edge is taken so often, among all executions of its node, that a block follows it.
pub const fn is_likely(taken: u32, all: u32) -> bool {
    all > 0 && taken * OF >= all * OFTEN
}
