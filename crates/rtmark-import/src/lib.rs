//! Turns existing logs into series.
//!
//! [`import`] reads what other benchmark suites print, whatever surrounds it: boot messages, time
//! stamps, colours, half a line of something else. Each row becomes an [`Answer`] of backend `log` with
//! the span that its suite really times, and with flags if it cannot be right. A line that looks like a
//! row but cannot be read causes a [`Warning`]; the rest is still read.
//!
//! ```
//! use rtmark_import::{Options, import};
//!
//! let log = "[00:01] Take (context switch) : 1\n\
//!            ** Semaphore stats [avg, min, max] in nanoseconds **\n\
//!             Give (no context switch) : 653, 653, 1306\n";
//! let catalogue = rtmark_model::Catalogue::default();
//! let imported = import(log.as_bytes(), "my.log", &catalogue, &Options::default())?;
//! assert_eq!(imported.answers.len(), 1);
//! # Ok::<(), rtmark_import::ImportError>(())
//! ```
//!
//! This crate opens no file, prints nothing, and needs memory in proportion to the rows that it finds,
//! not to the log: lines longer than [`LONGEST_LINE`] are cut, and rows beyond [`MAX_ROWS`] are
//! skipped.

mod form;
mod formats;
mod judge;
mod lines;
mod log;
mod programs;
mod published;
mod row;
mod series;
mod spans;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read as _};

pub use lines::LONGEST_LINE;
pub use log::{MAX_ROWS, MAX_WARNINGS, Warning};
pub use programs::Program;
pub use published::{OtherFigure, Published, published};
pub use rtmark_model::Suite;
use rtmark_model::{Answer, Catalogue, FlagKind, KernelId};
use rtmark_units::Hertz;
pub use spans::{Described, Spans};

use form::form;
use formats::{Document, LineMatch};
use lines::{Line, Lines};
use log::Log;
use row::Row;

/// The longest JSON document that is read, in bytes.
pub const LONGEST_DOCUMENT: u64 = 64 << 20;

/// The longest log that is read, in bytes: a device or a pipe may have no end.
pub const LONGEST_LOG: u64 = 256 << 20;

/// The beginning of a log, in bytes, that shows what it is.
const LONGEST_HEAD: u64 = 4096;

/// The formats that can be read. Logs are recognised by their lines, so a format needs to be given only
/// if two claim the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Zephyr's latency_measure, timing_info and sched_queues, and `recording.csv`.
    Zephyr,
    /// Zephyr's sched.
    ZephyrSched,
    /// Zephyr's sys_kernel.
    ZephyrSysKernel,
    /// Zephyr's app_kernel.
    ZephyrAppKernel,
    /// Zephyr's timer_behavior.
    ZephyrTimer,
    /// Zephyr's ztest benchmarks.
    Ztest,
    /// rtos-benchmark.
    RtosBenchmark,
    /// Thread-Metric.
    ThreadMetric,
    /// ESP-IDF's times.
    EspIdf,
    /// RIOT's benchmarks.
    Riot,
    /// cyclictest.
    Cyclictest,
    /// ChibiOS test reports.
    Chibios,
    /// TI's task-switch example.
    Ti,
    /// RTOSBench.
    Rtosbench,
    /// Our own CSV.
    Csv,
    /// Our own JSON.
    Json,
}

impl Format {
    /// All of them.
    pub const ALL: &[Self] = &[
        // Our own format is identified by its first line, and precedes those that guess.
        Self::Csv,
        Self::Zephyr,
        Self::ZephyrSched,
        Self::ZephyrSysKernel,
        Self::ZephyrAppKernel,
        Self::ZephyrTimer,
        Self::Ztest,
        Self::RtosBenchmark,
        Self::ThreadMetric,
        Self::EspIdf,
        Self::Riot,
        Self::Cyclictest,
        Self::Chibios,
        Self::Ti,
        Self::Rtosbench,
        Self::Json,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zephyr => "zephyr",
            Self::ZephyrSched => "zephyr-sched",
            Self::ZephyrSysKernel => "zephyr-sys-kernel",
            Self::ZephyrAppKernel => "zephyr-app-kernel",
            Self::ZephyrTimer => "zephyr-timer",
            Self::Ztest => "ztest",
            Self::RtosBenchmark => "rtos-benchmark",
            Self::ThreadMetric => "thread-metric",
            Self::EspIdf => "esp-idf",
            Self::Riot => "riot",
            Self::Cyclictest => "cyclictest",
            Self::Chibios => "chibios",
            Self::Ti => "ti",
            Self::Rtosbench => "rtosbench",
            Self::Csv => "csv",
            Self::Json => "json",
        }
    }
}

/// What the user knows about a log, used where the log itself does not say it.
#[derive(Clone, Debug, Default)]
pub struct GivenFacts {
    /// The soc or board.
    pub soc: Option<String>,
    /// The core, as soc files name it.
    pub core: Option<String>,
    /// The clock that counted the cycles. It overrides the log, where clocks are often truncated to
    /// whole megahertz.
    pub clock: Option<Hertz>,
    /// The clock to use if neither that nor the log states one.
    pub fallback_clock: Option<Hertz>,
    /// The kernel.
    pub kernel: Option<KernelId>,
    /// The kernel's version.
    pub version: Option<String>,
    /// The set of build settings.
    pub profile: Option<String>,
}

/// How to read a log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format, if it should not be recognised automatically.
    pub format: Option<Format>,
    /// What the log does not say.
    pub given: GivenFacts,
    /// The version of the program that imports, for the provenance.
    pub rtmark: String,
}

/// The contents of a log.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Its rows in order; that a kernel lacks something is an answer too.
    pub answers: Vec<Answer>,
    /// Lines that could not be read, and other remarks; at most [`MAX_WARNINGS`].
    pub warnings: Vec<Warning>,
    /// The number of further warnings.
    pub suppressed_warnings: u64,
    /// The number of lines that look like a row but could not be read.
    pub unreadable: u64,
    /// The total number of lines.
    pub lines: u64,
    /// The number of rows of each suite.
    pub suites: BTreeMap<Suite, usize>,
}

impl Imported {
    /// Returns the number of flagged rows.
    pub fn flagged(&self) -> usize {
        let flagged = |answer: &&Answer| answer.series().is_some_and(|s| !s.flags.is_empty());
        self.answers.iter().filter(flagged).count()
    }
}

/// The reason why nothing could be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The reader failed.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A JSON document that is not a valid import document.
    #[error("not an import document: {0}")]
    Document(String),
    /// It holds more bytes than that: a document that is too large to be read as a whole, or an endless log.
    #[error("it holds more than {} MiB", .0 >> 20)]
    TooLong(u64),
}

/// A log that has been read, whose rows can be turned into answers one by one.
#[derive(Debug)]
pub struct Reading {
    log: Log,
    lines: u64,
    name: String,
    options: Options,
}

impl Reading {
    /// Returns lines that could not be read, and other remarks; at most [`MAX_WARNINGS`].
    pub fn warnings(&self) -> &[Warning] {
        &self.log.warnings
    }

    /// Returns the number of further warnings.
    pub const fn suppressed_warnings(&self) -> u64 {
        self.log.suppressed_warnings
    }

    /// Returns the number of lines that look like a row but could not be read.
    pub const fn unreadable(&self) -> u64 {
        self.log.unreadable
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.log.rows.len()
    }

    /// Tells whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.log.rows.is_empty()
    }

    /// Returns the first kernel version in the log.
    pub fn version(&self) -> Option<&str> {
        self.log.sections.iter().find_map(|section| section.version.as_deref())
    }

    /// Returns the suites that its rows belong to.
    pub fn suites(&self) -> BTreeSet<Suite> {
        self.log.rows.iter().map(|row| row.suite).collect()
    }

    /// Returns the rows as answers in order, each made on demand: together they need several times the
    /// memory of the rows.
    pub fn answers<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = Answer> + 'a {
        let Self { log, name, options, .. } = self;
        series::answers(&log.rows, &log.sections, std::slice::from_ref(name), catalogue, options)
    }
}

/// Reads a log to its end, and turns all of its rows into answers: see [`read`].
///
/// # Errors
/// Those of [`read`].
pub fn import(
    reader: impl BufRead,
    name: &str,
    catalogue: &Catalogue,
    options: &Options,
) -> Result<Imported, ImportError> {
    let Reading { log, lines, name, options } = read(reader, name, options)?;
    Ok(series::finish(log, lines, &[name], catalogue, &options))
}

/// Reads a log to its end. `name` is its origin, for the provenance of its rows.
///
/// # Errors
/// When the reader fails or has no end, or a JSON document does not have the structure of [`Format::Json`]. The
/// contents of a log never cause an error: lines that cannot be read cause warnings.
pub fn read(
    mut reader: impl BufRead,
    name: &str,
    options: &Options,
) -> Result<Reading, ImportError> {
    let mut log = Log::new();
    // A pipe delivers as little at once as a program writes into it.
    let mut head = Vec::new();
    reader.by_ref().take(LONGEST_HEAD).read_to_end(&mut head)?;
    let document = match options.format {
        Some(format) => format == Format::Json,
        None if !Document::may_begin_with(&head) => false,
        None => {
            // Programs that sort keys print the one that names the format last.
            reader.by_ref().take(LONGEST_DOCUMENT).read_to_end(&mut head)?;
            Document::is_recognised(&head)
        }
    };
    let lines = if document {
        let room = (LONGEST_DOCUMENT + 1).saturating_sub(head.len() as u64);
        reader.take(room).read_to_end(&mut head)?;
        if head.len() as u64 > LONGEST_DOCUMENT {
            return Err(ImportError::TooLong(LONGEST_DOCUMENT));
        }
        let text = String::from_utf8_lossy(&head);
        let document = Document::parse(&text).map_err(ImportError::Document)?;
        document.read(&text, &mut log);
        text.lines().count() as u64
    } else {
        let mut reader = head.as_slice().chain(reader).take(LONGEST_LOG + 1);
        let lines = by_lines(&mut reader, name, options.format, &mut log)?;
        if reader.limit() == 0 {
            return Err(ImportError::TooLong(LONGEST_LOG));
        }
        lines
    };
    // A row that was completed late stands where it began.
    log.rows.sort_by_key(|row| (row.section, row.line));
    log.rows.shrink_to_fit();
    judge::judge(&mut log);
    Ok(Reading { log, lines, name: name.to_owned(), options: options.clone() })
}

form! {
    /// A line with this word is never compared, wherever in a row the word is.
    FAILED = r"\bFAILED\b";
    /// A name followed by a time, as in the rows of suites.
    ROW_OF_ANYBODY = r"^\S.*[:=|,]\s*-?\d+(?:\.\d+)?\s*(?:cycles|ns|nsec|nSec|us|usec|tcs)\b\s*\|?$";
    /// The same with noise in the number.
    DAMAGED_ROW = r"^\S.*[:=|,]\s*\u{fffd}\s*(?:cycles|ns|nsec|nSec|us|usec|tcs)\b";
}

/// Handles a line that no reader took. Among rows it may be one, which should not be lost silently.
fn report_unmatched(line: &Line, log: &mut Log) {
    let text = line.text();
    if line.damaged && (log.in_use() || DAMAGED_ROW.fits(text)) {
        log.report_dropped(line, "a row, but noise is in a number");
    } else if log.in_use() && ROW_OF_ANYBODY.fits(text) {
        log.report_dropped(line, "a row, but in no known form");
    }
}

fn by_lines(
    reader: impl BufRead,
    name: &str,
    format: Option<Format>,
    log: &mut Log,
) -> io::Result<u64> {
    let mut readers = formats::readers(format);
    for reader in &mut readers {
        reader.named(name);
    }
    let mut lines = Lines::new(reader);
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        count = line.number;
        let before = log.rows.len();
        let taken = readers.iter_mut().any(|reader| reader.line(&line, log) == LineMatch::Consumed)
            || readers.iter_mut().any(|reader| reader.unmatched(&line, log) == LineMatch::Consumed);
        if !taken {
            report_unmatched(&line, log);
        } else if line.unended
            && line.raw.ends_with(|last: char| last.is_ascii_digit() || last == '.')
        {
            let message = "the file ends with a number and no line end: if it was cut there, the number is wrong";
            log.warn(line.number, message);
        }
        if line.damaged {
            let of_line = log.rows.iter_mut().skip(before).filter(|row| row.line == line.number);
            of_line
                .for_each(|row| row.flag(FlagKind::Incomplete, "noise is in a number of its line"));
        }
        if FAILED.fits(line.text()) {
            let of_line = log.rows.iter_mut().skip(before).filter(|row| row.line == line.number);
            let has_failed =
                |row: &&mut Row| row.flags.iter().any(|flag| flag.kind == FlagKind::Failed);
            of_line
                .filter(|row| !has_failed(row))
                .for_each(|row| row.flag(FlagKind::Failed, "its line contains FAILED"));
        }
    }
    for reader in &mut readers {
        reader.end(log);
    }
    Ok(count)
}
