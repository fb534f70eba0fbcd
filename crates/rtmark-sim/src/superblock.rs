//! When superblocks are formed and dropped, for the cores that execute along a graph.
//!
//! It knows neither nodes nor steps: only how often a node has been executed, and how often a block has
//! been left early.

/// Executions of a node outside of blocks before a block is formed there.
const HEAT: u16 = 12;
/// Executions of a node before forming a block is tried again, where it failed.
const COOLED: u16 = 4096;
/// The number of a block that does not exist.
const NO_BLOCK: u32 = u32::MAX;
/// The number of steps at which all blocks are discarded.
pub const MAX_STEPS: usize = 1 << 18;
/// The maximum number of nested calls whose returns a block predicts.
pub const MAX_CALL_DEPTH: usize = 16;
/// A block follows an edge that has been taken at least this many times out of [`OF`].
const OFTEN: u32 = 7;
const OF: u32 = 8;
/// The number of early exits after which a block's usefulness is checked.
const JUDGED: u32 = 64;
/// The minimum number of executed instructions per early exit for a block to be kept.
const WORTH: u64 = 20;

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

/// How often a block was executed and left early since the last check of its usefulness.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockUse {
    pub runs: u32,
    early: u32,
    /// Instructions executed in the runs that exited early.
    done: u64,
}

impl BlockUse {
    /// Records an early exit after `count` instructions of a block of `length`. Returns `false` if the
    /// block is left early too often to be kept.
    pub fn record_early_exit(&mut self, count: u32, length: u32) -> bool {
        self.early += 1;
        self.done += u64::from(count);
        if self.early < JUDGED {
            return true;
        }
        let executed = u64::from(self.runs) * u64::from(length) + self.done;
        let is_worth = executed >= u64::from(self.early) * WORTH;
        *self = Self::default();
        is_worth
    }
}
