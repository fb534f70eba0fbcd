use proptest::prelude::*;

use super::program::{Symbol, Symbols, branch};
use super::*;

mod files;

/// A function and a variable, elsewhere by this much.
fn symbols(by: u32) -> Symbols {
    let symbol =
        |begin: u32, size, name: &str| Symbol { begin: begin + by, size, name: name.into() };
    Symbols::new([symbol(0x100, 8, "start"), symbol(0x2000_0010, 4, "count")])
}

fn program(names: &[(u32, &str)]) -> Program<'static> {
    let names = names.iter().map(|(at, name)| (*at, (*name).to_owned())).collect();
    let marks = BTreeMap::from([(0x100, false), (0x110, true), (0x200, false)]);
    let memory = vec![0..0x400, 0x2000_0000..0x2000_0100];
    Program { memory, names, marks, symbols: symbols(0), loaded: Vec::new() }
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
    there.symbols = symbols(by);
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
    assert_eq!(compare(&literal(0, 0x1234_5678), &literal(0, 0x1234_5679)), Likeness::Different);
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
    // What has a name goes by that.
    let count = |text: &'static [u8]| at(0x2000_0010, text, 0x2000_0010);
    assert_eq!(Likeness::of(&count(text), &count(b"another............")), Likeness::Same);
    // The end of a list leads to itself.
    let end = 0x300_u32.to_le_bytes().to_vec().leak();
    assert_eq!(Likeness::of(&at(0x300, end, 0x300), &at(0x300, end, 0x300)), Likeness::Same);
    // Vectors that all lead to the same handler do not show that two numbers are the same place.
    let vectors = &[0x41, 1, 0, 0].repeat(16).leak()[..];
    let vector = at(0x200, vectors, 0x210);
    assert_eq!(Likeness::of(&vector, &at(0x200, vectors, 0x220)), Likeness::Unclear);
}

/// A text that does not begin at a word, before a pointer to it: which moves with it.
#[test]
fn texts_between_words_are_known_by_their_contents() {
    let address_of = |text: &[u8; 12], by: u32| {
        let begin = 0x300 + by;
        let held = [&[0, 0, 0], &text[..], &[0], &(begin + 3).to_le_bytes(), &[7; 12]].concat();
        let mut program = program(&[]);
        program.loaded = vec![(u64::from(begin), Vec::leak(held))];
        program.data(&(begin + 3).to_le_bytes())
    };
    let here = address_of(b"thread.yield", 0);
    assert_eq!(Likeness::of(&here, &address_of(b"thread.yield", 0x40)), Likeness::Same);
    assert_eq!(Likeness::of(&here, &address_of(b"thread.sleep", 0x40)), Likeness::Unclear);
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

/// Each bit of the immediates of MOVW and MOVT (DDI 0403, A7.7.76 and A7.7.79): a symbol that moved there is the same.
#[test]
fn pairs_of_moves_have_all_bits() {
    let moves_to = |address: u32| {
        let symbol = Symbol { begin: address, size: 4, name: "count".into() };
        let mut there = program(&[]);
        there.memory.push(0..u64::from(u32::MAX));
        there.symbols = Symbols::new([symbol]);
        let halves = [(0xF240, address & 0xFFFF), (0xF2C0, address >> 16)].map(|(code, word)| {
            let first = code | word >> 12 | (word >> 11 & 1) << 10;
            [first as u16, ((word >> 8 & 7) << 12 | 3 << 8 | word & 0xFF) as u16]
        });
        there.function(0x200, &bytes(halves.as_flattened())).pieces
    };
    let here = moves_to(0x100);
    for bit in 5..32 {
        assert_eq!(Likeness::of(&here, &moves_to(1 << bit)), Likeness::Same, "bit {bit}");
    }
}

#[test]
fn arbitrary_files_are_handled() {
    for bytes in [b"".as_slice(), b"\x7fELF\x01\x01\x01"] {
        let error = Code::of(bytes).expect_err("no program");
        assert!(matches!(error, CodeError::Unreadable(_)), "{error}");
    }
}

/// Each function is in one of the sets, as what it is.
#[test]
fn functions_are_changed_or_unclear_or_neither() {
    let there = program(&[]);
    let literal = |word: u32| there.function(0x110, &bytes(&[word as u16, (word >> 16) as u16]));
    let code = |functions: &[(&str, u32)]| {
        let functions =
            functions.iter().map(|(name, word)| ((*name).to_owned(), vec![literal(*word)]));
        Code { functions: functions.collect(), data: BTreeMap::new() }
    };
    let number = 0x1234_5678;
    let before = code(&[("same", 1), ("moved", 0x200), ("number", number), ("removed", 1)]);
    let after = code(&[("same", 1), ("moved", 0x300), ("number", number + 1), ("added", 1)]);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected =
        Differences { changed: set(&["added", "number", "removed"]), unclear: set(&["moved"]) };
    assert_eq!(before.differences(&after), expected);
    assert_eq!(after.differences(&before), expected);
    assert_eq!(before.differences(&before), Differences::default());
}

#[test]
fn overlapping_ranges_are_joined() {
    assert_eq!(union(vec![8..9, 2..4, 0..20, 30..31, 20..21]), [0..21, 30..31]);
    assert_eq!(union(Vec::new()), []);
}

proptest! {
    /// Judged by looking at every symbol.
    #[test]
    fn symbols_nearby_are_found(
        symbols in prop::collection::vec((0_u32..600, prop_oneof![0_u32..4, 0_u32..300, Just(u32::MAX)]), 0..40),
        base in prop_oneof![Just(0_u32), Just(u32::MAX - 700)],
        addresses in prop::collection::vec(0_u32..700, 20),
    ) {
        let symbols: Vec<_> = (0..).zip(symbols).map(|(at, (begin, size)): (u32, _)| {
            Symbol { begin: base + begin, size, name: at.to_string().into() }
        }).collect();
        let index = Symbols::new(symbols.clone());
        for address in addresses.into_iter().map(|address| base + address) {
            let near = symbols.iter().filter_map(|Symbol { begin, size, name }| {
                let from = i64::from(address) - i64::from(*begin);
                (-16..=i64::from(*size) + 16).contains(&from).then(|| (name.clone(), from))
            });
            prop_assert_eq!(index.near(address), near.collect::<BTreeSet<_>>());
        }
    }
}
