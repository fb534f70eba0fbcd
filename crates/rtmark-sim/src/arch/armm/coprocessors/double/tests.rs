//! The judge is the host's arithmetic, where it has no denormal numbers.

#![expect(clippy::float_cmp, reason = "every bit counts")]

use super::*;

/// Write a double, or the mantissa of a product, quotient or root.
const X: (u8, u8) = (1, 0);
const Y: (u8, u8) = (1, 1);
const SINGLES: (u8, u8) = (1, 2);
const STICKY: (u8, u8) = (2, 0);
const PRODUCT_BITS: (u8, u8) = (3, 0);
const QUOTIENT_BITS: (u8, u8) = (4, 0);
const ROOT_BITS: (u8, u8) = (5, 0);

fn run(
    unit: &mut DoubleUnit,
    form: CoprocessorForm,
    opcode: u8,
    m: u8,
    values: (u32, u32),
) -> Answer {
    unit.execute(CoprocessorInstruction { coprocessor: 4, second: false, form, opcode, m }, values)
}

fn write(unit: &mut DoubleUnit, (opcode, m): (u8, u8), value: u64) {
    let values = (value as u32, (value >> 32) as u32);
    let answer = run(unit, CoprocessorForm::WritePair { t: 0, t2: 1 }, opcode, m, values);
    assert_eq!(answer, Answer::Done);
}

fn process(unit: &mut DoubleUnit, opcode: u8, m: u8, extra: u8) {
    assert_eq!(run(unit, CoprocessorForm::Process { extra }, opcode, m, (0, 0)), Answer::Done);
}

fn read(unit: &mut DoubleUnit, opcode: u8, m: u8) -> u64 {
    match run(unit, CoprocessorForm::ReadPair { t: 0, t2: 1 }, opcode, m, (0, 0)) {
        Answer::Pair(low, high) => join((low, high)),
        other => panic!("{other:?}"),
    }
}

fn read_word(unit: &mut DoubleUnit, m: u8, extra: u8) -> u32 {
    match run(unit, CoprocessorForm::Read { t: 0, n: 0, extra }, 0, m, (0, 0)) {
        Answer::Word(word) => word,
        other => panic!("{other:?}"),
    }
}

fn of(x: f64, y: f64) -> DoubleUnit {
    let mut unit = DoubleUnit::default();
    write(&mut unit, X, x.to_bits());
    write(&mut unit, Y, y.to_bits());
    unit
}

/// A product as the core calculates it.
fn product(x: f64, y: f64) -> f64 {
    let mut unit = of(x, y);
    let factors = [4, 5].map(|m| u128::from(read(&mut unit, 0, m)));
    let wide = factors[0] * factors[1];
    write(&mut unit, STICKY, wide as u64);
    write(&mut unit, PRODUCT_BITS, (wide >> 64) as u64);
    f64::from_bits(read(&mut unit, 5, 0))
}

/// A quotient: 58 bits of it, and whether there are more.
fn quotient(x: f64, y: f64) -> f64 {
    let mut unit = of(x, y);
    let [x, y] = [4, 5].map(|m| u128::from(read(&mut unit, 0, m)));
    let wide = x << 57;
    let bits = (wide / y.max(1)) | u128::from(!wide.is_multiple_of(y.max(1)));
    write(&mut unit, QUOTIENT_BITS, bits as u64);
    f64::from_bits(read(&mut unit, 7, 0))
}

/// A root, likewise.
fn root(x: f64) -> f64 {
    let mut unit = of(x, 0.0);
    process(&mut unit, 2, 1, 0);
    let square = u128::from(read(&mut unit, 0, 4)) << 58;
    let bits = square.isqrt();
    write(&mut unit, ROOT_BITS, (bits | u128::from(bits * bits != square)) as u64);
    f64::from_bits(read(&mut unit, 9, 0))
}

/// Makes denormal numbers zero, and all NaNs one.
fn flush(value: f64) -> u64 {
    flushed(value, Precision::Double).to_bits()
}

/// Numbers of all kinds, many of them close to each other.
fn numbers() -> Vec<f64> {
    let mut seed = 1_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX];
    let least = [f64::MIN_POSITIVE, f64::MIN_POSITIVE / 2.0, 1.0 + f64::EPSILON, 3.0, 1e300];
    let mut numbers = [special.as_slice(), &least].concat();
    for at in 0..400 {
        let bits = random();
        numbers.push(f64::from_bits(match at % 4 {
            0 => bits,
            // Few bits, so that results are exact or halfway.
            1 => (bits & 0x800F_FC00_0000_0000) | (1000 + (bits >> 20 & 63)) << 52,
            _ => (bits & 0x800F_FFFF_FFFF_FFFF) | (1000 + (bits >> 20 & 63)) << 52,
        }));
    }
    numbers
}

#[test]
fn results_are_those_of_the_host() {
    let numbers = numbers();
    for &x in &numbers {
        let (x_bits, x) = (x.to_bits(), f64::from_bits(flush(x)));
        assert_eq!(root(x).to_bits(), flush(x.sqrt()), "root of {x:e}");
        for &y in &numbers {
            let (y_bits, y) = (y.to_bits(), f64::from_bits(flush(y)));
            let mut unit = of(f64::from_bits(x_bits), f64::from_bits(y_bits));
            let results = [read(&mut unit, 1, 0), read(&mut unit, 3, 0), read(&mut unit, 11, 0)];
            let expected = [flush(x + y), flush(x - y), flush(x)];
            assert_eq!(results, expected, "{x:e} and {y:e}");
            assert_eq!(product(x, y).to_bits(), flush(x * y), "{x:e} * {y:e}");
            assert_eq!(quotient(x, y).to_bits(), flush(x / y), "{x:e} / {y:e}");
            let flags = read_word(&mut unit, 0, 1) >> 28 & 7;
            let greater_or_equal = flags >> 1 & 1 == 1;
            let (equal, unordered) = (flags >> 2 == 1, flags & 1 == 1);
            assert_eq!(greater_or_equal, x >= y, "{x:e} and {y:e}");
            assert_eq!((equal, unordered), (x == y, x.is_nan() || y.is_nan()), "{x:e} and {y:e}");
        }
    }
}

#[test]
fn singles_and_conversions_are_those_of_the_host() {
    for &x in &numbers() {
        let (x, narrow) = (f64::from_bits(flush(x)), flushed(x, Precision::Single) as f32);
        let mut unit = of(x, 0.0);
        assert_eq!(read_word(&mut unit, 2, 5), narrow.to_bits(), "{x:e}");
        for y in [narrow, 3.0, -0.0, f32::MAX, 1.1e-38] {
            let mut unit = DoubleUnit::default();
            let words = u64::from(y.to_bits()) << 32 | u64::from(narrow.to_bits());
            write(&mut unit, SINGLES, words);
            let flushed = |value: f32| flushed(value.into(), Precision::Single) as f32;
            let (single, y) = (|value: f32| flushed(value).to_bits(), flushed(y));
            let results = [0, 1, 5].map(|extra| read_word(&mut unit, 2, extra));
            assert_eq!(results, [narrow + y, narrow - y, narrow].map(single), "{narrow:e}, {y:e}");
            // The core multiplies the upper halves of the mantissas, which hold all bits.
            let upper = read(&mut unit, 1, 1);
            write(&mut unit, (10, 0), (upper & 0xFFFF_FFFF) * (upper >> 32));
            assert_eq!(read_word(&mut unit, 2, 2), single(narrow * y), "{narrow:e} * {y:e}");
        }
        if x.is_nan() {
            let answer =
                run(&mut of(x, 0.0), CoprocessorForm::Read { t: 0, n: 0, extra: 0 }, 0, 3, (0, 0));
            assert_eq!(answer, Answer::Unknown);
            continue;
        }
        for (extra, expected) in [(2, x.trunc()), (3, x.round_ties_even())] {
            let mut unit = DoubleUnit::default();
            write(&mut unit, (8, 0), x.to_bits());
            process(&mut unit, 8, 0, extra);
            assert_eq!(read_word(&mut unit, 3, 0), expected as i32 as u32, "{x:e}");
            assert_eq!(read_word(&mut unit, 3, 1), expected as u32, "{x:e}");
        }
    }
    for integer in [0, 1, -1, i32::MIN, i32::MAX, 12_345] {
        for (opcode, expected) in [(6, f64::from(integer as u32)), (7, f64::from(integer))] {
            let mut unit = DoubleUnit::default();
            let words = u64::from(integer as u32) << 32 | u64::from(integer as u32);
            write(&mut unit, (opcode, 0), words);
            assert_eq!(read(&mut unit, 3, 0), expected.to_bits());
            assert_eq!(read_word(&mut unit, 2, 1), (expected as f32).to_bits());
        }
    }
}

/// Twice: the core takes two or three steps, each of which at least doubles the bits that are right.
#[test]
fn estimates_have_ten_bits_and_are_too_small() {
    for at in 0..4_096_u32 {
        let x = 1.0 + f64::from(at) / 4_096.0;
        let mut unit = of(1.0, x);
        let [estimate, divisor] =
            [read(&mut unit, 2, 1) as u32, (read(&mut unit, 2, 1) >> 32) as u32];
        assert_eq!(f64::from(divisor), x * 2_f64.powi(31));
        let exact = 2_f64.powi(31) / x;
        let missing = 1.0 - f64::from(estimate) / exact;
        assert!(missing > 0.0 && missing < 2_f64.powi(-9), "{x}: {missing:e}");
        for exponent in [0, 1] {
            let number = x * 2_f64.powi(exponent);
            let mut unit = of(number, 0.0);
            process(&mut unit, 2, 1, 0);
            let pair = read(&mut unit, 4, 1);
            assert_eq!((pair >> 32) as f64, number * 2_f64.powi(30));
            let exact = 2_f64.powi(31) / number.sqrt();
            let missing = 1.0 - f64::from(pair as u32) / exact;
            assert!(missing > 0.0 && missing < 2_f64.powi(-9), "{number}: {missing:e}");
        }
    }
}

/// An interrupt saves what has begun, calculates, and restores it, at any point.
#[test]
fn a_calculation_can_be_saved_and_restored() {
    let (x, y) = (1.1_f64, -7.3e100_f64);
    let save_and_restore = |unit: &mut DoubleUnit| {
        let saved = [(0, 8), (0, 9), (0, 10)].map(|(opcode, m)| read(unit, opcode, m));
        assert!(!unit.engaged);
        *unit = of(2.0, 3.0);
        process(unit, 8, 0, 3);
        write(unit, STICKY, 1);
        for (m, word) in (0..).zip(saved) {
            write(unit, (0, m), word);
        }
    };
    let mut unit = of(x, y);
    save_and_restore(&mut unit);
    assert_eq!(read(&mut unit, 1, 0), (x + y).to_bits());
    let mut unit = of(x, y);
    let wide = u128::from(read(&mut unit, 0, 4)) * u128::from(read(&mut unit, 0, 5));
    save_and_restore(&mut unit);
    write(&mut unit, STICKY, wide as u64);
    save_and_restore(&mut unit);
    write(&mut unit, PRODUCT_BITS, (wide >> 64) as u64);
    save_and_restore(&mut unit);
    assert_eq!(read(&mut unit, 5, 0), (x * y).to_bits());
    let mut unit = of(2.5, 0.0);
    process(&mut unit, 8, 0, 3);
    let before = unit.clone();
    save_and_restore(&mut unit);
    assert_eq!(unit, before);
}

/// The flag by which functions find that they have interrupted a calculation.
#[test]
fn a_calculation_goes_on_until_its_result_is_read() {
    let peek = |unit: &mut DoubleUnit| {
        let form = CoprocessorForm::Read { t: 15, n: 0, extra: 1 };
        let peeked = CoprocessorInstruction { coprocessor: 4, second: true, form, opcode: 0, m: 0 };
        match unit.execute(peeked, (0, 0)) {
            Answer::Word(flags) => flags >> 31 == 1,
            other => panic!("{other:?}"),
        }
    };
    let mut unit = DoubleUnit::default();
    assert!(!peek(&mut unit));
    write(&mut unit, X, 1.0_f64.to_bits());
    process(&mut unit, 0, 1, 0);
    assert!(peek(&mut unit) && peek(&mut unit));
    read(&mut unit, 1, 0);
    assert!(!peek(&mut unit));
    write(&mut unit, X, 0);
    process(&mut unit, 0, 0, 0);
    assert!(!peek(&mut unit));
}

#[test]
fn what_has_no_model_says_so() {
    let unknown = |unit: &mut DoubleUnit, form, opcode, m| {
        assert_eq!(run(unit, form, opcode, m, (0, 0)), Answer::Unknown, "{form:?} {opcode} {m}");
    };
    let pair = CoprocessorForm::ReadPair { t: 0, t2: 1 };
    let mut unit = of(3.0, 2.0);
    // Its classification, NORM, and results for which the core has calculated nothing.
    unknown(&mut unit, CoprocessorForm::Read { t: 0, n: 0, extra: 0 }, 0, 0);
    unknown(&mut unit, CoprocessorForm::Process { extra: 0 }, 8, 2);
    for opcode in [2, 5, 7, 9, 13] {
        unknown(&mut unit, pair, opcode, 0);
    }
    write(&mut unit, STICKY, 1);
    unknown(&mut unit, pair, 5, 0);
    write(&mut unit, PRODUCT_BITS, 1 << 60);
    unknown(&mut unit, pair, 1, 0);
    unknown(&mut unit, CoprocessorForm::Read { t: 0, n: 0, extra: 0 }, 0, 3);
    unknown(&mut unit, CoprocessorForm::WritePair { t: 0, t2: 1 }, 13, 0);
    unknown(&mut unit, CoprocessorForm::Write { t: 0, n: 0, extra: 0 }, 0, 0);
}
