//! Draws charts as SVG in the page itself: they use the page's colours, so that they follow its theme,
//! can be printed, and need no script.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::axis::{Axis, part, short};
use crate::kernels::{KernelStyles, written};
use crate::sheet::{Chart, Line, Scales, Style};

/// The nominal size of a chart; the page scales it.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 218.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = HEIGHT - 34.0;
const LEFT: f64 = 44.0;
/// The right end of a chart whose lines are labelled at their ends.
const LABELLED_RIGHT: f64 = WIDTH - 92.0;
const RIGHT: f64 = WIDTH - 14.0;
/// The minimum distance between line labels.
const NAME_HEIGHT: f64 = 12.5;
/// The minimum distance between tick labels, in units of the picture.
const TICK_WIDTH: f64 = 26.0;

/// The minimum factor between the ends of the vertical axis of a growth chart.
const DECADE: f64 = 10.0;

struct Frame {
    x: Axis,
    y: Axis,
    right: f64,
}

impl Frame {
    fn of(chart: &Chart) -> Self {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = (least(|p| p.0), most(|p| p.0));
        let top = most(|p| p.1);
        match chart.scales {
            Scales::Even => {
                let x = if chart.places.is_empty() {
                    Axis::even(low, high)
                } else {
                    let named = [low, high].into_iter().filter_map(|at| {
                        let name = chart.places.get(at as usize)?;
                        Some((at, name.chars().take(12).collect()))
                    });
                    Axis::even(low, high).with_ticks(named.collect::<Vec<_>>())
                };
                Self { x, y: Axis::even(0.0, top), right: RIGHT }
            }
            Scales::Growth => {
                let mut counts: Vec<f64> = points().map(|point| point.0).collect();
                counts.sort_by(f64::total_cmp);
                counts.dedup();
                let x = Axis::logarithmic(low, high);
                let x = x.with_ticks(counts.into_iter().map(|count| (count, short(count))));
                // At least a decade, so that constant costs look constant.
                let (low, top) = (least(|p| p.1).max(1.0) * 0.9, top.max(1.0) * 1.1);
                let wider = (DECADE * low / top).max(1.0).sqrt();
                let y = Axis::logarithmic((low / wider).max(0.9), top * wider);
                Self { x, y, right: LABELLED_RIGHT }
            }
            Scales::Exceedance => {
                let x = if high > 3.0 * low.max(1.0) {
                    Axis::logarithmic(low, high)
                } else {
                    let room = ((high - low) * 0.03).max(0.5);
                    Axis::even((low - room).max(0.0), high + room)
                };
                let y = Axis::logarithmic(least(|p| p.1) * 0.8, 1.0);
                let parts: Vec<_> =
                    y.ticks.iter().map(|(value, _)| (*value, part(*value))).collect();
                Self { x, y: y.with_ticks(parts), right: LABELLED_RIGHT }
            }
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (self.right - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        BOTTOM - self.y.place(value) * (BOTTOM - TOP)
    }

    fn at(&self, point: (f64, f64)) -> (f64, f64) {
        (self.x(point.0), self.y(point.1))
    }
}

/// Draws a chart with its title.
pub fn chart(chart: &Chart, styles: &KernelStyles) -> Markup {
    let frame = Frame::of(chart);
    let mut picture = axes(&frame, chart);
    if chart.scales == Scales::Growth {
        picture.push_str(&guides(&frame));
    }
    for (index, line) in chart.lines.iter().enumerate() {
        let class = line.kernel.as_deref().map_or_else(|| "kx".to_owned(), |k| styles.class(k));
        let before = index.checked_sub(1).and_then(|before| chart.lines.get(before));
        let drawn = match line.style {
            Style::Band => before.map(|low| band(&frame, low, line)).unwrap_or_default(),
            Style::Line | Style::Steps => drawn(&frame, chart, line),
        };
        let kernel = line.kernel.as_deref().map(data_kernel).unwrap_or_default();
        let _ = write!(
            picture,
            "<g class=\"{class}\"{kernel}><title>{}</title>{drawn}</g>",
            tooltip(chart, line)
        );
    }
    match chart.scales {
        Scales::Growth => picture.push_str(&names(&frame, chart, styles)),
        Scales::Exceedance => picture.push_str(&longest(chart, styles)),
        Scales::Even => {}
    }
    html! {
        figure {
            figcaption { (chart.title) }
            svg class="chart" viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img"
                aria-label=(format!("{}; a table has the figures", chart.title)) {
                (PreEscaped(picture))
            }
        }
    }
}

/// Returns the attribute by which the page hides elements of a kernel.
fn data_kernel(kernel: &str) -> String {
    format!(" data-kernel=\"{}\"", escaped(kernel))
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Returns the tooltip of a line.
fn tooltip(chart: &Chart, line: &Line) -> String {
    let ends = line.points.first().zip(line.points.last());
    let name = match (&line.kernel, chart.scales) {
        (Some(kernel), Scales::Growth) => written(kernel).to_owned(),
        _ => line.name.clone(),
    };
    let text = match (ends, chart.scales) {
        (Some((first, last)), Scales::Growth) => format!(
            "{name}: {} at {}, {} at {}",
            short(first.1),
            short(first.0),
            short(last.1),
            short(last.0)
        ),
        (Some((first, last)), Scales::Exceedance) => {
            format!("{name}: from {} to {}", short(first.0), short(last.0))
        }
        _ => name,
    };
    escaped(&text)
}

fn axes(frame: &Frame, chart: &Chart) -> String {
    let mut out = String::new();
    for (value, text) in &frame.y.ticks {
        let y = frame.y(*value);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"n\" x=\"{}\" y=\"{:.1}\">{}</text>",
            frame.right,
            LEFT - 5.0,
            y + 3.5,
            escaped(text)
        );
    }
    let mut last = f64::NEG_INFINITY;
    for (value, text) in &frame.x.ticks {
        let x = frame.x(*value);
        let _ = write!(out, "<path class=\"tick\" d=\"M{x:.1} {BOTTOM}v4\"/>");
        if x - last >= TICK_WIDTH {
            let _ = write!(
                out,
                "<text class=\"m\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                BOTTOM + 15.0,
                escaped(text)
            );
            last = x;
        }
    }
    let _ = write!(
        out,
        "<path class=\"base\" d=\"M{LEFT} {BOTTOM}H{:.1}\"/><text x=\"0\" y=\"10\">{}</text>\
         <text class=\"n\" x=\"{:.1}\" y=\"{}\">{}</text>",
        frame.right,
        escaped(&chart.up),
        frame.right,
        BOTTOM + 29.0,
        escaped(&chart.across)
    );
    out
}

/// Draws guide lines along which the cost is proportional to the count.
fn guides(frame: &Frame) -> String {
    let (Some(first), Some(last)) = (frame.x.ticks.first(), frame.x.ticks.last()) else {
        return String::new();
    };
    let inside = |value: f64| frame.y.place(value * 1.001) > 0.0 && frame.y.place(value) < 1.0;
    let mut out = String::new();
    for power in -3..12 {
        // Each begins where it enters the picture, at the left or from below, and ends where it leaves
        // it.
        let factor = 3.0 * 10_f64.powi(power);
        let steps = 64;
        let along = |step: i32| {
            first.0 * (last.0 / first.0.max(1e-9)).powf(f64::from(step) / f64::from(steps))
        };
        let seen: Vec<_> = (0..=steps).map(along).filter(|count| inside(factor * count)).collect();
        if let (Some(from), Some(to)) = (seen.first(), seen.last())
            && to > from
        {
            let ((x1, y1), (x2, y2)) =
                (frame.at((*from, factor * from)), frame.at((*to, factor * to)));
            let _ = write!(out, "<path class=\"guide\" d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\"/>");
        }
    }
    out
}

/// Returns the path through the points, without those that would coincide with the previous one.
fn path(frame: &Frame, line: &Line) -> String {
    let mut out = String::new();
    let mut last: Option<(f64, f64)> = None;
    for (index, point) in line.points.iter().enumerate() {
        let (x, y) = frame.at(*point);
        let is_end = index + 1 == line.points.len();
        match last {
            None => {
                let _ = write!(out, "M{x:.1} {y:.1}");
            }
            Some((bx, by)) if (x - bx).abs() < 0.6 && (y - by).abs() < 0.6 && !is_end => continue,
            Some(_) if line.style == Style::Line => {
                let _ = write!(out, "L{x:.1} {y:.1}");
            }
            Some(_) => {
                let _ = write!(out, "V{y:.1}H{x:.1}");
            }
        }
        last = Some((x, y));
    }
    out
}

fn drawn(frame: &Frame, chart: &Chart, line: &Line) -> String {
    // A figure stays the same up to the run that changes it, and a distribution falls at each length,
    // so both are drawn as steps.
    let d = match (chart.scales, line.style) {
        (Scales::Even, Style::Steps) => level(frame, line),
        _ => path(frame, line),
    };
    let mut out = format!("<path class=\"line\" d=\"{d}\"/>");
    match chart.scales {
        Scales::Growth => {
            for point in &line.points {
                let (x, y) = frame.at(*point);
                let _ =
                    write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>");
            }
        }
        Scales::Exceedance => {
            for (share, class) in [(0.5, "half"), (0.99, "most"), (1.0, "worst")] {
                let Some(point) = line.percentile(share) else { continue };
                let (x, y) = frame.at(point);
                let _ = write!(
                    out,
                    "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{}\"/>",
                    if class == "worst" { 3.6 } else { 2.8 }
                );
            }
        }
        Scales::Even => {}
    }
    out
}

/// Draws a line in steps that are level up to the next point.
fn level(frame: &Frame, line: &Line) -> String {
    let mut out = String::new();
    for (index, point) in line.points.iter().enumerate() {
        let (x, y) = frame.at(*point);
        let _ =
            if index == 0 { write!(out, "M{x:.1} {y:.1}") } else { write!(out, "H{x:.1}V{y:.1}") };
    }
    out
}

/// Draws the area between two lines.
fn band(frame: &Frame, low: &Line, high: &Line) -> String {
    let mut out = level(frame, low);
    for (index, point) in high.points.iter().enumerate().rev() {
        let (x, y) = frame.at(*point);
        let before = index.checked_sub(1).and_then(|before| high.points.get(before));
        let _ = write!(out, "L{x:.1} {y:.1}");
        if let Some(before) = before {
            let _ = write!(out, "V{:.1}", frame.y(before.1));
        }
    }
    format!(
        "<path class=\"band\" d=\"{out}Z\"/><path class=\"line\" d=\"{}\"/>",
        level(frame, high)
    )
}

/// Returns the power with which a cost grows, over the upper half of the counts: the slope of the
/// straight line fitted through its points on logarithmic axes.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let larger = points.get(points.len() / 2..)?;
    let logs: Vec<_> = larger
        .iter()
        .filter(|(n, cost)| *n > 0.0 && *cost > 0.0)
        .map(|(n, cost)| (n.ln(), cost.ln()))
        .collect();
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let square: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    let product: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (logs.len() > 1 && square > 0.0).then(|| product / square)
}

/// Labels the lines with their names and slopes, moved apart where they would overlap.
fn names(frame: &Frame, chart: &Chart, styles: &KernelStyles) -> String {
    let mut names: Vec<(f64, f64, &Line)> = Vec::new();
    for line in &chart.lines {
        let Some(last) = line.points.last() else { continue };
        let (x, y) = frame.at(*last);
        names.push((y, x, line));
    }
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut places: Vec<f64> = Vec::new();
    for (y, ..) in &names {
        let after = places.last().map_or(TOP, |last| last + NAME_HEIGHT);
        places.push(y.max(after));
    }
    // Labels that would leave the picture move up again.
    let mut most = BOTTOM + 3.0;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - NAME_HEIGHT;
    }
    let mut out = String::new();
    for ((y, x, line), place) in names.iter().zip(&places) {
        let kernel = line.kernel.as_deref().unwrap_or_default();
        let slope = slope(&line.points).map(|slope| format!("{slope:.2}")).unwrap_or_default();
        let slope =
            if slope == "-0.00" { "0.00".to_owned() } else { slope.replace('-', "\u{2212}") };
        let from = x + 3.0;
        let to = LABELLED_RIGHT + 8.0;
        let _ = write!(
            out,
            "<g class=\"{}\"{}><path class=\"lead\" d=\"M{from:.1} {y:.1}L{to:.1} {place:.1}\"/>\
             <text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"n\" x=\"{WIDTH}\" y=\"{:.1}\">{slope}</text></g>",
            styles.class(kernel),
            data_kernel(kernel),
            LABELLED_RIGHT + 10.0,
            place + 3.5,
            escaped(written(kernel)),
            place + 3.5
        );
    }
    let _ = write!(out, "<text class=\"n\" x=\"{WIDTH}\" y=\"10\">slope</text>");
    out
}

/// Names the lines with their longest samples, the longest first.
fn longest(chart: &Chart, styles: &KernelStyles) -> String {
    let of = |line: &&Line| line.points.last().map_or(0.0, |point| point.0);
    let mut lines: Vec<&Line> = chart.lines.iter().collect();
    lines.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let mut out = format!("<text class=\"n\" x=\"{WIDTH}\" y=\"10\">longest</text>");
    let mut y = TOP + 8.0;
    for line in lines {
        let class = line.kernel.as_deref().map_or_else(|| "kx".to_owned(), |k| styles.class(k));
        let kernel = line.kernel.as_deref().map(data_kernel).unwrap_or_default();
        let _ = write!(
            out,
            "<g class=\"{class}\"{kernel}><text class=\"name\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>\
             <text class=\"n\" x=\"{WIDTH}\" y=\"{y:.1}\">{}</text></g>",
            LABELLED_RIGHT + 10.0,
            escaped(&line.name),
            short(of(&line))
        );
        y += NAME_HEIGHT;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_the_exponents_of_growth() {
        let counts = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let of = |cost: fn(f64) -> f64| {
            let points: Vec<_> = counts.iter().map(|n| (*n, cost(*n))).collect();
            slope(&points).expect("a slope")
        };
        assert!((of(|n| 7.0 * n) - 1.0).abs() < 1e-9);
        assert!((of(|n| 7.0 * n * n) - 2.0).abs() < 1e-9);
        assert!(of(|_| 40.0).abs() < 1e-9);
        // Points at smaller counts weigh less and less.
        assert!((0.6..1.0).contains(&of(|n| 50.0 + 7.0 * n)));
        assert_eq!(slope(&[(1.0, 2.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    fn growth(costs: &[(f64, f64)]) -> String {
        let line = |kernel: &str| Line {
            name: kernel.into(),
            kernel: Some(kernel.into()),
            style: Style::Line,
            points: costs.to_vec(),
        };
        let drawn = Chart {
            title: "<title>".into(),
            across: "threads".into(),
            up: "cycles".into(),
            scales: Scales::Growth,
            places: Vec::new(),
            lines: vec![line("freertos"), line("embassy"), line("lilos")],
        };
        chart(&drawn, &KernelStyles::default()).into_string()
    }

    #[test]
    fn labels_of_lines_that_end_together_do_not_overlap() {
        for last in [1.0, 100.0, 5000.0] {
            let drawn = growth(&[(1.0, 1.0), (2.0, 5000.0), (64.0, last)]);
            let mut places: Vec<f64> = drawn
                .split("class=\"name\"")
                .skip(1)
                .map(|text| {
                    let y = text.split(" y=\"").nth(1).expect("a place");
                    y.split('"').next().expect("a number").parse().expect("a number")
                })
                .collect();
            places.sort_by(f64::total_cmp);
            assert_eq!(places.len(), 3);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 12.0), "{places:?}");
            assert!(places[0] > 0.0 && places[2] < HEIGHT, "{places:?}");
        }
    }

    #[test]
    fn odd_figures_are_drawn() {
        for points in
            [&[][..], &[(1.0, 0.0)], &[(0.0, 0.0), (0.0, 0.0)], &[(1.0, 1e19), (64.0, 1e19)]]
        {
            let drawn = growth(points);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            assert!(!drawn.contains("<title>:"), "a title is text");
        }
    }
}
