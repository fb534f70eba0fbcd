//! Renders rows of other suites' logs: one line each, with the equal scenario or the reason why there
//! is none.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use rtmark_model::{Answer, Basis, Catalogue, Key, Series, UNSTATED};
use rtmark_units::Nanoseconds;

use crate::matrix::{from_log, grouped, short_time};
use crate::notes::one_line;
use crate::sheet::{Column, Row, Sheet};
use crate::table::folded;

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();

/// The longest row name that fits into the name column.
const NAME: usize = 52;

/// Returns the figure of a summary or of samples, with the statistic that it is.
pub fn figure(series: &Series) -> Option<(String, f64)> {
    if let Some(summary) = series.readings.summarised() {
        return summary.typical().map(|(statistic, value)| (statistic.to_string(), value));
    }
    series.statistics().map(|statistics| ("median".to_owned(), statistics.typical() as f64))
}

/// Returns the nanoseconds that the log states along with a figure in cycles. Both were truncated, and
/// the time keeps more digits if the clock is slower than 1 GHz.
fn printed(series: &Series, value: f64) -> Option<f64> {
    let summary = series.readings.summarised()?;
    let (_, typical) = summary.typical()?;
    let fits = series.basis == Basis::Cycles && typical > 0.0;
    summary.ns.filter(|_| fits).map(|ns| ns * value / typical)
}

/// Returns the figure as time, if the log states it or the clock is known.
pub fn nanoseconds(series: &Series, value: f64) -> Option<f64> {
    match series.basis {
        Basis::Ns => Some(value),
        Basis::Cycles => printed(series, value)
            .or_else(|| (series.clock.0 > 0).then(|| value * 1e9 / f64::from(series.clock.0))),
        Basis::Instructions => None,
    }
}

/// Returns the figure in cycles, if the clock is known.
pub fn cycles(series: &Series, value: f64) -> Option<f64> {
    let clock = f64::from(series.clock.0);
    match series.basis {
        Basis::Cycles => {
            let finer = printed(series, value).map(|ns| ns * clock / 1e9);
            // Use the time if both agree, as it is more precise.
            let fits = |finer: &f64| (finer - value).abs() <= 1.0 + value * 0.01;
            Some(finer.filter(|finer| clock > 0.0 && clock < 1e9 && fits(finer)).unwrap_or(value))
        }
        Basis::Ns if clock > 0.0 => Some(value * clock / 1e9),
        _ => None,
    }
}

/// Formats a number with one decimal if it has any.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        grouped(value as u64)
    } else {
        format!("{value:.1}")
    }
}

pub fn time(ns: f64) -> String {
    if (0.0..9.5).contains(&ns) && ns.fract() != 0.0 {
        format!("{ns:.2} ns")
    } else {
        short_time(Nanoseconds(ns.max(0.0).round().min(1.8e19) as u64))
    }
}

/// Renders imported answers in their order, one line a row, with a heading wherever kernel, version,
/// soc, clock or file change.
pub fn imported(answers: &[Answer], catalogue: &Catalogue, width: usize) -> String {
    ImportedRows::new(catalogue, width).add(answers)
}

/// Renders imported answers incrementally: those added together have columns of equal width.
#[derive(Debug)]
pub struct ImportedRows<'a> {
    catalogue: &'a Catalogue,
    width: usize,
    /// The heading above the last row.
    last: String,
}

impl<'a> ImportedRows<'a> {
    /// Creates a renderer for the given text width.
    pub const fn new(catalogue: &'a Catalogue, width: usize) -> Self {
        Self { catalogue, width, last: String::new() }
    }

    /// Returns the lines of the next rows.
    pub fn add(&mut self, answers: &[Answer]) -> String {
        let mut text = String::new();
        let width = self.width;
        let shown: Vec<_> =
            answers.iter().map(|answer| figure_and_remark(answer, self.catalogue)).collect();
        let figures = shown.iter().map(|(figure, _)| figure.chars().count()).max().unwrap_or(0);
        let names: Vec<_> = answers.iter().map(name).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(NAME);
        for ((answer, name), (figure, remark)) in answers.iter().zip(names).zip(shown) {
            let heading = heading(answer);
            // An answer without figures has less provenance.
            let continues_block = answer.series().is_none() && self.last.starts_with(&heading);
            if heading != self.last && !continues_block {
                let gap = if self.last.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{gap}{HEADING}{heading}{HEADING:#}");
                self.last = heading;
            }
            // A name that is longer than its column gets a line of its own.
            let name = if name.chars().count() > widest {
                let _ = writeln!(text, "{name}");
                ""
            } else {
                name.as_str()
            };
            let line = format!("{name:widest$}  {figure:>figures$}");
            let bad = answer.series().is_some_and(|series| !series.flags.is_empty());
            let style = if bad { BAD } else { ASIDE };
            let room = width.saturating_sub(line.chars().count() + 3);
            if remark.chars().count() <= room {
                let _ = writeln!(text, "{line}  {style}{remark}{style:#}");
            } else {
                let _ = writeln!(text, "{line}");
                for part in folded(&remark, width.saturating_sub(4)).lines() {
                    let _ = writeln!(text, "    {style}{}{style:#}", part.trim_start());
                }
            }
        }
        text
    }
}

/// Renders the rows of logs among these answers as a table of a report, in their order.
pub fn sheet(answers: &[Answer], catalogue: &Catalogue) -> Option<Sheet> {
    let rows: Vec<Row> = rows(answers, catalogue).collect();
    (!rows.is_empty()).then(|| Sheet { rows, ..empty_sheet() })
}

/// Returns that table without its rows.
pub fn empty_sheet() -> Sheet {
    let about = "The rows of other suites\u{2019} logs in their order, each with its own clock. \
                 A figure with a remark in place of a scenario is not compared with anything.";
    let mut sheet = Sheet::new("imported", "Rows of logs", about);
    let texts = ["row", "kernel", "chip", "clock", "statistic"].map(Column::text);
    let numbers = ["figure", "time"].map(Column::number);
    sheet.columns = texts.into_iter().chain(numbers).collect();
    sheet.columns.push(Column::text("equal or similar to"));
    sheet
}

/// Returns its rows one at a time, as there may be a million.
pub fn rows(answers: &[Answer], catalogue: &Catalogue) -> impl Iterator<Item = Row> {
    let from_logs = answers.iter().filter(|answer| from_log(answer));
    from_logs.map(|answer| row(answer, catalogue))
}

fn row(answer: &Answer, catalogue: &Catalogue) -> Row {
    let key = answer.key();
    let series = answer.series();
    let figure = series.and_then(|series| Some((series, figure(series)?)));
    let clock = series.filter(|series| series.clock.0 > 0).map(|series| series.clock);
    let (_, remark) = figure_and_remark(answer, catalogue);
    let (statistic, count, took) = match figure {
        Some((series, (statistic, value))) => (
            statistic,
            format!("{} {}", number(value), series.basis),
            nanoseconds(series, value).map(time).unwrap_or_default(),
        ),
        None => (String::new(), figure_and_remark(answer, catalogue).0, String::new()),
    };
    let mut kernel = format!("{} {}", key.kernel, key.version);
    if let Some(profile) = profile(key) {
        let _ = write!(kernel, ", {profile}");
    }
    let row = Row::new([
        name(answer),
        kernel,
        key.soc.clone(),
        clock.map(|clock| clock.to_string()).unwrap_or_default(),
        statistic,
        count,
        took,
        remark,
    ]);
    row.kernel(key.kernel.as_str()).scenario(key.scenario.as_str())
}

/// Returns the figure of a row, and the remark about it.
fn figure_and_remark(answer: &Answer, catalogue: &Catalogue) -> (String, String) {
    match answer {
        Answer::Measured(series) => (figures(series), remark(series, catalogue)),
        Answer::NotApplicable { reason, .. } => (String::from("n/a"), one_line(reason)),
        Answer::Failed { failure, .. } => (String::from("FAILED"), one_line(&failure.to_string())),
    }
}

/// Returns the profile in words, if the log or the import states it.
fn profile(key: &Key) -> Option<String> {
    (key.profile != UNSTATED).then(|| format!("profile {}", one_line(&key.profile)))
}

fn heading(answer: &Answer) -> String {
    let key = answer.key();
    let mut parts = vec![format!("{} {}", key.kernel, one_line(&key.version)), one_line(&key.soc)];
    parts.extend(profile(key));
    if let Some(series) = answer.series() {
        let core = one_line(&series.provenance.core);
        parts.extend((!core.is_empty()).then_some(core));
        parts.extend((series.clock.0 > 0).then(|| series.clock.to_string()));
        if let Some(source) = &series.provenance.log {
            parts.push(source.suite.to_string());
            parts.push(one_line(&source.file));
        }
    }
    parts.join(" \u{b7} ")
}

fn name(answer: &Answer) -> String {
    match answer.series().and_then(|series| series.provenance.log.as_ref()) {
        Some(source) => one_line(&source.row),
        None => answer.key().scenario.to_string(),
    }
}

fn figures(series: &Series) -> String {
    let Some((statistic, value)) = figure(series) else { return "no figure".into() };
    let mut text = statistic;
    if series.basis != Basis::Ns {
        let _ = write!(text, " {} {}", number(value), series.basis);
    }
    if let Some(ns) = nanoseconds(series, value) {
        let _ = write!(text, " {:>8}", time(ns));
    }
    text
}

/// Describes what a row is equal or similar to, or what is wrong with it.
fn remark(series: &Series, catalogue: &Catalogue) -> String {
    if !series.flags.is_empty() {
        let flags: Vec<_> = series.flags.iter().map(|flag| one_line(&flag.to_string())).collect();
        return format!("not compared: {}", flags.join("; "));
    }
    let Some(source) = &series.provenance.log else { return String::new() };
    if let Some((scenario, equal)) = catalogue.equal_to(source.suite, &source.row) {
        return match equal.times.get() {
            1 => format!("= {}", scenario.id),
            times => format!("= {} \u{f7} {times}", scenario.id),
        };
    }
    if let Some(scenario) = catalogue.get(&series.key.scenario)
        && scenario.span.from == series.span.from
        && scenario.span.to == series.span.to
    {
        return format!("= {}", scenario.id);
    }
    match &source.near {
        Some(near) => format!("like {}, but {}", near.scenario, one_line(&near.differs)),
        None => "no scenario has this span".into(),
    }
}
