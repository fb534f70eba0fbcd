//! The code cache: blocks by their addresses, and the profile of branches that forms them.
//!
//! The run loop executes *blocks*: the instructions from one address up to the
//! first one that always goes elsewhere, one after the other in memory, so that
//! the next one is found without looking at this one. Blocks of code in flash are shared by every
//! clone of a machine; those of code in RAM are each machine's own, and forgotten a page at a
//! time when it is written over. A machine's state, which knows when that happens, knows nothing
//! of blocks: the cache follows it ([`CodeCache::follow`]) before a block is looked for.

use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::engine::block::Block;
use crate::engine::fetch_plan::SharedCounts;
use crate::memory::pages::{CodePage, PAGE_HALFWORDS, Pages, SharedPages, Window};
use crate::soc::Soc;
use crate::state::State;

/// The most instructions in a block: blocks may overlap.
const BLOCK_SLOTS: usize = 32;
/// The most instructions in a block that is executed often, of which there are few.
const OFTEN_SLOTS: usize = 192;

/// The blocks that begin in a page of code, and what branches in it have done.
#[derive(Debug)]
pub struct Page {
    blocks: [OnceLock<Box<Block>>; PAGE_HALFWORDS],
    /// Behind an IT: the block where its condition does not hold, and where it does.
    it_blocks: [OnceLock<Box<[Block; 2]>>; PAGE_HALFWORDS],
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
    /// The block that begins at an offset from the page's first address, if that lies in
    /// the page and the block is known.
    #[inline(always)]
    pub fn block(&self, offset: u32) -> Option<&Block> {
        self.blocks.get((offset / 2) as usize)?.get().map(|block| block.latest())
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

    /// The block behind an IT whose condition holds, or does not.
    #[inline(always)]
    pub fn it_block(&self, offset: u32, holds: bool) -> Option<&Block> {
        Some(self.it_blocks.get((offset / 2) as usize)?.get()?[usize::from(holds)].latest())
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

/// The pages of code that does not change, held apart from the machine.
pub struct Flash {
    epoch: u32,
    base: u32,
    pages: SharedPages<Page>,
}

impl Flash {
    /// The page that holds an address and the page's first address, if anything is
    /// known of it.
    #[inline(always)]
    pub fn page(&self, address: u32) -> Option<(&Page, u32)> {
        let at = address.wrapping_sub(self.base) / PAGE_BYTES;
        let page = self.pages.get(at as usize)?.get()?;
        Some((page, address & !(PAGE_BYTES - 1)))
    }
}

/// The blocks of every memory of a soc.
#[derive(Clone, Debug)]
pub struct CodeCache {
    windows: Vec<Window<Page>>,
    /// How often everything has been forgotten.
    epoch: u32,
    pub counts: SharedCounts,
}

impl CodeCache {
    pub fn new(soc: &Soc) -> Self {
        Self { windows: Window::of(soc), epoch: 0, counts: SharedCounts::default() }
    }

    /// Forgets what the state has forgotten since.
    #[inline(always)]
    pub fn follow(&mut self, state: &mut State) {
        for (window, page) in state.predecoded.take_forgotten() {
            if let Some(Pages::Own(pages)) = self.windows.get_mut(window).map(|it| &mut it.pages)
                && let Some(page) = pages.get_mut(page)
            {
                *page = None;
            }
        }
        if self.epoch != state.predecoded.epoch() {
            self.epoch = state.predecoded.epoch();
            self.counts.forget_steps();
            self.windows.iter_mut().for_each(Window::forget);
        }
    }

    /// Whether everything has been forgotten since.
    #[inline(always)]
    pub const fn has_forgotten(&self, flash: &Flash) -> bool {
        flash.epoch != self.epoch
    }

    /// The pages that an address belongs to, if nothing there can change; else none.
    pub fn flash(&self, address: u32) -> Flash {
        let shared = self.windows.iter().find_map(|window| match &window.pages {
            Pages::Shared(pages) if window.covers(address) => Some(Flash {
                epoch: self.epoch,
                base: window.first_page(),
                pages: Arc::clone(pages),
            }),
            _ => None,
        });
        shared.unwrap_or_else(|| Flash { epoch: self.epoch, base: 0, pages: Arc::new([]) })
    }

    /// The page of an address in RAM, which is this machine's own.
    pub fn own_page(&self, address: u32) -> Option<(Arc<Page>, u32)> {
        let window = self.windows.iter().find(|window| window.covers(address))?;
        let Pages::Own(pages) = &window.pages else { return None };
        let page = pages.get(window.place(address).0)?.as_ref()?;
        Some((Arc::clone(page), address & !(PAGE_BYTES - 1)))
    }

    /// Makes the block at an address known; answers whether there is one.
    pub fn make_block(&mut self, state: &mut State, address: u32) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let Some(block) = window.block(state, address, None, BLOCK_SLOTS) else {
            return false;
        };
        let (_, within) = window.place(address);
        window.page(address).blocks[within].get_or_init(|| Box::new(block));
        true
    }

    /// Notes what the jump at an address has done.
    pub fn note(&mut self, address: u32, seen: BranchOutcome) {
        if let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) {
            let (_, within) = window.place(address);
            window.page(address).note(within, seen);
        }
    }

    /// Forms the block at an address once more, by what has been seen of its branches.
    pub fn retranslate(&mut self, state: &mut State, address: u32, it_outcome: Option<ItOutcome>) {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return;
        };
        let Some(retranslated) = window.block(state, address, it_outcome, OFTEN_SLOTS) else {
            return;
        };
        let (_, within) = window.place(address);
        let page = window.page(address);
        let block = match it_outcome {
            None => page.blocks[within].get().map(Box::as_ref),
            Some(ItOutcome { holds, .. }) => {
                page.it_blocks[within].get().map(|both| &both[usize::from(holds)])
            }
        };
        if let Some(block) = block {
            block.replace(retranslated);
        }
    }

    /// Makes the blocks known that begin behind an IT, which leaves this ITSTATE.
    pub fn make_it_blocks(&mut self, state: &mut State, address: u32, it: u8) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let mut block = |holds| {
            let it_outcome = Some(ItOutcome { it, holds });
            window.block(state, address, it_outcome, BLOCK_SLOTS)
        };
        let (Some(fails), Some(holds)) = (block(false), block(true)) else { return false };
        let (_, within) = window.place(address);
        window.page(address).it_blocks[within].get_or_init(|| Box::new([fails, holds]));
        true
    }
}
