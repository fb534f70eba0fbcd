//! The debug information of code that an image has. A linker that drops a function leaves its debug
//! information, at address 0, where it would cover as many bytes of other code as the function had.
//!
//! GNU ld and lld both put a zero for each address in dropped code, whatever was to be added to it. In the
//! first entry of a unit that has a list of ranges, a zero is none of these: there it states that the
//! ranges are absolute.

use std::ops::Range;
use std::sync::Arc;

use addr2line::gimli::{
    self, Dwarf, EndianSlice, LittleEndian, Relocate, RelocateReader, SectionId, UnitHeader,
};
use object::{Architecture, Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

/// Bytes of a section, from which an address in dropped code may be read as one that no code has.
pub type Bytes<'a> = RelocateReader<EndianSlice<'a, LittleEndian>, Addresses>;

/// The address of dropped code: the last one of 32 bits, to which readers may add a size.
pub const DROPPED: u64 = u32::MAX as u64;

/// What an address of zero in a section means.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// The address.
    Zero,
    /// Dropped code.
    Dropped,
    /// Dropped code, except at these offsets.
    DroppedExcept(Arc<[Range<usize>]>),
}

impl Relocate for Addresses {
    fn relocate_address(&self, offset: usize, value: u64) -> gimli::Result<u64> {
        let is_dropped = value == 0
            && match self {
                Self::Zero => false,
                Self::Dropped => true,
                Self::DroppedExcept(ranges) => {
                    let after = ranges.partition_point(|range| range.end <= offset);
                    !ranges.get(after).is_some_and(|range| range.contains(&offset))
                }
            };
        Ok(if is_dropped { DROPPED } else { value })
    }

    fn relocate_offset(&self, _: usize, value: usize) -> gimli::Result<usize> {
        Ok(value)
    }
}

/// Loads the debug information of a file as it is.
pub fn dwarf<'a>(file: &object::File<'a>) -> Option<Dwarf<Bytes<'a>>> {
    load(file, |_| Addresses::Zero)
}

/// Loads the debug information of a file, except for that of dropped code.
pub fn live_dwarf<'a>(file: &object::File<'a>) -> Option<Dwarf<Bytes<'a>>> {
    let has_code = has_code_at_zero(file);
    let bases = if has_code { Arc::default() } else { entries_with_bases(&dwarf(file)?).into() };
    load(file, |id| match id {
        _ if has_code => Addresses::Zero,
        SectionId::DebugInfo => Addresses::DroppedExcept(Arc::clone(&bases)),
        SectionId::DebugLine
        | SectionId::DebugAddr
        | SectionId::DebugAranges
        | SectionId::DebugRngLists => Addresses::Dropped,
        _ => Addresses::Zero,
    })
}

fn load<'a>(
    file: &object::File<'a>,
    addresses: impl Fn(SectionId) -> Addresses,
) -> Option<Dwarf<Bytes<'a>>> {
    let load = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(RelocateReader::new(
            EndianSlice::new(bytes, LittleEndian),
            addresses(id),
        ))
    };
    Dwarf::load(load).ok()
}

/// Returns whether the instruction at address 0 is code: an Arm's may be vectors.
fn has_code_at_zero(file: &object::File<'_>) -> bool {
    if file.architecture() == Architecture::Arm {
        // Mapping symbols (ELF for the Arm Architecture, 5.5.5).
        let begins_code = |name: &str| name.starts_with("$a") || name.starts_with("$t");
        file.symbols().any(|it| it.address() == 0 && it.name().is_ok_and(begins_code))
    } else {
        let mut code = file.sections().filter(|section| section.kind() == SectionKind::Text);
        code.any(|section| section.address() == 0 && section.size() > 0)
    }
}

/// Returns where the first entries of units with a list of ranges are in the section, in ascending order.
fn entries_with_bases(dwarf: &Dwarf<Bytes<'_>>) -> Vec<Range<usize>> {
    let (mut headers, mut found) = (dwarf.units(), Vec::new());
    while let Ok(Some(header)) = headers.next() {
        found.extend(entry_with_base(dwarf, &header));
    }
    found
}

fn entry_with_base(
    dwarf: &Dwarf<Bytes<'_>>,
    header: &UnitHeader<Bytes<'_>>,
) -> Option<Range<usize>> {
    let section_offset = header.debug_info_offset()?.0;
    let abbreviations = header.abbreviations(&dwarf.debug_abbrev).ok()?;
    let mut entries = header.entries_raw(&abbreviations, None).ok()?;
    let begin = entries.next_offset().0;
    let attributes = entries.read_abbreviation().ok()??.attributes();
    attributes.iter().find(|attribute| attribute.name() == gimli::DW_AT_ranges)?;
    entries.skip_attributes(attributes).ok()?;
    Some(section_offset + begin..section_offset + entries.next_offset().0)
}
