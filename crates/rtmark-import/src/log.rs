//! What was read of a log so far: rows, the sections they stand in, and warnings.

use crate::Suite;
use crate::lines::Line;
use crate::row::{Row, Section};

/// Rows of one log that are kept; more make no sense and would fill the memory.
pub const MOST_ROWS: usize = 200_000;

/// Warnings of one log that are kept; the rest is counted.
pub const MOST_WARNINGS: usize = 1_000;

/// A line that looks like a row and cannot be read, or another thing to say about a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong, with what stands there.
    pub message: String,
}

/// Takes what format readers find.
#[derive(Debug)]
pub struct Log {
    pub rows: Vec<Row>,
    pub sections: Vec<Section>,
    pub warnings: Vec<Warning>,
    /// Warnings that are not in the list.
    pub unsaid: u64,
    /// Lines that looked like a row and could not be read.
    pub unreadable: u64,
    full: bool,
}

impl Log {
    pub fn new() -> Self {
        Self {
            rows: Vec::new(),
            sections: vec![Section::default()],
            warnings: Vec::new(),
            unsaid: 0,
            unreadable: 0,
            full: false,
        }
    }

    /// What the current part of the log says of all its rows.
    pub fn section(&mut self) -> &mut Section {
        if self.sections.is_empty() {
            self.sections.push(Section::default());
        }
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    /// Another part begins, as after a boot.
    pub fn new_section(&mut self) {
        let number = self.sections.len() - 1;
        let used = self.rows.last().is_some_and(|row| row.section == number);
        // One that nobody used begins anew.
        if used {
            self.sections.push(Section::default());
        } else {
            *self.section() = Section::default();
        }
    }

    pub fn row(&mut self, mut row: Row) {
        if self.rows.len() >= MOST_ROWS {
            if !self.full {
                self.full = true;
                let message = format!("more than {MOST_ROWS} rows; the rest is passed over");
                self.warn(row.line, message);
            }
            return;
        }
        row.section = self.sections.len().saturating_sub(1);
        self.rows.push(row);
    }

    /// The last row of a suite in the current section.
    pub fn last(&mut self, suite: Suite) -> Option<&mut Row> {
        let section = self.sections.len().saturating_sub(1);
        self.rows.last_mut().filter(|row| row.suite == suite && row.section == section)
    }

    pub fn warn(&mut self, line: u64, message: impl Into<String>) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(Warning { line, message: message.into() });
        } else {
            self.unsaid += 1;
        }
    }

    /// A line that looks like a row of a suite and is none.
    pub fn unreadable(&mut self, line: &Line, suite: Suite, what: &str) {
        self.unreadable += 1;
        let shown: String = line.text().chars().take(120).collect();
        let cut = if line.cut { " (the line is longer than 1 MiB)" } else { "" };
        self.warn(line.number, format!("looks like a row of {suite}, but {what}{cut}: {shown}"));
    }
}
