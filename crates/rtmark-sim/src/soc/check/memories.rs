//! The constraints on how long memories take, and on the caches in front of them.

use std::ops::RangeInclusive;

use super::{Checked, KeyStep, refuse};
use crate::soc::{Burst, CACHE_LINE_BYTES, CacheSizes, CoreKind, Memory, MemoryTiming, Soc};

/// The maximum wait states of a memory behind a cache beside a RISC-V core. Both of the core's ports reach
/// the memory through that cache, so a transfer may additionally wait as long for the other port's
/// transfer, and the sum is counted in eight bits.
const MAX_CACHED_WAITS: u8 = 126;

/// The sizes of a Cortex-M7's caches in bytes.
const CACHE_BYTES: RangeInclusive<u32> = 0x1000..=0x1_0000;

impl Soc {
    /// Refuses timing that has no model beside a RISC-V core.
    fn check_riscv_timing(at: usize, memory: &Memory) -> Checked {
        let name = memory.name.as_str();
        let path = [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key("timing")];
        let MemoryTiming { wait_states, line_bytes, cache_lines, cache_ways, burst, .. } =
            memory.timing;
        let plain = MemoryTiming { wait_states, ..MemoryTiming::default() };
        let cached = MemoryTiming { line_bytes, cache_lines, cache_ways, burst, ..plain };
        let is_cached = cache_lines > 0;
        if memory.timing != if is_cached { cached } else { plain } {
            return refuse(
                &path,
                format!(
                    "memory {name}: buffers and prefetch are not modelled beside a RISC-V core; give \
                     wait_states, and cache_lines if there is a unified cache"
                ),
            );
        }
        let deselect = burst.map_or(0, |burst| burst.deselect_cycles);
        if is_cached && wait_states.saturating_add(deselect) > MAX_CACHED_WAITS {
            let [memory, index, timing] = path;
            let more = if deselect > 0 {
                format!(" and {deselect} to deselect it")
            } else {
                String::new()
            };
            return refuse(
                &[memory, index, timing, KeyStep::Key("wait_states")],
                format!(
                    "memory {name}: wait_states = {wait_states}{more}: behind a cache beside a RISC-V \
                     core there are at most {MAX_CACHED_WAITS}, because a transfer also waits for \
                     another one's"
                ),
            );
        }
        Ok(())
    }

    /// Refuses a memory that the caches in a Cortex-M7 cannot be in front of.
    fn check_behind_caches(&self, at: usize, memory: &Memory) -> Checked {
        let name = memory.name.as_str();
        let timing = |key| {
            [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key("timing"), KeyStep::Key(key)]
        };
        let MemoryTiming { instruction_lines, data_lines, cache_lines, .. } = memory.timing;
        let own = [
            ("instruction_lines", instruction_lines > 0),
            ("data_lines", data_lines > 0),
            ("cache_lines", cache_lines > 0),
        ];
        if let Some((key, _)) = own.into_iter().find(|(_, has)| *has) {
            return refuse(
                &timing(key),
                format!(
                    "memory {name}: {key}: a Cortex-M7's caches are in the core; give their sizes \
                     in [caches]: instruction_bytes and data_bytes"
                ),
            );
        }
        if !self.is_behind_caches(memory) || memory.timing.wait_states == 0 {
            return Ok(());
        }
        if memory.timing.prefetch {
            return refuse(
                &timing("prefetch"),
                format!("memory {name}: prefetch is not modelled behind a Cortex-M7's caches"),
            );
        }
        if u32::from(memory.timing.line_bytes) != CACHE_LINE_BYTES {
            return refuse(
                &timing("line_bytes"),
                format!(
                    "memory {name}: line_bytes = {}: the lines of a Cortex-M7's caches have \
                     {CACHE_LINE_BYTES} bytes",
                    memory.timing.line_bytes
                ),
            );
        }
        Ok(())
    }

    /// Refuses caches that the core does not have, or not of that size (DDI 0489, 1.3: 4 to 64 KiB).
    pub(super) fn check_caches(&self) -> Checked {
        let CacheSizes { instruction_bytes, data_bytes } = self.caches;
        let path = |key| [KeyStep::Key("caches"), KeyStep::Key(key)];
        if self.caches.has_any() && self.core != CoreKind::CortexM7 {
            return refuse(
                &[KeyStep::Key("caches")],
                format!(
                    "caches: only a Cortex-M7 has them in the core, and this is a {}",
                    self.core
                ),
            );
        }
        for (key, bytes) in [("instruction_bytes", instruction_bytes), ("data_bytes", data_bytes)] {
            if bytes != 0 && !(bytes.is_power_of_two() && CACHE_BYTES.contains(&bytes)) {
                return refuse(
                    &path(key),
                    format!(
                        "caches: {key} = {bytes} is not 4, 8, 16, 32 or 64 KiB, nor 0 for none"
                    ),
                );
            }
        }
        Ok(())
    }

    /// Refuses waits, lines and caches that are inconsistent or have no model beside the core.
    pub(super) fn check_timing(&self, at: usize, memory: &Memory) -> Checked {
        let name = memory.name.as_str();
        let path = [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key("timing")];
        let timing = |key| {
            [KeyStep::Key("memory"), KeyStep::Index(at), KeyStep::Key("timing"), KeyStep::Key(key)]
        };
        let waits = memory.timing.wait_states;
        let plain = MemoryTiming { wait_states: waits, ..MemoryTiming::default() };
        self.check_wait_states_by(at, memory)?;
        if self.core.is_riscv() {
            Self::check_riscv_timing(at, memory)?;
        }
        let beats = MemoryTiming { beat_cycles: memory.timing.beat_cycles, ..plain };
        if self.core == CoreKind::CortexR5 && memory.timing != beats {
            return refuse(
                &path,
                format!(
                    "memory {name}: a Cortex-R5 has its own lines and caches; give wait_states \
                     to the first 64 bits and beat_cycles between the others"
                ),
            );
        }
        if self.core == CoreKind::CortexM7 {
            self.check_behind_caches(at, memory)?;
        }
        if self.core != CoreKind::CortexR5 && memory.timing.beat_cycles != 1 {
            return refuse(
                &timing("beat_cycles"),
                format!("memory {name}: beat_cycles is for memories beside a Cortex-R5"),
            );
        }
        let line = memory.timing.line_bytes;
        if !(4..=1024).contains(&line) || !line.is_power_of_two() {
            return refuse(
                &timing("line_bytes"),
                format!("memory {name}: line_bytes = {line} is not a power of two from 4 to 1024"),
            );
        }
        if !memory.timing.line_buffer && line != 4 {
            return refuse(
                &timing("line_buffer"),
                format!(
                    "memory {name}: line_bytes = {line} without a line buffer: what a read \
                     brings beyond a word has nowhere to stay"
                ),
            );
        }
        let MemoryTiming { cache_lines: lines, cache_ways: ways, .. } = memory.timing;
        if lines == 0 && ways != plain.cache_ways {
            return refuse(
                &timing("cache_ways"),
                format!(
                    "memory {name}: cache_ways = {ways} without cache_lines: there is no cache"
                ),
            );
        }
        let (instructions, data) = (memory.timing.instruction_lines, memory.timing.data_lines);
        if lines > 0 && (instructions > 0 || data > 0) {
            return refuse(
                &timing("cache_lines"),
                format!(
                    "memory {name}: give cache_lines for one cache, or instruction_lines and \
                     data_lines for two, not both"
                ),
            );
        }
        if lines > 0 && (!lines.is_power_of_two() || !ways.is_power_of_two() || lines < ways) {
            return refuse(
                &timing("cache_lines"),
                format!(
                    "memory {name}: cache_lines = {lines} in cache_ways = {ways}: both must be \
                     powers of two, with at least one line to a way"
                ),
            );
        }
        self.check_burst(at, memory)
    }

    /// Refuses bursts of a memory whose transfers are not counted one by one.
    fn check_burst(&self, at: usize, memory: &Memory) -> Checked {
        let Some(burst) = memory.timing.burst else { return Ok(()) };
        let MemoryTiming { wait_states, line_bytes, cache_lines, prefetch, .. } = memory.timing;
        let Burst { wait_states: next, page_bytes, .. } = burst;
        let wrong = if cache_lines == 0 || prefetch {
            "is for a memory with cache_lines and without prefetch".to_owned()
        } else if self.has_wait_states_register(memory) || !memory.wait_states_by.is_empty() {
            "is for a memory with constant wait_states".to_owned()
        } else if next == 0 || next > wait_states {
            format!("wait_states = {next} is not from 1 to the memory's own wait_states")
        } else if !page_bytes.is_power_of_two() || page_bytes < line_bytes {
            format!("page_bytes = {page_bytes} is not a power of two of at least a line")
        } else {
            return Ok(());
        };
        let path = ["timing", "burst"].map(KeyStep::Key);
        refuse(
            &[&[KeyStep::Key("memory"), KeyStep::Index(at)][..], &path].concat(),
            format!("memory {}: burst: {wrong}", memory.name),
        )
    }
}
