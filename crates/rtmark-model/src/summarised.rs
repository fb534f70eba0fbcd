//! Figures that a log gives in place of samples, and what is wrong with them.
//!
//! Other suites print an average, perhaps with a minimum and a maximum, and discard the samples. Such
//! figures are a type of their own: no median can be derived from them, and they are never merged with
//! samples.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ScenarioId, Suite};

/// Statistics that were computed elsewhere from samples that are not available. All lengths are in the
/// series' basis and finite; unknown ones are absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Summarised {
    /// The number of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The first sample, or one with cold caches, if it is reported separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    /// The smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The arithmetic mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The standard deviation, by the formula of the log's author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Percentiles, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    /// How often each length occurred, ascending, if the log has a histogram. The order of the samples
    /// is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bin>,
    /// The smallest difference that the clock can resolve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// The representative figure in nanoseconds, if the log states it along with cycles. Both were
    /// truncated to whole numbers, and this one usually keeps more digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
}

/// A length that this many per cent of the samples do not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Percentile {
    /// From 0 to 100.
    pub per_cent: f64,
    /// The length.
    pub value: f64,
}

/// How often a length occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bin {
    /// The length.
    pub value: u64,
    /// The number of samples.
    pub times: u64,
}

/// Which of several figures represents the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The median of all samples.
    Median,
    /// The arithmetic mean.
    Mean,
    /// The smallest sample.
    Min,
    /// The largest sample.
    Max,
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        })
    }
}

impl Summarised {
    /// Returns the figure that represents the series, and which one it is: the median if it is known,
    /// or else the mean, or else an extreme. `None` if there is no figure at all.
    pub fn typical(&self) -> Option<(Statistic, f64)> {
        let median = self.percentiles.iter().find(|p| (p.per_cent - 50.0).abs() < 1e-9);
        median
            .map(|p| (Statistic::Median, p.value))
            .or_else(|| self.middle().map(|value| (Statistic::Median, value)))
            .or_else(|| self.mean.map(|value| (Statistic::Mean, value)))
            .or_else(|| self.min.map(|value| (Statistic::Min, value)))
            .or_else(|| self.max.map(|value| (Statistic::Max, value)))
    }

    /// Returns the lower median of the histogram.
    fn middle(&self) -> Option<f64> {
        let total: u128 = self.histogram.iter().map(|bin| u128::from(bin.times)).sum();
        let mut seen = 0;
        let found = self.histogram.iter().find(|bin| {
            seen += u128::from(bin.times);
            total > 0 && seen >= total.div_ceil(2)
        })?;
        Some(found.value as f64)
    }

    /// Returns all lengths in it.
    pub fn lengths(&self) -> impl Iterator<Item = f64> + '_ {
        let named = [self.first, self.min, self.mean, self.max];
        named.into_iter().flatten().chain(self.percentiles.iter().map(|p| p.value))
    }
}

/// What is wrong with an imported series. A flagged series is kept and shown, but never compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// The suite itself reports that the row failed.
    Failed,
    /// The operation seems to have taken no time.
    Zero,
    /// A counter wrapped, or a negative difference was printed without its sign.
    Wrapped,
    /// A number that is too large for a figure.
    TooLarge,
    /// The clock cannot have been what the figures imply.
    ImpossibleClock,
    /// The clock's resolution is no finer than the measured time.
    CoarseClock,
    /// A few samples account for most of the average.
    PoisonedAverage,
    /// The figures of the row contradict each other.
    Contradiction,
    /// Far from what the same log reports for the same operation.
    Implausible,
    /// A tick interrupted it.
    Tick,
    /// A part of the row or of its histogram is missing.
    Incomplete,
}

impl FlagKind {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Zero => "zero",
            Self::Wrapped => "wrapped",
            Self::TooLarge => "too-large",
            Self::ImpossibleClock => "impossible-clock",
            Self::CoarseClock => "coarse-clock",
            Self::PoisonedAverage => "poisoned-average",
            Self::Contradiction => "contradiction",
            Self::Implausible => "implausible",
            Self::Tick => "tick",
            Self::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for FlagKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A problem of a series, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// What is wrong.
    pub kind: FlagKind,
    /// The evidence for it, in one sentence.
    pub why: String,
}

impl Flag {
    /// Creates a flag.
    pub fn new(kind: FlagKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.why)
    }
}

/// The log in which a series was found, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    /// The log's name: a path, an address, or a description.
    pub file: String,
    /// The first of its lines that the series comes from, counted from 1.
    pub line: u64,
    /// The suite that printed it.
    pub suite: Suite,
    /// The row's name in the latest version of the suite.
    pub row: String,
    /// Our most similar scenario, if none has its span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Near>,
}

/// A scenario that is similar to a row of another suite, but not equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Near {
    /// The scenario.
    pub scenario: ScenarioId,
    /// Why the two cannot be compared.
    pub differs: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_representative_figure_is_named() {
        let mut summary = Summarised { mean: Some(9.5), min: Some(8.0), ..Summarised::default() };
        assert_eq!(summary.typical(), Some((Statistic::Mean, 9.5)));
        summary.histogram =
            [(7, 1), (8, 1), (20, 2)].map(|(value, times)| Bin { value, times }).into();
        assert_eq!(summary.typical(), Some((Statistic::Median, 8.0)));
        summary.percentiles = vec![Percentile { per_cent: 50.0, value: 9.0 }];
        assert_eq!(summary.typical(), Some((Statistic::Median, 9.0)));
        assert_eq!(Summarised::default().typical(), None);
        // A histogram of nothing has no median.
        let histogram = vec![Bin { value: 7, times: 0 }];
        let empty = Summarised { max: Some(3.0), histogram, ..Summarised::default() };
        assert_eq!(empty.typical(), Some((Statistic::Max, 3.0)));
    }
}
