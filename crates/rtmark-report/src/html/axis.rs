//! Axes of charts: where a value is placed, and which values are labelled.

use crate::matrix::grouped;

/// One dimension of a chart, which maps values to positions.
#[derive(Clone, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    division: Division,
    /// The labelled values, with their labels.
    pub ticks: Vec<(f64, String)>,
}

/// How an axis is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    Even,
    Logarithmic,
}

/// The smallest value of which a logarithm is taken.
const LEAST: f64 = 1e-9;

impl Axis {
    /// Creates a linear axis from the first to the last round number.
    pub fn even(low: f64, high: f64) -> Self {
        let (low, high) = finite(low, high);
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / 4.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|round| round * decade);
        let step = step.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let (low, high) = ((low / step).floor() * step, (low + span).max(high));
        let count = ((high - low) / step).floor() as u32;
        let at = |index: u32| low + f64::from(index) * step;
        let ticks = (0..=count.min(12)).map(|index| (at(index), short(at(index)))).collect();
        Self { low, high, division: Division::Even, ticks }
    }

    /// Creates a logarithmic axis that includes both values.
    pub fn logarithmic(low: f64, high: f64) -> Self {
        let (low, high) = finite(low, high);
        let low = low.max(LEAST);
        let high = high.max(low * 1.2);
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = f64::from(last - first);
        let within = |value: &f64| *value >= low * 0.999 && *value <= high * 1.001;
        let of = |parts: &[f64]| -> Vec<f64> {
            let decade = |power: i32| parts.iter().map(move |part| part * 10_f64.powi(power));
            (first..=last).flat_map(decade).filter(within).collect()
        };
        let mut values = of(&[1.0]);
        if values.len() < 3 && decades < 4.0 {
            values = of(&[1.0, 2.0, 5.0]);
        }
        if values.len() < 2 {
            // For less than a factor of two, use the ticks of a linear axis.
            values = Self::even(low, high).ticks.into_iter().map(|tick| tick.0).collect();
            values.retain(within);
        }
        let ticks = values.into_iter().map(|value| (value, short(value))).collect();
        Self { low, high, division: Division::Logarithmic, ticks }
    }

    /// Replaces the ticks of this axis.
    pub fn with_ticks(mut self, values: impl IntoIterator<Item = (f64, String)>) -> Self {
        self.ticks = values.into_iter().collect();
        self
    }

    /// Returns the position of a value: 0 at the beginning of the axis, 1 at its end.
    pub fn place(&self, value: f64) -> f64 {
        let of = |value: f64| match self.division {
            Division::Even => value,
            Division::Logarithmic => value.max(LEAST).ln(),
        };
        let (low, high) = (of(self.low), of(self.high));
        if high > low { ((of(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// Returns the ends of an axis, with defaults if there are no values.
fn finite(low: f64, high: f64) -> (f64, f64) {
    if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 1.0) }
}

/// Formats a number for an axis in few characters.
pub fn short(value: f64) -> String {
    let cut = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match value.abs() {
        size if size >= 1e9 => cut(value / 1e9, "G"),
        size if size >= 1e6 => cut(value / 1e6, "M"),
        size if size >= 1e4 => cut(value / 1e3, "k"),
        size if size >= 1.0 && value.fract().abs() < 1e-6 && value > 0.0 => grouped(value as u64),
        size if !(1e-12..0.1).contains(&size) => cut(value, ""),
        _ => format!("{value}"),
    }
}

/// Formats a share as per cent, or as one in so many.
pub fn part(value: f64) -> String {
    if value >= 0.0099 {
        format!("{:.0} %", value * 100.0)
    } else if value >= 0.00099 {
        format!("{:.1} %", value * 100.0)
    } else {
        format!("1 of {}", short((1.0 / value.max(LEAST)).round()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        for (low, high) in [(0.0, 7.0), (0.0, 1.0), (13.0, 13.0), (0.0, 3.2e9), (95.0, 112.0)] {
            let axis = Axis::even(low, high);
            assert!((2..=12).contains(&axis.ticks.len()), "{low} to {high}: {:?}", axis.ticks);
            assert!(axis.place(low) >= 0.0 && axis.place(high) <= 1.0);
        }
        for (low, high) in [(1.0, 64.0), (30.0, 60_508.0), (96.0, 110.0), (7.0, 7.0), (0.0, 0.0)] {
            let axis = Axis::logarithmic(low, high);
            assert!((1..=14).contains(&axis.ticks.len()), "{low} to {high}: {:?}", axis.ticks);
            let places: Vec<f64> = axis.ticks.iter().map(|tick| axis.place(tick.0)).collect();
            assert!(places.is_sorted(), "{places:?}");
        }
    }

    #[test]
    fn equal_factors_are_equidistant() {
        let axis = Axis::logarithmic(1.0, 1000.0);
        assert!((axis.place(10.0) - 1.0 / 3.0).abs() < 1e-9);
        assert!((axis.place(100.0) - 2.0 / 3.0).abs() < 1e-9);
        assert!(axis.place(0.0) <= 0.0, "what has no logarithm lies at the beginning");
    }

    #[test]
    fn axis_numbers_are_short() {
        let shown = [0.0, 1.0, 500.0, 9000.0, 25_000.0, 1_500_000.0, 0.5].map(short);
        assert_eq!(shown, ["0", "1", "500", "9000", "25k", "1.5M", "0.5"]);
        assert_eq!(
            [1.0, 0.1, 0.01, 0.001, 0.0001].map(part),
            ["100 %", "10 %", "1 %", "0.1 %", "1 of 10k"]
        );
    }
}
