//! A program's code without its addresses, so that two builds of it can be compared.
//!
//! A linker that moves functions changes calls, literals and MOVW/MOVT pairs. Here calls are
//! represented by the name of their target, and words that are addresses inside the program by the symbols
//! nearby. What remains of a function changes only if somebody, or a compiler, changed it. Of a word that
//! could be an address and is beside no known symbol in both builds, nobody can tell whether it moved or was
//! changed: in flash at address 0, most small numbers are such.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use object::elf::SHF_ALLOC;
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind,
};

use crate::select::{loaded, memory};

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
    near: BTreeSet<(String, i64)>,
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

impl Code {
    /// Reads an ELF file for Arm whose code is Thumb; returns `None` if it is another one.
    pub fn of(elf: &[u8]) -> Option<Self> {
        let file = object::File::parse(elf).ok().filter(Object::is_little_endian)?;
        if file.architecture() != Architecture::Arm {
            return None;
        }
        let program = Program::of(&file, elf)?;
        let mut code = Self::default();
        let mut named: Vec<Range<u64>> = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.size() > 0) {
            let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else { continue };
            let section = file.section_by_index(index).ok()?;
            let address = symbol.address() & !1;
            named.push(address..address.saturating_add(symbol.size()));
            let bytes = section.data_range(address, symbol.size()).ok().flatten();
            let Some(bytes) = bytes else { continue };
            let base = u32::try_from(address).ok()?;
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
        named.sort_by_key(|range| range.start);
        for (name, base, bytes) in unsized_functions(&file, &named) {
            let part = program.function(base, bytes);
            code.functions.entry(name).or_default().push(part);
        }
        for section in file.sections() {
            let name = section.name().unwrap_or_default();
            if !name.starts_with(".rodata") && !name.starts_with(".data") {
                continue;
            }
            let data = section.data().ok()?;
            let rest = unnamed(section.address(), data, &named);
            let rest = rest.into_iter().map(|bytes| program.data(bytes));
            code.data.entry(name.to_owned()).or_default().extend(rest);
        }
        for parts in code.functions.values_mut() {
            parts.sort_by(|a, b| a.pieces.cmp(&b.pieces));
        }
        code.data.values_mut().for_each(|data| data.sort_unstable());
        Some(code)
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

    /// Returns the functions that differ, or are in only one of the two programs.
    pub fn changed(&self, other: &Self) -> BTreeSet<String> {
        self.all_that_are(other, Likeness::Different)
    }

    /// Returns the functions with words that may be addresses which moved, or numbers which were changed.
    pub fn unclear(&self, other: &Self) -> BTreeSet<String> {
        self.all_that_are(other, Likeness::Unclear)
    }

    fn all_that_are(&self, other: &Self, likeness: Likeness) -> BTreeSet<String> {
        let names = self.functions.keys().chain(other.functions.keys());
        names.filter(|name| self.likeness(other, name) == likeness).cloned().collect()
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

/// Returns the functions without a length, as assemblers leave them: each up to the next symbol,
/// without what fills up its end. `named` are the ranges of the others.
fn unsized_functions<'a>(
    file: &object::File<'a>,
    named: &[Range<u64>],
) -> Vec<(String, u32, &'a [u8])> {
    let mut found = Vec::new();
    let is_named = |address: u64| named.iter().any(|range| range.contains(&address));
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let here = |symbol: &object::Symbol<'_, '_>| {
            symbol.section_index() == Some(section.index())
                && symbol.name().is_ok_and(|name| !name.is_empty() && !name.starts_with('$'))
        };
        let symbols: Vec<_> = file.symbols().filter(here).collect();
        let begins: BTreeSet<u64> = symbols.iter().map(|symbol| symbol.address() & !1).collect();
        let end = section.address().saturating_add(section.size());
        // Others are places of the linker's.
        let is_function = |symbol: &&object::Symbol<'_, '_>| {
            symbol.kind() == SymbolKind::Text && symbol.size() == 0
        };
        for symbol in symbols.iter().filter(is_function) {
            let address = symbol.address() & !1;
            let next = begins.range(address + 1..).next().copied().unwrap_or(end).min(end);
            let bytes = section.data_range(address, next.saturating_sub(address)).ok().flatten();
            let (Ok(name), Ok(base), Some(bytes)) =
                (symbol.name(), u32::try_from(address), bytes.filter(|_| !is_named(address)))
            else {
                continue;
            };
            let is_filling = |half: &&[u8]| matches!(half, [0, 0] | [0x00, 0xBF]);
            let filling = bytes.chunks(2).rev().take_while(is_filling).count() * 2;
            let length = bytes.len().saturating_sub(filling);
            if length > 0 {
                found.push((name.to_owned(), base, &bytes[..length]));
            }
        }
    }
    found
}

/// Returns the parts of a section at an address that no symbol names, without zeros at their ends; `named`
/// is sorted by beginnings.
fn unnamed<'a>(base: u64, data: &'a [u8], named: &[Range<u64>]) -> Vec<&'a [u8]> {
    let end = base.saturating_add(data.len() as u64);
    let mut parts = Vec::new();
    let mut at = base;
    let behind = end..end;
    for range in named.iter().filter(|range| range.end > base && range.start < end).chain([&behind])
    {
        if range.start > at {
            let part = &data[(at - base) as usize..(range.start - base) as usize];
            // Words keep their alignment.
            let first = part.iter().position(|byte| *byte != 0).map(|first| first & !3);
            let last = part.iter().rposition(|byte| *byte != 0);
            parts.extend(first.zip(last).map(|(first, last)| &part[first..=last]));
        }
        at = at.max(range.end);
    }
    parts
}

/// The context that determines the meaning of a program's words.
struct Program<'a> {
    /// The address ranges of code, data and variables.
    memory: Vec<Range<u64>>,
    /// The functions by start address.
    names: BTreeMap<u32, String>,
    /// Where data begins within code, and where code continues.
    marks: BTreeMap<u32, bool>,
    /// Functions, data and places that have a name: beginning, length, name.
    symbols: Vec<(u32, u32, String)>,
    /// What the file loads.
    loaded: Vec<(u64, &'a [u8])>,
}

/// How far from a symbol an address may still be meant as one beside it: compilers put a pointer before an
/// array that a loop increments first.
const NEAR: i64 = 16;
/// How many bytes at an address without a symbol are compared.
const CONTENT: usize = 16;
/// How many addresses in a row are followed: to a constant, and from there to its text.
const DEPTH: u32 = 3;

impl<'a> Program<'a> {
    fn of(file: &object::File<'_>, elf: &'a [u8]) -> Option<Self> {
        let (mut names, mut marks) = (BTreeMap::new(), BTreeMap::new());
        let mut symbols = Vec::new();
        // Debug information has mapping symbols, too, whose addresses are offsets.
        let in_memory = |section: &object::Section<'_, '_>| match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(SHF_ALLOC),
            _ => true,
        };
        let sections = file.sections().filter(in_memory).map(|section| section.index());
        let sections: HashSet<_> = sections.collect();
        for symbol in file.symbols() {
            if symbol.section_index().is_some_and(|index| !sections.contains(&index)) {
                continue;
            }
            let (Ok(name), Ok(address)) = (symbol.name(), u32::try_from(symbol.address())) else {
                continue;
            };
            // Mapping symbols: IHI 0044, 5.5.5.
            let is = |letter: &str| name == letter || name.starts_with(&format!("{letter}."));
            if is("$a") {
                return None;
            }
            if is("$d") || is("$t") {
                marks.insert(address, is("$d"));
                continue;
            }
            if symbol.kind() == SymbolKind::Text {
                names.insert(address & !1, name.to_owned());
            }
            if symbol.section_index().is_some() && !name.is_empty() {
                let size = u32::try_from(symbol.size()).unwrap_or(0);
                symbols.push((address & !1, size, name.to_owned()));
            }
        }
        Some(Self { memory: memory(elf)?, names, marks, symbols, loaded: loaded(elf)? })
    }

    fn holds(&self, word: u32) -> bool {
        // Code may refer to the end address of a range of variables.
        self.memory.iter().any(|range| range.start <= word.into() && u64::from(word) <= range.end)
    }

    /// Returns a word as a piece.
    fn word(&self, word: u32) -> Piece {
        self.word_to(word, DEPTH)
    }

    /// Returns a word as a piece, following up to this many addresses in a row.
    fn word_to(&self, word: u32, depth: u32) -> Piece {
        if !self.holds(word) {
            return Piece::Word(word);
        }
        let near = self.symbols.iter().filter_map(|(begin, size, name)| {
            let from = i64::from(word) - i64::from(*begin);
            let is_near = (-NEAR..=i64::from(*size) + NEAR).contains(&from);
            is_near.then(|| (name.clone(), from))
        });
        let near: BTreeSet<_> = near.collect();
        let content = self.loaded.iter().find_map(|(begin, bytes)| {
            let at = usize::try_from(u64::from(word).checked_sub(*begin)?).ok()?;
            bytes.get(at..).map(|rest| &rest[..rest.len().min(CONTENT)])
        });
        let content = content.filter(|_| near.is_empty() && depth > 0);
        let content = content.map_or_else(Vec::new, |bytes| self.data_to(bytes, depth - 1));
        Piece::Address(Address { near, content, word })
    }

    fn data(&self, bytes: &[u8]) -> Vec<Piece> {
        self.data_to(bytes, DEPTH)
    }

    fn data_to(&self, bytes: &[u8], depth: u32) -> Vec<Piece> {
        let words = bytes.chunks(4).map(|word| match <[u8; 4]>::try_from(word) {
            Ok(word) => vec![self.word_to(u32::from_le_bytes(word), depth)],
            Err(_) => word.iter().map(|byte| Piece::Half(u16::from(*byte))).collect(),
        });
        words.flatten().collect()
    }

    fn function(&self, base: u32, bytes: &[u8]) -> Part {
        let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let mut part = Part { pieces: Vec::new(), instructions: Vec::new() };
        // Registers whose lower half was set by the last MOVW: its position and value.
        let mut lower: BTreeMap<u16, (usize, u32)> = BTreeMap::new();
        let mut at = 0;
        while let Some(first) = half(at) {
            let address = base.wrapping_add(at as u32);
            let in_data = self.marks.range(..=address).next_back().is_some_and(|(_, data)| *data);
            let second = half(at + 2);
            if let (true, true, Some(second)) = (in_data, address.is_multiple_of(4), second) {
                part.pieces.push(self.word(u32::from(second) << 16 | u32::from(first)));
                at += 4;
                continue;
            }
            if !in_data {
                part.instructions.push(address);
            }
            let Some(second) = second.filter(|_| !in_data && first >> 11 >= 0b11101) else {
                part.pieces.push(Piece::Half(first));
                at += 2;
                continue;
            };
            let length = bytes.len() as u32;
            let target = branch(first, second).map(|by| address.wrapping_add(4).wrapping_add(by));
            match target.filter(|target| target.wrapping_sub(base) >= length) {
                Some(target) => {
                    let name = self.names.get(&(target & !1)).cloned().unwrap_or_default();
                    part.pieces.push(Piece::To(name));
                }
                None => part.pieces.extend([Piece::Half(first), Piece::Half(second)]),
            }
            if let Some((top, register, value)) = wide_move(first, second) {
                let here = part.pieces.len() - 2;
                if !top {
                    lower.insert(register, (here, value));
                } else if let Some((there, low)) = lower.remove(&register)
                    && let moved @ Piece::Address(_) = self.word(value << 16 | low)
                {
                    // The registers and the kind of instruction remain.
                    for first in [there, here] {
                        part.pieces[first] =
                            Piece::Half(if first == there { 0xF240 } else { 0xF2C0 });
                        part.pieces[first + 1] = Piece::Half(register << 8);
                    }
                    part.pieces.push(moved);
                }
            }
            at += 4;
        }
        part
    }
}

/// Returns the offset of a BL or an unconditional B.W, from encodings T4 and T1.
fn branch(first: u16, second: u16) -> Option<u32> {
    let is = first >> 11 == 0b11110 && second & 0x9000 == 0x9000;
    is.then(|| {
        let (first, second) = (u32::from(first), u32::from(second));
        let sign = first >> 10 & 1;
        let bit = |at: u32| !(second >> at ^ sign) & 1;
        let offset = sign << 24 | bit(13) << 23 | bit(11) << 22 | (first & 0x3FF) << 12;
        let offset = offset | (second & 0x7FF) << 1;
        (offset << 7).cast_signed().wrapping_shr(7).cast_unsigned()
    })
}

/// Returns whether it is MOVT rather than MOVW, the register, and the immediate.
fn wide_move(first: u16, second: u16) -> Option<(bool, u16, u32)> {
    let top = match first & 0xFBF0 {
        0xF240 => false,
        0xF2C0 => true,
        _ => return None,
    };
    let (f, s) = (u32::from(first), u32::from(second));
    let value = (f & 0xF) << 12 | (f >> 10 & 1) << 11 | (s >> 12 & 7) << 8 | s & 0xFF;
    (second & 0x8000 == 0).then_some((top, second >> 8 & 0xF, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(names: &[(u32, &str)]) -> Program<'static> {
        let names = names.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
        let marks = BTreeMap::from([(0x100, false), (0x110, true), (0x200, false)]);
        let symbols = vec![(0x100, 8, "start".to_owned()), (0x2000_0010, 4, "count".to_owned())];
        let memory = vec![0..0x400, 0x2000_0000..0x2000_0100];
        Program { memory, names, marks, symbols, loaded: Vec::new() }
    }

    fn bytes(halves: &[u16]) -> Vec<u8> {
        halves.iter().flat_map(|half| half.to_le_bytes()).collect()
    }

    #[test]
    fn branch_targets_match_the_manual() {
        // BL to itself and to the instruction after it; B.W forward by 4096.
        assert_eq!(branch(0xF7FF, 0xFFFE), Some(-4_i32 as u32));
        assert_eq!(branch(0xF000, 0xF800), Some(0));
        assert_eq!(branch(0xF001, 0xB800), Some(4096));
        // A conditional branch stays within its function, and MSR is not a branch.
        assert_eq!(branch(0xF000, 0x8000), None);
        assert_eq!(branch(0xF380, 0x8810), None);
    }

    #[test]
    fn moved_functions_are_equal_and_changed_calls_are_not() {
        let there = program(&[(0x300, "f"), (0x320, "g")]);
        let code = |target: u32, at: u32| {
            let by = (target.wrapping_sub(at + 4) >> 1) as u16;
            bytes(&[0xF000, 0xF800 | by & 0x7FF, 0x4770])
        };
        let own = there.function(0x100, &code(0x300, 0x100));
        assert_eq!(own.instructions, [0x100, 0x104]);
        assert_eq!(own.pieces, there.function(0x108, &code(0x300, 0x108)).pieces);
        assert_ne!(own.pieces, there.function(0x100, &code(0x320, 0x100)).pieces);
        assert_ne!(
            own.pieces,
            there.function(0x100, &[&code(0x300, 0x100)[..4], &[0, 0xBF]].concat()).pieces
        );
    }

    /// The pieces of a word of data in code, in a program whose symbols are elsewhere by this much.
    fn literal(by: u32, word: u32) -> Vec<Piece> {
        let mut there = program(&[]);
        there.symbols.iter_mut().for_each(|(begin, ..)| *begin += by);
        there.function(0x110, &bytes(&[word as u16, (word >> 16) as u16])).pieces
    }

    #[test]
    fn addresses_go_by_their_symbols_and_numbers_are_compared() {
        let compare = |a: &[Piece], b: &[Piece]| Likeness::of(a, b);
        let count = literal(0, 0x2000_0010);
        assert_eq!(compare(&count, &literal(0x20, 0x2000_0030)), Likeness::Same);
        // An array's end, and the word before it.
        for beside in [4, -4_i32 as u32] {
            let here = literal(0, 0x2000_0010_u32.wrapping_add(beside));
            let there = literal(0x20, 0x2000_0030_u32.wrapping_add(beside));
            assert_eq!(compare(&here, &there), Likeness::Same);
        }
        // Another variable, or a number that is no address: both are within the program.
        assert_eq!(compare(&count, &literal(0, 0x2000_0080)), Likeness::Unclear);
        assert_eq!(compare(&literal(0, 0x100), &literal(0, 0x200)), Likeness::Unclear);
        assert_eq!(compare(&literal(0, 0x200), &literal(0x20, 0x200)), Likeness::Same);
        assert_eq!(
            compare(&literal(0, 0x1234_5678), &literal(0, 0x1234_5679)),
            Likeness::Different
        );
        // The same number, where the program has become so long that it looks like an address.
        let mut long = program(&[]);
        long.memory.push(0..0x2000_0000);
        let number = long.function(0x110, &bytes(&[0x5678, 0x1234])).pieces;
        assert_eq!(compare(&number, &literal(0, 0x1234_5678)), Likeness::Same);
    }

    #[test]
    fn anonymous_constants_go_by_their_contents() {
        let text = b"a constant that moves........".as_slice();
        let at = |begin: u64, text: &'static [u8], word: u32| {
            let mut there = program(&[]);
            there.loaded.push((begin, text));
            there.function(0x110, &bytes(&[word as u16, (word >> 16) as u16])).pieces
        };
        let here = at(0x300, text, 0x302);
        assert_eq!(Likeness::of(&here, &at(0x340, text, 0x342)), Likeness::Same);
        assert_eq!(Likeness::of(&here, &at(0x340, text, 0x344)), Likeness::Unclear);
        // Vectors that all lead to the same handler do not show that two numbers are the same place.
        let vectors = &[0x41, 1, 0, 0].repeat(16).leak()[..];
        let vector = at(0x200, vectors, 0x210);
        assert_eq!(Likeness::of(&vector, &at(0x200, vectors, 0x220)), Likeness::Unclear);
    }

    #[test]
    fn what_no_symbol_names_is_data_too() {
        let data = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0];
        let named = [0x102..0x104, 0x108..0x10B, 0x200..0x300];
        // Zeros at the ends are padding, and words stay words.
        let parts: [&[u8]; 2] = [&[1, 2, 3, 4], &[8, 9]];
        assert_eq!(unnamed(0x100, &data, &named), parts);
        assert_eq!(unnamed(0x100, &data, std::slice::from_ref(&(0..0x1000))), Vec::<&[u8]>::new());
    }

    #[test]
    fn pairs_of_moves_are_one_word() {
        let there = program(&[]);
        // movw r, low; movt r, high
        let pair = |register: u16, low: u16, high: u16| {
            let halves = [
                0xF240,
                register << 8 | low,
                0xF2C0 | high >> 12,
                register << 8 | (high & 0x700) << 4 | high & 0xFF,
            ];
            there.function(0x200, &bytes(&halves)).pieces
        };
        let of = |a: &[Piece], b: &[Piece]| Likeness::of(a, b);
        assert_eq!(of(&pair(3, 0x12, 0x2000), &pair(3, 0x12, 0x2000)), Likeness::Same);
        assert_eq!(of(&pair(3, 0x12, 0x2000), &pair(3, 0x80, 0x2000)), Likeness::Unclear);
        assert_eq!(of(&pair(3, 0x12, 0x2000), &pair(4, 0x12, 0x2000)), Likeness::Different);
        assert_eq!(of(&pair(3, 0x12, 0x4000), &pair(3, 0x13, 0x4000)), Likeness::Different);
    }

    #[test]
    fn arbitrary_files_are_handled() {
        assert!(Code::of(b"").is_none());
        assert!(Code::of(b"\x7fELF\x01\x01\x01").is_none());
    }
}
