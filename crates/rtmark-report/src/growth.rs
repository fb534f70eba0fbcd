//! Shows how costs grow with a count: the curves of a table, one line for each kernel.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use rtmark_model::{Curve, Order};

use crate::matrix::{Block, grouped, short_count};
use crate::notes::{Notes, one_line};

/// The style that makes unbounded costs stand out.
const GROWS: Style = AnsiColor::Red.on_default();
const ABSENT: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The meaning of the columns.
pub const LEGEND: &str = "growth: the cost at the smallest and the largest count, its order of growth, \
                          the cycles that each additional one adds, and the cost at every count as a bar, \
                          from zero to the largest of the line";

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the curves of a block in its order: by scenario, then by kernel.
pub fn curves(block: &Block<'_>) -> Vec<Curve> {
    let mut answers = Vec::new();
    for scenario in block.scenarios.iter().filter(|scenario| scenario.point().is_some()) {
        for kernel in &block.kernels {
            answers.extend(block.answer(scenario, *kernel).cloned());
        }
    }
    Curve::of(&answers)
}

/// Draws a bar for each point, from zero up to the largest; a missing point is a gap.
fn sparkline(curve: &Curve) -> String {
    let most = curve.points.iter().map(|point| point.cost).max().unwrap_or(0).max(1);
    let mut places: Vec<(u32, char)> = Vec::new();
    for point in &curve.points {
        let eighth = u128::from(point.cost) * BARS.len() as u128 / (u128::from(most) + 1);
        let bar = usize::try_from(eighth).ok().and_then(|eighth| BARS.get(eighth));
        places.push((point.n, bar.copied().unwrap_or(BARS[7])));
    }
    places.extend(curve.missing.iter().map(|missing| (missing.n, '\u{b7}')));
    places.sort_by_key(|place| place.0);
    places.into_iter().map(|place| place.1).collect()
}

/// The texts of a curve's line.
pub struct CurveWords {
    /// The cost at the smallest count.
    pub first: String,
    /// The word shown if there is no such cost.
    pub absent: Option<&'static str>,
    /// The numbers of the notes that explain why points are missing.
    pub marks: String,
    /// The cost at the largest measured count, with the count unless all were measured.
    pub last: String,
    /// The order of growth.
    pub order: &'static str,
    /// Whether it grows at least in proportion to the count.
    pub grows: bool,
    /// The change for each additional one.
    pub per_element: String,
    /// A bar for each count.
    pub bars: String,
}

impl CurveWords {
    /// Describes a curve; reasons for missing points become notes.
    pub fn of(curve: &Curve, notes: &mut Notes) -> Self {
        let (first, last) = (curve.points.first(), curve.points.last());
        let note = |reason: &str, notes: &mut Notes| format!("[{}]", notes.number(reason));
        let mut missing: Vec<_> =
            curve.missing.iter().map(|missing| note(&missing.reason, notes)).collect();
        missing.dedup();
        let marks = missing.join(" ");
        let order = match (curve.fit, first) {
            (Some(fit), _) => fit.order.name(),
            (None, Some(_)) => "too few",
            (None, None) => "",
        };
        let grows = curve.fit.is_some_and(|fit| {
            matches!(fit.order, Order::Linear | Order::Linearithmic | Order::Quadratic)
        });
        let per_element = match curve.fit {
            Some(fit) if fit.order != Order::Constant => format!("{:.1}", fit.per_element),
            _ => String::new(),
        };
        let largest = curve.missing.iter().map(|missing| missing.n).max();
        let last_text = match last {
            Some(point) if largest > Some(point.n) => {
                format!("{} at {}", short_count(point.cost), point.n)
            }
            Some(point) => short_count(point.cost),
            None => String::new(),
        };
        let failed = curve.missing.iter().any(|missing| missing.failed);
        Self {
            first: first.map(|point| short_count(point.cost)).unwrap_or_default(),
            absent: match (failed, first) {
                (true, _) => Some("FAILED"),
                (false, None) => Some("n/a"),
                (false, Some(_)) => None,
            },
            marks,
            last: last_text,
            order,
            grows,
            per_element,
            bars: if curve.points.is_empty() { String::new() } else { sparkline(curve) },
        }
    }
}

/// Formats the counts of some curves: `1 2 4`.
fn counts(curves: &[Curve]) -> String {
    let of = |curve: &Curve| {
        let points = curve.points.iter().map(|point| point.n);
        points.chain(curve.missing.iter().map(|missing| missing.n)).collect::<Vec<_>>()
    };
    let mut counts: Vec<u32> = curves.iter().flat_map(of).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Renders the curves as a text table; empty if there are none.
pub fn table(block: &Block<'_>, notes: &mut Notes) -> String {
    let curves = curves(block);
    if curves.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}')));
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heading = |text: &str| {
        let bold = Style::new().bold();
        Cell::new(format!("{bold}{text}{bold:#}"))
    };
    let right = |cell: Cell| cell.set_alignment(CellAlignment::Right);
    table.set_header([
        heading("growth"),
        heading("kernel"),
        right(heading("first")),
        right(heading("last")),
        heading("order"),
        right(heading("each")),
        heading(&format!("N = {}", counts(&curves))),
    ]);
    let mut before = None;
    for curve in &curves {
        let line = CurveWords::of(curve, notes);
        let styled = |style: Style, text: &str| format!("{style}{text}{style:#}");
        let order = if line.grows { styled(GROWS, line.order) } else { line.order.to_owned() };
        let absent = line.absent.map(|word| styled(if word == "n/a" { ABSENT } else { BAD }, word));
        let first = absent.unwrap_or_default() + &line.first;
        let last = format!("{} {}", line.last, line.marks);
        // The scenario's name appears once, above the lines of its kernels.
        let scenario = &curve.key.scenario;
        let name = if before == Some(scenario) { String::new() } else { scenario.to_string() };
        before = Some(scenario);
        table.add_row([
            Cell::new(name),
            Cell::new(block.name_of_curve(curve)),
            right(Cell::new(first)),
            right(Cell::new(last.trim())),
            Cell::new(order),
            right(Cell::new(line.per_element)),
            Cell::new(line.bars),
        ]);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// Renders the curves as a Markdown table with a column for every point; empty if there are none.
pub fn markdown(block: &Block<'_>, notes: &mut Notes, escaped: impl Fn(&str) -> String) -> String {
    let curves = curves(block);
    if curves.is_empty() {
        return String::new();
    }
    let mut counts: Vec<u32> =
        curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.n)).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut text = String::from("| growth | kernel | order | each |");
    for n in &counts {
        let _ = write!(text, " {n} |");
    }
    text.push_str("\n|---|---|---|--:|");
    let _ = writeln!(text, "{}", "--:|".repeat(counts.len()));
    for curve in &curves {
        let line = CurveWords::of(curve, notes);
        let order = format!("{} {} {}", line.order, line.absent.unwrap_or_default(), line.marks);
        let cells = counts.iter().map(|n| {
            let point = curve.points.iter().find(|point| point.n == *n);
            format!(" {} |", point.map(|point| grouped(point.cost)).unwrap_or_default())
        });
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |{}",
            escaped(curve.key.scenario.as_str()),
            escaped(&block.name_of_curve(curve)),
            escaped(&one_line(&order)),
            line.per_element,
            cells.collect::<String>()
        );
    }
    text
}
