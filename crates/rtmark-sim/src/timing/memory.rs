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
    /// The kept lines by the order of their arrival, with when each was last used.
    lines: Vec<u32>,
    last_uses: Vec<u64>,
    capacity: usize,
    /// What is known of the kept lines that share each hash, so that most lines are
    /// found or known to be absent at one look.
    hashed: [Hashed; HASHES],
    uses: u64,
}

/// The kept lines of one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hashed {
    /// The line that came last, `NO_LINE` when there is none.
    line: u32,
    /// Where it is among the lines.
    at: u16,
    /// How many there are.
    count: u16,
}

const HASHES: usize = 128;
const EMPTY: Hashed = Hashed { line: NO_LINE, at: 0, count: 0 };

const fn hash(line: u32) -> usize {
    line as usize % HASHES
}

impl LineCache {
    fn new(capacity: u8) -> Self {
        let capacity = usize::from(capacity);
        Self {
            lines: Vec::with_capacity(capacity),
            last_uses: Vec::with_capacity(capacity),
            capacity,
            hashed: [EMPTY; HASHES],
            uses: 0,
        }
    }

    fn clear(&mut self) {
        self.lines.clear();
        self.last_uses.clear();
        self.hashed = [EMPTY; HASHES];
        self.uses = 0;
    }

    #[inline(always)]
    fn position(&self, line: u32) -> Option<usize> {
        let hashed = self.hashed[hash(line)];
        if hashed.line == line {
            Some(usize::from(hashed.at))
        } else if hashed.count < 2 {
            None
        } else {
            self.lines.iter().position(|&held| held == line)
        }
    }

    /// Whether the line is there; if so it becomes the latest.
    #[inline(always)]
    fn find(&mut self, line: u32) -> bool {
        match self.position(line).and_then(|at| self.last_uses.get_mut(at)) {
            Some(last_use) => {
                self.uses += 1;
                *last_use = self.uses;
                true
            }
            None => false,
        }
    }

    #[inline(always)]
    fn contains(&self, line: u32) -> bool {
        self.position(line).is_some()
    }

    #[inline(never)]
    fn insert(&mut self, line: u32) {
        if self.capacity == 0 {
            return;
        }
        self.uses += 1;
        let at = if self.lines.len() < self.capacity {
            self.lines.push(line);
            self.last_uses.push(self.uses);
            self.lines.len() - 1
        } else {
            let oldest = (0..self.capacity).min_by_key(|&at| self.last_uses[at]).unwrap_or(0);
            let leaving = std::mem::replace(&mut self.lines[oldest], line);
            self.last_uses[oldest] = self.uses;
            self.unhash(leaving);
            oldest
        };
        let hashed = &mut self.hashed[hash(line)];
        *hashed = Hashed { line, at: at as u16, count: hashed.count + 1 };
    }

    /// Notes that a line has left.
    fn unhash(&mut self, leaving: u32) {
        let hashed = &mut self.hashed[hash(leaving)];
        hashed.count -= 1;
        if hashed.count == 0 {
            *hashed = EMPTY;
        } else if hashed.line == leaving
            && let Some(at) = self.lines.iter().position(|&held| hash(held) == hash(leaving))
        {
            // Another line of the same hash is the one to be found at one look.
            (hashed.line, hashed.at) = (self.lines[at], at as u16);
        }
    }
}

/// A line that is being read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefetch {
    /// `NO_LINE` when there is none.
    line: u32,
    /// The cycle in which it can be used.
    ready: u64,
}

/// The number of no line: none begins so far up.
const NO_LINE: u32 = u32::MAX;
const NO_PREFETCH: Prefetch = Prefetch { line: NO_LINE, ready: 0 };

/// The state of one memory's read path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMemory {
    wait_states: u64,
    line_shift: u32,
    prefetches: bool,
    prefetch: Prefetch,
    instructions: LineCache,
    data: LineCache,
    /// The line in the read buffer.
    buffered: u32,
}

impl LineMemory {
    pub fn new(timing: MemoryTiming) -> Self {
        Self {
            wait_states: timing.wait_states.into(),
            line_shift: timing.line_bytes.trailing_zeros(),
            prefetches: timing.prefetch,
            prefetch: NO_PREFETCH,
            instructions: LineCache::new(timing.instruction_lines),
            data: LineCache::new(timing.data_lines),
            buffered: NO_LINE,
        }
    }

    /// Empties buffers and caches.
    pub fn reset(&mut self) {
        self.prefetch = NO_PREFETCH;
        self.buffered = NO_LINE;
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
    #[inline(always)]
    pub fn fetch(&mut self, offset: u32, now: u64) -> u64 {
        if self.is_immediate() {
            return 0;
        }
        let line = offset >> self.line_shift;
        let wait = if self.buffered == line {
            0
        } else if self.prefetch.line == line {
            self.prefetch.ready.saturating_sub(now)
        } else if self.instructions.find(line) {
            0
        } else {
            self.instructions.insert(line);
            self.wait_states
        };
        self.buffered = line;
        if self.prefetches && !self.instructions.contains(line + 1) {
            let ready = now + wait + 1 + self.wait_states;
            self.prefetch = Prefetch { line: line + 1, ready };
        }
        wait
    }

    /// Reads data at `offset`: the cycles that the core waits for it.
    pub fn read(&mut self, offset: u32) -> u64 {
        if self.is_immediate() {
            return 0;
        }
        let line = offset >> self.line_shift;
        if self.buffered == line || self.data.find(line) {
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
