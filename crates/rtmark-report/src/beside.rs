//! Figures of others beside ours: those with an equal span and on the same core, with what
//! differs all the same; the others named, with what keeps them from being compared.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::Style;
use rtmark_model::{Answer, Catalogue, Overhead, Scenario, Series};

use crate::imported::{cycles, figure, nanoseconds, number, time};
use crate::matrix::FLOOR;
use crate::notes::{Notes, one_line};
use crate::table::{folded, multiple};

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();

/// Scenarios that are named in one line of those refused.
const SHOWN_REFUSED: usize = 24;

/// Why a figure of others is not beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Refused {
    Flagged,
    OtherCore,
    OtherSpan,
}

/// The core without what does not change its pipeline: whether it has an FPU.
fn family(core: &str) -> &str {
    core.strip_suffix('f').unwrap_or(core)
}

/// The scenario of ours that has a series' span, and how many of its units a sample of ours holds.
fn equal<'a>(series: &Series, catalogue: &'a Catalogue) -> Option<(&'a Scenario, u32)> {
    let source = series.provenance.log.as_ref()?;
    if let Some((scenario, equal)) = catalogue.equal_to(source.suite, &source.row) {
        return Some((scenario, equal.times.get()));
    }
    let scenario = catalogue.get(&series.key.scenario)?;
    let same = scenario.span.from == series.span.from && scenario.span.to == series.span.to;
    same.then_some((scenario, 1))
}

/// Renders imported or published figures beside ours: `ours` and `theirs` are answers, of
/// `theirs` those of backend `log` count. Ratios are of cycles, to ours of the same kernel on
/// the same core, or to the floor's.
pub fn beside(ours: &[Answer], theirs: &[Answer], catalogue: &Catalogue, width: usize) -> String {
    let ours: Vec<&Series> = ours.iter().filter_map(Answer::series).collect();
    let ours: Vec<&Series> =
        ours.into_iter().filter(|series| series.provenance.log.is_none()).collect();
    let mut refused: BTreeMap<(Refused, String), Vec<String>> = BTreeMap::new();
    let mut shown: BTreeMap<usize, Vec<(&Series, u32)>> = BTreeMap::new();
    for series in theirs.iter().filter_map(Answer::series) {
        let Some(source) = &series.provenance.log else { continue };
        let measured = |scenario: &Scenario| ours.iter().any(|o| o.key.scenario == scenario.id);
        let name = format!("{} {}", series.key.kernel, one_line(&source.row));
        match equal(series, catalogue) {
            Some((scenario, _)) if !measured(scenario) => {}
            Some(_) if !series.flags.is_empty() => {
                let flags: Vec<_> = series.flags.iter().map(ToString::to_string).collect();
                let why = format!("flagged, {}", one_line(&flags.join("; ")));
                refused.entry((Refused::Flagged, why)).or_default().push(name);
            }
            Some((scenario, times)) => {
                let core = family(&series.provenance.core);
                let here = |o: &&&Series| {
                    o.key.scenario == scenario.id && family(&o.provenance.core) == core
                };
                if ours.iter().any(|o| here(&o)) {
                    let place = catalogue.position(&scenario.id);
                    shown.entry(place).or_default().push((series, times));
                } else {
                    let core = if core.is_empty() { "a core that is not told" } else { core };
                    let why = format!("on {}, which is not among ours", one_line(core));
                    refused.entry((Refused::OtherCore, why)).or_default().push(name);
                }
            }
            None => {
                let Some(near) = &source.near else { continue };
                if !ours.iter().any(|o| o.key.scenario == near.scenario) {
                    continue;
                }
                let why = format!("like {}, but {}", near.scenario, one_line(&near.differs));
                refused.entry((Refused::OtherSpan, why)).or_default().push(name);
            }
        }
    }
    let mut text = String::new();
    let mut notes = Notes::default();
    for (place, theirs) in &shown {
        let Some(scenario) = catalogue.scenarios().get(*place) else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        block(&mut text, scenario, &ours, theirs, &mut notes);
    }
    if text.is_empty() {
        text.push_str("no figure of others has the span and the core of one of ours\n");
    }
    text.push('\n');
    for (number, note) in notes.iter() {
        text.push_str(&folded(&format!("[{number}] {note}"), width));
    }
    refusals(&mut text, &refused, width);
    text
}

fn block(
    text: &mut String,
    scenario: &Scenario,
    ours: &[&Series],
    theirs: &[(&Series, u32)],
    notes: &mut Notes,
) {
    let span = &scenario.span;
    let _ = writeln!(text, "{HEADING}{}{HEADING:#}", scenario.id);
    let _ = writeln!(text, "{ASIDE}from {}{ASIDE:#}", one_line(&span.from));
    let _ = writeln!(text, "{ASIDE}to {}{ASIDE:#}", one_line(&span.to));
    let mut families: Vec<&str> =
        theirs.iter().map(|(series, _)| family(&series.provenance.core)).collect();
    families.sort_unstable();
    families.dedup();
    for core in families {
        let here: Vec<&Series> = ours
            .iter()
            .copied()
            .filter(|o| o.key.scenario == scenario.id && family(&o.provenance.core) == core)
            .collect();
        for series in &here {
            let Some((statistic, value)) = figure(series) else { continue };
            line(text, series, &statistic, value, "", "");
        }
        for (series, times) in theirs {
            if family(&series.provenance.core) != core {
                continue;
            }
            let Some((statistic, value)) = figure(series) else { continue };
            let value = value * f64::from(*times);
            let ratio = ratio(series, value, &here);
            let note = format!("[{}]", notes.number(&note(series, *times)));
            line(text, series, &statistic, value, &ratio, &note);
        }
    }
}

/// One figure: `freertos 11.2.0   stm32f405   168 MHz   median 221 cycles   1.32 µs`.
fn line(text: &mut String, series: &Series, statistic: &str, value: f64, ratio: &str, note: &str) {
    let short = |text: &str, most: usize| -> String {
        let text = one_line(text);
        if text.chars().count() <= most {
            return text;
        }
        text.chars().take(most - 1).chain(['\u{2026}']).collect()
    };
    let kernel = short(&format!("{} {}", series.key.kernel, series.key.version), 22);
    let soc = short(&series.key.soc, 24);
    let core = short(&series.provenance.core, 13);
    let clock = if series.clock.0 > 0 { series.clock.to_string() } else { String::new() };
    let count = cycles(series, value).map(|cycles| number(cycles.round())).unwrap_or_default();
    let ns = nanoseconds(series, value).map(time).unwrap_or_default();
    let line = format!(
        "  {kernel:<22} {soc:<24} {core:<13} {clock:>8} {statistic:>6} {count:>8} {ns:>8} {ratio:>11} {note}"
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

fn ratio(series: &Series, value: f64, ours: &[&Series]) -> String {
    let Some(theirs) = cycles(series, value) else { return String::new() };
    let of = |kernel: &str| {
        let found = ours.iter().find(|o| o.key.kernel.as_str() == kernel)?;
        let (_, value) = figure(found)?;
        cycles(found, value).filter(|cycles| *cycles > 0.0).map(|cycles| theirs / cycles)
    };
    if let Some(ratio) = of(series.key.kernel.as_str()) {
        return format!("{} ours", multiple(ratio));
    }
    of(FLOOR).map(|ratio| format!("{} floor", multiple(ratio))).unwrap_or_default()
}

/// Where a figure is from, and what differs though the span is equal.
fn note(series: &Series, times: u32) -> String {
    let mut parts = Vec::new();
    if let Some(source) = &series.provenance.log {
        let line = if source.line > 0 { format!(":{}", source.line) } else { String::new() };
        parts.push(format!("{}{line} ({} `{}`)", source.file, source.suite, source.row));
    }
    if times > 1 {
        parts.push(format!(
            "{times} times what the suite counts, as a sample of ours holds so many"
        ));
    }
    match series.span.overhead {
        Overhead::Included => parts.push("what measuring costs is part of it".into()),
        Overhead::Subtracted => parts.push("what reading the clock costs was taken off".into()),
        Overhead::None => {}
    }
    for (fact, before) in [("conditions", ""), ("measured_on", "measured on "), ("note", "")] {
        parts.extend(series.facts.get(fact).map(|text| format!("{before}{text}")));
    }
    parts.push("another chip, compiler and settings than ours".into());
    parts.join("; ")
}

fn refusals(text: &mut String, refused: &BTreeMap<(Refused, String), Vec<String>>, width: usize) {
    if refused.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{HEADING}not compared{HEADING:#}");
    for ((_, why), names) in refused.iter().take(SHOWN_REFUSED) {
        let mut unique: Vec<&String> = names.iter().collect();
        unique.sort();
        unique.dedup();
        let first: Vec<_> = unique.iter().take(3).map(|name| name.as_str()).collect();
        let more = unique.len().saturating_sub(3);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&folded(&format!("{}{more}: {why}", first.join(", ")), width));
    }
    let more = refused.len().saturating_sub(SHOWN_REFUSED);
    if more > 0 {
        let _ = writeln!(text, "and {more} more reasons");
    }
}
