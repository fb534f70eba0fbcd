//! Reads rtmark's own CSV and JSON, described in docs/import.md: for figures that no suite printed, and
//! for programs that generate them.

use rtmark_model::{
    Basis, Counted, Disturbance, Expected, FlagKind, Overhead, Percentile, Samples, ScenarioId,
    Span,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{LineMatch, Reader};
use crate::Suite;
use crate::lines::Line;
use crate::log::Log;
use crate::row::{Figures, Number, Row, StatedFacts};

/// The supported version of the JSON format.
const VERSION: u64 = 1;

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

/// Returns the basis of a unit, and the unit's size in that basis.
fn unit(name: &str) -> Option<(Basis, f64)> {
    Some(match name {
        "cycles" => (Basis::Cycles, 1.0),
        "instructions" => (Basis::Instructions, 1.0),
        "ns" => (Basis::Ns, 1.0),
        "us" => (Basis::Ns, 1e3),
        "ms" => (Basis::Ns, 1e6),
        "s" => (Basis::Ns, 1e9),
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

    /// Returns the fields that rows of one series share.
    fn identity(&self) -> Vec<(&'static str, String)> {
        let mut identity = self.texts.clone();
        identity.retain(|(name, _)| *name != "value");
        identity
    }

    /// Returns the row without its samples. If it has some, it states no figures that follow from them.
    fn row<S>(&self, samples: Option<&S>, line: u64) -> Result<(Row, f64), String> {
        let stated = FIGURES.iter().find(|column| !self.get(column).is_empty());
        if let Some(column) = stated.filter(|_| samples.is_some()) {
            return Err(format!("has both samples and {column}: give one or the other"));
        }
        let scenario = self.get("scenario");
        let scenario: ScenarioId = scenario.parse().map_err(|error| format!("{error}"))?;
        let (basis, scale) = unit(self.get("unit")).ok_or_else(|| {
            let shown: String = self.get("unit").chars().take(24).collect();
            format!("`{shown}` is not a unit; use cycles, instructions, ns, us, ms or s")
        })?;
        let mut row = Row::new(Suite::Rtmark, scenario.as_str(), line, basis);
        for column in ["first", "min", "mean", "max", "sigma", "resolution", "p50", "p90", "p99"] {
            let text = self.get(column);
            if text.is_empty() {
                continue;
            }
            let number = Number::read(text).ok_or_else(|| format!("{column} is no number"))?;
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
                &number.scaled(scale),
            );
        }
        if let Some(text) = self.optional("count") {
            let count = text.parse().map_err(|_| "count is no number".to_owned())?;
            if let Some(summary) = row.summary_mut() {
                summary.count = Some(count);
            }
        }
        if let Some(why) = self.optional("flag") {
            row.flag(FlagKind::Failed, format!("the file says: {why}"));
        }
        row.facts.extend(self.optional("note").map(|note| ("note".to_owned(), note)));
        row.stated = Some(Box::new(self.stated_facts(scenario)?));
        Ok((row, scale))
    }

    fn stated_facts(&self, scenario: ScenarioId) -> Result<StatedFacts, String> {
        let clock = self.optional("clock_hz").map(|text| text.parse::<u32>());
        let clock = clock.transpose().map_err(|_| "clock_hz is not a 32-bit number".to_owned())?;
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
    header: Option<Vec<&'static str>>,
    /// The number of cells in rows that are skipped because their header is not valid.
    skipped_columns: Option<usize>,
    open: Option<Open>,
}

/// The series whose samples arrive line by line.
#[derive(Debug)]
struct Open {
    section: usize,
    identity: Vec<(&'static str, String)>,
    series: Series,
}

/// A row and its samples so far.
#[derive(Debug)]
struct Series {
    row: Row,
    samples: Samples,
    /// Whole units of the row's basis in one unit of the file.
    scale: f64,
    /// Samples that were no whole number.
    rounded: u64,
}

fn cells(text: &str) -> Option<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    let record = reader.records().next()?.ok()?;
    Some(record.iter().map(str::to_owned).collect())
}

/// The kinds of first line of such a file.
enum Header {
    Known(Vec<&'static str>),
    /// A header with a column that is unknown or occurs twice, and what is wrong with it.
    Refused(String),
    None,
}

fn header(text: &str) -> Header {
    let text = text.to_lowercase();
    if !text.contains("scenario") || !text.contains("unit") {
        return Header::None;
    }
    let names = |text: &str| -> Vec<String> {
        let cells = cells(text).unwrap_or_default();
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
        match header(text) {
            Header::Known(columns) => {
                self.end(log);
                // Information from other logs in the same file does not apply to these rows.
                log.open_section();
                (self.header, self.skipped_columns) = (Some(columns), None);
                return LineMatch::Consumed;
            }
            Header::Refused(problem) => {
                self.end(log);
                (self.header, self.skipped_columns) = (None, cells(text).map(|cells| cells.len()));
                let what =
                    format!("a header of rtmark's CSV, whose rows are not read because {problem}");
                log.report_dropped(line, &what);
                return LineMatch::Consumed;
            }
            Header::None => {}
        }
        if let Some(skipped_columns) = self.skipped_columns
            && text.contains(',')
            && cells(text).is_some_and(|cells| cells.len() == skipped_columns)
        {
            // One warning covers all of them.
            log.unreadable += 1;
            return LineMatch::Consumed;
        }
        let Some(columns) = &self.header else { return LineMatch::NotMine };
        if text.is_empty() || text.starts_with('#') || !text.contains(',') {
            return LineMatch::NotMine;
        }
        let cells = cells(text).unwrap_or_default();
        if cells.len() != columns.len() {
            let problem =
                format!("has {} fields where the first line has {}", cells.len(), columns.len());
            log.report_unreadable(line, Suite::Rtmark, &problem);
            return LineMatch::Consumed;
        }
        let fields = Fields { texts: columns.iter().copied().zip(cells).collect() };
        let value = fields.optional("value");
        let same = self.open.as_ref().is_some_and(|open| open.identity == fields.identity());
        if !same || value.is_none() {
            self.end(log);
            match fields.row(value.as_ref(), line.number) {
                Ok((row, _)) if value.is_none() => log.row(row),
                Ok((row, scale)) => {
                    let identity = fields.identity();
                    let section = log.reserve();
                    self.open = Some(Open { section, identity, series: Series::new(row, scale) });
                }
                Err(problem) => log.report_unreadable(line, Suite::Rtmark, &problem),
            }
        }
        if let Some((open, value)) = self.open.as_mut().zip(value) {
            match Number::read(&value) {
                Some(number) => open.series.push(number),
                None => log.report_unreadable(line, Suite::Rtmark, "value is not a number"),
            }
        }
        LineMatch::Consumed
    }

    fn end(&mut self, log: &mut Log) {
        if let Some(open) = self.open.take() {
            let row = open.series.finish(log);
            log.row_of(open.section, row);
        }
    }
}

impl Series {
    const fn new(row: Row, scale: f64) -> Self {
        Self { row, samples: Samples::new(), scale, rounded: 0 }
    }

    fn push(&mut self, number: Number) {
        let number = number.scaled(self.scale);
        // Problems with it become flags of the series.
        self.row.set(|_, _| (), &number);
        match number.value {
            Some(value) if value >= 0.0 && value < u64::MAX as f64 => {
                if self.samples.runs().len() as u64 >= MAX_SAMPLES {
                    self.row.flag(FlagKind::Incomplete, "not all of its samples could be kept");
                } else {
                    let whole = value.round();
                    // Scaling changes a whole number by less.
                    let inexact = (4.0 * f64::EPSILON * whole).max(1e-9);
                    self.rounded += u64::from((value - whole).abs() > inexact);
                    self.samples.push(whole as u64, Disturbance::NONE);
                }
            }
            _ => self.row.flag(FlagKind::Incomplete, "impossible samples are left out"),
        }
    }

    /// Returns the row with its samples, and says if they were rounded.
    fn finish(self, log: &mut Log) -> Row {
        let Self { mut row, samples, scale, rounded } = self;
        if rounded > 0 {
            let said = format!("samples rounded to whole {}: {rounded}", row.basis);
            log.warn(row.line, format!("{}: {said}", row.name));
            row.facts.insert("rounded".to_owned(), said);
        }
        let resolution = row.summary().and_then(|summary| summary.resolution).unwrap_or(scale);
        row.figures = Figures::Samples(samples, resolution.clamp(1.0, 1e18) as u64);
        row
    }
}

/// The JSON format, read as a whole.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document<'a> {
    rtmark_import: u64,
    /// Defaults for all rows.
    #[serde(borrow, default)]
    defaults: Option<&'a RawValue>,
    #[serde(borrow)]
    rows: Vec<&'a RawValue>,
}

impl<'a> Document<'a> {
    /// Tells whether the beginning of a file looks like this format.
    pub fn is_recognised(head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
            && text.contains("\"rtmark_import\"")
    }

    /// Parses the frame; rows are parsed separately, so that a bad one does not affect the others.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let document: Self = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| error.to_string())?;
        if document.rtmark_import == VERSION {
            Ok(document)
        } else {
            let found = document.rtmark_import;
            Err(format!(
                "it has version {found} of the `rtmark_import` format; this rtmark reads version {VERSION}"
            ))
        }
    }

    /// Passes the rows to a log.
    pub fn read(&self, text: &str, log: &mut Log) {
        let mut finder = Finder::new(text);
        let mut defaults = Fields::default();
        if let Some(raw) = self.defaults {
            match fields(raw.get()) {
                Ok((found, _)) => defaults = found,
                Err(problem) => {
                    log.warn(
                        finder.line_of(raw),
                        format!("defaults: {problem}; they are passed over"),
                    );
                }
            }
        }
        for raw in &self.rows {
            let number = finder.line_of(raw);
            let line =
                Line { number, raw: raw.get().chars().take(120).collect(), ..Line::default() };
            let (mut found, samples) = match fields(raw.get()) {
                Ok(read) => read,
                Err(problem) => {
                    log.report_unreadable(&line, Suite::Rtmark, &problem);
                    continue;
                }
            };
            for (name, text) in &defaults.texts {
                if found.get(name).is_empty() {
                    found.texts.push((name, text.clone()));
                }
            }
            match found.row(samples.as_ref(), number) {
                Ok((mut row, scale)) => {
                    if let Some(values) = samples {
                        let mut series = Series::new(row, scale);
                        for value in values {
                            series.push(value);
                        }
                        row = series.finish(log);
                    }
                    log.row(row);
                }
                Err(problem) => log.report_unreadable(&line, Suite::Rtmark, &problem),
            }
        }
    }
}

/// Finds the line numbers of values borrowed from a text, in order.
struct Finder<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
}

impl<'a> Finder<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, offset: 0, line: 1 }
    }

    fn line_of(&mut self, raw: &RawValue) -> u64 {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        let between = self.text.get(self.offset..offset).unwrap_or_default();
        self.line += between.matches('\n').count() as u64;
        self.offset += between.len();
        self.line
    }
}

/// Returns the fields of a JSON object, and its samples.
fn fields(text: &str) -> Result<(Fields, Option<Vec<Number>>), String> {
    let object: std::collections::BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut fields = Fields::default();
    let mut samples = None;
    for (name, raw) in object {
        let is_absent = raw.get() == "null" || (name == "flag" && raw.get() == "false");
        if name == "samples" && !is_absent {
            let values: Vec<&RawValue> =
                serde_json::from_str(raw.get()).map_err(|_| "samples is not a list".to_owned())?;
            let numbers = values.iter().map(|raw| Number::read(raw.get()));
            let numbers: Option<Vec<_>> = numbers.collect();
            samples = Some(numbers.ok_or("a sample is not a number")?);
            continue;
        }
        let known = ["samples"].iter().chain(COLUMNS);
        let column = known.copied().find(|column| *column == name && *column != "value");
        let column = column.ok_or_else(|| {
            format!("unknown key `{}`", name.chars().take(40).collect::<String>().escape_debug())
        })?;
        if is_absent {
            continue;
        }
        if raw.get().starts_with(['{', '[']) {
            return Err(format!("{name} must be a text or a number"));
        }
        let text = match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => text,
            Err(_) => raw.get().to_owned(),
        };
        fields.texts.push((column, text));
    }
    Ok((fields, samples))
}
