//! Architectures: the registers of a core and of the units beside it, as values.
//!
//! Nothing here knows a machine, memories or time. The engine, memories and devices are to know
//! an architecture by what all of them have; what is Cortex-M's alone is in [`armm`].

pub mod armm;
pub mod float;

const PAGE_SHIFT: u32 = 11;
/// Bytes in a page, within which code is decoded and rights are remembered. Pages are aligned to
/// their size.
pub const PAGE_BYTES: u32 = 1 << PAGE_SHIFT;
