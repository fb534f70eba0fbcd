//! Maps addresses to source lines by the debug information of an ELF file.

use std::collections::BTreeSet;
use std::fmt;

use addr2line::Context;
use addr2line::gimli::{DW_TAG_inlined_subroutine, Dwarf, Reader, Unit};
use object::{CompressionFormat, Object as _, ObjectSection as _, ObjectSymbol as _};
use rtmark_model::{Frame, Line, Source, visible};
use rtmark_sim::source_name;

use crate::author::Author;
use crate::live::{Bytes, DROPPED, live_dwarf};

/// The line table of an image.
pub struct Lines<'a> {
    elf: &'a [u8],
    context: Context<Bytes<'a>>,
    author: Author,
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

impl<'a> Lines<'a> {
    /// Reads the debug information; returns `None` if there is none, or it cannot be read.
    pub fn new(elf: &'a [u8]) -> Option<Self> {
        let file = object::File::<'a>::parse(elf).ok()?;
        // Compressed debug information is not read, and would look as if it were missing.
        let info = file.section_by_name(".debug_info")?;
        info.compressed_file_range()
            .ok()
            .filter(|range| range.format == CompressionFormat::None)?;
        let context = Context::from_dwarf(live_dwarf(&file)?).ok()?;
        let mut lines = Self { elf, context, author: Author::default() };
        let main = file.symbols().find(|symbol| symbol.name() == Ok("main"));
        if let Some(author) = main.and_then(|main| lines.author_of(main.address() & !1)) {
            lines.author = author;
        }
        Some(lines)
    }

    /// Returns the author according to the function at an address, the application's `main`.
    fn author_of(&self, main: u64) -> Option<Author> {
        let address = u32::try_from(main).ok()?;
        let file = self.inlined_at(address).pop()?.line?.file;
        let unit = self.context.find_dwarf_and_unit(main).skip_all_loads()?;
        let folder = unit.comp_dir.as_ref().and_then(|folder| folder.to_string_lossy().ok());
        Some(Author::of(&file, folder.as_deref().unwrap_or_default()))
    }

    /// Returns the source line of the instruction at an address; with inlined functions, the innermost
    /// one's.
    pub fn at(&self, address: u32) -> Option<Line> {
        line(&self.context.find_location(address.into()).ok()??)
    }

    /// Returns the line to report for an address: see [`Source`].
    pub fn source(&self, address: u32) -> Option<Source> {
        let mut frames = self.inlined_at(address);
        frames.reverse();
        Source::of(&frames)
    }

    /// Returns every address at which inlined code begins or ends, in ascending order.
    pub fn inlined_borders(&self) -> Vec<u32> {
        let mut borders = BTreeSet::new();
        let file = object::File::parse(self.elf).ok();
        if let Some(dwarf) = file.and_then(|file| live_dwarf(&file)) {
            let mut headers = dwarf.units();
            while let Ok(Some(header)) = headers.next() {
                if let Ok(unit) = dwarf.unit(header) {
                    add_borders(&dwarf, &unit, &mut borders);
                }
            }
        }
        borders.into_iter().filter_map(|border| u32::try_from(border).ok()).collect()
    }

    /// Returns the functions at an address, from the innermost inlined one to the one that was called;
    /// none if the debug information does not cover it.
    pub fn inlined_at(&self, address: u32) -> Vec<Frame> {
        let Ok(mut frames) = self.context.find_frames(address.into()).skip_all_loads() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let line = frame.location.as_ref().and_then(line);
            let owner = self.author.owner(line.as_ref().map(|line| line.file.as_str()));
            let function = name.map(|name| visible(source_name(&name).as_bytes()));
            found.push(Frame { function, line, owner });
        }
        found
    }
}

/// Adds the borders of a unit's inlined code, as far as they can be read.
fn add_borders<R: Reader>(dwarf: &Dwarf<R>, unit: &Unit<R>, borders: &mut BTreeSet<u64>) {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != DW_TAG_inlined_subroutine {
            continue;
        }
        let Ok(mut ranges) = dwarf.die_ranges(unit, entry) else { continue };
        while let Ok(Some(range)) = ranges.next() {
            if range.begin < DROPPED {
                borders.extend([range.begin, range.end]);
            }
        }
    }
}

fn line(location: &addr2line::Location<'_>) -> Option<Line> {
    let (file, line) = (location.file?, location.line?);
    // This component carries no information in builds with relative paths.
    let file = file.strip_prefix("./").unwrap_or(file);
    Some(Line { file: visible(file.as_bytes()), line })
}
