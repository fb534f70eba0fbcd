//! A cycle-model simulator of Arm Cortex-M.

mod image;
mod soc;

pub use image::{Image, ImageError, Location, Segment, Symbols};
pub use soc::{CoreKind, InitWrite, Memory, MemoryKind, MemoryTiming, Soc, SocError};
