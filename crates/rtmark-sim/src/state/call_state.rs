//! What semihosting keeps between calls.

use crate::image::Image;
use crate::soc::{Memory, MemoryKind, Soc};

/// What a machine keeps between semihosting calls.
#[derive(Clone, Debug, Default)]
pub struct CallState {
    /// The RAM that a C library is told to use for heap and stack: from the image's end to the end.
    pub heap: (u32, u32),
    /// How far the program has read the features file.
    pub features_offset: u32,
}

impl CallState {
    /// Takes note of the image that has been loaded.
    pub fn load(&mut self, soc: &Soc, image: &Image) {
        self.heap = free_ram(soc, image);
    }

    pub fn reset(&mut self) {
        self.features_offset = 0;
    }
}

/// Returns where the RAM of an image's data is free behind them, and where it ends; of an image without data, the soc's
/// memory named RAM.
fn free_ram(soc: &Soc, image: &Image) -> (u32, u32) {
    let data = image.segments().iter().find(|segment| segment.writable);
    let is_it = |memory: &&Memory| match data {
        Some(data) => memory.range().contains(&u64::from(data.address)),
        None => memory.name == "RAM",
    };
    let mut rams = soc.memories.iter().filter(|memory| memory.kind == MemoryKind::Ram);
    let Some(ram) = rams.find(is_it) else { return (0, 0) };
    let ends = image.segments().iter().map(|it| it.address.wrapping_add(it.memory_size));
    let end = ends.filter(|end| end.wrapping_sub(ram.base) <= ram.size).max().unwrap_or(ram.base);
    (end.next_multiple_of(8), ram.base + ram.size)
}
