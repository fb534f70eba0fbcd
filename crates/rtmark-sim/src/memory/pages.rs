//! Ranges of addresses from which code may run, with the information derived from each page.
//!
//! Code in flash cannot change while it runs, so its pages are shared by all clones of a machine. Code in
//! RAM belongs to one machine, and what is known of it is dropped when it is overwritten.

use std::sync::{Arc, OnceLock};

use crate::arch::PAGE_BYTES;
use crate::soc::{Control, Memory, MemoryKind, Soc};

const PAGE_SHIFT: u32 = PAGE_BYTES.trailing_zeros();
/// The number of halfwords in a page.
pub const PAGE_HALFWORDS: usize = 1 << (PAGE_SHIFT - 1);

/// The information about a page of code, which is too large for the stack.
pub trait CodePage {
    /// Creates a page about which nothing is known.
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

/// Whether a memory can make the core wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    Never,
    /// Depending on its file, or on a register that the program writes.
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

/// A range of addresses from which code may run.
#[derive(Debug)]
pub struct Window<P> {
    pub base: u32,
    size: u32,
    /// The size of its memory's lines, if entering a line affects timing.
    pub line_bytes: Option<u32>,
    /// The size of its memory's lines, whether or not that affects timing, as a power of two.
    pub line_shift: u32,
    pub pages: Pages<P>,
}

// A function of its own, because the page is too large for the stack of callers that only look one up.
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

    /// Returns the windows of a soc, the most used first.
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

    /// Returns whether an address is in the window.
    pub const fn covers(&self, address: u32) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// Returns whether its pages belong to this machine alone.
    pub const fn is_own(&self) -> bool {
        matches!(self.pages, Pages::Own(_))
    }

    /// Returns the address of the first page, which may be before the window.
    pub const fn first_page(&self) -> u32 {
        self.base & !(PAGE_BYTES - 1)
    }

    /// Returns the number of an address' page, and of its halfword in that page.
    pub const fn place(&self, address: u32) -> (usize, usize) {
        let page = (address - self.first_page()) >> PAGE_SHIFT;
        (page as usize, (address % PAGE_BYTES / 2) as usize)
    }

    /// Returns the page of an address, if anything is known of it.
    pub fn known_page(&self, address: u32) -> Option<&P> {
        let (at, _) = self.place(address);
        match &self.pages {
            Pages::Shared(pages) => pages.get(at)?.get().map(Box::as_ref),
            Pages::Own(pages) => pages.get(at)?.as_deref(),
        }
    }

    /// Returns the page of an address in RAM, if anything is known of it.
    pub fn own_page(&mut self, address: u32) -> Option<&mut P> {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(_) => None,
            Pages::Own(pages) => pages.get_mut(at)?.as_deref_mut(),
        }
    }

    /// Returns the page of an address, creating it if necessary.
    pub fn page(&mut self, address: u32) -> &P {
        let (at, _) = self.place(address);
        match &mut self.pages {
            Pages::Shared(pages) => pages[at].get_or_init(boxed),
            Pages::Own(pages) => pages[at].get_or_insert_with(boxed),
        }
    }

    /// Drops the pages that belong to this machine alone.
    pub fn forget_own(&mut self) {
        if self.is_own() {
            self.forget();
        }
    }

    /// Drops all pages.
    pub fn forget(&mut self) {
        self.pages = match &self.pages {
            Pages::Shared(pages) => Pages::new(MemoryKind::Flash, pages.len()),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
    }
}

impl<P: CodePage> Clone for Window<P> {
    /// Pages in RAM are not cloned, because the contents of the clone's memory will differ.
    fn clone(&self) -> Self {
        let pages = match &self.pages {
            Pages::Shared(pages) => Pages::Shared(Arc::clone(pages)),
            Pages::Own(pages) => Pages::new(MemoryKind::Ram, pages.len()),
        };
        Self { pages, ..*self }
    }
}
