//! The code cache: blocks by their addresses, and the profile of branches that forms them.
//!
//! The run loop executes *blocks*: the instructions from one address up to the
//! first one that always goes elsewhere, one after the other in memory, so that
//! the next one is found without looking at this one. Blocks of code in flash are shared by every
//! clone of a machine; those of code in RAM are each machine's own, and end with the first byte of
//! theirs that is written over. A machine's state, which knows when that happens, knows nothing
//! of blocks: the cache follows it ([`CodeCache::follow`]) before a block is looked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::engine::block::Block;
use crate::engine::block_builder::Extent;
use crate::engine::entries::Entries;
use crate::engine::fetch_plan::SharedCounts;
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Window};
use crate::soc::Soc;
use crate::state::State;

/// How long a block is at first: blocks may overlap.
const AT_FIRST: Extent = Extent { slots: 32, unsure: 4 };
/// How long a block is that is executed often.
const OFTEN: Extent = Extent { slots: 192, unsure: 3 };

/// The blocks that begin in a page of code, and what branches in it have done.
#[derive(Debug)]
pub struct Page {
    blocks: [OnceLock<Arc<Block>>; PAGE_HALFWORDS],
    /// Behind an IT: the block where its condition does not hold, and where it does.
    it_blocks: [OnceLock<Box<[Arc<Block>; 2]>>; PAGE_HALFWORDS],
    /// How much more often each branch has been seen to be taken than not.
    pub taken: [AtomicI8; PAGE_HALFWORDS],
    /// Where each indirect jump has been seen to lead last; zero before that.
    pub leads: [AtomicU32; PAGE_HALFWORDS],
}

impl CodePage for Page {
    fn empty() -> Self {
        Self {
            blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            it_blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            taken: [const { AtomicI8::new(0) }; PAGE_HALFWORDS],
            leads: [const { AtomicU32::new(0) }; PAGE_HALFWORDS],
        }
    }
}

impl Page {
    /// The block that begins at a halfword, behind an IT or not.
    fn block(&self, halfword: usize, it_outcome: Option<ItOutcome>) -> Option<&Arc<Block>> {
        match it_outcome {
            None => self.blocks.get(halfword)?.get(),
            Some(ItOutcome { holds, .. }) => {
                Some(&self.it_blocks.get(halfword)?.get()?[usize::from(holds)])
            }
        }
    }

    /// Forgets the blocks that begin at a halfword; answers them.
    fn forget(&mut self, halfword: usize) -> impl Iterator<Item = Arc<Block>> + use<> {
        let block = self.blocks.get_mut(halfword).and_then(OnceLock::take);
        let it_blocks = self.it_blocks.get_mut(halfword).and_then(OnceLock::take);
        block.into_iter().chain(it_blocks.into_iter().flat_map(|both| *both))
    }

    /// Notes what the jump at a halfword of the page has done.
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

/// What a jump has done, by which blocks are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// A branch; of an IT, that its condition held.
    Taken,
    NotTaken,
    /// An indirect jump.
    LedTo(u32),
}

/// How a block that stands behind an IT is conditional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItOutcome {
    /// ITSTATE before its first instruction.
    pub it: u8,
    /// Whether the condition holds.
    pub holds: bool,
}

impl ItOutcome {
    /// A number of its own, which is not zero.
    #[inline(always)]
    pub fn number(self) -> u16 {
        u16::from(self.it) << 1 | u16::from(self.holds)
    }
}

/// Blocks by the memories that they are from.
#[derive(Debug)]
struct Generation {
    windows: Vec<Window<Page>>,
    /// Blocks that reach into a page of code in RAM, by the page's first address.
    own: BTreeMap<u32, Vec<Arc<Block>>>,
}

impl Clone for Generation {
    /// Code in RAM is prepared anew by each clone.
    fn clone(&self) -> Self {
        Self { windows: self.windows.clone(), own: BTreeMap::new() }
    }
}

impl Generation {
    fn window(&mut self, address: u32) -> Option<&mut Window<Page>> {
        self.windows.iter_mut().find(|window| window.covers(address))
    }

    /// The block at an address as it has been translated last.
    fn find(&self, address: u32, it_outcome: Option<ItOutcome>) -> Option<&Arc<Block>> {
        let window = self.windows.iter().find(|window| window.covers(address))?;
        let (_, within) = window.place(address);
        Some(window.known_page(address)?.block(within, it_outcome)?.latest())
    }

    /// Has a block found at its address, or one that another thread has kept before.
    fn keep(&mut self, block: Arc<Block>) -> Option<Arc<Block>> {
        let window = self.window(block.address)?;
        let (_, within) = window.place(block.address);
        let kept = window.page(block.address).blocks[within].get_or_init(|| block);
        let kept = Arc::clone(kept);
        self.register(&kept);
        Some(kept)
    }

    /// The same with two of them that stand behind an IT.
    fn keep_both(&mut self, both: [Arc<Block>; 2]) -> Option<[Arc<Block>; 2]> {
        let address = both[0].address;
        let window = self.window(address)?;
        let (_, within) = window.place(address);
        let kept = window.page(address).it_blocks[within].get_or_init(|| Box::new(both)).clone();
        kept.iter().for_each(|block| self.register(block));
        Some(*kept)
    }

    /// Notes where a block of code in RAM reaches.
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

    /// Ends the blocks that execute an instruction from a halfword in RAM.
    fn end_at(&mut self, halfword: u32) {
        let known = self.own.get(&page_of(halfword)).map_or(&[][..], Vec::as_slice);
        let ended = known.iter().filter(|block| block.executes_from(halfword));
        let ended: Vec<u32> = ended.map(|block| block.address).collect();
        for address in ended {
            self.end_block(address);
        }
    }

    /// Ends the blocks that begin at an address in RAM.
    fn end_block(&mut self, address: u32) {
        let Some(window) = self.window(address) else { return };
        let (_, within) = window.place(address);
        let Some(page) = window.own_page(address) else { return };
        for block in page.forget(within) {
            for page in [&block, block.latest()].into_iter().flat_map(|block| block.pages()) {
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

/// Steps of blocks, schedules and fetch plans that a generation of blocks keeps. A machine has two
/// of them at most, a step takes 40 bytes.
const STEPS: usize = 1 << 21;

/// The blocks of every memory of a soc.
///
/// Their memory is bounded: when there are too many they become the old ones, and new ones are kept
/// in their place. An old one that is executed is taken over; the others go when the new ones have
/// become too many in their turn.
#[derive(Clone, Debug)]
pub struct CodeCache {
    young: Generation,
    old: Option<Generation>,
    /// How often everything has been forgotten.
    epoch: u32,
    pub counts: SharedCounts,
    /// Steps that the young blocks may keep.
    most: usize,
    /// How often there have been more.
    pub evictions: u64,
    /// The blocks that are executed now, where they are found at one look.
    pub entries: Entries,
}

impl CodeCache {
    pub fn new(soc: &Soc) -> Self {
        Self {
            young: Generation { windows: Window::of(soc), own: BTreeMap::new() },
            old: None,
            epoch: 0,
            counts: SharedCounts::default(),
            most: STEPS,
            evictions: 0,
            entries: Entries::default(),
        }
    }

    /// Keeps so many steps at most, for tests of what becomes of that.
    pub fn limit(&mut self, steps: usize) {
        self.most = steps.min(STEPS);
    }

    /// Forgets what the state has forgotten since.
    #[inline(always)]
    pub fn follow(&mut self, state: &mut State, entries: &mut Entries) {
        if !state.predecoded.overwritten.is_empty() {
            self.end_overwritten(state);
            entries.renew();
        }
        if self.epoch != state.predecoded.epoch() {
            self.epoch = state.predecoded.epoch();
            self.begin_anew(entries);
            self.old = None;
        }
    }

    /// Ends the blocks that have been written over.
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

    /// Makes room if there are too many blocks.
    #[inline(always)]
    pub fn make_room(&mut self, entries: &mut Entries) {
        if self.counts.kept() >= self.most {
            self.evictions += 1;
            let next = self.young.clone();
            self.old = Some(std::mem::replace(&mut self.young, next));
            self.begin_anew(entries);
        }
    }

    #[inline(never)]
    fn begin_anew(&mut self, entries: &mut Entries) {
        self.counts.forget_steps();
        self.young.windows.iter_mut().for_each(Window::forget);
        self.young.own.clear();
        entries.forget();
    }

    /// The block at an address, behind an IT or not, formed now if need be; `None` where there
    /// is none.
    pub fn block(
        &mut self,
        state: &mut State,
        address: u32,
        it_outcome: Option<ItOutcome>,
    ) -> Option<Arc<Block>> {
        if let Some(block) = self.young.find(address, it_outcome) {
            return Some(Arc::clone(block));
        }
        let Some(it_outcome) = it_outcome else {
            let block = self.take_over_or_form(state, address, None)?;
            return self.young.keep(block);
        };
        let [fails, holds] = [false, true].map(|holds| {
            self.take_over_or_form(state, address, Some(ItOutcome { holds, ..it_outcome }))
        });
        let [fails, holds] = self.young.keep_both([fails?, holds?])?;
        Some(if it_outcome.holds { holds } else { fails })
    }

    /// A block that is among the old ones, or is formed now.
    fn take_over_or_form(
        &mut self,
        state: &mut State,
        address: u32,
        it_outcome: Option<ItOutcome>,
    ) -> Option<Arc<Block>> {
        let old = self.old.as_ref().and_then(|old| old.find(address, it_outcome)).cloned();
        let block = match old {
            Some(block) => block,
            None => {
                Arc::new(self.young.window(address)?.block(state, address, it_outcome, AT_FIRST)?)
            }
        };
        self.counts.keep(block.kept());
        Some(block)
    }

    /// Notes what the jump at an address has done.
    pub fn note(&mut self, address: u32, seen: BranchOutcome) {
        if let Some(window) = self.young.window(address) {
            let (_, within) = window.place(address);
            window.page(address).note(within, seen);
        }
    }

    /// Forms a block once more, by what has been seen of its branches.
    pub fn retranslate(&mut self, state: &mut State, block: &Block) {
        let Some(window) = self.young.window(block.address) else { return };
        if let Some(again) = window.block(state, block.address, block.it_outcome, OFTEN) {
            self.counts.keep(again.kept());
            let again = Arc::clone(block.replace(again));
            self.young.register(&again);
        }
    }
}

const fn page_of(address: u32) -> u32 {
    address & !(PAGE_BYTES - 1)
}
