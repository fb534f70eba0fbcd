//! What is looked at in an exact series, and how it changed.

use std::fmt;

use rtmark_model::{Samples, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of a series.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The typical sample: the median of the steady ones.
    Median,
    /// The largest steady sample.
    Max,
    /// The first sample.
    First,
    /// All steady samples together, where both series have equally many.
    Total,
    /// The largest sample that a tick or another interrupt hit.
    Disturbed,
}

impl Measure {
    /// All of them; the first one that differs decides the verdict.
    pub const ALL: [Self; 5] = [Self::Median, Self::Max, Self::First, Self::Total, Self::Disturbed];

    /// The word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Max => "max",
            Self::First => "first",
            Self::Total => "total",
            Self::Disturbed => "disturbed",
        }
    }

    /// This figure of a series.
    pub fn of(self, series: &Series) -> Option<u64> {
        let statistics = series.statistics()?;
        match self {
            Self::Median => Some(statistics.typical()),
            Self::Max => statistics.steady.map(|steady| steady.max),
            Self::First => Some(statistics.first),
            Self::Total => Some(steady_total(series.readings.samples()?)),
            Self::Disturbed => statistics.disturbed.map(|hit| hit.max),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn steady_total(samples: &Samples) -> u64 {
    let runs = samples.runs().iter().enumerate();
    let steady = runs.filter(|(_, run)| !run.tick && !run.interrupt);
    let total: u128 = steady
        .map(|(index, run)| u128::from(run.value) * u128::from(run.times - u64::from(index == 0)))
        .sum();
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// A figure before and after, in the series' basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Which figure.
    pub measure: Measure,
    /// What it was.
    pub before: u64,
    /// What it is.
    pub after: u64,
}

impl Change {
    /// By how much it grew.
    pub fn by(&self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// By which part of itself it grew; `None` when it was nothing.
    pub fn relative(&self) -> Option<f64> {
        (self.before > 0).then(|| self.by() as f64 / self.before as f64)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, before, after } = self;
        write!(f, "{measure} {before} \u{2192} {after} ({:+}", self.by())?;
        match self.relative() {
            Some(part) => write!(f, ", {})", per_cent(part)),
            None => f.write_str(")"),
        }
    }
}

/// A part in per cent, with its sign.
pub(crate) fn per_cent(part: f64) -> String {
    let digits = if part.abs() < 0.0995 { 2 } else { usize::from(part.abs() < 0.995) };
    format!("{:+.digits$} %", part * 100.0)
}

/// The figures of two exact series that differ, in the order of [`Measure::ALL`].
pub(crate) fn changes(before: &Series, after: &Series) -> Vec<Change> {
    let steady = |series: &Series| series.statistics().and_then(|s| s.steady).map(|s| s.count);
    let as_many = steady(before) == steady(after);
    let wanted = Measure::ALL.into_iter().filter(|m| *m != Measure::Total || as_many);
    wanted
        .filter_map(|measure| {
            let change = Change { measure, before: measure.of(before)?, after: measure.of(after)? };
            (change.before != change.after).then_some(change)
        })
        .collect()
}
