//! Logs that people already have, as series.
//!
//! [`import`] reads what other benchmark suites print, whatever stands around it: boot
//! messages, time stamps, colours, half a line of something else. Each row becomes an
//! [`Answer`] of backend `log` with the span that its suite really times, and with flags
//! where it cannot be what it seems. A line that looks like a row and cannot be read is a
//! [`Warning`]; the rest goes on.
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
//! This crate opens no file, prints nothing, and needs memory in proportion to the rows that
//! it finds, not to the log: lines longer than [`LONGEST_LINE`] are cut, and more than
//! [`MOST_ROWS`] rows are passed over.

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
pub use log::{MOST_ROWS, MOST_WARNINGS, Warning};
pub use programs::Program;
pub use published::{OtherFigure, Published, published};
pub use rtmark_model::Suite;
use rtmark_model::{Answer, Catalogue, FlagKind, KernelId};
use rtmark_units::Hertz;
pub use spans::{Described, Spans};

use form::form;
use formats::{Document, Took};
use lines::{Line, Lines};
use log::Log;
use row::Row;

/// The longest JSON document that is read, in bytes.
pub const LONGEST_DOCUMENT: u64 = 64 << 20;

/// What can be read. A log is recognised by its lines, so that this is needed only where two
/// formats claim the same ones.
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
        // Ours says by its first line what it is, and comes before those that guess.
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

    /// Its name.
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

/// What a log does not say, said by whoever has it. What the log says stands.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The soc or board.
    pub soc: Option<String>,
    /// The core, as soc files name it.
    pub core: Option<String>,
    /// The clock that counted the cycles. This one stands above what the log says, where
    /// clocks are often cut to whole megahertz.
    pub clock: Option<Hertz>,
    /// The clock where neither that nor the log says it.
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
    /// The format, where it is not to be recognised.
    pub format: Option<Format>,
    /// What the log does not say.
    pub told: Told,
    /// The version of the program that imports, for the provenance.
    pub rtmark: String,
}

/// What was found in a log.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Its rows, in their order; what a kernel does not have is an answer, too.
    pub answers: Vec<Answer>,
    /// What could not be read, and other things to say, at most [`MOST_WARNINGS`].
    pub warnings: Vec<Warning>,
    /// Warnings beyond those.
    pub unsaid: u64,
    /// Lines that look like a row and could not be read.
    pub unreadable: u64,
    /// Lines in all.
    pub lines: u64,
    /// How many rows each suite has.
    pub suites: BTreeMap<Suite, usize>,
}

impl Imported {
    /// How many rows have a flag.
    pub fn flagged(&self) -> usize {
        let flagged = |answer: &&Answer| answer.series().is_some_and(|s| !s.flags.is_empty());
        self.answers.iter().filter(flagged).count()
    }
}

/// Why nothing could be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The reader failed.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// A JSON document that is not what it says.
    #[error("no import document: {0}")]
    Document(String),
    /// A document too large to be read as a whole.
    #[error("a JSON document of more than {} MiB", LONGEST_DOCUMENT >> 20)]
    TooLong,
}

/// A log that was read: its rows, which become answers one by one.
#[derive(Debug)]
pub struct Reading {
    log: Log,
    lines: u64,
    name: String,
    options: Options,
}

impl Reading {
    /// What could not be read, and other things to say, at most [`MOST_WARNINGS`].
    pub fn warnings(&self) -> &[Warning] {
        &self.log.warnings
    }

    /// Warnings beyond those.
    pub const fn unsaid(&self) -> u64 {
        self.log.unsaid
    }

    /// Lines that look like a row and could not be read.
    pub const fn unreadable(&self) -> u64 {
        self.log.unreadable
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.log.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.log.rows.is_empty()
    }

    /// The first version of a kernel that the log tells.
    pub fn version(&self) -> Option<&str> {
        self.log.sections.iter().find_map(|section| section.version.as_deref())
    }

    /// The suites that its rows are of.
    pub fn suites(&self) -> BTreeSet<Suite> {
        self.log.rows.iter().map(|row| row.suite).collect()
    }

    /// The rows as answers, in their order, each made when it is asked for: together they need several
    /// times the memory of the rows.
    pub fn answers<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = Answer> + 'a {
        let Self { log, name, options, .. } = self;
        series::answers(&log.rows, &log.sections, std::slice::from_ref(name), catalogue, options)
    }
}

/// Reads a log to its end, and makes all of its rows answers: see [`read`].
///
/// # Errors
/// As [`read`].
pub fn import(
    reader: impl BufRead,
    name: &str,
    catalogue: &Catalogue,
    options: &Options,
) -> Result<Imported, ImportError> {
    let Reading { log, lines, name, options } = read(reader, name, options)?;
    Ok(series::finish(log, lines, &[name], catalogue, &options))
}

/// Reads a log to its end. `name` is where it is from, for the provenance of its rows.
///
/// # Errors
/// When the reader fails, or a JSON document has not the form of [`Format::Json`]. Nothing in
/// a log is an error: what cannot be read is a warning.
pub fn read(
    mut reader: impl BufRead,
    name: &str,
    options: &Options,
) -> Result<Reading, ImportError> {
    let mut log = Log::new();
    let recognised = |reader: &mut dyn BufRead| -> io::Result<bool> {
        let head = reader.fill_buf()?;
        Ok(Document::recognised(head.get(..head.len().min(4096)).unwrap_or_default()))
    };
    let document = match options.format {
        Some(format) => format == Format::Json,
        None => recognised(&mut reader)?,
    };
    let lines = if document {
        let mut bytes = Vec::new();
        reader.take(LONGEST_DOCUMENT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LONGEST_DOCUMENT {
            return Err(ImportError::TooLong);
        }
        let text = String::from_utf8_lossy(&bytes);
        let document = Document::parse(&text).map_err(ImportError::Document)?;
        document.read(&text, &mut log);
        text.lines().count() as u64
    } else {
        by_lines(reader, name, options.format, &mut log)?
    };
    log.rows.sort_by_key(|row| row.section);
    log.rows.shrink_to_fit();
    judge::judge(&mut log);
    Ok(Reading { log, lines, name: name.to_owned(), options: options.clone() })
}

form! {
    /// What says so is never compared, wherever in a row it stands.
    FAILED = r"\bFAILED\b";
    /// A name and a time behind it, as rows of suites have them.
    ROW_OF_ANYBODY = r"^\S.*[:=|,]\s*-?\d+(?:\.\d+)?\s*(?:cycles|ns|nsec|nSec|us|usec|tcs)\b\s*\|?$";
}

/// A line that nobody took. Among rows it may be one, which nobody should lose without a word.
fn left_over(line: &Line, log: &mut Log) {
    if log.in_use() && ROW_OF_ANYBODY.fits(line.text()) {
        log.dropped(line, "a row, but no form that is known");
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
        let taken = readers.iter_mut().any(|reader| reader.line(&line, log) == Took::Line)
            || readers.iter_mut().any(|reader| reader.left(&line, log) == Took::Line);
        if !taken {
            left_over(&line, log);
        }
        if FAILED.fits(line.text()) {
            let of_line = log.rows.iter_mut().skip(before).filter(|row| row.line == line.number);
            let told = |row: &&mut Row| row.flags.iter().any(|flag| flag.kind == FlagKind::Failed);
            of_line
                .filter(|row| !told(row))
                .for_each(|row| row.flag(FlagKind::Failed, "its line says FAILED"));
        }
    }
    for reader in &mut readers {
        reader.end(log);
    }
    Ok(count)
}
