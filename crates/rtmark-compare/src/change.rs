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

    /// This figure of a series. Where a log gives a summary in place of samples, its figure that stands
    /// for the series takes the median's place.
    pub fn of(self, series: &Series) -> Option<u64> {
        match series.readings.summarised() {
            None => self.of_samples(series.readings.samples()?),
            Some(summary) => {
                let said = match self {
                    Self::Median => summary.typical().map(|(_, value)| value),
                    Self::Max => summary.max,
                    Self::First => summary.first,
                    Self::Total | Self::Disturbed => None,
                };
                said.filter(|value| (0.0..1e18).contains(value)).map(|value| value.round() as u64)
            }
        }
    }

    /// This figure of samples.
    fn of_samples(self, samples: &Samples) -> Option<u64> {
        let statistics = samples.statistics()?;
        match self {
            Self::Median => Some(statistics.typical()),
            Self::Max => statistics.steady.map(|steady| steady.max),
            Self::First => Some(statistics.first),
            Self::Total => Some(steady_total(samples)),
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

/// A figure before and after, in the basis of where it stands.
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

/// The figures of two exact series' samples that differ, in the order of [`Measure::ALL`].
pub(crate) fn changes(before: &Samples, after: &Samples) -> Vec<Change> {
    let steady = |samples: &Samples| samples.statistics().and_then(|s| s.steady).map(|s| s.count);
    let as_many = steady(before) == steady(after);
    let wanted = Measure::ALL.into_iter().filter(|m| *m != Measure::Total || as_many);
    wanted
        .filter_map(|measure| {
            let (before, after) = (measure.of_samples(before)?, measure.of_samples(after)?);
            (before != after).then_some(Change { measure, before, after })
        })
        .collect()
}

/// How the executed instructions of two exact series changed; `None` where one of them does not
/// tell them. Empty: the spans execute what they executed.
///
/// A sample that something hit holds whatever that executed, and which one is hit depends on
/// cycles: of those nothing is said.
pub(crate) fn of_instructions(before: &Series, after: &Series) -> Option<Vec<Change>> {
    let (was, is) = (before.executed.as_ref()?, after.executed.as_ref()?);
    let mut changes = changes(&was.0, &is.0);
    changes.retain(|change| change.measure != Measure::Disturbed);
    // A tick in the first sample is that sample's, too.
    let first_hit = |series: &Series| series.statistics().is_some_and(|s| s.first_disturbed);
    if first_hit(before) || first_hit(after) {
        changes.retain(|change| change.measure != Measure::First);
    }
    Some(changes)
}
