//! What data accesses and operands mean for the time of the instruction that is executing.
//!
//! Operations report what they did by these methods, and do not learn what it costs. A pipeline model that
//! knows buses is told ([`crate::timing::memo`]); for other cores the cycles are added.

use super::State;
use crate::isa::Op;
use crate::memory::Place;
use crate::timing::memo;
use crate::timing::pipeline::{CoreBus, FarLine, SlowMemory};

impl State {
    /// Records the bus of a data access, unless it is the usual one.
    pub(crate) fn note_bus(&mut self, address: u32) {
        let bus = CoreBus::of(address);
        if self.rules.model_buses() && bus != CoreBus::USUAL {
            self.pipe = self.pipe.with_bus(bus);
        }
    }

    /// Records a data write to the bit-band alias.
    pub(crate) fn note_bit_band_write(&mut self) {
        if self.rules.model_buses() {
            self.pipe = self.pipe.with_bit_band_write();
        }
    }

    /// Records a data read from the bit-band alias.
    pub(crate) fn note_bit_band_read(&mut self) {
        if self.rules.model_buses() {
            self.pipe = self.pipe.with_bit_band_read();
        }
    }

    /// Reads data from a memory, and returns the cycles that the core waits for it.
    #[inline(always)]
    pub(crate) fn load_from(&mut self, place: Place) -> u64 {
        let memory = &mut self.lines[place.memory];
        if memory.is_behind_core() {
            self.load_behind_caches(place)
        } else {
            memory.read(place.offset, self.cycles)
        }
    }

    /// Waits for a memory that answers a store with wait states.
    pub(crate) fn wait_for_store(&mut self, place: Place) {
        if self.lines[place.memory].is_behind_core() {
            self.store_behind_caches(place);
        } else {
            self.wait_for_load(place);
        }
    }

    /// Waits for a memory that answers a load with wait states.
    pub(crate) fn wait_for_load(&mut self, place: Place) {
        let waits = self.load_from(place);
        if waits > 0 {
            self.wait_at(place, waits);
        }
    }

    /// Waits for a memory for this many cycles, or reports the read to the model that computes them.
    #[inline(never)]
    pub(crate) fn wait_at(&mut self, place: Place, waits: u64) {
        if self.slow.is_at(place) {
            self.note_read(place);
        } else if self.rules.model_buses() {
            let (pipe, rest) = self.pipe.with_waits(waits);
            self.pipe = pipe;
            self.cycles += rest;
        } else {
            self.cycles += waits;
        }
    }

    /// Records that an unaligned access is split on the bus (DDI 0337, 12.7).
    pub(crate) fn pass_in_parts(&mut self, address: u32, size: u32) {
        if self.rules.model_buses() {
            let parts = if size == 4 && address & 1 != 0 { 2 } else { 1 };
            self.pipe = self.pipe.with_parts(parts);
        }
    }

    /// Adds the extra cycles of an unaligned load.
    pub(crate) fn load_unaligned(&mut self) {
        self.cycles += u64::from(self.rules.unaligned_load);
    }

    /// Adds the cycles that a double-precision operation takes for its operands.
    pub(crate) fn take_operands_time(&mut self, op: Op, operands: [u64; 3]) {
        self.cycles += u64::from((self.rules.double_extra)(op, operands));
    }

    /// Applies a write to ACTLR.DISDEFWBUF.
    pub(crate) fn update_write_buffer(&mut self) {
        if self.rules.classify.is_some() {
            self.pipe = self.memo.with_buffer(self.pipe, !self.system.has_no_write_buffer());
        }
    }

    /// Records a data read from the memory whose wait states the pipeline models itself.
    #[inline(never)]
    fn note_read(&mut self, place: Place) {
        let SlowMemory { bases: [base, _], line_bytes, .. } = self.slow.memory();
        let address = base.wrapping_add(place.offset);
        let line = address & !(line_bytes - 1);
        let last = std::mem::replace(&mut self.slow.data_line, line);
        let far = if last == line { FarLine::Same } else { FarLine::Other };
        let reads = memo::seen_from(self.cpu.pc, address, line_bytes, far);
        self.pipe = self.pipe.with_reads(reads);
    }
}
