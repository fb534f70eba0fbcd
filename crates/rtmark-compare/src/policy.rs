//! Budgets, and acknowledged regressions.

use rtmark_model::{Key, Pattern};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::Measure;

/// What a gate permits. Without entries, nothing may grow.
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
    /// The figures that are checked against budgets; at least one.
    #[serde(deserialize_with = "measures")]
    pub measures: Vec<Measure>,
    /// Budgets; the last one that matches a figure decides.
    #[serde(rename = "budget")]
    pub budgets: Vec<Budget>,
    /// Regressions that were acknowledged.
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

/// A policy file that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(#[from] Box<toml::de::Error>);

fn match_all() -> Pattern {
    #[expect(clippy::expect_used, reason = "a constant that the tests read")]
    "*".parse().expect("a pattern")
}

fn measures<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Measure>, D::Error> {
    let measures = Vec::deserialize(deserializer)?;
    if measures.is_empty() {
        return Err(D::Error::custom("without a measure nothing is held against budgets"));
    }
    Ok(measures)
}

fn relative<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let relative = f64::deserialize(deserializer)?;
    if !(0.0..=1e6).contains(&relative) {
        let message = format!("relative = {relative:?} is not between 0 and 1 000 000");
        return Err(D::Error::custom(message));
    }
    Ok(relative)
}

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let reason = String::deserialize(deserializer)?;
    if reason.trim().is_empty() {
        return Err(D::Error::custom("an [[acknowledged]] without its reason"));
    }
    Ok(reason)
}

/// How much certain figures may grow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The scenarios concerned.
    #[serde(default = "match_all")]
    pub scenario: Pattern,
    /// The kernels concerned.
    #[serde(default = "match_all")]
    pub kernel: Pattern,
    /// The socs concerned.
    #[serde(default = "match_all")]
    pub soc: Pattern,
    /// The figure concerned; all if absent.
    pub measure: Option<Measure>,
    /// The allowed growth as a fraction: 0.02 is 2 %.
    #[serde(default, deserialize_with = "relative")]
    pub relative: f64,
    /// The allowed growth in the series' basis; the same number of instructions is allowed too.
    #[serde(default)]
    pub absolute: u64,
    /// The upper limit in the series' basis, whatever the earlier value was.
    pub at_most: Option<u64>,
}

/// A regression that was acknowledged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// The scenarios concerned.
    pub scenario: Pattern,
    /// The kernels concerned.
    #[serde(default = "match_all")]
    pub kernel: Pattern,
    /// The socs concerned.
    #[serde(default = "match_all")]
    pub soc: Pattern,
    /// The figure concerned; all if absent.
    pub measure: Option<Measure>,
    /// The value up to which it is acknowledged.
    pub up_to: u64,
    /// The reason.
    #[serde(deserialize_with = "reason")]
    pub reason: String,
}

impl Policy {
    /// Parses a policy file.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, a negative budget, no measure or an acknowledgement without
    /// a reason; the message shows the line.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        Ok(toml::from_str(text).map_err(Box::new)?)
    }

    /// Returns the budget of a figure.
    pub(crate) fn budget(&self, key: &Key, measure: Measure) -> Option<&Budget> {
        let fits = |budget: &&Budget| {
            budget.measure.is_none_or(|wanted| wanted == measure) && budget.applies_to(key)
        };
        self.budgets.iter().rev().find(fits)
    }

    /// Returns the index of the acknowledgement of such a value.
    pub(crate) fn acknowledgement(
        &self,
        key: &Key,
        measure: Measure,
        length: u64,
    ) -> Option<usize> {
        self.acknowledged.iter().position(|entry| {
            entry.measure.is_none_or(|wanted| wanted == measure)
                && length <= entry.up_to
                && matches(key, &entry.scenario, &entry.kernel, &entry.soc)
        })
    }
}

fn matches(key: &Key, scenario: &Pattern, kernel: &Pattern, soc: &Pattern) -> bool {
    scenario.matches(key.scenario.as_str()) && key.kernel.matches(kernel) && soc.matches(&key.soc)
}

impl Acknowledged {
    /// Tells whether it concerns one of this series' figures.
    pub(crate) fn applies_to(&self, key: &Key) -> bool {
        matches(key, &self.scenario, &self.kernel, &self.soc)
    }
}

impl Budget {
    /// Tells whether it concerns one of this series' figures.
    pub(crate) fn applies_to(&self, key: &Key) -> bool {
        matches(key, &self.scenario, &self.kernel, &self.soc)
    }

    /// Returns the limit of a figure that was `before`.
    pub(crate) fn limit(&self, before: u64, counted: LimitUnit) -> u64 {
        // 0.29 of 100 is 29, although its nearest number in binary gives a little less.
        let part = (before as f64 * self.relative * (1.0 + 4.0 * f64::EPSILON)).floor();
        let growth = self.absolute.max(part as u64);
        let limit = before.saturating_add(growth);
        let most = self.at_most.filter(|_| counted == LimitUnit::SeriesBasis);
        most.map_or(limit, |most| limit.min(most))
    }
}

/// The unit of a figure that is checked against a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitUnit {
    /// The series' basis.
    SeriesBasis,
    /// Instructions, for a series with another basis.
    OtherBasis,
}
