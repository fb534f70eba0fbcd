//! Figures that a log gives in place of samples, and what is wrong with them.
//!
//! Other suites print an average, perhaps with a minimum and a maximum, and throw
//! the samples away. Such figures are a type of their own: no median can be had from
//! them, and they are never merged with samples.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ScenarioId, Suite};

/// What somebody else worked out of samples that are not here. All lengths are in the
/// series' basis and finite; what is not said is absent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Summarised {
    /// How many samples there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The first sample, or one with cold caches, where it stands apart.
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
    /// The standard deviation, by whichever formula the log's author used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sigma: Option<f64>,
    /// Percentiles, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    /// How often each length occurred, ascending, where the log has a histogram. The order
    /// in which they came is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bin>,
    /// The least difference that the clock can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// The figure that stands for the series in nanoseconds, where the log says it beside cycles. Both
    /// were cut to whole numbers, and this one mostly keeps more digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<f64>,
}

/// A length that so many per cent of the samples do not exceed.
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
    /// How many samples.
    pub times: u64,
}

/// Which of several figures stands for the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// The middle one of all samples.
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
    /// The one figure that stands for the series, and which one it is: the median where it
    /// is known, else the mean, else an extreme. `None` when there is no figure at all.
    pub fn typical(&self) -> Option<(Statistic, f64)> {
        let median = self.percentiles.iter().find(|p| (p.per_cent - 50.0).abs() < 1e-9);
        median
            .map(|p| (Statistic::Median, p.value))
            .or_else(|| self.middle().map(|value| (Statistic::Median, value)))
            .or_else(|| self.mean.map(|value| (Statistic::Mean, value)))
            .or_else(|| self.min.map(|value| (Statistic::Min, value)))
            .or_else(|| self.max.map(|value| (Statistic::Max, value)))
    }

    /// The lower middle of the histogram.
    fn middle(&self) -> Option<f64> {
        let total: u128 = self.histogram.iter().map(|bin| u128::from(bin.times)).sum();
        let mut seen = 0;
        let found = self.histogram.iter().find(|bin| {
            seen += u128::from(bin.times);
            total > 0 && seen >= total.div_ceil(2)
        })?;
        Some(found.value as f64)
    }

    /// Every length in it.
    pub fn lengths(&self) -> impl Iterator<Item = f64> + '_ {
        let named = [self.first, self.min, self.mean, self.max];
        named.into_iter().flatten().chain(self.percentiles.iter().map(|p| p.value))
    }
}

/// What is wrong with an imported series. One that has any is kept and shown, and never
/// compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// The suite itself says that the row failed.
    Failed,
    /// Nothing took no time.
    Zero,
    /// A counter went round, or a difference below zero was printed without its sign.
    Wrapped,
    /// A number larger than a figure can be.
    TooLarge,
    /// The clock cannot have been what the figures imply.
    ImpossibleClock,
    /// The clock's steps are as long as what was timed, or longer.
    CoarseClock,
    /// A few samples make most of the average.
    PoisonedAverage,
    /// The figures of the row contradict each other.
    Contradiction,
    /// Far from what the same log says of the same thing.
    Implausible,
    /// A tick came in between.
    Tick,
    /// Not all of the row or its histogram is there.
    Incomplete,
}

impl FlagKind {
    /// The word used in tables and files.
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

/// What is wrong with a series, and by what that is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// What is wrong.
    pub kind: FlagKind,
    /// By what it is seen, in one sentence.
    pub why: String,
}

impl Flag {
    /// A flag.
    pub fn new(kind: FlagKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.why)
    }
}

/// Where in which log a series was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogSource {
    /// The log's name: a path, an address, or what was said about it.
    pub file: String,
    /// The first line of it that the series is from, counted from 1.
    pub line: u64,
    /// The suite that printed it.
    pub suite: Suite,
    /// What the newest form of the suite calls the row.
    pub row: String,
    /// The scenario of ours that is most like it, where none has its span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<Near>,
}

/// A scenario that is like a row of another suite, and not the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Near {
    /// The scenario.
    pub scenario: ScenarioId,
    /// What keeps the two from being compared.
    pub differs: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_that_stands_for_a_row_is_named() {
        let mut summary = Summarised { mean: Some(9.5), min: Some(8.0), ..Summarised::default() };
        assert_eq!(summary.typical(), Some((Statistic::Mean, 9.5)));
        summary.histogram =
            [(7, 1), (8, 1), (20, 2)].map(|(value, times)| Bin { value, times }).into();
        assert_eq!(summary.typical(), Some((Statistic::Median, 8.0)));
        summary.percentiles = vec![Percentile { per_cent: 50.0, value: 9.0 }];
        assert_eq!(summary.typical(), Some((Statistic::Median, 9.0)));
        assert_eq!(Summarised::default().typical(), None);
    }
}
