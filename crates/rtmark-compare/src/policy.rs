//! Budgets, and regressions that were accepted.

use rtmark_model::{Key, Pattern};
use serde::Deserialize;

use crate::Measure;

/// What a gate lets pass. Without entries, nothing may grow.
///
/// ```
/// let policy = rtmark_compare::Policy::from_toml(r#"
///     measures = ["median", "max"]      # what is held against budgets
///
///     [[budget]]                        # the last entry that fits decides
///     relative = 0.01                   # may grow by 1 % ...
///     absolute = 2                      # ... or by 2 cycles, whichever is more
///
///     [[budget]]
///     scenario = "isr.*"
///     kernel = "freertos"
///     soc = "stm32f405"
///     measure = "max"
///     at_most = 400                     # whatever it was before
///
///     [[acknowledged]]
///     scenario = "queue.send.immediate"
///     kernel = "freertos"
///     up_to = 360
///     reason = "Bounds are checked since 4f1c2a."
/// "#)?;
/// assert_eq!(policy.budgets.len(), 2);
/// # Ok::<(), rtmark_compare::PolicyError>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The figures that are held against budgets.
    pub measures: Vec<Measure>,
    /// Budgets; the last one that fits a figure decides.
    #[serde(rename = "budget")]
    pub budgets: Vec<Budget>,
    /// Regressions that were accepted.
    pub acknowledged: Vec<Acknowledged>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            measures: vec![Measure::Median, Measure::Max, Measure::First],
            budgets: Vec::new(),
            acknowledged: Vec::new(),
        }
    }
}

/// A file with budgets that cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(#[from] Box<toml::de::Error>);

fn everything() -> Pattern {
    #[expect(clippy::expect_used, reason = "a constant that the tests read")]
    "*".parse().expect("a pattern")
}

/// How much some figures may grow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Of which scenarios.
    #[serde(default = "everything")]
    pub scenario: Pattern,
    /// Of which kernels.
    #[serde(default = "everything")]
    pub kernel: Pattern,
    /// On which socs.
    #[serde(default = "everything")]
    pub soc: Pattern,
    /// Which figure; all without.
    pub measure: Option<Measure>,
    /// By which part of itself: 0.02 is 2 %.
    #[serde(default)]
    pub relative: f64,
    /// By how much, in the series' basis and as many instructions.
    #[serde(default)]
    pub absolute: u64,
    /// What it may be at most in the series' basis, whatever it was.
    pub at_most: Option<u64>,
}

/// A regression that was accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// Of which scenarios.
    pub scenario: Pattern,
    /// Of which kernels.
    #[serde(default = "everything")]
    pub kernel: Pattern,
    /// On which socs.
    #[serde(default = "everything")]
    pub soc: Pattern,
    /// Which figure; all without.
    pub measure: Option<Measure>,
    /// Up to which length.
    pub up_to: u64,
    /// Why.
    pub reason: String,
}

impl Policy {
    /// Reads a file's text.
    ///
    /// # Errors
    /// When it is no TOML, has an unknown key or a budget below nothing; with the line.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let policy: Self = toml::from_str(text).map_err(Box::new)?;
        let bad = |budget: &&Budget| !(0.0..=1e6).contains(&budget.relative);
        if let Some(budget) = policy.budgets.iter().find(bad) {
            let message =
                format!("relative = {} is no part between 0 and 1 000 000", budget.relative);
            return Err(PolicyError(Box::new(serde::de::Error::custom(message))));
        }
        if policy.acknowledged.iter().any(|entry| entry.reason.trim().is_empty()) {
            let message = "an [[acknowledged]] without its reason";
            return Err(PolicyError(Box::new(serde::de::Error::custom(message))));
        }
        Ok(policy)
    }

    /// The budget of a figure.
    pub(crate) fn budget(&self, key: &Key, measure: Measure) -> Option<&Budget> {
        let fits = |budget: &&Budget| {
            budget.measure.is_none_or(|wanted| wanted == measure) && budget.fits(key)
        };
        self.budgets.iter().rev().find(fits)
    }

    /// Where in the list an acceptance of such a length stands.
    pub(crate) fn acknowledgement(
        &self,
        key: &Key,
        measure: Measure,
        length: u64,
    ) -> Option<usize> {
        self.acknowledged.iter().position(|entry| {
            entry.measure.is_none_or(|wanted| wanted == measure)
                && length <= entry.up_to
                && fit(key, &entry.scenario, &entry.kernel, &entry.soc)
        })
    }
}

fn fit(key: &Key, scenario: &Pattern, kernel: &Pattern, soc: &Pattern) -> bool {
    scenario.matches(key.scenario.as_str())
        && kernel.matches(key.kernel.as_str())
        && soc.matches(&key.soc)
}

impl Budget {
    /// Whether it is one of this series' figures.
    pub(crate) fn fits(&self, key: &Key) -> bool {
        fit(key, &self.scenario, &self.kernel, &self.soc)
    }

    /// What a figure may be that was `before`.
    pub(crate) fn limit(&self, before: u64, counted: Counted) -> u64 {
        let part = (before as f64 * self.relative).floor();
        let growth = self.absolute.max(part as u64);
        let limit = before.saturating_add(growth);
        let most = self.at_most.filter(|_| counted == Counted::AsTheSeries);
        most.map_or(limit, |most| limit.min(most))
    }
}

/// What is counted by a figure that is held against a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// What the series counts.
    AsTheSeries,
    /// The instructions of a series that counts something else.
    Otherwise,
}
