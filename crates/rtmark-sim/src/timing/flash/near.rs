//! All memories of a soc, with quick access to the one that code comes from.

use std::ops::{Index, IndexMut};

use super::{CoreCaches, LineMemory};
use crate::soc::MemoryTiming;

/// The read paths of a soc's memories, in the order of the soc file.
#[derive(Clone, Debug)]
pub struct LineMemories {
    /// The memory that code comes from. Its place in `all` holds a placeholder.
    pub(super) near: LineMemory,
    at: usize,
    all: Vec<LineMemory>,
    /// The caches in the core.
    pub caches: CoreCaches,
}

impl LineMemories {
    pub fn new(mut all: Vec<LineMemory>) -> Self {
        let mut near = LineMemory::new(MemoryTiming::default());
        if let Some(first) = all.first_mut() {
            std::mem::swap(first, &mut near);
        }
        Self { near, at: 0, all, caches: CoreCaches::default() }
    }

    /// Returns the memory that code comes from.
    #[inline(always)]
    pub const fn near(&self) -> &LineMemory {
        &self.near
    }

    /// Returns the memory that code comes from, mutably.
    #[inline(always)]
    pub const fn near_mut(&mut self) -> &mut LineMemory {
        &mut self.near
    }

    /// Returns whether code comes from the memory at this index.
    pub const fn is_near(&self, at: usize) -> bool {
        at == self.at
    }

    /// Makes the memory at this index the one that code comes from, and returns it.
    #[inline(always)]
    pub fn make_near(&mut self, at: usize) -> &mut LineMemory {
        if at != self.at {
            self.change(at);
        }
        &mut self.near
    }

    #[inline(never)]
    fn change(&mut self, at: usize) {
        std::mem::swap(&mut self.all[self.at], &mut self.near);
        std::mem::swap(&mut self.all[at], &mut self.near);
        self.at = at;
    }

    pub fn iter(&self) -> impl Iterator<Item = &LineMemory> {
        (0..self.all.len()).map(|at| &self[at])
    }

    /// Empties all buffers and caches.
    pub fn empty(&mut self) {
        self.for_each(LineMemory::empty);
        self.caches.clear();
    }

    /// Runs an action on each memory.
    pub fn for_each(&mut self, mut act: impl FnMut(&mut LineMemory)) {
        (0..self.all.len()).for_each(|at| act(&mut self[at]));
    }
}

impl Index<usize> for LineMemories {
    type Output = LineMemory;

    #[inline(always)]
    fn index(&self, at: usize) -> &LineMemory {
        if at == self.at { &self.near } else { &self.all[at] }
    }
}

impl IndexMut<usize> for LineMemories {
    #[inline(always)]
    fn index_mut(&mut self, at: usize) -> &mut LineMemory {
        if at == self.at { &mut self.near } else { &mut self.all[at] }
    }
}
