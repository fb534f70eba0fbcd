//! Renders comparisons for a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{Rows, describe, one_line, summary};
use crate::compare::title;
use crate::{Comparison, Gate, Pair, Verdict};

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Same | Verdict::Moved => ASIDE,
        Verdict::Better => AnsiColor::Green.on_default(),
        Verdict::Worse => AnsiColor::Red.on_default().bold(),
        Verdict::Incomparable => AnsiColor::Yellow.on_default(),
    }
}

/// Renders a comparison and a gate's result. The text contains ANSI styles.
pub fn table(comparison: &Comparison, gate: Option<&Gate>, rows: Rows) -> String {
    let mut text = format!("{} \u{2192} {}\n", comparison.before, comparison.after);
    let mut heading = String::new();
    let shown: Vec<&Pair> = comparison.pairs.iter().filter(|pair| rows.shows(pair)).collect();
    let wide =
        |name: fn(&Pair) -> &str| shown.iter().map(|pair| name(pair).len()).max().unwrap_or(0);
    let kernels = wide(|pair| pair.key.kernel.as_str());
    let scenarios = wide(|pair| pair.key.scenario.as_str());
    for pair in &shown {
        let key = &pair.key;
        let basis = pair.basis.map_or("nothing measured", |basis| basis.name());
        let line = format!(
            "{} \u{b7} profile {} \u{b7} backend {} \u{b7} {basis}",
            key.soc, key.profile, key.backend
        );
        if line != heading {
            let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", one_line(&line));
            heading = line;
        }
        let style = style(pair.verdict);
        let line = format!(
            "{:scenarios$}  {:kernels$}  {style}{:12}{style:#}  {}",
            key.scenario,
            key.kernel,
            pair.verdict.name(),
            describe(pair)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = writeln!(text, "\n{}", summary(comparison));
    if rows == Rows::All {
        for (keys, word) in [(&comparison.only_before, "before"), (&comparison.only_after, "after")]
        {
            for key in keys {
                let _ = writeln!(text, "{ASIDE}only {word}{ASIDE:#}  {}", one_line(&title(key)));
            }
        }
    }
    if let Some(method) = comparison.pairs.iter().find_map(|pair| pair.estimate.as_ref()) {
        let _ = writeln!(text, "{ASIDE}sampled series: {}{ASIDE:#}", method.method);
    }
    if let Some(gate) = gate {
        text += &verdict(gate);
    }
    text
}

fn verdict(gate: &Gate) -> String {
    let mut text = String::new();
    for finding in &gate.regressions {
        let style = style(Verdict::Worse);
        let cause = finding.cause.as_ref().map(|cause| format!(", in {cause}")).unwrap_or_default();
        let line = format!("{}: {}{cause}", finding.title(), finding.text);
        let _ = writeln!(text, "{style}regression{style:#}  {}", one_line(&line));
    }
    for finding in &gate.acknowledged {
        let reason = finding.reason.as_deref().unwrap_or_default();
        let line = format!("{}: {} ({reason})", finding.title(), finding.text);
        let _ = writeln!(text, "{ASIDE}accepted{ASIDE:#}    {}", one_line(&line));
    }
    for line in &gate.incomparable {
        let style = style(Verdict::Incomparable);
        let _ = writeln!(text, "{style}incomparable{style:#}  {}", one_line(line));
    }
    for line in &gate.unused {
        let _ = writeln!(text, "{ASIDE}no effect{ASIDE:#}   {}", one_line(line));
    }
    let passed = gate.regressions.is_empty() && gate.incomparable.is_empty();
    text + if passed { "the gate is passed\n" } else { "the gate is not passed\n" }
}
