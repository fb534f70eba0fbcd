//! From addresses to source lines, by the debug information of an ELF file.

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object as _, ObjectSection as _};

/// The line table of an image.
pub struct Lines<'a> {
    context: Context<EndianSlice<'a, LittleEndian>>,
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub file: String,
    pub line: u32,
}

impl<'a> Lines<'a> {
    /// Reads the debug information; `None` when there is none that can be read.
    pub fn new(elf: &'a [u8]) -> Option<Self> {
        let file = object::File::<'a>::parse(elf).ok()?;
        file.section_by_name(".debug_info")?;
        let load = |id: SectionId| {
            let section = file.section_by_name(id.name());
            let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
            Ok::<_, addr2line::gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = Dwarf::load(load).ok()?;
        Some(Self { context: Context::from_dwarf(dwarf).ok()? })
    }

    /// The line that the instruction at an address was compiled from; of inlined
    /// functions the innermost.
    pub fn at(&self, address: u32) -> Option<Line> {
        let location = self.context.find_location(address.into()).ok()??;
        let (file, line) = (location.file?, location.line?);
        Some(Line { file: file.to_owned(), line })
    }
}
