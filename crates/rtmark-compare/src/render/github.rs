//! Workflow commands of GitHub Actions: lines that become annotations.

use std::fmt::Write as _;

use super::{one_line, told};
use crate::{Comparison, Gate, Verdict};

/// Renders a comparison: what the gate refuses (without one, whatever became worse) as
/// errors, what cannot be compared as warnings, what became better as notices.
pub fn github(comparison: &Comparison, gate: Option<&Gate>) -> String {
    let mut text = String::new();
    let mut tell = |level: &str, title: &str, message: &str| {
        let _ = writeln!(
            text,
            "::{level} title={}::{}",
            escaped(title).replace(':', "%3A").replace(',', "%2C"),
            escaped(message)
        );
    };
    if let Some(gate) = gate {
        for finding in &gate.regressions {
            let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}"));
            let message = format!("{}{}", finding.text, cause.unwrap_or_default());
            tell("error", &finding.title(), &message);
        }
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

/// Text from outside as a command's data.
fn escaped(text: &str) -> String {
    one_line(text).replace('%', "%25")
}
