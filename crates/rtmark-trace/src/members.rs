//! Where the members of a C structure lie, by debug information.

use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object as _, ObjectSection as _};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The offset of a member of a structure, in bytes; `None` where the debug information does not
/// tell. The first structure of the name that has such a member counts.
pub fn offset_of(elf: &[u8], structure: &str, member: &str) -> Option<u32> {
    let file = object::File::parse(elf).ok()?;
    let load = |id: SectionId| {
        let section = file.section_by_name(id.name());
        let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
        Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
    };
    let dwarf: Dwarf<Slice<'_>> = Dwarf::load(load).ok()?;
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        if let Some(offset) = in_unit(&dwarf, &unit, structure, member) {
            return Some(offset);
        }
    }
    None
}

fn in_unit(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &gimli::Unit<Slice<'_>>,
    structure: &str,
    member: &str,
) -> Option<u32> {
    let is_called = |entry: &gimli::DebuggingInformationEntry<Slice<'_>>, name: &str| {
        let value = entry.attr_value(gimli::DW_AT_name);
        value
            .and_then(|value| dwarf.attr_string(unit, value).ok())
            .is_some_and(|text| text.slice() == name.as_bytes())
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
                return u32::try_from(offset.udata_value()?).ok();
            }
            _ => {}
        }
    }
    None
}
