//! Checks a comparison against budgets.

use rtmark_model::{Basis, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::title;
use crate::policy::{Budget, LimitUnit};
use crate::{Change, Comparison, Measure, Pair, Policy, Verdict};

/// The result of a gate.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Figures that grew beyond their budgets, or now fail.
    pub regressions: Vec<Finding>,
    /// Figures that grew beyond their budgets, but were acknowledged.
    pub acknowledged: Vec<Finding>,
    /// Series that cannot be compared: title and reason.
    pub incomparable: Vec<String>,
    /// Entries without effect: acknowledgements that nothing needed, budgets that match nothing.
    pub unused: Vec<String>,
}

/// A figure beyond its budget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its key.
    pub key: Key,
    /// What is counted; absent if it now fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The excess; absent if it now fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess: Option<Excess>,
    /// A description in words.
    pub text: String,
    /// The cause, if it was determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The reason for its acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A figure and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// How it changed.
    #[serde(flatten)]
    pub change: Change,
    /// Its limit.
    pub limit: u64,
}

impl Finding {
    /// `freertos thread.yield on stm32c031`.
    pub fn title(&self) -> String {
        title(&self.key)
    }
}

/// Checks a comparison against a policy.
pub fn gate(comparison: &Comparison, policy: &Policy) -> Gate {
    let mut gate = Gate::default();
    let mut used = vec![false; policy.acknowledged.len()];
    for pair in &comparison.pairs {
        match pair.verdict {
            Verdict::Incomparable => {
                gate.incomparable.push(format!("{}: {}", pair.title(), why(pair)));
            }
            Verdict::Worse if pair.fails() => {
                gate.regressions.push(Finding {
                    key: pair.key.clone(),
                    basis: None,
                    excess: None,
                    text: pair.notes.join("; "),
                    cause: None,
                    reason: None,
                });
            }
            _ => {
                for (basis, change) in gated_changes(pair) {
                    measure(&mut gate, &mut used, policy, pair, (basis, change));
                }
            }
        }
    }
    let accepted = policy.acknowledged.iter().zip(used);
    let accepted = accepted.filter(|(_, used)| !used).map(|(entry, _)| {
        let fits = comparison.pairs.iter().any(|pair| entry.applies_to(&pair.key));
        let why = if fits { "no longer needed" } else { "nothing that was compared matches" };
        format!("[[acknowledged]] {}: {}: {why}", entry.scenario, entry.reason)
    });
    let fits = |budget: &&Budget| comparison.pairs.iter().any(|pair| budget.applies_to(&pair.key));
    let idle = policy.budgets.iter().filter(|budget| !fits(budget)).map(|budget| {
        let Budget { scenario, kernel, soc, .. } = budget;
        format!("[[budget]] {scenario} of {kernel} on {soc}: nothing that was compared matches")
    });
    gate.unused = accepted.chain(idle).collect();
    gate
}

/// Returns the figures of a pair that a gate examines. Of a sampled series it is only the median, and
/// only if its growth is significant.
fn gated_changes(pair: &Pair) -> Vec<(Option<Basis>, Change)> {
    let of_basis = |change: &Change| (pair.basis, *change);
    let executed = |change: &Change| (Some(Basis::Instructions), *change);
    match &pair.estimate {
        None => {
            let changes = pair.changes.iter().map(of_basis);
            changes.chain(pair.instructions.iter().map(executed)).collect()
        }
        Some(estimate) if pair.verdict == Verdict::Worse => vec![(
            pair.basis,
            Change { measure: Measure::Median, before: estimate.before, after: estimate.after },
        )],
        Some(_) => Vec::new(),
    }
}

/// Returns the limit of a figure. A moved figure may take any value that no entry forbids by `at_most`:
/// placement is nobody's change, but a limit is a limit.
fn limit(policy: &Policy, pair: &Pair, basis: Option<Basis>, change: &Change) -> u64 {
    let budget = policy.budget(&pair.key, change.measure);
    let counted = if basis == pair.basis { LimitUnit::SeriesBasis } else { LimitUnit::OtherBasis };
    match (pair.verdict, budget) {
        (Verdict::Moved, _) if counted == LimitUnit::OtherBasis => u64::MAX,
        (Verdict::Moved, budget) => budget.and_then(|b| b.at_most).unwrap_or(u64::MAX),
        (_, None) => change.before,
        (_, Some(budget)) => budget.limit(change.before, counted),
    }
}

fn measure(
    gate: &mut Gate,
    used: &mut [bool],
    policy: &Policy,
    pair: &Pair,
    (basis, change): (Option<Basis>, Change),
) {
    let Change { measure, before, after } = change;
    if !policy.measures.contains(&measure) {
        return;
    }
    let limit = limit(policy, pair, basis, &change);
    // A figure that exceeds an absolute limit but did not grow exceeded it before.
    if after <= limit || after <= before {
        return;
    }
    let counted = basis.map_or("", |basis| basis.name());
    let allowed = if limit == before { String::new() } else { format!(", allowed {limit}") };
    let mut finding = Finding {
        key: pair.key.clone(),
        basis,
        excess: Some(Excess { change, limit }),
        text: format!("{change} {counted}{allowed}"),
        cause: pair.cause.clone(),
        reason: None,
    };
    match policy.acknowledgement(&pair.key, measure, after) {
        Some(index) => {
            used[index] = true;
            finding.reason = Some(policy.acknowledged[index].reason.clone());
            gate.acknowledged.push(finding);
        }
        None => gate.regressions.push(finding),
    }
}

/// Returns why a pair cannot be compared.
pub(crate) fn why(pair: &Pair) -> String {
    let differences = pair.differences.iter().map(ToString::to_string);
    differences.chain(pair.notes.iter().cloned()).collect::<Vec<_>>().join("; ")
}
