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
}

impl Number {
    /// Parses decimal digits, optionally with a sign and a fraction; returns `None` for anything else.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !all_digits(whole) || !(all_digits(fraction) || fraction.is_empty()) {
            return None;
        }
        let value: f64 = text.parse().ok()?;
        let flag = if value < 0.0 {
            Some(FlagKind::Wrapped)
        } else if value >= u64::MAX as f64 * (1.0 + 1e-9) {
            Some(FlagKind::TooLarge)
        } else if value > i64::MAX as f64 || (whole.len() == 10 && near_32_bits(value)) {
            Some(FlagKind::Wrapped)
        } else {
            None
        };
        let shown: String = text.chars().take(40).collect();
        Some(Self { value: value.is_finite().then_some(value), flag, text: shown })
    }

    /// Wraps a computed number.
    pub fn of(value: f64) -> Self {
        let text = String::new();
        Self { value: value.is_finite().then_some(value), flag: None, text }
    }

    /// Converts the number to another unit by a factor.
    pub fn scaled(mut self, factor: f64) -> Self {
        self.value = self.value.map(|value| value * factor).filter(|value| value.is_finite());
        self
    }

    fn why(&self) -> String {
        match self.flag {
            Some(FlagKind::TooLarge) => format!("{} does not fit into 64 bits", self.text),
            _ if self.text.starts_with('-') => format!("{} is negative", self.text),
            _ => format!("{} looks like a negative difference", self.text),
        }
    }
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
        for bad in ["", "-", "n/a", "1e5", "1.2.3", "0x10", "1,5", "inf", "NaN", "."] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
