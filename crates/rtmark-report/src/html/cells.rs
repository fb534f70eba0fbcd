//! One kernel's answer to one scenario, as the page shows it.

use std::fmt::Write as _;

use minijinja::Value;
use rtmark_model::{Answer, ScenarioId};
use serde::Serialize;

use super::is_floor;
use crate::matrix::{Block, Column, grouped, short_time};
use crate::notes::{Notes, remarks, summary, without_figures};
use crate::table::multiple;

/// One kernel's answer to one scenario.
#[derive(Debug, Default, Serialize)]
pub struct Cell {
    kernel: String,
    /// What the column is called.
    name: String,
    /// `measured`, `told` (a word and a note) or `none`.
    kind: &'static str,
    /// In place of figures.
    word: String,
    /// The number of the note that explains it; 0 for none.
    note: usize,
    note_text: String,
    count: String,
    time: String,
    multiple: String,
    /// For sorting.
    raw_count: Option<u64>,
    raw_time: Option<u64>,
    raw_multiple: Option<f64>,
    heat: &'static str,
    samples: String,
    first: String,
    min: String,
    p90: String,
    p99: String,
    p99_9: String,
    max: String,
    sigma: String,
    hit: String,
    emptied: String,
    emptied_max: String,
}

/// The colour of a multiple of the floor.
fn heat(multiple: f64) -> &'static str {
    let steps = [(0.995, "h0"), (1.5, "h1"), (2.5, "h2"), (4.0, "h3"), (8.0, "h4"), (16.0, "h5")];
    steps.iter().find(|(below, _)| multiple < *below).map_or("h6", |(_, class)| class)
}

impl Cell {
    /// The answer of a block.
    pub fn of<'a>(
        block: &Block<'a>,
        scenario: &'a ScenarioId,
        kernel: Column<'a>,
        notes: &mut Notes,
    ) -> Self {
        let (id, name) = (kernel.0.to_string(), block.name(kernel));
        let cell = Self { kernel: id, name, kind: "none", ..Self::default() };
        let Some(answer) = block.answer(scenario, kernel) else { return cell };
        let told = |word: String, text: String, notes: &mut Notes| {
            let (kernel, name) = (kernel.0.to_string(), block.name(kernel));
            let note = notes.number(&text);
            Self { kernel, name, kind: "told", word, note, note_text: text, ..Self::default() }
        };
        if let Some((word, text)) = without_figures(answer) {
            return told(word.to_owned(), text, notes);
        }
        let Answer::Measured(series) = answer else { return cell };
        let Some(figures) = block.figures(series) else {
            let text = format!("{kernel} {scenario}: imported, without samples", kernel = kernel.0);
            return summary(series).map_or(cell, |word| told(word, text, notes));
        };
        let statistics = figures.statistics;
        let steady = statistics.steady;
        let of = |field: fn(&rtmark_model::Summary) -> u64| {
            steady.as_ref().map(|s| grouped(field(s))).unwrap_or_default()
        };
        let remarks: Vec<_> = remarks(series).collect();
        let odd = (!remarks.is_empty()).then(|| remarks.join(" "));
        Self {
            kind: "measured",
            note: odd.as_ref().map_or(0, |note| notes.number(note)),
            note_text: odd.unwrap_or_default(),
            count: grouped(statistics.typical()),
            time: figures.time.map(short_time).unwrap_or_default(),
            multiple: figures.multiple.map(multiple).unwrap_or_default(),
            raw_count: Some(statistics.typical()),
            raw_time: figures.time.map(|time| time.0),
            raw_multiple: figures.multiple,
            heat: match figures.multiple {
                Some(multiple) => heat(multiple),
                None if is_floor(kernel) => "floor",
                None => "",
            },
            samples: grouped(statistics.count),
            first: grouped(statistics.first),
            min: of(|s| s.min),
            p90: of(|s| s.p90),
            p99: of(|s| s.p99),
            p99_9: steady.and_then(|s| s.p99_9).map(grouped).unwrap_or_default(),
            max: of(|s| s.max),
            sigma: steady.map(|s| format!("{:.1}", s.sigma)).unwrap_or_default(),
            hit: statistics
                .disturbed
                .map(|hit| format!("{}, {}", grouped(hit.count), grouped(hit.max)))
                .unwrap_or_default(),
            emptied: figures.emptied.map(|e| grouped(e.typical())).unwrap_or_default(),
            emptied_max: figures.emptied.map(|e| grouped(e.largest())).unwrap_or_default(),
            ..cell
        }
    }
}

/// A cell of the matrix as HTML. Its parts are numbers and words of our own, save the
/// kernel's name and the word, which are escaped.
pub fn matrix_cell(cell: &Value) -> String {
    let text = |name: &str| {
        let value = cell.get_attr(name).unwrap_or_default();
        if value.is_none() { String::new() } else { escaped(&value.to_string()) }
    };
    let mut html = format!("<td data-kernel=\"{}\"", text("kernel"));
    let note = match text("note").as_str() {
        "0" => String::new(),
        number => format!(" <small>[{number}]</small>"),
    };
    match text("kind").as_str() {
        "measured" => {
            for (name, raw) in
                [("count", "raw_count"), ("time", "raw_time"), ("multiple", "raw_multiple")]
            {
                let raw = text(raw);
                if !raw.is_empty() {
                    let _ = write!(html, " data-{name}=\"{raw}\"");
                }
            }
            let _ = write!(
                html,
                " class=\"{}\"><span class=\"c\">{}</span>",
                text("heat"),
                text("count")
            );
            let parts =
                [("x", "multiple"), ("t", "time"), ("f", "first"), ("e", "emptied"), ("m", "max")];
            for (class, part) in parts.map(|(class, name)| (class, text(name))) {
                if !part.is_empty() {
                    let _ = write!(html, " <span class=\"{class}\">{part}</span>");
                }
            }
            html += &note;
        }
        "told" => {
            let _ = write!(html, " class=\"why\">{}{note}", text("word"));
        }
        _ => html += ">\u{2013}",
    }
    html + "</td>"
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}
