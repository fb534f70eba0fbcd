//! The first screen of a view: the findings in sentences, what operations cost, how long interrupts are
//! held back and by which line, and how much memory is used.

use maud::{Markup, html};
use rtmark_model::{HeldInterval, ScenarioId, Victim};

use super::axis::Axis;
use super::operations::by_group;
use super::text::{breakable, list, swatch};
use super::view::View;
use crate::findings::{Evidence, Wait, findings, held_scenario, lines, waits};
use crate::groups::Group;
use crate::kernels::KernelStyles;
use crate::matrix::{FLOOR, KernelColumn, grouped, short_count};
use crate::notes::{one_line, without_figures};
use crate::worst::Worst;

/// The number of operations that represent a group.
const PER_GROUP: usize = 2;
/// The chart width, in pixels, at which labels are kept from overlapping.
const NOMINAL: f64 = 480.0;
/// The width reserved for a label at that size.
const NUMBER: f64 = 34.0;

/// Renders the first screen of a view.
pub fn overview(view: &View<'_>, styles: &KernelStyles, worst: &[Worst]) -> Markup {
    let found = findings(&view.block);
    let rows = headlines(view);
    html! {
        section.overview id=(view.id("overview")) aria-label=(format!("{} at a glance", view.chip)) {
            @if !found.is_empty() {
                ul.findings {
                    @for finding in &found {
                        @let href = match &finding.evidence {
                            Evidence::Row(scenario) => view.id_of("r", scenario),
                            Evidence::Table => view.id("operations"),
                        };
                        li { a href=(format!("#{href}")) { (breakable(&finding.text)) } }
                    }
                }
            }
            div.first {
                @if !rows.is_empty() { (costs(view, styles, &rows)) }
                (card(view, styles, worst))
            }
        }
    }
}

/// An operation in the chart.
struct Row<'a> {
    group: Group,
    label: String,
    scenario: &'a ScenarioId,
    /// The figures by column.
    figures: Vec<(KernelColumn<'a>, u64)>,
    /// The kernels whose answer is not a figure.
    without: Vec<String>,
}

fn row<'a>(view: &View<'a>, group: Group, scenario: &'a ScenarioId, label: &str) -> Row<'a> {
    let (mut figures, mut without) = (Vec::new(), Vec::new());
    for column in &view.block.kernels {
        let answer = view.block.answer(scenario, *column);
        let measured = answer.filter(|answer| without_figures(answer).is_none());
        let statistics = measured.and_then(|answer| answer.series()?.statistics());
        match statistics {
            Some(statistics) => figures.push((*column, statistics.typical())),
            None if column.0.as_str() != FLOOR => without.push(view.name(*column)),
            None => {}
        }
    }
    Row { group, label: label.to_owned(), scenario, figures, without }
}

/// Selects the representatives of each group: the operations listed for it that kernels have figures
/// for, or else the one that most kernels have.
fn headlines<'a>(view: &View<'a>) -> Vec<Row<'a>> {
    let mut all = Vec::new();
    for (group, scenarios) in by_group(view) {
        let listed = group.headlines().iter().filter_map(|headline| {
            let scenario = scenarios.iter().find(|id| id.as_str() == headline.scenario)?;
            Some(row(view, group, scenario, headline.label))
        });
        let of_kernels = |row: &Row<'_>| {
            row.figures.iter().filter(|figure| figure.0.0.as_str() != FLOOR).count()
        };
        let mut rows: Vec<_> = listed.filter(|row| of_kernels(row) > 0).collect();
        rows.sort_by_key(|row| of_kernels(row) < 2);
        rows.truncate(PER_GROUP);
        if rows.is_empty() && !matches!(group, Group::Programs) {
            let any = scenarios.iter().map(|id| row(view, group, id, id.as_str()));
            rows.extend(any.rev().max_by_key(of_kernels).filter(|row| of_kernels(row) > 0));
        }
        all.extend(rows);
    }
    all
}

fn percent(axis: &Axis, value: u64) -> f64 {
    3.0 + axis.place(value as f64) * 94.0
}

fn costs(view: &View<'_>, styles: &KernelStyles, rows: &[Row<'_>]) -> Markup {
    let figures = || rows.iter().flat_map(|row| &row.figures).map(|figure| figure.1.max(1) as f64);
    let low = figures().fold(f64::INFINITY, f64::min);
    let high = figures().fold(1.0, f64::max);
    let low = 10_f64.powf(low.log10().floor());
    let axis = Axis::logarithmic(low, high * 1.15);
    html! {
        figure.costs {
            figcaption {
                b { "What it costs, in " (view.unit()) } " "
                span.aside { "one mark per kernel; further right costs more; grid lines are factors of ten" }
            }
            table.strip {
                thead {
                    tr {
                        td {}
                        td {}
                        td {
                            svg.axis aria-hidden="true" {
                                @for (value, text) in &axis.ticks {
                                    text x=(format!("{:.2}%", 3.0 + axis.place(*value) * 94.0)) y="11" { (text) }
                                }
                            }
                        }
                    }
                }
                @for of_group in rows.chunk_by(|a, b| a.group == b.group) {
                    tbody {
                        @for (index, row) in of_group.iter().enumerate() {
                            tr.more[index > 0] {
                                @if index == 0 {
                                    th.of scope="rowgroup" rowspan=(of_group.len()) {
                                        a href=(format!("#{}", view.id(row.group.slug()))) { (row.group.title()) }
                                    }
                                }
                                th scope="row" {
                                    a href=(format!("#{}", view.id_of("r", row.scenario.as_str()))) {
                                        (breakable(&row.label))
                                    }
                                    @if !row.without.is_empty() {
                                        " " small { (without(row, view)) }
                                    }
                                }
                                td { (strip(view, row, &axis, styles)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Names the kernels without a figure, or those with one if they are fewer.
fn without(row: &Row<'_>, view: &View<'_>) -> String {
    let few = row.without.len() * 2 <= view.block.kernels.len();
    let have = || {
        let have = row.figures.iter().filter(|figure| figure.0.0.as_str() != FLOOR);
        have.map(|figure| view.name(figure.0)).collect::<Vec<_>>()
    };
    if few {
        format!("not in {}", list(&row.without))
    } else {
        format!("only in {}", list(&have()))
    }
}

/// Draws the marks of one operation, with as many labels as fit.
fn strip(view: &View<'_>, row: &Row<'_>, axis: &Axis, styles: &KernelStyles) -> Markup {
    let descriptions: Vec<_> = row
        .figures
        .iter()
        .map(|(column, figure)| format!("{} {}", view.name(*column), grouped(*figure)))
        .collect();
    let mut numbers: Vec<(KernelColumn<'_>, u64, &str)> = Vec::new();
    let kernels = || row.figures.iter().filter(|figure| figure.0.0.as_str() != FLOOR);
    // The minimum and maximum are labelled first, then whatever is far enough from those.
    let ends = [kernels().min_by_key(|f| f.1), kernels().max_by_key(|f| f.1)];
    for (column, figure) in ends.into_iter().flatten().chain(kernels()) {
        let far = |other: &(KernelColumn<'_>, u64, &str)| {
            let apart = percent(axis, other.1) - percent(axis, *figure);
            apart.abs() * NOMINAL / 100.0 >= NUMBER
        };
        if numbers.iter().all(far) {
            let class = if numbers.len() < 2 { "" } else { "wide" };
            numbers.push((*column, *figure, class));
        }
    }
    html! {
        svg.marks role="img" aria-label=(descriptions.join(", ")) {
            @for (value, _) in &axis.ticks {
                @let at = format!("{:.2}%", 3.0 + axis.place(*value) * 94.0);
                line.grid x1=(at) x2=(at) y1="0" y2="30" {}
            }
            line.base x1="0" x2="100%" y1="20" y2="20" {}
            @for (column, figure) in &row.figures {
                @let class = styles.class(column.0.as_str());
                g class=(class) data-kernel=(column.0) {
                    title { (view.name(*column)) " " (grouped(*figure)) }
                    use href=(format!("#{}", class.replace('k', "m")))
                        x=(format!("{:.2}%", percent(axis, *figure))) y="20" {}
                }
            }
            @for (column, figure, class) in &numbers {
                text class=(format!("{} {class}", styles.class(column.0.as_str()))) data-kernel=(column.0)
                    x=(format!("{:.2}%", percent(axis, *figure))) y="10" { (short_count(*figure)) }
            }
        }
    }
}

/// The contents of a kernel's line in the card.
struct Line<'a> {
    column: KernelColumn<'a>,
    urgent: Option<Wait<'a>>,
    calling: Option<Wait<'a>>,
    memory: Option<(u64, u64)>,
}

impl Line<'_> {
    /// Returns the longer of the waits, whose cause is shown.
    fn longest(&self) -> Option<&HeldInterval> {
        let waits = [self.urgent, self.calling].into_iter().flatten();
        waits.map(|wait| wait.held).max_by_key(|held| held.cycles)
    }
}

/// Returns the image whose sizes are shown: that of the mixed load, which does the same with every
/// kernel, or else the one that most of them have.
fn image<'a>(view: &View<'a>) -> Option<&'a str> {
    let of =
        |column: &KernelColumn<'a>| view.block.firmware(*column).into_keys().collect::<Vec<_>>();
    let all: Vec<&str> = view.block.kernels.iter().flat_map(of).collect();
    let count = |image: &&str| all.iter().filter(|other| *other == image).count();
    let load = all.iter().find(|image| **image == "load");
    load.or_else(|| all.iter().rev().max_by_key(|image| count(image))).copied()
}

/// Renders how long interrupts are held back, by which line, and the memory used.
fn card(view: &View<'_>, styles: &KernelStyles, worst: &[Worst]) -> Markup {
    let (urgent, calling) =
        (waits(&view.block, Victim::MostUrgent), waits(&view.block, Victim::MayCall));
    let image = image(view);
    let of = |waits: &[Wait<'_>], column: &KernelColumn<'_>| {
        waits.iter().position(|wait| wait.column == *column)
    };
    let mut lines: Vec<Line<'_>> = Vec::new();
    for column in &view.block.kernels {
        let firmware = view.block.firmware(*column);
        let firmware = image.and_then(|image| firmware.get(image).copied());
        lines.push(Line {
            column: *column,
            urgent: of(&urgent, column).map(|at| urgent[at]),
            calling: of(&calling, column).map(|at| calling[at]),
            memory: firmware.map(|firmware| (firmware.flash_bytes, firmware.ram_bytes)),
        });
    }
    lines.retain(|line| line.longest().is_some() || line.memory.is_some());
    // The floor comes last, as it is not a kernel to choose.
    lines.sort_by_key(|line| line.column.0.as_str() == FLOOR);
    let any_wait = lines.iter().any(|line| line.longest().is_some());
    let longest = lines.iter().filter_map(|line| Some(line.longest()?.cycles)).max().unwrap_or(0);
    let memory = lines.iter().filter_map(|line| line.memory);
    let most = memory.fold((1, 1), |most: (u64, u64), m| (most.0.max(m.0), most.1.max(m.1)));
    html! {
        @if !lines.is_empty() {
            figure.card {
                figcaption {
                    b { @if any_wait { "Longest an interrupt is held back, and memory" } @else { "Memory" } }
                    " "
                    span.aside {
                        @if any_wait { "under one mixed load, in " (view.unit()) ", with the source lines; flash and RAM of that load in bytes" }
                        @else if let Some(image) = image { "of the firmware " (one_line(image)) ", in bytes" }
                    }
                }
                table.card-table {
                    thead {
                        tr {
                            th scope="col" { "kernel" }
                            @if any_wait {
                                th.n.long scope="col" { (linked(view, Victim::MostUrgent, ["most urgent", " interrupt"])) }
                                th.n.long scope="col" { (linked(view, Victim::MayCall, ["may call", " the kernel"])) }
                            }
                            th.n scope="col" { a href=(format!("#{}", view.id("memory"))) { "flash" } }
                            th.n scope="col" { "RAM" }
                        }
                    }
                    tbody {
                        @for line in &lines {
                            (card_line(view, styles, line, longest, most, any_wait))
                        }
                    }
                }
                (searched(view, worst))
            }
        }
    }
}

/// Renders a heading in two parts, the second one shown only if there is room for it.
fn linked(view: &View<'_>, victim: Victim, [text, more]: [&str; 2]) -> Markup {
    html! {
        a href=(format!("#{}", view.id_of("r", held_scenario(victim)))) { (text) span.wide { (more) } }
    }
}

fn card_line(
    view: &View<'_>,
    styles: &KernelStyles,
    line: &Line<'_>,
    longest: u64,
    most: (u64, u64),
    any_wait: bool,
) -> Markup {
    let kernel = line.column.0.as_str();
    let class = styles.class(kernel);
    let wait = |wait: &Option<Wait<'_>>| wait.map(|wait| wait.held.cycles);
    html! {
        tr.least[kernel == FLOOR] data-kernel=(kernel) {
            th scope="row" { (swatch(&class)) " " (view.name(line.column)) }
            @if any_wait {
                td.n { (measure(&class, wait(&line.urgent), longest)) }
                td.n { (measure(&class, wait(&line.calling), longest)) }
            }
            td.n { (measure("plain", line.memory.map(|memory| memory.0), most.0)) }
            td.n { (measure("plain", line.memory.map(|memory| memory.1), most.1)) }
        }
        @if let Some(held) = line.longest() {
            tr.cause.least[kernel == FLOOR] data-kernel=(kernel) { td colspan="5" { (cause(held)) } }
        }
    }
}

/// Renders a figure with a bar below it.
fn measure(class: &str, figure: Option<u64>, most: u64) -> Markup {
    let Some(figure) = figure else { return html! { "–" } };
    let width = figure as f64 / most.max(1) as f64 * 100.0;
    html! {
        (short_count(figure))
        svg class=(format!("bar {class}")) aria-hidden="true" {
            rect width=(format!("{width:.1}%")) height="100%" {}
        }
    }
}

/// Formats what holds an interrupt back, and between which lines: `by PRIMASK, at src/exec.rs:545`.
fn cause(held: &HeldInterval) -> Markup {
    html! {
        span.wide { "by " (breakable(&list(&held.by))) ", " }
        (breakable(&lines(held).unwrap_or_else(|| held.from.to_string())))
    }
}

/// Shows the worst case that `rtmark worst` has found on this chip, in this build.
fn searched(view: &View<'_>, worst: &[Worst]) -> Markup {
    let of_chip = worst.iter().filter(|worst| worst.is_of_block(&view.block));
    let found = of_chip.filter_map(|worst| Some((worst, worst.handler()?)));
    let Some((worst, timed)) = found.max_by_key(|(_, timed)| timed.max) else { return html! {} };
    let place = timed.witnesses.first().map(|witness| witness.at.to_string());
    html! {
        p.aside {
            a href="#worst" {
                "Worst case found by search: " (breakable(&worst.title())) ", " (timed.max) " cycles"
                @if let Some(place) = place { ", at " (breakable(&place)) }
            }
            "."
        }
    }
}
