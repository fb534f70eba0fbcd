//! Firmware images: what a file gives the simulator.
//!
//! ELF executables, Intel HEX, UF2 and raw binaries become segments to load,
//! with symbols and sections where the format has them. Any input is answered
//! with an [`Image`] or an [`ImageError`], never a panic, and holds no more
//! memory than a small multiple of the file's own size.

mod chunks;
mod elf;
mod hex;
mod raw;
mod uf2;

use std::collections::BTreeMap;
use std::fmt;

/// How a file says what goes where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageFormat {
    /// An ELF executable.
    #[default]
    Elf,
    /// Intel HEX.
    IntelHex,
    /// UF2, as boards with a USB bootloader take it.
    Uf2,
    /// The bytes alone, without any address.
    Raw,
}

impl ImageFormat {
    /// Recognises a file by its first bytes. What nothing else fits is a raw binary.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\x7fELF") {
            Self::Elf
        } else if bytes.starts_with(&uf2::MAGIC) {
            Self::Uf2
        } else if hex::is_hex(bytes) {
            Self::IntelHex
        } else {
            Self::Raw
        }
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elf => "ELF",
            Self::IntelHex => "Intel HEX",
            Self::Uf2 => "UF2",
            Self::Raw => "raw binary",
        })
    }
}

/// What kind of core an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// 32-bit Arm; the file does not say which profile.
    Arm,
    /// 32-bit Arm for microcontrollers: the profile M.
    ArmM,
    /// 32-bit Arm for real-time systems: the profile R.
    ArmR,
    /// 32-bit Arm for applications: the profile A.
    ArmA,
    /// 32-bit RISC-V.
    RiscV,
}

impl Architecture {
    /// Whether a core may run the image. Where the file does not say which profile, any of Arm's may.
    pub const fn runs_on(self, core: crate::soc::CoreKind) -> bool {
        let is_r = matches!(core, crate::soc::CoreKind::CortexR5);
        match self {
            Self::Arm => core.is_cortex_m() || is_r,
            Self::ArmM => core.is_cortex_m(),
            Self::ArmR => is_r,
            Self::ArmA => false,
            Self::RiscV => !core.is_cortex_m() && !is_r,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arm => "Arm",
            Self::ArmM => "Arm's profile M (Cortex-M)",
            Self::ArmR => "Arm's profile R (Cortex-R)",
            Self::ArmA => "Arm's profile A (Cortex-A)",
            Self::RiscV => "RISC-V",
        })
    }
}

/// One piece of memory that an image fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the bytes are loaded (the physical address of the program header).
    pub load_address: u32,
    /// Where the program expects them when it runs.
    pub address: u32,
    /// The bytes that the file holds.
    pub bytes: Vec<u8>,
    /// Bytes occupied in memory, zero-filled beyond `bytes`.
    pub memory_size: u32,
    /// Whether the program may write there.
    pub writable: bool,
}

/// An address told in the program's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The function or object that holds the address.
    pub symbol: String,
    /// How far into it the address lies, in bytes.
    pub offset: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            0 => f.write_str(&self.symbol),
            offset => write!(f, "{}+{offset:#x}", self.symbol),
        }
    }
}

#[derive(Clone, Debug)]
struct Symbol {
    name: String,
    size: u32,
}

/// The symbols of an image, by name and by address.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    by_name: BTreeMap<String, u32>,
    by_address: BTreeMap<u32, Symbol>,
}

impl Symbols {
    /// The address of a symbol, with the Thumb bit of functions cleared.
    pub fn address_of(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// The address of a symbol as [`Self::address_of`] finds it, also by the name as the program's source has it:
    /// `app::main` for a symbol of Rust or C++ that the compiler has decorated.
    pub fn find(&self, name: &str) -> Option<u32> {
        let plain = |symbol: &str| format!("{:#}", rustc_demangle::demangle(symbol)) == name;
        let decorated = || self.by_name.iter().find(|(symbol, _)| plain(symbol));
        self.address_of(name).or_else(|| decorated().map(|(_, &address)| address))
    }

    /// Every name, as the program's source has it.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.by_name.keys().map(|name| format!("{:#}", rustc_demangle::demangle(name)))
    }

    /// The symbol that holds an address. A symbol without a size reaches to the next one.
    pub fn name_at(&self, address: u32) -> Option<Location> {
        let (&start, symbol) = self.by_address.range(..=address).next_back()?;
        let offset = address - start;
        (symbol.size == 0 || offset < symbol.size).then(|| Location {
            symbol: format!("{:#}", rustc_demangle::demangle(&symbol.name)),
            offset,
        })
    }

    /// Every named address in ascending order, with the symbol's size in bytes; 0 where it has none.
    pub fn extents(&self) -> impl Iterator<Item = (u32, u32)> {
        self.by_address.iter().map(|(&address, symbol)| (address, symbol.size))
    }

    /// Every named address in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.by_address.iter().map(|(&address, symbol)| (address, symbol.name.as_str()))
    }
}

/// A firmware image, ready to be loaded into a machine.
#[derive(Clone, Debug, Default)]
pub struct Image {
    format: ImageFormat,
    architecture: Option<Architecture>,
    entry: u32,
    segments: Vec<Segment>,
    sections: BTreeMap<String, Vec<u8>>,
    symbols: Symbols,
}

/// Why a file is not an image that a simulated core could run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file does not begin like an ELF file.
    #[error("not an ELF file: it begins with {0}")]
    NotElf(String),
    /// An ELF file, but for another kind of machine.
    #[error("an ELF file for {0}, not for a 32-bit little-endian core of Arm's or RISC-V")]
    OtherMachine(String),
    /// An object file, a shared library or a core dump.
    #[error("an ELF file of type {0}, not an executable: link it first")]
    NotExecutable(&'static str),
    /// A part of the file is missing or contradicts another one.
    #[error("a damaged or truncated ELF file: {0}")]
    Damaged(String),
    /// Nothing in it is to be loaded.
    #[error("nothing to load: it holds no byte for any memory")]
    Empty,
    /// A line of an Intel HEX file is wrong.
    #[error("a damaged or truncated Intel HEX file: line {line}: {problem}")]
    Hex {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A block of a UF2 file is wrong.
    #[error("a damaged or truncated UF2 file: block at offset {offset:#x}: {problem}")]
    Uf2 {
        /// Where the block begins in the file.
        offset: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl Image {
    /// Reads a file of any format, recognised by its contents. `raw_base` is where
    /// a raw binary belongs; the other formats say that themselves.
    ///
    /// # Errors
    /// When the file is damaged, incomplete or not for an Arm core.
    pub fn from_bytes(bytes: &[u8], raw_base: u32) -> Result<Self, ImageError> {
        match ImageFormat::of(bytes) {
            ImageFormat::Elf => Self::from_elf(bytes),
            ImageFormat::IntelHex => Self::from_hex(bytes),
            ImageFormat::Uf2 => Self::from_uf2(bytes),
            ImageFormat::Raw => Self::from_raw(bytes, raw_base),
        }
    }

    /// The format that it was read from.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// The kind of core that the file says it is for, if it says so.
    pub fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// The entry point that the file names, Thumb bit included; 0 where it names none.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// The segments to load, in file order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The contents of a section, loaded or not.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.get(name).map(Vec::as_slice)
    }

    /// The symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Bytes of non-volatile memory that the image fills: code, constants and
    /// the initial values of variables.
    pub fn flash_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes.len() as u64).sum()
    }

    /// Bytes of RAM that the image claims statically: initialised and zeroed
    /// variables, with heaps and stacks as far as sections reserve them.
    pub fn ram_bytes(&self) -> u64 {
        self.segments
            .iter()
            .filter(|segment| segment.writable)
            .map(|segment| u64::from(segment.memory_size))
            .sum()
    }
}
