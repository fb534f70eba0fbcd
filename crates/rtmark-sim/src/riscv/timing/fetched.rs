//! The lines of caches from which code comes.
//!
//! While a cache holds what is fetched, it makes nobody wait: a passage is then the same as from a memory without
//! wait states. So passages are kept together with the lines that they fetch from, and recalled only while the caches
//! hold all of these. The caches are told of each use, as their replacement depends on it.

/// A line of a memory with a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CachedLine {
    /// The memory's index.
    pub memory: u8,
    /// The offset of the line's first byte in the memory.
    pub offset: u32,
}

/// The most lines that a passage may fetch from to be kept.
const MOST: usize = 4;

/// The lines from which a passage fetches, in order. A line that follows itself is there once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FetchedLines {
    count: u8,
    lines: [CachedLine; MOST],
}

impl FetchedLines {
    pub const NONE: Self = Self { count: 0, lines: [CachedLine { memory: 0, offset: 0 }; MOST] };

    /// Adds a line. Returns whether there is room for it.
    pub fn add(&mut self, line: CachedLine) -> bool {
        if self.all().last() == Some(&line) {
            return true;
        }
        let Some(free) = self.lines.get_mut(usize::from(self.count)) else { return false };
        *free = line;
        self.count += 1;
        true
    }

    /// Returns the lines in order.
    pub fn all(&self) -> &[CachedLine] {
        self.lines.get(..usize::from(self.count)).unwrap_or_default()
    }
}
