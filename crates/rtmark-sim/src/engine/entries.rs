//! Entries: the blocks that are executed now, found at one look.
//!
//! What leads from a program counter to a schedule is spread over pages, blocks and their trees of
//! schedules, which all machines that share code share: of a large program little of it is in the
//! host's caches. Here stands what is executed at present, of one machine alone, by program
//! counter and pipeline state. It is a cache of what is known elsewhere, and bounded.

use std::sync::Arc;

use crate::engine::block::{Block, Passage};
use crate::engine::code_cache::ItOutcome;
use crate::engine::cursor::Cursor;
use crate::engine::micro_op::Kind;
use crate::state::ProgramPoint;

/// Entries at first, so that copies of a machine that soon end stay small, and at most.
const FIRST: usize = 1 << 6;
const MOST: usize = 1 << 15;

/// A block to be executed, with its schedule, and what is asked of the block in each pass, so that
/// mostly nothing else is looked at than an entry and its steps.
#[derive(Clone, Debug)]
pub struct Entry {
    pub block: Arc<Block>,
    pub passage: Passage,
    /// Of those that are all looked up at once, see [`Entries::renew`].
    generation: u32,
    /// How it is conditional from its beginning on, see [`ItOutcome::number`].
    it_outcome: u16,
    /// See [`Block::conditional_slots`].
    conditional_slots: u8,
    /// Bytes from the first halfword of its first instruction to the last one.
    first_reach: u8,
}

impl Entry {
    pub fn new(block: Arc<Block>, passage: Passage) -> Self {
        let (first_reach, conditional_slots) = (block.first_reach as u8, block.conditional_slots());
        let it_outcome = block.it_outcome.map_or(0, ItOutcome::number);
        Self { block, passage, generation: 0, it_outcome, conditional_slots, first_reach }
    }

    /// Bytes from the first halfword of its first instruction to the last one.
    #[inline(always)]
    pub const fn first_reach(&self) -> u32 {
        self.first_reach as u32
    }

    /// ITSTATE where a pass has come to that has not ended with a jump.
    #[inline(always)]
    pub fn it_behind(&self, at: &Cursor<'_>) -> u8 {
        if at.place() + 1 >= usize::from(self.conditional_slots) {
            return 0;
        }
        let micro = at.micro();
        match micro.kind {
            Kind::Followed => 0,
            Kind::ExpectedIt => micro.it_behind(),
            _ => self.block.it_before(at.place() + 1),
        }
    }
}

/// An entry where it is looked for: in one line of the host's cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Place {
    key: u64,
    entry: Entry,
}

const _: () = assert!(size_of::<Option<Place>>() == 64);

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
    pub const fn key<const PIPELINED: bool>(at: ProgramPoint, it_outcome: u16) -> u64 {
        let pipe = if PIPELINED { at.pipe.bits() as u64 } else { 0 };
        ((at.pc as u64) << 32 | pipe) ^ (it_outcome as u64) << 16
    }

    /// The entry of a key with an outcome of an IT, which not all keys with it share.
    #[inline(always)]
    pub fn get(&self, key: u64, it_outcome: u16) -> Option<&Entry> {
        match self.places.get(self.place(key)) {
            Some(Some(place))
                if place.key == key
                    && place.entry.generation == self.generation
                    && place.entry.it_outcome == it_outcome =>
            {
                Some(&place.entry)
            }
            _ => None,
        }
    }

    /// Adds an entry, perhaps in the place of another one.
    #[inline(never)]
    pub fn add(&mut self, key: u64, mut entry: Entry) {
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
        entry.generation = self.generation;
        self.places[at] = Some(Place { key, entry });
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
