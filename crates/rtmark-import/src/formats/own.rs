//! Reads rtmark's own CSV and JSON, described in docs/import.md: for figures that no suite printed, and
//! for programs that generate them.

mod json;

use std::collections::HashMap;

use csv_core::ReadRecordResult;
use rtmark_model::{
    Basis, Counted, Disturbance, Expected, FlagKind, Overhead, Percentile, Samples, ScenarioId,
    Span,
};

pub use json::Document;

use super::{LineMatch, Reader};
use crate::Suite;
use crate::lines::Line;
use crate::log::{Log, MAX_ROWS};
use crate::row::{Figures, Number, Row, StatedFacts};

/// The number of samples that are kept of one series.
const MAX_SAMPLES: u64 = 1 << 20;

/// What a row without samples may state about those it was made of.
const FIGURES: [&str; 9] = ["first", "min", "mean", "max", "sigma", "p50", "p90", "p99", "count"];

const COLUMNS: &[&str] = &[
    "kernel",
    "version",
    "soc",
    "core",
    "clock_hz",
    "profile",
    "scenario",
    "unit",
    "value",
    "count",
    "first",
    "min",
    "mean",
    "max",
    "sigma",
    "p50",
    "p90",
    "p99",
    "resolution",
    "span",
    "from",
    "to",
    "switches",
    "overhead",
    "flag",
    "note",
];

/// Returns the basis of a unit, and the unit's size in that basis as a power of ten.
fn unit(name: &str) -> Option<(Basis, i32)> {
    Some(match name {
        "cycles" => (Basis::Cycles, 0),
        "instructions" => (Basis::Instructions, 0),
        "ns" => (Basis::Ns, 0),
        "us" => (Basis::Ns, 3),
        "ms" => (Basis::Ns, 6),
        "s" => (Basis::Ns, 9),
        _ => return None,
    })
}

fn overhead(name: &str) -> Option<Overhead> {
    Some(match name {
        "none" => Overhead::None,
        "subtracted" => Overhead::Subtracted,
        "included" => Overhead::Included,
        _ => return None,
    })
}

/// Returns a whole number, however it is written: programs print `48000000.0` and `4.8e+07`, too.
fn whole(text: &str) -> Option<u64> {
    Number::read(text)?.whole().and_then(|(whole, rounded)| (!rounded).then_some(whole))
}

/// Flags a row for a figure that cannot be read, and returns what is wrong with it.
fn flag_unreadable(row: &mut Row, column: &str, text: &str) -> String {
    let problem = format!("{column} is not a number");
    let shown: String = text.chars().take(24).collect();
    row.flag(FlagKind::Incomplete, format!("{problem}: `{}`", shown.escape_debug()));
    problem
}

/// A row without its samples.
struct Parsed {
    row: Row,
    /// The unit of its samples, as a power of ten in the row's basis.
    power: i32,
    /// Figures that could not be read, for each of which the row has a flag.
    unreadable: Vec<String>,
}

/// The fields of a row in either format, still as text.
#[derive(Clone, Debug, Default, PartialEq)]
struct Fields {
    texts: Vec<(&'static str, String)>,
}

impl Fields {
    fn get(&self, column: &str) -> &str {
        let found = self.texts.iter().find(|(name, _)| *name == column);
        found.map_or("", |(_, text)| text.trim())
    }

    fn optional(&self, column: &str) -> Option<String> {
        let text = self.get(column);
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn identity(&self) -> Identity {
        let mut identity = self.texts.clone();
        identity.retain(|(name, _)| *name != "value");
        identity
    }

    /// Returns the row without its samples. If it has some, it states no figures that follow from them.
    fn row(&self, has_samples: bool, line: u64) -> Result<Parsed, String> {
        let stated = FIGURES.iter().find(|column| !self.get(column).is_empty());
        if let Some(column) = stated.filter(|_| has_samples) {
            return Err(format!("has both samples and {column}: give one or the other"));
        }
        let scenario = self.get("scenario");
        let scenario: ScenarioId = scenario.parse().map_err(|error| format!("{error}"))?;
        let (basis, power) = unit(self.get("unit")).ok_or_else(|| {
            let shown: String = self.get("unit").chars().take(24).collect();
            format!("`{shown}` is not a unit; use cycles, instructions, ns, us, ms or s")
        })?;
        let mut row = Row::new(Suite::Rtmark, scenario.as_str(), line, basis);
        let mut unreadable = Vec::new();
        for column in ["first", "min", "mean", "max", "sigma", "resolution", "p50", "p90", "p99"] {
            let text = self.get(column);
            if text.is_empty() {
                continue;
            }
            let Some(number) = Number::read(text) else {
                unreadable.push(flag_unreadable(&mut row, column, text));
                continue;
            };
            row.set(
                |summary, value| match column {
                    "first" => summary.first = value,
                    "min" => summary.min = value,
                    "mean" => summary.mean = value,
                    "max" => summary.max = value,
                    "sigma" => summary.sigma = value,
                    "resolution" => summary.resolution = value,
                    percentile => {
                        let per_cent = percentile.trim_start_matches('p').parse().unwrap_or(50.0);
                        summary
                            .percentiles
                            .extend(value.map(|value| Percentile { per_cent, value }));
                    }
                },
                &number.shifted(power),
            );
        }
        if let Some(text) = self.optional("count") {
            let count = whole(&text);
            if count.is_none() {
                unreadable.push(flag_unreadable(&mut row, "count", &text));
            }
            if let Some(summary) = row.summary_mut() {
                summary.count = count;
            }
        }
        if let Some(why) = self.optional("flag") {
            row.flag(FlagKind::Failed, format!("the file says: {why}"));
        }
        row.facts.extend(self.optional("note").map(|note| ("note".to_owned(), note)));
        row.stated = Some(Box::new(self.stated_facts(scenario)?));
        Ok(Parsed { row, power, unreadable })
    }

    fn stated_facts(&self, scenario: ScenarioId) -> Result<StatedFacts, String> {
        let clock_of = |text: String| {
            let hertz = whole(&text).and_then(|hertz| u32::try_from(hertz).ok());
            hertz.ok_or("clock_hz is not a 32-bit number")
        };
        let clock = self.optional("clock_hz").map(clock_of).transpose()?;
        if clock == Some(0) {
            return Err("clock_hz is 0; leave it out if the clock is not known".into());
        }
        let span = match (self.optional("from"), self.optional("to")) {
            (Some(from), Some(to)) => Some(Span {
                from,
                to,
                counted: Counted::All,
                switches: match self.optional("switches") {
                    Some(text) => {
                        text.parse().map_err(|_| "switches is not a number".to_owned())?
                    }
                    None => 0,
                },
                overhead: match self.optional("overhead") {
                    Some(text) => {
                        overhead(&text).ok_or("overhead must be none, subtracted or included")?
                    }
                    None => Overhead::Included,
                },
                ticks: Expected::Any,
                interrupts: Expected::Any,
            }),
            (None, None) => None,
            _ => return Err("a span needs both from and to".into()),
        };
        let catalogue_span = match self.get("span") {
            "" => false,
            "catalogue" => true,
            _ => {
                return Err(
                    "span must be `catalogue` or empty; use from and to for another one".into()
                );
            }
        };
        Ok(StatedFacts {
            kernel: self.optional("kernel"),
            version: self.optional("version"),
            soc: self.optional("soc"),
            core: self.optional("core"),
            clock,
            profile: self.optional("profile"),
            scenario: Some(scenario),
            span,
            catalogue_span,
        })
    }
}

/// A reader of the CSV format: a header line, then one line for each row or sample.
#[derive(Debug, Default)]
pub struct Csv {
    splitter: Splitter,
    header: Option<Vec<&'static str>>,
    /// The number of cells in rows that are skipped because their header is not valid.
    skipped_columns: Option<usize>,
    /// The series whose samples arrive line by line, with their sections. Those of several may alternate.
    open: Vec<(usize, Series)>,
    /// Where the series of a section and of some fields is among them.
    known: HashMap<(usize, Identity), usize>,
}

/// The fields that rows of one series share.
type Identity = Vec<(&'static str, String)>;

/// A row and its samples so far.
#[derive(Debug)]
struct Series {
    row: Row,
    samples: Samples,
    /// The unit of the file, as a power of ten in the row's basis.
    power: i32,
    /// The power of ten of the last place to which samples are given, at most that of the unit.
    last_place: i32,
    /// Samples that were no whole number.
    rounded: u64,
}

/// Splits lines into cells. A parser is kept from line to line: to make one takes longer than to read a line.
#[derive(Debug)]
struct Splitter {
    parser: csv_core::Reader,
    /// The last line's cells, one after the other without separators and quotes, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Splitter {
    fn default() -> Self {
        // The default of a parser is one without rules.
        Self { parser: csv_core::Reader::new(), text: Vec::new(), ends: Vec::new() }
    }
}

impl Splitter {
    /// Returns the cells of a line, none if it is empty.
    fn cells(&mut self, line: &str) -> Vec<String> {
        self.parser.reset();
        // Room for more than a line has, so that neither is ever full.
        self.text.resize(self.text.len().max(line.len() + 1), 0);
        self.ends.resize(self.ends.len().max(line.len() + 2), 0);
        let (mut input, mut written, mut ended) = (line.as_bytes(), 0, 0);
        loop {
            let (text, ends) = (&mut self.text[written..], &mut self.ends[ended..]);
            let (result, read, more, cells) = self.parser.read_record(input, text, ends);
            (input, written, ended) = (&input[read..], written + more, ended + cells);
            match result {
                // The line has no end in it, so the parser is told next that nothing follows.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    return Vec::new();
                }
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        let mut begin = 0;
        let cell = |end: &usize| {
            let cell = String::from_utf8_lossy(&self.text[begin..*end]).into_owned();
            begin = *end;
            cell
        };
        self.ends[..ended].iter().map(cell).collect()
    }
}

/// The kinds of first line of such a file.
enum Header {
    Known(Vec<&'static str>),
    /// A header with a column that is unknown or occurs twice, and what is wrong with it.
    Refused(String),
    None,
}

fn header(text: &str, splitter: &mut Splitter) -> Header {
    let text = text.to_lowercase();
    if !text.contains("scenario") || !text.contains("unit") {
        return Header::None;
    }
    let mut names = |text: &str| -> Vec<String> {
        let cells = splitter.cells(text);
        cells.iter().map(|name| name.trim().to_owned()).collect()
    };
    let is_header = |names: &[String]| {
        ["scenario", "unit"].iter().all(|needed| names.iter().any(|name| name == needed))
    };
    // Spreadsheets separate columns in these ways, too.
    for (separator, word) in [(';', "semicolons"), ('\t', "tabs")] {
        if is_header(&names(&text.replace(separator, ","))) && text.contains(separator) {
            return Header::Refused(format!("its columns are separated by {word}, not by commas"));
        }
    }
    let names = names(&text);
    if !is_header(&names) {
        return Header::None;
    }
    let mut columns = Vec::new();
    for name in names {
        match COLUMNS.iter().copied().find(|column| *column == name) {
            Some(column) if columns.contains(&column) => {
                return Header::Refused(format!("the column `{column}` occurs twice"));
            }
            Some(column) => columns.push(column),
            None => {
                let shown: String = name.chars().take(40).collect();
                let (shown, known) = (shown.escape_debug(), COLUMNS.join(", "));
                return Header::Refused(format!("`{shown}` is not a column; these are: {known}"));
            }
        }
    }
    Header::Known(columns)
}

impl Reader for Csv {
    fn line(&mut self, line: &Line, log: &mut Log) -> LineMatch {
        let text = line.raw.as_str();
        match header(text, &mut self.splitter) {
            Header::Known(columns) => {
                self.end(log);
                // Information from other logs in the same file does not apply to these rows.
                log.open_section();
                (self.header, self.skipped_columns) = (Some(columns), None);
                return LineMatch::Consumed;
            }
            Header::Refused(problem) => {
                self.end(log);
                (self.header, self.skipped_columns) = (None, Some(self.splitter.cells(text).len()));
                let what =
                    format!("a header of rtmark's CSV, whose rows are not read because {problem}");
                log.report_dropped(line, &what);
                return LineMatch::Consumed;
            }
            Header::None => {}
        }
        if let Some(skipped_columns) = self.skipped_columns
            && text.contains(',')
            && self.splitter.cells(text).len() == skipped_columns
        {
            // One warning covers all of them.
            log.unreadable += 1;
            return LineMatch::Consumed;
        }
        let Some(columns) = &self.header else { return LineMatch::NotMine };
        if text.is_empty() || text.starts_with('#') || !text.contains(',') {
            return LineMatch::NotMine;
        }
        let cells = self.splitter.cells(text);
        if cells.len() != columns.len() {
            let problem =
                format!("has {} fields where the first line has {}", cells.len(), columns.len());
            log.report_unreadable(line, Suite::Rtmark, &problem);
            return LineMatch::Consumed;
        }
        let fields = Fields { texts: columns.iter().copied().zip(cells).collect() };
        match fields.optional("value") {
            Some(value) => self.sample(&fields, &value, line, log),
            None => match fields.row(false, line.number) {
                Ok(Parsed { row, unreadable, .. }) => {
                    log.row(row);
                    report(&unreadable, line, log);
                }
                Err(problem) => log.report_unreadable(line, Suite::Rtmark, &problem),
            },
        }
        LineMatch::Consumed
    }

    fn end(&mut self, log: &mut Log) {
        self.known.clear();
        for (section, series) in std::mem::take(&mut self.open) {
            let row = series.finish(log);
            log.row_of(section, row);
        }
    }
}

fn report(unreadable: &[String], line: &Line, log: &mut Log) {
    for problem in unreadable {
        log.report_unreadable(line, Suite::Rtmark, problem);
    }
}

impl Csv {
    /// Adds a sample to its series, or begins one with it.
    fn sample(&mut self, fields: &Fields, value: &str, line: &Line, log: &mut Log) {
        log.section();
        let key = (log.current(), fields.identity());
        let position = match self.known.get(&key) {
            Some(position) => *position,
            None => match fields.row(true, line.number) {
                Ok(Parsed { row, power, unreadable }) => {
                    report(&unreadable, line, log);
                    if self.open.len() >= MAX_ROWS {
                        self.end(log);
                    }
                    self.open.push((log.reserve(), Series::new(row, power)));
                    let position = self.open.len() - 1;
                    self.known.insert(key, position);
                    position
                }
                Err(problem) => {
                    log.report_unreadable(line, Suite::Rtmark, &problem);
                    return;
                }
            },
        };
        let Some((_, series)) = self.open.get_mut(position) else { return };
        if let Some(number) = Number::read(value) {
            series.push(number);
        } else {
            let problem = flag_unreadable(&mut series.row, "value", value);
            log.report_unreadable(line, Suite::Rtmark, &problem);
        }
    }
}

impl Series {
    const fn new(row: Row, power: i32) -> Self {
        Self { row, samples: Samples::new(), power, last_place: power, rounded: 0 }
    }

    fn push(&mut self, number: Number) {
        let number = number.shifted(self.power);
        // Problems with it become flags of the series.
        self.row.set(|_, _| (), &number);
        let Some((whole, rounded)) = number.whole() else {
            self.row.flag(FlagKind::Incomplete, "impossible samples are left out");
            return;
        };
        if self.samples.runs().len() as u64 >= MAX_SAMPLES {
            self.row.flag(FlagKind::Incomplete, "not all of its samples could be kept");
            return;
        }
        // What a program computed with floats differs from a whole number by less.
        let nearest = whole as f64;
        let inexact = (4.0 * f64::EPSILON * nearest).max(1e-9);
        let lost = number.value.is_none_or(|value| (value - nearest).abs() > inexact);
        self.rounded += u64::from(rounded && lost);
        self.last_place = number.last_place().map_or(self.last_place, |p| p.min(self.last_place));
        self.samples.push(whole, Disturbance::NONE);
    }

    /// Returns the row with its samples, and says if they were rounded.
    fn finish(self, log: &mut Log) -> Row {
        let Self { mut row, samples, last_place, rounded, .. } = self;
        if rounded > 0 {
            let said = format!("samples rounded to whole {}: {rounded}", row.basis);
            log.warn(row.line, format!("{}: {said}", row.name));
            row.facts.insert("rounded".to_owned(), said);
        }
        let stated = row.summary().and_then(|summary| summary.resolution);
        // A clock of which nothing is said is at least as fine as the figures that it gave.
        let resolution = stated.unwrap_or_else(|| 10_f64.powi(last_place));
        row.figures = Figures::Samples(samples, resolution.clamp(1.0, 1e18) as u64);
        row
    }
}

#[cfg(test)]
mod tests {
    use super::Splitter;

    #[test]
    fn each_line_is_split_on_its_own() {
        let mut splitter = Splitter::default();
        // A quote that is never closed does not reach the line after it.
        assert_eq!(splitter.cells(r#"1,"open, 2"#), ["1", "open, 2"]);
        assert_eq!(splitter.cells("a"), ["a"]);
        assert!(splitter.cells("").is_empty());
        assert_eq!(
            splitter.cells(r#""say ""so"", or not",,é,"#),
            [r#"say "so", or not"#, "", "é", ""]
        );
        assert_eq!(splitter.cells(",,,,,,,,"), [""; 9]);
    }
}
