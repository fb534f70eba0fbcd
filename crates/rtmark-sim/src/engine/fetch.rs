//! Instruction fetches: when the core has to wait for the memory that its code is in.
//!
//! Code is fetched a line of its memory at a time. Who comes to a line that is not the last
//! one enters it, by the quickest way that one look shows ([`crate::timing::LineMemory`]). Where
//! fetches repeat, their waits are planned: see [`crate::engine::fetch_plan`].

use crate::engine::block::Block;
use crate::engine::dispatch::OpCursor;
use crate::exec::Executing;
use crate::isa::Slot;
use crate::state::{NOT_FETCHED, State};

impl State {
    /// Whether a block may be executed whose first page may be.
    #[inline(always)]
    pub(crate) fn may_execute_block(&mut self, block: &Block) -> bool {
        !self.protected || block.far_pages.iter().all(|&address| self.may_execute_page(address))
    }

    /// Whether an instruction, by the addresses of its first and last halfword, reaches
    /// beyond the line that code is fetched from.
    #[inline(always)]
    pub(crate) const fn is_elsewhere(&self, first: u32, last: u32) -> bool {
        ((first ^ self.line) | (last ^ self.line)) & self.line_mask != 0
    }

    /// Waits for the instruction that executes next, unless that is fetched already.
    pub(crate) fn fetch(&mut self, pc: u32, size: u8) {
        let last = pc.wrapping_add(u32::from(size) - 2);
        if self.fetched != pc && self.is_elsewhere(pc, last) {
            self.cycles = self.fetch_lines(pc, last, self.cycles);
        }
        self.fetched = NOT_FETCHED;
    }

    /// Fetches an instruction, whose address is on the bus in a cycle: the one in which it has
    /// come.
    pub(crate) fn wait_for_code(&mut self, pc: u32, size: u8, asked: u64) -> u64 {
        let last = pc.wrapping_add(u32::from(size) - 2);
        if self.is_elsewhere(pc, last) { self.fetch_lines(pc, last, asked) } else { asked }
    }

    /// Fetches the next instruction of a block, which enters a line, if one look shows how;
    /// answers whether it has.
    #[inline(always)]
    pub(crate) fn fetch_next_at_once(&mut self, at: &mut OpCursor<'_, '_>) -> bool {
        let memory = self.lines.near_mut();
        let (line, now, deadline) = (at.slot(), at.now(), self.deadline);
        let enters = memory.enter_at_once(line.aux, now, |waits| at.wait(waits, deadline));
        if enters {
            self.line = line.imm;
        }
        enters
    }

    /// Fetches the next instruction of a block, which enters a line, however long it takes;
    /// answers the cycles that the core waits for it.
    #[inline(always)]
    pub(crate) fn fetch_next(&mut self, now: u64, line: &Slot) -> u64 {
        let memory = self.lines.near_mut();
        self.line = line.imm;
        memory.enter(line.aux, now)
    }

    /// Waits for the lines of a block's first instruction, whose memory is near; answers the
    /// cycle in which it is there.
    #[inline(always)]
    pub(crate) fn fetch_first(
        &mut self,
        block: &Block,
        first: u32,
        last: u32,
        mut now: u64,
    ) -> u64 {
        if (first ^ self.line) & self.line_mask != 0 {
            let memory = self.lines.near_mut();
            (self.line, self.line_mask) = (first, memory.line_mask());
            let mut waits = 0;
            let wait = |cycles| {
                waits = cycles;
                true
            };
            if !memory.enter_at_once(block.line, now, wait) {
                waits = self.enter_otherwise(block.line, now);
            }
            now += waits;
        }
        if (last ^ self.line) & self.line_mask != 0 {
            now += self.enter_last_line(last, now);
        }
        now
    }

    /// Waits for the lines of an instruction; answers the cycle in which it is there.
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

    /// Begins to execute from a line of the near memory: the cycles that the core waits.
    #[inline(never)]
    fn enter_otherwise(&mut self, line: u32, now: u64) -> u64 {
        self.lines.near_mut().enter(line, now)
    }

    #[inline(never)]
    fn enter_last_line(&mut self, address: u32, now: u64) -> u64 {
        self.enter_line(address, now)
    }

    /// Begins to execute from the line of an address: the cycles that the core waits.
    #[inline(always)]
    fn enter_line(&mut self, address: u32, now: u64) -> u64 {
        let Some(place) = self.bus.code_place(address) else { return 0 };
        let memory = self.lines.approach(place.memory);
        self.line = address;
        self.line_mask = memory.line_mask();
        memory.fetch(place.offset, now)
    }
}
