//! A row of a log as it was read, before it is judged and becomes a series.

use std::collections::BTreeMap;

use rtmark_model::{Basis, Compiler, Flag, FlagKind, Samples, Setting, Span, Summarised};

use crate::Suite;

/// One or several figures of one operation that a suite timed.
#[derive(Clone, Debug)]
pub struct Row {
    pub suite: Suite,
    /// The suite's name for it.
    pub name: String,
    /// The line in which it begins.
    pub line: u64,
    /// The unit of its figures.
    pub basis: Basis,
    pub figures: Figures,
    pub flags: Vec<Flag>,
    /// The same length in cycles and in nanoseconds, if the row states both.
    pub twin: Option<(f64, f64)>,
    pub facts: BTreeMap<String, String>,
    /// What it times, if the log itself says so.
    pub stated: Option<Box<StatedFacts>>,
    /// The section of the log that it belongs to.
    pub section: usize,
}

/// The contents of a row.
#[derive(Clone, Debug)]
pub enum Figures {
    /// Every sample, and the clock's step.
    Samples(Samples, u64),
    /// Figures made of samples.
    Summary(Summarised),
    /// Nothing, because the kernel has no such primitive.
    Absent,
}

/// What a row itself states, in place of its section.
#[derive(Clone, Debug, Default)]
pub struct StatedFacts {
    pub kernel: Option<String>,
    pub version: Option<String>,
    pub soc: Option<String>,
    pub core: Option<String>,
    pub clock: Option<u32>,
    pub profile: Option<String>,
    /// The row's scenario id, if it chooses one.
    pub scenario: Option<rtmark_model::ScenarioId>,
    pub span: Option<Span>,
    /// Whether it declares that its span is the catalogue's.
    pub catalogue_span: bool,
}

impl Row {
    pub fn new(suite: Suite, name: impl Into<String>, line: u64, basis: Basis) -> Self {
        Self {
            suite,
            name: name.into(),
            line,
            basis,
            figures: Figures::Summary(Summarised::default()),
            flags: Vec::new(),
            twin: None,
            facts: BTreeMap::new(),
            stated: None,
            section: 0,
        }
    }

    /// Adds an average, the row's only figure.
    pub fn mean(mut self, mean: &Number) -> Self {
        self.set(|summary, value| summary.mean = value, mean);
        self
    }

    /// Stores a number in the summary, with a flag if it is impossible.
    pub fn set(&mut self, put: impl FnOnce(&mut Summarised, Option<f64>), number: &Number) {
        if let Some(flag) = number.flag {
            self.flag(flag, number.why());
        }
        if let Figures::Summary(summary) = &mut self.figures {
            put(summary, number.value);
        }
    }

    pub fn flag(&mut self, kind: FlagKind, why: impl Into<String>) {
        let flag = Flag::new(kind, why);
        if !self.flags.contains(&flag) && self.flags.len() < 16 {
            self.flags.push(flag);
        }
    }

    pub fn summary(&self) -> Option<&Summarised> {
        match &self.figures {
            Figures::Summary(summary) => Some(summary),
            Figures::Samples(..) | Figures::Absent => None,
        }
    }

    pub fn summary_mut(&mut self) -> Option<&mut Summarised> {
        match &mut self.figures {
            Figures::Summary(summary) => Some(summary),
            Figures::Samples(..) | Figures::Absent => None,
        }
    }

    /// Returns the figure by which the row is judged.
    pub fn typical(&self) -> Option<f64> {
        match &self.figures {
            Figures::Summary(summary) => summary.typical().map(|(_, value)| value),
            Figures::Samples(samples, _) => samples.statistics().map(|s| s.typical() as f64),
            Figures::Absent => None,
        }
    }
}

/// What a part of a log, from boot to boot, states for all its rows.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub kernel: Option<String>,
    pub version: Option<String>,
    pub soc: Option<String>,
    pub core: Option<String>,
    /// The clock in hertz, and whether it was truncated to whole megahertz.
    pub clock: Option<(f64, Rounding)>,
    /// The resolution of the clock that timed the rows, in nanoseconds.
    pub resolution_ns: Option<f64>,
    /// Settings that the suite states once for all rows.
    pub settings: BTreeMap<String, Setting>,
    pub compiler: Compiler,
    pub facts: BTreeMap<String, String>,
}

/// The precision of a stated clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Exact,
    WholeMegahertz,
    /// A clock period truncated to whole nanoseconds.
    WholeNanoseconds,
}

/// A number as it appears in a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its value; `None` if it cannot be represented.
    pub value: Option<f64>,
    /// What is wrong with it.
    pub flag: Option<FlagKind>,
    text: String,
    /// What is printed, exactly.
    decimal: Option<Decimal>,
}

impl Number {
    /// Parses decimal digits, optionally with a sign, a fraction, and an exponent (`5e-05`); returns `None`
    /// for anything else.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let decimal = Decimal::read(text)?;
        let value: f64 = text.parse().ok()?;
        let digits = text.trim_start_matches(['-', '+']);
        let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
        let flag = if value < 0.0 {
            Some(FlagKind::Wrapped)
        } else if value >= u64::MAX as f64 * (1.0 + 1e-9) {
            Some(FlagKind::TooLarge)
        } else if value > i64::MAX as f64
            || (whole.len() == 10
                && whole.bytes().all(|b| b.is_ascii_digit())
                && near_32_bits(value))
        {
            Some(FlagKind::Wrapped)
        } else {
            None
        };
        let shown: String = text.chars().take(40).collect();
        let value = value.is_finite().then_some(value);
        Some(Self { value, flag, text: shown, decimal: Some(decimal) })
    }

    /// Wraps a number that another parser has read, or that was computed. As a decimal, it is the shortest one
    /// that is nearest to it, which is what was read.
    pub fn of(value: f64) -> Self {
        let (text, decimal) = (String::new(), Decimal::read(&value.to_string()));
        Self { value: value.is_finite().then_some(value), flag: None, text, decimal }
    }

    /// Converts the number to a unit that is smaller by a power of ten, exactly.
    pub fn shifted(self, power: i32) -> Self {
        // What is no decimal has no value either.
        let Some(decimal) = self.decimal.map(|decimal| decimal.shifted(power)) else { return self };
        // Digits that a decimal does not keep are beyond the precision of a value.
        let value = decimal.value().filter(|value| value.is_finite());
        Self { value: self.value.and(value), decimal: Some(decimal), ..self }
    }

    /// Returns the nearest whole number, and whether it is another one; `None` if it is negative or does
    /// not fit into 64 bits.
    pub fn whole(&self) -> Option<(u64, bool)> {
        self.decimal?.whole()
    }

    /// Returns the power of ten of the last digit that is printed.
    pub fn last_place(&self) -> Option<i32> {
        self.decimal.map(|decimal| decimal.last_place)
    }

    fn why(&self) -> String {
        match self.flag {
            Some(FlagKind::TooLarge) => format!("{} does not fit into 64 bits", self.text),
            _ if self.text.starts_with('-') => format!("{} is negative", self.text),
            _ => format!("{} looks like a negative difference", self.text),
        }
    }
}

/// A decimal number: an integer times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
    /// Whether there are further digits, which are not all zero.
    more: bool,
    /// The power of ten of the last digit that is printed.
    last_place: i32,
}

/// The number of significant digits that are kept: more than any figure of 64 bits has, even with a
/// fraction of a nanosecond.
const MAX_DIGITS: u32 = 36;

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let (mut digits, mut kept, mut more, mut dropped) = (0_u128, 0, false, 0_i32);
        for digit in whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0') {
            if kept == MAX_DIGITS {
                more |= digit != 0;
                dropped = dropped.saturating_add(1);
            } else {
                digits = digits * 10 + u128::from(digit);
                kept += u32::from(digits > 0);
            }
        }
        let last_place = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
        let exponent = last_place.saturating_add(dropped);
        Some(Self { negative, digits, exponent, more, last_place })
    }

    const fn shifted(self, power: i32) -> Self {
        Self {
            exponent: self.exponent.saturating_add(power),
            last_place: self.last_place.saturating_add(power),
            ..self
        }
    }

    /// Returns the nearest value that can be represented.
    fn value(self) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, self.exponent).parse().ok()
    }

    fn whole(self) -> Option<(u64, bool)> {
        if self.digits == 0 {
            return Some((0, self.more));
        }
        if self.negative {
            return None;
        }
        let Some(power) = 10_u128.checked_pow(self.exponent.unsigned_abs()) else {
            // A power that is larger than any digits that are kept.
            return (self.exponent < 0).then_some((0, true));
        };
        if self.exponent >= 0 {
            let whole = self.digits.checked_mul(power)?;
            return Some((u64::try_from(whole).ok()?, self.more));
        }
        let (whole, rest) = (self.digits / power, self.digits % power);
        let whole = whole + u128::from(rest >= power.div_ceil(2));
        Some((u64::try_from(whole).ok()?, rest != 0 || self.more))
    }
}

fn read_exponent(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // An exponent of more digits is as good as the largest.
    let size = digits.parse().unwrap_or(i32::MAX / 2).min(i32::MAX / 2);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Tells whether a value is within 2^24 below 2^32: a small negative number in 32 bits, read as
/// unsigned.
fn near_32_bits(value: f64) -> bool {
    (4_278_190_080.0..4_294_967_296.0).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_numbers_are_flagged() {
        let read = |text: &str| Number::read(text).map(|n| (n.value, n.flag));
        assert_eq!(read(" 42 "), Some((Some(42.0), None)));
        assert_eq!(read("1.5"), Some((Some(1.5), None)));
        assert_eq!(read("-3"), Some((Some(-3.0), Some(FlagKind::Wrapped))));
        assert_eq!(read("4294967290").and_then(|n| n.1), Some(FlagKind::Wrapped));
        assert_eq!(read("18446744073692884950").and_then(|n| n.1), Some(FlagKind::Wrapped));
        assert_eq!(read("18446744073709551616000").and_then(|n| n.1), Some(FlagKind::TooLarge));
        assert_eq!(read(&"9".repeat(500)), Some((None, Some(FlagKind::TooLarge))));
        for bad in [
            "", "-", "n/a", "1e", "e5", "1e+-5", "1e5.0", "1.2.3", "0x10", "1,5", "inf", "NaN", ".",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    /// A difference of 32-bit counters that is a little below zero; others are ordinary numbers of ten digits.
    #[test]
    fn only_numbers_just_below_a_power_of_two_look_negative() {
        let flag = |text: &str| Number::read(text).and_then(|number| number.flag);
        let wrapped = Some(FlagKind::Wrapped);
        for (text, expected) in [
            ("1234567890", None),
            ("4278190079", None),
            ("4278190080", wrapped),
            ("4294967295", wrapped),
            ("4294967295.5", wrapped),
            ("4294967296", None),
            ("42949672950", None),
            ("4.29496729e+09", None),
            ("4611686018427387904", None),
            ("9223372036854779904", wrapped),
            ("18446744073709551615", wrapped),
        ] {
            assert_eq!(flag(text), expected, "{text}");
        }
    }

    #[test]
    fn flags_say_what_is_impossible() {
        for (text, why) in [
            ("-3", "-3 is negative"),
            ("4294967290", "4294967290 looks like a negative difference"),
            ("18446744073692884950", "18446744073692884950 looks like a negative difference"),
            ("1e30", "1e30 does not fit into 64 bits"),
        ] {
            let number = Number::read(text).unwrap_or_else(|| panic!("{text}"));
            let row = Row::new(Suite::TiMcuPlusSdk, "x", 1, Basis::Ns).mean(&number);
            assert_eq!(row.flags.iter().map(|flag| &*flag.why).collect::<Vec<_>>(), [why]);
        }
    }

    /// Not always what a product of floating-point numbers is: that of 16.19 and 1000 is 16190.000000000002.
    #[test]
    fn microseconds_become_nanoseconds_exactly() {
        for (us, ns) in [(16.19, 16_190.0), (0.2482, 248.2), (1.001, 1_001.0), (-4.35, -4_350.0)] {
            assert_eq!(Number::of(us).shifted(3).value, Some(ns), "{us}");
            let read = Number::read(&us.to_string()).map(|number| number.shifted(3).value);
            assert_eq!(read, Some(Some(ns)), "{us}");
        }
        for us in [f64::NAN, f64::INFINITY, 1e306] {
            assert_eq!(Number::of(us).shifted(3).value, None, "{us}");
        }
    }

    #[test]
    fn a_row_has_at_most_sixteen_flags_and_none_twice() {
        let mut row = Row::new(Suite::TiMcuPlusSdk, "x", 1, Basis::Ns);
        for number in (0..20).chain(0..20) {
            row.flag(FlagKind::Failed, format!("error {number}"));
        }
        let why: Vec<_> = row.flags.iter().map(|flag| flag.why.clone()).collect();
        assert_eq!(why, (0..16).map(|number| format!("error {number}")).collect::<Vec<_>>());
    }

    /// As Python and C's `%g` print small and large numbers.
    #[test]
    fn numbers_with_exponents_are_read_exactly() {
        let read = |text: &str, power| {
            let number = Number::read(text).unwrap_or_else(|| panic!("{text}")).shifted(power);
            (number.value, number.whole(), number.last_place())
        };
        assert_eq!(read("5e-05", 9), (Some(50_000.0), Some((50_000, false)), Some(4)));
        assert_eq!(read("5.00E-05", 9), (Some(50_000.0), Some((50_000, false)), Some(2)));
        assert_eq!(read("1.2e+3", 0), (Some(1_200.0), Some((1_200, false)), Some(2)));
        assert_eq!(read("1.1", 3), (Some(1_100.0), Some((1_100, false)), Some(2)));
        assert_eq!(read("0.0015", 3), (Some(1.5), Some((2, true)), Some(-1)));
        assert_eq!(read("0.00049", 3).1, Some((0, true)));
        assert_eq!(read("18446744073709551615", 0).1, Some((u64::MAX, false)));
        assert_eq!(read("18446744073709551616", 0).1, None);
        assert_eq!(read("9007199254740993.0", 0).1, Some((9_007_199_254_740_993, false)));
        assert_eq!(read("-1", 0).1, None);
        assert_eq!(read(&format!("{}42", "0".repeat(40)), 0).1, Some((42, false)));
        assert_eq!(read(&format!("42.{}", "0".repeat(40)), 0).1, Some((42, false)));
        assert_eq!(read("1e-999999999999", 9).1, Some((0, true)));
        assert_eq!(read("1e999999999999", 9), (None, None, Some(1_073_741_832)));
        assert_eq!(read(&format!("1.{}1", "0".repeat(99)), 0).1, Some((1, true)));
        let flag = |text: &str| Number::read(text).and_then(|number| number.flag);
        assert_eq!(flag("-5e-05"), Some(FlagKind::Wrapped));
        assert_eq!(flag("1e30"), Some(FlagKind::TooLarge));
        assert_eq!(flag("1e999999999999"), Some(FlagKind::TooLarge));
    }
}
