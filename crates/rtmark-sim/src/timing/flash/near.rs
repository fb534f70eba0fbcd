//! All memories of a soc, of which the one that code comes from is at hand.

use std::ops::{Index, IndexMut};

use super::LineMemory;
use crate::soc::MemoryTiming;

/// The read paths of a soc's memories, by their order in the soc file.
#[derive(Clone, Debug)]
pub struct LineMemories {
    /// The one that code comes from, whose place among all is empty.
    near: LineMemory,
    at: usize,
    all: Vec<LineMemory>,
}

impl LineMemories {
    pub fn new(mut all: Vec<LineMemory>) -> Self {
        let mut near = LineMemory::new(MemoryTiming::default());
        if let Some(first) = all.first_mut() {
            std::mem::swap(first, &mut near);
        }
        Self { near, at: 0, all }
    }

    /// The memory that code comes from.
    #[inline(always)]
    pub const fn near(&self) -> &LineMemory {
        &self.near
    }

    /// The memory that code comes from, to be changed.
    #[inline(always)]
    pub const fn near_mut(&mut self) -> &mut LineMemory {
        &mut self.near
    }

    /// Whether code comes from this memory.
    pub const fn is_near(&self, at: usize) -> bool {
        at == self.at
    }

    /// The memory that code comes from now.
    #[inline(always)]
    pub fn approach(&mut self, at: usize) -> &mut LineMemory {
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

    /// Does something with each.
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
