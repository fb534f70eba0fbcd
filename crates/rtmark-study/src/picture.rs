//! Charts of published and measured figures as dots on a logarithmic axis, in SVG.

use std::fmt::Write as _;

use crate::document::{Row, Table};
use crate::number::number;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 46.0;
const STEP: f64 = 26.0;

const STYLE: &str = "\
text{font:13px sans-serif;fill:#1b1f24}.ground{fill:#fff}.grid{stroke:#d0d7de}\
.between{stroke:#9ec5f0;stroke-width:4}.theirs{fill:#fff;stroke:#57606a;stroke-width:2}\
.ours{fill:#0b4f9e}.small{font-size:11px;fill:#57606a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.grid{stroke:#30363d}\
.between{stroke:#274e7d}.theirs{fill:#0d1117;stroke:#8b949e}.ours{fill:#79b8ff}\
.small{fill:#8b949e}}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Draws a table, if at least two of its rows have a ratio of figures above zero and all of those
/// have the same unit.
pub fn picture(table: &Table) -> Option<String> {
    let above = |value: Option<f64>| value.filter(|value| *value > 0.0);
    let drawn: Vec<(&Row, f64, f64)> = table
        .rows
        .iter()
        .filter(|row| row.ratio.is_some())
        .filter_map(|row| Some((row, above(row.published)?, above(row.measured)?)))
        .collect();
    let unit = drawn.first().map(|(row, ..)| row.unit.as_str())?;
    if drawn.len() < 2 || drawn.iter().any(|(row, ..)| row.unit != unit) {
        return None;
    }
    let values = || drawn.iter().flat_map(|(_, theirs, ours)| [*theirs, *ours]);
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let (from, to) = ((least * 0.9).log10(), (most * 1.1).log10());
    let x = |value: f64| LEFT + (value.log10() - from) / (to - from) * (WIDTH - LEFT - RIGHT);
    let bottom = TOP + STEP * drawn.len() as f64;
    let height = bottom + 34.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(&table.title)
    );
    for (at, class, word) in [(LEFT, "theirs", "published"), (LEFT + 110.0, "ours", "measured")] {
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{at}\" cy=\"18\" r=\"5\"/>\
             <text x=\"{}\" y=\"22\">{word}</text>",
            at + 10.0
        );
    }
    for mark in marks(from, to) {
        let at = x(mark);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text class=\"small\" x=\"{at:.1}\" \
             y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            number(mark)
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        WIDTH - RIGHT + 10.0,
        bottom + 16.0,
        escaped(unit)
    );
    for (at, (row, theirs, ours)) in drawn.iter().enumerate() {
        let y = TOP + STEP * (at as f64 + 0.5);
        let ratio = row.ratio.map(crate::number::times).unwrap_or_default();
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <path class=\"between\" d=\"M{:.1} {y:.1}H{:.1}\"/>\
             <circle class=\"theirs\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>\
             <circle class=\"ours\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{ratio}</text>",
            LEFT - 16.0,
            y + 4.0,
            escaped(&row.what),
            x(*theirs),
            x(*ours),
            x(*theirs),
            x(*ours),
            WIDTH - RIGHT + 10.0,
            y + 4.0,
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// Returns round numbers between two powers of ten: 1, 2 and 5 of each decade, or 1 if there are
/// many decades.
fn marks(from: f64, to: f64) -> Vec<f64> {
    let steps: &[f64] = if to - from > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decades = from.floor() as i32..=to.ceil() as i32;
    let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let mut marks: Vec<f64> = all.filter(|mark| (from..=to).contains(&mark.log10())).collect();
    if marks.len() < 2 {
        marks = vec![10f64.powf(from), 10f64.powf(to)];
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, published: f64, measured: f64) -> Row {
        Row {
            what: what.into(),
            unit: "ms".into(),
            published: Some(published),
            published_unit: None,
            measured: Some(measured),
            ratio: Some(measured / published),
            formula: "x".into(),
            differs: None,
            reason: None,
        }
    }

    #[test]
    fn every_drawn_row_has_both_dots_inside() {
        let mut table =
            Table { title: "A < B".into(), rows: vec![row("a", 1.0, 9.0), row("b", 300.0, 2.0)] };
        let svg = picture(&table).expect("drawn");
        assert!(svg.contains("A &lt; B") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("class=\"theirs\"").count(), 3);
        for part in svg.split("cx=\"").skip(1) {
            let at: f64 = part.split('"').next().and_then(|x| x.parse().ok()).expect("a place");
            assert!((0.0..WIDTH).contains(&at));
        }
        table.rows[0].unit = "cycles".into();
        assert_eq!(picture(&table), None, "unlike things are not drawn together");
        table.rows.truncate(1);
        assert_eq!(picture(&table), None);
    }

    #[test]
    fn axis_marks_are_round() {
        assert_eq!(marks(0.5, 2.1), [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(marks(0.0, 3.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(marks(0.35, 0.4).len(), 2);
    }
}
