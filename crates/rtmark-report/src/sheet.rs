//! Sheets: the parts of a report besides its matrices. Each is a table with a heading, a sentence and
//! charts, with the same texts in HTML and in Markdown.

use std::fmt::Write as _;

use crate::markdown::{code, escaped};
use crate::notes::one_line;

/// A table with its heading and its charts.
#[derive(Debug, Default)]
pub struct Sheet {
    /// The target of links within the page.
    pub id: String,
    pub title: String,
    /// A description of its contents, in sentences.
    pub about: String,
    pub place: Place,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub charts: Vec<Chart>,
}

/// How a sheet is placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// On its own.
    #[default]
    Open,
    /// Folded until requested.
    Folded,
    /// Below the previous sheet, with a smaller heading.
    Below,
}

/// The kind of cells in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    /// Shell commands.
    Code,
}

#[derive(Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// The kernel whose column it is.
    pub kernel: Option<String>,
}

/// A row, with its subject for filters.
#[derive(Debug, Default)]
pub struct Row {
    pub kernel: Option<String>,
    pub scenario: Option<String>,
    pub cells: Vec<Cell>,
}

#[derive(Debug)]
pub struct Cell {
    pub text: String,
    /// Whether it differs from the others of its kind.
    pub marked: bool,
}

/// A chart of figures.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    /// The quantities on the axes.
    pub across: String,
    pub up: String,
    pub scales: Scales,
    /// Names of positions on the horizontal axis, if they are not numbers.
    pub places: Vec<String>,
    pub lines: Vec<Line>,
}

/// How a chart's axes are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scales {
    /// Both linear, the vertical one from zero.
    Even,
    /// Both logarithmic: proportional growth is a straight line.
    Growth,
    /// The share of samples that take at least each length, on a logarithmic vertical axis.
    Exceedance,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// From point to point, with dots.
    Line,
    /// In steps, level up to the next point.
    Steps,
    /// As the edge of a band whose other edge is the previous line.
    Band,
}

/// The points of one line.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    /// The kernel, which determines the look.
    pub kernel: Option<String>,
    pub style: Style,
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// Creates the distribution of shares that are at least as long, at each length that occurs.
    /// `counts` has each length with its number of occurrences, the shortest first.
    pub fn exceedance(
        name: impl Into<String>,
        kernel: Option<String>,
        counts: impl IntoIterator<Item = (f64, u64)>,
    ) -> Self {
        let counts: Vec<_> = counts.into_iter().filter(|(_, times)| *times > 0).collect();
        let total: u64 = counts.iter().map(|(_, times)| times).sum();
        let mut left = total;
        let point = |(length, times): (f64, u64)| {
            let part = left as f64 / total as f64;
            left -= times;
            (length, part)
        };
        let points = counts.into_iter().map(point).collect();
        Self { name: name.into(), kernel, style: Style::Steps, points }
    }

    /// Returns the least length that this share of all does not exceed (nearest-rank rule).
    pub fn percentile(&self, part: f64) -> Option<(f64, f64)> {
        // After a point, the remaining share is that of the next one.
        let next = |at: usize| self.points.get(at + 1).map_or(0.0, |point| point.1);
        let found = (0..self.points.len()).find(|at| 1.0 - next(*at) >= part - 1e-12);
        found.and_then(|at| self.points.get(at).copied())
    }
}

impl Column {
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Kind::Text, kernel: None }
    }

    pub fn number(name: impl Into<String>) -> Self {
        Self { kind: Kind::Number, ..Self::text(name) }
    }

    pub fn code(name: impl Into<String>) -> Self {
        Self { kind: Kind::Code, ..Self::text(name) }
    }

    pub fn of(self, kernel: &str) -> Self {
        Self { kernel: Some(kernel.to_owned()), ..self }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text: one_line(&text), marked: false }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self { text: one_line(text), marked: false }
    }
}

impl Row {
    pub fn new<const N: usize>(cells: [String; N]) -> Self {
        Self { cells: cells.map(Cell::from).into(), ..Self::default() }
    }

    pub fn kernel(self, kernel: &str) -> Self {
        Self { kernel: Some(kernel.to_owned()), ..self }
    }

    pub fn scenario(self, scenario: &str) -> Self {
        Self { scenario: Some(scenario.to_owned()), ..self }
    }
}

impl Sheet {
    pub fn new(id: impl Into<String>, title: impl Into<String>, about: impl Into<String>) -> Self {
        let (id, title, about) = (id.into(), title.into(), about.into());
        Self { id, title: one_line(&title), about: one_line(&about), ..Self::default() }
    }

    /// Renders it as GitHub-flavoured Markdown, without the charts.
    pub fn markdown(&self) -> String {
        let level = if self.place == Place::Below { "####" } else { "###" };
        let mut text = format!("{level} {}\n\n", escaped(&self.title));
        if !self.about.is_empty() {
            let _ = writeln!(text, "{}\n", escaped(&self.about));
        }
        if self.rows.is_empty() {
            return text;
        }
        let mut heads = String::new();
        for column in &self.columns {
            let _ = write!(heads, " {} |", escaped(&column.name));
        }
        let rules: String = self
            .columns
            .iter()
            .map(|column| if column.kind == Kind::Number { "--:|" } else { "---|" })
            .collect();
        let _ = writeln!(text, "|{heads}\n|{rules}");
        for row in &self.rows {
            text.push('|');
            for (cell, column) in row.cells.iter().zip(&self.columns) {
                let shown = match (column.kind, cell.marked) {
                    (_, _) if cell.text.is_empty() => String::new(),
                    (Kind::Code, _) => code(&cell.text),
                    (_, true) => format!("**{}**", escaped(&cell.text)),
                    (_, false) => escaped(&cell.text),
                };
                let _ = write!(text, " {shown} |");
            }
            text.push('\n');
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceedance_matches_a_direct_count() {
        let lengths = [10_u64, 10, 10, 12, 12, 15, 40, 40, 40, 99];
        let counts = [(10.0, 3), (12.0, 2), (15.0, 1), (40.0, 3), (99.0, 1)];
        let line = Line::exceedance("a", None, counts);
        for (length, part) in &line.points {
            let as_long = lengths.iter().filter(|value| **value as f64 >= *length).count();
            assert!((part - as_long as f64 / 10.0).abs() < 1e-9, "{length}");
        }
        for (part, rank) in [(0.5, 5), (0.9, 9), (0.99, 10), (1.0, 10), (0.1, 1), (0.31, 4)] {
            let (length, _) = line.percentile(part).expect("a length");
            assert_eq!(length as u64, lengths[rank - 1], "{part}");
        }
        assert!(Line::exceedance("b", None, []).percentile(0.5).is_none());
    }
}
