//! GitHub's Markdown, for pull requests.

use std::fmt::Write as _;

use super::{Rows, one_line, summary, told};
use crate::{Comparison, Gate};

/// Renders a comparison, and what a gate made of it.
pub fn markdown(comparison: &Comparison, gate: Option<&Gate>, rows: Rows) -> String {
    let mut text = format!(
        "### {} \u{2192} {}\n\n{}.\n",
        escaped(&comparison.before.to_string()),
        escaped(&comparison.after.to_string()),
        summary(comparison)
    );
    if let Some(gate) = gate {
        let line = match gate.regressions.len() {
            0 => "No regression.".to_owned(),
            count => format!("**{count} beyond budget.**"),
        };
        let _ = writeln!(text, "\n{line}");
        for finding in gate.regressions.iter().chain(&gate.acknowledged) {
            let reason = finding.reason.as_ref().map(|reason| format!(" (accepted: {reason})"));
            let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}"));
            let more = cause.unwrap_or_default() + &reason.unwrap_or_default();
            let line = format!("{}: {}{more}", finding.title(), finding.text);
            let _ = writeln!(text, "- {}", escaped(&line));
        }
    }
    let mut shown = comparison.pairs.iter().filter(|pair| rows.shows(pair)).peekable();
    if shown.peek().is_some() {
        text += "\n| soc | scenario | kernel | verdict | what changed |\n|---|---|---|---|---|\n";
    }
    for pair in shown {
        let key = &pair.key;
        let cells = [
            &key.soc,
            key.scenario.as_str(),
            key.kernel.as_str(),
            pair.verdict.name(),
            &told(pair),
        ]
        .map(escaped);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
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
