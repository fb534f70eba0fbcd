//! Shows where the cycles of a scenario's typical sample went, as a bar for each kernel.

use maud::{Markup, html};
use rtmark_model::{ScenarioId, Series};

use super::text::{breakable, short_hash, swatch};
use super::view::View;
use crate::kernels::KernelStyles;
use crate::matrix::grouped;
use crate::report::Report;
use crate::why::{Cost, Explained, Part};

/// The kinds of work: their names in data and in words, in the order of the bars.
const ROLES: [(&str, &str); 10] = [
    ("thread", "thread code"),
    ("switch", "handlers of calls and switches"),
    ("tick", "the tick’s handler"),
    ("interrupt", "interrupt handlers"),
    ("fault", "fault handlers"),
    ("exception-entry", "exception entry"),
    ("exception-return", "exception return"),
    ("division", "division helpers"),
    ("memory", "copying and filling memory"),
    ("sleep", "sleep"),
];
/// The number of functions named for each kind of work.
const MAX_FUNCTIONS: usize = 4;

/// A kind of work in one sample.
struct Kind<'a> {
    number: usize,
    name: &'a str,
    cycles: u64,
    /// Its functions, the most cycles first.
    parts: Vec<&'a Part>,
}

/// Renders the bars; nothing if `rtmark why` was not run for the scenario.
pub fn cost_bars<'a>(
    report: &Report<'a>,
    view: &View<'a>,
    scenario: &'a ScenarioId,
    styles: &KernelStyles,
) -> Markup {
    let of = |series: &Series| {
        let same = |explained: &&Explained| {
            let rules = series.provenance.timing_model.as_deref();
            explained.key == series.key && rules == Some(explained.timing_model.as_str())
        };
        report.why.iter().find(same)
    };
    let series = view.block.kernels.iter().filter_map(|column| {
        let series = view.block.answer(scenario, *column)?.series()?;
        Some((*column, series, of(series)?))
    });
    let bars: Vec<_> = series.collect();
    let Some(most) = bars.iter().map(|(_, _, explained)| total(&explained.cost)).max() else {
        return html! {};
    };
    let kinds: Vec<_> = bars.iter().map(|(_, _, explained)| kinds(&explained.cost)).collect();
    let shown = (0..=ROLES.len())
        .filter(|number| kinds.iter().flatten().any(|kind| kind.number == *number));
    html! {
        h4 { "Where the typical sample’s cycles went" }
        p.key {
            @for number in shown {
                span.nobreak { svg.part aria-hidden="true" { (piece(number, 0.0, 100.0)) } " " (ROLES.get(number).map_or("other", |role| role.1)) } " "
            }
        }
        table.spent {
            @for ((column, series, explained), kinds) in bars.iter().zip(&kinds) {
                @let kernel = column.0.as_str();
                tr data-kernel=(kernel) {
                    th scope="row" { (swatch(&styles.class(kernel))) " " (view.name(*column)) }
                    td.n { (grouped(explained.cost.cycles)) }
                    td {
                        svg.parts aria-hidden="true" { (pieces(kinds, most)) }
                        (breakable(&described(kinds)))
                        @if explained.elf_sha256 != series.provenance.firmware.elf_sha256 {
                            @let which = if series.is_of_image(&explained.elf_sha256) { "in placement" } else { "of another build," };
                            " (" (which) " " code { (short_hash(&explained.elf_sha256)) } ")"
                        }
                    }
                }
            }
        }
    }
}

fn total(cost: &Cost) -> u64 {
    let sum = cost.parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.cycles));
    sum.max(cost.cycles).max(1)
}

fn kinds(cost: &Cost) -> Vec<Kind<'_>> {
    let number =
        |part: &&Part| ROLES.iter().position(|(name, _)| *name == part.role).unwrap_or(ROLES.len());
    let kind = |wanted: usize| {
        let mut parts: Vec<_> =
            cost.parts.iter().filter(|part| part.cycles > 0 && number(part) == wanted).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.cycles));
        let cycles = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.cycles));
        let name = ROLES.get(wanted).map_or("other", |role| role.1);
        (cycles > 0).then_some(Kind { number: wanted, name, cycles, parts })
    };
    (0..=ROLES.len()).filter_map(kind).collect()
}

fn piece(number: usize, from: f64, width: f64) -> Markup {
    html! {
        rect class=(format!("w{number}")) x=(format!("{from:.2}%")) width=(format!("{width:.2}%")) height="100%" {}
    }
}

fn pieces(kinds: &[Kind<'_>], most: u64) -> Markup {
    let share = |cycles: u64| cycles as f64 / most as f64 * 100.0;
    let mut from = 0.0;
    html! {
        @for kind in kinds {
            (piece(kind.number, from, share(kind.cycles)))
            @let () = from += share(kind.cycles);
        }
    }
}

/// `thread code 34 (vTaskSwitchContext 20, xTaskNotify 14), exception entry 12`
fn described(kinds: &[Kind<'_>]) -> String {
    let functions = |kind: &Kind<'_>| {
        let named = kind.parts.iter().filter(|part| !part.function.starts_with('['));
        let named: Vec<_> = named
            .take(MAX_FUNCTIONS)
            .map(|part| format!("{} {}", part.function, grouped(part.cycles)))
            .collect();
        if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
    };
    let kinds = kinds.iter();
    let names =
        kinds.map(|kind| format!("{} {}{}", kind.name, grouped(kind.cycles), functions(kind)));
    names.collect::<Vec<_>>().join("; ")
}
