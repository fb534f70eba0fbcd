//! Whole programs, as a linker leaves them.

use super::*;
use crate::tests::tiny_elf::{
    ARM, CODE, FUNCTION, IN_MEMORY, OBJECT, PLACE, RISC_V, Section, Symbol, WRITABLE, elf,
};

/// How one program differs from another.
#[derive(Clone, Copy)]
struct Build {
    /// Bytes before the functions, between them, and before variables.
    gaps: [u32; 3],
    /// What `helper` returns.
    number: u16,
    /// Whether `main` calls `other` rather than `helper`.
    calls_other: bool,
    /// What `main` refers to, beyond the variable `count`.
    beyond: u32,
    /// An instruction of `wait`, which an assembler has left without a length.
    waits: u16,
    /// The initial value of `count`.
    initial: u32,
    /// A text without a name.
    text: &'static [u8],
}

const BUILD: Build = Build {
    gaps: [0, 0, 0],
    number: 1,
    calls_other: false,
    beyond: 0,
    waits: 0xBF30,
    initial: 7,
    text: b"\0\0\0\0a text\0\0",
};

const FLASH: u32 = 0x800_0000;
const RAM: u32 = 0x2000_0000;
/// Debug information, whose mapping symbols lie at offsets.
const DEBUG: u16 = 3;

impl Build {
    fn main(self) -> u32 {
        FLASH + self.gaps[0]
    }

    fn symbols(self) -> Vec<Symbol> {
        let (main, helper) = (self.main(), self.main() + 12 + self.gaps[1]);
        let symbol = |name, value, size, kind, section| Symbol { name, value, size, kind, section };
        vec![
            symbol("$t", main, 0, PLACE, 0),
            symbol("main", main | 1, 12, FUNCTION, 0),
            symbol("$d", main + 8, 0, PLACE, 0),
            symbol("$t.1", helper, 0, PLACE, 0),
            symbol("helper", helper | 1, 4, FUNCTION, 0),
            symbol("other", (helper + 4) | 1, 4, FUNCTION, 0),
            symbol("wait", (helper + 8) | 1, 0, FUNCTION, 0),
            // Within a function, and a place of the linker's.
            symbol("alias", (main + 2) | 1, 0, FUNCTION, 0),
            symbol("place", helper + 8, 0, PLACE, 0),
            symbol("count", RAM + self.gaps[2], 4, OBJECT, 2),
            symbol("$d", main, 0, PLACE, DEBUG),
            symbol("$a", main, 0, PLACE, DEBUG),
        ]
    }

    /// `main`: ldr r3, =count; bl helper; bx lr. `helper` and `other`: movs r0, #1; bx lr. `wait`: wfi; b back.
    fn sections(self) -> [Section; 4] {
        let [before, between, data] = self.gaps;
        let to = between + if self.calls_other { 16 } else { 12 };
        let mut halves = vec![0xBF00_u16; before as usize / 2];
        halves.extend([0x4B01, 0xF000, 0xF800 | ((to - 6) / 2) as u16, 0x4770]);
        let count = RAM + data + self.beyond;
        halves.extend([count as u16, (count >> 16) as u16]);
        halves.extend(vec![0; between as usize / 2]);
        halves.extend([0x2000 | self.number, 0x4770, 0x2001, 0x4770, self.waits, 0xE7FD]);
        // What fills the section up is no part of a function.
        halves.extend(vec![0xBF00; before as usize / 2]);
        let code = halves.into_iter().flat_map(u16::to_le_bytes).collect();
        let initial = self.initial.to_le_bytes();
        let initial = [vec![0; data as usize], initial.to_vec(), vec![0; 60]].concat();
        let section =
            |name, address, bytes, flags| Section { name, address, bytes, zeros: 0, flags };
        [
            section(".text", FLASH, code, IN_MEMORY | CODE),
            section(".rodata", FLASH + 0x1000, self.text.to_vec(), IN_MEMORY),
            section(".data", RAM, initial, IN_MEMORY | WRITABLE),
            section(".debug_info", 0, vec![0; 8], 0),
        ]
    }

    fn code(self) -> Code {
        Code::of(&elf(ARM, &self.sections(), &self.symbols())).expect("a program")
    }
}

/// A function that moved is the same one, and of each change the function is named in which it is.
#[test]
fn changes_are_found_in_their_functions_wherever_these_are() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let before = BUILD.code();
    for gaps in [[0, 0, 0], [8, 0, 0], [0, 20, 0], [4, 8, 16]] {
        let moved = Build { gaps, ..BUILD };
        let (none, main): (&[&str], &[&str]) = (&[], &["main"]);
        let changes = [
            (moved, none, none, true),
            (Build { number: 2, ..moved }, &["helper"], none, true),
            (Build { calls_other: true, ..moved }, main, none, true),
            (Build { waits: 0xBF20, ..moved }, &["wait"], none, true),
            (Build { beyond: 0x4_0000, ..moved }, main, none, true),
            (Build { beyond: 40, ..moved }, none, main, true),
            (Build { initial: 8, ..moved }, none, none, false),
            (Build { text: b"\0\0\0\0a tent\0\0", ..moved }, none, none, false),
            (Build { text: b"a text", ..moved }, none, none, true),
        ];
        for (at, (after, changed, unclear, same_data)) in changes.into_iter().enumerate() {
            let after = after.code();
            let wanted = Differences { changed: names(changed), unclear: names(unclear) };
            assert_eq!(before.differences(&after), wanted, "change {at} with {gaps:?}");
            assert_eq!(before.same_data(&after), same_data, "change {at} with {gaps:?}");
        }
    }
}

/// Neither a literal nor what fills up is an instruction, and mapping symbols of debug information say nothing.
#[test]
fn instructions_are_those_of_the_code() {
    for gaps in [[0, 0, 0], [8, 4, 0]] {
        let build = Build { gaps, ..BUILD };
        let (code, main) = (build.code(), build.main());
        let of = |name: &str| code.instructions(name).collect::<Vec<_>>();
        assert_eq!(of("main"), [main, main + 2, main + 6]);
        let helper = main + 12 + gaps[1];
        assert_eq!(of("helper"), [helper, helper + 2]);
        assert_eq!(of("wait"), [helper + 8, helper + 10]);
        let functions: Vec<_> = code.functions.keys().map(String::as_str).collect();
        assert_eq!(functions, ["helper", "main", "other", "wait"]);
    }
}

/// As start-up code in assembly language often is: with no other function before it.
#[test]
fn the_first_function_may_lack_a_length() {
    let sized = |symbol: &Symbol| if symbol.name == "main" { 0 } else { symbol.size };
    let symbols = BUILD.symbols().into_iter();
    let symbols: Vec<_> = symbols.map(|it| Symbol { size: sized(&it), ..it }).collect();
    let code = |build: Build| Code::of(&elf(ARM, &build.sections(), &symbols)).expect("a program");
    let after = code(Build { calls_other: true, ..BUILD });
    let changed = code(BUILD).differences(&after).changed;
    // To its end at the next symbol, which is within it.
    assert_eq!(changed, BTreeSet::from(["alias".to_owned()]));
}

#[test]
fn only_thumb_code_is_compared() {
    let refusal = |elf: &[u8]| Code::of(elf).expect_err("refused");
    let a32 = Symbol { name: "$a", value: FLASH, size: 0, kind: PLACE, section: 0 };
    let symbols = [BUILD.symbols(), vec![a32]].concat();
    assert_eq!(refusal(&elf(ARM, &BUILD.sections(), &symbols)), CodeError::A32);
    let other = |name: &str| CodeError::Architecture(name.to_owned());
    assert_eq!(refusal(&elf(RISC_V, &BUILD.sections(), &[])), other("RISC-V"));
    // A header alone: EI_DATA is 2, and everything is the other way around.
    let mut big_endian = b"\x7fELF\x01\x02\x01".to_vec();
    big_endian.resize(16, 0);
    big_endian.extend([0, 2, 0, 40, 0, 0, 0, 1]);
    big_endian.resize(40, 0);
    big_endian.extend([0, 52, 0, 32, 0, 0, 0, 40, 0, 0, 0, 0]);
    assert_eq!(refusal(&big_endian), other("big-endian Arm"));
}
