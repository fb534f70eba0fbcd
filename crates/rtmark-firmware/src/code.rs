//! A program's code without its addresses, so that two builds of it can be compared.
//!
//! A linker that moves functions changes calls, literals and MOVW/MOVT pairs. Here calls are
//! represented by the name of their target, and any address inside the program by a placeholder. What
//! remains of a function changes only if somebody, or a compiler, changed it.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use sha2::{Digest, Sha256};

use crate::select::memory;

/// A piece of a function: a halfword, a word of data, or a placeholder for an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Half(u16),
    Word(u32),
    /// A branch or call out of the function, to the named one.
    To(String),
    /// An address within the program.
    Address,
}

/// A function or an object with its contents.
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
    data: BTreeMap<String, Vec<[u8; 32]>>,
}

impl Code {
    /// Reads an ELF file for Arm; returns `None` if it is not one.
    pub fn of(elf: &[u8]) -> Option<Self> {
        let file = object::File::parse(elf).ok().filter(Object::is_little_endian)?;
        let program = Program::of(&file, elf)?;
        let mut code = Self::default();
        for symbol in file.symbols().filter(|symbol| symbol.size() > 0) {
            let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else { continue };
            let section = file.section_by_index(index).ok()?;
            let address = symbol.address() & !1;
            let bytes = section.data_range(address, symbol.size()).ok().flatten();
            let Some(bytes) = bytes else { continue };
            let base = u32::try_from(address).ok()?;
            match symbol.kind() {
                SymbolKind::Text => {
                    let part = program.function(base, bytes);
                    code.functions.entry(name.to_owned()).or_default().push(part);
                }
                SymbolKind::Data => {
                    let digest = program.data(bytes);
                    code.data.entry(name.to_owned()).or_default().push(digest);
                }
                _ => {}
            }
        }
        for parts in code.functions.values_mut() {
            parts.sort_by(|a, b| a.pieces.cmp(&b.pieces));
        }
        code.data.values_mut().for_each(|digests| digests.sort_unstable());
        Some(code)
    }

    /// Returns the functions that differ, or are in only one of the two programs.
    pub fn changed(&self, other: &Self) -> BTreeSet<String> {
        let same =
            |a: &[Part], b: &[Part]| a.iter().map(|p| &p.pieces).eq(b.iter().map(|p| &p.pieces));
        let differs = |name: &&String| match (self.functions.get(*name), other.functions.get(*name))
        {
            (Some(a), Some(b)) => !same(a, b),
            _ => true,
        };
        self.functions.keys().chain(other.functions.keys()).filter(differs).cloned().collect()
    }

    /// Tells whether both have the same constants and initial values.
    pub fn same_data(&self, other: &Self) -> bool {
        self.data == other.data
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

/// The context that determines the meaning of a program's words.
struct Program {
    /// The address ranges of code, data and variables.
    memory: Vec<std::ops::Range<u64>>,
    /// The functions by start address.
    names: BTreeMap<u32, String>,
    /// Where data begins within code, and where code continues.
    marks: BTreeMap<u32, bool>,
}

impl Program {
    fn of(file: &object::File<'_>, elf: &[u8]) -> Option<Self> {
        let (mut names, mut marks) = (BTreeMap::new(), BTreeMap::new());
        for symbol in file.symbols() {
            let (Ok(name), Ok(address)) = (symbol.name(), u32::try_from(symbol.address())) else {
                continue;
            };
            // Mapping symbols: IHI 0044, 5.5.5.
            let is = |letter: &str| name == letter || name.starts_with(&format!("{letter}."));
            if is("$d") || is("$t") || is("$a") {
                marks.insert(address, is("$d"));
            } else if symbol.kind() == SymbolKind::Text {
                names.insert(address & !1, name.to_owned());
            }
        }
        Some(Self { memory: memory(elf)?, names, marks })
    }

    fn holds(&self, word: u32) -> bool {
        // Code may refer to the end address of a range of variables.
        self.memory.iter().any(|range| range.start <= word.into() && u64::from(word) <= range.end)
    }

    fn data(&self, bytes: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new();
        for word in bytes.chunks(4) {
            match <[u8; 4]>::try_from(word).map(u32::from_le_bytes) {
                Ok(word) if self.holds(word) => digest.update([0xFF; 5]),
                _ => digest.update(word),
            }
        }
        digest.finalize().into()
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
                let word = u32::from(second) << 16 | u32::from(first);
                part.pieces.push(if self.holds(word) { Piece::Address } else { Piece::Word(word) });
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
                    && self.holds(value << 16 | low)
                {
                    for piece in [there, there + 1, here, here + 1] {
                        part.pieces[piece] = Piece::Address;
                    }
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

    fn program(names: &[(u32, &str)]) -> Program {
        let names = names.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
        let marks = BTreeMap::from([(0x100, false), (0x110, true), (0x200, false)]);
        Program { memory: vec![0..0x400, 0x2000_0000..0x2000_0100], names, marks }
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

    #[test]
    fn addresses_are_ignored_and_constants_compared() {
        let there = program(&[]);
        let literal = |word: u32| {
            let halves = [word as u16, (word >> 16) as u16];
            there.function(0x110, &bytes(&halves)).pieces
        };
        assert_eq!(literal(0x2000_0010), literal(0x2000_0020));
        assert_ne!(literal(0x1234_5678), literal(0x1234_5679));
        // movw r3, low; movt r3, high
        let pair = |low: u16, high: u16| {
            let halves = [
                0xF240,
                0x0300 | low,
                0xF2C0 | high >> 12,
                0x0300 | (high & 0x700) << 4 | high & 0xFF,
            ];
            there.function(0x200, &bytes(&halves)).pieces
        };
        assert_eq!(pair(0x10, 0x2000), pair(0x20, 0x2000));
        assert_ne!(pair(0x10, 0x4000), pair(0x20, 0x4000));
    }

    #[test]
    fn arbitrary_files_are_handled() {
        assert!(Code::of(b"").is_none());
        assert!(Code::of(b"\x7fELF\x01\x01\x01").is_none());
    }
}
