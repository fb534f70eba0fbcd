//! From addresses to source lines, by the debug information of an ELF file.

use std::fmt;

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use object::{Object as _, ObjectSection as _};
use rtmark_model::{Line, visible};

/// The line table of an image.
pub struct Lines<'a> {
    context: Context<EndianSlice<'a, LittleEndian>>,
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

/// A function whose code stands at an address, its own or inlined there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The function as the source names it; `None` where the debug information has no name.
    pub function: Option<String>,
    /// Where in it; of all but the innermost function the line of the inlined call.
    pub line: Option<Line>,
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
        line(&self.context.find_location(address.into()).ok()??)
    }

    /// The functions at an address, the innermost inlined one first and the one that
    /// was called last; none where the debug information says nothing.
    pub fn inlined_at(&self, address: u32) -> Vec<Inlined> {
        let Ok(mut frames) = self.context.find_frames(address.into()).skip_all_loads() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let plain = |name: &str| format!("{:#}", rustc_demangle::demangle(name));
            found.push(Inlined {
                function: name.map(|name| visible(plain(&name).as_bytes())),
                line: frame.location.as_ref().and_then(line),
            });
        }
        found
    }
}

fn line(location: &addr2line::Location<'_>) -> Option<Line> {
    let (file, line) = (location.file?, location.line?);
    // Where a build has made paths relative, that says nothing.
    let file = file.strip_prefix("./").unwrap_or(file);
    Some(Line { file: visible(file.as_bytes()), line })
}
