//! Compares figures of others with ours: those with an equal span on the same core, with the remaining
//! differences. The rest are listed with the reason why they cannot be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anstyle::Style;
use rtmark_model::{Answer, Catalogue, Overhead, Scenario, ScenarioId, Series};

use crate::imported::{cycles, figure, nanoseconds, number, time};
use crate::matrix::FLOOR;
use crate::notes::{Notes, one_line};
use crate::sheet::{Column, Place, Row, Sheet};
use crate::table::{folded, multiple};

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();

/// The number of scenarios named in one line of those refused.
const SHOWN_REFUSED: usize = 24;

/// Why a figure of others is not compared with ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rejection {
    Flagged,
    OtherCore,
    OtherSpan,
}

/// Returns the core without variants that leave its pipeline unchanged, that is, without its FPU.
fn family(core: &str) -> &str {
    core.strip_suffix('f').unwrap_or(core)
}

/// Returns our scenario with a series' span, and how many of the series' units one of our samples
/// contains.
fn equal<'a>(series: &Series, catalogue: &'a Catalogue) -> Option<(&'a Scenario, u32)> {
    let source = series.provenance.log.as_ref()?;
    if let Some((scenario, equal)) = catalogue.equal_to(source.suite, &source.row) {
        return Some((scenario, equal.times.get()));
    }
    let scenario = catalogue.get(&series.key.scenario)?;
    let same = scenario.span.from == series.span.from && scenario.span.to == series.span.to;
    same.then_some((scenario, 1))
}

/// Figures of others that say something about ours.
#[derive(Debug, Default)]
pub struct RelatedFigures<'a> {
    /// The scenarios that have some, in the catalogue's order.
    pub groups: Vec<SpanGroup<'a>>,
    /// Why others are not compared, and which ones.
    pub rejected: Vec<(String, Vec<String>)>,
}

/// The figures of one span.
#[derive(Debug)]
pub struct SpanGroup<'a> {
    pub scenario: &'a Scenario,
    /// Sorted by core; ours come before those of others.
    pub figures: Vec<RelatedFigure>,
}

/// One figure, in words.
#[derive(Debug)]
pub struct RelatedFigure {
    pub kernel: String,
    pub soc: String,
    pub core: String,
    pub clock: String,
    /// The statistic that it is.
    pub statistic: String,
    pub cycles: String,
    pub time: String,
    /// The ratio to our figure of the same kernel, or to the floor's.
    pub ratio: String,
    /// Its source and the remaining differences; none if it is ours.
    pub note: Option<String>,
}

impl<'a> RelatedFigures<'a> {
    /// Compares imported or published figures with ours; of `theirs`, answers of backend `log` count.
    /// Ratios compare cycles with our figure of the same kernel on the same core, or with the floor's.
    pub fn of(ours: &[Answer], theirs: &[Answer], catalogue: &'a Catalogue) -> Self {
        let ours: Vec<&Series> = ours.iter().filter_map(Answer::series).collect();
        let ours: Vec<&Series> =
            ours.into_iter().filter(|series| series.provenance.log.is_none()).collect();
        let scenarios: BTreeSet<&ScenarioId> = ours.iter().map(|o| &o.key.scenario).collect();
        let cores: BTreeSet<(&ScenarioId, &str)> =
            ours.iter().map(|o| (&o.key.scenario, family(&o.provenance.core))).collect();
        let mut rejected: BTreeMap<(Rejection, String), Vec<String>> = BTreeMap::new();
        let mut describe_figure: BTreeMap<usize, Vec<(&Series, u32)>> = BTreeMap::new();
        for series in theirs.iter().filter_map(Answer::series) {
            let Some(source) = &series.provenance.log else { continue };
            let measured = |scenario: &Scenario| scenarios.contains(&scenario.id);
            let name = format!("{} {}", series.key.kernel, one_line(&source.row));
            match equal(series, catalogue) {
                Some((scenario, _)) if !measured(scenario) => {}
                Some(_) if !series.flags.is_empty() => {
                    let flags: Vec<_> = series.flags.iter().map(ToString::to_string).collect();
                    let why = format!("flagged, {}", one_line(&flags.join("; ")));
                    rejected.entry((Rejection::Flagged, why)).or_default().push(name);
                }
                Some((scenario, times)) => {
                    let core = family(&series.provenance.core);
                    if cores.contains(&(&scenario.id, core)) {
                        let place = catalogue.position(&scenario.id);
                        describe_figure.entry(place).or_default().push((series, times));
                    } else {
                        let why = if core.is_empty() {
                            "on an unknown core; state it with `rtmark import --core`".into()
                        } else {
                            format!("on {}, which is not among ours", one_line(core))
                        };
                        rejected.entry((Rejection::OtherCore, why)).or_default().push(name);
                    }
                }
                None => {
                    let Some(near) = &source.near else { continue };
                    if !scenarios.contains(&near.scenario) {
                        continue;
                    }
                    let why = format!("like {}, but {}", near.scenario, one_line(&near.differs));
                    rejected.entry((Rejection::OtherSpan, why)).or_default().push(name);
                }
            }
        }
        let group = |(place, theirs): (usize, Vec<(&Series, u32)>)| {
            let scenario = catalogue.scenarios().get(place)?;
            Some(SpanGroup { scenario, figures: figures(scenario, &ours, &theirs) })
        };
        let rejected = rejected.into_iter().map(|((_, why), mut names)| {
            names.sort_unstable();
            names.dedup();
            (why, names)
        });
        Self {
            groups: describe_figure.into_iter().filter_map(group).collect(),
            rejected: rejected.collect(),
        }
    }

    /// Returns the comparison as tables of a report.
    pub fn sheets(&self) -> Vec<Sheet> {
        if self.groups.is_empty() && self.rejected.is_empty() {
            return Vec::new();
        }
        let about = "Published and imported figures with the span of one of our scenarios, on the \
                     same core, but with another compiler and other settings, and mostly on another \
                     chip. Ratios compare cycles with our figure of the same kernel if there is one, \
                     otherwise with the floor\u{2019}s; where there are several, with the smallest and the largest ratio, those on \
                     the same chip first.";
        let mut sheet = Sheet::new("others", "Figures of others beside ours", about);
        let texts = ["scenario", "kernel", "chip", "core", "clock", "statistic"].map(Column::text);
        let numbers = ["cycles", "time", "ratio"].map(Column::number);
        sheet.columns = texts.into_iter().chain(numbers).collect();
        sheet.columns.push(Column::text("source, and what differs"));
        for group in &self.groups {
            let scenario = group.scenario.id.as_str();
            for describe_figure in &group.figures {
                let word = if describe_figure.note.is_some() { "" } else { "ours" };
                let mut row = Row::new([
                    scenario.to_owned(),
                    describe_figure.kernel.clone(),
                    describe_figure.soc.clone(),
                    describe_figure.core.clone(),
                    describe_figure.clock.clone(),
                    describe_figure.statistic.clone(),
                    describe_figure.cycles.clone(),
                    describe_figure.time.clone(),
                    describe_figure.ratio.clone(),
                    describe_figure.note.clone().unwrap_or_else(|| word.to_owned()),
                ]);
                row.cells[1].marked = describe_figure.note.is_none();
                sheet.rows.push(row.scenario(scenario));
            }
        }
        let mut sheets = vec![sheet];
        if !self.rejected.is_empty() {
            let about = "Why these cannot be compared; an equal name does not mean an equal span.";
            let mut sheet = Sheet::new("refused", "Figures of others that are not compared", about);
            sheet.place = Place::Below;
            sheet.columns =
                vec![Column::text("why"), Column::number("figures"), Column::text("such as")];
            for (why, names) in &self.rejected {
                sheet.rows.push(Row::new([why.clone(), names.len().to_string(), first(names)]));
            }
            sheets.push(sheet);
        }
        sheets
    }
}

/// Returns the first three names, and the number of the others.
fn first(names: &[String]) -> String {
    let describe_figure: Vec<_> = names.iter().take(3).map(String::as_str).collect();
    let more = names.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    describe_figure.join(", ") + &more
}

/// Renders the comparison as text, at most `width` columns wide.
pub fn related(ours: &[Answer], theirs: &[Answer], catalogue: &Catalogue, width: usize) -> String {
    let figures_of_others = RelatedFigures::of(ours, theirs, catalogue);
    let mut text = String::new();
    let mut notes = Notes::default();
    for SpanGroup { scenario, figures } in &figures_of_others.groups {
        if !text.is_empty() {
            text.push('\n');
        }
        let span = &scenario.span;
        let _ = writeln!(text, "{HEADING}{}{HEADING:#}", scenario.id);
        let _ = writeln!(text, "{ASIDE}from {}{ASIDE:#}", one_line(&span.from));
        let _ = writeln!(text, "{ASIDE}to {}{ASIDE:#}", one_line(&span.to));
        for describe_figure in figures {
            let note =
                describe_figure.note.as_ref().map(|note| format!("[{}]", notes.number(note)));
            let line = format!(
                "  {:<22} {:<24} {:<13} {:>8} {:>6} {:>8} {:>8} {:>18} {}",
                short(&describe_figure.kernel, 22),
                short(&describe_figure.soc, 24),
                short(&describe_figure.core, 13),
                describe_figure.clock,
                describe_figure.statistic,
                describe_figure.cycles,
                describe_figure.time,
                describe_figure.ratio,
                note.unwrap_or_default()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    if text.is_empty() {
        text.push_str("no figure of others has the span and the core of one of ours\n");
    }
    text.push('\n');
    for (number, note) in notes.iter() {
        text.push_str(&folded(&format!("[{number}] {note}"), width));
    }
    refusals(&mut text, &figures_of_others.rejected, width);
    text
}

/// Shortens a text to `most` characters.
fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['\u{2026}']).collect()
}

fn figures(scenario: &Scenario, ours: &[&Series], theirs: &[(&Series, u32)]) -> Vec<RelatedFigure> {
    let mut families: Vec<&str> =
        theirs.iter().map(|(series, _)| family(&series.provenance.core)).collect();
    families.sort_unstable();
    families.dedup();
    let mut all = Vec::new();
    for core in families {
        let here: Vec<&Series> = ours
            .iter()
            .copied()
            .filter(|o| o.key.scenario == scenario.id && family(&o.provenance.core) == core)
            .collect();
        all.extend(here.iter().filter_map(|series| {
            let (statistic, value) = figure(series)?;
            let mut described = describe_figure(series, &statistic, value);
            let profile = &series.key.profile;
            let several = here.iter().any(|other| {
                other.key.kernel == series.key.kernel && other.key.profile != *profile
            });
            if several {
                described.kernel = format!("{} {}", described.kernel, one_line(profile));
            }
            Some(described)
        }));
        let of_core = theirs.iter().filter(|(series, _)| family(&series.provenance.core) == core);
        all.extend(of_core.filter_map(|(series, times)| {
            let (statistic, value) = figure(series)?;
            let value = value * f64::from(*times);
            let ratio = ratio(series, value, &here);
            let note = Some(note(series, *times, &here));
            Some(RelatedFigure { ratio, note, ..describe_figure(series, &statistic, value) })
        }));
    }
    all
}

fn describe_figure(series: &Series, statistic: &str, value: f64) -> RelatedFigure {
    RelatedFigure {
        kernel: one_line(&format!("{} {}", series.key.kernel, series.key.version)),
        soc: one_line(&series.key.soc),
        core: one_line(&series.provenance.core),
        clock: if series.clock.0 > 0 { series.clock.to_string() } else { String::new() },
        statistic: statistic.to_owned(),
        cycles: cycles(series, value).map(|cycles| number(cycles.round())).unwrap_or_default(),
        time: nanoseconds(series, value).map(time).unwrap_or_default(),
        ratio: String::new(),
        note: None,
    }
}

/// Returns the ratio to our figure of the same kernel, or else to the floor's; the smallest and the largest
/// ratio, if there are several figures, on other chips or in other builds, and none is on the same chip.
fn ratio(series: &Series, value: f64, ours: &[&Series]) -> String {
    let Some(theirs) = cycles(series, value) else { return String::new() };
    let of = |kernel: &str, word: &str| {
        let of_kernel = ours.iter().filter(|o| o.key.kernel.as_str() == kernel);
        let of_kernel = of_kernel.filter(|o| kernel != FLOOR || o.no_multiple.is_none());
        let (same, others): (Vec<&Series>, Vec<&Series>) =
            of_kernel.copied().partition(|o| o.key.soc == series.key.soc);
        let ratio = |found: &Series| {
            let (_, value) = figure(found)?;
            cycles(found, value).filter(|cycles| *cycles > 0.0).map(|cycles| theirs / cycles)
        };
        let ratios = |of: &[&Series]| of.iter().copied().filter_map(ratio).collect::<Vec<_>>();
        let mut ratios = Some(ratios(&same)).filter(|of| !of.is_empty()).unwrap_or(ratios(&others));
        ratios.sort_by(f64::total_cmp);
        let [least, most] = [ratios.first()?, ratios.last()?].map(|ratio| multiple(*ratio));
        let several = if least == most { String::new() } else { format!("{least}..") };
        Some(format!("{several}{most} {word}"))
    };
    of(series.key.kernel.as_str(), "ours").or_else(|| of(FLOOR, "floor")).unwrap_or_default()
}

/// Describes where a figure comes from, and what differs although the span is equal.
fn note(series: &Series, times: u32, ours: &[&Series]) -> String {
    let mut parts = Vec::new();
    if let Some(source) = &series.provenance.log {
        let line = if source.line > 0 { format!(":{}", source.line) } else { String::new() };
        parts.push(format!("{}{line} ({} `{}`)", source.file, source.suite, source.row));
    }
    if times > 1 {
        parts.push(format!(
            "{times} times the suite's figure, as one of our samples contains that many"
        ));
    }
    match series.span.overhead {
        Overhead::Included => parts.push("the cost of measuring is included".into()),
        Overhead::Subtracted => parts.push("the cost of reading the clock was subtracted".into()),
        Overhead::None => {}
    }
    for (fact, before) in [("conditions", ""), ("measured_on", "measured on "), ("note", "")] {
        parts.extend(series.facts.get(fact).map(|text| format!("{before}{text}")));
    }
    let same_chip = ours.iter().any(|own| own.key.soc == series.key.soc);
    let chip = if same_chip { "" } else { "chip, " };
    parts.push(format!("another {chip}compiler and other settings than ours"));
    parts.join("; ")
}

fn refusals(text: &mut String, rejected: &[(String, Vec<String>)], width: usize) {
    if rejected.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{HEADING}not compared{HEADING:#}");
    for (why, names) in rejected.iter().take(SHOWN_REFUSED) {
        text.push_str(&folded(&format!("{}: {why}", first(names)), width));
    }
    let more = rejected.len().saturating_sub(SHOWN_REFUSED);
    if more > 0 {
        let _ = writeln!(text, "and {more} more reasons");
    }
}
