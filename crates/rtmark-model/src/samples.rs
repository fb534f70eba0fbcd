//! Samples: the length of every span, in order, and their statistics.
//!
//! A sample is a bare count; its basis (cycles, instructions, nanoseconds) is stated by the series that
//! contains it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What disturbed a sample, beyond what belongs to its span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Disturbance {
    /// A tick's handler ran during the sample.
    pub tick: bool,
    /// An external interrupt's handler ran during the sample.
    pub interrupt: bool,
}

impl Disturbance {
    /// No disturbance.
    pub const NONE: Self = Self { tick: false, interrupt: false };

    /// Tells whether there was any disturbance.
    pub const fn any(self) -> bool {
        self.tick || self.interrupt
    }
}

/// Consecutive equal samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The length of each, in the series' basis.
    pub value: u64,
    /// The number of samples.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub times: u64,
    /// Whether a tick that does not belong to the span disturbed them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tick: bool,
    /// Whether an external interrupt that does not belong to the span disturbed them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupt: bool,
}

const fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_one(times: &u64) -> bool {
    *times == 1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(crate) const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Run {
    const fn disturbance(&self) -> Disturbance {
        Disturbance { tick: self.tick, interrupt: self.interrupt }
    }
}

/// Every sample of a series in the order in which it was taken.
///
/// ```
/// use rtmark_model::{Disturbance, Samples};
///
/// let mut samples = Samples::new();
/// samples.push(140, Disturbance::NONE);
/// for _ in 0..99 {
///     samples.push(96, Disturbance::NONE);
/// }
/// samples.push(412, Disturbance { tick: true, interrupt: false });
///
/// let statistics = samples.statistics().expect("there are samples");
/// assert_eq!(statistics.first, 140);
/// assert_eq!(statistics.typical(), 96);
/// assert_eq!(statistics.disturbed.map(|hit| hit.max), Some(412));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Run>", into = "Vec<Run>")]
pub struct Samples {
    runs: Vec<Run>,
}

/// Samples in a file that are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplesError {
    /// A run without samples.
    #[error("run {0} of the samples is repeated 0 times")]
    Empty(usize),
    /// More samples than can be counted.
    #[error("the samples' number exceeds 64 bits")]
    TooMany,
}

impl TryFrom<Vec<Run>> for Samples {
    type Error = SamplesError;

    fn try_from(runs: Vec<Run>) -> Result<Self, SamplesError> {
        let mut samples = Self::new();
        let mut total = 0_u64;
        for (index, run) in runs.into_iter().enumerate() {
            if run.times == 0 {
                return Err(SamplesError::Empty(index));
            }
            total = total.checked_add(run.times).ok_or(SamplesError::TooMany)?;
            samples.push_run(run);
        }
        Ok(samples)
    }
}

impl From<Samples> for Vec<Run> {
    fn from(samples: Samples) -> Self {
        samples.runs
    }
}

impl Samples {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { runs: Vec::new() }
    }

    /// Adds the next sample.
    pub fn push(&mut self, value: u64, disturbance: Disturbance) {
        self.push_run(Run {
            value,
            times: 1,
            tick: disturbance.tick,
            interrupt: disturbance.interrupt,
        });
    }

    fn push_run(&mut self, run: Run) {
        match self.runs.last_mut() {
            Some(last) if last.value == run.value && last.disturbance() == run.disturbance() => {
                last.times += run.times;
            }
            _ => self.runs.push(run),
        }
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.times).sum()
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the samples, with equal neighbours combined.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the samples one by one, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Disturbance)> + '_ {
        self.runs.iter().flat_map(|run| {
            let times = usize::try_from(run.times).unwrap_or(usize::MAX);
            std::iter::repeat_n((run.value, run.disturbance()), times)
        })
    }

    /// Returns how often each length occurs after the first sample, for undisturbed and for disturbed
    /// samples.
    fn histograms(&self) -> (BTreeMap<u64, u64>, BTreeMap<u64, u64>) {
        let (mut clean, mut disturbed) = (BTreeMap::new(), BTreeMap::new());
        for (index, run) in self.runs.iter().enumerate() {
            let later = run.times - u64::from(index == 0);
            if later > 0 {
                let values = if run.disturbance().any() { &mut disturbed } else { &mut clean };
                *values.entry(run.value).or_insert(0) += later;
            }
        }
        (clean, disturbed)
    }

    /// Returns the modes of the steady samples, the shortest first: lengths around which many samples
    /// cluster, with nothing in between. Most series have one.
    pub fn modes(&self) -> Vec<Mode> {
        modes(&self.histograms().0)
    }

    /// Returns their statistics, or `None` if there are no samples.
    pub fn statistics(&self) -> Option<Statistics> {
        let first = self.runs.first()?;
        let (clean, disturbed) = self.histograms();
        Some(Statistics {
            count: self.len(),
            first: first.value,
            first_disturbed: first.disturbance().any(),
            steady: Summary::of(&clean),
            disturbed: Summary::of(&disturbed),
        })
    }
}

/// A length around which many samples cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mode {
    /// The most frequent length among them.
    pub value: u64,
    /// The number of samples.
    pub times: u64,
}

/// The minimum share of samples in a mode, in per cent.
const SHARE_OF_MODE: u64 = 20;
const LEAST_OF_MODE: u64 = 5;
/// Lengths belong to one mode if each exceeds the previous one by no more than this many per cent, or
/// by [`NEAR`].
const NEAR_PERCENT: u64 = 10;
const NEAR: u64 = 2;

fn modes(values: &BTreeMap<u64, u64>) -> Vec<Mode> {
    let total: u64 = values.values().sum();
    let mut modes: Vec<Mode> = Vec::new();
    let (mut last, mut commonest) = (None, 0);
    for (&value, &times) in values {
        let near = |last: u64| value - last <= (last / 100 * NEAR_PERCENT).max(NEAR);
        if let Some(mode) = modes.last_mut().filter(|_| last.is_some_and(near)) {
            mode.times += times;
            if times > commonest {
                (mode.value, commonest) = (value, times);
            }
        } else {
            modes.push(Mode { value, times });
            commonest = times;
        }
        last = Some(value);
    }
    let many = |mode: &Mode| {
        let share = u128::from(mode.times) * 100 >= u128::from(total) * u128::from(SHARE_OF_MODE);
        mode.times >= LEAST_OF_MODE && share
    };
    modes.retain(many);
    modes
}

/// The statistics of a series: the first sample, which meets cold caches and untaken paths, is separate
/// from the steady ones, and disturbed samples are separate from both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// The number of samples.
    pub count: u64,
    /// The first sample.
    pub first: u64,
    /// Whether an unrelated tick or interrupt disturbed the first sample.
    pub first_disturbed: bool,
    /// The undisturbed samples after the first.
    pub steady: Option<Summary>,
    /// The samples after the first that a tick or interrupt disturbed.
    pub disturbed: Option<Summary>,
}

impl Statistics {
    /// Returns the figure that represents the series: the median of the steady samples or, if they have
    /// several modes, of which the median would pick one, their mean. If there are no steady samples,
    /// that of the disturbed ones; otherwise the first sample, which is then the only one.
    pub fn typical(&self) -> u64 {
        self.steady.or(self.disturbed).map_or(self.first, |summary| summary.typical())
    }

    /// Returns the median of the same samples: a length that occurred.
    pub fn median(&self) -> u64 {
        self.steady.or(self.disturbed).map_or(self.first, |summary| summary.p50)
    }

    /// Returns the largest sample of all, including disturbed ones.
    pub fn largest(&self) -> u64 {
        [self.steady, self.disturbed].iter().flatten().map(|s| s.max).fold(self.first, u64::max)
    }
}

/// A summary of a distribution. The percentiles follow the nearest-rank rule: the smallest sample that
/// at least this many per cent do not exceed. So each is a length that occurred, and of an even number
/// the median is the lower of the two middle ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The number of samples.
    pub count: u64,
    /// The smallest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// 90 % are no longer than this.
    pub p90: u64,
    /// 99 % are no longer than this.
    pub p99: u64,
    /// 99.9 % are no longer than this; present if there are enough samples for one to exceed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<u64>,
    /// The largest.
    pub max: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The standard deviation of these samples themselves (divided by their number).
    pub sigma: f64,
    /// The number of modes: lengths around which a fifth of the samples cluster, with nothing in
    /// between.
    #[serde(default = "one_mode")]
    pub modes: u64,
}

const fn one_mode() -> u64 {
    1
}

impl Summary {
    /// Returns the median, or the mean of samples with several modes, in whole units.
    fn typical(&self) -> u64 {
        if self.modes > 1 { self.mean.round() as u64 } else { self.p50 }
    }

    fn of(values: &BTreeMap<u64, u64>) -> Option<Self> {
        let (&min, _) = values.first_key_value()?;
        let (&max, _) = values.last_key_value()?;
        let count: u64 = values.values().sum();
        let percentile = |per_mille: u64| {
            let rank = (u128::from(count) * u128::from(per_mille)).div_ceil(1000);
            let mut seen = 0;
            for (&value, &times) in values {
                seen += u128::from(times);
                if seen >= rank {
                    return value;
                }
            }
            max
        };
        // Offsets from the smallest keep the sums exact if the values are large.
        let offsets = || values.iter().map(|(&v, &times)| ((v - min) as f64, times as f64));
        let mean_offset = offsets().map(|(v, times)| v * times).sum::<f64>() / count as f64;
        let variance = offsets().map(|(v, times)| (v - mean_offset).powi(2) * times).sum::<f64>()
            / count as f64;
        Some(Self {
            count,
            min,
            p50: percentile(500),
            p90: percentile(900),
            p99: percentile(990),
            p99_9: (count >= 1000).then(|| percentile(999)),
            max,
            mean: min as f64 + mean_offset,
            sigma: variance.sqrt(),
            modes: (modes(values).len() as u64).max(1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: Disturbance = Disturbance { tick: true, interrupt: false };

    fn samples(values: &[(u64, Disturbance)]) -> Samples {
        let mut samples = Samples::new();
        for &(value, hit) in values {
            samples.push(value, hit);
        }
        samples
    }

    #[test]
    fn a_single_sample_is_first_and_not_steady() {
        let statistics = samples(&[(7, TICK)]).statistics().expect("one");
        assert_eq!((statistics.count, statistics.first, statistics.typical()), (1, 7, 7));
        assert!(statistics.first_disturbed && statistics.steady.is_none());
        assert_eq!(Samples::new().statistics(), None);
    }

    #[test]
    fn nearest_rank_takes_the_lower_middle() {
        let series = samples(&[0, 4, 1, 3, 2].map(|v| (v, Disturbance::NONE)));
        let steady = series.statistics().and_then(|s| s.steady).expect("four steady ones");
        assert_eq!((steady.min, steady.p50, steady.p90, steady.max), (1, 2, 4, 4));
        assert!((steady.mean - 2.5).abs() < 1e-12);
        assert!((steady.sigma - 1.25_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn equal_samples_count_as_often_as_they_occur() {
        let series = samples(&[9, 1, 1, 1, 5].map(|v| (v, Disturbance::NONE)));
        let steady = series.statistics().and_then(|s| s.steady).expect("four steady ones");
        // The squares of 1, 1, 1 and 3.
        assert!((steady.mean - 2.0).abs() < 1e-12 && (steady.sigma - 3_f64.sqrt()).abs() < 1e-12);
        let times: Vec<_> = series.runs().iter().map(|run| (run.value, run.times)).collect();
        assert_eq!(times, [(9, 1), (1, 3), (5, 1)]);
        let disturbed = samples(&[(1, Disturbance::NONE), (1, TICK), (2, TICK)]);
        assert_eq!(disturbed.runs().len(), 3);
    }

    /// Returns samples with this many of each length, after a first one.
    fn mixed(lengths: &[(u64, usize)]) -> Samples {
        let steady = lengths.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times));
        let all: Vec<_> =
            std::iter::once(1).chain(steady).map(|value| (value, Disturbance::NONE)).collect();
        samples(&all)
    }

    #[test]
    fn multimodal_samples_are_represented_by_their_mean() {
        let two = mixed(&[(135, 51), (249, 49)]);
        let modes = two.modes();
        assert_eq!(modes, [Mode { value: 135, times: 51 }, Mode { value: 249, times: 49 }]);
        let statistics = two.statistics().expect("some");
        assert_eq!((statistics.median(), statistics.typical()), (135, 191));
        // Fewer than a fifth do not form a mode, nor do lengths with others in between.
        for one in [&[(135, 81), (249, 19)][..], &[(100, 30), (109, 1), (118, 30), (127, 30)]] {
            let statistics = mixed(one).statistics().expect("some");
            assert_eq!(mixed(one).modes().len(), 1, "{one:?}");
            assert_eq!(statistics.typical(), statistics.median(), "{one:?}");
        }
        assert_eq!(mixed(&[(135, 80), (249, 20)]).modes().len(), 2);
        // A mode is named by the most frequent of its lengths.
        let named = |lengths: &[(u64, usize)]| {
            mixed(lengths).modes().first().map(|mode| (mode.value, mode.times))
        };
        assert_eq!(named(&[(100, 20), (101, 60), (102, 30)]), Some((101, 110)));
        assert_eq!(named(&[(100, 30), (101, 20), (102, 30)]), Some((100, 80)));
        assert_eq!(named(&[(100, 30), (101, 20), (102, 40)]), Some((102, 90)));
        assert_eq!(mixed(&[(7, 10), (9, 10)]).modes().len(), 1, "two cycles are near");
        assert_eq!(mixed(&[(7, 10), (10, 10)]).modes().len(), 2);
        assert!(mixed(&[(7, 4), (20, 4)]).modes().is_empty(), "too few to tell");
        assert!(Samples::new().modes().is_empty());
    }

    #[test]
    fn one_of_a_thousand_exceeds_the_last_percentile() {
        let steady = |count: u64| {
            let values: Vec<_> = (0..=count).map(|value| (value, Disturbance::NONE)).collect();
            samples(&values).statistics().and_then(|s| s.steady).expect("steady ones")
        };
        assert_eq!(steady(999).p99_9, None);
        assert_eq!(steady(1000).p99_9, Some(999));
        assert_eq!(
            (steady(2000).p99, steady(2000).p99_9, steady(2000).max),
            (1980, Some(1998), 2000)
        );
        // Earlier files can still be read.
        let json = serde_json::to_string(&steady(999)).expect("serialises");
        assert!(!json.contains("p99_9"), "{json}");
        assert_eq!(serde_json::from_str::<Summary>(&json).expect("reads back"), steady(999));
    }

    #[test]
    fn absurd_runs_are_rejected() {
        let read = serde_json::from_str::<Samples>;
        assert!(read(r#"[{"value":1,"times":0}]"#).is_err());
        assert!(read(r#"[{"value":1,"times":18446744073709551615},{"value":2}]"#).is_err());
        assert!(read(r#"[{"value":1,"often":2}]"#).is_err());
    }

    fn any_samples() -> impl Strategy<Value = Vec<(u64, Disturbance)>> {
        let hit = (any::<bool>(), any::<bool>())
            .prop_map(|(tick, interrupt)| Disturbance { tick, interrupt });
        prop::collection::vec((0..9_u64, hit), 1..200)
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_order_is_kept(values in any_samples()) {
            let series = samples(&values);
            prop_assert_eq!(series.len(), values.len() as u64);
            prop_assert_eq!(series.iter().collect::<Vec<_>>(), values);
            let json = serde_json::to_string(&series).expect("serialises");
            prop_assert_eq!(serde_json::from_str::<Samples>(&json).expect("reads back"), series);
        }

        #[test]
        fn statistics_agree_with_the_sorted_list(values in any_samples()) {
            let statistics = samples(&values).statistics().expect("not empty");
            let mut clean: Vec<u64> =
                values[1..].iter().filter(|(_, hit)| !hit.any()).map(|&(v, _)| v).collect();
            clean.sort_unstable();
            let rank = |percent: usize| clean[(clean.len() * percent).div_ceil(100) - 1];
            match statistics.steady {
                None => prop_assert!(clean.is_empty()),
                Some(steady) => {
                    prop_assert_eq!(steady.count, clean.len() as u64);
                    prop_assert_eq!((steady.min, steady.max), (clean[0], clean[clean.len() - 1]));
                    prop_assert_eq!((steady.p50, steady.p90, steady.p99), (rank(50), rank(90), rank(99)));
                    let mean = clean.iter().sum::<u64>() as f64 / clean.len() as f64;
                    prop_assert!((steady.mean - mean).abs() < 1e-9);
                }
            }
            let hits = statistics.disturbed.map_or(0, |d| d.count);
            prop_assert_eq!(statistics.steady.map_or(0, |s| s.count) + hits + 1, statistics.count);
            prop_assert_eq!(statistics.largest(), values.iter().map(|&(v, _)| v).max().unwrap_or(0));
        }
    }
}
