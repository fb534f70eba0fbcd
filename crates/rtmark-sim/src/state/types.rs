//! Types that users of a machine name: registers, and the reasons why an image or an address is refused.

/// Why an image was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A segment is at addresses where the soc has no memory.
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
        /// Its memories, as text.
        memories: String,
    },
    /// The image is for another kind of core.
    #[error(
        "the image is for {image}, but {soc} has a {core}: choose {}",
        fits.unwrap_or("a soc with a core that can run it")
    )]
    OtherCore {
        /// The architecture that the image is for.
        image: crate::image::Architecture,
        /// The soc's name.
        soc: String,
        /// Its core's name.
        core: &'static str,
        /// The name of a soc that fits, if the image says which.
        fits: Option<&'static str>,
    },
    /// The image's file names another chip.
    #[error(
        "the image is for {image}, which has a {its}, and {soc} has a {core}: choose {image} with --soc"
    )]
    OtherChip {
        /// The name of the chip that the image is for.
        image: &'static str,
        /// The name of that chip's core.
        its: &'static str,
        /// The soc's name.
        soc: String,
        /// Its core's name.
        core: &'static str,
    },
    /// The first entries of the vector table are unusable.
    #[error(
        "no vector table at {address:#010x}: stack pointer {sp:#010x}, reset vector {reset:#010x}; \
         is the image linked for this soc?"
    )]
    NoVectors {
        /// The address at which the table was expected.
        address: u32,
        /// Its first word.
        sp: u32,
        /// Its second word.
        reset: u32,
    },
}

/// An address that belongs to no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory at {0:#010x}")]
pub struct UnmappedAddress(pub u32);

/// A register, for [`Machine::register`](crate::Machine::register) and
/// [`Machine::set_register`](crate::Machine::set_register).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Register {
    /// R0 to R14 of an Arm core, by number; 13 is the current stack pointer. `x0` to `x31` of a
    /// RISC-V core.
    R(u8),
    /// The stack pointer, whatever its number.
    Sp,
    /// The register that holds a call's return address, whatever its number.
    Link,
    /// One of the registers in which a call passes its first arguments, counted from 0. The first one also
    /// holds the result.
    Argument(u8),
    /// The address of the next instruction.
    Pc,
    /// Flags, Thumb bit, ITSTATE and exception number; on a Cortex-R, the CPSR.
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
    /// A control and status register of a RISC-V core, by its number (RISC-V privileged
    /// specification, 2.2).
    Csr(u16),
}

/// Which registers a core's calling convention assigns a role to. Observers ask for registers by role
/// ([`Register::Sp`], [`Register::Link`], [`Register::Argument`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convention {
    /// The number of the stack pointer.
    pub sp: u8,
    /// The number of the register that holds a call's return address.
    pub link: u8,
    /// The number of the first argument's register; the others follow it.
    pub first_argument: u8,
    /// How many arguments are passed in registers. Further ones are on the stack, a word each.
    pub arguments: u8,
}

impl Convention {
    /// Procedure Call Standard for the Arm Architecture (AAPCS32), 6.1.1.
    pub const ARM: Self = Self { sp: 13, link: 14, first_argument: 0, arguments: 4 };
    /// RISC-V ELF psABI, "Integer Register Convention".
    pub const RISC_V: Self = Self { sp: 2, link: 1, first_argument: 10, arguments: 8 };
}

impl Register {
    /// Returns the register that has this role in a calling convention; a register given by number or name
    /// is returned unchanged.
    #[must_use]
    pub const fn in_convention(self, convention: Convention) -> Self {
        match self {
            Self::Sp => Self::R(convention.sp),
            Self::Link => Self::R(convention.link),
            Self::Argument(number) => Self::R(convention.first_argument.saturating_add(number)),
            other => other,
        }
    }
}

/// Which stack code outside handlers is using, as far as the hardware shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadStack {
    /// The stack that handlers use as well: a program without tasks, or one that has not started its tasks
    /// yet.
    Main,
    /// A stack separate from the handlers', with a stack pointer of its own.
    Process,
    /// The core has a single stack pointer, which kernels and handlers set as they choose.
    Only,
}

/// The code that a handler has interrupted, as the hardware has saved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The address at which it resumes, if the handler does not change that.
    pub pc: u32,
    /// The stack pointer with which it resumes.
    pub sp: u32,
    /// The lowest address to which the hardware saved anything; `sp` if it saved nothing in memory.
    pub frame: u32,
    /// The stack that `sp` belongs to.
    pub stack: ThreadStack,
    /// The stack pointer's bank, as numbered by [`Machine::stack_bank`](crate::Machine::stack_bank).
    pub bank: u8,
    /// The exception whose handler was interrupted; 0 outside handlers.
    pub exception: u16,
}

/// Who answers semihosting calls that concern files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileCalls {
    /// No one: the calls fail.
    #[default]
    Refused,
    /// The caller that runs the machine, with [`Machine::serve`](crate::Machine::serve).
    Served,
}
