//! Renders the table of answers as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use rtmark_model::{Answer, Catalogue};

use crate::growth;
use crate::imported::sheet;
use crate::matrix::{Block, blocks, grouped, short_time};
use crate::notes::{Notes, one_line, remarks, rests_on, summary, without_figures};
use crate::report::label;
use crate::sheet::Sheet;
use crate::table::{modes_of, multiple, side_figures, spread_of};
use crate::unequal::{built, unequal};

/// Escapes text from outside as plain text of a table cell.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in one_line(text).chars() {
        if matches!(
            character,
            '\\' | '|' | '<' | '>' | '&' | '*' | '_' | '`' | '[' | ']' | '#' | '~'
        ) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Formats text from outside as code, also in a table cell.
pub fn code(text: &str) -> String {
    let text = one_line(text).replace('|', "\\|");
    let runs = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs + 1);
    let gap = if runs > 0 { " " } else { "" };
    format!("{fence}{gap}{text}{gap}{fence}")
}

/// GitHub's limit for a comment is 65 536 characters; some are left for surrounding text.
const COMMENT: usize = 64_000;

/// The level of detail in table cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Everything, in brief.
    Full,
    /// Medians and multiples only.
    Medians,
}

/// A piece of a page, with the name under which it is listed if it is left out.
pub struct Piece {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Piece {
    /// Renders a table of a report.
    pub fn of(sheet: &Sheet) -> Self {
        Self { text: sheet.markdown(), name: sheet.title.clone() }
    }
}

/// Renders the tables, one piece for each soc.
pub fn tables(answers: &[Answer], cells: Cells) -> Vec<Piece> {
    let part = |block: &Block<'_>| Piece { name: label(block), text: whole(block, cells) };
    blocks(answers).iter().map(part).collect()
}

/// Assembles a page that fits into a comment. What does not fit is listed at its end: first the details
/// beside the medians are dropped, then whole pieces, from the end.
pub fn fitted(parts: impl Fn(Cells) -> Vec<Piece>) -> String {
    let joined = |parts: &[Piece]| {
        parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
    };
    let whole = joined(&parts(Cells::Full));
    if whole.chars().count() <= COMMENT {
        return whole;
    }
    let (mut left_out, mut length) = (Vec::new(), 0);
    let mut fitting = parts(Cells::Medians);
    fitting.retain(|part| {
        let with = length + part.text.chars().count() + 1;
        let fits = with <= COMMENT;
        if fits {
            length = with;
        } else {
            left_out.push(escaped(&part.name));
        }
        fits
    });
    let rest = match left_out.as_slice() {
        [] => String::new(),
        names => format!(", and: {}", names.join("; ")),
    };
    joined(&fitting)
        + &format!(
            "\n_Shortened to what a comment of GitHub holds. Left out are times, first and largest \
             samples{rest}. `rtmark report -o report.html` shows everything._\n"
        )
}

/// Renders answers as Markdown tables that fit into a GitHub comment.
pub fn markdown(answers: &[Answer]) -> String {
    let logs = sheet(answers, &Catalogue::builtin().unwrap_or_default());
    fitted(|cells| {
        let mut parts = tables(answers, cells);
        parts.extend(logs.as_ref().map(Piece::of));
        parts
    })
}

fn whole(block: &Block<'_>, cells: Cells) -> String {
    let mut notes = Notes::default();
    let mut text = format!("### {}", escaped(block.soc));
    if let Some(series) = block.any_series() {
        let _ = write!(text, ", {} at {}", escaped(&series.provenance.core), series.clock);
    }
    let basis = block.basis.map_or("nothing measured", |basis| basis.name());
    let profile = block
        .profile()
        .map(|profile| format!("{}, ", escaped(&format!("profile {profile}{}", built(block)))))
        .unwrap_or_default();
    let rests_on = block.any_series().and_then(|series| rests_on(&series.provenance));
    let rests_on = rests_on.map(|basis| format!("; {basis}")).unwrap_or_default();
    let _ = writeln!(
        text,
        "\n\nMedian {basis}, multiple of the floor{}; {profile}backend {}{rests_on}.\n",
        if cells == Cells::Full { ", time" } else { "" },
        block.backend
    );
    if block.rows().next().is_some() {
        rows(block, cells, &mut text, &mut notes);
    }
    if let (Some(modes), Cells::Full) = (modes_of(block), cells) {
        let _ = writeln!(text, "\n{}.", escaped(modes));
    }
    if let (Some(spread), Cells::Full) = (spread_of(block.series()), cells) {
        let _ = writeln!(text, "\n{}.", escaped(&spread));
    }
    let growth = growth::markdown(block, &mut notes, escaped);
    if !growth.is_empty() {
        let _ = write!(text, "\n{growth}");
    }
    if notes.iter().next().is_some() {
        text.push('\n');
    }
    for (number, note) in notes.iter() {
        let _ = writeln!(text, "{number}. {}", escaped(note));
    }
    text
}

/// Renders the scenarios that are not points of curves, and the firmware's sizes.
fn rows(block: &Block<'_>, shown: Cells, text: &mut String, notes: &mut Notes) {
    let heads = block.kernels.iter().map(|kernel| {
        let (id, version, profile) = kernel;
        let mut head = format!(" {id} {}", escaped(version));
        if block.profile().is_none() {
            let _ = write!(head, " {}", escaped(profile));
        }
        if let Some(note) = unequal(block, kernel) {
            let _ = write!(head, " ({})", notes.number(&note));
        }
        head + " |"
    });
    let _ = writeln!(text, "| scenario |{}", heads.collect::<String>());
    let _ = writeln!(text, "|---|{}", "--:|".repeat(block.kernels.len()));
    for scenario in block.rows() {
        let cells = block.kernels.iter().map(|kernel| {
            let answer = block.answer(scenario, *kernel);
            format!(
                " {} |",
                answer.map_or_else(|| "\u{2013}".into(), |a| cell(block, a, shown, notes))
            )
        });
        let cells: String = cells.collect();
        let _ = writeln!(text, "| {} |{cells}", escaped(scenario.as_str()));
    }
    for (image, sizes) in firmware(block) {
        let _ = writeln!(text, "| firmware {} |{sizes}", escaped(image));
    }
}

fn cell(block: &Block<'_>, answer: &Answer, shown: Cells, notes: &mut Notes) -> String {
    if let Some((word, note)) = without_figures(answer) {
        return format!("{word} ({})", notes.number(&note));
    }
    if let Some(summary_text) = answer.series().and_then(summary) {
        return summary_text;
    }
    let Some((series, figures)) = answer.series().and_then(|s| Some((s, block.figures(s)?))) else {
        return String::new();
    };
    let mut parts = vec![format!("**{}**", grouped(figures.statistics.typical()))];
    parts.extend(figures.multiple.map(multiple));
    if shown == Cells::Medians {
        return parts.join(" ");
    }
    parts.extend(figures.time.map(short_time));
    let below = side_figures(&figures);
    if !below.is_empty() {
        parts.push(format!("({})", escaped(&below.join("; "))));
    }
    parts.extend(remarks(series).map(|note| format!("({})", notes.number(&note))));
    parts.join(" ")
}

fn firmware<'a>(block: &Block<'a>) -> Vec<(&'a str, String)> {
    let of_kernels: Vec<_> = block.kernels.iter().map(|kernel| block.firmware(*kernel)).collect();
    let mut images: Vec<&str> = block.scenarios.iter().map(|scenario| scenario.group()).collect();
    images.dedup();
    images.retain(|image| of_kernels.iter().any(|images| images.contains_key(image)));
    let sizes = |image: &str| {
        let one = |images: &std::collections::BTreeMap<&str, &rtmark_model::Firmware>| {
            let size = images
                .get(image)
                .map(|f| format!("{} + {} bytes", grouped(f.flash_bytes), grouped(f.ram_bytes)));
            format!(" {} |", size.unwrap_or_default())
        };
        of_kernels.iter().map(one).collect::<String>()
    };
    images.into_iter().map(|image| (image, sizes(image))).collect()
}
