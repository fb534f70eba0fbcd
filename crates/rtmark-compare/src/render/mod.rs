//! Renders comparisons as text: for people, for programs, and for reviewers.

use std::fmt::Write as _;

mod causes;
mod github;
mod json;
mod junit;
mod markdown;
mod table;

use rtmark_model::visible;

pub use github::github;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use table::table;

use crate::{Comparison, Pair, Verdict};

/// Which pairs a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Those whose verdict is not "same".
    Changed,
    /// All of them.
    All,
}

impl Rows {
    fn shows(self, pair: &Pair) -> bool {
        self == Self::All || pair.verdict != Verdict::Same
    }
}

/// Renders text from outside as one harmless line.
fn one_line(text: &str) -> String {
    visible(text.as_bytes()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a summary such as `12 series: 10 same, 1 better, 1 worse`.
fn summary(comparison: &Comparison) -> String {
    let verdicts =
        [Verdict::Same, Verdict::Moved, Verdict::Better, Verdict::Worse, Verdict::Incomparable];
    let counts = verdicts.map(|verdict| (verdict, comparison.count(verdict)));
    let counted = counts.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<_> = counted.map(|(verdict, count)| format!("{count} {verdict}")).collect();
    let counted =
        if counted.is_empty() { String::new() } else { format!(": {}", counted.join(", ")) };
    let mut text = format!("{} series{counted}", comparison.pairs.len());
    for (keys, word) in [(&comparison.only_before, "before"), (&comparison.only_after, "after")] {
        if !keys.is_empty() {
            let _ = write!(text, "; {} only {word}", keys.len());
        }
    }
    text
}

/// Describes the result of a pair in one line.
fn describe(pair: &Pair) -> String {
    let mut parts: Vec<String> = pair.changes.iter().map(ToString::to_string).collect();
    parts.extend(pair.instructions.iter().map(|change| format!("instructions: {change}")));
    if let Some(estimate) = &pair.estimate {
        parts.push(format!(
            "median {} \u{2192} {} ({:+}), growth between {} and {}, p = {:.2e}, {} and {} samples",
            estimate.before,
            estimate.after,
            i128::from(estimate.after) - i128::from(estimate.before),
            estimate.low,
            estimate.high,
            estimate.p,
            estimate.samples_before,
            estimate.samples_after
        ));
    }
    parts.extend(pair.differences.iter().map(ToString::to_string));
    parts.extend(pair.notes.iter().cloned());
    if !pair.changed.is_empty() {
        parts.push(format!("changed: {}", pair.changed.join(", ")));
    }
    parts.extend(pair.cause.iter().map(|cause| format!("in {cause}")));
    if let Some(version) = &pair.version_before {
        parts.push(format!("version {version} \u{2192} {}", pair.key.version));
    }
    one_line(&parts.join("; "))
}
