//! Pages of data that need only one lookup: access rights, memory and timing together.
//!
//! A page is kept only if a single protection region and a single memory cover it, and it is
//! tightly coupled or cached. Accesses to any other page take the slow path. The pages are
//! forgotten when coprocessor 15 registers are written, and are not copied with machines.

use super::cache::LINE;
use super::lines::{CachedLine, access_tag, mode};
use super::memory::Latency;
use crate::armr::control::CachePolicy;

/// The size of a page, as a power of two.
pub const PAGE_BITS: u32 = 12;
const COUNT: usize = 64;
/// A page number that no address has.
const NONE: u32 = u32::MAX;

/// Access rights.
pub const READS: u8 = 1;
pub const WRITES: u8 = 2;

/// The timing of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Tightly coupled: accesses never wait.
    Coupled,
    Cached(CachePolicy, Latency),
}

/// The properties of a page.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    page: u32,
    /// The memory, and the offset at which the page begins in it.
    pub memory: usize,
    pub offset: u32,
    pub speed: Speed,
    /// Access rights: privileged, user.
    pub rights: [u8; 2],
    /// Whether accesses must be aligned to their size.
    pub aligned: bool,
}

impl Window {
    pub const fn new(address: u32, memory: usize, offset: u32, speed: Speed) -> Self {
        let page = address >> PAGE_BITS;
        Self { page, memory, offset, speed, rights: [0; 2], aligned: true }
    }

    /// Returns the offset of an address in the memory.
    #[inline(always)]
    pub const fn place(&self, address: u32) -> usize {
        self.offset as usize + (address & ((1 << PAGE_BITS) - 1)) as usize
    }

    /// Returns whether the page contains an address.
    pub const fn has(&self, address: u32) -> bool {
        self.page == address >> PAGE_BITS
    }

    /// Returns whether the page contains consecutive bytes and permits access to them, in units of
    /// a number of bytes.
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

/// The pages in use.
#[derive(Debug)]
pub struct Windows {
    known: Box<[Window; COUNT]>,
    /// Pages with decoded code, in ascending order. They are kept without write permission, so that
    /// stores to them take the slow path.
    code: Vec<u32>,
}

impl Default for Windows {
    fn default() -> Self {
        let none = Window { page: NONE, ..Window::new(0, 0, 0, Speed::Coupled) };
        Self { known: Box::new([none; COUNT]), code: Vec::new() }
    }
}

/// Copies of machines start empty, since most of them are short-lived.
impl Clone for Windows {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Windows {
    const fn at(address: u32) -> usize {
        (address >> PAGE_BITS) as usize % COUNT
    }

    /// Returns the window that may be the page of an address; [`Window::lets`] checks it.
    #[inline(always)]
    pub fn find(&self, address: u32) -> &Window {
        &self.known[Self::at(address)]
    }

    /// Returns the line that contains an address, if its page is known, cached, and does not require
    /// aligned accesses. It permits writes only if `is_dirty`.
    pub fn line(&self, address: u32, privileged: bool, is_dirty: bool) -> Option<CachedLine> {
        let window = self.find(address);
        let Speed::Cached(policy, _) = window.speed else { return None };
        if !window.has(address) || window.aligned {
            return None;
        }
        let address = address & !(LINE - 1);
        let rights = window.rights[usize::from(!privileged)];
        let tag = access_tag(address, 1, mode(privileged));
        let is_back = matches!(policy, CachePolicy::WriteBack { .. });
        Some(CachedLine {
            reads: if rights & READS == 0 { NONE } else { tag },
            writes: if rights & WRITES == 0 || !is_back || !is_dirty { NONE } else { tag },
            begins: window.place(address) as u32,
            memory: window.memory as u32,
        })
    }

    /// Keeps a page.
    pub fn keep(&mut self, mut window: Window) {
        if self.code.binary_search(&window.page).is_ok() {
            window.rights = window.rights.map(|rights| rights & !WRITES);
        }
        self.known[Self::at(window.page << PAGE_BITS)] = window;
    }

    /// Records that code at an address has been decoded. Returns whether it is the first of its
    /// page.
    pub fn has_code(&mut self, address: u32) -> bool {
        let page = address >> PAGE_BITS;
        let Err(at) = self.code.binary_search(&page) else { return false };
        self.code.insert(at, page);
        let window = &mut self.known[Self::at(address)];
        if window.page == page {
            window.page = NONE;
        }
        true
    }

    /// Forgets all pages, but not where code is.
    pub fn forget(&mut self) {
        self.known.iter_mut().for_each(|window| window.page = NONE);
    }
}
