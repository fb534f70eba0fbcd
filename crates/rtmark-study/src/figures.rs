//! Measured figures, under the names that formulas use.

use std::collections::BTreeMap;

use rtmark_model::{Answer, Basis, Pattern, Samples};
use rtmark_observe::SpanCost;

use crate::study::{FEW, FigureSource, FunctionShare, ShareKind, Study};

/// The extremes, in cycles, of interrupting a scenario at every moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterruptExtremes {
    /// Least and most cycles from the pending interrupt to the first instruction of its handler.
    pub handler: (i64, i64),
    /// Least and most cycles by which the interrupted span grows.
    pub delay: (i64, i64),
}

/// Measured figures by name, or the reason why a figure is missing.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    values: BTreeMap<String, Result<f64, String>>,
    costs: BTreeMap<String, SpanCost>,
}

impl Figures {
    /// Adds the results of a series: `name` is its typical sample, `name.first` its first one, and
    /// so on. If the series was not measured, the reason applies to all of them.
    pub fn answer(&mut self, name: &str, answer: &Answer) {
        let series = match answer {
            Answer::Measured(series) => series,
            Answer::NotApplicable { reason, .. } => return self.set_missing(name, reason),
            Answer::Failed { failure, .. } => return self.set_missing(name, &failure.to_string()),
        };
        let Some(statistics) = series.statistics() else {
            return self.set_missing(name, "there are no samples");
        };
        let typical = statistics.typical() as f64;
        let summary = statistics.steady.or(statistics.disturbed);
        let of = |pick: fn(&rtmark_model::Summary) -> f64| {
            summary.as_ref().map_or(statistics.first as f64, pick)
        };
        let part = |part: &str| format!("{name}.{part}");
        let clock = f64::from(series.clock.0);
        let values = [
            (name.to_owned(), Some(typical)),
            (part("first"), Some(statistics.first as f64)),
            (part("min"), Some(of(|summary| summary.min as f64))),
            (part("max"), Some(of(|summary| summary.max as f64))),
            (part("largest"), Some(statistics.largest() as f64)),
            (part("mean"), Some(of(|summary| summary.mean))),
            (part("count"), Some(statistics.count as f64)),
            (part("flash"), Some(series.provenance.firmware.flash_bytes as f64)),
            (
                part("ns"),
                (series.basis == Basis::Cycles && clock > 0.0).then(|| typical * 1e9 / clock),
            ),
            (
                part("cold"),
                series
                    .emptied
                    .as_ref()
                    .and_then(Samples::statistics)
                    .map(|emptied| emptied.typical() as f64),
            ),
        ];
        for (name, value) in values {
            self.values.insert(name, value.ok_or_else(|| "it was not measured".to_owned()));
        }
        if let Some(samples) = series.readings.samples() {
            let sum = samples.iter().map(|(value, _)| value as f64).sum();
            self.values.insert(part("sum"), Ok(sum));
            if samples.len() <= FEW {
                for (at, (value, _)) in samples.iter().enumerate() {
                    self.values.insert(part(&format!("at{}", at + 1)), Ok(value as f64));
                }
            }
        }
        for (fact, value) in &series.facts {
            if let Ok(value) = value.parse() {
                let fact = fact.trim_start_matches('~').replace([' ', '-'], "_");
                self.values.insert(part(&format!("fact.{fact}")), Ok(value));
            }
        }
    }

    fn set_missing(&mut self, name: &str, reason: &str) {
        self.values.insert(name.to_owned(), Err(reason.to_owned()));
    }

    /// Adds the cost breakdown of a series' typical sample.
    pub fn cost(&mut self, name: &str, cost: SpanCost) {
        self.costs.insert(name.to_owned(), cost);
    }

    /// Adds the results of interrupting a scenario at every moment.
    pub fn interrupted(&mut self, name: &str, found: InterruptExtremes) {
        let parts = [("handler", found.handler), ("delay", found.delay)];
        for (part, (least, most)) in parts {
            self.values.insert(format!("{name}.{part}_min"), Ok(least as f64));
            self.values.insert(format!("{name}.{part}_max"), Ok(most as f64));
        }
    }

    /// Computes the study's own figures.
    pub(crate) fn evaluate(&mut self, study: &Study) {
        for figure in &study.figure {
            let value = match figure.source() {
                Err(error) => Err(error.to_string()),
                Ok(FigureSource::Formula(formula)) => {
                    formula.value(|name| self.value(name)).map_err(|error| error.to_string())
                }
                Ok(FigureSource::Functions(share)) => self.functions(&share),
            };
            self.values.insert(figure.name.clone(), value);
        }
    }

    fn functions(&self, wanted: &FunctionShare<'_>) -> Result<f64, String> {
        let Some(cost) = self.costs.get(wanted.of) else {
            return Err(self.value(wanted.of).err().unwrap_or_else(|| "not attributed".to_owned()));
        };
        let fits = |function: &str| wanted.functions.iter().any(|one| one.matches(function));
        let parts: Vec<_> = cost.parts.iter().filter(|part| fits(&part.function)).collect();
        if parts.is_empty() {
            let patterns: Vec<_> = wanted.functions.iter().map(Pattern::as_str).collect();
            let patterns = patterns.join("`, `");
            return Err(format!("no function that `{}` executes fits `{patterns}`", wanted.of));
        }
        let sum: u64 = parts
            .into_iter()
            .map(|part| match wanted.share {
                ShareKind::Cycles => part.own.cycles,
                ShareKind::Instructions => part.own.instructions,
                ShareKind::Waits => part.own.stalled_cycles,
                ShareKind::Calls => part.own.calls,
            })
            .sum();
        Ok(sum as f64)
    }

    /// Returns a figure.
    ///
    /// # Errors
    /// With the reason if it is missing.
    pub fn value(&self, name: &str) -> Result<f64, String> {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        // A part of a missing figure has the figure's reason.
        let mut whole = name;
        while let Some((shorter, _)) = whole.rsplit_once('.') {
            if let Some(Err(reason)) = self.values.get(shorter) {
                return Err(reason.clone());
            }
            whole = shorter;
        }
        Err(format!("`{name}` was not measured"))
    }
}
