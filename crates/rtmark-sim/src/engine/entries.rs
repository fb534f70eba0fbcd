//! Entries: the blocks that are executed now, found at one look.
//!
//! What leads from a program counter to a schedule is spread over pages, blocks and their trees of
//! schedules, which all machines that share code share: of a large program little of it is in the
//! host's caches. Here stands what is executed at present, of one machine alone, by program
//! counter and pipeline state. It is a cache of what is known elsewhere, and bounded.

use std::sync::Arc;

use crate::engine::block::{Block, Schedule};
use crate::state::ProgramPoint;

/// Entries at first, so that copies of a machine that soon end stay small, and at most.
const FIRST: usize = 1 << 6;
const MOST: usize = 1 << 15;

/// A block to be executed, with its schedule, and what is asked of the block in each pass.
#[derive(Clone, Debug)]
pub struct Entry {
    pub block: Arc<Block>,
    pub schedule: Arc<Schedule>,
    /// Bytes from the first halfword of its first instruction to the last one.
    pub first_reach: u32,
    pub has_it: bool,
    pub is_profiled: bool,
}

impl Entry {
    pub fn new(block: Arc<Block>, schedule: Arc<Schedule>) -> Self {
        let (first_reach, has_it) = (block.first_reach, block.has_it());
        let is_profiled = block.is_profiled();
        Self { block, schedule, first_reach, has_it, is_profiled }
    }
}

/// An entry where it is looked for.
#[derive(Debug)]
struct Place {
    key: u64,
    generation: u32,
    entry: Entry,
}

/// The entries of a machine.
#[derive(Debug, Default)]
pub struct Entries {
    /// As many as a power of two, or none.
    places: Vec<Option<Place>>,
    /// How many have been added since there were as many places as now.
    added: usize,
    /// How often all have had to be looked up again.
    generation: u32,
}

impl Clone for Entries {
    /// A clone looks for itself.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Entries {
    #[inline(always)]
    const fn place(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        hash as usize & self.places.len().wrapping_sub(1)
    }

    /// By what the entry of a program point is found. Without a pipeline its state does not matter.
    #[inline(always)]
    pub const fn key<const PIPELINED: bool>(at: ProgramPoint) -> u64 {
        (at.pc as u64) << 32 | if PIPELINED { at.pipe.bits() as u64 } else { 0 }
    }

    /// The entry of a key.
    #[inline(always)]
    pub fn get(&self, key: u64) -> Option<&Entry> {
        match self.places.get(self.place(key)) {
            Some(Some(place)) if place.key == key && place.generation == self.generation => {
                Some(&place.entry)
            }
            _ => None,
        }
    }

    /// Adds an entry, perhaps in the place of another one.
    #[inline(never)]
    pub fn add(&mut self, key: u64, entry: Entry) {
        let places = self.places.len();
        if places == 0 {
            self.places.resize_with(FIRST, || None);
        } else if self.added >= places && places < MOST {
            let old = std::mem::take(&mut self.places);
            self.places.resize_with(8 * places, || None);
            for place in old.into_iter().flatten() {
                let at = self.place(place.key);
                self.places[at] = Some(place);
            }
            self.added = 0;
        }
        self.added += 1;
        let at = self.place(key);
        self.places[at] = Some(Place { key, generation: self.generation, entry });
    }

    /// Has all looked up again.
    pub fn renew(&mut self) {
        match self.generation.checked_add(1) {
            Some(next) => self.generation = next,
            None => self.forget(),
        }
    }

    /// Forgets all, and lets go of what they lead to.
    pub fn forget(&mut self) {
        self.places.fill_with(|| None);
        self.generation = 0;
    }
}
