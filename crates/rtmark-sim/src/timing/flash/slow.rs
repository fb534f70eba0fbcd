//! The memory whose lines the pipeline waits for, as the machine drives it.
//!
//! The pipeline works out by itself how long a fetch of code waits. The machine supplies what only
//! execution shows: which words of the memory an instruction reads, and how far jumps with
//! unforeseen targets lead.

use super::{CoreCaches, LineMemories, LineMemory};
use crate::memory::Place;
use crate::soc::{CacheSizes, Memory, MemoryTiming, Soc};
use crate::timing::Rules;
use crate::timing::pipeline::{CoreBus, SlowMemory};

/// Stands for no memory, and for no line.
const NONE: usize = usize::MAX;
const NO_LINE: u32 = u32::MAX;

/// The memory, if the soc has one, and the line last read there as data.
#[derive(Clone, Copy, Debug)]
pub struct SlowLines {
    at: usize,
    memory: SlowMemory,
    pub data_line: u32,
}

/// Returns whether a memory has wait states, perhaps a read buffer and nothing else, and no
/// register of the soc changes that.
fn is_plain(soc: &Soc, memory: &Memory) -> bool {
    let MemoryTiming { wait_states, line_bytes, line_buffer, .. } = memory.timing;
    let plain = MemoryTiming { wait_states, line_bytes, line_buffer, ..MemoryTiming::default() };
    let mut registers = soc.peripherals.iter().flat_map(|unit| &unit.registers);
    wait_states > 0
        && memory.timing == plain
        && memory.wait_states_by.is_empty()
        && memory.aliases.len() < 2
        && memory
            .aliases
            .iter()
            .chain([&memory.base])
            .all(|base| CoreBus::of(*base) == CoreBus::Code)
        && !registers.any(|register| {
            register.controls.as_ref().is_some_and(|control| control.memory == memory.name)
        })
}

impl SlowLines {
    /// Returns the first plain memory of the Code region, where the core is modelled cycle by
    /// cycle.
    pub fn of(soc: &Soc, rules: &Rules) -> Self {
        let mut memories = soc.memories.iter().enumerate();
        let found = memories.find(|(_, it)| rules.model_buses() && is_plain(soc, it));
        let Some((at, memory)) = found else {
            return Self { at: NONE, memory: SlowMemory::default(), data_line: NO_LINE };
        };
        let MemoryTiming { wait_states, line_bytes, line_buffer, .. } = memory.timing;
        let memory = SlowMemory {
            bases: [memory.base, memory.aliases.first().copied().unwrap_or(memory.base)],
            size: memory.size,
            line_bytes: line_bytes.into(),
            line_buffer,
            wait_states,
        };
        Self { at, memory, data_line: NO_LINE }
    }

    /// Returns the read paths of all memories, and the caches in the core.
    pub fn read_paths(&self, soc: &Soc) -> LineMemories {
        let memories = soc.memories.iter().enumerate();
        let path = |(at, memory): (usize, &Memory)| {
            if at == self.at {
                LineMemory::fetched_by_pipeline(memory.timing)
            } else if soc.is_behind_caches(memory) {
                LineMemory::behind_core(memory.timing)
            } else {
                LineMemory::new(memory.timing)
            }
        };
        let mut paths = LineMemories::new(memories.map(path).collect());
        let CacheSizes { instruction_bytes, data_bytes } = soc.caches;
        paths.caches = CoreCaches::new(instruction_bytes, data_bytes);
        paths
    }

    pub const fn exists(&self) -> bool {
        self.at != NONE
    }

    /// Returns the memory's description for the pipeline.
    pub const fn memory(&self) -> SlowMemory {
        self.memory
    }

    pub fn reset(&mut self) {
        self.data_line = NO_LINE;
    }

    #[inline(always)]
    pub const fn is_at(&self, place: Place) -> bool {
        place.memory == self.at
    }
}
