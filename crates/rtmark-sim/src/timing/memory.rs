//! Memories that are slower than the core: wait states, read-ahead, line caches.
//!
//! A read brings a line and leaves it in the read buffer. With prefetch the next
//! line is read while the current one executes. The instruction cache keeps lines
//! whose reading made the core wait, so that a jump back finds them; the data
//! cache keeps lines of constants (RM0090, 3.5; RM0490 describes the same design
//! with other sizes). Not modelled: contention between prefetch and data reads.

use crate::soc::MemoryTiming;

/// Lines that were kept, of which the least recently used one gives way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LineCache {
    lines: Vec<CachedLine>,
    capacity: usize,
    /// How many kept lines share each hash, and where the latest of them is, so that
    /// most lines are found or known to be absent without a search.
    hashed: [u8; HASHES],
    hinted: [u8; HASHES],
    uses: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CachedLine {
    line: u32,
    last_use: u64,
}

const HASHES: usize = 256;

const fn hash(line: u32) -> usize {
    line as usize % HASHES
}

impl LineCache {
    fn new(capacity: u8) -> Self {
        let capacity = usize::from(capacity);
        Self {
            lines: Vec::with_capacity(capacity),
            capacity,
            hashed: [0; HASHES],
            hinted: [0; HASHES],
            uses: 0,
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.hashed = [0; HASHES];
        self.uses = 0;
    }

    fn position(&self, line: u32) -> Option<usize> {
        match self.hashed[hash(line)] {
            0 => None,
            1 => {
                let at = usize::from(self.hinted[hash(line)]);
                (self.lines[at].line == line).then_some(at)
            }
            _ => self.lines.iter().position(|held| held.line == line),
        }
    }

    /// Whether the line is there; if so it becomes the latest.
    fn find(&mut self, line: u32) -> bool {
        let Some(at) = self.position(line) else { return false };
        self.uses += 1;
        self.lines[at].last_use = self.uses;
        true
    }

    fn contains(&self, line: u32) -> bool {
        self.position(line).is_some()
    }

    fn insert(&mut self, line: u32) {
        if self.capacity == 0 {
            return;
        }
        self.uses += 1;
        let new = CachedLine { line, last_use: self.uses };
        let at = if self.lines.len() < self.capacity {
            self.lines.push(new);
            self.lines.len() - 1
        } else {
            let oldest = (0..self.capacity).min_by_key(|&at| self.lines[at].last_use).unwrap_or(0);
            let leaving = hash(self.lines[oldest].line);
            self.hashed[leaving] -= 1;
            self.lines[oldest] = new;
            // What shared the hash of the leaving line must be found by its hint again.
            if self.hashed[leaving] > 0
                && let Some(at) = self.lines.iter().position(|held| hash(held.line) == leaving)
            {
                self.hinted[leaving] = at as u8;
            }
            oldest
        };
        self.hashed[hash(line)] += 1;
        self.hinted[hash(line)] = at as u8;
    }
}

/// A line that is being read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefetch {
    line: u32,
    /// The cycle in which it can be used.
    ready: u64,
}

/// The state of one memory's read path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMemory {
    wait_states: u64,
    line_shift: u32,
    prefetches: bool,
    prefetch: Option<Prefetch>,
    instructions: LineCache,
    data: LineCache,
    /// The line in the read buffer.
    buffered: Option<u32>,
}

impl LineMemory {
    pub fn new(timing: MemoryTiming) -> Self {
        Self {
            wait_states: timing.wait_states.into(),
            line_shift: timing.line_bytes.trailing_zeros(),
            prefetches: timing.prefetch,
            prefetch: None,
            instructions: LineCache::new(timing.instruction_lines),
            data: LineCache::new(timing.data_lines),
            buffered: None,
        }
    }

    /// Empties buffers and caches.
    pub fn reset(&mut self) {
        self.prefetch = None;
        self.buffered = None;
        self.instructions.clear();
        self.data.clear();
    }

    /// Whether fetching never waits, so that nobody needs to ask.
    pub const fn is_immediate(&self) -> bool {
        self.wait_states == 0
    }

    /// Which addresses belong to one line, as a mask.
    pub const fn line_mask(&self) -> u32 {
        !((1 << self.line_shift) - 1)
    }

    /// Begins to execute from the line at `offset`: the cycles that the core waits for it.
    pub fn fetch(&mut self, offset: u32, now: u64) -> u64 {
        if self.is_immediate() {
            return 0;
        }
        let line = offset >> self.line_shift;
        let ahead = self.prefetch.filter(|prefetch| prefetch.line == line);
        let wait = if self.buffered == Some(line) {
            0
        } else if let Some(prefetch) = ahead {
            prefetch.ready.saturating_sub(now)
        } else if self.instructions.find(line) {
            0
        } else {
            self.instructions.insert(line);
            self.wait_states
        };
        self.buffered = Some(line);
        if self.prefetches && !self.instructions.contains(line + 1) {
            let ready = now + wait + 1 + self.wait_states;
            self.prefetch = Some(Prefetch { line: line + 1, ready });
        }
        wait
    }

    /// Reads data at `offset`: the cycles that the core waits for it.
    pub fn read(&mut self, offset: u32) -> u64 {
        if self.is_immediate() {
            return 0;
        }
        let line = offset >> self.line_shift;
        if self.buffered == Some(line) || self.data.find(line) {
            return 0;
        }
        self.data.insert(line);
        self.wait_states
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(prefetch: bool, instruction_lines: u8) -> LineMemory {
        LineMemory::new(MemoryTiming {
            wait_states: 3,
            line_bytes: 8,
            prefetch,
            instruction_lines,
            data_lines: 1,
        })
    }

    #[test]
    fn every_new_line_waits_without_help() {
        let mut flash = memory(false, 0);
        assert_eq!([0, 8, 0].map(|offset| flash.fetch(offset, 100)), [3, 3, 3]);
    }

    #[test]
    fn the_next_line_is_read_while_this_one_executes() {
        let mut flash = memory(true, 0);
        assert_eq!(flash.fetch(0, 100), 3);
        // Reading ahead began at 103 and takes four cycles.
        assert_eq!(flash.clone().fetch(8, 105), 2);
        assert_eq!(flash.clone().fetch(8, 107), 0);
        assert_eq!(flash.fetch(16, 107), 3, "a jump past the next line");
    }

    #[test]
    fn a_jump_back_finds_the_cached_line() {
        let mut flash = memory(false, 2);
        assert_eq!([0, 8, 0, 8].map(|offset| flash.fetch(offset, 0)), [3, 3, 0, 0]);
        assert_eq!(flash.fetch(16, 0), 3);
        assert_eq!(flash.fetch(0, 0), 3, "the least recently used line gave way");
    }

    #[test]
    fn constants_have_a_cache_of_their_own() {
        let mut flash = memory(false, 0);
        assert_eq!([64, 68, 72, 64].map(|offset| flash.read(offset)), [3, 0, 3, 3]);
    }
}
