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
    /// What is to come belongs to another part of the log.
    over: bool,
    /// The current section has a row, or somebody has begun one there.
    used: bool,
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
            over: false,
            used: false,
            full: false,
        }
    }

    /// What the current part of the log says of all its rows.
    pub fn section(&mut self) -> &mut Section {
        if self.sections.is_empty() || (self.over && self.used) {
            self.sections.push(Section::default());
            self.used = false;
        }
        self.over = false;
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    /// The number of the current section.
    pub fn current(&self) -> usize {
        self.sections.len().saturating_sub(1)
    }

    /// Whether rows stand in the current section.
    pub fn in_use(&self) -> bool {
        self.used && !self.over
    }

    /// Another part begins, as after a boot: nothing that was said before holds there.
    pub fn new_section(&mut self) -> &mut Section {
        if self.used {
            self.over = true;
        } else {
            *self.section() = Section::default();
        }
        self.section()
    }

    /// A part of which something may have been said already: the current one where nothing stands yet,
    /// else a new one.
    pub fn open_section(&mut self) -> &mut Section {
        self.over |= self.used;
        self.section()
    }

    /// The current part is over: what follows belongs to another one.
    pub fn end_section(&mut self) {
        self.over = true;
    }

    /// The current part, if that is one of this kernel; else another one.
    pub fn of_kernel(&mut self, kernel: &str) -> &mut Section {
        let section = self.section();
        if section.kernel.as_deref().is_some_and(|known| known != kernel) {
            self.new_section();
        }
        let section = self.section();
        section.kernel.get_or_insert_with(|| kernel.to_owned());
        section
    }

    /// A row begins here which will be given by [`Self::row_of`] once it is whole.
    pub fn claim(&mut self) -> usize {
        self.section();
        self.used = true;
        self.current()
    }

    pub fn row(&mut self, row: Row) {
        let section = self.claim();
        self.row_of(section, row);
    }

    /// A row of an earlier section.
    pub fn row_of(&mut self, section: usize, mut row: Row) {
        if self.rows.len() >= MOST_ROWS {
            if !self.full {
                self.full = true;
                let message = format!("more than {MOST_ROWS} rows; the rest is passed over");
                self.warn(row.line, message);
            }
            return;
        }
        row.section = section;
        self.rows.push(row);
    }

    /// The last row of a suite in the current section.
    pub fn last(&mut self, suite: Suite) -> Option<&mut Row> {
        if self.over {
            return None;
        }
        let section = self.current();
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
        self.dropped(line, &format!("a row of {suite}, but {what}"));
    }

    /// A line that looks like something that is to be read, and is not.
    pub fn dropped(&mut self, line: &Line, what: &str) {
        self.unreadable += 1;
        let shown: String = line.text().chars().take(120).collect();
        let cut = if line.cut { " (the line is longer than 1 MiB)" } else { "" };
        self.warn(line.number, format!("looks like {what}{cut}: {shown}"));
    }
}
