//! Decoded code, kept so that each instruction is decoded once.
//!
//! The run loop executes *blocks*: the instructions from one address up to the
//! first one that always goes elsewhere, one after the other in memory, so that
//! the next one is found without looking at this one. Code in flash cannot change
//! while it runs: what is known of it is shared by every clone of a machine. Code
//! in RAM is each machine's own, and forgotten a page at a time when it is
//! written over.

use std::sync::atomic::{AtomicI8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::engine::block::Block;
use crate::engine::decoder::{Decoder, STOP};
use crate::engine::fetch_plan::SharedCounts;
use crate::isa::Slot;
use crate::memory::Bus;
use crate::soc::{Control, Memory, MemoryKind, Soc};

const PAGE_SHIFT: u32 = PAGE_BYTES.trailing_zeros();
/// Halfwords in a page.
const PAGE_HALFWORDS: usize = 1 << (PAGE_SHIFT - 1);
/// The most instructions in a block: blocks may overlap.
const BLOCK_SLOTS: usize = 32;
/// The most instructions in a block that is executed often, of which there are few.
const OFTEN_SLOTS: usize = 192;

/// What is known of a piece of code: what begins at each halfword.
#[derive(Debug)]
pub struct Page {
    /// `None` within where memory ends.
    slots: [OnceLock<Option<Slot>>; PAGE_HALFWORDS],
    blocks: [OnceLock<Box<Block>>; PAGE_HALFWORDS],
    /// Behind an IT: the block where its condition does not hold, and where it does.
    it_blocks: [OnceLock<Box<[Block; 2]>>; PAGE_HALFWORDS],
    /// How much more often each branch has been seen to be taken than not.
    pub taken: [AtomicI8; PAGE_HALFWORDS],
    /// Where each indirect jump has been seen to lead last; zero before that.
    pub leads: [AtomicU32; PAGE_HALFWORDS],
}

impl Page {
    // Too large for the stack of whoever only asks for a page.
    #[inline(never)]
    fn boxed() -> Box<Self> {
        Box::new(Self::new())
    }

    #[inline(never)]
    fn shared() -> Arc<Self> {
        Arc::new(Self::new())
    }

    #[expect(clippy::large_stack_arrays, reason = "on its way to the heap, once a page")]
    fn new() -> Self {
        Self {
            slots: [const { OnceLock::new() }; PAGE_HALFWORDS],
            blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            it_blocks: [const { OnceLock::new() }; PAGE_HALFWORDS],
            taken: [const { AtomicI8::new(0) }; PAGE_HALFWORDS],
            leads: [const { AtomicU32::new(0) }; PAGE_HALFWORDS],
        }
    }

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
    pub fn it_outcome(&self, offset: u32, holds: bool) -> Option<&Block> {
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

pub type SharedPages = Arc<[OnceLock<Box<Page>>]>;

#[derive(Debug)]
pub enum Pages {
    Shared(SharedPages),
    Own(Vec<Option<Arc<Page>>>),
}

impl Pages {
    fn new(kind: MemoryKind, count: usize) -> Self {
        match kind {
            MemoryKind::Flash => Self::Shared((0..count).map(|_| OnceLock::new()).collect()),
            MemoryKind::Ram => Self::Own(vec![None; count]),
        }
    }
}

/// Whether a memory ever makes the core wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Never,
    /// As its file says, or as a register says that the program writes.
    Sometimes,
}

impl Waits {
    fn of(memory: &Memory, soc: &Soc) -> Self {
        let registers = soc.peripherals.iter().flat_map(|peripheral| &peripheral.registers);
        let mut controls = registers.filter_map(|register| register.controls.as_ref());
        let is_set =
            |control: &Control| control.memory == memory.name && control.wait_states.is_some();
        if memory.timing.wait_states > 0 || controls.any(is_set) {
            Self::Sometimes
        } else {
            Self::Never
        }
    }
}

/// A range of addresses that code may run from.
#[derive(Debug)]
pub struct Window {
    pub base: u32,
    pub size: u32,
    /// The size of its memory's lines, if it matters when one is entered.
    pub line_bytes: Option<u32>,
    /// Their size whether it matters or not, as a power of two.
    pub line_shift: u32,
    pub pages: Pages,
}

impl Window {
    fn new(base: u32, memory: &Memory, waits: Waits) -> Self {
        let line_shift = memory.timing.line_bytes.trailing_zeros();
        let line_bytes = u32::from(memory.timing.line_bytes);
        let line_bytes = Some(line_bytes).filter(|_| waits == Waits::Sometimes);
        let pages = (base % PAGE_BYTES + memory.size).div_ceil(PAGE_BYTES) as usize;
        Self {
            base,
            size: memory.size,
            line_bytes,
            line_shift,
            pages: Pages::new(memory.kind, pages),
        }
    }

    pub const fn covers(&self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Where the first page begins, which may be before the window.
    const fn first_page(&self) -> u32 {
        self.base & !(PAGE_BYTES - 1)
    }

    /// The number of the page of an address, and of its halfword there.
    pub const fn place(&self, address: u32) -> (usize, usize) {
        let page = (address - self.first_page()) >> PAGE_SHIFT;
        (page as usize, (address % PAGE_BYTES / 2) as usize)
    }

    /// The page of an address, made now if need be.
    pub fn page(&mut self, address: u32) -> &Page {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(pages) => pages[at].get_or_init(Page::boxed),
            Pages::Own(pages) => pages[at].get_or_insert_with(Page::shared),
        }
    }

    /// The instruction at an address of the window.
    fn slot(&mut self, decoder: &Decoder, bus: &mut Bus, address: u32) -> Option<Slot> {
        let (line_bytes, own) = (self.line_bytes, matches!(self.pages, Pages::Own(_)));
        let (_, within) = self.place(address);
        *self.page(address).slots[within].get_or_init(|| {
            if own {
                bus.code_writes.cover(address);
            }
            let mut slot = decoder.decode_watched(bus, address)?;
            if let Some(line_bytes) = line_bytes {
                slot.place_in_lines(address, line_bytes);
            }
            Some(slot)
        })
    }

    /// Finds the instruction at any address.
    pub fn checked_slot(&mut self, decoder: &Decoder, bus: &mut Bus, address: u32) -> Option<Slot> {
        if self.covers(address) { self.slot(decoder, bus, address) } else { None }
    }
}

impl Clone for Window {
    /// Code in RAM is decoded anew by each clone: its memory goes its own way.
    fn clone(&self) -> Self {
        let pages = match &self.pages {
            Pages::Shared(pages) => Pages::Shared(Arc::clone(pages)),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
        Self { pages, ..*self }
    }
}

/// The pages of code that does not change, held apart from the machine.
pub struct Flash {
    epoch: u32,
    base: u32,
    pages: SharedPages,
}

impl Flash {
    /// The page that holds an address and the page's first address, if anything is
    /// known of it.
    #[inline(always)]
    pub fn page(&self, address: u32) -> Option<(&Page, u32)> {
        let at = address.wrapping_sub(self.base) >> PAGE_SHIFT;
        let page = self.pages.get(at as usize)?.get()?;
        Some((page, address & !(PAGE_BYTES - 1)))
    }
}

/// Every window of a soc, the most used first.
#[derive(Clone, Debug)]
pub struct Code {
    windows: Vec<Window>,
    pub decoder: Decoder,
    /// How often everything has been forgotten.
    epoch: u32,
    pub counts: SharedCounts,
}

impl Code {
    pub fn new(soc: &Soc, decoder: Decoder) -> Self {
        let mut code =
            Self { windows: Vec::new(), decoder, epoch: 0, counts: SharedCounts::default() };
        for memory in &soc.memories {
            let waits = Waits::of(memory, soc);
            for base in std::iter::once(memory.base).chain(memory.aliases.iter().copied()) {
                code.windows.push(Window::new(base, memory, waits));
            }
        }
        code
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
    pub fn make_block(&mut self, bus: &mut Bus, address: u32) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let Some(block) = window.block(&self.decoder, bus, address, None, BLOCK_SLOTS) else {
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
    pub fn retranslate(&mut self, bus: &mut Bus, address: u32, it_outcome: Option<ItOutcome>) {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return;
        };
        let Some(retranslated) = window.block(&self.decoder, bus, address, it_outcome, OFTEN_SLOTS)
        else {
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
    pub fn make_it_blocks(&mut self, bus: &mut Bus, address: u32, it: u8) -> bool {
        let Some(window) = self.windows.iter_mut().find(|window| window.covers(address)) else {
            return false;
        };
        let mut block = |holds| {
            let it_outcome = Some(ItOutcome { it, holds });
            window.block(&self.decoder, bus, address, it_outcome, BLOCK_SLOTS)
        };
        let (Some(fails), Some(holds)) = (block(false), block(true)) else { return false };
        let (_, within) = window.place(address);
        window.page(address).it_blocks[within].get_or_init(|| Box::new([fails, holds]));
        true
    }

    /// The instruction at an address, decoded now if need be.
    pub fn slot(&mut self, bus: &mut Bus, address: u32) -> Option<Slot> {
        match self.windows.iter_mut().find(|window| window.covers(address)) {
            Some(window) => window.slot(&self.decoder, bus, address),
            None => self.decoder.stops.binary_search(&address).is_ok().then_some(STOP),
        }
    }

    /// Forgets what a store of up to a word at `address` may have changed; answers
    /// whether anything had to be forgotten.
    pub fn forget(&mut self, address: u32) -> bool {
        let mut forgot = false;
        for halfword in 0..5 {
            let halfword = (address & !1).wrapping_sub(2).wrapping_add(halfword);
            for window in self.windows.iter_mut().filter(|window| window.covers(halfword)) {
                let (at, within) = window.place(halfword);
                if let Pages::Own(pages) = &mut window.pages
                    && let Some(known) = pages.get_mut(at)
                    && known.as_ref().is_some_and(|page| page.slots[within].get().is_some())
                {
                    *known = None;
                    forgot = true;
                }
            }
        }
        forgot
    }

    /// Forgets the code in RAM, after a reset.
    pub fn forget_own(&mut self) {
        for window in &mut self.windows {
            if let Pages::Own(pages) = &mut window.pages {
                pages.fill(None);
            }
        }
    }

    /// Whether everything has been forgotten since.
    pub const fn has_forgotten(&self, flash: &Flash) -> bool {
        flash.epoch != self.epoch
    }

    /// Forgets everything, after flash has been programmed or watches have changed.
    pub fn forget_all(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
        self.counts.forget_steps();
        for window in &mut self.windows {
            window.pages = match &window.pages {
                Pages::Shared(pages) => Pages::new(MemoryKind::Flash, pages.len()),
                Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
            };
        }
    }
}
