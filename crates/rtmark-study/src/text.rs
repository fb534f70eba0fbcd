//! Reports for a terminal.

use std::fmt::Write as _;

use crate::document::{Report, Row, Table};
use crate::number::{number, times};

/// Returns the cells of a row: what, published, measured, ratio.
pub fn cells(row: &Row) -> [String; 4] {
    let with = |unit: &str, value: f64| {
        let value = number(value);
        if unit.is_empty() { value } else { format!("{value} {unit}") }
    };
    let unit_of_theirs = row.published_unit.as_ref().unwrap_or(&row.unit);
    let published = row.published.map(|value| with(unit_of_theirs, value));
    let measured = row.measured.map_or_else(|| "n/a".to_owned(), |value| with(&row.unit, value));
    [
        row.what.clone(),
        published.unwrap_or_default(),
        measured,
        row.ratio.map(times).unwrap_or_default(),
    ]
}

/// Returns the reasons for missing figures, each once.
pub fn reasons(table: &Table) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for row in &table.rows {
        if let Some(reason) = &row.reason {
            let message = format!("{}: {reason}", row.what);
            if !reasons.contains(&message) {
                reasons.push(message);
            }
        }
    }
    reasons
}

/// Returns the differences that prevent a ratio, each with its rows.
pub fn differences(table: &Table) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &table.rows {
        let Some(differs) = row.differs.as_deref() else { continue };
        match found.iter_mut().find(|(known, _)| *known == differs) {
            Some((_, rows)) => rows.push(&row.what),
            None => found.push((differs, vec![&row.what])),
        }
    }
    let message = found.iter().map(|(differs, rows)| format!("{}: {differs}", rows.join(", ")));
    message.collect()
}

fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(lines, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(lines, "{indent}{line}");
    }
    lines
}

const HEADS: [&str; 4] = ["", "published", "measured", "ratio"];

impl Report {
    /// Renders the report as text of at most this width, if the words allow it.
    pub fn text(&self, width: usize) -> String {
        let width = width.max(40);
        let mut text = format!("{} · {}\n", self.id, self.title);
        text.push_str(&wrapped(&self.question, width, ""));
        text.push_str(&wrapped(&format!("Published: {}", self.published.board), width, ""));
        text.push_str(&wrapped(&format!("Measured: {}", self.ours), width, ""));
        self.scores_text(&mut text);
        for table in &self.tables {
            let all: Vec<_> = table.rows.iter().map(cells).collect();
            let mut widths = HEADS.map(str::len);
            widths[0] = table.title.chars().count();
            for row in &all {
                for (width, cell) in widths.iter_mut().zip(row) {
                    *width = cell.chars().count().max(*width);
                }
            }
            let line = |cells: [&str; 4]| {
                let mut line = format!("{:1$}", cells[0], widths[0]);
                for (cell, width) in cells.iter().zip(widths).skip(1) {
                    let _ = write!(line, "  {cell:>width$}");
                }
                line.trim_end().to_owned() + "\n"
            };
            text.push('\n');
            text.push_str(&line([&table.title, HEADS[1], HEADS[2], HEADS[3]]));
            text.push_str(&"─".repeat(widths.iter().sum::<usize>() + 6));
            text.push('\n');
            for row in &all {
                text.push_str(&line([&row[0], &row[1], &row[2], &row[3]]));
            }
            for reason in reasons(table) {
                text.push_str(&wrapped(&reason, width - 2, "  "));
            }
            for difference in differences(table) {
                text.push_str(&wrapped(&format!("No ratio: {difference}"), width - 2, "  "));
            }
        }
        for explained in &self.explanations {
            let _ = write!(text, "\n{}\n", explained.title);
            text.push_str(&wrapped(&explained.text, width - 2, "  "));
            for failed in explained.failed_conditions() {
                let message = match failed.holds {
                    Some(_) => "does not hold here, so the words above are wrong",
                    None => "cannot be evaluated here: a figure is missing",
                };
                text.push_str(&wrapped(
                    &format!("! {}: {message}", failed.condition),
                    width - 2,
                    "  ",
                ));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_between_words() {
        assert_eq!(wrapped("one two three", 7, "> "), "> one two\n> three\n");
        assert_eq!(wrapped("incomprehensible", 4, ""), "incomprehensible\n");
        assert_eq!(wrapped("", 4, ""), "");
    }
}
