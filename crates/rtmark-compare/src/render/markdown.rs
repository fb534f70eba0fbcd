//! GitHub's Markdown, for pull requests.

use std::fmt::Write as _;

use super::{Rows, one_line, summary, told};
use crate::{Comparison, Gate};

/// A comment of GitHub holds 65 536 characters; some are left for words around it.
const COMMENT: usize = 64_000;
/// How much of that a gate's findings may take, so that rows have room too.
const FINDINGS: usize = 32_000;

/// Adds lines as long as they fit, and says how many did not.
fn add(text: &mut String, lines: impl Iterator<Item = String>, most: usize) {
    let mut length = text.chars().count();
    let mut left_out = 0;
    for line in lines {
        length += line.chars().count() + 1;
        // Once one is left out, all that follow are.
        if length > most || left_out > 0 {
            left_out += 1;
        } else {
            let _ = writeln!(text, "{line}");
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n_{left_out} more do not fit a comment of GitHub; `--format table` shows them._"
        );
    }
}

/// Renders a comparison, and what a gate made of it: as much as a comment of GitHub holds.
pub fn markdown(comparison: &Comparison, gate: Option<&Gate>, rows: Rows) -> String {
    let mut text = format!(
        "### {} \u{2192} {}\n\n{}.\n",
        escaped(&comparison.before.to_string()),
        escaped(&comparison.after.to_string()),
        summary(comparison)
    );
    if let Some(gate) = gate {
        let line = match (gate.regressions.len(), gate.incomparable.len()) {
            (0, 0) => "No regression.".to_owned(),
            (0, count) => format!("**Not passed: {count} cannot be compared.**"),
            (count, _) => format!("**{count} beyond budget.**"),
        };
        let _ = writeln!(text, "\n{line}");
        let findings = gate.regressions.iter().chain(&gate.acknowledged).map(|finding| {
            let reason = finding.reason.as_ref().map(|reason| format!(" (accepted: {reason})"));
            let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}"));
            let more = cause.unwrap_or_default() + &reason.unwrap_or_default();
            let line = format!("{}: {}{more}", finding.title(), finding.text);
            format!("- {}", escaped(&line))
        });
        add(&mut text, findings, FINDINGS);
    }
    let mut shown = comparison.pairs.iter().filter(|pair| rows.shows(pair)).peekable();
    if shown.peek().is_some() {
        text += "\n| soc | scenario | kernel | verdict | what changed |\n|---|---|---|---|---|\n";
    }
    let rows = shown.map(|pair| {
        let key = &pair.key;
        let cells = [
            &key.soc,
            key.scenario.as_str(),
            key.kernel.as_str(),
            pair.verdict.name(),
            &told(pair),
        ]
        .map(escaped);
        format!("| {} |", cells.join(" | "))
    });
    add(&mut text, rows, COMMENT);
    text
}

/// Text from outside, as plain text of a table's cell.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
        if matches!(
            character,
            '\\' | '|' | '<' | '>' | '&' | '*' | '_' | '`' | '[' | ']' | '#' | '~' | '@'
        ) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
