//! Locates the members of C structures by debug information.

use addr2line::gimli::{self, Dwarf, UnitOffset};

use crate::live::{Bytes, dwarf};

type Unit<'a> = gimli::Unit<Bytes<'a>>;
type Entry<'a> = gimli::DebuggingInformationEntry<Bytes<'a>>;

/// The location of a structure's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its offset from the beginning of the structure, in bytes.
    pub offset: u32,
    /// Its size in bytes; `None` if its type does not state it, as for an array.
    pub size: Option<u32>,
}

/// Returns the offset of a structure's member, in bytes; `None` if the debug information does not
/// contain it. The first structure of that name with such a member counts.
pub fn offset_of(elf: &[u8], structure: &str, member: &str) -> Option<u32> {
    member_of(elf, structure, member).map(|member| member.offset)
}

/// Returns the location of a structure's member; `None` if the debug information does not contain it.
/// The first structure of that name with such a member counts.
pub fn member_of(elf: &[u8], structure: &str, member: &str) -> Option<Member> {
    let file = object::File::parse(elf).ok()?;
    let dwarf: Dwarf<Bytes<'_>> = dwarf(&file)?;
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        if let Some(found) = in_unit(&dwarf, &unit, structure, member) {
            return Some(found);
        }
    }
    None
}

fn in_unit(
    dwarf: &Dwarf<Bytes<'_>>,
    unit: &Unit<'_>,
    structure: &str,
    member: &str,
) -> Option<Member> {
    let is_called = |entry: &Entry<'_>, name: &str| {
        let value = entry.attr_value(gimli::DW_AT_name);
        value
            .and_then(|value| dwarf.attr_string(unit, value).ok())
            .is_some_and(|text| text.inner().slice() == name.as_bytes())
    };
    let mut entries = unit.entries();
    let mut within = None;
    while let Ok(Some(entry)) = entries.next_dfs() {
        let depth = entry.depth();
        if within.is_some_and(|outer| depth <= outer) {
            within = None;
        }
        match entry.tag() {
            gimli::DW_TAG_structure_type if is_called(entry, structure) => within = Some(depth),
            gimli::DW_TAG_member
                if within.is_some_and(|outer| depth == outer + 1) && is_called(entry, member) =>
            {
                let offset = entry.attr_value(gimli::DW_AT_data_member_location)?;
                let offset = u32::try_from(offset.udata_value()?).ok()?;
                return Some(Member { offset, size: type_of(entry).and_then(|at| size(unit, at)) });
            }
            _ => {}
        }
    }
    None
}

/// Returns the type of a variable, a member or another type.
fn type_of(entry: &Entry<'_>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        gimli::AttributeValue::UnitRef(at) => Some(at),
        _ => None,
    }
}

/// The longest chain of names and qualifiers that is followed from a type to its size.
const LONGEST_CHAIN: usize = 16;

/// Returns the size of a type, in bytes, but not of an array: its type is that of its elements.
fn size(unit: &Unit<'_>, mut at: UnitOffset) -> Option<u32> {
    for _ in 0..LONGEST_CHAIN {
        let entry = unit.entry(at).ok()?;
        if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size) {
            return u32::try_from(size.udata_value()?).ok();
        }
        if entry.tag() == gimli::DW_TAG_array_type {
            return None;
        }
        at = type_of(&entry)?;
    }
    None
}
