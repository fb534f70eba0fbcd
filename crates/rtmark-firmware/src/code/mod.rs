//! A program's code without its addresses, so that two builds of it can be compared.
//!
//! A linker that moves functions changes calls, literals and MOVW/MOVT pairs. Here calls are
//! represented by the name of their target, and words that are addresses inside the program by the symbols
//! nearby. What remains of a function changes only if somebody, or a compiler, changed it. Of a word that
//! could be an address and is beside no known symbol in both builds, nobody can tell whether it moved or was
//! changed: in flash at address 0, most small numbers are such.

mod program;
#[cfg(test)]
mod tests;
mod unnamed;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use object::{Architecture, Object, ObjectSection, ObjectSymbol, SymbolKind};

use self::program::Program;
use self::unnamed::{union, unnamed, unsized_functions};

/// A piece of a function or of data: a halfword, a word, or something that depends on addresses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Half(u16),
    Word(u32),
    /// A branch or call out of the function, to the named one.
    To(String),
    /// A word within the program: an address, or a number that looks like one.
    Address(Address),
}

/// A word within the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address {
    /// The symbols nearby, with the distance from each.
    near: BTreeSet<(Arc<str>, i64)>,
    /// What is there, if no symbol is nearby.
    content: Vec<Piece>,
    word: u32,
}

impl Address {
    /// Returns whether both are the same place of the program, or the same number.
    fn is(&self, other: &Self) -> bool {
        // Equal words may be anywhere, such as vectors that lead to the same handler.
        let is_known = self.content.windows(2).any(|pair| pair[0] != pair[1]);
        self.word == other.word
            || !self.near.is_disjoint(&other.near)
            || is_known && Likeness::of(&self.content, &other.content) == Likeness::Same
    }
}

/// How two pieces compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Same,
    /// Both are words within the program, which may be addresses that moved or numbers that were changed.
    Unclear,
    Different,
}

impl Likeness {
    fn of(a: &[Piece], b: &[Piece]) -> Self {
        if a.len() != b.len() {
            return Self::Different;
        }
        let each = a.iter().zip(b).map(|pair| match pair {
            (a, b) if a == b => Self::Same,
            (Piece::Address(a), Piece::Address(b)) if a.is(b) => Self::Same,
            (Piece::Address(_), Piece::Address(_)) => Self::Unclear,
            // The end of the program's memory has moved.
            (Piece::Address(Address { word, .. }), Piece::Word(other))
            | (Piece::Word(other), Piece::Address(Address { word, .. }))
                if word == other =>
            {
                Self::Same
            }
            _ => Self::Different,
        });
        each.max().unwrap_or(Self::Same)
    }

    /// Compares everything that has a name with everything that has it in another program, in order.
    fn of_all<'a>(
        a: impl ExactSizeIterator<Item = &'a [Piece]>,
        b: impl ExactSizeIterator<Item = &'a [Piece]>,
    ) -> Self {
        if a.len() != b.len() {
            return Self::Different;
        }
        a.zip(b).map(|(a, b)| Self::of(a, b)).max().unwrap_or(Self::Same)
    }
}

/// A function with its contents.
#[derive(Clone, Debug)]
struct Part {
    pieces: Vec<Piece>,
    /// The addresses of its instructions.
    instructions: Vec<u32>,
}

/// A program's functions and data by name; several may share a name.
#[derive(Clone, Debug, Default)]
pub struct Code {
    functions: BTreeMap<String, Vec<Part>>,
    /// What has no name goes by that of its section.
    data: BTreeMap<String, Vec<Vec<Piece>>>,
}

/// Why a program's code cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// It is no complete ELF executable.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// It is for another architecture than Arm, little-endian.
    #[error("only Thumb code is compared, not that for {0}")]
    Architecture(String),
    /// It has code of Arm's other instruction set.
    #[error("only Thumb code is compared, not A32")]
    A32,
}

impl From<object::Error> for CodeError {
    fn from(error: object::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// The functions in which two programs differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Those that differ, or are in only one of the two programs.
    pub changed: BTreeSet<String>,
    /// Those with words that may be addresses which moved, or numbers which were changed.
    pub unclear: BTreeSet<String>,
}

/// The name of what an ELF file is for, as users know it.
fn architecture(file: &object::File<'_>) -> String {
    match file.architecture() {
        Architecture::Arm => "big-endian Arm".to_owned(),
        Architecture::Riscv32 => "RISC-V".to_owned(),
        other => format!("{other:?}"),
    }
}

impl Code {
    /// Reads an ELF file for Arm whose code is Thumb.
    ///
    /// # Errors
    /// When it is another one.
    pub fn of(elf: &[u8]) -> Result<Self, CodeError> {
        let file = object::File::parse(elf)?;
        if file.architecture() != Architecture::Arm || !file.is_little_endian() {
            return Err(CodeError::Architecture(architecture(&file)));
        }
        let program = Program::of(&file, elf)?;
        let mut code = Self::default();
        let mut named: Vec<Range<u64>> = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.size() > 0) {
            let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else { continue };
            let section = file.section_by_index(index)?;
            let address = symbol.address() & !1;
            named.push(address..address.saturating_add(symbol.size()));
            let bytes = section.data_range(address, symbol.size()).ok().flatten();
            let Some(bytes) = bytes else { continue };
            // A section's bytes were found there, so it is one of a 32-bit file.
            let Ok(base) = u32::try_from(address) else { continue };
            match symbol.kind() {
                SymbolKind::Text => {
                    let part = program.function(base, bytes);
                    code.functions.entry(name.to_owned()).or_default().push(part);
                }
                SymbolKind::Data => {
                    let data = program.data(bytes);
                    code.data.entry(name.to_owned()).or_default().push(data);
                }
                _ => {}
            }
        }
        let named = union(named);
        for (name, base, bytes) in unsized_functions(&file, &named) {
            let part = program.function(base, bytes);
            code.functions.entry(name).or_default().push(part);
        }
        for section in file.sections() {
            let name = section.name().unwrap_or_default();
            if !name.starts_with(".rodata") && !name.starts_with(".data") {
                continue;
            }
            let data = section.data()?;
            let rest = unnamed(section.address(), data, &named);
            let rest = rest.into_iter().map(|bytes| program.data(bytes));
            code.data.entry(name.to_owned()).or_default().extend(rest);
        }
        for parts in code.functions.values_mut() {
            parts.sort_by(|a, b| a.pieces.cmp(&b.pieces));
        }
        code.data.values_mut().for_each(|data| data.sort_unstable());
        Ok(code)
    }

    fn likeness(&self, other: &Self, name: &str) -> Likeness {
        let (Some(a), Some(b)) = (self.functions.get(name), other.functions.get(name)) else {
            return Likeness::Different;
        };
        Likeness::of_all(
            a.iter().map(|part| part.pieces.as_slice()),
            b.iter().map(|part| part.pieces.as_slice()),
        )
    }

    /// Returns the functions in which the other program differs.
    pub fn differences(&self, other: &Self) -> Differences {
        let mut found = Differences::default();
        let added = other.functions.keys().filter(|name| !self.functions.contains_key(*name));
        for name in self.functions.keys().chain(added) {
            let into = match self.likeness(other, name) {
                Likeness::Same => continue,
                Likeness::Unclear => &mut found.unclear,
                Likeness::Different => &mut found.changed,
            };
            into.insert(name.clone());
        }
        found
    }

    /// Tells whether both have the same constants and initial values, as far as words that may be
    /// addresses show.
    pub fn same_data(&self, other: &Self) -> bool {
        let same = |(a, b): (&Vec<Vec<Piece>>, &Vec<Vec<Piece>>)| {
            let [a, b] = [a, b].map(|all| all.iter().map(Vec::as_slice));
            Likeness::of_all(a, b) == Likeness::Same
        };
        self.data.keys().eq(other.data.keys())
            && self.data.values().zip(other.data.values()).all(same)
    }

    /// Returns the addresses of a function's instructions.
    pub fn instructions(&self, function: &str) -> impl Iterator<Item = u32> + '_ {
        self.functions
            .get(function)
            .into_iter()
            .flatten()
            .flat_map(|part| part.instructions.clone())
    }
}
