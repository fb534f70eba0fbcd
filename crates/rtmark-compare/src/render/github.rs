//! Writes workflow commands of GitHub Actions, which become annotations.

use std::fmt::Write as _;

use rtmark_model::Line;

use super::causes::Cause;
use super::{describe, one_line};
use crate::gate::Finding;
use crate::{Comparison, Gate, Verdict};

/// The number of figures in an annotation of one cause.
const MAX_REPORTED: usize = 5;

impl Cause<'_> {
    fn title(&self) -> String {
        let first = self.findings[0];
        if self.findings.iter().all(|finding| finding.key == first.key) {
            return first.title();
        }
        let functions = self.functions.join(", ");
        let by = if functions.is_empty() { String::new() } else { format!(" by {functions}") };
        format!("{} scenarios {}{by}", self.by_key().len(), self.consequence())
    }

    fn lines(&self) -> Vec<String> {
        let first = self.findings[0];
        let alone = self.findings.iter().all(|finding| finding.key == first.key);
        let line = |finding: &&Finding| {
            let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}"));
            let text = format!("{}{}", finding.text, cause.unwrap_or_default());
            if alone { text } else { format!("{}: {text}", finding.title()) }
        };
        let mut lines: Vec<_> = self.findings.iter().take(MAX_REPORTED).map(line).collect();
        let more = self.findings.len().saturating_sub(MAX_REPORTED);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Renders a comparison: the gate's regressions as errors, one for each cause (without a gate,
/// everything that became worse), incomparable series as warnings, improvements as notices.
pub fn github(comparison: &Comparison, gate: Option<&Gate>) -> String {
    let mut text = String::new();
    if let Some(gate) = gate {
        for cause in Cause::all(comparison, gate) {
            let place = cause.place.map_or_else(String::new, |Line { file, line }| {
                format!("file={},line={line},", property(file))
            });
            let lines: Vec<_> = cause.lines().iter().map(|line| escaped(line)).collect();
            let (title, lines) = (property(&cause.title()), lines.join("%0A"));
            let _ = writeln!(text, "::error {place}title={title}::{lines}");
        }
    }
    let mut annotate = |level: &str, title: &str, message: &str| {
        let _ = writeln!(text, "::{level} title={}::{}", property(title), escaped(message));
    };
    if let Some(gate) = gate {
        for finding in &gate.acknowledged {
            let reason = finding.reason.as_deref().unwrap_or_default();
            annotate("notice", &finding.title(), &format!("{}, accepted: {reason}", finding.text));
        }
    }
    for pair in &comparison.pairs {
        let level = match pair.verdict {
            Verdict::Worse if gate.is_none() => "error",
            Verdict::Incomparable => "warning",
            Verdict::Better => "notice",
            Verdict::Worse | Verdict::Same | Verdict::Moved => continue,
        };
        annotate(level, &pair.title(), &describe(pair));
    }
    text
}

/// Escapes text from outside as a property of a command.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes text from outside as a command's data.
fn escaped(text: &str) -> String {
    one_line(text).replace('%', "%25")
}
