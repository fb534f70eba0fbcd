//! The details of a scenario: its meaning, its samples, and how each figure was made.

use std::collections::BTreeMap;

use maud::{Markup, html};
use rtmark_model::{Backend, Basis, DEFAULT_PROFILE, Samples, ScenarioId, Series, Summary};

use super::draw::chart;
use super::operations::{by_group, kernels_of};
use super::spent::cost_bars;
use super::text::{breakable, command, short_hash, swatch};
use super::view::View;
use crate::groups::Group;
use crate::kernels::KernelStyles;
use crate::matrix::{KernelColumn, grouped, short_time};
use crate::notes::{one_line, remarks, without_figures};
use crate::report::Report;
use crate::sheet::{Chart, Line, Row, Scales, Sheet};

/// Returns all scenarios of a view in their groups, to be shown folded.
pub fn groups<'a>(view: &View<'a>) -> Vec<(&'static str, Vec<&'a ScenarioId>)> {
    by_group(view).into_iter().map(|(group, rows)| (group.title(), rows)).collect()
}

/// Renders one scenario.
pub fn scenario<'a>(
    report: &Report<'a>,
    view: &View<'a>,
    scenario: &'a ScenarioId,
    styles: &KernelStyles,
    others: &[Sheet],
) -> Markup {
    let name = scenario.as_str();
    let entry = report.catalogue.get(scenario);
    let any =
        view.block.kernels.iter().find_map(|column| view.block.answer(scenario, *column)?.series());
    let links = links(report, view, scenario);
    let distribution = distribution(view, scenario);
    html! {
        details.scenario id=(view.id_of("s", name)) data-scenario=(name) {
            summary {
                b { (breakable(name)) }
                @if let Some(entry) = entry { " " span.aside { (breakable(&entry.answers)) } }
            }
            @if let Some(series) = any { (span(series)) }
            div.wide tabindex="0" role="region" aria-label=(format!("Figures of {name}")) {
                (figures(view, scenario, styles))
            }
            (remark_list(view, scenario))
            (cost_bars(report, view, scenario, styles))
            @if let Some(distribution) = &distribution {
                div.charts { (chart(distribution, styles)) }
                (marks())
            }
            (published(scenario, others))
            @if !links.is_empty() {
                ul { @for (text, to) in &links { li { a href=(format!("#{to}")) { (breakable(text)) } } } }
            }
            p.aside {
                a href=(format!("#{}", view.id_of("r", name))) { "Back to the table" } ", "
                a href=(format!("#{}", view.id("settings"))) { "settings side by side" } ". To repeat the measurement: "
                (command(&rerun_command(view, scenario)))
            }
        }
    }
}

/// Explains the marks along a distribution.
pub fn marks() -> Markup {
    html! {
        p.aside {
            "Marks: " span.mark-half {} " median, " span.mark-most {} " 99 %, " span.mark-worst {} " the longest."
        }
    }
}

fn span(series: &Series) -> Markup {
    let span = &series.span;
    html! {
        dl {
            dt { "from" } dd { (breakable(&span.from)) }
            dt { "to" } dd { (breakable(&span.to)) }
            dt { "inside" }
            dd {
    "context switches " (span.switches) "; ticks " (span.ticks) "; interrupts " (span.interrupts)
                "; measuring overhead " (span.overhead)
            }
        }
    }
}

/// The columns of the samples' figures. A column that would be empty is omitted.
const HEADS: [&str; 13] = [
    "samples",
    "first",
    "least",
    "median",
    "90 %",
    "99 %",
    "99.9 %",
    "longest",
    "modes",
    "emptied",
    "placements",
    "disturbed",
    "time",
];

/// A kernel's line: its figures by column with its image, or the word and the reason shown instead.
enum KernelLine {
    Figures(Vec<String>, String, String),
    Word(&'static str, String),
}

fn figures<'a>(view: &View<'a>, scenario: &'a ScenarioId, styles: &KernelStyles) -> Markup {
    let lines: Vec<(KernelColumn<'a>, KernelLine)> = view
        .block
        .kernels
        .iter()
        .filter_map(|column| Some((*column, line(view, scenario, *column)?)))
        .collect();
    let has = |at: &usize| {
        lines.iter().any(
            |(_, line)| matches!(line, KernelLine::Figures(cells, ..) if !cells[*at].is_empty()),
        )
    };
    let shown: Vec<usize> = (0..HEADS.len()).filter(has).collect();
    html! {
        table.figures {
            thead {
                tr {
                    th scope="col" { "kernel" }
                    @for at in &shown { th.n scope="col" { (HEADS[*at]) } }
                    th scope="col" { "image" }
                }
            }
            tbody {
                @for (column, line) in &lines {
                    @let kernel = column.0.as_str();
                    tr data-kernel=(kernel) {
                        th scope="row" { (swatch(&styles.class(kernel))) " " (view.name(*column)) }
                        @match line {
                            KernelLine::Figures(cells, image, elf) => {
                                @for at in &shown { td.n { (cells[*at]) } }
                                td { (image) " " code { (elf) } }
                            }
                            KernelLine::Word(word, text) => {
                                td.why colspan=(shown.len() + 1) { (word) ": " (breakable(text)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn line<'a>(
    view: &View<'a>,
    scenario: &'a ScenarioId,
    column: KernelColumn<'a>,
) -> Option<KernelLine> {
    let answer = view.block.answer(scenario, column)?;
    if let Some((word, text)) = without_figures(answer) {
        return Some(KernelLine::Word(word, text));
    }
    let series = answer.series()?;
    let found = view.block.figures(series)?;
    let statistics = found.statistics;
    let of = |field: fn(&Summary) -> u64| {
        statistics.steady.as_ref().map(|steady| grouped(field(steady))).unwrap_or_default()
    };
    let modes = found.modes.iter().map(|mode| grouped(mode.value)).collect::<Vec<_>>();
    let spread = found.spread.filter(|spread| spread.min < spread.max);
    let spread = spread.map(|spread| format!("{} to {}", grouped(spread.min), grouped(spread.max)));
    let hit = statistics
        .disturbed
        .map(|hit| format!("{}, up to {}", grouped(hit.count), grouped(hit.max)));
    let cells = vec![
        grouped(statistics.count),
        grouped(statistics.first),
        of(|s| s.min),
        of(|s| s.p50),
        of(|s| s.p90),
        of(|s| s.p99),
        statistics.steady.and_then(|steady| steady.p99_9).map(grouped).unwrap_or_default(),
        of(|s| s.max),
        if modes.len() > 1 { modes.join(" | ") } else { String::new() },
        found.emptied.map(|emptied| grouped(emptied.typical())).unwrap_or_default(),
        spread.unwrap_or_default(),
        hit.unwrap_or_default(),
        found.time.map(short_time).unwrap_or_default(),
    ];
    let firmware = &series.provenance.firmware;
    let (image, elf) = (one_line(&firmware.image), one_line(&short_hash(&firmware.elf_sha256)));
    Some(KernelLine::Figures(cells, image, elf))
}

/// Renders the remarks about each kernel's figures.
fn remark_list<'a>(view: &View<'a>, scenario: &'a ScenarioId) -> Markup {
    let mut all: Vec<(&str, String)> = Vec::new();
    for column in &view.block.kernels {
        let Some(series) = view.block.answer(scenario, *column).and_then(|answer| answer.series())
        else {
            continue;
        };
        all.extend(remarks(series).map(|remark| (column.0.as_str(), remark)));
        if let Some(reason) = series.no_multiple.as_ref().filter(|_| all.is_empty()) {
            all.push(("", format!("Not shown as a multiple of the floor: {reason}.")));
        }
    }
    html! {
        @if !all.is_empty() {
            ul.told {
                @for (kernel, remark) in &all {
                    li data-kernel=[Some(kernel).filter(|kernel| !kernel.is_empty())] { (breakable(remark)) }
                }
            }
        }
    }
}

/// The number of scenarios whose latency distribution is shown up front.
const MAX_LATENCY_CHARTS: usize = 4;
/// The minimum number of samples of each kernel that has any.
const MIN_SAMPLES: u64 = 100;
/// The minimum ratio of the longest sample to the typical one.
const MIN_LATENESS: f64 = 1.25;

/// Selects latency distributions: those of the scenarios about interrupts and time whose longest
/// sample is furthest from the typical one.
pub fn lateness(view: &View<'_>) -> Vec<Chart> {
    let mut found: Vec<(f64, &ScenarioId)> = Vec::new();
    for scenario in view.block.rows().filter(|id| Group::of(id) == Group::Interrupts) {
        let all = view.block.kernels.iter().filter_map(|column| {
            let series = view.block.answer(scenario, *column)?.series()?;
            series.statistics().filter(|_| series.flags.is_empty())
        });
        let all: Vec<_> = all.collect();
        let far = |s: &rtmark_model::Statistics| {
            let longest = s.steady.map_or(0, |steady| steady.max);
            longest as f64 / s.typical().max(1) as f64
        };
        let furthest = all.iter().map(far).fold(0.0, f64::max);
        if furthest >= MIN_LATENESS && all.iter().all(|statistics| statistics.count >= MIN_SAMPLES)
        {
            found.push((furthest, scenario));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
        .into_iter()
        .take(MAX_LATENCY_CHARTS)
        .filter_map(|(_, id)| distribution(view, id))
        .collect()
}

/// Returns the share of samples that take at least each length, if any kernel's samples differ at all.
fn distribution<'a>(view: &View<'a>, scenario: &'a ScenarioId) -> Option<Chart> {
    let mut lines = Vec::new();
    let mut differ = false;
    for column in &view.block.kernels {
        let Some(series) = view.block.answer(scenario, *column).and_then(|answer| answer.series())
        else {
            continue;
        };
        let Some(samples) = series.readings.samples().filter(|_| series.flags.is_empty()) else {
            continue;
        };
        let counts = lengths(samples);
        differ |= counts.len() > 1;
        let counts = counts.into_iter().map(|(length, times)| (length as f64, times));
        let kernel = Some(column.0.to_string());
        let line = Line::exceedance(view.name(*column), kernel, counts);
        lines.extend(Some(line).filter(|line| !line.points.is_empty()));
    }
    differ.then(|| Chart {
        title: format!(
            "{scenario}: share of samples that take at least as long, without the first"
        ),
        across: view.unit().to_owned(),
        up: "share of samples".to_owned(),
        scales: Scales::Exceedance,
        places: Vec::new(),
        lines,
    })
}

/// Counts how often each length occurred after the first sample.
pub fn lengths(samples: &Samples) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for (index, run) in samples.runs().iter().enumerate() {
        let times = run.times - u64::from(index == 0);
        if times > 0 {
            *counts.entry(run.value).or_insert(0) += times;
        }
    }
    counts
}

/// The number of others' figures shown with a scenario; the table of all of them has the rest.
const PUBLISHED: usize = 6;

/// Renders what others have published or measured with this span.
fn published(scenario: &ScenarioId, others: &[Sheet]) -> Markup {
    let beside = others.iter().filter(|sheet| sheet.id == "others").flat_map(|sheet| &sheet.rows);
    let theirs = beside.filter(|row| {
        let of_others = row.cells.get(1).is_some_and(|cell| !cell.marked);
        row.scenario.as_deref() == Some(scenario.as_str()) && of_others
    });
    let rows: Vec<&Row> = theirs.collect();
    let cell = |row: &Row, at: usize| row.cells.get(at).map(|cell| cell.text.clone());
    // The columns of that table are kernel, chip, ..., statistic, cycles, time, ratio, source.
    let described = |row: &Row| {
        let part = |at| cell(row, at).unwrap_or_default();
        let ratio = Some(part(8)).filter(|ratio| !ratio.is_empty());
        let ratio = ratio.map(|ratio| format!(", {ratio}")).unwrap_or_default();
        format!("{} on {}: {} {} cycles{ratio}; {}", part(1), part(2), part(5), part(6), part(9))
    };
    html! {
        @if !rows.is_empty() {
            p.aside { a href="#others" { "Published and imported figures for this span" } ":" }
            ul.told { @for row in rows.iter().take(PUBLISHED) { li { (breakable(&described(row))) } } }
            @if rows.len() > PUBLISHED { p.aside { "and " (rows.len() - PUBLISHED) " more" } }
        }
    }
}

/// Returns links to further results about a scenario.
fn links(
    report: &Report<'_>,
    view: &View<'_>,
    scenario: &ScenarioId,
) -> Vec<(String, &'static str)> {
    let mut links = Vec::new();
    let of_it = report.worst.iter().filter(|worst| {
        worst.scenario.as_deref() == Some(scenario.as_str()) && worst.is_of_block(&view.block)
    });
    for worst in of_it {
        let Some(timed) = worst.handler() else { continue };
        let mut text = format!("Worst case: {} cycles, {}", timed.max, worst.title());
        if let Some(witness) = timed.witnesses.first() {
            text = format!("{text}, at {}", witness.at);
        }
        links.push((text, "worst"));
    }
    links
}

/// Returns the command that measures a row of a view again.
fn rerun_command(view: &View<'_>, scenario: &ScenarioId) -> String {
    let block = &view.block;
    let mut command = format!(
        "rtmark run --scenario {scenario} --soc {} --kernel {}",
        one_line(block.soc),
        kernels_of(view)
    );
    let profile = one_line(block.profile().unwrap_or_default());
    if profile != DEFAULT_PROFILE {
        command = format!("{command} --profile {profile}");
    }
    match (block.backend, block.basis) {
        (Backend::Qemu, _) => command + " --backend qemu",
        (Backend::Board, _) => command + " --backend board",
        (Backend::Sim, Some(Basis::Instructions)) => command + " --basis instructions",
        _ => command,
    }
}
