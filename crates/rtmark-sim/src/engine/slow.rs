//! Slow memories: what the pipeline model needs to know of a memory whose wait states it models
//! itself.
//!
//! The model computes what code fetches wait for. Only execution shows which words of that memory
//! an instruction reads, and how far unpredicted jumps lead.

use crate::isa::Slot;
use crate::state::State;
use crate::timing::memo::PipeState;

impl State {
    /// Records the distance of an unpredicted jump.
    pub(crate) fn record_jump_distance(
        &self,
        slot: &Slot,
        pipe: PipeState,
        next_address: u32,
        target: u32,
    ) -> PipeState {
        if self.slow.exists() && slot.is_indirect_jump() {
            self.memo.with_jump_distance(pipe, target.wrapping_sub(next_address))
        } else {
            pipe
        }
    }

    /// Records the distance that a return would have jumped whose condition has failed: the decode
    /// stage has requested its target.
    pub(crate) fn record_skipped_return(&mut self, slot: &Slot) {
        let target = self.cpu.r[14] & !1;
        self.pipe = self.record_jump_distance(slot, self.pipe, self.cpu.pc, target);
    }

    /// Clears the memory's line buffers.
    pub(crate) fn empty_slow_lines(&mut self) {
        if self.slow.exists() {
            self.pipe = self.memo.with_empty_lines(self.pipe);
        }
    }
}
