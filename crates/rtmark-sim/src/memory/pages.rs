//! Ranges of addresses that code may run from, with what is known of each page of them.
//!
//! Code in flash cannot change while it runs: what is known of it is shared by every clone of a
//! machine. Code in RAM is each machine's own, and forgotten where it is written over.

use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::soc::{Control, Memory, MemoryKind, Soc};

const PAGE_SHIFT: u32 = PAGE_BYTES.trailing_zeros();
/// Halfwords in a page.
pub const PAGE_HALFWORDS: usize = 1 << (PAGE_SHIFT - 1);

/// What is known of a page, which is too large for the stack.
pub trait CodePage {
    /// A page of which nothing is known.
    fn empty() -> Self;
}

/// The pages of code that does not change.
pub type SharedPages<P> = Arc<[OnceLock<Box<P>>]>;

/// The pages of a range.
#[derive(Debug)]
pub enum Pages<P> {
    Shared(SharedPages<P>),
    Own(Vec<Option<Box<P>>>),
}

impl<P: CodePage> Pages<P> {
    fn new(kind: MemoryKind, count: usize) -> Self {
        match kind {
            MemoryKind::Flash => Self::Shared((0..count).map(|_| OnceLock::new()).collect()),
            MemoryKind::Ram => Self::Own((0..count).map(|_| None).collect()),
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
pub struct Window<P> {
    pub base: u32,
    size: u32,
    /// The size of its memory's lines, if it matters when one is entered.
    pub line_bytes: Option<u32>,
    /// Their size whether it matters or not, as a power of two.
    pub line_shift: u32,
    pub pages: Pages<P>,
}

// Too large for the stack of whoever only asks for a page.
#[inline(never)]
fn boxed<P: CodePage>() -> Box<P> {
    Box::new(P::empty())
}

impl<P: CodePage> Window<P> {
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

    /// The windows of a soc, the most used first.
    pub fn of(soc: &Soc) -> Vec<Self> {
        let mut windows = Vec::new();
        for memory in &soc.memories {
            let waits = Waits::of(memory, soc);
            for base in std::iter::once(memory.base).chain(memory.aliases.iter().copied()) {
                windows.push(Self::new(base, memory, waits));
            }
        }
        windows
    }

    /// Whether an address lies in the window.
    pub const fn covers(&self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Whether its pages are this machine's own.
    pub const fn is_own(&self) -> bool {
        matches!(self.pages, Pages::Own(_))
    }

    /// Where the first page begins, which may be before the window.
    pub const fn first_page(&self) -> u32 {
        self.base & !(PAGE_BYTES - 1)
    }

    /// The number of the page of an address, and of its halfword there.
    pub const fn place(&self, address: u32) -> (usize, usize) {
        let page = (address - self.first_page()) >> PAGE_SHIFT;
        (page as usize, (address % PAGE_BYTES / 2) as usize)
    }

    /// The page of an address, if anything is known of it.
    pub fn known_page(&self, address: u32) -> Option<&P> {
        let (at, _) = self.place(address);
        match &self.pages {
            Pages::Shared(pages) => pages.get(at)?.get().map(Box::as_ref),
            Pages::Own(pages) => pages.get(at)?.as_deref(),
        }
    }

    /// The page of an address in RAM, if anything is known of it.
    pub fn own_page(&mut self, address: u32) -> Option<&mut P> {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(_) => None,
            Pages::Own(pages) => pages.get_mut(at)?.as_deref_mut(),
        }
    }

    /// The page of an address, made now if need be.
    pub fn page(&mut self, address: u32) -> &P {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(pages) => pages[at].get_or_init(boxed),
            Pages::Own(pages) => pages[at].get_or_insert_with(boxed),
        }
    }

    /// Forgets the pages that are this machine's own.
    pub fn forget_own(&mut self) {
        if self.is_own() {
            self.forget();
        }
    }

    /// Forgets all pages.
    pub fn forget(&mut self) {
        self.pages = match &self.pages {
            Pages::Shared(pages) => Pages::new(MemoryKind::Flash, pages.len()),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
    }
}

impl<P: CodePage> Clone for Window<P> {
    /// Pages in RAM are not cloned: a clone's memory goes its own way.
    fn clone(&self) -> Self {
        let pages = match &self.pages {
            Pages::Shared(pages) => Pages::Shared(Arc::clone(pages)),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
        Self { pages, ..*self }
    }
}
