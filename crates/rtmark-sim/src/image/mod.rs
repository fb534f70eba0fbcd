//! Firmware images: a file's contents, in the form that the simulator loads.
//!
//! ELF executables, Intel HEX, UF2, DfuSe and raw binaries become segments to load, with symbols and sections
//! where the format has them. Any input results in an [`Image`] or an [`ImageError`], never a panic, and
//! takes no more memory than a small multiple of the file's size.

mod boot_block;
mod chunks;
mod dfuse;
mod elf;
mod hex;
mod names;
mod raw;
mod uf2;

use std::collections::BTreeMap;
use std::fmt;
use std::iter;
use std::ops::Range;

pub(crate) use boot_block::Beginning;
pub use names::source_name;

use crate::soc::{CoreKind, Memory, MemoryKind, Soc};

/// The format of an image file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageFormat {
    /// An ELF executable.
    #[default]
    Elf,
    /// Intel HEX.
    IntelHex,
    /// UF2, the format for boards with a USB bootloader.
    Uf2,
    /// DfuSe, the format of ST's USB bootloader.
    DfuSe,
    /// Plain bytes, without an address.
    Raw,
}

impl ImageFormat {
    /// Recognises a file by its first bytes. A file that fits no other format is a raw binary.
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\x7fELF") {
            Self::Elf
        } else if bytes.starts_with(&uf2::MAGIC) {
            Self::Uf2
        } else if bytes.starts_with(&dfuse::MAGIC) {
            Self::DfuSe
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
            Self::DfuSe => "DfuSe",
            Self::Raw => "raw binary",
        })
    }
}

/// The kind of core that an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Architecture {
    /// 32-bit Arm; the file does not state the profile.
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
    /// Returns whether a core may run the image. If the file does not state the profile, any Arm core may.
    pub const fn runs_on(self, core: CoreKind) -> bool {
        let is_r = matches!(core, CoreKind::CortexR5);
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

/// A chip that a file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetChip {
    /// The name of the soc that comes with rtmark.
    pub soc: &'static str,
    /// Its core. A description under another name is of the same chip only if it has this core.
    pub core: CoreKind,
}

/// A piece of memory that an image fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The address at which the bytes are loaded (the physical address of the program header).
    pub load_address: u32,
    /// The address at which the program expects them when it runs.
    pub address: u32,
    /// The bytes in the file.
    pub bytes: Vec<u8>,
    /// The bytes occupied in memory, zero-filled beyond `bytes`.
    pub memory_size: u32,
    /// Whether the program may write to it.
    pub writable: bool,
    /// The parts of it that are code and constants, as offsets from its beginning, in ascending order.
    pub constant: Vec<Range<u32>>,
}

impl Segment {
    /// Returns a segment of a file that states no more than bytes and their address. Nothing says that the program
    /// writes to it.
    fn of_bytes(address: u32, bytes: Vec<u8>) -> Self {
        let memory_size = bytes.len() as u32;
        Self {
            load_address: address,
            address,
            bytes,
            memory_size,
            writable: false,
            constant: iter::once(0..memory_size).collect(),
        }
    }

    /// Returns how many bytes of a soc's RAM a part of it occupies for good; `part` are offsets from its
    /// beginning.
    ///
    /// Variables are in RAM, wherever they are linked but in flash; so is everything that a chip with flash has in
    /// its other memories. On a chip without, as an FPGA's or one whose code a boot loader brings to DDR, code and
    /// constants take RAM only if the program copies them from where they are loaded.
    pub fn ram_bytes(&self, part: Range<u64>, soc: &Soc) -> u64 {
        let place = |address: u32| {
            let place = |memory: &Memory| {
                let range = memory.ranges().find(|range| range.contains(&address.into()))?;
                Some((memory.kind, memory.base, u64::from(address) - range.start))
            };
            soc.memories.iter().find_map(place)
        };
        let is_flash =
            |memory: &Memory| memory.kind == MemoryKind::Flash && memory.contents.is_none();
        let size = part.end.saturating_sub(part.start);
        let runs_in = place(self.address);
        match runs_in {
            Some((MemoryKind::Flash, ..)) => return 0,
            Some(_) if soc.memories.iter().any(is_flash) => return size,
            Some(_) if place(self.load_address) != runs_in => return size,
            _ => {}
        }
        let constant = self.constant.iter().map(|range| {
            let (begin, end) = (u64::from(range.start), u64::from(range.end));
            end.min(part.end).saturating_sub(begin.max(part.start))
        });
        size.saturating_sub(constant.sum())
    }
}

/// An address in terms of the program's symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The function or object that contains the address.
    pub symbol: String,
    /// The offset of the address from its start in bytes.
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
    /// Where it ends at the latest: its section's end.
    limit: u32,
    /// Whether it has the type of a function (STT_FUNC).
    is_function: bool,
}

/// The symbols of an image, by name and by address.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    by_name: BTreeMap<String, u32>,
    by_address: BTreeMap<u32, Symbol>,
}

impl Symbols {
    /// Returns the address of a symbol, with the Thumb bit of functions cleared.
    pub fn address_of(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Returns the address of a symbol as [`Self::address_of`] does, but also finds it by its name in the
    /// program's source: `app::main` for a Rust or C++ symbol whose name the compiler has mangled.
    pub fn find(&self, name: &str) -> Option<u32> {
        let decorated = || self.by_name.iter().find(|(symbol, _)| source_name(symbol) == name);
        self.address_of(name).or_else(|| decorated().map(|(_, &address)| address))
    }

    /// Returns every name as in the program's source.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.by_name.keys().map(|name| source_name(name))
    }

    /// Returns the symbol that contains an address. A symbol without a size extends to the next one, or to the end of its
    /// section.
    pub fn name_at(&self, address: u32) -> Option<Location> {
        let (&start, symbol) = self.by_address.range(..=address).next_back()?;
        let offset = address - start;
        (offset == 0 || offset < symbol.size || symbol.size == 0 && address < symbol.limit)
            .then(|| Location { symbol: source_name(&symbol.name), offset })
    }

    /// Forgets which addresses labels within functions have: code in assembly language names the targets of its branches so.
    /// Labels remain known by name.
    fn forget_labels(&mut self) {
        let mut end = 0;
        self.by_address.retain(|&address, symbol| {
            if symbol.is_function {
                end = end.max(address.saturating_add(symbol.size));
            }
            symbol.is_function || symbol.size > 0 || address >= end
        });
    }

    /// Returns every named address in ascending order, with the symbol's size in bytes; 0 if it has none.
    pub fn extents(&self) -> impl Iterator<Item = (u32, u32)> {
        self.by_address.iter().map(|(&address, symbol)| (address, symbol.size))
    }

    /// Returns the addresses of each function in ascending order. A function without a size extends to the
    /// next symbol, or to the end of its section.
    pub fn functions(&self) -> impl Iterator<Item = Range<u32>> {
        let next = self.by_address.keys().skip(1).copied().chain([u32::MAX]);
        self.by_address.iter().zip(next).filter(|((_, symbol), _)| symbol.is_function).map(
            |((&begin, symbol), next)| match symbol.size {
                0 => begin..next.min(symbol.limit).max(begin),
                size => begin..begin.saturating_add(size),
            },
        )
    }

    /// Returns every named address in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.by_address.iter().map(|(&address, symbol)| (address, symbol.name.as_str()))
    }
}

/// A firmware image, ready to be loaded into a machine.
#[derive(Clone, Debug, Default)]
pub struct Image {
    format: ImageFormat,
    architecture: Option<Architecture>,
    /// The chip that it is for, if the file says so.
    chip: Option<TargetChip>,
    entry: u32,
    /// What it tells the boot ROM, if it is for RP2350's Arm cores.
    boot: Beginning,
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
    /// An ELF file, but for a different kind of machine.
    #[error("an ELF file for {0}, not for a 32-bit little-endian Arm or RISC-V core")]
    OtherMachine(String),
    /// An object file, a shared library or a core dump.
    #[error("an ELF file of type {0}, not an executable: link it first")]
    NotExecutable(&'static str),
    /// A part of the file is missing or contradicts another part.
    #[error("a damaged or truncated ELF file: {0}")]
    Damaged(String),
    /// A raw binary that does not fit below the end of the address space.
    #[error("a raw binary: {bytes} bytes from {base:#010x} on reach beyond the last address")]
    TooHigh {
        /// Its size.
        bytes: usize,
        /// Its first address.
        base: u32,
    },
    /// Motorola S-records, which are not read.
    #[error("S-records, which are not read")]
    SRecords,
    /// It contains nothing to load.
    #[error("nothing to load: it contains no bytes for any memory")]
    Empty,
    /// A line of an Intel HEX file is wrong.
    #[error("a damaged or truncated Intel HEX file: line {line}: {problem}")]
    Hex {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A UF2 file in order, with contents that cannot be loaded.
    #[error("a UF2 file with {0}")]
    Uf2Contents(String),
    /// A DfuSe file is wrong.
    #[error("a damaged or truncated DfuSe file: at offset {offset:#x}: {problem}")]
    DfuSe {
        /// The offset in the file.
        offset: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A block of a UF2 file is wrong.
    #[error("a damaged or truncated UF2 file: block at offset {offset:#x}: {problem}")]
    Uf2 {
        /// The block's offset in the file.
        offset: usize,
        /// What is wrong with it.
        problem: String,
    },
}

impl Image {
    /// Reads a file of any format, recognised by its contents. `raw_base` is the address for a raw binary;
    /// the other formats contain their addresses.
    ///
    /// # Errors
    /// When the file is damaged, incomplete, or not for a core that the simulator supports.
    pub fn from_bytes(bytes: &[u8], raw_base: u32) -> Result<Self, ImageError> {
        let mut image = match ImageFormat::of(bytes) {
            ImageFormat::Elf => return Self::from_elf(bytes),
            ImageFormat::IntelHex => Self::from_hex(bytes),
            ImageFormat::Uf2 => Self::from_uf2(bytes),
            ImageFormat::DfuSe => Self::from_dfuse(bytes),
            ImageFormat::Raw if raw::is_s_records(bytes) => Err(ImageError::SRecords),
            ImageFormat::Raw => Self::from_raw(bytes, raw_base),
        }?;
        image.prefer_boot_entry();
        Ok(image)
    }

    fn prefer_boot_entry(&mut self) {
        match boot_block::beginning(&self.segments) {
            Some(Beginning { is_risc_v: true, entry: Some((entry, _)), .. }) => self.entry = entry,
            Some(boot) if !boot.is_risc_v => self.boot = boot,
            _ => {}
        }
    }

    /// Returns the format from which it was read.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// Returns the kind of core that the file states it is for, if it does.
    pub fn architecture(&self) -> Option<Architecture> {
        self.architecture
    }

    /// Returns the chip that the file is for, if it says so: UF2 files do for RP2040 and RP2350.
    pub(crate) fn chip(&self) -> Option<TargetChip> {
        self.chip
    }

    /// Returns the entry point that the file states, including the Thumb bit; 0 if it states none.
    /// What an image for RP2350's RISC-V cores tells the boot ROM has precedence.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// Drops the entry point, so that a core which would start there starts from its vectors; and what the boot ROM is
    /// told.
    pub fn drop_entry(&mut self) {
        self.entry = 0;
        self.boot = Beginning::default();
    }

    /// Returns the vector table that an image names to the boot ROM of an RP2350 or i.MX RT.
    pub fn boot_vectors(&self) -> Option<u32> {
        self.boot.vectors
    }

    /// Returns what an image tells the boot ROM of an RP2350 with Arm cores or of an i.MX RT.
    pub(crate) fn boot(&self) -> Beginning {
        self.boot
    }

    /// Returns the segments to load, in file order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the contents of a section, loaded or not.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        self.sections.get(name).map(Vec::as_slice)
    }

    /// Returns the symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns how many bytes of non-volatile memory the image fills: code, constants and the initial
    /// values of variables.
    pub fn flash_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes.len() as u64).sum()
    }

    /// Returns how many bytes of a soc's RAM the image claims statically: initialised and zeroed
    /// variables, and heaps and stacks as far as sections reserve them.
    ///
    /// What stays in flash does not count, even if its program header allows writing, as Zephyr's does;
    /// [`Segment::ram_bytes`] says what does.
    pub fn ram_bytes(&self, soc: &Soc) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.ram_bytes(0..segment.memory_size.into(), soc))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writable_segments_that_stay_in_flash_take_no_ram() {
        let soc = Soc::from_toml(include_str!("../../../../socs/stm32c031.toml")).expect("a soc");
        let segment = |address, bytes: usize, memory_size| Segment {
            load_address: 0x0800_0000,
            address,
            bytes: vec![0; bytes],
            memory_size,
            writable: true,
            constant: Vec::new(),
        };
        // Code and tables in flash, also at its other address; variables, some of them zero.
        let segments =
            vec![segment(0x0800_0000, 400, 400), segment(0, 40, 40), segment(0x2000_0000, 8, 20)];
        let image = Image { segments, ..Image::default() };
        assert_eq!((image.flash_bytes(), image.ram_bytes(&soc)), (448, 20));
    }

    #[test]
    fn code_and_constants_take_ram_only_if_they_are_copied() {
        // An FPGA's board, whose code memory can be written, and appears at a second address.
        let soc = Soc::from_toml(include_str!("../../../../socs/mps2-an385.toml")).expect("a soc");
        let mirror = soc.memories[0].aliases[0];
        let segment = |load_address, address, constant: &[Range<u32>]| Segment {
            load_address,
            address,
            bytes: vec![0; 100],
            memory_size: 120,
            writable: true,
            constant: constant.to_vec(),
        };
        let ram = 0x2000_0000;
        let (table, all) = ([0..80, 90..100], [0..60, 60..120]);
        for (load, run, constant, expected) in [
            (0, 0, &table, 30),
            (mirror, 0, &table, 30),
            (ram, ram, &table, 30),
            (0, ram, &table, 120),
            (0, ram, &all, 120),
            (0, 0, &all, 0),
            (0x7000_0000, 0x7000_0000, &all, 0),
        ] {
            let segment = segment(load, run, constant);
            assert_eq!(segment.ram_bytes(0..120, &soc), expected, "{segment:?}");
            let parts = [0..50, 50..85, 85..120].map(|part| segment.ram_bytes(part, &soc));
            assert_eq!(parts.iter().sum::<u64>(), expected, "{segment:?}");
        }
        // On a chip with flash, code in RAM takes RAM, however it comes there.
        let soc = Soc::from_toml(include_str!("../../../../socs/stm32c031.toml")).expect("a soc");
        assert_eq!(segment(ram, ram, &all).ram_bytes(0..120, &soc), 120);
        assert_eq!(segment(0x0800_0000, 0x0800_0000, &all).ram_bytes(0..120, &soc), 0);
    }

    #[test]
    fn only_functions_are_functions() {
        let symbol =
            |size, is_function| Symbol { name: "x".to_owned(), size, limit: 0x140, is_function };
        let by_address = BTreeMap::from([
            (0x100, symbol(8, true)),
            (0x108, symbol(4, false)),
            (0x110, symbol(0, true)),
            (0x120, symbol(0, false)),
            (0x130, symbol(0, true)),
        ]);
        let symbols = Symbols { by_address, ..Symbols::default() };
        assert!(symbols.functions().eq([0x100..0x108, 0x110..0x120, 0x130..0x140]));
    }
}
