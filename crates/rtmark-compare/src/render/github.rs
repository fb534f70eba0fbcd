//! Workflow commands of GitHub Actions: lines that become annotations.

use std::fmt::Write as _;

use rtmark_model::Line;

use super::{one_line, told};
use crate::gate::Finding;
use crate::{Comparison, Gate, Pair, Verdict};

/// How many figures an annotation tells of one cause.
const TOLD: usize = 5;

/// What one cause has made slower: figures that grew because the same functions were changed, or that
/// fail with the same words.
struct Group<'a> {
    functions: &'a [String],
    place: Option<&'a Line>,
    findings: Vec<&'a Finding>,
}

impl<'a> Group<'a> {
    /// The regressions by their causes, in their order.
    fn all(comparison: &'a Comparison, gate: &'a Gate) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for finding in &gate.regressions {
            let pair = comparison.pairs.iter().find(|pair| pair.key == finding.key);
            let functions = pair.map_or(&[][..], |pair: &Pair| pair.changed.as_slice());
            let one = |group: &&mut Self| {
                let first = group.findings[0];
                if functions.is_empty() {
                    // Of what failed, a figure is missing, and words are all there is.
                    let alike = finding.excess.is_none() && first.text == finding.text;
                    first.key == finding.key || alike
                } else {
                    group.functions == functions
                }
            };
            match groups.iter_mut().find(one) {
                Some(group) => group.findings.push(finding),
                None => groups.push(Self {
                    functions,
                    place: pair.and_then(|pair| pair.place.as_ref()),
                    findings: vec![finding],
                }),
            }
        }
        groups
    }

    fn title(&self) -> String {
        let first = self.findings[0];
        if self.findings.iter().all(|finding| finding.key == first.key) {
            return first.title();
        }
        let mut keys: Vec<_> = self.findings.iter().map(|finding| &finding.key).collect();
        keys.dedup();
        let what = if first.excess.is_some() { "slower" } else { "fail" };
        let functions = self.functions.join(", ");
        let by = if functions.is_empty() { String::new() } else { format!(" by {functions}") };
        format!("{} scenarios {what}{by}", keys.len())
    }

    fn lines(&self) -> Vec<String> {
        let first = self.findings[0];
        let alone = self.findings.iter().all(|finding| finding.key == first.key);
        let line = |finding: &&Finding| {
            let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}"));
            let text = format!("{}{}", finding.text, cause.unwrap_or_default());
            if alone { text } else { format!("{}: {text}", finding.title()) }
        };
        let mut lines: Vec<_> = self.findings.iter().take(TOLD).map(line).collect();
        let more = self.findings.len().saturating_sub(TOLD);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Renders a comparison: what the gate refuses as errors, one for each cause (without a gate,
/// whatever became worse), what cannot be compared as warnings, what became better as notices.
pub fn github(comparison: &Comparison, gate: Option<&Gate>) -> String {
    let mut text = String::new();
    if let Some(gate) = gate {
        for group in Group::all(comparison, gate) {
            let place = group.place.map_or_else(String::new, |Line { file, line }| {
                format!("file={},line={line},", property(file))
            });
            let lines: Vec<_> = group.lines().iter().map(|line| escaped(line)).collect();
            let (title, lines) = (property(&group.title()), lines.join("%0A"));
            let _ = writeln!(text, "::error {place}title={title}::{lines}");
        }
    }
    let mut tell = |level: &str, title: &str, message: &str| {
        let _ = writeln!(text, "::{level} title={}::{}", property(title), escaped(message));
    };
    if let Some(gate) = gate {
        for finding in &gate.acknowledged {
            let reason = finding.reason.as_deref().unwrap_or_default();
            tell("notice", &finding.title(), &format!("{}, accepted: {reason}", finding.text));
        }
    }
    for pair in &comparison.pairs {
        let level = match pair.verdict {
            Verdict::Worse if gate.is_none() => "error",
            Verdict::Incomparable => "warning",
            Verdict::Better => "notice",
            Verdict::Worse | Verdict::Same | Verdict::Moved => continue,
        };
        tell(level, &pair.title(), &told(pair));
    }
    text
}

/// Text from outside as one of a command's properties.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text from outside as a command's data.
fn escaped(text: &str) -> String {
    one_line(text).replace('%', "%25")
}
