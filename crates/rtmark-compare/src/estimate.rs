//! Compares sampled series: how far their medians are apart, and whether that can be chance.
//!
//! The bootstrap distribution of a median needs no resampling: the probability that the median of n
//! draws from the samples does not exceed a value is the probability that at least half of the draws do
//! not, which the incomplete beta function gives (Efron, "Bootstrap methods: another look at the
//! jackknife", Annals of Statistics 7, 1979, section 3). Only the difference of two medians is sampled,
//! with a generator whose seed is fixed.

use std::collections::BTreeMap;

use oorandom::Rand64;
use rtmark_model::{Sampled, Samples};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;

use crate::change::steady;

/// The seed of the generator: "RTMARK" in ASCII. Equal samples give equal estimates.
pub const SEED: u128 = 0x5254_4D41_524B;
/// The number of differences drawn.
pub const DRAWS: usize = 10_000;
/// The significance level: how probable a difference of this size may be by chance for it to be
/// accepted.
pub const LEVEL: f64 = 0.01;
/// Series with fewer steady samples are not compared.
pub const MIN_SAMPLES: u64 = 8;

/// How far two sampled series are apart, in their basis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The median of the steady samples before.
    pub before: u64,
    /// The median of the steady samples after.
    pub after: u64,
    /// The number of steady samples before.
    pub samples_before: u64,
    /// The number of steady samples after.
    pub samples_after: u64,
    /// The lower end of the interval for the growth of the median.
    pub low: f64,
    /// The upper end of that interval.
    pub high: f64,
    /// The probability that chance alone would separate the ranks at least this far.
    pub p: f64,
    /// The larger of both clocks' resolutions.
    pub resolution: u64,
    /// The method of estimation.
    pub method: String,
}

/// Whether the difference is significant, and its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    None,
    Down,
    Up,
}

impl Estimate {
    pub(crate) fn of(before: &Sampled, after: &Sampled) -> Result<Self, String> {
        let (was, is) = (lengths(&before.samples), lengths(&after.samples));
        let count = |values: &BTreeMap<u64, u64>| values.values().sum::<u64>();
        let (n, m) = (count(&was), count(&is));
        if n < MIN_SAMPLES || m < MIN_SAMPLES {
            return Err(format!(
                "{n} and {m} steady samples, but at least {MIN_SAMPLES} are needed"
            ));
        }
        let (was_medians, is_medians) = (Medians::of(&was, n), Medians::of(&is, m));
        let mut random = Rand64::new(SEED);
        let mut drawn: Vec<f64> = (0..DRAWS)
            .map(|_| is_medians.draw(random.rand_float()) - was_medians.draw(random.rand_float()))
            .collect();
        drawn.sort_by(f64::total_cmp);
        Ok(Self {
            before: was_medians.middle(),
            after: is_medians.middle(),
            samples_before: n,
            samples_after: m,
            low: quantile(&drawn, LEVEL / 2.0),
            high: quantile(&drawn, 1.0 - LEVEL / 2.0),
            p: rank_test(&was, &is),
            resolution: before.resolution.max(after.resolution),
            method: format!(
                "growth of the median with its {:.0} % bootstrap interval ({DRAWS} draws, seed \
                 {SEED:#x}); Mann-Whitney rank test, two-sided, normal approximation corrected for \
                 ties and continuity, level {LEVEL}",
                (1.0 - LEVEL) * 100.0
            ),
        })
    }

    /// Returns the direction; a difference is significant if test and interval agree and the clock
    /// could resolve it.
    pub(crate) fn direction(&self) -> Direction {
        if self.after == self.before || self.is_below_resolution() {
            return Direction::None;
        }
        self.believed()
    }

    /// Returns whether test and interval agree on a difference that the clock cannot resolve.
    pub(crate) fn is_below_resolution(&self) -> bool {
        let apart = self.after.abs_diff(self.before);
        apart < self.resolution && self.believed() != Direction::None
    }

    /// Returns the direction on which test and interval agree.
    fn believed(&self) -> Direction {
        if self.p >= LEVEL {
            Direction::None
        } else if self.low > 0.0 {
            Direction::Up
        } else if self.high < 0.0 {
            Direction::Down
        } else {
            Direction::None
        }
    }
}

/// Returns the value that exceeds this part, from 0 to 1, of the others; there is at least one.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

/// Returns how often each length occurred among the undisturbed samples after the first.
fn lengths(samples: &Samples) -> BTreeMap<u64, u64> {
    let mut values = BTreeMap::new();
    for (value, times) in steady(samples).filter(|(_, times)| *times > 0) {
        *values.entry(value).or_insert(0) += times;
    }
    values
}

/// The bootstrap distribution of a median: lengths, and the probability that the median does not exceed
/// each.
struct Medians {
    lengths: Vec<(u64, f64)>,
}

impl Medians {
    fn of(values: &BTreeMap<u64, u64>, count: u64) -> Self {
        // The nearest-rank median: the lower one of the two middle ones.
        let rank = count.div_ceil(2) as f64;
        let mut seen = 0;
        let chance = |(&value, &times): (&u64, &u64)| {
            seen += times;
            let below = if seen == count {
                1.0
            } else {
                beta_reg(rank, count as f64 - rank + 1.0, seen as f64 / count as f64)
            };
            (value, below)
        };
        Self { lengths: values.iter().map(chance).collect() }
    }

    fn draw(&self, chance: f64) -> f64 {
        let index = self.lengths.partition_point(|(_, below)| *below < chance);
        self.lengths.get(index).or(self.lengths.last()).map_or(0.0, |(value, _)| *value as f64)
    }

    /// Returns the median of the samples themselves, where the distribution reaches one half.
    fn middle(&self) -> u64 {
        self.draw(0.5) as u64
    }
}

/// Returns the probability of ranks at least this far apart if both are draws from the same
/// distribution.
fn rank_test(before: &BTreeMap<u64, u64>, after: &BTreeMap<u64, u64>) -> f64 {
    let mut lengths: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (value, times) in before {
        lengths.entry(*value).or_default().0 = *times;
    }
    for (value, times) in after {
        lengths.entry(*value).or_default().1 = *times;
    }
    let (mut n, mut u, mut ties) = (0.0, 0.0, 0.0);
    let mut m = 0.0;
    for (was, is) in lengths.into_values() {
        let (was, is) = (was as f64, is as f64);
        // Counts how often a sample after exceeds one before; a tie counts half.
        u += is * (n + was / 2.0);
        n += was;
        m += is;
        ties += (was + is).powi(3) - (was + is);
    }
    let all: f64 = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let apart = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    erfc(apart / variance.sqrt() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Disturbance;

    fn sampled(values: impl IntoIterator<Item = u64>) -> Sampled {
        let mut samples = Samples::new();
        // The first one is separate.
        samples.push(9999, Disturbance::NONE);
        values.into_iter().for_each(|value| samples.push(value, Disturbance::NONE));
        Sampled { resolution: 1, samples }
    }

    fn noise(base: u64, seed: u128) -> Sampled {
        let mut random = Rand64::new(seed);
        sampled((0..200).map(|_| base + random.rand_range(0..20)))
    }

    #[test]
    fn noise_is_not_a_difference_and_a_shift_is() {
        let same = (0..200).map(|seed| {
            let estimate =
                Estimate::of(&noise(1000, seed), &noise(1000, seed + 1000)).expect("enough");
            estimate.direction()
        });
        let believed = same.filter(|direction| *direction != Direction::None).count();
        assert!(believed <= 6, "{believed} of 200 where 2 are to be expected");
        let up = Estimate::of(&noise(1000, 1), &noise(1010, 2)).expect("enough");
        assert_eq!(up.direction(), Direction::Up);
        assert!(up.low <= 10.0 && 10.0 <= up.high, "{up:?}");
        let down = Estimate::of(&noise(1010, 2), &noise(1000, 1)).expect("enough");
        assert_eq!(down.direction(), Direction::Down);
        assert_eq!(up, Estimate::of(&noise(1000, 1), &noise(1010, 2)).expect("enough"));
    }

    #[test]
    fn differences_below_clock_resolution_are_ignored() {
        let coarse = |base| Sampled { resolution: 30, ..noise(base, 5) };
        let estimate = Estimate::of(&coarse(1000), &coarse(1010)).expect("enough");
        assert_eq!(estimate.direction(), Direction::None);
        assert!(
            Estimate::of(&sampled([1, 2, 3]), &noise(1, 1)).expect_err("few").contains("3 and 200")
        );
        let constant = Estimate::of(&sampled([5; 50]), &sampled([5; 50])).expect("enough");
        assert_eq!(
            (constant.direction(), constant.p.to_bits()),
            (Direction::None, 1.0_f64.to_bits())
        );
    }

    #[test]
    fn the_closed_form_bootstrap_matches_resampling() {
        let sample = noise(100, 7);
        let values: Vec<u64> = lengths(&sample.samples)
            .into_iter()
            .flat_map(|(value, times)| std::iter::repeat_n(value, times as usize))
            .collect();
        let mut random = Rand64::new(3);
        let mut below = 0;
        for _ in 0..4000 {
            let mut draw: Vec<u64> = (0..values.len())
                .map(|_| values[random.rand_range(0..values.len() as u64) as usize])
                .collect();
            draw.sort_unstable();
            below += u32::from(draw[draw.len().div_ceil(2) - 1] <= 109);
        }
        let medians = Medians::of(&lengths(&sample.samples), values.len() as u64);
        let chance = medians.lengths.iter().find(|(value, _)| *value == 109).expect("there").1;
        assert!((f64::from(below) / 4000.0 - chance).abs() < 0.03, "{below} {chance}");
    }

    #[test]
    fn the_rank_test_matches_a_textbook_example() {
        // Conover, Practical Nonparametric Statistics, gives the normal approximation; without
        // ties and with samples 1..10 and 11..20, U is 0 and z is (50 - 0.5) / sqrt(175).
        let of = |range: std::ops::Range<u64>| range.map(|value| (value, 1)).collect();
        let p = rank_test(&of(1..11), &of(11..21));
        let z: f64 = 49.5 / 175.0_f64.sqrt();
        assert!((p - erfc(z / std::f64::consts::SQRT_2)).abs() < 1e-12);
        assert!((p - 0.000_182_67).abs() < 1e-6, "{p}");
    }

    #[test]
    fn interval_ends_match_the_confidence_level() {
        // A median that is 10 or 20, compared with one that is always 0: each draw is one of the two.
        let before = sampled([0; 9]);
        let after = sampled([10, 10, 10, 10, 10, 20, 20, 20, 20]);
        let estimate = Estimate::of(&before, &after).expect("enough");
        assert_eq!((estimate.before, estimate.after), (0, 10));
        assert_eq!((estimate.samples_before, estimate.samples_after), (9, 9));
        // The probability of 20 is about a third, so either end is outside one per cent of it.
        assert_eq!(
            (estimate.low.to_bits(), estimate.high.to_bits()),
            (10.0_f64.to_bits(), 20.0_f64.to_bits())
        );
        assert_eq!(estimate.direction(), Direction::Up);
        let down = Estimate::of(&after, &before).expect("enough");
        assert_eq!(
            (down.low.to_bits(), down.high.to_bits()),
            ((-20.0_f64).to_bits(), (-10.0_f64).to_bits())
        );
        assert_eq!(down.direction(), Direction::Down);
    }

    /// With `rare` of `count` draws, a median is rare as often as at least half of as many draws are: a
    /// binomial tail, 0.72 % for 2 of 11 and 0.15 % for 2 of 13. Of an interval of 99 %, 0.5 % are below
    /// and 0.5 % above.
    #[test]
    fn an_interval_leaves_out_half_a_per_cent_at_either_end() {
        let tail = |count: u64, rare: u64| -> f64 {
            let part = rare as f64 / count as f64;
            let ways = |k: u64| (1..=k).map(|i| (count - k + i) as f64 / i as f64).product::<f64>();
            let of = |k: u64| ways(k) * part.powi(k as i32) * (1.0 - part).powi((count - k) as i32);
            (count.div_ceil(2)..=count).map(of).sum()
        };
        assert!(tail(11, 2) > 0.007 && tail(11, 2) < 0.008 && tail(13, 2) < 0.002);
        let ends = |rare: u64, usual: u64, count: usize| {
            let values = [rare; 2].into_iter().chain(std::iter::repeat_n(usual, count - 2));
            let estimate = Estimate::of(&sampled([0; 9]), &sampled(values)).expect("enough");
            (estimate.low as u64, estimate.high as u64)
        };
        assert_eq!((ends(10, 20, 11), ends(20, 10, 11)), ((10, 20), (10, 20)));
        assert_eq!((ends(10, 20, 13), ends(20, 10, 13)), ((20, 20), (10, 10)));
    }

    #[test]
    fn quantiles_reach_from_the_smallest_to_the_largest() {
        let of = |part: f64| quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], part) as u64;
        assert_eq!([0.0, 0.1, 0.2, 0.5, 0.75, 1.0].map(of), [1, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_interval_that_contains_zero_is_no_difference() {
        let of = |low: f64, high: f64, p: f64, after: u64, resolution: u64| {
            let estimate = Estimate {
                before: 100,
                after,
                samples_before: 9,
                samples_after: 9,
                low,
                high,
                p,
                resolution,
                method: String::new(),
            };
            estimate.direction()
        };
        assert_eq!(of(1.0, 3.0, 0.001, 102, 1), Direction::Up);
        assert_eq!(of(0.0, 3.0, 0.001, 102, 1), Direction::None, "nothing is within");
        assert_eq!(of(-3.0, -1.0, 0.001, 98, 1), Direction::Down);
        assert_eq!(of(-3.0, 0.0, 0.001, 98, 1), Direction::None);
        assert_eq!(of(1.0, 3.0, LEVEL, 102, 1), Direction::None, "as probable as is not believed");
        assert_eq!(of(1.0, 3.0, 0.001, 100, 0), Direction::None, "the same median");
        assert_eq!(of(1.0, 3.0, 0.001, 102, 2), Direction::Up, "a step of the clock");
        assert_eq!(of(1.0, 3.0, 0.001, 102, 3), Direction::None, "less than one");
    }

    #[test]
    fn eight_steady_samples_are_enough_and_seven_are_not() {
        let enough =
            |n: usize, m: usize| Estimate::of(&sampled(vec![5; n]), &sampled(vec![5; m])).is_ok();
        assert!(enough(8, 8) && !enough(7, 8) && !enough(8, 7));
        // Neither the first sample nor disturbed ones count.
        let mut hit = Samples::new();
        for tick in [false, true, true] {
            let disturbance = Disturbance { tick, ..Disturbance::NONE };
            (0..8).for_each(|_| hit.push(5, disturbance));
        }
        let hit = Sampled { resolution: 1, samples: hit };
        assert!(Estimate::of(&hit, &hit).expect_err("few").starts_with("7 and 7"));
        let coarse = Sampled { resolution: 7, ..sampled([5; 9]) };
        for (one, other) in [(&coarse, &sampled([5; 9])), (&sampled([5; 9]), &coarse)] {
            assert_eq!(Estimate::of(one, other).expect("enough").resolution, 7);
        }
    }

    /// U is counted pair by pair, and the variance is that of Conover's formula for ties.
    #[test]
    fn ties_weaken_the_rank_test() {
        let samples: [(&[u64], &[u64]); 3] = [
            (&[1, 1, 2], &[1, 2, 2]),
            (&[1, 1, 1, 2], &[1, 2, 2, 2]),
            (&[3, 3, 3, 3, 9], &[3, 5, 9]),
        ];
        for (before, after) in samples {
            let pairs = || before.iter().flat_map(|was| after.iter().map(move |is| (was, is)));
            let won = pairs().filter(|(was, is)| is > was).count() as f64;
            let even = pairs().filter(|(was, is)| is == was).count() as f64;
            let (n, m) = (before.len() as f64, after.len() as f64);
            let all = n + m;
            let together: Vec<u64> = before.iter().chain(after).copied().collect();
            // A tie of t contributes t cubed less t: each of its members t squared less one.
            let tied = |one: &u64| together.iter().filter(|other| *other == one).count() as f64;
            let ties: f64 = together.iter().map(|one| tied(one).powi(2) - 1.0).sum();
            let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
            let z = ((won + even / 2.0 - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
            let expected = erfc(z / std::f64::consts::SQRT_2);
            let of = |values: &[u64]| {
                let mut counts = BTreeMap::new();
                for value in values {
                    *counts.entry(*value).or_insert(0) += 1;
                }
                counts
            };
            let p = rank_test(&of(before), &of(after));
            assert!((p - expected).abs() < 1e-12, "{before:?} {after:?}: {p} {expected}");
        }
    }
}
