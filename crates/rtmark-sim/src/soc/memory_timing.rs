//! How long memories take to respond, and the caches inside a Cortex-M7.

use serde::Deserialize;

/// How long a memory takes to respond. The default is a memory without wait states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryTiming {
    /// Cycles that reading a line takes beyond the first one.
    pub wait_states: u8,
    /// Bytes that one read returns. Further reads within the line last read take no time. A power of two.
    pub line_bytes: u16,
    /// Whether the line last read is kept. Otherwise every read takes the wait states, and returns a word.
    pub line_buffer: bool,
    /// Whether the line after the one being executed is prefetched.
    pub prefetch: bool,
    /// Lines in the instruction cache; 0 for none.
    pub instruction_lines: u8,
    /// Lines in the data cache; 0 for none.
    pub data_lines: u8,
    /// Lines in a cache that code and data share, organised in sets of `cache_ways`; 0 for none.
    pub cache_lines: u16,
    /// The associativity of the shared cache: the number of lines in which an address may be cached.
    pub cache_ways: u16,
    /// Beside a Cortex-R5: cycles between each 64 bits of a line and the next, after the first have arrived
    /// at the end of the wait states.
    pub beat_cycles: u8,
    /// How a serial memory reads on from where its last transfer ended.
    pub burst: Option<Burst>,
}

/// A serial memory stays selected for a while after each transfer. A read of the line behind then goes on with
/// the transfer, without sending an address; a read of another line has to deselect the memory first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Cycles that reading the line behind the last one takes beyond the first one.
    pub wait_states: u8,
    /// Cycles for which the memory stays selected after a transfer.
    pub selected_cycles: u16,
    /// Cycles that a read of another line takes, while the memory is selected, in addition to its wait states.
    pub deselect_cycles: u8,
    /// Bytes of the pages at whose ends the memory is deselected at once. A power of two.
    pub page_bytes: u16,
}

impl MemoryTiming {
    /// Returns whether the memory has caches of its own.
    pub const fn has_caches(self) -> bool {
        self.instruction_lines > 0 || self.data_lines > 0 || self.cache_lines > 0
    }
}

impl Default for MemoryTiming {
    fn default() -> Self {
        Self {
            wait_states: 0,
            line_bytes: 4,
            line_buffer: true,
            prefetch: false,
            instruction_lines: 0,
            data_lines: 0,
            cache_lines: 0,
            cache_ways: 1,
            beat_cycles: 1,
            burst: None,
        }
    }
}

/// Bytes of a line of a Cortex-M7's caches (DDI 0489, 5).
pub const CACHE_LINE_BYTES: u32 = 32;

/// The sizes of a Cortex-M7's caches; 0: there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSizes {
    /// Bytes of the instruction cache.
    pub instruction_bytes: u32,
    /// Bytes of the data cache.
    pub data_bytes: u32,
}

impl CacheSizes {
    /// Returns whether there is a cache.
    pub const fn has_any(self) -> bool {
        self.instruction_bytes > 0 || self.data_bytes > 0
    }
}
