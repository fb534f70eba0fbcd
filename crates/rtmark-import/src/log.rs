//! The contents of a log read so far: rows, their sections, and warnings.

use crate::Suite;
use crate::lines::Line;
use crate::row::{Row, Section};

/// The number of rows kept of one log; more would not be sensible and would fill the memory.
pub const MAX_ROWS: usize = 200_000;

/// The number of warnings kept of one log; others are only counted.
pub const MAX_WARNINGS: usize = 1_000;

/// A line that looks like a row but cannot be read, or another remark about a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong, with the text of the line.
    pub message: String,
}

/// Collects what format readers find.
#[derive(Debug)]
pub struct Log {
    pub rows: Vec<Row>,
    pub sections: Vec<Section>,
    pub warnings: Vec<Warning>,
    /// The number of warnings that are not in the list.
    pub suppressed_warnings: u64,
    /// The number of lines that looked like a row but could not be read.
    pub unreadable: u64,
    /// Whether what follows belongs to another part of the log.
    over: bool,
    /// Whether the current section has a row, or a reader has begun one there.
    used: bool,
    full: bool,
}

impl Log {
    pub fn new() -> Self {
        Self {
            rows: Vec::new(),
            sections: vec![Section::default()],
            warnings: Vec::new(),
            suppressed_warnings: 0,
            unreadable: 0,
            over: false,
            used: false,
            full: false,
        }
    }

    /// Returns the current section, which holds what the log states for all its rows.
    pub fn section(&mut self) -> &mut Section {
        if self.sections.is_empty() || (self.over && self.used) {
            self.sections.push(Section::default());
            self.used = false;
        }
        self.over = false;
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    /// Returns the number of the current section.
    pub fn current(&self) -> usize {
        self.sections.len().saturating_sub(1)
    }

    /// Tells whether the current section has rows.
    pub fn in_use(&self) -> bool {
        self.used && !self.over
    }

    /// Begins another section, as after a boot: nothing stated before applies to it.
    pub fn new_section(&mut self) -> &mut Section {
        if self.used {
            self.over = true;
        } else {
            *self.section() = Section::default();
        }
        self.section()
    }

    /// Returns a section that may already hold information: the current one if it has no rows, or else
    /// a new one.
    pub fn open_section(&mut self) -> &mut Section {
        self.over |= self.used;
        self.section()
    }

    /// Ends the current section: what follows belongs to another one.
    pub fn end_section(&mut self) {
        self.over = true;
    }

    /// Returns the current section if it is of this kernel, or else another one.
    pub fn of_kernel(&mut self, kernel: &str) -> &mut Section {
        let section = self.section();
        if section.kernel.as_deref().is_some_and(|known| known != kernel) {
            self.new_section();
        }
        let section = self.section();
        section.kernel.get_or_insert_with(|| kernel.to_owned());
        section
    }

    /// Reserves the position of a row that [`Self::row_of`] will add once it is complete.
    pub fn reserve(&mut self) -> usize {
        self.section();
        self.used = true;
        self.current()
    }

    pub fn row(&mut self, row: Row) {
        let section = self.reserve();
        self.row_of(section, row);
    }

    /// Adds a row to an earlier section.
    pub fn row_of(&mut self, section: usize, mut row: Row) {
        if self.rows.len() >= MAX_ROWS {
            if !self.full {
                self.full = true;
                let message = format!("more than {MAX_ROWS} rows; the rest is passed over");
                self.warn(row.line, message);
            }
            return;
        }
        row.section = section;
        self.rows.push(row);
    }

    /// Returns the last row of a suite in the current section.
    pub fn last(&mut self, suite: Suite) -> Option<&mut Row> {
        if self.over {
            return None;
        }
        let section = self.current();
        self.rows.last_mut().filter(|row| row.suite == suite && row.section == section)
    }

    pub fn warn(&mut self, line: u64, message: impl Into<String>) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(Warning { line, message: message.into() });
        } else {
            self.suppressed_warnings += 1;
        }
    }

    /// Reports a line that looks like a row of a suite but is not valid.
    pub fn report_unreadable(&mut self, line: &Line, suite: Suite, what: &str) {
        self.report_dropped(line, &format!("a row of {suite}, but {what}"));
    }

    /// Reports a line that looks like something readable but could not be read.
    pub fn report_dropped(&mut self, line: &Line, what: &str) {
        self.unreadable += 1;
        let shown: String = line.text().chars().take(120).collect();
        let cut = if line.cut { " (the line is longer than 1 MiB)" } else { "" };
        self.warn(line.number, format!("looks like {what}{cut}: {shown}"));
    }
}
