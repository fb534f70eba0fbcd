//! Rows of other suites: a line each, with what they are equal to, or what keeps them
//! from being compared.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use rtmark_model::{Answer, Basis, Catalogue, Series};
use rtmark_units::Nanoseconds;

use crate::matrix::{grouped, short_time};
use crate::notes::one_line;
use crate::table::folded;

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();

/// The widest name of a row that has a column of its own.
const NAME: usize = 52;

/// A figure of a summary or of samples: which statistic it is, and its value.
pub fn figure(series: &Series) -> Option<(String, f64)> {
    if let Some(summary) = series.readings.summarised() {
        return summary.typical().map(|(statistic, value)| (statistic.to_string(), value));
    }
    series.statistics().map(|statistics| ("median".to_owned(), statistics.typical() as f64))
}

/// The figure as time, where the clock is known.
pub fn nanoseconds(series: &Series, value: f64) -> Option<f64> {
    match series.basis {
        Basis::Ns => Some(value),
        Basis::Cycles if series.clock.0 > 0 => Some(value * 1e9 / f64::from(series.clock.0)),
        _ => None,
    }
}

/// The figure in cycles, where the clock is known.
pub fn cycles(series: &Series, value: f64) -> Option<f64> {
    match series.basis {
        Basis::Cycles => Some(value),
        Basis::Ns if series.clock.0 > 0 => Some(value * f64::from(series.clock.0) / 1e9),
        _ => None,
    }
}

/// A number to a digit behind the point where it has one.
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

/// Renders imported answers: a line a row, in their order, with a heading wherever
/// kernel, version, soc, clock or file change.
pub fn imported(answers: &[Answer], catalogue: &Catalogue, width: usize) -> String {
    let mut text = String::new();
    let mut last = String::new();
    let shown: Vec<_> = answers.iter().map(|answer| shown(answer, catalogue)).collect();
    let figures = shown.iter().map(|(figure, _)| figure.chars().count()).max().unwrap_or(0);
    let widest = answers.iter().map(|answer| name(answer).chars().count()).max().unwrap_or(0);
    let widest = widest.min(NAME);
    for (answer, (figure, remark)) in answers.iter().zip(shown) {
        let heading = heading(answer);
        // What has no figures knows less of where it comes from.
        let goes_on = answer.series().is_none() && last.starts_with(&heading);
        if heading != last && !goes_on {
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{HEADING}{heading}{HEADING:#}");
            last = heading;
        }
        let name = name(answer);
        // A name that is longer than its column has a line of its own.
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

/// The figure of a row, and what is to be said of it.
fn shown(answer: &Answer, catalogue: &Catalogue) -> (String, String) {
    match answer {
        Answer::Measured(series) => (figures(series), remark(series, catalogue)),
        Answer::NotApplicable { reason, .. } => (String::from("n/a"), one_line(reason)),
        Answer::Failed { failure, .. } => (String::from("FAILED"), one_line(&failure.to_string())),
    }
}

fn heading(answer: &Answer) -> String {
    let key = answer.key();
    let mut parts = vec![format!("{} {}", key.kernel, one_line(&key.version)), one_line(&key.soc)];
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

/// What a row is equal to or near, or what is wrong with it.
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
