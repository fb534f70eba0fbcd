//! Renders the text table: rows for scenarios, columns for kernels.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use rtmark_model::{Answer, Basis, Catalogue, KernelId, Overhead, Series};

use crate::growth;
use crate::imported::imported;
use crate::matrix::{
    Block, FLOOR, Figures, KernelColumn, blocks, from_log, grouped, short_count, short_time,
};
use crate::notes::{Notes, one_line, remarks, rests_on, summary, without_figures};
use crate::unequal::{built, unequal};

const HEADING: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ABSENT: Style = AnsiColor::Yellow.on_default();

/// The legend of a word shown below figures.
const HIT: &str = "hit: samples disturbed by a tick or an unrelated interrupt; \
                   median and max leave them out";

/// Explains ranges of figures, if any of these series has one.
pub(crate) fn spread_of<'a>(series: impl Iterator<Item = &'a Series>) -> Option<String> {
    let placements: BTreeSet<u64> =
        series.filter_map(Series::spread).map(|spread| spread.placements).collect();
    let (fewest, most) = (placements.first()?, placements.last()?);
    let placements = if fewest == most {
        format!("{most} placements")
    } else {
        format!("{most} placements ({fewest} for curves and long scenarios)")
    };
    Some(format!(
        "a..b: the medians of the best and the worst of {placements} of the same code; \
         the figure is that of the middle one"
    ))
}

/// Explains several modes, if any figure of the block has some.
pub(crate) fn modes_of(block: &Block<'_>) -> Option<&'static str> {
    let several = |series: &Series| block.figures(series).is_some_and(|f| f.modes.len() > 1);
    block.series().any(several).then_some(MODES)
}

/// The legend of another word shown below figures.
const EMPTIED: &str = "emptied: the median of another run, with all caches and memory buffers \
                       emptied at the beginning of each span";

/// The legend of several modes.
const MODES: &str = "a | b: samples cluster around several lengths, and the figure is their mean";

/// What a compact table leaves out, and where to find it.
const COMPACT_LEGEND: &str = "max: shown if at least a tenth above the median. A wider table, and --format csv, \
                    json and md, also have times, first samples, and samples that an interrupt hit or \
                    that began with emptied caches";

/// The narrowest supported width, in characters.
const NARROWEST: usize = 60;

fn styled(style: Style, text: &str) -> String {
    // Each line is styled separately, so that a table can put borders between them.
    let lines = text.lines().map(|line| format!("{style}{line}{style:#}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// How much a table shows of each figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Every digit, the time, and what differs from the median.
    Whole,
    /// Five digits and the multiple; a maximum only if it is clearly different.
    Compact,
}

/// Renders answers as tables no wider than `width` characters, as far as their columns allow it. If the
/// kernels do not fit side by side, their columns become narrow and less detailed; kernels that still
/// do not fit go below. The text contains ANSI styles, to be stripped where they cannot be displayed.
pub fn table(answers: &[Answer], width: usize) -> String {
    let mut rendered: Vec<_> = blocks(answers).iter().map(|block| whole(block, width)).collect();
    let logs: Vec<_> = answers.iter().filter(|answer| from_log(answer)).cloned().collect();
    if !logs.is_empty() {
        let catalogue = Catalogue::builtin().unwrap_or_default();
        rendered.push(imported(&logs, &catalogue, width));
    }
    rendered.join("\n")
}

fn whole(block: &Block<'_>, width: usize) -> String {
    let width = width.max(NARROWEST);
    let fits = |part: &str| part.lines().map(width_of).max().unwrap_or(0) <= width;
    let widest = part(block, &block.kernels, Layout::Whole, &mut Notes::default());
    let layout = if fits(&widest) { Layout::Whole } else { Layout::Compact };
    let mut text = folded(&title(block, layout), width);
    let mut notes = Notes::default();
    let any_row = block.rows().next().is_some();
    let mut rest = if any_row { block.kernels.as_slice() } else { &[] };
    while !rest.is_empty() {
        let mut fitting = rest.len();
        let part = loop {
            // Notes are numbered in the order of the final table, not of attempts.
            let mut tried = notes.clone();
            let part = part(block, &rest[..fitting], layout, &mut tried);
            if fitting == 1 || fits(&part) {
                notes = tried;
                break part;
            }
            fitting -= 1;
        };
        let _ = write!(text, "\n{part}");
        rest = &rest[fitting..];
    }
    let growth = growth::table(block, &mut notes);
    if !growth.is_empty() {
        let _ = write!(text, "\n{growth}");
    }
    let any_hit =
        || block.series().any(|series| series.statistics().is_some_and(|s| s.disturbed.is_some()));
    let hit = layout == Layout::Whole && any_row && any_hit();
    let any_emptied = || block.series().any(|series| series.emptied.is_some());
    let emptied = layout == Layout::Whole && any_row && any_emptied();
    let modes = modes_of(block).filter(|_| any_row);
    let more = layout == Layout::Compact && any_row;
    let placed = spread_of(block.series()).filter(|_| any_row);
    if modes.is_some()
        || hit
        || placed.is_some()
        || emptied
        || more
        || !growth.is_empty()
        || notes.iter().next().is_some()
    {
        text.push('\n');
    }
    if let Some(modes) = modes {
        text.push_str(&folded(modes, width));
    }
    if let Some(placed) = placed {
        text.push_str(&folded(&placed, width));
    }
    if hit {
        text.push_str(&folded(HIT, width));
    }
    if emptied {
        text.push_str(&folded(EMPTIED, width));
    }
    if more {
        text.push_str(&folded(COMPACT_LEGEND, width));
    }
    if !growth.is_empty() {
        text.push_str(&folded(growth::LEGEND, width));
    }
    for (number, note) in notes.iter() {
        text.push_str(&folded(&format!("[{number}] {note}"), width));
    }
    text
}

fn width_of(line: &str) -> usize {
    anstream::adapter::strip_str(line).to_string().chars().count()
}

fn title(block: &Block<'_>, layout: Layout) -> String {
    let mut parts = Vec::new();
    if let Some(series) = block.any_series() {
        parts.push(format!("{} at {}", one_line(&series.provenance.core), series.clock));
    }
    parts.extend(
        block.profile().map(|profile| format!("profile {}{}", one_line(profile), built(block))),
    );
    let provenance = block.any_series().map(|series| &series.provenance);
    let board = provenance.and_then(|p| p.board.as_ref());
    parts.push(match (provenance.and_then(|p| p.timing_model.as_deref()), board) {
        (Some(model), _) => format!("backend {}, timing model {}", block.backend, one_line(model)),
        (None, Some(board)) => format!("backend {}, {}", block.backend, one_line(&board.name)),
        (None, None) => format!("backend {}", block.backend),
    });
    parts.extend(provenance.and_then(rests_on));
    let by_counter = |series: &Series| series.span.overhead == Overhead::Subtracted;
    if block.basis == Some(Basis::Cycles) && block.any_series().is_some_and(by_counter) {
        parts.push("by probes that read a counter, with their cost subtracted".to_owned());
    }
    let what = match block.basis {
        Some(Basis::Cycles) if layout == Layout::Compact => "median cycles, multiple of the floor",
        Some(Basis::Cycles) => "median cycles, multiple of the floor, time",
        Some(Basis::Instructions) => "median of executed instructions, multiple of the floor",
        Some(Basis::Ns) => "median time, multiple of the floor",
        None => "nothing was measured",
    };
    let soc = styled(HEADING, &one_line(block.soc));
    format!("{soc} \u{b7} {} \u{b7} {}", parts.join(" \u{b7} "), what)
}

fn part(
    block: &Block<'_>,
    kernels: &[KernelColumn<'_>],
    layout: Layout,
    notes: &mut Notes,
) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}')));
    table.set_content_arrangement(ContentArrangement::Disabled);
    let heading = |text: &str| Cell::new(styled(HEADING, text));
    let kernel = |kernel: &KernelColumn<'_>| {
        let (id, version, profile) = kernel;
        let mut below = one_line(version);
        if block.profile().is_none() {
            // One setting a line, as columns are narrow.
            let _ = write!(below, "\n{}", one_line(profile).replace('+', "\n+"));
        }
        let mut text = format!("{}\n{}", styled(HEADING, id.as_str()), styled(ASIDE, &below));
        if let Some(note) = unequal(block, kernel) {
            let _ = write!(text, "\n[{}]", notes.number(&note));
        }
        Cell::new(text).set_alignment(CellAlignment::Right)
    };
    let heads: Vec<_> = kernels.iter().map(kernel).collect();
    table.set_header(std::iter::once(heading("scenario")).chain(heads));
    if let Some(scenarios) = table.column_mut(0) {
        scenarios.set_padding((0, u16::from(layout == Layout::Whole)));
    }
    if layout == Layout::Compact {
        for column in table.column_iter_mut().skip(1) {
            column.set_padding((1, 0));
        }
    }
    for scenario in block.rows() {
        let mut row = scenario.to_string();
        if let Some(reason) = block.no_multiple(scenario) {
            let _ =
                write!(row, " [{}]", notes.number(&format!("no multiple of the floor: {reason}")));
        }
        let cells = kernels.iter().map(|kernel| {
            let text = cell(block, block.answer(scenario, *kernel), layout, notes);
            Cell::new(text).set_alignment(CellAlignment::Right)
        });
        let cells: Vec<_> = cells.collect();
        table.add_row(std::iter::once(Cell::new(row)).chain(cells));
    }
    add_firmware(block, kernels, layout, &mut table);
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

fn cell(block: &Block<'_>, answer: Option<&Answer>, layout: Layout, notes: &mut Notes) -> String {
    let Some(answer) = answer else { return styled(ASIDE, "\u{2013}") };
    if let Some((word, note)) = without_figures(answer) {
        let style = if matches!(answer, Answer::NotApplicable { .. }) { ABSENT } else { BAD };
        return format!("{} [{}]", styled(style, word), notes.number(&note));
    }
    if let Some(summary_text) = answer.series().and_then(summary) {
        return summary_text;
    }
    let Some((series, figures)) = answer.series().and_then(|s| Some((s, block.figures(s)?))) else {
        return String::new();
    };
    // In narrow columns it goes below.
    let before = if layout == Layout::Compact { '\n' } else { ' ' };
    let marks = remarks(series).map(|note| format!("{before}[{}]", notes.number(&note)));
    let mark: String = marks.collect();
    let mut text = headline(series, &figures, room_for_multiple(block, series), layout) + &mark;
    let below = match layout {
        Layout::Whole => side_figures(&figures),
        Layout::Compact => {
            let range = layout_range(&figures);
            let range =
                range.map(|(min, max)| format!("{}..{}", short_count(min), short_count(max)));
            let far = || far_maximum(&figures);
            range.into_iter().chain(modes(&figures).or_else(far)).collect()
        }
    };
    for line in below {
        let _ = write!(text, "\n{}", styled(ASIDE, &line));
    }
    text
}

/// Returns the width reserved for multiples, which are aligned; none if there can be none.
fn room_for_multiple(block: &Block<'_>, series: &Series) -> usize {
    let is_floor = |kernel: &KernelId| kernel.as_str() == FLOOR;
    let any_floor = block.kernels.iter().any(|(kernel, ..)| is_floor(kernel));
    if any_floor && !is_floor(&series.key.kernel) { 6 } else { 0 }
}

/// Formats `245   4.0×   5.10 µs`, in columns of their own.
fn headline(series: &Series, figures: &Figures, room: usize, layout: Layout) -> String {
    let typical = figures.statistics.typical();
    let multiple = figures.multiple.map(multiple).unwrap_or_default();
    match (series.basis, figures.time, layout) {
        (Basis::Ns, Some(time), _) => format!("{}{multiple:>room$}", short_time(time)),
        (_, Some(time), Layout::Whole) => {
            format!("{}{multiple:>room$}{:>8}", grouped(typical), short_time(time))
        }
        (_, None, Layout::Whole) => format!("{}{multiple:>room$}", grouped(typical)),
        (_, _, Layout::Compact) => format!("{}{multiple:>room$}", short_count(typical)),
    }
}

/// Formats the modes, of which the figure above is the mean: `135 | 249`.
fn modes(figures: &Figures) -> Option<String> {
    let modes = figures.modes.iter().map(|mode| short_count(mode.value));
    (figures.modes.len() > 1).then(|| modes.collect::<Vec<_>>().join(" | "))
}

/// Formats the largest steady sample, if it is far from the median.
fn far_maximum(figures: &Figures) -> Option<String> {
    let typical = figures.statistics.typical();
    let max = figures.statistics.steady?.max;
    (max >= typical + typical.div_ceil(10)).then(|| format!("max {}", short_count(max)))
}

pub(crate) fn multiple(multiple: f64) -> String {
    let digits = usize::from(multiple < 9.95) + usize::from(multiple < 1.995);
    format!("{multiple:.digits$}\u{d7}")
}

/// Returns the typical samples of the best and of the worst layout, if they differ.
fn layout_range(figures: &Figures) -> Option<(u64, u64)> {
    figures.spread.map(|spread| (spread.min, spread.max)).filter(|(min, max)| min != max)
}

/// Formats what differs from the median: the layouts' range, the first and largest sample, and
/// disturbed samples.
pub(crate) fn side_figures(figures: &Figures) -> Vec<String> {
    let statistics = figures.statistics;
    let typical = statistics.typical();
    let mut parts = Vec::new();
    if statistics.first != typical {
        parts.push(format!("first {}", grouped(statistics.first)));
    }
    if let Some(steady) = statistics.steady.filter(|steady| steady.max != typical) {
        parts.push(format!("max {}", grouped(steady.max)));
    }
    let mut lines: Vec<_> = modes(figures).into_iter().collect();
    lines.extend(
        layout_range(figures).map(|(min, max)| format!("{}..{}", grouped(min), grouped(max))),
    );
    // Long numbers are stacked rather than widening the column.
    let joined = parts.join(" \u{b7} ");
    if joined.chars().count() > 22 {
        lines.append(&mut parts);
    } else if !joined.is_empty() {
        lines.push(joined);
    }
    if let Some(emptied) = figures.emptied.map(|emptied| emptied.typical())
        && emptied != typical
    {
        lines.push(format!("emptied {}", grouped(emptied)));
    }
    if let Some(hit) = statistics.disturbed {
        lines.push(format!("{} hit, max {}", grouped(hit.count), grouped(hit.max)));
    }
    lines
}

fn add_firmware(
    block: &Block<'_>,
    kernels: &[KernelColumn<'_>],
    layout: Layout,
    table: &mut Table,
) {
    let firmware: Vec<_> = kernels.iter().map(|kernel| block.firmware(*kernel)).collect();
    let mut images: Vec<&str> = Vec::new();
    for scenario in &block.scenarios {
        let group = scenario.group();
        if !images.contains(&group) && firmware.iter().any(|images| images.contains_key(group)) {
            images.push(group);
        }
    }
    if images.is_empty() {
        return;
    }
    let empty = std::iter::repeat_n(Cell::new(""), kernels.len());
    let heading = styled(ASIDE, "flash + RAM in bytes");
    table.add_row(std::iter::once(Cell::new(format!("\n{heading}"))).chain(empty));
    for image in images {
        let sizes = firmware.iter().map(|images| {
            let text = images.get(image).map(|firmware| {
                let (flash, ram) = (grouped(firmware.flash_bytes), grouped(firmware.ram_bytes));
                match layout {
                    Layout::Whole => format!("{flash} + {ram:>6}"),
                    Layout::Compact => format!(
                        "{}+{}",
                        short_count(firmware.flash_bytes),
                        short_count(firmware.ram_bytes)
                    ),
                }
            });
            Cell::new(text.unwrap_or_default()).set_alignment(CellAlignment::Right)
        });
        table.add_row(std::iter::once(Cell::new(format!("firmware {image}"))).chain(sizes));
    }
}

/// Wraps a text to a width, as far as its words allow.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    if width_of(text) <= width {
        return vec![text.to_owned()];
    }
    folded(text, width).lines().map(|line| line.trim_start().to_owned()).collect()
}

/// Wraps a text to a width, with later lines indented.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.trim().is_empty() && width_of(&line) + 1 + width_of(word) > width {
            let _ = writeln!(lines, "{line}");
            line = String::from("   ");
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}
