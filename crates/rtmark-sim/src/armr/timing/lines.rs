//! CachedLines of data in the cache whose accesses need only one lookup: access rights, memory and the
//! hit together.
//!
//! A line is kept for each set of the cache, until the cache evicts or invalidates anything in that
//! set, or access rights change.

use super::cache::LINE;

const COUNT: usize = 256;
/// A tag that no access has.
const NONE: u32 = u32::MAX;
/// The bit of a tag that distinguishes privileged accesses.
const PRIVILEGED: u32 = 1 << 4;

/// A line of a cached page, present in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachedLine {
    /// The tag of permitted reads; see [`access_tag`].
    pub reads: u32,
    /// The tag of permitted writes, if the line is dirty, so that a write changes nothing else.
    pub writes: u32,
    /// The offset at which it begins in a memory.
    pub begins: u32,
    pub memory: u32,
}

impl CachedLine {
    const NONE: Self = Self { reads: NONE, writes: NONE, begins: 0, memory: 0 };

    /// Returns the memory, and the offset of an address in it.
    #[inline(always)]
    pub const fn place(&self, address: u32) -> (usize, usize) {
        (self.memory as usize, self.begins as usize + (address & (LINE - 1)) as usize)
    }
}

/// Returns the part of a tag that distinguishes privileged accesses.
#[inline(always)]
pub const fn mode(privileged: bool) -> u32 {
    if privileged { PRIVILEGED } else { 0 }
}

/// Returns the tag of an aligned access: its line and mode. The tag of an access that is not aligned to
/// its size differs from those of all lines.
#[inline(always)]
pub const fn access_tag(address: u32, bytes: u32, mode: u32) -> u32 {
    address & (!(LINE - 1) | (bytes - 1)) | mode
}

/// The lines kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedLines {
    all: Box<[CachedLine; COUNT]>,
    /// The part of the tags of all accesses that distinguishes privileged ones.
    mode: u32,
}

impl Default for CachedLines {
    fn default() -> Self {
        Self { all: Box::new([CachedLine::NONE; COUNT]), mode: 0 }
    }
}

impl CachedLines {
    const fn set(address: u32) -> usize {
        (address / LINE) as usize % COUNT
    }

    /// Returns the line that may contain an address; compare its tags.
    #[inline(always)]
    pub const fn at(&self, address: u32) -> &CachedLine {
        &self.all[Self::set(address)]
    }

    /// Sets whether the accesses that follow are privileged.
    pub const fn set_mode(&mut self, privileged: bool) {
        self.mode = mode(privileged);
    }

    /// Returns whether an aligned access within a line may read.
    #[inline(always)]
    pub const fn reads(&self, address: u32, bytes: u32) -> bool {
        self.at(address).reads == access_tag(address, bytes, self.mode)
    }

    /// Returns whether an aligned access within a line may write, and changes nothing but bytes.
    #[inline(always)]
    pub const fn writes(&self, address: u32, bytes: u32) -> bool {
        self.at(address).writes == access_tag(address, bytes, self.mode)
    }

    pub const fn keep(&mut self, address: u32, line: CachedLine) {
        self.all[Self::set(address)] = line;
    }

    /// Forgets the line kept for the set of an address.
    pub const fn forget(&mut self, address: u32) {
        self.keep(address, CachedLine::NONE);
    }

    pub fn clear(&mut self) {
        self.all.fill(CachedLine::NONE);
    }
}
