//! Pairs answers and judges them.

use std::fmt::Write as _;

use std::collections::BTreeMap;
use std::fmt;

use rtmark_model::{
    Answer, Backend, Basis, DEFAULT_PROFILE, KernelId, Key, Line, Readings, ScenarioId, Series,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::change::{Change, Measure, changes, of_instructions};
use crate::differences::{Aspect, Difference, differences};
use crate::estimate::{Direction, Estimate};

/// What happened to a figure.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing changed, or nothing beyond chance.
    Same,
    /// The same instructions take more or less time, because they or their data are at other addresses.
    Moved,
    /// The code was changed, and takes less.
    Better,
    /// The code was changed, and takes more; or it fails where it did not.
    Worse,
    /// The two cannot be compared.
    Incomparable,
}

impl Verdict {
    /// Returns the word used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Moved => "moved",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Incomparable => "incomparable",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A run as named in a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLabel {
    /// Its id.
    pub id: String,
    /// The commit that it measured, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl fmt::Display for RunLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id.get(..8).unwrap_or(&self.id))?;
        match &self.revision {
            Some(revision) => {
                let plus = if revision.ends_with('+') { "+" } else { "" };
                write!(f, " (commit {}{plus})", revision.get(..10).unwrap_or(revision))
            }
            None => Ok(()),
        }
    }
}

/// A comparison of two runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The earlier run.
    pub before: RunLabel,
    /// The later run.
    pub after: RunLabel,
    /// The answers of both runs, in table order, without those that neither run has.
    pub pairs: Vec<Pair>,
    /// The keys of answers that only the earlier run has.
    pub only_before: Vec<Key>,
    /// The keys of answers that only the later run has.
    pub only_after: Vec<Key>,
}

/// The comparison of one series.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Its key, as in the later run.
    pub key: Key,
    /// The kernel's earlier version, if it was different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_before: Option<String>,
    /// What is counted; absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The verdict.
    pub verdict: Verdict,
    /// Which figures changed, in the basis; only for exact series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// How the numbers of executed instructions changed, if the basis is something else. If both series
    /// record them and this is empty, the spans execute the same number of instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Change>,
    /// How far apart sampled series are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The differences between them: why they cannot be compared, or what else changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Further remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The changed functions of which the spans execute something, if that was determined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Where the first of them begins; the file is named relative to the repository of the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Line>,
    /// The cause: the functions in which the time went, if that was determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl Pair {
    /// Returns `freertos thread.yield on stm32c031`, with profile and backend unless they are the
    /// defaults.
    pub fn title(&self) -> String {
        title(&self.key)
    }

    /// Tells whether an exact figure differs, so that it is worth finding out what its spans execute.
    pub fn differs(&self) -> bool {
        let figures = !self.changes.is_empty() || !self.instructions.is_empty();
        figures && matches!(self.verdict, Verdict::Moved | Verdict::Better | Verdict::Worse)
    }

    /// Decides by the code that the spans execute, which is more reliable than the number of
    /// instructions: `changed` names the changed functions of which the spans execute something. If
    /// there are none, every difference counts as moved: the same code may take another path if
    /// addresses or the time of an interrupt determine it.
    pub fn decide(&mut self, changed: Vec<String>) {
        self.verdict = if changed.is_empty() {
            Verdict::Moved
        } else {
            verdict_by_direction(&self.changes, Some(&self.instructions))
        };
        self.changed = changed;
    }

    /// Tells whether it became worse by failing, not by a figure.
    pub(crate) fn fails(&self) -> bool {
        let figures = self.changes.is_empty() && self.instructions.is_empty();
        self.verdict == Verdict::Worse && figures && self.estimate.is_none()
    }
}

pub(crate) fn title(key: &Key) -> String {
    let mut text = format!("{} {} on {}", key.kernel, key.scenario, key.soc);
    if key.profile != DEFAULT_PROFILE {
        let _ = write!(text, ", profile {}", key.profile);
    }
    if key.backend != Backend::Sim {
        let _ = write!(text, ", backend {}", key.backend);
    }
    text
}

/// What must be equal for two answers to form a pair. The kernel's version may differ: the cost of a
/// new version is worth knowing.
type Place<'a> = (&'a str, &'a str, Backend, &'a ScenarioId, &'a KernelId);

fn place(key: &Key) -> Place<'_> {
    (&key.soc, &key.profile, key.backend, &key.scenario, &key.kernel)
}

/// Returns the positions of a run's answers, numbered if several answer the same question. In a
/// measured run the last one counts; a log may contain several runs of its suite, and the first is
/// compared with the first.
fn places(answers: &[Answer]) -> BTreeMap<(Place<'_>, usize), usize> {
    let mut several: BTreeMap<Place<'_>, usize> = BTreeMap::new();
    let mut places = BTreeMap::new();
    for (at, answer) in answers.iter().enumerate() {
        let place = place(answer.key());
        let number = several.entry(place).or_insert(0);
        places.insert((place, *number), at);
        if answer.key().backend == Backend::Log {
            *number += 1;
        }
    }
    places
}

/// Compares two runs. The pairs are in the order of `after`. Differences in the aspects in `across` are
/// accepted: they are shown, but do not prevent the comparison.
pub fn compare(
    before: (RunLabel, &[Answer]),
    after: (RunLabel, &[Answer]),
    across: &[Aspect],
) -> Comparison {
    let (was, is) = (places(before.1), places(after.1));
    let mut comparison = Comparison {
        before: before.0,
        after: after.0,
        pairs: Vec::new(),
        only_before: Vec::new(),
        only_after: Vec::new(),
    };
    let mut paired: Vec<(usize, usize)> = Vec::new();
    for (place, &at) in &is {
        match was.get(place) {
            Some(&earlier) => paired.push((at, earlier)),
            None => comparison.only_after.push(after.1[at].key().clone()),
        }
    }
    paired.sort_unstable();
    let pairs = paired.into_iter().map(|(at, earlier)| (&before.1[earlier], &after.1[at]));
    comparison.pairs.extend(pairs.filter_map(|(before, after)| pair(before, after, across)));
    let removed = was.iter().filter(|(place, _)| !is.contains_key(place));
    comparison.only_before.extend(removed.map(|(_, &at)| before.1[at].key().clone()));
    comparison
}

fn pair(before: &Answer, after: &Answer, across: &[Aspect]) -> Option<Pair> {
    let version =
        (before.key().version != after.key().version).then(|| before.key().version.clone());
    let mut pair = Pair {
        key: after.key().clone(),
        version_before: version,
        basis: after.series().or(before.series()).map(|series| series.basis),
        verdict: Verdict::Same,
        changes: Vec::new(),
        instructions: Vec::new(),
        estimate: None,
        differences: Vec::new(),
        notes: Vec::new(),
        changed: Vec::new(),
        place: None,
        cause: None,
    };
    match (before, after) {
        (Answer::NotApplicable { .. }, Answer::NotApplicable { .. }) => return None,
        (Answer::Measured(before), Answer::Measured(after)) => {
            measured(&mut pair, before, after, across);
        }
        (Answer::Measured(_), Answer::Failed { failure, .. }) => {
            pair.verdict = Verdict::Worse;
            pair.notes.push(format!("it now fails: {}", failure.problem()));
        }
        (Answer::Failed { .. }, Answer::Measured(_)) => {
            pair.verdict = Verdict::Better;
            pair.notes.push("it failed before".into());
        }
        _ => {
            let word = |answer: &Answer| match answer {
                Answer::Measured(_) => "measured".to_owned(),
                Answer::NotApplicable { reason, .. } => format!("not applicable ({reason})"),
                Answer::Failed { failure, .. } => format!("failed ({})", failure.problem()),
            };
            let after = match (before, after) {
                (Answer::Failed { failure: was, .. }, Answer::Failed { failure: is, .. })
                    if was.problem() == is.problem() =>
                {
                    "failed in the same way".to_owned()
                }
                _ => word(after),
            };
            pair.verdict = Verdict::Incomparable;
            let (aspect, before) = (Aspect::Answer, word(before));
            pair.differences.push(Difference { aspect, what: None, before, after });
        }
    }
    Some(pair)
}

fn measured(pair: &mut Pair, before: &Series, after: &Series, across: &[Aspect]) {
    pair.differences = differences(before, after);
    if pair.differences.iter().any(|difference| difference.prevents_comparison(across)) {
        pair.verdict = Verdict::Incomparable;
        pair.differences.retain(|difference| difference.prevents_comparison(across));
        return;
    }
    if !after.flags.is_empty() {
        pair.verdict = Verdict::Incomparable;
        let flags: Vec<_> = after.flags.iter().map(ToString::to_string).collect();
        pair.notes.push(format!("both are flagged: {}", flags.join("; ")));
        return;
    }
    let (was, is) = (&before.provenance.compiler, &after.provenance.compiler);
    if was.version != is.version {
        pair.notes.push(format!("the compiler was {} and is {}", was.version, is.version));
    } else if was.flags != is.flags {
        pair.notes.push("the compiler's flags changed".into());
    }
    match (&before.readings, &after.readings) {
        (Readings::Exact(was), Readings::Exact(is)) => {
            pair.changes = changes(&was.0, &is.0);
            let instructions = of_instructions(before, after);
            pair.verdict = exact_verdict(&pair.changes, instructions.as_deref());
            pair.instructions = instructions.unwrap_or_default();
            let (n, m) = (was.0.len(), is.0.len());
            if n != m {
                pair.notes.push(format!("{n} samples before, {m} after"));
            } else if pair.verdict == Verdict::Same && was != is {
                pair.notes.push(
                    "the same samples in another order, or different ones with the same figures"
                        .into(),
                );
            }
        }
        (Readings::Sampled(was), Readings::Sampled(is)) => match Estimate::of(was, is) {
            Ok(estimate) => {
                pair.verdict = match estimate.direction() {
                    Direction::None => Verdict::Same,
                    Direction::Down => Verdict::Better,
                    Direction::Up => Verdict::Worse,
                };
                if estimate.is_below_resolution() {
                    pair.notes.push(format!(
                        "less than the clock can show: its resolution is {} {}",
                        estimate.resolution, after.basis
                    ));
                }
                pair.estimate = Some(estimate);
            }
            Err(reason) => {
                pair.verdict = Verdict::Incomparable;
                pair.notes.push(reason);
            }
        },
        _ => {
            pair.verdict = Verdict::Incomparable;
            pair.notes.push(
                "summaries without samples: chance and change cannot be distinguished".into(),
            );
        }
    }
}

/// Judges an exact series. If the instructions changed, it became worse if either its figure or their
/// number grew: nobody can tell how much is due to the change and how much to placement. A larger
/// largest sample is worse even if the typical one is smaller.
fn exact_verdict(changes: &[Change], instructions: Option<&[Change]>) -> Verdict {
    match (changes, instructions) {
        ([], None | Some([])) => Verdict::Same,
        (_, Some([])) => Verdict::Moved,
        (changes, instructions) => verdict_by_direction(changes, instructions),
    }
}

fn verdict_by_direction(changes: &[Change], instructions: Option<&[Change]>) -> Verdict {
    let grown = |changes: &[Change]| {
        let max = changes.iter().find(|change| change.measure == Measure::Max);
        changes.first().into_iter().chain(max).any(|change| change.growth() > 0)
    };
    if grown(changes) || instructions.is_some_and(grown) { Verdict::Worse } else { Verdict::Better }
}

impl Comparison {
    /// Returns the number of pairs with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.pairs.iter().filter(|pair| pair.verdict == verdict).count()
    }
}
