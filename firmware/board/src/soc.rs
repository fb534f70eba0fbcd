//! The soc that the images are built for, as rtmark describes it.

/// A timer of the soc that counts the core's clock.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Its first register.
    pub base: u32,
    /// Its interrupt.
    pub interrupt: u16,
    /// The register that switches its clock on, and the bits that do.
    pub enable: (u32, u32),
}

include!(concat!(env!("OUT_DIR"), "/rtmark_soc.rs"));
