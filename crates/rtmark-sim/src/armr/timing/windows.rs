//! Pages of data of which everything is known at one look: what may be done there, which memory it
//! is, and what it takes.
//!
//! A page is here only where one region of protection and one memory have all of it, and where it
//! is tightly coupled or cached. What is asked of any other goes the long way. Nothing here is kept
//! when registers of coprocessor 15 are written, or in copies of machines.

use super::memory::Latency;
use crate::armr::control::Cached;

/// Bytes of a page, as a power of two.
pub const PAGE_BITS: u32 = 12;
const COUNT: usize = 64;
/// The page of no address.
const NONE: u32 = u32::MAX;

/// What may be done.
pub const READS: u8 = 1;
pub const WRITES: u8 = 2;

/// How long accesses take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Tightly coupled: they never wait.
    Coupled,
    Cached(Cached, Latency),
}

/// What is known of a page.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    page: u32,
    /// The memory, and where the page begins in it.
    pub memory: usize,
    pub offset: u32,
    pub speed: Speed,
    /// What may be done: privileged, by users.
    pub rights: [u8; 2],
    /// Whether accesses must be aligned to their size.
    pub aligned: bool,
}

impl Window {
    pub const fn new(address: u32, memory: usize, offset: u32, speed: Speed) -> Self {
        let page = address >> PAGE_BITS;
        Self { page, memory, offset, speed, rights: [0; 2], aligned: true }
    }

    /// Where an address lies in the memory.
    #[inline(always)]
    pub const fn place(&self, address: u32) -> usize {
        self.offset as usize + (address & ((1 << PAGE_BITS) - 1)) as usize
    }

    /// Whether it has an address.
    pub const fn has(&self, address: u32) -> bool {
        self.page == address >> PAGE_BITS
    }

    /// Whether it has bytes in a row, and lets them be read or written in units of so many bytes.
    #[inline(always)]
    pub const fn lets(
        &self,
        (address, bytes, unit): (u32, u32, u32),
        right: u8,
        privileged: bool,
    ) -> bool {
        let within = address & ((1 << PAGE_BITS) - 1);
        self.has(address)
            && self.rights[!privileged as usize] & right != 0
            && within + bytes <= 1 << PAGE_BITS
            && (!self.aligned || address & (unit - 1) == 0)
    }
}

/// The pages that have been met.
#[derive(Debug)]
pub struct Windows {
    known: Box<[Window; COUNT]>,
    /// Pages with code that has been decoded, in ascending order: what is stored there is looked
    /// at.
    code: Vec<u32>,
}

impl Default for Windows {
    fn default() -> Self {
        let none = Window { page: NONE, ..Window::new(0, 0, 0, Speed::Coupled) };
        Self { known: Box::new([none; COUNT]), code: Vec::new() }
    }
}

/// Copies of machines begin anew: most of them end soon.
impl Clone for Windows {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Windows {
    const fn at(address: u32) -> usize {
        (address >> PAGE_BITS) as usize % COUNT
    }

    /// What may be the page of an address, which [`Window::lets`] says.
    #[inline(always)]
    pub fn find(&self, address: u32) -> &Window {
        &self.known[Self::at(address)]
    }

    /// Keeps what is known of a page.
    pub fn keep(&mut self, mut window: Window) {
        if self.code.binary_search(&window.page).is_ok() {
            window.rights = window.rights.map(|rights| rights & !WRITES);
        }
        self.known[Self::at(window.page << PAGE_BITS)] = window;
    }

    /// Code at an address has been decoded.
    pub fn has_code(&mut self, address: u32) {
        let page = address >> PAGE_BITS;
        if let Err(at) = self.code.binary_search(&page) {
            self.code.insert(at, page);
            let window = &mut self.known[Self::at(address)];
            if window.page == page {
                window.page = NONE;
            }
        }
    }

    /// Forgets what is known, but for where code is.
    pub fn forget(&mut self) {
        self.known.iter_mut().for_each(|window| window.page = NONE);
    }
}
