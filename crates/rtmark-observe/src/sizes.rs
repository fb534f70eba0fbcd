//! Which symbol, source file and crate the flash and RAM of an image belong to.

use std::collections::{BTreeMap, HashMap};

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, LineProgramHeader, Operation, Reader,
    Unit,
};
use object::{Object as _, ObjectSymbol as _, SymbolKind};
use rtmark_model::visible;
use rtmark_sim::{Image, Segment, Soc, source_name};

use crate::functions::display_name;
use crate::lines::Lines;
use crate::live::dwarf;

/// The name of bytes that belong to no symbol.
const UNNAMED: &str =
    "(no symbol: vectors, padding, and heap and stacks that only the linker knows)";
/// The file and crate of symbols that the debug information does not cover.
const UNKNOWN: &str = "(no debug information)";

/// By what sizes are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeGroup {
    /// A function or variable.
    Symbol,
    /// A source file.
    File,
    /// A crate, or the folder of a file that belongs to none.
    Crate,
}

/// The memory of a group of symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The name of the symbol, file or crate.
    pub name: String,
    /// Flash, in bytes: code, constants and initial values.
    pub flash_bytes: u64,
    /// RAM, in bytes.
    pub ram_bytes: u64,
}

/// The part of a segment that a symbol occupies.
struct Extent {
    begin: u64,
    end: u64,
    /// The symbol's name as in the file.
    symbol: String,
    /// The source file, if the symbol table states it, as it does for local symbols.
    file: Option<String>,
}

/// Returns the memory of an image by symbol, file or crate, the largest first. Sums are the image's
/// [`flash_bytes`](Image::flash_bytes) and [`ram_bytes`](Image::ram_bytes).
pub fn sizes(elf: &[u8], image: &Image, soc: &Soc, by: SizeGroup) -> Vec<Size> {
    let extents = extents(elf);
    let lines = Lines::new(elf);
    let variables = variable_files(elf);
    let file_of = |extent: &Extent| {
        let address = u32::try_from(extent.begin).ok()?;
        let function = lines.as_ref().and_then(|lines| lines.inlined_at(address).pop());
        let of_function = function.and_then(|frame| frame.line).map(|line| line.file);
        of_function
            .or_else(|| variables.get(&extent.begin).cloned())
            .or_else(|| extent.file.clone())
    };
    let name_of = |extent: &Extent| match by {
        SizeGroup::Symbol => display_name(&source_name(&extent.symbol)),
        SizeGroup::File => file_of(extent).unwrap_or_else(|| UNKNOWN.to_owned()),
        SizeGroup::Crate => crate_of(file_of(extent).as_deref(), &extent.symbol),
    };
    let mut groups: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for segment in image.segments() {
        let mut rest = SegmentPart::of(segment, 0, u64::from(segment.memory_size), soc);
        let base = u64::from(segment.address);
        let inside = extents.iter().filter_map(|extent| {
            let begin = extent.begin.max(base) - base;
            let end = extent.end.min(base + u64::from(segment.memory_size)).checked_sub(base)?;
            (begin < end).then_some((extent, begin, end))
        });
        for (extent, begin, end) in inside {
            let part = SegmentPart::of(segment, begin, end, soc);
            let group = groups.entry(name_of(extent)).or_default();
            *group = (group.0 + part.flash, group.1 + part.ram);
            rest = SegmentPart { flash: rest.flash - part.flash, ram: rest.ram - part.ram };
        }
        let unnamed = groups.entry(UNNAMED.to_owned()).or_default();
        *unnamed = (unnamed.0 + rest.flash, unnamed.1 + rest.ram);
    }
    let sized = groups.into_iter().filter(|(_, (flash, ram))| flash + ram > 0);
    let mut sizes: Vec<_> = sized
        .map(|(name, (flash_bytes, ram_bytes))| Size { name, flash_bytes, ram_bytes })
        .collect();
    sizes.sort_by_key(|size| {
        std::cmp::Reverse((size.flash_bytes + size.ram_bytes, size.flash_bytes))
    });
    sizes
}

/// The memory of a part of a segment.
#[derive(Clone, Copy)]
struct SegmentPart {
    flash: u64,
    ram: u64,
}

impl SegmentPart {
    /// Returns the memory of the bytes from `begin` to `end`, counted from the segment's first.
    fn of(segment: &Segment, begin: u64, end: u64, soc: &Soc) -> Self {
        let stored = segment.bytes.len() as u64;
        let ram = segment.ram_bytes(begin..end, soc);
        Self { flash: end.min(stored).saturating_sub(begin), ram }
    }
}

/// Returns whether the name of a symbol's file is that of one of Rust's codegen units, such as
/// `app.0123456789abcdef-cgu.0`, which consist of many files.
fn is_codegen_unit(file: &str) -> bool {
    file.rsplit_once("-cgu.")
        .is_some_and(|(_, number)| number.bytes().all(|it| it.is_ascii_digit()))
}

/// Returns what functions and variables occupy, in ascending order and without overlaps: of two symbols for
/// the same bytes, the first counts, a global one before a local one.
fn extents(elf: &[u8]) -> Vec<Extent> {
    let Ok(file) = object::File::parse(elf) else { return Vec::new() };
    let (mut found, mut unit) = (Vec::new(), None);
    for symbol in file.symbols() {
        let name = symbol.name().unwrap_or_default();
        if symbol.kind() == SymbolKind::File {
            unit = Some(visible(name.as_bytes())).filter(|unit| !is_codegen_unit(unit));
        }
        let is_thing = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data);
        if is_thing && symbol.is_definition() && symbol.size() > 0 {
            let is_code = symbol.kind() == SymbolKind::Text;
            let begin = symbol.address() & if is_code { !1 } else { !0 };
            let file = unit.clone().filter(|_| symbol.is_local());
            let end = begin.saturating_add(symbol.size());
            found.push((
                begin,
                symbol.is_local(),
                Extent { begin, end, symbol: name.to_owned(), file },
            ));
        }
    }
    found.sort_by_key(|&(begin, is_local, ref extent)| (begin, is_local, extent.end));
    let mut covered = 0;
    let mut extents = Vec::new();
    for (_, _, mut extent) in found {
        extent.begin = extent.begin.max(covered);
        if extent.begin < extent.end {
            covered = extent.end;
            extents.push(extent);
        }
    }
    extents
}

/// Returns the source files of variables with a fixed address, by the debug information.
fn variable_files(elf: &[u8]) -> HashMap<u64, String> {
    let mut files = HashMap::new();
    let file = object::File::parse(elf).ok();
    let Some(dwarf) = file.and_then(|file| dwarf(&file)) else { return files };
    let (mut headers, mut units) = (dwarf.units(), Vec::new());
    while let Ok(Some(header)) = headers.next() {
        units.extend(dwarf.unit(header));
    }
    for unit in &units {
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let place = match entry.attr_value(gimli::DW_AT_location) {
                Some(AttributeValue::Exprloc(place)) if entry.tag() == gimli::DW_TAG_variable => {
                    place
                }
                _ => continue,
            };
            let Ok(Some(Operation::Address { address })) = place.operations(unit.encoding()).next()
            else {
                continue;
            };
            let path = defining_file(&dwarf, &units, unit, entry);
            files.extend(path.map(|path| (address, path)));
        }
    }
    files
}

/// The longest chain of entries that is followed from a variable to its declaration.
const LONGEST_CHAIN: usize = 4;

/// Returns the file of a variable. An entry may leave that to the declaration that it completes, or, after
/// link-time optimisation, to its original in another unit.
fn defining_file<'a, R: Reader>(
    dwarf: &Dwarf<R>,
    units: &'a [Unit<R>],
    mut unit: &'a Unit<R>,
    variable: &DebuggingInformationEntry<R>,
) -> Option<String> {
    let mut entry = variable.clone();
    for _ in 0..LONGEST_CHAIN {
        if let Some(AttributeValue::FileIndex(index)) = entry.attr_value(gimli::DW_AT_decl_file) {
            return path_of(dwarf, unit, unit.line_program.as_ref()?.header(), index);
        }
        let origin = entry.attr_value(gimli::DW_AT_specification);
        let at = match origin.or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))? {
            AttributeValue::UnitRef(at) => at,
            AttributeValue::DebugInfoRef(at) => {
                let found = units.iter().find_map(|unit| Some((unit, at.to_unit_offset(unit)?)))?;
                unit = found.0;
                found.1
            }
            _ => return None,
        };
        entry = unit.entry(at).ok()?;
    }
    None
}

/// Returns the path of a file of a unit's line program.
fn path_of<R: Reader>(
    dwarf: &Dwarf<R>,
    unit: &Unit<R>,
    header: &LineProgramHeader<R>,
    index: u64,
) -> Option<String> {
    let file = header.file(index)?;
    let text = |value| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    };
    let compiled_in = unit.comp_dir.as_ref().and_then(|folder| folder.to_string_lossy().ok());
    // Folder 0 is the one in which it was compiled.
    let folder = Some(file.directory_index()).filter(|index| *index > 0);
    let folder = folder.and_then(|_| text(file.directory(header)?));
    let path = within(&folder.unwrap_or_default(), text(file.path_name())?);
    let path = within(&compiled_in.unwrap_or_default(), path);
    Some(visible(path.strip_prefix("./").unwrap_or(&path).as_bytes()))
}

/// Returns the path of a file within a folder, unless it is absolute.
fn within(folder: &str, file: String) -> String {
    let is_absolute = file.starts_with(['/', '\\']) || file.get(1..2) == Some(":");
    if is_absolute || folder.is_empty() { file } else { format!("{folder}/{file}") }
}

/// Returns the crate that a symbol belongs to by its source file or name, or else the file's folder and the
/// one around it.
fn crate_of(file: Option<&str>, symbol: &str) -> String {
    let parts: Vec<_> = file.unwrap_or_default().split(['/', '\\']).collect();
    let after = |folders: &[&str]| {
        let at = parts.windows(folders.len()).position(|window| window == folders)?;
        parts.get(at + folders.len()..)
    };
    // Of cargo's registry the folder's name follows, of a checkout its commit.
    let of_cargo = after(&["registry", "src"]).and_then(|rest| rest.get(1));
    let of_git = after(&["git", "checkouts"]).and_then(|rest| rest.first());
    // Rust's own library: in /rustc/COMMIT or in a toolchain.
    let of_rust = file.filter(|file| file.contains("/rustc/") || file.contains("/rustlib/src/"));
    let of_rust = of_rust.and_then(|_| after(&["library"])?.first());
    if let Some(name) = of_cargo.or(of_git).or(of_rust) {
        return (*name).to_owned();
    }
    if rustc_demangle::try_demangle(symbol).is_ok() {
        let name = source_name(symbol);
        let path = name.trim_start_matches(['<', '&', '*', '(']);
        let end = path.find("::").unwrap_or(path.len());
        return path[..end].trim_start_matches("mut ").to_owned();
    }
    let mut folders: Vec<&str> = Vec::new();
    for part in parts.iter().filter(|part| !matches!(**part, "." | "")) {
        match *part {
            ".." => _ = folders.pop(),
            part => folders.push(part),
        }
    }
    match folders.as_slice() {
        [] => UNKNOWN.to_owned(),
        [_] => ".".to_owned(),
        [folder, _] => (*folder).to_owned(),
        [.., outer, folder, _] => format!("{outer}/{folder}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_known_by_their_paths_and_names() {
        for (file, symbol, expected) in [
            (
                "/home/u/.cargo/registry/src/index-1/heapless-0.8.0/src/vec.rs",
                "x",
                "heapless-0.8.0",
            ),
            ("/home/u/.cargo/git/checkouts/embassy-1a2b/9f8e/src/lib.rs", "x", "embassy-1a2b"),
            ("/rustc/0123/library/core/src/fmt/mod.rs", "x", "core"),
            ("/t/lib/rustlib/src/rust/library/alloc/src/vec.rs", "x", "alloc"),
            ("src/main.rs", "_ZN3app4main17h0123456789abcdefE", "app"),
            ("third-party/tasks.c", "xTaskCreate", "third-party"),
            ("../../../libgcc/libgcc2.c", "__udivmoddi4", "libgcc"),
            ("/b/x/y/../../libgcc/libgcc2.c", "__udivmoddi4", "b/libgcc"),
            ("/home/u/zephyr/kernel/sched.c", "z_swap", "zephyr/kernel"),
            ("main.c", "main", "."),
        ] {
            assert_eq!(crate_of(Some(file), symbol), expected, "{file}");
        }
        let generic =
            "_ZN50_$LT$app..Led$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE";
        assert_eq!(crate_of(None, generic), "app");
        assert_eq!(crate_of(None, "memcpy"), UNKNOWN);
    }

    #[test]
    fn codegen_units_are_no_files() {
        assert!(is_codegen_unit("thread.345b8ca9a8d54e9c-cgu.0"));
        assert!(!is_codegen_unit("src/main.rs") && !is_codegen_unit("my-cgu.c"));
    }
}
