//! Memories that are slower than the core: wait states, prefetch, line caches.
//!
//! A read brings a line and leaves it in the read buffer. With prefetch the next line is read while
//! the current one executes. The instruction cache keeps lines whose reading made the core wait, so
//! that a jump back finds them; the data cache keeps lines of constants (RM0090, 3.5; RM0490
//! describes the same design with other sizes). A cache that code and data share has sets of a few
//! ways with least-recently-used replacement; the replacement policy is an estimate, because
//! manuals of serial flash controllers do not state theirs. Contention between prefetch and data
//! reads is not modelled.
//!
//! A soc file states what a memory is capable of. Registers may switch parts of it on and off while
//! firmware runs: each such change is a [`Setting`].

mod burst;
mod cache;
mod core_caches;
mod lookahead;
#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
mod native;
mod near;
mod slow;

use self::burst::Selection;
pub use self::cache::LineInserted;
use self::cache::{LineCache, NO_LINE, SetCache};
pub use self::core_caches::CoreCaches;
pub use self::lookahead::{Change, FetchState, Lookahead};
#[cfg(all(feature = "native-code", target_arch = "x86_64", target_os = "linux"))]
pub use self::native::offsets;
pub use self::near::LineMemories;
pub use self::slow::SlowLines;
use crate::soc::MemoryTiming;

/// A change of a memory's configuration, made by a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    WaitStates(u8),
    Prefetch(Switch),
    InstructionCache(Switch),
    DataCache(Switch),
    SharedCache(Switch),
    EmptyInstructionCache,
    EmptyDataCache,
    EmptySharedCache,
}

/// Whether a part of a memory is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// A line that is being read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefetch {
    /// `NO_LINE` when there is none.
    line: u32,
    /// The cycle in which it can be used.
    ready: u64,
}

const NO_PREFETCH: Prefetch = Prefetch { line: NO_LINE, ready: 0 };

/// The state of one memory's read path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMemory {
    /// The memory's timing in the soc file.
    timing: MemoryTiming,
    wait_states: u64,
    /// Cycles that the core waits here for a line of code: none where a pipeline waits for it.
    fetch_waits: u64,
    fetched_by_pipeline: bool,
    line_mask: u32,
    line_shift: u32,
    prefetches: bool,
    prefetch: Prefetch,
    instructions: LineCache,
    keeps_instructions: bool,
    /// Whether the memory waits, reads ahead and caches instructions.
    settles: bool,
    /// Whether lines of code are found in the shared cache, and nothing else happens then.
    finds_in_shared: bool,
    /// The wait states and the enabled parts, encoded as a number.
    mode: u32,
    data: LineCache,
    keeps_data: bool,
    shared: Option<SetCache>,
    uses_shared: bool,
    /// Whether the memory is behind the caches of its core, which decide what waits.
    is_behind_core: bool,
    /// For which line the memory is still selected.
    selection: Selection,
    /// The line in the read buffer.
    buffered: u32,
    /// All cycles for which the core has waited.
    waited: u64,
}

impl LineMemory {
    /// The line size in bytes where it does not matter.
    pub const IMMEDIATE_LINE: u32 = 0x400;

    pub fn new(timing: MemoryTiming) -> Self {
        let shared =
            (timing.cache_lines > 0).then(|| SetCache::new(timing.cache_lines, timing.cache_ways));
        let mut memory = Self {
            timing,
            wait_states: 0,
            fetch_waits: 0,
            fetched_by_pipeline: false,
            line_mask: 0,
            line_shift: timing.line_bytes.trailing_zeros(),
            prefetches: timing.prefetch,
            prefetch: NO_PREFETCH,
            instructions: LineCache::new(timing.instruction_lines),
            keeps_instructions: timing.instruction_lines > 0,
            settles: false,
            finds_in_shared: false,
            mode: 0,
            data: LineCache::new(timing.data_lines),
            keeps_data: timing.data_lines > 0,
            uses_shared: shared.is_some(),
            shared,
            is_behind_core: false,
            selection: Selection::NONE,
            buffered: NO_LINE,
            waited: 0,
        };
        memory.set(Setting::WaitStates(timing.wait_states));
        memory
    }

    /// Creates the read path of a memory from which a pipeline fetches code by itself: see
    /// [`pipeline`](crate::timing::pipeline).
    pub fn fetched_by_pipeline(timing: MemoryTiming) -> Self {
        let mut memory = Self { fetched_by_pipeline: true, ..Self::new(timing) };
        memory.reset();
        memory
    }

    /// Creates the read path of a memory behind [`CoreCaches`].
    pub fn behind_core(timing: MemoryTiming) -> Self {
        let mut memory = Self { is_behind_core: true, ..Self::new(timing) };
        memory.reset();
        memory
    }

    /// Empties buffers and caches, and restores the configuration of the soc file.
    pub fn reset(&mut self) {
        self.set(Setting::WaitStates(self.timing.wait_states));
        self.prefetches = self.timing.prefetch;
        self.keeps_instructions = self.timing.instruction_lines > 0;
        self.keeps_data = self.timing.data_lines > 0;
        self.uses_shared = self.shared.is_some() || self.is_behind_core;
        self.settle();
        self.prefetch = NO_PREFETCH;
        self.selection = Selection::NONE;
        (self.buffered, self.waited) = (NO_LINE, 0);
        self.instructions.clear();
        self.data.clear();
        if let Some(shared) = &mut self.shared {
            shared.clear();
        }
    }

    fn settle(&mut self) {
        self.settles = self.keeps_instructions && self.prefetches && !self.fetches_without_wait();
        self.finds_in_shared = self.uses_shared
            && !self.is_behind_core
            && !self.keeps_instructions
            && !self.prefetches;
        let works = [self.keeps_instructions, self.prefetches, self.keeps_data, self.uses_shared];
        self.mode =
            works.iter().fold(self.wait_states as u32, |mode, &on| mode << 1 | u32::from(on));
    }

    /// Changes the memory's configuration. A part that the memory does not have stays off.
    pub fn set(&mut self, setting: Setting) {
        self.change(setting);
        self.settle();
    }

    fn change(&mut self, setting: Setting) {
        match setting {
            Setting::WaitStates(wait_states) => {
                self.wait_states = wait_states.into();
                self.fetch_waits = if self.fetched_by_pipeline { 0 } else { self.wait_states };
                // Where nothing ever waits, a larger line means fewer lookups.
                let line =
                    if self.fetch_waits == 0 { Self::IMMEDIATE_LINE } else { 1 << self.line_shift };
                self.line_mask = !(line - 1);
            }
            Setting::Prefetch(switch) => {
                self.prefetches = self.timing.prefetch && switch == Switch::On;
                if !self.prefetches {
                    self.prefetch = NO_PREFETCH;
                }
            }
            Setting::InstructionCache(switch) => {
                self.keeps_instructions = self.timing.instruction_lines > 0 && switch == Switch::On;
            }
            Setting::DataCache(switch) => {
                self.keeps_data = self.timing.data_lines > 0 && switch == Switch::On;
            }
            Setting::SharedCache(switch) => {
                self.uses_shared =
                    self.is_behind_core || self.shared.is_some() && switch == Switch::On;
            }
            Setting::EmptyInstructionCache => self.instructions.clear(),
            Setting::EmptyDataCache => self.data.clear(),
            Setting::EmptySharedCache => {
                self.buffered = NO_LINE;
                if let Some(shared) = &mut self.shared {
                    shared.clear();
                }
            }
        }
    }

    /// Returns whether the shared cache is on and has the line, and caches the line.
    fn find_shared(&mut self, line: u32) -> bool {
        self.uses_shared && self.shared.as_mut().is_some_and(|shared| shared.find_or_keep(line))
    }

    /// Returns whether the core's caches decide what waits here; the memory itself holds nothing.
    #[inline(always)]
    pub const fn is_behind_core(&self) -> bool {
        self.is_behind_core
    }

    /// Returns the cycles that the core waits for what its caches do not have.
    pub const fn wait(&mut self) -> u64 {
        self.waited += self.wait_states;
        self.wait_states
    }

    /// Returns all cycles for which the core has waited since the last reset.
    pub const fn waited(&self) -> u64 {
        self.waited
    }

    /// Empties the read buffer, the prefetched line and all caches, and deselects the memory.
    pub fn empty(&mut self) {
        self.prefetch = NO_PREFETCH;
        self.selection = Selection::NONE;
        self.instructions.clear();
        self.data.clear();
        self.set(Setting::EmptySharedCache);
    }

    /// Returns whether reads never wait.
    pub const fn is_immediate(&self) -> bool {
        self.wait_states == 0
    }

    /// Returns whether fetching code never makes the core wait, not counting waits that a pipeline
    /// models itself.
    pub const fn fetches_without_wait(&self) -> bool {
        self.fetch_waits == 0
    }

    /// Returns the mask that selects the line from an address.
    #[inline(always)]
    pub const fn line_mask(&self) -> u32 {
        self.line_mask
    }

    /// Begins to execute from the line at `offset`, and returns the cycles that the core waits for
    /// it.
    #[inline(always)]
    pub fn fetch(&mut self, offset: u32, now: u64) -> u64 {
        if self.fetches_without_wait() { 0 } else { self.enter(offset >> self.line_shift, now) }
    }

    /// Begins to execute from a line of a memory that reads ahead and caches instructions, if a
    /// single lookup decides how. Returns whether it has begun. If the core has to wait, `wait` is
    /// called with the cycles, and returns whether the core has waited.
    #[inline(always)]
    pub fn try_enter_fast(&mut self, line: u32, now: u64, wait: impl FnOnce(u64) -> bool) -> bool {
        if !self.settles {
            return self.fetches_without_wait() || self.try_enter_shared(line);
        }
        if self.prefetch.line == line {
            let waits = self.prefetch.ready.saturating_sub(now);
            if waits > 0 {
                if !wait(waits) {
                    return false;
                }
                self.waited += waits;
            }
            self.buffered = line;
            if !self.instructions.contains(line + 1) {
                let ready = now + waits + 1 + self.wait_states;
                self.prefetch = Prefetch { line: line + 1, ready };
            }
            return true;
        }
        let Some(kept) = self.instructions.look_for(line) else {
            return self.insert_fast(line, now, wait);
        };
        if self.buffered != line {
            self.instructions.note_use(kept);
            self.buffered = line;
        }
        if !kept.is_followed {
            self.prefetch = Prefetch { line: line + 1, ready: now + 1 + self.wait_states };
        }
        true
    }

    /// Begins to execute from a line that the shared cache has, in a memory that does not read ahead.
    /// Returns whether it has begun.
    #[inline(always)]
    fn try_enter_shared(&mut self, line: u32) -> bool {
        let enters = self.finds_in_shared && self.try_use(line);
        if enters {
            self.buffered = line;
        }
        enters
    }

    /// Uses a line if the read buffer or the shared cache has it. Returns whether that is so.
    #[inline(always)]
    fn try_use(&mut self, line: u32) -> bool {
        self.buffered == line
            || self.uses_shared && self.shared.as_mut().is_some_and(|it| it.try_use(line))
    }

    /// Begins to execute from a line that a single lookup has not found. In a cache of few lines
    /// such a line is not cached.
    #[inline(always)]
    fn insert_fast(&mut self, line: u32, now: u64, wait: impl FnOnce(u64) -> bool) -> bool {
        let Some(few) = self.instructions.few_mut() else { return false };
        let mut ready = now + 1 + self.wait_states;
        if self.buffered != line {
            if !wait(self.fetch_waits) {
                return false;
            }
            few.insert(line);
            self.buffered = line;
            self.waited += self.fetch_waits;
            ready += self.fetch_waits;
        }
        if !few.contains(line + 1) {
            self.prefetch = Prefetch { line: line + 1, ready };
        }
        true
    }

    /// Returns whether the line with this number is being read ahead.
    #[inline(always)]
    pub const fn reads_ahead(&self, line: u32) -> bool {
        self.prefetch.line == line
    }

    /// Begins to execute from the line that is being read ahead, and returns the cycles that the
    /// core waits for it.
    #[inline(always)]
    pub fn enter_next(&mut self, now: u64) -> u64 {
        let Prefetch { line, ready } = self.prefetch;
        let wait = ready.saturating_sub(now);
        self.buffered = line;
        if wait > 0 {
            self.waited += wait;
        }
        self.read_ahead(line + 1, now + wait);
        wait
    }

    /// Begins to execute from the line with this number, in a memory that may wait, and returns the
    /// cycles that the core waits for it.
    #[inline(always)]
    pub fn enter(&mut self, line: u32, now: u64) -> u64 {
        if self.reads_ahead(line) {
            return self.enter_next(now);
        }
        let wait = if self.buffered == line {
            0
        } else if self.keeps_instructions {
            if self.instructions.find(line) {
                0
            } else {
                self.instructions.insert(line);
                self.fetch_waits
            }
        } else if self.find_shared(line) {
            0
        } else {
            self.transfer(line, now)
        };
        self.buffered = line;
        self.waited += wait;
        self.read_ahead(line + 1, now + wait);
        wait
    }

    /// Begins to read a line ahead, unless it is cached.
    #[inline(always)]
    fn read_ahead(&mut self, line: u32, now: u64) {
        if self.prefetches && !(self.keeps_instructions && self.instructions.contains(line)) {
            self.prefetch = Prefetch { line, ready: now + 1 + self.wait_states };
        }
    }

    /// Reads data at `offset`, which may be in the read buffer, if a single lookup decides how.
    /// Returns whether it has. If the core has to wait, `wait` is called with the cycles, and
    /// returns whether the core has waited.
    #[inline(always)]
    pub fn try_read_fast(&mut self, offset: u32, wait: impl FnOnce(u64) -> bool) -> bool {
        if self.is_immediate() || self.holds(offset) {
            return true;
        }
        if self.keeps_data {
            return self.read_cached(offset);
        }
        if self.uses_shared || self.has_bursts() {
            return self.try_use(offset >> self.line_shift);
        }
        let waits = wait(self.wait_states);
        if waits {
            self.waited += self.wait_states;
        }
        waits
    }

    /// Reads data at `offset`, which is not in the read buffer, from the data cache. Returns
    /// whether it is cached.
    #[inline(always)]
    pub fn read_cached(&mut self, offset: u32) -> bool {
        self.keeps_data && self.data.find(offset >> self.line_shift)
    }

    /// Returns whether the read buffer holds the data at `offset`.
    #[inline(always)]
    pub const fn holds(&self, offset: u32) -> bool {
        self.buffered == offset >> self.line_shift
    }

    /// Returns the most cycles that an access waits without buffer and caches, as registers have
    /// set them.
    pub fn wait_states(&self) -> u64 {
        let burst = self.timing.burst;
        self.wait_states + burst.map_or(0, |burst| u64::from(burst.deselect_cycles))
    }

    /// Returns the cycles that the core waits for data that is not in the read buffer, if they are
    /// always the same.
    pub const fn data_waits(&self) -> Option<u64> {
        let vary = self.keeps_data || self.uses_shared || self.has_bursts();
        if vary { None } else { Some(self.wait_states) }
    }

    /// Returns the offset of the first byte of the line that contains `offset`.
    pub const fn line_begin(&self, offset: u32) -> u32 {
        offset >> self.line_shift << self.line_shift
    }

    /// Returns whether the read buffer or the shared cache has the data at `offset`.
    #[inline(always)]
    pub fn keeps(&self, offset: u32) -> bool {
        let line = offset >> self.line_shift;
        self.buffered == line
            || self.uses_shared && self.shared.as_ref().is_some_and(|it| it.contains(line))
    }

    /// Returns whether using the data at `offset` changes nothing: the shared cache has its line, as the one
    /// most recently used of its set.
    #[inline(always)]
    pub fn has_latest(&self, offset: u32) -> bool {
        let line = offset >> self.line_shift;
        self.uses_shared && self.shared.as_ref().is_some_and(|it| it.is_latest(line))
    }

    /// Uses the line of `offset` if the read buffer or the shared cache has it. Returns whether that
    /// is so.
    #[inline(always)]
    pub fn use_held(&mut self, offset: u32) -> bool {
        self.try_use(offset >> self.line_shift)
    }

    /// Returns the cycles that a read of data at `offset` would wait from cycle `now` on, in a
    /// memory with a shared cache.
    pub fn read_wait(&self, offset: u32, now: u64) -> u64 {
        if self.keeps(offset) { 0 } else { self.transfer_waits(offset >> self.line_shift, now) }
    }

    /// Reads data at `offset` from cycle `now` on, and returns the cycles that the core waits for
    /// it.
    pub fn read(&mut self, offset: u32, now: u64) -> u64 {
        if self.is_immediate() {
            return 0;
        }
        let line = offset >> self.line_shift;
        if self.buffered == line {
            return 0;
        }
        if self.keeps_data {
            if self.data.find(line) {
                return 0;
            }
            self.data.insert(line);
        } else if self.find_shared(line) {
            return 0;
        }
        let waits = self.transfer(line, now);
        self.waited += waits;
        waits
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
            ..MemoryTiming::default()
        })
    }

    #[test]
    fn every_new_line_waits_without_prefetch() {
        let mut flash = memory(false, 0);
        assert_eq!([0, 8, 0].map(|offset| flash.fetch(offset, 100)), [3, 3, 3]);
    }

    #[test]
    fn the_next_line_is_prefetched_during_execution() {
        let mut flash = memory(true, 0);
        assert_eq!(flash.fetch(0, 100), 3);
        // Reading ahead began at 103 and takes four cycles.
        assert_eq!(flash.clone().fetch(8, 105), 2);
        assert_eq!(flash.clone().fetch(8, 107), 0);
        assert_eq!(flash.fetch(16, 107), 3, "a jump past the next line");
    }

    #[test]
    fn backward_jumps_hit_the_cached_line() {
        let mut flash = memory(false, 2);
        assert_eq!([0, 8, 0, 8].map(|offset| flash.fetch(offset, 0)), [3, 3, 0, 0]);
        assert_eq!(flash.fetch(16, 0), 3);
        assert_eq!(flash.fetch(0, 0), 3, "the least recently used line gave way");
    }

    #[test]
    fn literals_have_their_own_cache() {
        let mut flash = memory(false, 0);
        assert_eq!([64, 68, 72, 64].map(|offset| flash.read(offset, 0)), [3, 0, 3, 3]);
    }

    #[test]
    fn settings_enable_and_disable_caches_and_prefetch() {
        let mut flash = memory(true, 2);
        flash.set(Setting::Prefetch(Switch::Off));
        flash.set(Setting::InstructionCache(Switch::Off));
        assert_eq!([0, 8, 0].map(|offset| flash.fetch(offset, 1000)), [3, 3, 3]);
        flash.set(Setting::InstructionCache(Switch::On));
        assert_eq!([8, 0, 8].map(|offset| flash.fetch(offset, 1000)), [3, 3, 0]);
        flash.set(Setting::EmptyInstructionCache);
        assert_eq!(flash.fetch(0, 1000), 3);
        flash.set(Setting::WaitStates(0));
        assert!(flash.is_immediate());
        flash.reset();
        assert_eq!(flash, memory(true, 2));
        let mut plain = memory(false, 0);
        plain.set(Setting::Prefetch(Switch::On));
        assert_eq!([0, 8].map(|offset| plain.fetch(offset, 1000)), [3, 3], "it has none");
    }

    #[test]
    fn a_shared_cache_has_sets() {
        let mut flash = LineMemory::new(MemoryTiming {
            wait_states: 40,
            line_bytes: 8,
            cache_lines: 8,
            cache_ways: 2,
            ..MemoryTiming::default()
        });
        // Lines 0, 4 and 8 share a set of two ways; line 1 is in another set.
        assert_eq!([0, 32, 8].map(|offset| flash.fetch(offset, 0)), [40, 40, 40]);
        assert_eq!([0, 32, 8].map(|offset| flash.read(offset, 0)), [0, 0, 0], "data finds code");
        assert_eq!(flash.read(64, 0), 40);
        assert_eq!([32, 0].map(|offset| flash.read(offset, 0)), [0, 40], "the oldest gave way");
        flash.set(Setting::EmptySharedCache);
        assert_eq!(flash.read(8, 0), 40);
        flash.set(Setting::SharedCache(Switch::Off));
        assert_eq!([8, 8].map(|offset| flash.read(offset, 0)), [40, 40]);
    }
}
