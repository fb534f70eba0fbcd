//! What was measured, by the names that formulas have for it.

use std::collections::BTreeMap;

use rtmark_model::{Answer, Basis, Samples};
use rtmark_observe::SpanCost;

use crate::study::{Asked, FEW, FunctionShare, ShareOf, Study};

/// Least and most of what was found by interrupting a scenario at every moment, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// From the pending interrupt to the first instruction of its handler.
    pub handler: (i64, i64),
    /// What the interrupted span takes more.
    pub delay: (i64, i64),
}

/// Measured figures by name; where there is none, the reason.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    values: BTreeMap<String, Result<f64, String>>,
    costs: BTreeMap<String, SpanCost>,
}

impl Figures {
    /// Takes what a series came to: `name` is its typical sample, `name.first` its first one,
    /// and so on. Where it was not measured, the reason stands for all of them.
    pub fn answer(&mut self, name: &str, answer: &Answer) {
        let series = match answer {
            Answer::Measured(series) => series,
            Answer::NotApplicable { reason, .. } => return self.lacks(name, reason),
            Answer::Failed { failure, .. } => return self.lacks(name, &failure.to_string()),
        };
        let Some(statistics) = series.statistics() else {
            return self.lacks(name, "there are no samples");
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

    fn lacks(&mut self, name: &str, reason: &str) {
        self.values.insert(name.to_owned(), Err(reason.to_owned()));
    }

    /// Takes what the typical sample of a series was spent on.
    pub fn cost(&mut self, name: &str, cost: SpanCost) {
        self.costs.insert(name.to_owned(), cost);
    }

    /// Takes what interrupting a scenario at every moment has found.
    pub fn interrupted(&mut self, name: &str, found: Interrupted) {
        let parts = [("handler", found.handler), ("delay", found.delay)];
        for (part, (least, most)) in parts {
            self.values.insert(format!("{name}.{part}_min"), Ok(least as f64));
            self.values.insert(format!("{name}.{part}_max"), Ok(most as f64));
        }
    }

    /// Works out the study's own figures.
    pub(crate) fn work_out(&mut self, study: &Study) {
        for figure in &study.figure {
            let value = match figure.asked() {
                Err(error) => Err(error.to_string()),
                Ok(Asked::Formula(formula)) => {
                    formula.value(|name| self.value(name)).map_err(|error| error.to_string())
                }
                Ok(Asked::Functions(share)) => self.functions(&share),
            };
            self.values.insert(figure.name.clone(), value);
        }
    }

    fn functions(&self, wanted: &FunctionShare<'_>) -> Result<f64, String> {
        let Some(cost) = self.costs.get(wanted.of) else {
            return Err(self.value(wanted.of).err().unwrap_or_else(|| "not attributed".to_owned()));
        };
        let fits = |function: &str| wanted.functions.iter().any(|one| one.matches(function));
        let parts = cost.parts.iter().filter(|part| fits(&part.function));
        let sum: u64 = parts
            .map(|part| match wanted.share {
                ShareOf::Cycles => part.own.cycles,
                ShareOf::Instructions => part.own.instructions,
                ShareOf::Waits => part.own.stalled_cycles,
                ShareOf::Calls => part.own.calls,
            })
            .sum();
        Ok(sum as f64)
    }

    /// A figure.
    ///
    /// # Errors
    /// With the reason why there is none.
    pub fn value(&self, name: &str) -> Result<f64, String> {
        if let Some(value) = self.values.get(name) {
            return value.clone();
        }
        // A part of what is not there has its reason.
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
