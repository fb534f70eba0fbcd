//! What a report holds besides its matrices: tables with a heading, a sentence and charts,
//! whose texts are the same in HTML and in Markdown.

use std::fmt::Write as _;

use serde::Serialize;

use crate::markdown::{code, escaped};
use crate::notes::one_line;

/// A table with its heading, and the charts of it.
#[derive(Debug, Default, Serialize)]
pub struct Sheet {
    /// Where links within the page lead.
    pub id: String,
    pub title: String,
    /// What stands in it, in sentences.
    pub about: String,
    /// Whether it belongs to the sheet before, so that its heading is smaller.
    pub below: bool,
    /// Whether it is shown only when somebody asks for it.
    pub folded: bool,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub charts: Vec<Chart>,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Text,
    Number,
    /// What can be typed into a shell.
    Code,
}

#[derive(Debug, Serialize)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// The kernel whose column it is.
    pub kernel: Option<String>,
}

/// A row, and of what it is, so that filters find it.
#[derive(Debug, Default, Serialize)]
pub struct Row {
    pub kernel: Option<String>,
    pub scenario: Option<String>,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Serialize)]
pub struct Cell {
    pub text: String,
    /// Whether it is not what the others of its kind are.
    pub marked: bool,
}

/// A picture of figures, drawn by the page's script.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    pub title: String,
    /// What the axes are of.
    pub across: String,
    pub up: String,
    /// Whether counts double along the first axis.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub doubling: bool,
    /// Names of the places across, where they are no numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    pub lines: Vec<Line>,
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// From point to point, with dots.
    Line,
    /// Level up to the next point.
    Steps,
    /// The edge of a band; the line before is the other one.
    Band,
    /// A column at each point.
    Columns,
}

/// Points that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub name: String,
    /// The kernel, whose colour it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    pub style: Style,
    pub points: Vec<(f64, f64)>,
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

    /// As GitHub's Markdown, without the charts.
    pub fn markdown(&self) -> String {
        let level = if self.below { "####" } else { "###" };
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
