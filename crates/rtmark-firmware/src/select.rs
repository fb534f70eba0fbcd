//! Reads executables, and selects a scenario in them.

use object::elf::{FileHeader32, FileHeader64, PF_W, PT_LOAD};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use rtmark_model::ScenarioId;
use rtmark_sim::{Image, Machine};

use crate::probes::{Record, SELECT_SYMBOL, scenarios, selecting};

/// An ELF executable of any architecture, 32-bit or 64-bit.
#[derive(Debug)]
pub struct Executable<'a> {
    file: object::File<'a>,
    flash_bytes: u64,
    ram_bytes: u64,
}

/// A file that is not an ELF executable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an ELF executable: {0}")]
pub struct NoExecutable(String);

/// A segment: its position in the file and in memory.
struct Segment {
    address: u64,
    offset: u64,
    in_file: u64,
    in_memory: u64,
    writable: bool,
}

fn segments(elf: &[u8]) -> Option<Vec<Segment>> {
    fn of<H: FileHeader<Endian = Endianness>>(elf: &[u8]) -> Option<Vec<Segment>> {
        let file = ElfFile::<H>::parse(elf).ok()?;
        let endian = file.endian();
        let headers = file.elf_program_headers().iter();
        let loaded = headers.filter(|header| header.p_type(endian) == PT_LOAD);
        let segment = |header: &H::ProgramHeader| Segment {
            address: header.p_vaddr(endian).into(),
            offset: header.p_offset(endian).into(),
            in_file: header.p_filesz(endian).into(),
            in_memory: header.p_memsz(endian).into(),
            writable: header.p_flags(endian).contains(PF_W),
        };
        Some(loaded.map(segment).collect())
    }
    of::<FileHeader32<Endianness>>(elf).or_else(|| of::<FileHeader64<Endianness>>(elf))
}

impl<'a> Executable<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is not an ELF executable.
    pub fn read(elf: &'a [u8]) -> Result<Self, NoExecutable> {
        let file = object::File::parse(elf).map_err(|error| NoExecutable(error.to_string()))?;
        let segments = segments(elf).ok_or_else(|| NoExecutable("no segments".to_owned()))?;
        let flash_bytes = segments.iter().map(|segment| segment.in_file).sum();
        let written = segments.iter().filter(|segment| segment.writable);
        let ram_bytes = written.map(|segment| segment.in_memory).sum();
        Ok(Self { file, flash_bytes, ram_bytes })
    }

    /// Returns a section's contents.
    pub fn section(&self, name: &str) -> Option<&'a [u8]> {
        self.file.section_by_name(name)?.data().ok()
    }

    /// Returns the size of code, constants and initial values of variables, in bytes.
    pub fn flash_bytes(&self) -> u64 {
        self.flash_bytes
    }

    /// Returns the statically allocated RAM, in bytes.
    pub fn ram_bytes(&self) -> u64 {
        self.ram_bytes
    }
}

/// Returns the address ranges of code, data and variables.
pub(crate) fn memory(elf: &[u8]) -> Option<Vec<std::ops::Range<u64>>> {
    let of = |segment: Segment| segment.address..segment.address.saturating_add(segment.in_memory);
    Some(segments(elf)?.into_iter().map(of).filter(|range| !range.is_empty()).collect())
}

/// Returns what an executable loads into memory: addresses and bytes.
pub(crate) fn loaded(elf: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let of = |segment: Segment| {
        let (begin, length) = (segment.offset, segment.in_file);
        let range =
            usize::try_from(begin).ok()?..usize::try_from(begin.checked_add(length)?).ok()?;
        Some((segment.address, elf.get(range)?))
    };
    segments(elf)?.into_iter().map(of).collect()
}

/// Returns the word that selects a scenario of an image by its index and, for a curve, its point; 0 for
/// scenarios without points. Returns `None` if one of them does not fit.
pub fn select_word(index: u32, point: u32) -> Option<u32> {
    let (index, point) = (u16::try_from(index).ok()?, u16::try_from(point).ok()?);
    Some(u32::from(point) << 16 | u32::from(index))
}

/// The reason why a scenario cannot be selected in an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The image does not contain it.
    #[error("it has no scenario {wanted}; it has {}", listed(held))]
    NoScenario {
        /// The scenario.
        wanted: ScenarioId,
        /// The scenarios in the image.
        held: Vec<ScenarioId>,
    },
    /// The image does not have the word.
    #[error("it has no symbol {SELECT_SYMBOL}")]
    NoWord,
    /// The word's address is in no memory of the machine.
    #[error("{SELECT_SYMBOL} at {0:#010x} is in no memory")]
    NoMemory(u32),
}

fn listed(held: &[ScenarioId]) -> String {
    let names: Vec<_> = held.iter().map(ScenarioId::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Writes into a machine with an image which scenario, or which point of a curve, to run. `records` are
/// those of the image.
///
/// # Errors
/// When the image lacks the scenario or the selecting word, or the word is not in any memory.
pub fn select(
    machine: &mut Machine,
    image: &Image,
    records: &[Record],
    scenario: &ScenarioId,
) -> Result<(), SelectError> {
    let word = selecting(records, scenario).ok_or_else(|| SelectError::NoScenario {
        wanted: scenario.clone(),
        held: scenarios(records).cloned().collect(),
    })?;
    let address = image.symbols().address_of(SELECT_SYMBOL).ok_or(SelectError::NoWord)?;
    machine.poke_word(address, word).map_err(|_| SelectError::NoMemory(address))
}

/// Returns a copy of an ELF file with the word `rtmark_select` set, which QEMU and board programmers
/// can load. [`select_word`] computes the word.
///
/// Returns `None` if the file is not a little-endian ELF executable, has no such symbol, or does not
/// contain its word.
pub fn select_in_elf(elf: &[u8], word: u32) -> Option<Vec<u8>> {
    let address = address_of(elf, SELECT_SYMBOL)?;
    with_word(elf, address, word)
}

/// Returns a copy of a Rust ELF file in which the SysTick exception is handled by the clocked probes,
/// which continue in the kernel's own handler. C images are linked that way.
///
/// Returns `None` if there is no such handler or no vector table.
pub(crate) fn tick_in_elf(elf: &[u8]) -> Option<Vec<u8>> {
    const SYSTICK: u64 = 15;
    let handler = u32::try_from(address_of(elf, "rtmark_clock_tick")?).ok()?;
    let file = object::File::parse(elf).ok()?;
    let vectors = file.section_by_name(".vector_table")?.address();
    with_word(elf, vectors + 4 * SYSTICK, handler | 1)
}

fn address_of(elf: &[u8], name: &str) -> Option<u64> {
    let file = object::File::parse(elf).ok().filter(Object::is_little_endian)?;
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    Some(symbol.address())
}

/// Returns a copy in which the word at an address is replaced.
fn with_word(elf: &[u8], address: u64, word: u32) -> Option<Vec<u8>> {
    let offset = segments(elf)?.iter().find_map(|segment| {
        let into = address.checked_sub(segment.address)?;
        let held = segment.in_file.checked_sub(4).is_some_and(|last| into <= last);
        held.then(|| segment.offset.checked_add(into)).flatten()
    })?;
    let offset = usize::try_from(offset).ok()?;
    let mut copy = elf.to_vec();
    copy.get_mut(offset..)?.first_chunk_mut::<4>().map(|place| *place = word.to_le_bytes())?;
    Some(copy)
}

#[cfg(test)]
mod tests;
