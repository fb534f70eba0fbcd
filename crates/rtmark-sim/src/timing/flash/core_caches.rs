//! The caches of a Cortex-M7: one for instructions and one for data, whichever memory is behind them.
//!
//! Lines of 32 bytes, two ways of instructions and four of data (DDI 0489, 5); which way a new line takes is not
//! stated: here that of the line used least recently. Lines are known by their addresses. What they hold is read
//! from the memory itself, so what is out of date on a chip is not so here.

use super::cache::SetCache;
use crate::soc::CACHE_LINE_BYTES;

/// What the bus brings at once.
const BEAT_BYTES: u32 = 8;
const INSTRUCTION_WAYS: u16 = 2;
const DATA_WAYS: u16 = 4;

/// Caches of which each may be absent, and is off at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoreCaches {
    instructions: CoreCache,
    data: CoreCache,
    /// The last read of data that is not cached: of which instruction, by the count of instructions, and which
    /// 64 bits.
    uncached: Option<(u64, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CoreCache {
    lines: Option<SetCache>,
    is_on: bool,
}

impl CoreCache {
    fn new(bytes: u32, ways: u16) -> Self {
        let lines = (bytes / CACHE_LINE_BYTES) as u16;
        Self { lines: (lines > 0).then(|| SetCache::new(lines, ways)), is_on: false }
    }

    /// The lines, if the cache is in use.
    fn used(&mut self) -> Option<&mut SetCache> {
        self.lines.as_mut().filter(|_| self.is_on)
    }

    fn forget(&mut self, forget: impl FnOnce(&mut SetCache)) {
        if let Some(lines) = &mut self.lines {
            forget(lines);
        }
    }
}

const fn line(address: u32) -> u32 {
    address / CACHE_LINE_BYTES
}

impl CoreCaches {
    /// Creates caches of so many bytes, a power of two each; 0: there is none.
    pub fn new(instruction_bytes: u32, data_bytes: u32) -> Self {
        Self {
            instructions: CoreCache::new(instruction_bytes, INSTRUCTION_WAYS),
            data: CoreCache::new(data_bytes, DATA_WAYS),
            uncached: None,
        }
    }

    /// Switches the caches on or off. What they hold stays.
    pub const fn switch(&mut self, instructions: bool, data: bool) {
        (self.instructions.is_on, self.data.is_on) = (instructions, data);
    }

    /// Returns whether the instruction at an address is cached, and caches its line.
    pub fn find_code(&mut self, address: u32) -> bool {
        self.instructions.used().is_some_and(|lines| lines.find_or_keep(line(address)))
    }

    /// Returns whether the data cache is on.
    pub const fn data_is_on(&self) -> bool {
        self.data.is_on
    }

    /// Returns whether an instruction, given by its number, has just read the 64 bits in which the datum at an
    /// address is, and records that it has.
    pub fn read_uncached(&mut self, instruction: u64, address: u32) -> bool {
        let read = (instruction, address / BEAT_BYTES);
        self.uncached.replace(read) == Some(read)
    }

    /// Returns whether the data cache is on and has the datum at an address, and caches its line.
    pub fn find_data(&mut self, address: u32) -> bool {
        self.data.used().is_some_and(|lines| lines.find_or_keep(line(address)))
    }

    /// Stores a datum: a line that is there is used, and one that is not there comes if stores `allocate` lines.
    pub fn store(&mut self, address: u32, allocates: bool) {
        if let Some(lines) = self.data.used()
            && (allocates || lines.contains(line(address)))
        {
            lines.find_or_keep(line(address));
        }
    }

    /// Empties the instruction cache.
    pub fn forget_code(&mut self) {
        self.instructions.forget(SetCache::clear);
    }

    /// Drops the line of an address from the instruction cache.
    pub fn forget_code_at(&mut self, address: u32) {
        self.instructions.forget(|lines| lines.forget(line(address)));
    }

    /// Drops the line of an address from the data cache.
    pub fn forget_data_at(&mut self, address: u32) {
        self.data.forget(|lines| lines.forget(line(address)));
    }

    /// Drops one way of a set from the data cache.
    pub fn forget_data_in(&mut self, set: u32, way: u32) {
        self.data.forget(|lines| lines.forget_way(set as usize, way as usize));
    }

    /// Empties both.
    pub fn clear(&mut self) {
        self.uncached = None;
        self.instructions.forget(SetCache::clear);
        self.data.forget(SetCache::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches of four sets.
    fn caches() -> CoreCaches {
        let mut caches = CoreCaches::new(256, 512);
        caches.switch(true, true);
        caches
    }

    /// An address in set 0.
    const fn at(line: u32) -> u32 {
        0x2400_0004 + line * 4 * CACHE_LINE_BYTES
    }

    #[test]
    fn each_cache_has_its_own_lines_and_ways() {
        let mut caches = caches();
        assert!(!caches.find_code(at(0)) && !caches.find_data(at(0)));
        assert!([1, 2, 3].iter().all(|&it| !caches.find_data(at(it))));
        assert!(caches.find_data(at(0)), "four ways of data");
        assert!([1, 2].iter().all(|&it| !caches.find_code(at(it))));
        assert!(!caches.find_code(at(0)), "two ways of instructions");
        assert!(caches.find_data(at(0) + 24) && !caches.find_data(at(0) + 28));
    }

    #[test]
    fn a_cache_that_is_off_keeps_its_lines_and_takes_none() {
        let mut caches = caches();
        assert!(!caches.find_data(at(0)));
        caches.switch(false, false);
        assert!(!caches.find_data(at(0)) && !caches.find_data(at(1)) && !caches.find_code(at(1)));
        caches.switch(true, true);
        assert!(caches.find_data(at(0)) && !caches.find_data(at(1)) && !caches.find_code(at(1)));
        let mut none = CoreCaches::default();
        none.switch(true, true);
        assert!(!none.find_code(0) && !none.find_code(0) && !none.find_data(0));
    }

    #[test]
    fn stores_bring_lines_only_if_they_allocate() {
        let mut caches = caches();
        caches.store(at(0), false);
        assert!(!caches.find_data(at(0)));
        caches.store(at(1), true);
        assert!(caches.find_data(at(1)));
        // A store to a line makes it the last one used.
        assert!([2, 3].iter().all(|&it| !caches.find_data(at(it))));
        caches.store(at(0), false);
        assert!(!caches.find_data(at(4)));
        assert!(caches.find_data(at(0)) && !caches.find_data(at(1)));
    }

    #[test]
    fn lines_are_dropped_by_address_and_by_way() {
        let mut caches = caches();
        for line in 0..4 {
            assert!(!caches.find_data(at(line)));
        }
        caches.forget_data_at(at(2) + 8);
        assert!([0, 1, 3].iter().all(|&it| caches.find_data(at(it))));
        assert!(!caches.find_data(at(2)), "it takes the place that it left");
        assert!([0, 1, 3].iter().all(|&it| caches.find_data(at(it))));
        for way in 0..3 {
            caches.forget_data_in(0, way);
        }
        caches.forget_data_in(1, 3);
        let kept = [0, 1, 2, 3].map(|it| caches.find_data(at(it)));
        assert_eq!(kept.iter().filter(|&&it| it).count(), 1);
        assert!(!caches.find_code(at(0)) && !caches.find_code(at(1)));
        caches.forget_code_at(at(0));
        assert!(caches.find_code(at(1)) && !caches.find_code(at(0)));
        caches.forget_code();
        assert!(!caches.find_code(at(1)) && caches.find_data(at(3)));
        caches.clear();
        assert!(!caches.find_data(at(3)) && !caches.find_code(at(1)));
    }
}
