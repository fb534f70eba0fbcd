//! The pieces of which a program's functions and data consist.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use object::elf::SHF_ALLOC;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};

use super::{Address, CodeError, Part, Piece};
use crate::select::{loaded, memory};

/// The context that determines the meaning of a program's words.
pub(super) struct Program<'a> {
    /// The address ranges of code, data and variables.
    pub memory: Vec<Range<u64>>,
    /// The functions by start address.
    pub names: BTreeMap<u32, String>,
    /// Where data begins within code, and where code continues.
    pub marks: BTreeMap<u32, bool>,
    /// Functions, data and places that have a name.
    pub symbols: Symbols,
    /// What the file loads.
    pub loaded: Vec<(u64, &'a [u8])>,
}

/// A function, data or a place that has a name.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub begin: u32,
    /// In bytes; 0 for a place.
    pub size: u32,
    pub name: Arc<str>,
}

/// Symbols, to be found by addresses within or beside them.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    /// By the number of bits of their sizes, each sorted by beginnings: what holds an address begins at most
    /// that far before it.
    by_bits: BTreeMap<u32, Vec<Symbol>>,
}

impl Symbols {
    pub fn new(symbols: impl IntoIterator<Item = Symbol>) -> Self {
        let mut by_bits: BTreeMap<u32, Vec<Symbol>> = BTreeMap::new();
        for symbol in symbols {
            let bits = u32::BITS - symbol.size.leading_zeros();
            by_bits.entry(bits).or_default().push(symbol);
        }
        for symbols in by_bits.values_mut() {
            symbols.sort_by_key(|symbol| symbol.begin);
        }
        Self { by_bits }
    }

    /// Returns the symbols that hold an address, or are at most [`NEAR`] bytes away, with the distance from
    /// the beginning of each.
    pub fn near(&self, address: u32) -> BTreeSet<(Arc<str>, i64)> {
        let mut found = BTreeSet::new();
        for (bits, symbols) in &self.by_bits {
            let from = |symbol: &Symbol| i64::from(address) - i64::from(symbol.begin);
            let farthest = (1_i64 << bits) + NEAR;
            let first = symbols.partition_point(|symbol| from(symbol) > farthest);
            for symbol in symbols[first..].iter().take_while(|symbol| from(symbol) >= -NEAR) {
                if from(symbol) <= i64::from(symbol.size) + NEAR {
                    found.insert((symbol.name.clone(), from(symbol)));
                }
            }
        }
        found
    }
}

/// How far from a symbol an address may still be meant as one beside it: compilers put a pointer before an
/// array that a loop increments first.
const NEAR: i64 = 16;
/// How many bytes at an address without a symbol are compared.
const CONTENT: usize = 16;
/// How many addresses in a row are followed: to a constant, and from there to its text.
const DEPTH: u32 = 3;

impl<'a> Program<'a> {
    pub fn of(file: &object::File<'_>, elf: &'a [u8]) -> Result<Self, CodeError> {
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
                return Err(CodeError::A32);
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
                symbols.push(Symbol { begin: address & !1, size, name: name.into() });
            }
        }
        let memory_and_loaded = memory(elf).zip(loaded(elf));
        let damaged = || CodeError::Unreadable("its segments are damaged or truncated".to_owned());
        let (memory, loaded) = memory_and_loaded.ok_or_else(damaged)?;
        Ok(Self { memory, names, marks, symbols: Symbols::new(symbols), loaded })
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
        let near = self.symbols.near(word);
        let content = self.loaded.iter().find_map(|(begin, bytes)| {
            let at = usize::try_from(u64::from(word).checked_sub(*begin)?).ok()?;
            bytes.get(at..).map(|rest| &rest[..rest.len().min(CONTENT)])
        });
        let content = content.filter(|_| near.is_empty() && depth > 0);
        let content = content.map_or_else(Vec::new, |bytes| self.content(word, bytes, depth - 1));
        Piece::Address(Address { near, content, word })
    }

    /// Returns bytes at an address as pieces, up to the last whole word: a pointer may follow a text that
    /// does not begin at a word.
    fn content(&self, address: u32, bytes: &[u8], depth: u32) -> Vec<Piece> {
        let unaligned = (address.wrapping_neg() % 4) as usize;
        let (first, words) = bytes.split_at(unaligned.min(bytes.len()));
        let (words, _) = words.as_chunks::<4>();
        let first = first.iter().map(|byte| Piece::Half(u16::from(*byte)));
        first.chain(self.words(words, depth)).collect()
    }

    fn words(&self, words: &[[u8; 4]], depth: u32) -> impl Iterator<Item = Piece> {
        words.iter().map(move |word| self.word_to(u32::from_le_bytes(*word), depth))
    }

    pub fn data(&self, bytes: &[u8]) -> Vec<Piece> {
        let (words, rest) = bytes.as_chunks();
        let rest = rest.iter().map(|byte| Piece::Half(u16::from(*byte)));
        self.words(words, DEPTH).chain(rest).collect()
    }

    pub fn function(&self, base: u32, bytes: &[u8]) -> Part {
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
pub(super) fn branch(first: u16, second: u16) -> Option<u32> {
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
