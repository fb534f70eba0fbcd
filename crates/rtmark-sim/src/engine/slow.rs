//! Slow memories: what the pipeline is told of a memory that it waits for by itself.
//!
//! What a fetch of code waits for there, the pipeline's model finds out. Only execution shows which
//! words of that memory an instruction reads, and how far jumps lead that nobody foresaw.

use crate::isa::Slot;
use crate::memory::Place;
use crate::state::State;
use crate::timing::memo::{self, PipeState};
use crate::timing::pipeline::{Far, SlowMemory};

impl State {
    /// Notes a read of data.
    #[inline(never)]
    pub(crate) fn note_read(&mut self, place: Place) {
        let SlowMemory { bases: [base, _], line_bytes, .. } = self.slow.memory();
        let address = base.wrapping_add(place.offset);
        let line = address & !(line_bytes - 1);
        let last = std::mem::replace(&mut self.slow.data_line, line);
        let far = if last == line { Far::Same } else { Far::Other };
        let reads = memo::seen_from(self.cpu.pc, address, line_bytes, far);
        self.pipe = self.pipe.with_reads(reads);
    }

    /// Notes how far a jump leads that nobody foresaw.
    pub(crate) fn note_leap(
        &self,
        slot: &Slot,
        pipe: PipeState,
        behind: u32,
        target: u32,
    ) -> PipeState {
        if self.slow.exists() && slot.leaps() {
            self.memo.with_leap(pipe, target.wrapping_sub(behind))
        } else {
            pipe
        }
    }

    /// Nothing has been read of it yet.
    pub(crate) fn empty_slow_lines(&mut self) {
        if self.slow.exists() {
            self.pipe = self.memo.with_empty_lines(self.pipe);
        }
    }
}
