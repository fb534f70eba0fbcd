//! Draws folded stacks as a flame graph: a self-contained SVG picture.
//!
//! Each function is a bar above its caller, as wide as its share of the cycles; a tooltip shows its name and
//! cycles. The only input is folded lines, `caller;callee cycles`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

const WIDTH: f64 = 1200.0;
const ROW: usize = 17;
const MARGIN: usize = 10;
/// The height above the bars, for the title.
const HEAD: usize = 34;
/// The width below which bars are left out, because they would be invisible.
const NARROWEST: f64 = 0.1;
const CHARACTER: f64 = 6.6;

/// A function reached by one path of calls.
#[derive(Debug, Default)]
struct Frame {
    cycles: u64,
    callees: BTreeMap<String, Frame>,
}

impl Frame {
    fn add<'a>(&mut self, mut path: impl Iterator<Item = &'a str>, cycles: u64) {
        self.cycles += cycles;
        if let Some(next) = path.next() {
            self.callees.entry(next.to_owned()).or_default().add(path, cycles);
        }
    }

    fn depth(&self) -> usize {
        1 + self.callees.values().map(Self::depth).max().unwrap_or(0)
    }
}

/// Draws folded lines. Equal lines give equal pictures.
pub fn graph<'a>(title: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let mut all = Frame::default();
    for line in lines {
        let (path, cycles) = line.rsplit_once(' ').unwrap_or((line, ""));
        all.add(path.split(';'), cycles.parse().unwrap_or(0));
    }
    let depth = all.depth();
    let height = HEAD + depth * ROW + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"monospace\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fffdf7\"/>\n\
         <text x=\"{}\" y=\"21\" text-anchor=\"middle\" font-size=\"15\">{}</text>\n",
        WIDTH / 2.0,
        escaped(title),
    );
    let scale = (WIDTH - 2.0 * MARGIN as f64) / all.cycles.max(1) as f64;
    let picture = Picture { all: all.cycles, scale, bottom: HEAD + (depth - 1) * ROW };
    picture.draw(&mut svg, "all", &all, MARGIN as f64, 0);
    svg.push_str("</svg>\n");
    svg
}

struct Picture {
    all: u64,
    /// The width of one cycle.
    scale: f64,
    /// The top of the lowest row.
    bottom: usize,
}

impl Picture {
    fn draw(&self, svg: &mut String, name: &str, frame: &Frame, x: f64, level: usize) {
        let width = frame.cycles as f64 * self.scale;
        if width < NARROWEST {
            return;
        }
        let y = self.bottom - level * ROW;
        let share = 100.0 * frame.cycles as f64 / self.all.max(1) as f64;
        let _ = write!(
            svg,
            "<g><title>{} ({} cycles, {share:.2} %)</title>\
             <rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>",
            escaped(name),
            frame.cycles,
            ROW - 1,
            colour(name),
        );
        let room = ((width - 6.0) / CHARACTER) as usize;
        if room >= 3 {
            let shown = if name.chars().count() <= room {
                escaped(name)
            } else {
                escaped(&name.chars().take(room - 2).chain("..".chars()).collect::<String>())
            };
            let _ = write!(svg, "<text x=\"{:.1}\" y=\"{}\">{shown}</text>", x + 3.0, y + 12);
        }
        svg.push_str("</g>\n");
        let mut at = x;
        for (name, callee) in &frame.callees {
            self.draw(svg, name, callee, at, level + 1);
            at += callee.cycles as f64 * self.scale;
        }
    }
}

/// Derives a warm colour from a name.
fn colour(name: &str) -> String {
    let hash =
        name.bytes().fold(0x811C_9DC5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    let (hue, light) = (12 + hash % 38, 58 + (hash >> 8) % 14);
    format!("hsl({hue},85%,{light}%)")
}

/// Escapes text for XML, dropping control characters, which XML cannot contain.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_widths_are_proportional_to_shares() {
        let lines = ["main;a<b> 300", "main 100", "[SysTick] 400"];
        let svg = graph("t & u", lines.into_iter());
        assert!(svg.contains("t &amp; u"));
        assert!(svg.contains("<title>all (800 cycles, 100.00 %)</title>"), "{svg}");
        assert!(svg.contains("<title>main (400 cycles, 50.00 %)</title>"), "{svg}");
        let bar = svg.split("a&lt;b&gt; (300 cycles, 37.50 %)").nth(1).expect("drawn");
        assert!(bar.contains("width=\"442.5\""), "{bar}");
        assert_eq!(svg, graph("t & u", lines.into_iter()));
    }

    #[test]
    fn an_empty_profile_renders() {
        assert!(graph("empty", std::iter::empty()).ends_with("</svg>\n"));
    }
}
