//! The code cache: blocks by address, and the branch profile that shapes them.
//!
//! All clones of a machine share the blocks of code in flash. Blocks of code in RAM belong to one
//! machine, and end when a byte of their instructions is overwritten. The machine's state records
//! such writes but knows no blocks; the cache catches up ([`CodeCache::follow`]) before a block is
//! looked up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::arch::PAGE_BYTES;
use crate::engine::block::{Block, ScheduledOp};
use crate::engine::block_builder::BlockLimits;
use crate::engine::entries::Entries;
use crate::engine::fetch_plan::SharedCounts;
use crate::engine::native::{NativeCode, NativePages};
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Window};
use crate::soc::Soc;
use crate::state::State;
#[cfg(doc)]
use crate::timing::memo::PipeState;

/// The limits of a new block. Blocks may overlap.
const AT_FIRST: BlockLimits = BlockLimits { slots: 32, unsure: 4 };
/// The limits of a retranslated block.
const OFTEN: BlockLimits = BlockLimits { slots: 192, unsure: 3 };

/// The two blocks that begin at an address inside an IT block: for a condition that fails, and for
/// one that holds.
type ItBlocks = Box<[Arc<Block>; 2]>;

/// The blocks that begin in a page of code, and the profile of its branches.
#[derive(Debug)]
pub struct Page {
    blocks: [Mutex<Option<Arc<Block>>>; PAGE_HALFWORDS],
    /// The blocks that begin inside an IT block.
    it_blocks: [Mutex<Option<ItBlocks>>; PAGE_HALFWORDS],
    /// How many more times each branch was taken than not.
    pub taken: [AtomicI8; PAGE_HALFWORDS],
    /// The last target of each indirect jump; zero if there was none.
    pub leads: [AtomicU32; PAGE_HALFWORDS],
    /// The facts that the execution of each instruction has last shown the pipeline: see
    /// [`PipeState::shown`].
    shown: [AtomicU32; PAGE_HALFWORDS],
}

impl CodePage for Page {
    fn empty() -> Self {
        Self {
            blocks: [const { Mutex::new(None) }; PAGE_HALFWORDS],
            it_blocks: [const { Mutex::new(None) }; PAGE_HALFWORDS],
            taken: [const { AtomicI8::new(0) }; PAGE_HALFWORDS],
            leads: [const { AtomicU32::new(0) }; PAGE_HALFWORDS],
            shown: [const { AtomicU32::new(0) }; PAGE_HALFWORDS],
        }
    }
}

/// Locks a place for blocks.
fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    // No panic leaves a place half changed.
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Page {
    /// Returns the block that begins at a halfword, after an IT with the given outcome or outside
    /// IT blocks.
    fn block(&self, halfword: usize, it_outcome: Option<ItOutcome>) -> Option<Arc<Block>> {
        match it_outcome {
            None => locked(self.blocks.get(halfword)?).clone(),
            Some(ItOutcome { holds, .. }) => {
                let both = locked(self.it_blocks.get(halfword)?);
                both.as_ref().map(|both| Arc::clone(&both[usize::from(holds)]))
            }
        }
    }

    /// Replaces a block that begins at a halfword, and returns it. Does nothing if another thread
    /// has replaced it first.
    fn replace(&self, halfword: usize, old: &Block, new: Arc<Block>) -> Option<Arc<Block>> {
        let exchange = |known: &mut Arc<Block>| {
            std::ptr::eq(Arc::as_ptr(known), old).then(|| std::mem::replace(known, new))
        };
        match old.it_outcome {
            None => locked(&self.blocks[halfword]).as_mut().and_then(exchange),
            Some(ItOutcome { holds, .. }) => {
                let mut both = locked(&self.it_blocks[halfword]);
                both.as_mut().and_then(|both| exchange(&mut both[usize::from(holds)]))
            }
        }
    }

    /// Removes and returns the blocks that begin at a halfword.
    fn forget(&self, halfword: usize) -> impl Iterator<Item = Arc<Block>> + use<> {
        let block = locked(&self.blocks[halfword]).take();
        let it_blocks = locked(&self.it_blocks[halfword]).take();
        block.into_iter().chain(it_blocks.into_iter().flat_map(|both| *both))
    }

    /// Records the outcome of the branch at a halfword of the page.
    fn note(&self, halfword: usize, seen: BranchOutcome) {
        let taken = &self.taken[halfword];
        let more = taken.load(Ordering::Relaxed);
        match seen {
            BranchOutcome::Taken => taken.store(more.saturating_add(1), Ordering::Relaxed),
            BranchOutcome::NotTaken => taken.store(more.saturating_sub(1), Ordering::Relaxed),
            BranchOutcome::LedTo(target) => self.leads[halfword].store(target, Ordering::Relaxed),
        }
    }
}

/// The outcome of a branch, as profiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// A branch was taken, or an IT's condition held.
    Taken,
    NotTaken,
    /// An indirect jump reached this target.
    LedTo(u32),
}

/// The condition under which a block begins inside an IT block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItOutcome {
    /// ITSTATE before its first instruction.
    pub it: u8,
    /// Whether the condition holds.
    pub holds: bool,
}

impl ItOutcome {
    /// Returns a unique number other than zero.
    #[inline(always)]
    pub fn number(self) -> u16 {
        u16::from(self.it) << 1 | u16::from(self.holds)
    }
}

/// Blocks, by the memory that holds their code.
#[derive(Debug)]
struct Generation {
    windows: Vec<Window<Page>>,
    /// Blocks of code in RAM, by the first address of each page that they touch.
    own: BTreeMap<u32, Vec<Arc<Block>>>,
}

impl Clone for Generation {
    /// Leaves out code in RAM, which each clone prepares for itself.
    fn clone(&self) -> Self {
        Self { windows: self.windows.clone(), own: BTreeMap::new() }
    }
}

impl Generation {
    fn window(&mut self, address: u32) -> Option<&mut Window<Page>> {
        self.windows.iter_mut().find(|window| window.covers(address))
    }

    /// Returns the newest translation of the block at an address.
    fn find(&self, address: u32, it_outcome: Option<ItOutcome>) -> Option<Arc<Block>> {
        let window = self.windows.iter().find(|window| window.covers(address))?;
        let (_, within) = window.place(address);
        window.known_page(address)?.block(within, it_outcome)
    }

    /// Adds a block, and returns it, or the one that another thread added first.
    fn keep(&mut self, block: Arc<Block>) -> Option<Arc<Block>> {
        let window = self.window(block.address)?;
        let (_, within) = window.place(block.address);
        let mut place = locked(&window.page(block.address).blocks[within]);
        let kept = Arc::clone(place.get_or_insert(block));
        drop(place);
        self.register(&kept);
        Some(kept)
    }

    /// Adds the two blocks for both outcomes of an IT, and returns them, or those that another
    /// thread added first.
    fn insert_it_pair(&mut self, both: [Arc<Block>; 2]) -> Option<[Arc<Block>; 2]> {
        let address = both[0].address;
        let window = self.window(address)?;
        let (_, within) = window.place(address);
        let mut place = locked(&window.page(address).it_blocks[within]);
        let kept = place.get_or_insert_with(|| Box::new(both)).clone();
        drop(place);
        kept.iter().for_each(|block| self.register(block));
        Some(*kept)
    }

    /// Replaces a block, and returns whether no other thread has done so first.
    fn replace(&mut self, old: &Block, new: Block) -> bool {
        let Some(window) = self.window(old.address) else { return false };
        let (_, within) = window.place(old.address);
        let new = Arc::new(new);
        let old = window.page(old.address).replace(within, old, Arc::clone(&new));
        let Some(old) = old else { return false };
        for page in old.pages() {
            if let Some(known) = self.own.get_mut(&page) {
                known.retain(|known| !Arc::ptr_eq(known, &old));
            }
        }
        self.register(&new);
        true
    }

    /// Records the pages that a block of code in RAM touches.
    fn register(&mut self, block: &Arc<Block>) {
        if self.window(block.address).is_some_and(|window| window.is_own()) {
            for page in block.pages() {
                let known = self.own.entry(page).or_default();
                if !known.iter().any(|known| Arc::ptr_eq(known, block)) {
                    known.push(Arc::clone(block));
                }
            }
        }
    }

    /// Removes the blocks that execute the instruction at a halfword in RAM.
    fn end_at(&mut self, halfword: u32) {
        let known = self.own.get(&page_of(halfword)).map_or(&[][..], Vec::as_slice);
        let ended = known.iter().filter(|block| block.executes_from(halfword));
        let ended: Vec<u32> = ended.map(|block| block.address).collect();
        for address in ended {
            self.end_block(address);
        }
    }

    /// Removes the blocks that begin at an address in RAM.
    fn end_block(&mut self, address: u32) {
        let Some(window) = self.window(address) else { return };
        let (_, within) = window.place(address);
        let Some(page) = window.own_page(address) else { return };
        for block in page.forget(within) {
            for page in block.pages() {
                if let Some(known) = self.own.get_mut(&page) {
                    known.retain(|other| other.address != address);
                }
            }
        }
    }

    fn forget_own(&mut self) {
        self.windows.iter_mut().for_each(Window::forget_own);
        self.own.clear();
    }
}

/// The most steps of blocks, schedules and fetch plans that a generation keeps. A machine has at
/// most two generations, and a step takes 40 bytes.
const STEPS: usize = 1 << 21;

/// The blocks of every memory of a soc.
///
/// Their memory is bounded by two generations: when the young one is full it becomes the old one,
/// and a new one begins. An old block that executes moves to the young generation; the others are
/// dropped when the young generation is full again.
#[derive(Clone, Debug)]
pub struct CodeCache {
    young: Generation,
    old: Option<Generation>,
    /// The epoch of the predecoded instructions that the blocks are built from.
    epoch: u32,
    pub counts: SharedCounts,
    /// The memory for the native code of blocks.
    pub native_pages: NativePages,
    /// The most steps of the young generation.
    most: usize,
    /// How often the young generation was full.
    pub evictions: u64,
    /// The blocks that execute at present.
    pub entries: Entries,
}

impl CodeCache {
    pub fn new(soc: &Soc) -> Self {
        Self {
            young: Generation { windows: Window::of(soc), own: BTreeMap::new() },
            old: None,
            epoch: 0,
            counts: SharedCounts::default(),
            native_pages: NativePages::default(),
            most: STEPS,
            evictions: 0,
            entries: Entries::default(),
        }
    }

    /// Lowers the limit of steps, to test evictions.
    pub fn limit(&mut self, steps: usize) {
        self.most = steps.min(STEPS);
    }

    /// Drops blocks whose code the state has invalidated since the last call.
    #[inline(always)]
    pub fn follow(&mut self, state: &mut State, entries: &mut Entries) {
        if !state.predecoded.overwritten.is_empty() {
            self.end_overwritten(state);
            entries.invalidate();
        }
        if self.epoch != state.predecoded.epoch() {
            self.epoch = state.predecoded.epoch();
            self.start_generation(entries);
            self.old = None;
        }
    }

    /// Drops blocks whose instructions were overwritten.
    #[inline(never)]
    fn end_overwritten(&mut self, state: &mut State) {
        let overwritten = std::mem::take(&mut state.predecoded.overwritten);
        for generation in std::iter::once(&mut self.young).chain(&mut self.old) {
            if overwritten.any {
                generation.forget_own();
            }
            overwritten.halfwords.iter().for_each(|&halfword| generation.end_at(halfword));
        }
    }

    /// Starts a new generation if the young one is full.
    #[inline(always)]
    pub fn make_room(&mut self, entries: &mut Entries) {
        if self.counts.kept() >= self.most {
            self.evictions += 1;
            let next = self.young.clone();
            self.old = Some(std::mem::replace(&mut self.young, next));
            self.start_generation(entries);
        }
    }

    #[inline(never)]
    fn start_generation(&mut self, entries: &mut Entries) {
        self.counts.reset_counts();
        self.young.windows.iter_mut().for_each(Window::forget);
        self.young.own.clear();
        entries.forget();
    }

    /// Returns the block at an address, after an IT with the given outcome or outside IT blocks,
    /// building it if necessary. Returns `None` if the address has none.
    pub fn block(
        &mut self,
        state: &mut State,
        address: u32,
        it_outcome: Option<ItOutcome>,
    ) -> Option<Arc<Block>> {
        if let Some(block) = self.young.find(address, it_outcome) {
            return Some(block);
        }
        let Some(it_outcome) = it_outcome else {
            let block = self.adopt_or_build(state, address, None)?;
            return self.young.keep(block);
        };
        let [fails, holds] = [false, true].map(|holds| {
            self.adopt_or_build(state, address, Some(ItOutcome { holds, ..it_outcome }))
        });
        let [fails, holds] = self.young.insert_it_pair([fails?, holds?])?;
        Some(if it_outcome.holds { holds } else { fails })
    }

    /// Takes a block from the old generation, or builds it.
    fn adopt_or_build(
        &mut self,
        state: &mut State,
        address: u32,
        it_outcome: Option<ItOutcome>,
    ) -> Option<Arc<Block>> {
        let old = self.old.as_ref().and_then(|old| old.find(address, it_outcome));
        let block = match old {
            Some(block) => block,
            None => {
                Arc::new(self.young.window(address)?.block(state, address, it_outcome, AT_FIRST)?)
            }
        };
        self.counts.keep(block.kept());
        Some(block)
    }

    /// Records the outcome of the branch at an address.
    pub fn note(&mut self, address: u32, seen: BranchOutcome) {
        if let Some(window) = self.young.window(address) {
            let (_, within) = window.place(address);
            window.page(address).note(within, seen);
        }
    }

    /// Records the facts that the instruction at an address has shown.
    pub fn note_shown(&mut self, address: u32, facts: u32) {
        if let Some(window) = self.young.window(address) {
            let (_, within) = window.place(address);
            window.page(address).shown[within].store(facts, Ordering::Relaxed);
        }
    }

    /// Returns the facts that the instruction at an address has last shown.
    pub fn last_shown(&mut self, address: u32) -> u32 {
        self.young.window(address).map_or(0, |window| {
            let (_, within) = window.place(address);
            window.page(address).shown[within].load(Ordering::Relaxed)
        })
    }

    /// Retranslates a block by the profile of its branches.
    pub fn retranslate(&mut self, state: &mut State, block: &Block) {
        let Some(window) = self.young.window(block.address) else { return };
        if let Some(again) = window.block(state, block.address, block.it_outcome, OFTEN) {
            let steps = again.kept();
            let translate = |address, steps: &[ScheduledOp]| {
                NativeCode::of(state, &self.native_pages, address, steps, None)
            };
            let again = again.without_profile().with_native_code(translate);
            if self.young.replace(block, again) {
                self.counts.keep(steps);
                self.counts.release(block.kept());
            }
        }
    }
}

const fn page_of(address: u32) -> u32 {
    address & !(PAGE_BYTES - 1)
}
