//! A comparison held against budgets.

use rtmark_model::{Basis, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::title;
use crate::policy::{Budget, Counted};
use crate::{Change, Comparison, Measure, Pair, Policy, Verdict};

/// What a gate found.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// What grew beyond its budget, or fails now.
    pub regressions: Vec<Finding>,
    /// What grew beyond its budget and was accepted before.
    pub acknowledged: Vec<Finding>,
    /// What cannot be compared: its title and why.
    pub incomparable: Vec<String>,
    /// Entries without effect: acceptances that nothing needed, budgets that fit nothing.
    pub unused: Vec<String>,
}

/// One figure beyond its budget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is of.
    pub key: Key,
    /// What is counted; absent when it fails now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// By how much it is beyond; absent when it fails now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess: Option<Excess>,
    /// The same in words.
    pub text: String,
    /// What caused it, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Why it was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A figure and what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excess {
    /// How it changed.
    #[serde(flatten)]
    pub change: Change,
    /// What it may be at most.
    pub limit: u64,
}

impl Finding {
    /// `freertos thread.yield on stm32c031`.
    pub fn title(&self) -> String {
        title(&self.key)
    }
}

/// Holds a comparison against a policy.
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
                for (basis, change) in growing(pair) {
                    measure(&mut gate, &mut used, policy, pair, (basis, change));
                }
            }
        }
    }
    let accepted = policy.acknowledged.iter().zip(used);
    let accepted = accepted.filter(|(_, used)| !used).map(|(entry, _)| {
        format!("[[acknowledged]] {}: {}: nothing needs it any more", entry.scenario, entry.reason)
    });
    let fits = |budget: &&Budget| comparison.pairs.iter().any(|pair| budget.fits(&pair.key));
    let idle = policy.budgets.iter().filter(|budget| !fits(budget)).map(|budget| {
        let Budget { scenario, kernel, soc, .. } = budget;
        format!(
            "[[budget]] {scenario} of {kernel} on {soc}: nothing that was compared is so called"
        )
    });
    gate.unused = accepted.chain(idle).collect();
    gate
}

/// The figures of a pair as a gate sees them. Of a sampled series it is only the median,
/// and only where its growth is believed.
fn growing(pair: &Pair) -> Vec<(Option<Basis>, Change)> {
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

/// What a figure may be. What was moved may be anything that no entry forbids by `at_most`: a
/// placement is nobody's change, and yet a limit is a limit.
fn limit(policy: &Policy, pair: &Pair, basis: Option<Basis>, change: &Change) -> u64 {
    let budget = policy.budget(&pair.key, change.measure);
    let counted = if basis == pair.basis { Counted::AsTheSeries } else { Counted::Otherwise };
    match (pair.verdict, budget) {
        (Verdict::Moved, _) if counted == Counted::Otherwise => u64::MAX,
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
    // What is above an absolute limit and did not grow was so before.
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

/// Why a pair cannot be compared.
pub(crate) fn why(pair: &Pair) -> String {
    let differences = pair.differences.iter().map(ToString::to_string);
    differences.chain(pair.notes.iter().cloned()).collect::<Vec<_>>().join("; ")
}
