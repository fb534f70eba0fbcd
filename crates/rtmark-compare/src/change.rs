//! The figures examined in an exact series, and how they changed.

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
    /// The largest sample disturbed by a tick or another interrupt.
    Disturbed,
}

impl Measure {
    /// All of them; the first one that differs decides the verdict, unless the largest sample grew.
    pub const ALL: [Self; 5] = [Self::Median, Self::Max, Self::First, Self::Total, Self::Disturbed];

    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Max => "max",
            Self::First => "first",
            Self::Total => "total",
            Self::Disturbed => "disturbed",
        }
    }

    /// Returns this figure of a series. If a log gives a summary instead of samples, its representative
    /// figure takes the median's place.
    pub fn of(self, series: &Series) -> Option<u64> {
        match series.readings.summarised() {
            None => self.of_samples(series.readings.samples()?),
            Some(summary) => {
                let value = match self {
                    Self::Median => summary.typical().map(|(_, value)| value),
                    Self::Max => summary.max,
                    Self::First => summary.first,
                    Self::Total | Self::Disturbed => None,
                };
                value.filter(|value| (0.0..1e18).contains(value)).map(|value| value.round() as u64)
            }
        }
    }

    /// Returns this figure of samples.
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

/// Returns the undisturbed samples after the first: lengths, and how often each occurred in a row.
pub(crate) fn steady(samples: &Samples) -> impl Iterator<Item = (u64, u64)> {
    let runs = samples.runs().iter().enumerate();
    let clean = runs.filter(|(_, run)| !run.tick && !run.interrupt);
    clean.map(|(index, run)| (run.value, run.times - u64::from(index == 0)))
}

fn steady_total(samples: &Samples) -> u64 {
    let all = steady(samples).map(|(value, times)| u128::from(value) * u128::from(times));
    let total: u128 = all.sum();
    u64::try_from(total).unwrap_or(u64::MAX)
}

/// A figure before and after, in the unit of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Which figure.
    pub measure: Measure,
    /// The earlier value.
    pub before: u64,
    /// The later value.
    pub after: u64,
}

impl Change {
    /// Returns by how much it grew.
    pub fn growth(&self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }

    /// Returns by which fraction it grew; `None` if it was zero.
    pub fn relative(&self) -> Option<f64> {
        (self.before > 0).then(|| self.growth() as f64 / self.before as f64)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measure, before, after } = self;
        write!(f, "{measure} {before} \u{2192} {after} ({:+}", self.growth())?;
        match self.relative() {
            Some(part) => write!(f, ", {})", per_cent(part)),
            None => f.write_str(")"),
        }
    }
}

/// Formats a fraction in per cent, with its sign.
pub(crate) fn per_cent(part: f64) -> String {
    let digits = if part.abs() < 0.0995 { 2 } else { usize::from(part.abs() < 0.995) };
    format!("{:+.digits$} %", part * 100.0)
}

/// Returns the figures that differ between two exact series' samples, in the order of [`Measure::ALL`].
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

/// Returns how the executed instructions of two exact series changed; `None` if one of them does not
/// record them. Empty means that the spans execute the same number of instructions.
///
/// A disturbed sample includes the instructions of the disturbance, and which sample is disturbed
/// depends on cycles, so those samples are not compared.
pub(crate) fn of_instructions(before: &Series, after: &Series) -> Option<Vec<Change>> {
    let (was, is) = (before.executed.as_ref()?, after.executed.as_ref()?);
    let mut changes = changes(&was.0, &is.0);
    changes.retain(|change| change.measure != Measure::Disturbed);
    // A tick in the first sample belongs to that sample too.
    let first_hit = |series: &Series| series.statistics().is_some_and(|s| s.first_disturbed);
    if first_hit(before) || first_hit(after) {
        changes.retain(|change| change.measure != Measure::First);
    }
    Some(changes)
}
