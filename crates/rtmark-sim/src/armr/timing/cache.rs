//! The lines held by a cache of 32 KiB.
//!
//! Four ways of lines of 32 bytes (DDI 0460, 8.5). A new line fills an empty way. In a full set it
//! replaces the next way in turn (SCTLR.RR set), or one selected by a 16-bit shift register. The
//! manual says only "pseudo-random", so the choice of way is an estimate.

use super::lines::CachedLines;

/// The bytes of a line.
pub const LINE: u32 = 32;
const WAYS: usize = 4;
const SETS: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Way {
    /// The line's address. The lowest bit marks a valid line, the next one a dirty line.
    tag: u32,
}

const VALID: u32 = 1;
const DIRTY: u32 = 2;

/// How a way is chosen in a full set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    Random,
    RoundRobin,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    ways: Box<[[Way; WAYS]; SETS]>,
    turn: u8,
    random: u16,
    /// Counts lines that have been filled or evicted.
    changes: u32,
    /// Lines for quick accesses, all of which are present.
    pub lines: CachedLines,
}

impl Default for Cache {
    fn default() -> Self {
        let ways = Box::new([[Way::default(); WAYS]; SETS]);
        Self { ways, turn: 0, random: 0xACE1, changes: 0, lines: CachedLines::default() }
    }
}

const fn set(address: u32) -> usize {
    (address / LINE) as usize % SETS
}

const fn tag(address: u32) -> u32 {
    address & !(LINE - 1)
}

impl Cache {
    /// Returns whether an address hits.
    #[inline]
    pub fn hits(&self, address: u32) -> bool {
        let wanted = tag(address) | VALID;
        self.ways[set(address)].iter().any(|way| way.tag & !DIRTY == wanted)
    }

    /// Returns whether an address hits a dirty line.
    pub fn is_dirty(&self, address: u32) -> bool {
        self.ways[set(address)].iter().any(|way| way.tag == tag(address) | VALID | DIRTY)
    }

    /// Returns a number that changes whenever lines are filled or evicted.
    pub const fn changes(&self) -> u32 {
        self.changes
    }

    /// Marks the line of an address as dirty.
    #[inline]
    pub fn write(&mut self, address: u32) {
        let wanted = tag(address) | VALID;
        for way in &mut self.ways[set(address)] {
            if way.tag & !DIRTY == wanted {
                way.tag |= DIRTY;
            }
        }
    }

    /// Fills a line. Returns whether a dirty line was evicted.
    pub fn bring(&mut self, address: u32, replacement: Replacement) -> bool {
        self.lines.forget(address);
        self.changes = self.changes.wrapping_add(1);
        let ways = &mut self.ways[set(address)];
        let empty = ways.iter().position(|way| way.tag & VALID == 0);
        let at = empty.unwrap_or_else(|| match replacement {
            Replacement::RoundRobin => {
                self.turn = (self.turn + 1) % WAYS as u8;
                self.turn.into()
            }
            Replacement::Random => {
                // x^16 + x^14 + x^13 + x^11 + 1.
                let bits = self.random;
                let next = (bits ^ bits >> 2 ^ bits >> 3 ^ bits >> 5) & 1;
                self.random = bits >> 1 | next << 15;
                usize::from(self.random) % WAYS
            }
        });
        let gone = ways[at].tag;
        ways[at].tag = tag(address) | VALID;
        gone & DIRTY != 0
    }

    /// Invalidates the line of an address.
    pub fn forget(&mut self, address: u32) {
        self.lines.forget(address);
        self.changes = self.changes.wrapping_add(1);
        let wanted = tag(address) | VALID;
        for way in &mut self.ways[set(address)] {
            if way.tag & !DIRTY == wanted {
                *way = Way::default();
            }
        }
    }

    /// Invalidates a line by set and way, in the register format of DDI 0406, B4.2.1.
    pub fn forget_set_way(&mut self, value: u32) {
        self.lines.forget(value);
        self.changes = self.changes.wrapping_add(1);
        let (set, way) = (value as usize / LINE as usize % SETS, (value >> 30) as usize % WAYS);
        self.ways[set][way] = Way::default();
    }

    /// Invalidates every line.
    pub fn clear(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        self.ways.fill([Way::default(); WAYS]);
        self.lines.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_four_lines_and_a_fifth_evicts_one() {
        for replacement in [Replacement::Random, Replacement::RoundRobin] {
            let mut cache = Cache::default();
            let lines: Vec<u32> = (0..5).map(|at| 0x10_0000 + at * 0x2000).collect();
            for line in &lines[..4] {
                assert!(!cache.hits(*line));
                cache.bring(*line, replacement);
            }
            assert!(lines[..4].iter().all(|line| cache.hits(*line + 31)));
            cache.write(lines[0]);
            let mut written = 0;
            for round in 0..8 {
                written += u32::from(cache.bring(0x20_0000 + round * 0x2000, replacement));
            }
            assert_eq!(written, 1);
            assert_eq!(lines.iter().filter(|line| cache.hits(**line)).count(), 0);
        }
    }

    #[test]
    fn lines_are_invalidated_singly_and_all_at_once() {
        let mut cache = Cache::default();
        for at in [0x100, 0x120] {
            cache.bring(at, Replacement::Random);
        }
        cache.forget(0x11F);
        assert!(!cache.hits(0x100) && cache.hits(0x120));
        cache.forget_set_way(0x120);
        assert!(!cache.hits(0x120));
        cache.bring(0x100, Replacement::Random);
        cache.clear();
        assert!(!cache.hits(0x100));
    }
}
