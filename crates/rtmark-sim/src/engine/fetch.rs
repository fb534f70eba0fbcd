//! Instruction fetches: the waits for the memory that holds the code.
//!
//! Code is fetched in lines of its memory. Execution that reaches another line than the latest one
//! enters it, by the quickest way that one look allows ([`crate::timing::LineMemory`]). Where
//! fetches repeat, their waits are planned: see [`crate::engine::fetch_plan`].

use crate::engine::block::Block;
use crate::engine::dispatch::{OnPath, OpCursor};
use crate::isa::Slot;
use crate::state::{NOT_FETCHED, State};

impl State {
    /// Returns whether a block may execute, given that its first page may.
    #[inline(always)]
    pub(crate) fn may_execute_block(&mut self, block: &Block) -> bool {
        !self.protected || block.far_pages.iter().all(|&address| self.may_execute_page(address))
    }

    /// Returns whether an instruction, given by the addresses of its first and last halfword,
    /// reaches beyond the line that code comes from.
    #[inline(always)]
    pub(crate) const fn is_outside_line(&self, first: u32, last: u32) -> bool {
        ((first ^ self.line) | (last ^ self.line)) & self.line_mask != 0
    }

    /// Waits for the next instruction, unless it is fetched already.
    pub(crate) fn fetch(&mut self, pc: u32, size: u8) {
        let last = pc.wrapping_add(u32::from(size) - 2);
        if self.fetched != pc && self.is_outside_line(pc, last) {
            self.cycles = self.fetch_lines(pc, last, self.cycles);
        }
        self.fetched = NOT_FETCHED;
    }

    /// Fetches an instruction whose address is on the bus in cycle `asked`, and returns the cycle
    /// in which it arrives.
    pub(crate) fn wait_for_code(&mut self, pc: u32, size: u8, asked: u64) -> u64 {
        let last = pc.wrapping_add(u32::from(size) - 2);
        if self.is_outside_line(pc, last) { self.fetch_lines(pc, last, asked) } else { asked }
    }

    /// Enters the line of a block's next instruction, if one look shows how. Returns whether it
    /// did.
    #[inline(always)]
    pub(crate) fn try_fetch_next_fast<P: OnPath>(&mut self, at: &mut OpCursor<'_, '_, P>) -> bool {
        let memory = self.lines.near_mut();
        let (line, now, deadline) = (at.slot(), at.now(), self.deadline);
        let enters = memory.try_enter_fast(line.aux, now, |waits| at.wait(waits, deadline));
        if enters {
            self.line = line.imm;
        }
        enters
    }

    /// Enters the line of a block's next instruction, and returns the cycles that the core waits
    /// for it.
    #[inline(always)]
    pub(crate) fn fetch_next(&mut self, now: u64, line: &Slot) -> u64 {
        self.line = line.imm;
        self.enter_near(line.aux, now)
    }

    /// Enters the lines of a block's first instruction in the near memory, given the number of the
    /// first line, and returns the cycle in which it arrives.
    #[inline(always)]
    pub(crate) fn fetch_first(&mut self, number: u32, first: u32, last: u32, mut now: u64) -> u64 {
        if (first ^ self.line) & self.line_mask != 0 {
            let memory = self.lines.near_mut();
            (self.line, self.line_mask) = (first, memory.line_mask());
            let mut waits = 0;
            let wait = |cycles| {
                waits = cycles;
                true
            };
            if !memory.try_enter_fast(number, now, wait) {
                waits = self.enter_line_slow(number, now);
            }
            now += waits;
        }
        if (last ^ self.line) & self.line_mask != 0 {
            now += self.enter_last_line(last, now);
        }
        now
    }

    /// Enters the lines of an instruction, and returns the cycle in which it arrives.
    #[inline(always)]
    fn fetch_lines(&mut self, first: u32, last: u32, mut now: u64) -> u64 {
        if (first ^ self.line) & self.line_mask != 0 {
            now += self.enter_line(first, now);
        }
        if (last ^ self.line) & self.line_mask != 0 {
            now += self.enter_last_line(last, now);
        }
        now
    }

    /// Enters a line of the near memory, and returns the cycles that the core waits.
    #[inline(never)]
    fn enter_line_slow(&mut self, line: u32, now: u64) -> u64 {
        self.enter_near(line, now)
    }

    #[inline(never)]
    fn enter_last_line(&mut self, address: u32, now: u64) -> u64 {
        self.enter_line(address, now)
    }

    /// Enters the line of an address, and returns the cycles that the core waits.
    #[inline(always)]
    fn enter_line(&mut self, address: u32, now: u64) -> u64 {
        let Some(place) = self.bus.code_place(address) else { return 0 };
        let memory = self.lines.make_near(place.memory);
        self.line = address;
        self.line_mask = memory.line_mask();
        if memory.is_behind_core() && !memory.fetches_without_wait() {
            return self.enter_behind_caches(address);
        }
        memory.fetch(place.offset, now)
    }

    /// Enters the line of this number in the near memory, to which `self.line` belongs already, and returns the
    /// cycles that the core waits.
    #[inline(always)]
    fn enter_near(&mut self, line: u32, now: u64) -> u64 {
        let memory = self.lines.near_mut();
        if memory.is_behind_core() {
            self.enter_behind_caches(self.line)
        } else {
            memory.enter(line, now)
        }
    }
}
