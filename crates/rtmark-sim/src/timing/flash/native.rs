//! What native code reads and writes of memories.

use super::LineMemory;
use super::cache::ManyLines;
use super::lookahead::FetchState;

/// Where what changes as code is fetched is, in bytes: in [`LineMemories`](super::LineMemories), of the near memory,
/// and in its caches of many lines.
pub mod offsets {
    use std::mem::offset_of;

    use crate::timing::flash::cache::{Hashed, LineCache, ManyLines, hash};
    use crate::timing::flash::{LineMemories, Prefetch};

    const PREFETCH: usize = offset_of!(LineMemories, near.prefetch);
    const INSTRUCTIONS: usize = offset_of!(LineMemories, near.instructions);

    /// The number of the line in the read buffer.
    pub const BUFFERED: usize = offset_of!(LineMemories, near.buffered);
    /// The number of the line that is being read ahead, and the cycle in which it can be used, 64 bits.
    pub const AHEAD: usize = PREFETCH + offset_of!(Prefetch, line);
    pub const READY: usize = PREFETCH + offset_of!(Prefetch, ready);
    /// The cycles for which the core has waited, 64 bits.
    pub const WAITED: usize = offset_of!(LineMemories, near.waited);
    /// The numbers of the lines in a cache of few.
    pub const FEW: usize = INSTRUCTIONS + offset_of!(LineCache, few.lines);
    /// In a cache of many: the count of uses, and those at the last use of each line, 64 bits each.
    pub const USES: usize = offset_of!(ManyLines, uses);
    pub const LAST_USES: usize = offset_of!(ManyLines, last_uses);

    /// Returns, for a cache of many, where the line is that a single lookup of this one finds, and where its position
    /// is, a byte.
    pub const fn lookup_of(line: u32) -> (usize, usize) {
        let hashed = offset_of!(ManyLines, hashed) + size_of::<Hashed>() * hash(line);
        (hashed + offset_of!(Hashed, line), hashed + offset_of!(Hashed, at))
    }
}

/// The addresses of the lines in caches of many, for native code; zero where there are few.
#[derive(Clone, Copy, Debug)]
pub struct ManyAddresses {
    pub code: usize,
    pub data: usize,
}

impl LineMemory {
    /// Returns where the lines are that it caches, which may then be changed there.
    #[inline(always)]
    pub fn expose_cached(&mut self) -> ManyAddresses {
        let address = |many: &mut Option<Box<ManyLines>>| {
            many.as_deref_mut().map_or(0, |many| std::ptr::from_mut(many).expose_provenance())
        };
        ManyAddresses {
            code: address(&mut self.instructions.many),
            data: address(&mut self.data.many),
        }
    }

    /// Returns whether it caches many lines of data.
    #[inline(always)]
    pub const fn caches_many_lines_of_data(&self) -> bool {
        self.keeps_data && self.data.has_many()
    }

    /// Returns the number of the line that contains `offset`.
    pub const fn line_of(&self, offset: u32) -> u32 {
        offset >> self.line_shift
    }

    /// Takes back cycles that the core has waited.
    #[inline(always)]
    pub const fn unwait(&mut self, cycles: u64) {
        self.waited -= cycles;
    }
}

impl FetchState {
    /// Returns the least and the greatest number of cycles until the line ahead is ready for which fetches have the
    /// same outcome.
    pub const fn cycles_to_ready(&self) -> (u64, u64) {
        (self.least, self.most)
    }
}
