//! Architectures: the registers of a core and of the units beside it, as values.
//!
//! Nothing here knows a machine, memories or time. The engine, memories and devices should only use what
//! all architectures have in common; what is specific to Cortex-M is in [`armm`].

pub mod armm;
pub mod float;

const PAGE_SHIFT: u32 = 11;
/// Bytes in a page, the unit in which code is decoded and access rights are cached. Pages are aligned to
/// their size.
pub const PAGE_BYTES: u32 = 1 << PAGE_SHIFT;
