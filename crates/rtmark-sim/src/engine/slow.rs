//! Slow memories: what the pipeline model needs to know of a memory whose wait states it models
//! itself.
//!
//! The model computes what code fetches wait for. Only execution shows which words of that memory
//! an instruction reads, and how far unpredicted jumps lead.

use crate::isa::Slot;
use crate::memory::Place;
use crate::state::State;
use crate::timing::memo::{self, PipeState};
use crate::timing::pipeline::{FarLine, SlowMemory};

impl State {
    /// Records a data read.
    #[inline(never)]
    pub(crate) fn note_read(&mut self, place: Place) {
        let SlowMemory { bases: [base, _], line_bytes, .. } = self.slow.memory();
        let address = base.wrapping_add(place.offset);
        let line = address & !(line_bytes - 1);
        let last = std::mem::replace(&mut self.slow.data_line, line);
        let far = if last == line { FarLine::Same } else { FarLine::Other };
        let reads = memo::seen_from(self.cpu.pc, address, line_bytes, far);
        self.pipe = self.pipe.with_reads(reads);
    }

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

    /// Clears the memory's line buffers.
    pub(crate) fn empty_slow_lines(&mut self) {
        if self.slow.exists() {
            self.pipe = self.memo.with_empty_lines(self.pipe);
        }
    }
}
