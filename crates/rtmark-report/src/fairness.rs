//! Renders what makes a comparison unfair, as tables.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use rtmark_model::{Effect, Fairness, Setting, Unequal, UnequalKind};

use crate::matrix::grouped;
use crate::notes::{Notes, one_line};

const HEADINGS: [(UnequalKind, &str); 3] = [
    (UnequalKind::Matters, "Chosen, and known to change figures"),
    (UnequalKind::Inherent, "Known to change figures, but comes with the kernel or its language"),
    (UnequalKind::Informational, "Not known to change figures"),
];

/// Renders the differences as text, at most `width` columns wide.
pub fn fairness(fairness: &Fairness, width: usize) -> String {
    let mut text = format!("{} on {}\n", fairness.subjects.join(" and "), one_line(&fairness.soc));
    for (kind, heading) in HEADINGS {
        let of_kind: Vec<_> = fairness.differences.iter().filter(|d| d.kind == kind).collect();
        if !of_kind.is_empty() {
            let _ = write!(text, "\n{heading}:\n{}", differing(fairness, &of_kind, width));
        }
    }
    if let ([_, _], []) = (fairness.subjects.as_slice(), fairness.differences.as_slice()) {
        text.push_str("\nAll settings are equal.\n");
    }
    if !fairness.effects.is_empty() {
        let _ = write!(
            text,
            "\nTypical sample in cycles with one setting switched:\n{}",
            measured(fairness)
        );
    }
    text
}

fn table(heads: impl IntoIterator<Item = String>) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}')));
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.into_iter().map(Cell::new));
    table
}

fn lines(table: &Table) -> String {
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Wraps a text to a width.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

fn differing(fairness: &Fairness, list: &[&Unequal], width: usize) -> String {
    let column = (width.saturating_sub(40) / 3).clamp(16, 48);
    let heads = ["setting".to_owned()].into_iter().chain(fairness.subjects.iter().cloned());
    let why = list.iter().any(|unequal| unequal.why.is_some());
    let mut table = table(heads.chain(why.then(String::new)));
    let shown = |value: &Option<Setting>| {
        wrapped(&value.as_ref().map_or("\u{2013}".into(), |v| one_line(&v.to_string())), column)
    };
    for unequal in list {
        let mut row =
            vec![one_line(&unequal.setting), shown(&unequal.first), shown(&unequal.second)];
        row.extend(unequal.why.as_ref().map(|why| wrapped(&one_line(why), column)));
        table.add_row(row);
    }
    lines(&table)
}

fn measured(fairness: &Fairness) -> String {
    let mut scenarios: Vec<&str> = Vec::new();
    let mut rows: Vec<(&str, &str, &Setting)> = Vec::new();
    for effect in &fairness.effects {
        if !scenarios.contains(&effect.scenario.as_str()) {
            scenarios.push(&effect.scenario);
        }
        let row = (effect.subject.as_str(), effect.setting.as_str(), &effect.value);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let mut notes = Notes::default();
    let heads = ["firmware".to_owned()].into_iter();
    let mut table = table(heads.chain(scenarios.iter().map(|id| (*id).to_owned())));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let find = |scenario: &str, wanted: &dyn Fn(&&Effect) -> bool| {
        fairness
            .effects
            .iter()
            .find(|effect| effect.scenario == scenario && wanted(effect))
            .cloned()
    };
    let mut last = "";
    for (subject, setting, value) in rows {
        if subject != last {
            let before = scenarios.iter().map(|scenario| {
                let effect = find(scenario, &|e| e.subject == subject && e.both_with.is_empty());
                effect.map(|e| grouped(e.before)).unwrap_or_default()
            });
            table.add_row(std::iter::once(subject.to_owned()).chain(before));
            last = subject;
        }
        let cells: Vec<_> = scenarios
            .iter()
            .map(|scenario| {
                let is_this =
                    |e: &&Effect| e.subject == subject && e.setting == setting && e.value == *value;
                find(scenario, &is_this).map(|effect| cell(&effect, &mut notes)).unwrap_or_default()
            })
            .collect();
        table.add_row(std::iter::once(format!("  {setting} {value}")).chain(cells));
    }
    let mut text = lines(&table);
    for (number, note) in notes.iter() {
        let _ = writeln!(text, "[{number}] {note}");
    }
    text
}

/// Says what the change of a cell is not from the subject's figure, or from another number of layouts.
fn remark(effect: &Effect) -> Option<String> {
    let with = effect.both_with.iter().map(|(id, value)| format!("{id} {value}"));
    let with = with.collect::<Vec<_>>().join(", ");
    let base = (!with.is_empty()).then(|| {
        let (setting, value, before) = (&effect.setting, &effect.value, grouped(effect.before));
        format!("from {before}, which is with {with} as well, because {setting} {value} is only possible so")
    });
    let layouts = effect.layouts.map(|(before, after)| {
        let plural = if after == 1 { "" } else { "s" };
        format!("measured in {after} layout{plural} of its code, before in {before}: part of the change may be placement")
    });
    let parts: Vec<_> = base.into_iter().chain(layouts).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Returns `177 −43`, or a note's number if there is nothing to subtract.
fn cell(effect: &Effect, notes: &mut Notes) -> String {
    let Some(after) = effect.after else {
        let problem = effect.problem.as_deref().unwrap_or("no answer");
        return format!("n/a [{}]", notes.number(problem));
    };
    let apart = grouped(after.abs_diff(effect.before));
    let change = match after.cmp(&effect.before) {
        std::cmp::Ordering::Less => format!("\u{2212}{apart}"),
        std::cmp::Ordering::Equal => "=".into(),
        std::cmp::Ordering::Greater => format!("+{apart}"),
    };
    let mark = remark(effect).map(|remark| format!(" [{}]", notes.number(&one_line(&remark))));
    format!("{}{change:>7}{}", grouped(after), mark.unwrap_or_default())
}
