//! Entries: a two-way associative cache of the blocks that execute at present.
//!
//! The way from a program counter to a schedule leads through pages, blocks and trees of schedules,
//! which all machines that share code share; of a large program little of it is in the host's
//! caches. An entry leads there in one look, by program counter and pipeline state. Entries belong
//! to one machine, only repeat what is known elsewhere, and are bounded in number.
//!
//! Of a large program the entries and steps themselves are not in the nearest caches either, and a
//! pass would begin with waiting for both, one after the other. So an entry remembers which two came
//! after it, and these are prefetched while its own pass executes.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::engine::block::{Block, NOTHING, Passage, Schedule, ScheduledOp};
use crate::engine::code_cache::ItOutcome;
use crate::engine::cursor::Cursor;
use crate::engine::dispatch::OpFn;
use crate::engine::fetch_plan::FetchPlans;
use crate::engine::micro_op::Kind;
use crate::engine::native::Links;
use crate::state::ProgramPoint;

/// The initial and the greatest number of entries. It starts small because copies of a machine are
/// often short-lived.
const FIRST: usize = 1 << 6;
const MOST: usize = 1 << 16;
/// The factor by which their number grows.
const GROWTH: usize = 4;
/// The number of entries from which on successors are prefetched: with fewer, entries and steps are
/// in the host's second-level cache, where prefetching costs more than it saves.
const LARGE: usize = 1 << 14;

/// A block and the parts of one of its schedules ([`Passage`]), with copies of the block's fields that
/// each pass reads, so that most passes touch only the entry and the steps.
#[derive(Clone, Debug)]
pub struct Entry {
    pub block: Arc<Block>,
    pub steps: Arc<[ScheduledOp]>,
    /// Executes the first step.
    pub run: OpFn,
    pub plans: Arc<FetchPlans>,
    /// Cycles until the last step begins.
    pub last: u32,
    successors: Successors,
    /// The generation in which it was added: see [`Entries::invalidate`].
    generation: u16,
    /// Whether the block was profiled when this was added.
    is_profiled: bool,
    /// The outcome of the IT that it begins after: see [`ItOutcome::number`].
    it_outcome: u16,
    /// See [`Block::conditional_slots`].
    conditional_slots: u8,
    /// Bytes from the first halfword of its first instruction to the last one.
    first_instruction_span: u8,
}

impl Entry {
    pub fn new(block: Arc<Block>, passage: &Passage) -> Self {
        let Passage { schedule: Schedule { steps, run, last }, plans } = passage;
        let (first_instruction_span, conditional_slots) =
            (block.first_instruction_span as u8, block.conditional_slots());
        let it_outcome = block.it_outcome.map_or(0, ItOutcome::number);
        let is_profiled = block.is_profiled();
        Self {
            block,
            steps: Arc::clone(steps),
            run: *run,
            plans: Arc::clone(plans),
            last: *last,
            successors: Successors::default(),
            generation: 0,
            is_profiled,
            it_outcome,
            conditional_slots,
            first_instruction_span,
        }
    }

    /// Returns the cycles until the first step begins.
    #[inline(always)]
    pub fn first(&self) -> u32 {
        self.steps.first().unwrap_or(NOTHING).begin.cycles
    }

    /// Returns whether passes through the block are profiled.
    #[inline(always)]
    pub const fn is_profiled(&self) -> bool {
        self.is_profiled
    }

    /// Returns whether the block is no longer profiled, so that it may have a newer translation.
    #[inline(always)]
    fn is_superseded(&self) -> bool {
        self.is_profiled && !self.block.is_profiled()
    }

    /// Bytes from the first halfword of its first instruction to the last one.
    #[inline(always)]
    pub const fn first_instruction_span(&self) -> u32 {
        self.first_instruction_span as u32
    }

    /// Returns ITSTATE after a pass that did not end with a jump.
    #[inline(always)]
    pub fn it_after(&self, at: &Cursor<'_>) -> u8 {
        if at.place() + 1 >= usize::from(self.conditional_slots) {
            return 0;
        }
        let micro = at.micro();
        match micro.kind {
            Kind::Followed => 0,
            Kind::ExpectedIt => micro.it_after(),
            _ => self.block.it_before(at.place() + 1),
        }
    }
}

/// The places of the two entries that have come after an entry last, the latest one in the low half.
/// Only a hint: other entries may be there by now.
#[derive(Debug, Default)]
struct Successors(AtomicU32);

/// Half a word numbers all places.
const _: () = assert!(MOST <= 1 << 16);

impl Clone for Successors {
    /// Starts empty: places are those of one table.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Successors {
    #[inline(always)]
    fn note(&self, place: usize) {
        let both = self.0.load(Ordering::Relaxed);
        if both as u16 != place as u16 {
            self.0.store(both << 16 | u32::from(place as u16), Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn places(&self) -> [usize; 2] {
        let both = self.0.load(Ordering::Relaxed);
        [both as u16, (both >> 16) as u16].map(usize::from)
    }
}

/// An entry with its key, in one line of the host's cache.
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
    /// The table: empty, or a power of two in length.
    places: Vec<Option<Place>>,
    /// Entries added since the table last grew.
    added: usize,
    /// The current generation: entries of earlier ones are stale.
    generation: u16,
    /// Which native code of entries follows which.
    pub links: Links,
}

impl Clone for Entries {
    /// Starts empty: a clone looks up its own entries.
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

    /// Returns the key of a program point. Without a pipeline its state is ignored.
    #[inline(always)]
    const fn key<const PIPELINED: bool>(at: &ProgramPoint, it_outcome: u16) -> u64 {
        let pipe = if PIPELINED { at.pipe.bits() as u64 } else { 0 };
        ((at.pc as u64) << 32 | pipe) ^ (it_outcome as u64) << 16
    }

    /// Returns the entry of a program point, after an IT with the given outcome or outside IT blocks, and
    /// its place.
    #[inline(always)]
    pub fn get<const PIPELINED: bool>(
        &self,
        point: &ProgramPoint,
        it_outcome: Option<ItOutcome>,
    ) -> Option<(usize, &Entry)> {
        // Different outcomes may share a key, so the outcome is compared separately.
        let it_outcome = it_outcome.map_or(0, ItOutcome::number);
        let key = Self::key::<PIPELINED>(point, it_outcome);
        let at = self.place(key);
        match self.get_at(at, key, it_outcome) {
            Some(entry) if !entry.is_profiled => Some((at, entry)),
            _ => self.search(at, key, it_outcome),
        }
    }

    /// Searches both places of a key for its entry, which is out of date if profiling of its block
    /// has ended.
    #[inline(never)]
    fn search(&self, at: usize, key: u64, it_outcome: u16) -> Option<(usize, &Entry)> {
        let entry_at = |at| self.get_at(at, key, it_outcome).map(|entry| (at, entry));
        let mut found = [at, at ^ 1].into_iter().filter_map(entry_at);
        found.next().filter(|(_, entry)| !entry.is_superseded())
    }

    #[inline(always)]
    fn get_at(&self, at: usize, key: u64, it_outcome: u16) -> Option<&Entry> {
        match self.places.get(at) {
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

    /// Returns whether entries and steps may be too many for the host's nearer caches.
    #[inline(always)]
    const fn is_large(&self) -> bool {
        self.places.len() >= LARGE
    }

    /// Records that the entry in a place came after `entry`.
    #[inline(always)]
    pub fn note_successor(&self, entry: Option<&Entry>, place: usize) {
        if self.is_large()
            && let Some(entry) = entry
        {
            entry.successors.note(place);
        }
    }

    /// Prefetches what the pass after the one with `entry` probably reads first. Safe code can only read
    /// it; the host executes the current pass meanwhile, because nothing depends on the value.
    #[inline(always)]
    pub fn prefetch_successors(&self, entry: &Entry) {
        if !self.is_large() {
            return;
        }
        for place in entry.successors.places() {
            if let Some(Some(next)) = self.places.get(place) {
                black_box(next.entry.first());
            }
        }
    }

    /// Adds the entry of a program point, which may replace another.
    #[inline(never)]
    pub fn add<const PIPELINED: bool>(
        &mut self,
        point: &ProgramPoint,
        it_outcome: Option<ItOutcome>,
        mut entry: Entry,
    ) {
        let key = Self::key::<PIPELINED>(point, it_outcome.map_or(0, ItOutcome::number));
        let places = self.places.len();
        if places == 0 {
            self.places.resize_with(FIRST, || None);
        } else if self.added >= places && places < MOST {
            let old = std::mem::take(&mut self.places);
            self.places.resize_with(GROWTH * places, || None);
            old.into_iter().flatten().for_each(|place| self.put(place));
            self.added = 0;
        }
        self.added += 1;
        entry.generation = self.generation;
        self.links.make_room(&entry);
        self.put(Place { key, entry });
    }

    /// Puts an entry in its place, and what was there before in the one beside it.
    fn put(&mut self, place: Place) {
        let at = self.place(place.key);
        let (key, it_outcome) = (place.key, place.entry.it_outcome);
        let before = self.places[at].replace(place);
        let before = before.filter(|it| it.key != key || it.entry.it_outcome != it_outcome);
        if before.is_some() {
            self.places[at ^ 1] = before;
        }
    }

    /// Makes all entries stale, so that blocks are looked up again.
    pub fn invalidate(&mut self) {
        self.links.clear();
        match self.generation.checked_add(1) {
            Some(next) => self.generation = next,
            None => self.forget(),
        }
    }

    /// Drops all entries, and with them their references to blocks.
    pub fn forget(&mut self) {
        self.links.clear();
        self.places.fill_with(|| None);
        self.generation = 0;
    }
}
