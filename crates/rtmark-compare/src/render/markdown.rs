//! Writes GitHub-flavoured Markdown for pull requests: what became slower and why comes first,
//! everything else is folded.

use std::fmt::Write as _;

use rtmark_model::{Backend, Basis, DEFAULT_PROFILE, Key};

use super::causes::{Cause, by_key};
use super::{Rows, describe, one_line, summary};
use crate::gate::Finding;
use crate::{Comparison, Gate, Pair, Policy, Verdict, gate as held};

/// GitHub's limit for a comment is 65 536 characters; some are left for surrounding text.
const COMMENT: usize = 62_000;
/// How much of that regressions may take, so that there is room for the folded parts.
const SLOWER: usize = 32_000;
/// The number of scenarios of one cause that are shown at once; the others are folded.
const MAX_UNFOLDED: usize = 5;

/// Renders a comparison and a gate's result, as much as fits into a GitHub comment.
pub fn markdown(comparison: &Comparison, gate: Option<&Gate>, rows: Rows) -> String {
    let without = gate.is_none().then(|| implied_gate(comparison));
    let judged = gate.or(without.as_ref());
    let mut text = format!("### {}\n\n", headline(comparison, gate));
    let _ = writeln!(
        text,
        "{} \u{2192} {}: {}.",
        escaped(&comparison.before.to_string()),
        escaped(&comparison.after.to_string()),
        summary(comparison)
    );
    if let Some(judged) = judged {
        write_regressions(&mut text, comparison, judged);
        let accepted = by_key(judged.acknowledged.iter());
        let lines = accepted.iter().map(|findings| {
            let reason = findings[0].reason.as_deref().unwrap_or_default();
            row(findings, &[escaped(reason)])
        });
        folded(
            &mut text,
            "accepted before",
            &[SUBJECT_COLUMNS, &["why"]].concat(),
            lines.collect(),
        );
    }
    let refused = |pair: &Pair| {
        judged.is_some_and(|gate| reported_findings(gate).any(|finding| finding.key == pair.key))
    };
    let of = |verdict: Verdict| {
        let pairs = comparison.pairs.iter().filter(move |pair| pair.verdict == verdict);
        pairs.filter(|pair| !refused(pair)).map(full_row).collect::<Vec<_>>()
    };
    let columns = [KEY, &["what changed"]].concat();
    folded(&mut text, "not compared", &columns, of(Verdict::Incomparable));
    folded(&mut text, "slower, within the budget", &columns, of(Verdict::Worse));
    folded(&mut text, "faster", &columns, of(Verdict::Better));
    let moved = "moved: the same instructions at other addresses";
    folded(&mut text, moved, &columns, of(Verdict::Moved));
    if rows == Rows::All {
        folded(&mut text, "the same", &columns, of(Verdict::Same));
    }
    let listed = |keys: &[Key]| keys.iter().map(|it| format!("| {} |", key(it))).collect();
    folded(&mut text, "only before", KEY, listed(&comparison.only_before));
    folded(&mut text, "only after", KEY, listed(&comparison.only_after));
    text
}

/// Returns the regressions and acknowledged findings of a gate.
fn reported_findings(gate: &Gate) -> impl Iterator<Item = &Finding> {
    gate.regressions.iter().chain(&gate.acknowledged)
}

/// Returns what became worse, as a gate without budgets would report it.
fn implied_gate(comparison: &Comparison) -> Gate {
    let mut gate = held(comparison, &Policy::default());
    let worse = |key: &Key| {
        let mut pairs = comparison.pairs.iter();
        pairs.any(|pair| pair.key == *key && pair.verdict == Verdict::Worse)
    };
    gate.regressions.retain(|finding| worse(&finding.key));
    gate
}

/// Sums up the result in a few words.
fn headline(comparison: &Comparison, gate: Option<&Gate>) -> String {
    let scenarios = |count: usize| match count {
        1 => "1 scenario".to_owned(),
        more => format!("{more} scenarios"),
    };
    let Some(gate) = gate else {
        let (worse, better) = (comparison.count(Verdict::Worse), comparison.count(Verdict::Better));
        let found = match (worse, better) {
            (0, 0) => "Nothing became slower or faster".to_owned(),
            (0, better) => format!("{} faster", scenarios(better)),
            (worse, 0) => format!("{} slower", scenarios(worse)),
            (worse, better) => format!("{} slower, {better} faster", scenarios(worse)),
        };
        return match comparison.count(Verdict::Incomparable) {
            0 => found,
            all if all == comparison.pairs.len() => "Nothing could be compared".to_owned(),
            some => format!("{found}; {some} cannot be compared"),
        };
    };
    match (by_key(gate.regressions.iter()).len(), gate.incomparable.len()) {
        (0, 0) => "Passed: no regression".to_owned(),
        (0, count) => format!("Not passed: {count} cannot be compared"),
        (count, _) => format!("Refused: {} beyond budget", scenarios(count)),
    }
}

/// The columns that identify a row.
const KEY: &[&str] = &["scenario", "kernel", "soc"];
/// The columns of regressions.
const SUBJECT_COLUMNS: &[&str] =
    &["scenario", "kernel", "soc", "what grew", "instructions", "where the cycles went"];

/// Lists regressions by their causes.
fn write_regressions(text: &mut String, comparison: &Comparison, gate: &Gate) {
    let (known, unknown): (Vec<_>, Vec<_>) =
        Cause::all(comparison, gate).into_iter().partition(|cause| !cause.functions.is_empty());
    for (at, cause) in known.iter().enumerate() {
        if length(text) > SLOWER {
            let _ = writeln!(text, "\n_{} more causes do not fit {SIZE_LIMIT}_", known.len() - at);
            break;
        }
        let place = cause.place.map_or_else(String::new, |place| {
            format!(" ({})", escaped(&format!("{}:{}", place.file, place.line)))
        });
        let functions = escaped(&cause.functions.join(", "));
        let were = if cause.functions.len() == 1 { "was" } else { "were" };
        let _ = writeln!(text, "\n**{functions}** {were} changed{place}:");
        write_regression_table(text, &cause.by_key());
    }
    let unknown: Vec<_> = unknown.iter().flat_map(Cause::by_key).collect();
    if !unknown.is_empty() {
        if !known.is_empty() {
            text.push_str("\nUnknown cause:\n");
        }
        write_regression_table(text, &unknown);
    }
}

/// Writes a table of regressions: a few rows, and the others folded.
fn write_regression_table(text: &mut String, findings: &[Vec<&Finding>]) {
    let rows = |some: &[Vec<&Finding>]| some.iter().map(|it| row(it, &[])).collect::<Vec<_>>();
    let (first, more) = findings.split_at(findings.len().min(MAX_UNFOLDED));
    table(text, SUBJECT_COLUMNS, rows(first), COMMENT);
    if !more.is_empty() {
        fold(text, &format!("{} more", more.len()), |text| {
            table(text, SUBJECT_COLUMNS, rows(more), SLOWER);
        });
    }
}

/// Renders the findings of one series as a row: the most important figure, and the names of the others.
fn row(findings: &[&Finding], more: &[String]) -> String {
    let is_of =
        |finding: &Finding, basis: bool| (finding.basis == Some(Basis::Instructions)) == basis;
    let first = findings[0];
    let only_instructions = findings.iter().all(|finding| is_of(finding, true));
    let main: Vec<_> =
        findings.iter().filter(|finding| only_instructions || is_of(finding, false)).collect();
    let others: Vec<_> = main[1..]
        .iter()
        .filter_map(|finding| finding.excess.map(|excess| excess.change.measure.name()))
        .collect();
    let mut grew = main[0].text.clone();
    if !others.is_empty() {
        let _ = write!(grew, "; also {}", others.join(", "));
    }
    let executed = findings.iter().find(|finding| !only_instructions && is_of(finding, true));
    let executed = executed.and_then(|finding| finding.excess);
    let executed =
        executed.map_or_else(String::new, |excess| format!("{:+}", excess.change.growth()));
    let cause = findings.iter().find_map(|finding| finding.cause.clone()).unwrap_or_default();
    let cells = [key(&first.key), [grew, executed, cause].map(|cell| escaped(&cell)).join(" | ")];
    let cells: Vec<_> = cells.iter().chain(more).map(String::as_str).collect();
    format!("| {} |", cells.join(" | "))
}

/// Renders everything known about a pair as a row.
fn full_row(pair: &Pair) -> String {
    format!("| {} | {} |", key(&pair.key), escaped(&describe(pair)))
}

/// Renders the cells that identify a row, with profile and backend unless they are the defaults.
fn key(key: &Key) -> String {
    let mut soc = key.soc.clone();
    if key.profile != DEFAULT_PROFILE {
        let _ = write!(soc, ", profile {}", key.profile);
    }
    if key.backend != Backend::Sim {
        let _ = write!(soc, ", backend {}", key.backend);
    }
    [key.scenario.as_str(), key.kernel.as_str(), &soc].map(escaped).join(" | ")
}

const SIZE_LIMIT: &str = "a comment of GitHub; `--format table` shows them.";

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Adds a table with as many rows as fit, and states how many did not.
fn table(text: &mut String, columns: &[&str], rows: Vec<String>, most: usize) {
    let _ = writeln!(text, "\n| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
    let mut long = length(text);
    let mut left_out = 0;
    for row in rows {
        long += length(&row) + 1;
        // Rows that are left out count, so that all that follow are left out, too.
        if long > most {
            left_out += 1;
        } else {
            let _ = writeln!(text, "{row}");
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n_{left_out} more do not fit {SIZE_LIMIT}_");
    }
}

/// Adds a folded table, if it has rows.
fn folded(text: &mut String, title: &str, columns: &[&str], rows: Vec<String>) {
    if !rows.is_empty() {
        fold(text, &format!("{} {title}", rows.len()), |text| table(text, columns, rows, COMMENT));
    }
}

/// Adds a folded part.
fn fold(text: &mut String, title: &str, add: impl FnOnce(&mut String)) {
    let _ = writeln!(text, "\n<details><summary>{title}</summary>");
    add(text);
    text.push_str("\n</details>\n");
}

/// Escapes text from outside as plain text of a table cell.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_as_many_characters_as_it_may() {
        let rows = || ["| 1 |", "| twelve |", "| 3 |"].map(str::to_owned).to_vec();
        let of = |most: usize| {
            let mut text = String::new();
            table(&mut text, &["n"], rows(), most);
            text
        };
        let whole = "\n| n |\n|---|\n| 1 |\n| twelve |\n| 3 |\n";
        assert_eq!(of(whole.len()), whole);
        let short = of(whole.len() - 1);
        assert!(short.contains("| twelve |\n\n_1 more do not fit "), "{short}");
        // The last row would fit in place of the long one, but a gap would not be seen.
        let shorter = of(whole.len() - "| 3 |\n".len() - 1);
        assert!(shorter.contains("| 1 |\n\n_2 more do not fit "), "{shorter}");
    }
}
