//! The order of a cost: how it grows with a count.
//!
//! The figures are exact, so that only the choice of the model is uncertain. For each order, the curve
//! `a + b·f(n)` is fitted to the points by least squares; the one with the smallest sum of squares is
//! the order, under three rules:
//!
//! 1. A variation of no more than [`SLACK_CYCLES`] or [`SLACK_SHARE`] of the mean counts as constant,
//!    because the placement of code and data in a cache moves figures by as much. An order describes
//!    large counts, so the two smallest ones need not be close to the others; but if they are far above
//!    ([`FAR`]), the cost falls.
//! 2. A lower order that leaves hardly more than the minimum ([`PARSIMONY`]) is preferred, as long as
//!    it explains nearly everything ([`EXPLAINED`]).
//! 3. If not even the best one explains most of the variation, no order is claimed.
//!
//! This module knows nothing about kernels or units: its inputs are counts and costs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a cost grows with a count, from the slowest growth to the fastest.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The cost decreases.
    Falling,
    /// The cost does not depend on the count.
    Constant,
    /// The cost grows with the logarithm of the count.
    Logarithmic,
    /// The cost is proportional to the count.
    Linear,
    /// The cost grows with the count times its logarithm.
    Linearithmic,
    /// The cost grows with the square of the count.
    Quadratic,
    /// The points fit none of these.
    Irregular,
}

impl Order {
    /// Returns the order's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Falling => "falling",
            Self::Constant => "constant",
            Self::Logarithmic => "logarithmic",
            Self::Linear => "linear",
            Self::Linearithmic => "n log n",
            Self::Quadratic => "quadratic",
            Self::Irregular => "irregular",
        }
    }

    /// Returns what the cost of this order is proportional to, apart from a constant.
    fn shape(self, n: f64) -> Option<f64> {
        match self {
            Self::Logarithmic => Some(n.log2()),
            Self::Linear => Some(n),
            Self::Linearithmic => Some(n * n.log2()),
            Self::Quadratic => Some(n * n),
            Self::Falling | Self::Constant | Self::Irregular => None,
        }
    }
}

/// The result of fitting a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// How the cost grows.
    pub order: Order,
    /// The change in cost for each additional one, averaged from the first point to the last.
    pub per_element: f64,
    /// The share of the variation that the order explains, from 0 to 1 (R²).
    pub explained: f64,
}

/// The number of first points that need not be constant for the order to be.
pub const SMALL: usize = 2;
/// The number of points below which no order is claimed.
pub const MIN_POINTS: usize = 4;
/// Variations up to this many cycles are ignored.
pub const SLACK_CYCLES: f64 = 4.0;
/// A cost this many times the largest cost at large counts is far above it.
pub const FAR: f64 = 1.25;
/// Variations up to this fraction of the mean are ignored.
pub const SLACK_SHARE: f64 = 0.05;
/// The factor by which a lower order may exceed the smallest sum of squares.
pub const PARSIMONY: f64 = 2.0;
/// The share of variation that a lower order must explain to be preferred.
pub const EXPLAINED: f64 = 0.99;
/// The share of variation that the best order must explain to be claimed.
pub const CLAIMED: f64 = 0.9;

/// A straight line fitted to points by least squares.
struct Line {
    slope: f64,
    /// The remaining sum of squares.
    rest: f64,
}

fn line(points: &[(f64, f64)]) -> Line {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
    let square = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum::<f64>();
    let product = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>();
    let slope = if square > 0.0 { product / square } else { 0.0 };
    let left = |p: &(f64, f64)| (p.1 - mean_y - slope * (p.0 - mean_x)).powi(2);
    Line { slope, rest: points.iter().map(left).sum() }
}

/// Fits these counts and costs, given in order of increasing counts; returns `None` if there are fewer
/// than four.
pub fn fit(points: &[(u32, u64)]) -> Option<Fit> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < MIN_POINTS {
        return None;
    }
    let points: Vec<_> = points.iter().map(|&(n, cost)| (f64::from(n), cost as f64)).collect();
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    let per_element = (last.1 as f64 - first.1 as f64) / f64::from(last.0 - first.0).max(1.0);
    let slack = SLACK_CYCLES.max(SLACK_SHARE * mean);
    let large = points.get(SMALL..).filter(|large| large.len() >= MIN_POINTS).unwrap_or(&points);
    let least = large.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let most = large.iter().map(|p| p.1).fold(0.0, f64::max);
    let falls = points.is_sorted_by(|a, b| b.1 <= a.1 + slack) && last.1 < first.1;
    if most - least <= slack && !(falls && first.1 as f64 > FAR * most) {
        return Some(Fit { order: Order::Constant, per_element, explained: 1.0 });
    }
    // A cost that keeps falling must stop falling somewhere: that is not an order of growth.
    if falls {
        return Some(Fit { order: Order::Falling, per_element, explained: 1.0 });
    }

    let all = points.iter().map(|p| (p.1 - mean).powi(2)).sum::<f64>();
    let of = |order: Order| {
        let shaped: Option<Vec<_>> =
            points.iter().map(|p| Some((order.shape(p.0)?, p.1))).collect();
        shaped.map(|shaped| (order, line(&shaped)))
    };
    let orders = [Order::Logarithmic, Order::Linear, Order::Linearithmic, Order::Quadratic];
    let lines: Vec<_> = orders.into_iter().filter_map(of).collect();
    let explained = |line: &Line| 1.0 - line.rest / all;
    let best = lines.iter().map(|(_, line)| line.rest).fold(f64::INFINITY, f64::min);
    let (order, line) = lines.iter().find(|(_, line)| {
        let near = line.rest <= PARSIMONY * best && explained(line) >= EXPLAINED;
        near || line.rest <= best
    })?;
    let claimed = explained(line) >= CLAIMED && line.slope > 0.0;
    let order = if claimed { *order } else { Order::Irregular };
    Some(Fit { order, per_element, explained: explained(line).clamp(0.0, 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Shape = fn(f64) -> f64;

    const COUNTS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

    fn of(cost: impl Fn(f64) -> f64) -> Order {
        let points: Vec<_> = COUNTS.map(|n| (n, cost(f64::from(n)).round() as u64)).to_vec();
        fit(&points).expect("enough points").order
    }

    fn measured(costs: [u64; 7]) -> Fit {
        let points: Vec<_> = COUNTS.into_iter().zip(costs).collect();
        fit(&points).expect("enough points")
    }

    #[test]
    fn orders_are_distinguished_for_any_constants() {
        for base in [0.0, 40.0, 500.0, 20_000.0] {
            for step in [0.5, 1.0, 7.0, 90.0, 1000.0] {
                // Variations that rule 1 ignores are not considered.
                let visible =
                    |most: f64| step * most > SLACK_CYCLES + SLACK_SHARE * (base + step * most);
                let cases: [(Order, Shape); 4] = [
                    (Order::Logarithmic, f64::log2),
                    (Order::Linear, |n| n),
                    (Order::Linearithmic, |n| n * n.log2()),
                    (Order::Quadratic, |n| n * n),
                ];
                for (order, shape) in cases {
                    if visible(shape(64.0)) && step * shape(64.0) > 40.0 {
                        let found = of(|n| base + step * shape(n));
                        assert_eq!(found, order, "{base} + {step} × {order:?}");
                    }
                }
            }
            assert_eq!(of(|_| base), Order::Constant);
        }
    }

    #[test]
    fn small_variations_are_constant_and_wild_ones_irregular() {
        assert_eq!(measured([500, 510, 505, 500, 511, 507, 502]).order, Order::Constant);
        assert_eq!(measured([30, 31, 30, 33, 32, 30, 31]).order, Order::Constant);
        // Yields under Embassy 0.10: with one other task, batches are half as long.
        assert_eq!(measured([141, 160, 163, 163, 163, 164, 164]).order, Order::Constant);
        // Yields under lilos 1.3: with one other task, every yield begins a new round.
        assert_eq!(measured([268, 180, 147, 137, 137, 137, 137]).order, Order::Falling);
        assert_eq!(measured([100, 900, 100, 900, 100, 900, 100]).order, Order::Irregular);
        assert_eq!(measured([900, 800, 600, 300, 250, 200, 100]).order, Order::Falling);
    }

    #[test]
    fn real_kernels_curves_have_their_documented_orders() {
        // FreeRTOS 11.2 on the Cortex-M0+: xTimerStart() inserts into a sorted list.
        let start = measured([2355, 2363, 2379, 2411, 2475, 2603, 2859]);
        assert_eq!((start.order, start.per_element), (Order::Linear, 8.0));
        // Its tick only examines the first of the delayed tasks.
        assert_eq!(measured([178, 178, 178, 178, 178, 177, 177]).order, Order::Constant);
        // Its allocator walks past every free block.
        assert_eq!(measured([336, 353, 385, 449, 577, 833, 1345]).order, Order::Linear);
        // Periodic timers, each put back into its list behind the others that are due with it.
        let quadratic = measured([150, 244, 508, 1372, 4444, 15_964, 60_508]);
        assert_eq!(quadratic.order, Order::Quadratic);
    }

    #[test]
    fn a_cache_that_a_few_points_miss_does_not_hide_the_order() {
        let fit = measured([203, 214, 241, 285, 391, 580, 966]);
        assert_eq!(fit.order, Order::Linear);
        assert!((fit.per_element - 12.1).abs() < 0.1, "{fit:?}");
        assert!(fit.explained > 0.99 && fit.explained < 1.0, "{fit:?}");
    }

    #[test]
    fn only_costs_that_keep_falling_or_begin_far_above_the_others_fall() {
        assert_eq!(measured([120, 108, 100, 100, 100, 100, 100]).order, Order::Constant);
        assert_eq!(measured([125, 108, 100, 100, 100, 100, 100]).order, Order::Constant);
        assert_eq!(measured([126, 108, 100, 100, 100, 100, 100]).order, Order::Falling);
        assert_eq!(measured([900, 100, 900, 100, 900, 100, 300]).order, Order::Irregular);
        assert_ne!(measured([100, 80, 84, 88, 92, 96, 100]).order, Order::Falling);
    }

    #[test]
    fn of_two_orders_that_explain_nearly_everything_the_lower_one_is_claimed() {
        // 200 + 10 n^1.14: the remaining squares are 2647 for n, and 1462 for n log n.
        let fit = measured([210, 222, 249, 307, 436, 721, 1350]);
        assert_eq!(fit.order, Order::Linear);
        assert!((fit.explained - 0.9974).abs() < 0.0001, "{fit:?}");
    }

    #[test]
    fn orders_have_the_names_of_the_field() {
        let orders = [Order::Constant, Order::Logarithmic, Order::Linear, Order::Linearithmic];
        assert_eq!(orders.map(Order::name), ["constant", "logarithmic", "linear", "n log n"]);
        let others = [Order::Quadratic, Order::Falling, Order::Irregular];
        assert_eq!(others.map(Order::name), ["quadratic", "falling", "irregular"]);
    }

    #[test]
    fn few_or_no_points_are_handled() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(1, 5), (2, 6), (4, 7)]), None);
        let equal = fit(&[(3, 5); 4]).expect("a constant");
        assert_eq!((equal.order, equal.per_element), (Order::Constant, 0.0));
        let most = fit(&[(1, 0), (2, u64::MAX), (4, 0), (8, u64::MAX)]);
        assert_eq!(most.expect("an answer").order, Order::Irregular);
    }
}
