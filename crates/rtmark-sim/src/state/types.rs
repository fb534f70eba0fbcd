//! What users of a machine name: registers, and why an image or an address is refused.

/// Why an image was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A segment lies where the soc has no memory.
    #[error(
        "{size} bytes at {address:#010x} do not fit {soc}: its memories are {memories}; \
         check the linker script or choose another soc"
    )]
    DoesNotFit {
        /// Where the segment begins.
        address: u32,
        /// Its size in bytes.
        size: u32,
        /// The soc's name.
        soc: String,
        /// Its memories as text.
        memories: String,
    },
    /// The image is for another kind of core.
    #[error(
        "the image is for {image}, but {soc} has a {core}: choose a soc with a core that can run it"
    )]
    OtherCore {
        /// What the image is for.
        image: crate::image::Architecture,
        /// The soc's name.
        soc: String,
        /// Its core's name.
        core: &'static str,
    },
    /// The vector table has no usable first entries.
    #[error(
        "no vector table at {address:#010x}: stack pointer {sp:#010x}, reset vector {reset:#010x}; \
         is the image linked for this soc?"
    )]
    NoVectors {
        /// Where the table was looked for.
        address: u32,
        /// Its first word.
        sp: u32,
        /// Its second word.
        reset: u32,
    },
}

/// An address that no memory backs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory at {0:#010x}")]
pub struct NoMemory(pub u32);

/// A register, for [`Machine::register`](crate::Machine::register) and
/// [`Machine::set_register`](crate::Machine::set_register).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Register {
    /// R0 to R14, by number; 13 is the current stack pointer.
    R(u8),
    /// The address of the next instruction.
    Pc,
    /// Flags, Thumb bit, ITSTATE and exception number.
    Xpsr,
    /// The main stack pointer.
    Msp,
    /// The process stack pointer.
    Psp,
    /// PRIMASK, 0 or 1.
    Primask,
    /// BASEPRI.
    Basepri,
    /// FAULTMASK, 0 or 1.
    Faultmask,
    /// CONTROL.
    Control,
    /// S0 to S31, by number.
    S(u8),
    /// FPSCR.
    Fpscr,
}

/// Who answers calls about files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileCalls {
    /// Nobody: they fail.
    #[default]
    Refused,
    /// Whoever runs the machine, by [`Machine::serve`](crate::Machine::serve).
    Served,
}
