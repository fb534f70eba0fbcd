//! The memory whose lines the pipeline waits for, as the machine drives it.
//!
//! What a fetch of code waits for there, the pipeline finds out by itself. Here the machine tells
//! it what only execution shows: which words of that memory an instruction reads, and how far
//! jumps lead that nobody foresaw.

use super::LineMemory;
use crate::memory::Place;
use crate::soc::{Memory, MemoryTiming, Soc};
use crate::timing::Rules;
use crate::timing::pipeline::{CoreBus, SlowMemory};

/// No memory, and no line of any.
const NONE: usize = usize::MAX;
const NO_LINE: u32 = u32::MAX;

/// Which memory that is, if there is one, and what was last read there as data.
#[derive(Clone, Copy, Debug)]
pub struct SlowLines {
    at: usize,
    memory: SlowMemory,
    pub data_line: u32,
}

/// Whether a memory has wait states and a read buffer and nothing else, which no register of the
/// soc changes.
fn is_plain(soc: &Soc, memory: &Memory) -> bool {
    let MemoryTiming { wait_states, line_bytes, line_buffer, .. } = memory.timing;
    let plain = MemoryTiming { wait_states, line_bytes, line_buffer, ..MemoryTiming::default() };
    let mut registers = soc.peripherals.iter().flat_map(|unit| &unit.registers);
    wait_states > 0
        && memory.timing == plain
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
    /// The first plain memory of the Code region, where the core is modelled cycle by cycle.
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

    /// The read paths of all memories.
    pub fn read_paths(&self, soc: &Soc) -> Vec<LineMemory> {
        let memories = soc.memories.iter().enumerate();
        let path = |(at, memory): (usize, &Memory)| {
            if at == self.at {
                LineMemory::fetched_by_pipeline(memory.timing)
            } else {
                LineMemory::new(memory.timing)
            }
        };
        memories.map(path).collect()
    }

    pub const fn exists(&self) -> bool {
        self.at != NONE
    }

    /// What the pipeline is to know of it.
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
