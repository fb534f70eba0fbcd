//! Serial memories, which stay selected after a transfer and can then read on in less time.
//!
//! A controller that keeps the chip select asserted after a transfer appends to it whatever follows
//! at the next address (RP2350 datasheet, 12.14: QMI, COOLDOWN and PAGEBREAK).

use super::LineMemory;
use super::cache::NO_LINE;

/// The line for which the memory is still selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    /// The line that the memory would send next; `NO_LINE` when it is not selected.
    next: u32,
    /// The last cycle in which it is selected.
    until: u64,
}

impl Selection {
    pub(super) const NONE: Self = Self { next: NO_LINE, until: 0 };
}

impl LineMemory {
    /// Returns whether the memory stays selected after a transfer.
    #[inline(always)]
    pub const fn has_bursts(&self) -> bool {
        self.timing.burst.is_some()
    }

    /// Returns the cycles that the core waits for the transfer of a line that begins in a cycle.
    pub(super) fn transfer_waits(&self, line: u32, begins: u64) -> u64 {
        let Selection { next, until } = self.selection;
        match self.timing.burst {
            Some(burst) if next != NO_LINE && begins <= until => {
                if line == next {
                    burst.wait_states.into()
                } else {
                    self.wait_states + u64::from(burst.deselect_cycles)
                }
            }
            _ => self.wait_states,
        }
    }

    /// Transfers a line from a cycle on, and returns the cycles that the core waits.
    pub(super) fn transfer(&mut self, line: u32, begins: u64) -> u64 {
        let waits = self.transfer_waits(line, begins);
        self.end_transfer(line, begins + waits);
        waits
    }

    /// Ends the transfer of a line, after which the memory stays selected unless a page ends there.
    fn end_transfer(&mut self, line: u32, ends: u64) {
        let Some(burst) = self.timing.burst else { return };
        let next = line + 1;
        let ends_page = (next << self.line_shift).is_multiple_of(burst.page_bytes.into());
        self.selection = if ends_page {
            Selection::NONE
        } else {
            Selection { next, until: ends + u64::from(burst.selected_cycles) }
        };
    }

    /// Records a read of data at `offset` whose transfer, if there was one, ended in a cycle.
    pub fn has_read(&mut self, offset: u32, ends: u64) {
        let line = offset >> self.line_shift;
        if self.buffered != line && !self.find_shared(line) {
            self.end_transfer(line, ends);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::{Burst, MemoryTiming};
    use crate::timing::Setting;

    /// A memory with lines of 8 bytes and pages of 32.
    fn memory(cache_lines: u16) -> LineMemory {
        LineMemory::new(MemoryTiming {
            wait_states: 100,
            line_bytes: 8,
            cache_lines,
            cache_ways: if cache_lines > 0 { 2 } else { 1 },
            burst: Some(Burst {
                wait_states: 40,
                selected_cycles: 60,
                deselect_cycles: 9,
                page_bytes: 32,
            }),
            ..MemoryTiming::default()
        })
    }

    #[test]
    fn the_next_line_continues_the_transfer_while_the_memory_is_selected() {
        let mut flash = memory(64);
        assert_eq!(flash.fetch(0, 1000), 100);
        // The transfer ended in cycle 1100, so the memory is selected until 1160.
        assert_eq!(flash.clone().fetch(8, 1100), 40);
        assert_eq!(flash.clone().fetch(8, 1160), 40);
        assert_eq!(flash.clone().fetch(8, 1161), 100, "deselected by itself");
        assert_eq!(flash.clone().read(8, 1130), 40, "data continue, too");
        assert_eq!(flash.clone().fetch(16, 1160), 109, "deselected first");
        assert_eq!(flash.clone().fetch(16, 1161), 100);
        assert_eq!(flash.fetch(0, 1110), 0, "the cache has it");
        assert_eq!([flash.fetch(8, 1120), flash.fetch(16, 1165)], [40, 40]);
    }

    #[test]
    fn a_transfer_ends_with_the_page() {
        let mut flash = memory(64);
        assert_eq!([flash.fetch(16, 0), flash.fetch(24, 110)], [100, 40]);
        assert_eq!(flash.fetch(32, 155), 100, "at once, but anew");
        assert_eq!(flash.fetch(40, 260), 40);
    }

    #[test]
    fn what_ends_in_a_known_cycle_continues_from_there() {
        let mut flash = memory(64);
        flash.has_read(8, 500);
        assert_eq!(flash.read_wait(8, 501), 0);
        assert_eq!([560, 561].map(|now| flash.read_wait(16, now)), [40, 100]);
        flash.has_read(8, 600);
        assert_eq!(flash.read_wait(16, 561), 100, "the cache had it: nothing was transferred");
    }

    #[test]
    fn emptying_the_cache_does_not_deselect_and_a_reset_does() {
        let mut flash = memory(64);
        flash.fetch(0, 0);
        flash.set(Setting::EmptySharedCache);
        assert_eq!(flash.clone().fetch(8, 120), 40);
        flash.reset();
        assert_eq!(flash.clone().fetch(8, 120), 100);
        flash.fetch(0, 0);
        flash.empty();
        assert_eq!(flash.fetch(8, 120), 100);
    }

    #[test]
    fn without_a_cache_only_the_slow_way_knows_what_a_read_takes() {
        let mut flash = memory(0);
        assert!(!flash.can_look_ahead() && flash.data_waits().is_none());
        assert!(!flash.try_read_fast(8, |_| true));
        assert_eq!([flash.read(8, 0), flash.read(16, 100), flash.read(8, 150)], [100, 40, 109]);
        assert_eq!(flash.wait_states(), 109, "at most");
    }
}
