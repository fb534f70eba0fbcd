//! Lines of data in the cache whose accesses need only one lookup: access rights, memory and the
//! hit together.
//!
//! A line is kept for each set of the cache, until the cache evicts or invalidates anything in that
//! set, or access rights change.

use super::cache::LINE;

const COUNT: usize = 256;
/// A name that no access has.
const NONE: u32 = u32::MAX;
/// The bit of a name that distinguishes privileged accesses.
const PRIVILEGED: u32 = 1 << 4;

/// A line of a cached page, present in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The name of the reads that are permitted, and of the writes if they are, and the line is
    /// dirty: see [`name`].
    pub reads: u32,
    pub writes: u32,
    /// The offset at which it begins in a memory.
    pub begins: u32,
    pub memory: u32,
}

impl Line {
    const NONE: Self = Self { reads: NONE, writes: NONE, begins: 0, memory: 0 };

    /// Returns the memory, and the offset of an address in it.
    #[inline(always)]
    pub const fn place(&self, address: u32) -> (usize, usize) {
        (self.memory as usize, self.begins as usize + (address & (LINE - 1)) as usize)
    }
}

/// Returns the part of names that tells privileged accesses from others.
#[inline(always)]
pub const fn mode(privileged: bool) -> u32 {
    if privileged { PRIVILEGED } else { 0 }
}

/// Returns the name of an aligned access: its line and mode. The name of an access that is not
/// aligned to its size differs from all names of lines.
#[inline(always)]
pub const fn name(address: u32, bytes: u32, mode: u32) -> u32 {
    address & (!(LINE - 1) | (bytes - 1)) | mode
}

/// The lines kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Box<[Line; COUNT]>);

impl Default for Lines {
    fn default() -> Self {
        Self(Box::new([Line::NONE; COUNT]))
    }
}

impl Lines {
    const fn set(address: u32) -> usize {
        (address / LINE) as usize % COUNT
    }

    /// Returns the line that may contain an address; its names tell.
    #[inline(always)]
    pub const fn at(&self, address: u32) -> &Line {
        &self.0[Self::set(address)]
    }

    pub const fn keep(&mut self, address: u32, line: Line) {
        self.0[Self::set(address)] = line;
    }

    /// Forgets the line kept for the set of an address.
    pub const fn forget(&mut self, address: u32) {
        self.keep(address, Line::NONE);
    }

    pub fn clear(&mut self) {
        self.0.fill(Line::NONE);
    }
}
