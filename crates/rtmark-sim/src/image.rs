//! Firmware images: what an ELF file gives the simulator.
//!
//! Reads 32-bit little-endian Arm executables: segments to load, symbols to name
//! addresses with, and sections by name for those who keep notes in them. Any
//! input is answered with an [`Image`] or an [`ImageError`], never a panic.

use std::collections::BTreeMap;
use std::fmt;

use object::Endianness;
use object::elf::{EM_ARM, ET_EXEC, FileHeader32, PF_W, PT_LOAD, STT_FUNC, STT_NOTYPE, STT_OBJECT};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

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

    /// The symbol that holds an address. A symbol without a size reaches to the next one.
    pub fn name_at(&self, address: u32) -> Option<Location> {
        let (&start, symbol) = self.by_address.range(..=address).next_back()?;
        let offset = address - start;
        (symbol.size == 0 || offset < symbol.size).then(|| Location {
            symbol: format!("{:#}", rustc_demangle::demangle(&symbol.name)),
            offset,
        })
    }

    /// Every named address in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.by_address.iter().map(|(&address, symbol)| (address, symbol.name.as_str()))
    }
}

/// A firmware image, ready to be loaded into a machine.
#[derive(Clone, Debug, Default)]
pub struct Image {
    entry: u32,
    segments: Vec<Segment>,
    sections: BTreeMap<String, Vec<u8>>,
    symbols: Symbols,
}

/// Why a file is not an image that a Cortex-M could run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file does not begin like an ELF file.
    #[error("not an ELF file: it begins with {0}")]
    NotElf(String),
    /// An ELF file, but for another kind of machine.
    #[error("an ELF file for {0}, not for a 32-bit little-endian Arm core")]
    OtherMachine(String),
    /// An object file, a shared library or a core dump.
    #[error("an ELF file of type {0}, not an executable: link it first")]
    NotExecutable(&'static str),
    /// A part of the file is missing or contradicts another one.
    #[error("a damaged or truncated ELF file: {0}")]
    Damaged(String),
    /// Nothing in it is to be loaded.
    #[error("an ELF file without anything to load: it has no loadable segment with contents")]
    Empty,
}

fn damaged(error: object::Error) -> ImageError {
    ImageError::Damaged(error.to_string())
}

fn machine_name(bytes: &[u8]) -> Option<String> {
    let class = match bytes.get(4)? {
        1 => "32-bit",
        2 => "64-bit",
        other => return Some(format!("an unknown class ({other})")),
    };
    let order = match bytes.get(5)? {
        1 => "little-endian",
        2 => "big-endian",
        other => return Some(format!("an unknown byte order ({other})")),
    };
    let field = [*bytes.get(18)?, *bytes.get(19)?];
    let machine = if bytes[5] == 2 { u16::from_be_bytes(field) } else { u16::from_le_bytes(field) };
    let name = match machine {
        3 => "x86".to_owned(),
        8 => "MIPS".to_owned(),
        40 => "Arm".to_owned(),
        62 => "x86-64".to_owned(),
        94 => "Xtensa".to_owned(),
        183 => "AArch64".to_owned(),
        243 => "RISC-V".to_owned(),
        other => format!("machine {other}"),
    };
    (class != "32-bit" || order != "little-endian" || machine != EM_ARM.0)
        .then(|| format!("{class} {order} {name}"))
}

impl Image {
    /// Reads an ELF executable.
    ///
    /// # Errors
    /// When the bytes are not a complete ELF executable for a 32-bit
    /// little-endian Arm core; the error says which part is wrong.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, ImageError> {
        if !bytes.starts_with(b"\x7fELF") {
            let shown = match bytes {
                [] => "nothing: it is empty".to_owned(),
                _ => bytes.iter().take(4).map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "),
            };
            return Err(ImageError::NotElf(shown));
        }
        if let Some(other) = machine_name(bytes) {
            return Err(ImageError::OtherMachine(other));
        }
        let header = FileHeader32::<Endianness>::parse(bytes).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        match header.e_type(endian) {
            ET_EXEC => {}
            object::elf::ET_REL => return Err(ImageError::NotExecutable("object file")),
            object::elf::ET_DYN => return Err(ImageError::NotExecutable("shared object")),
            _ => return Err(ImageError::NotExecutable("unknown")),
        }
        let mut image = Self { entry: header.e_entry(endian), ..Self::default() };
        image.read_segments(header, endian, bytes)?;
        image.read_sections(header, endian, bytes)?;
        if image.segments.iter().all(|segment| segment.bytes.is_empty()) {
            return Err(ImageError::Empty);
        }
        Ok(image)
    }

    fn read_segments(
        &mut self,
        header: &FileHeader32<Endianness>,
        endian: Endianness,
        bytes: &[u8],
    ) -> Result<(), ImageError> {
        for program in header.program_headers(endian, bytes).map_err(damaged)? {
            if program.p_type(endian) != PT_LOAD || program.p_memsz(endian) == 0 {
                continue;
            }
            let load_address = program.p_paddr(endian);
            let contents = program.data(endian, bytes).map_err(|()| {
                ImageError::Damaged(format!(
                    "the segment at {load_address:#010x} reaches beyond the end of the file"
                ))
            })?;
            let memory_size = program.p_memsz(endian);
            if contents.len() as u64 > u64::from(memory_size) {
                return Err(ImageError::Damaged(format!(
                    "the segment at {load_address:#010x} has more bytes in the file than in memory"
                )));
            }
            self.segments.push(Segment {
                load_address,
                address: program.p_vaddr(endian),
                bytes: contents.to_vec(),
                memory_size,
                writable: program.p_flags(endian).0 & PF_W.0 != 0,
            });
        }
        Ok(())
    }

    fn read_sections(
        &mut self,
        header: &FileHeader32<Endianness>,
        endian: Endianness,
        bytes: &[u8],
    ) -> Result<(), ImageError> {
        let sections = header.sections(endian, bytes).map_err(damaged)?;
        for section in sections.iter() {
            let name = sections.section_name(endian, section).map_err(damaged)?;
            // Debug sections are large and are read by those who need them.
            if name.is_empty() || name.starts_with(b".debug") {
                continue;
            }
            let contents = section.data(endian, bytes).map_err(damaged)?;
            self.sections.insert(String::from_utf8_lossy(name).into_owned(), contents.to_vec());
        }
        let table = sections.symbols(endian, bytes, object::elf::SHT_SYMTAB).map_err(damaged)?;
        for symbol in table.iter() {
            let kind = symbol.st_type();
            let name = symbol.name(endian, table.strings()).map_err(damaged)?;
            // `$t`, `$d` and their like mark code and data for disassemblers.
            let wanted = matches!(kind, STT_FUNC | STT_OBJECT | STT_NOTYPE)
                && symbol.st_shndx(endian) != object::elf::SHN_UNDEF
                && !name.is_empty()
                && !name.starts_with(b"$");
            if !wanted {
                continue;
            }
            let name = String::from_utf8_lossy(name).into_owned();
            let value = symbol.st_value(endian);
            let address = if kind == STT_FUNC { value & !1 } else { value };
            self.symbols.by_name.insert(name.clone(), address);
            // Linker-made marks without a type would hide the function they point at.
            if kind != STT_NOTYPE || !self.symbols.by_address.contains_key(&address) {
                let size = symbol.st_size(endian);
                self.symbols.by_address.insert(address, Symbol { name, size });
            }
        }
        Ok(())
    }

    /// The entry point that the file names, Thumb bit included.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_is_told_apart() {
        let refusal = |bytes: &[u8]| Image::from_elf(bytes).expect_err("refused").to_string();
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b":10000000").contains("3a 31 30 30"));
        assert!(refusal(b"\x7fELF").contains("truncated"));
        let own = std::fs::read(std::env::current_exe().expect("a path")).expect("readable");
        assert!(refusal(&own).contains("64-bit little-endian"));
    }
}
