//! The table of all operations: one figure in each cell, with a column for each kernel and scenarios in
//! groups.

use maud::{Markup, html};
use rtmark_model::{Answer, ScenarioId, Series};
use sha2::{Digest, Sha256};

use super::text::{breakable, swatch};
use super::view::View;
use crate::groups::Group;
use crate::kernels::{KernelStyles, written};
use crate::matrix::{FLOOR, KernelColumn, grouped, short_count};
use crate::notes::{Notes, one_line, remarks, summary, without_figures};
use crate::rank::{Ranking, heat};
use crate::unequal::unequal;

/// Half the width of a spread's bar, and the factor that it represents.
const HALF: f64 = 20.0;
const FACTOR: f64 = 1.25;

/// Returns the scenarios of a view in their groups.
pub fn by_group<'a>(view: &View<'a>) -> Vec<(Group, Vec<&'a ScenarioId>)> {
    let of = |group: Group| {
        let rows = view.block.rows().filter(|scenario| Group::of(scenario) == group);
        (group, rows.collect::<Vec<_>>())
    };
    Group::ALL.into_iter().map(of).filter(|(_, rows)| !rows.is_empty()).collect()
}

/// Renders the table of a view, or nothing if it has no rows.
pub fn operations(view: &View<'_>, styles: &KernelStyles) -> Markup {
    let groups = by_group(view);
    if groups.is_empty() {
        return html! {};
    }
    let mut heads = Notes::default();
    let columns = view.block.kernels.len() + 1;
    html! {
        section id=(view.id("operations")) aria-labelledby=(view.id("operations-head")) {
            h3 id=(view.id("operations-head")) { "Every operation" }
            p.key {
                span.what-is-shown { "Typical " (view.unit()) ": the median of the steady samples" }
                ". The floor is hand-written code that does the least the hardware allows. "
                span.legend {
                    "Colours show the multiple of the row’s best kernel: "
                    @for (class, range) in LEGEND { span class=(class) { (range) } " " }
                }
                span.legend-of-changes hidden {
                    "Colours mark figures at least 1 % " span.worse { "above" } " or " span.good { "below" } " the other build’s."
                }
                @if placements(view) > 1 {
                    " The bar below a figure shows its range over " (placements(view))
                    " placements of the same code; its edges are at " span.nobreak { "25 %" } " below and above."
                }
            }
            (difference())
            div.wide tabindex="0" role="region" aria-label=(format!("Every operation on {}", view.chip)) {
                table.matrix {
                    caption.aside { (view.chip) ", " span.unit { (view.unit()) } }
                    thead {
                        tr {
                            th scope="col" aria-sort="none" { span.sort { "operation" } }
                            @for column in &view.block.kernels {
                                (head(view, column, styles, &mut heads))
                            }
                        }
                    }
                    @for (group, rows) in &groups { (body(view, *group, rows, columns)) }
                    @if heads.iter().next().is_some() {
                        tfoot { (notes_row(view, "heads", &heads, columns)) }
                    }
                }
            }
        }
    }
}

const LEGEND: [(&str, &str); 6] = [
    ("h0", "1"),
    ("h1", "to 1.25"),
    ("h2", "to 1.75"),
    ("h3", "to 2.5"),
    ("h4", "to 4"),
    ("h5", "more"),
];

/// The place in which the script reports how two builds differ.
fn difference() -> Markup {
    html! { p.difference hidden aria-live="polite" {} }
}

fn placements(view: &View<'_>) -> u64 {
    view.block
        .series()
        .filter_map(Series::spread)
        .map(|spread| spread.placements)
        .max()
        .unwrap_or(0)
}

fn head<'a>(
    view: &View<'a>,
    column: &KernelColumn<'a>,
    styles: &KernelStyles,
    notes: &mut Notes,
) -> Markup {
    let class = styles.class(column.0.as_str());
    let compiler = view.block.series_of(column).next();
    let compiler = compiler.map(|series| one_line(&series.provenance.compiler.version));
    html! {
        th scope="col" data-kernel=(column.0) data-version=(column.1)
            data-compiler=[compiler] aria-sort="none" {
            (swatch(&class))
            span.sort { (written(column.0.as_str())) }
            @if column.0.as_str() != FLOOR { " " small { (breakable(column.1)) } }
            @if let Some(note) = unequal(&view.block, column) { (mark(view, "heads", notes.number(&note))) }
        }
    }
}

/// Renders a note's number as a link to the note.
fn mark(view: &View<'_>, group: &str, number: usize) -> Markup {
    let id = view.id_of("n", &format!("{group}-{number}"));
    html! { a.mark href=(format!("#{id}")) aria-describedby=(id) { (number) } }
}

fn body<'a>(view: &View<'a>, group: Group, rows: &[&'a ScenarioId], columns: usize) -> Markup {
    let mut notes = Notes::default();
    html! {
        tbody.group id=(view.id(group.slug())) {
            tr.group-head {
                th colspan=(columns) scope="rowgroup" {
                    span.fold { (group.title()) } " " small { (rows.len()) }
                }
            }
            @for scenario in rows { (row(view, scenario, group, &mut notes)) }
        }
        @if notes.iter().next().is_some() {
            tbody.notes { (notes_row(view, group.slug(), &notes, columns)) }
        }
    }
}

fn notes_row(view: &View<'_>, group: &str, notes: &Notes, columns: usize) -> Markup {
    html! {
        tr.notes {
            td colspan=(columns) {
                ol {
                    @for (number, note) in notes.iter() {
                        li id=(view.id_of("n", &format!("{group}-{number}"))) { (breakable(note)) }
                    }
                }
            }
        }
    }
}

fn row<'a>(view: &View<'a>, scenario: &'a ScenarioId, group: Group, notes: &mut Notes) -> Markup {
    let ranking = Ranking::of(&view.block, scenario);
    let best = ranking.as_ref().filter(|ranking| ranking.figures().len() > 1);
    let best = best.and_then(Ranking::best);
    let name = scenario.as_str();
    html! {
        tr id=(view.id_of("r", name)) data-scenario=(name) data-ranked[best.is_some()] {
            th scope="row" { a href=(format!("#{}", view.id_of("s", name))) { (breakable(name)) } }
            @for column in &view.block.kernels {
                (cell(view, scenario, *column, best, group, notes))
            }
        }
    }
}

fn cell<'a>(
    view: &View<'a>,
    scenario: &'a ScenarioId,
    column: KernelColumn<'a>,
    best: Option<u64>,
    group: Group,
    notes: &mut Notes,
) -> Markup {
    let kernel = column.0.as_str();
    let Some(answer) = view.block.answer(scenario, column) else {
        return html! { td data-kernel=(kernel) { "–" } };
    };
    if let Some((word, note)) = without_figures(answer) {
        let mark = mark(view, group.slug(), notes.number(&note));
        let class = if matches!(answer, Answer::NotApplicable { .. }) { "why" } else { "why bad" };
        return html! { td data-kernel=(kernel) class=(class) { (word) (mark) } };
    }
    let Some(series) = answer.series() else { return html! { td data-kernel=(kernel) {} } };
    let Some(statistics) = series.statistics() else {
        let text = summary(series).unwrap_or_default();
        return html! { td data-kernel=(kernel) class="why" { (text) } };
    };
    let typical = statistics.typical();
    let emptied = series.emptied.as_ref().and_then(rtmark_model::Samples::statistics);
    let marks: Vec<Markup> =
        remarks(series).map(|note| mark(view, group.slug(), notes.number(&note))).collect();
    let class = match best {
        Some(best) if kernel != FLOOR => heat(typical, best),
        _ => "",
    };
    html! {
        td data-kernel=(kernel) class=(class) data-c=(typical) data-f=(statistics.first)
            data-m=(statistics.largest()) data-e=[emptied.map(|emptied| emptied.typical())]
            data-span=(fingerprint(series)) data-layouts=(series.placements.len().max(1)) {
            span.v { (short_count(typical)) }
            @for mark in marks { (mark) }
            (spread(series, typical))
        }
    }
}

/// Returns a hash of what must be equal for two figures to be compared: the basis and the span.
fn fingerprint(series: &Series) -> String {
    let span = &series.span;
    let text = format!(
        "{}\n{}\n{}\n{}\n{:?}\n{}\n{}\n{}",
        series.basis,
        span.from,
        span.to,
        span.switches,
        span.counted,
        span.overhead,
        span.ticks,
        span.interrupts
    );
    let digest = Sha256::digest(text);
    let first = digest.iter().take(4).fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
    format!("{first:08x}")
}

/// Draws the range of a figure over placements of the same code, as a bar around the typical one.
fn spread(series: &Series, typical: u64) -> Markup {
    let Some(spread) = series.spread().filter(|spread| spread.min < spread.max && typical > 0)
    else {
        return html! {};
    };
    let place = |figure: u64| {
        let factor = (figure.max(1) as f64 / typical as f64).ln() / FACTOR.ln();
        HALF + factor.clamp(-1.0, 1.0) * HALF
    };
    let (from, to) = (place(spread.min), place(spread.max));
    let title = format!(
        "{} to {} in {} placements",
        grouped(spread.min),
        grouped(spread.max),
        spread.placements
    );
    html! {
        svg.spread viewBox=(format!("0 0 {} 5", HALF * 2.0)) role="img" aria-label=(title) {
            title { (title) }
            path.track d=(format!("M0 2.5H{}", HALF * 2.0)) {}
            path.range d=(format!("M{from:.1} 2.5H{:.1}", to.max(from + 1.0))) {}
            path.centre d=(format!("M{HALF} 0V5")) {}
        }
    }
}

/// Lists the kernels of a view for a command line.
pub fn kernels_of(view: &View<'_>) -> String {
    let mut kernels: Vec<&str> =
        view.block.kernels.iter().map(|kernel| kernel.0.as_str()).collect();
    kernels.dedup();
    one_line(&kernels.join(" "))
}
