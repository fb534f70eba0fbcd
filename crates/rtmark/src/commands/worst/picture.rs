//! Draws the latencies along the path as SVG.

use std::fmt::Write as _;

use super::report::{Found, Timed};
use rtmark_worst::SLICES;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 60.0;
const CHART: f64 = 200.0;
const GAP: f64 = 90.0;

const STYLE: &str = "\
text{font:13px sans-serif;fill:#1b1f24}.ground{fill:#fff}.axis{stroke:#57606a;fill:none}\
.range{fill:#9ec5f0}.most{fill:#0b4f9e}.worst{fill:#b3261e}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.axis{stroke:#8b949e}\
.range{fill:#274e7d}.most{fill:#79b8ff}.worst{fill:#ff8f85}}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn chart(svg: &mut String, top: f64, timed: &Timed) {
    let least = timed.min.min(0) as f64;
    let most = (timed.max as f64).max(least + 1.0);
    let span = WIDTH - LEFT - 20.0;
    let x = |slice: f64| LEFT + slice * span / SLICES as f64;
    let y = |cycles: f64| top + CHART - (cycles - least) / (most - least) * CHART;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\">{}: {} to {} cycles, half of the points up to {}</text>",
        top - 12.0,
        escape(&timed.text),
        timed.min,
        timed.max,
        timed.p50
    );
    for &(slice, low, high) in &timed.along_the_path {
        let (from, to) = (x(f64::from(slice)), x(f64::from(slice) + 1.0));
        let class = if high == timed.max { "worst" } else { "most" };
        let height = (y(low as f64) - y(high as f64)).max(1.0);
        let _ = writeln!(
            svg,
            "<rect class=\"range\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>\
             <rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"2.5\"/>",
            y(high as f64),
            to - from,
            y(high as f64) - 1.0,
            to - from
        );
    }
    let bottom = top + CHART;
    let _ = writeln!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {top}V{bottom}H{}\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">{}</text>\
         <text x=\"{LEFT}\" y=\"{}\">the moment at which the interrupt becomes pending, along the path</text>",
        WIDTH - 20.0,
        LEFT - 6.0,
        top + 10.0,
        timed.max,
        LEFT - 6.0,
        timed.min.min(0),
        bottom + 20.0
    );
}

/// Draws findings.
pub fn picture(found: &[Found]) -> String {
    let charts: usize = found.iter().map(|found| found.latencies.len()).sum();
    let height = 30.0 + found.len() as f64 * 30.0 + charts as f64 * (CHART + GAP);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"title text\"><title id=\"title\">Worst case along the path</title>\
         <desc id=\"text\">{}</desc><style>{STYLE}</style>\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>",
        escape(&described(found))
    );
    let mut top = 30.0;
    for found in found {
        let _ = writeln!(svg, "<text x=\"20\" y=\"{top}\">{}</text>", escape(&found.title()));
        top += 40.0;
        for timed in &found.latencies {
            chart(&mut svg, top, timed);
            top += CHART + GAP;
        }
        top -= 10.0;
    }
    svg.push_str("</svg>\n");
    svg
}

/// Describes the picture in words, for screen readers.
fn described(found: &[Found]) -> String {
    let mut text = String::new();
    for found in found {
        for timed in &found.latencies {
            let _ = write!(
                text,
                "{}, {}: least {}, median {}, worst {} cycles",
                found.title(),
                timed.text,
                timed.min,
                timed.p50,
                timed.max
            );
            if let Some(worst) = timed.witnesses.first() {
                let _ = write!(text, ", at {}", worst.at);
            }
            text.push_str(". ");
        }
    }
    text
}
