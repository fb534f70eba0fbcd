//! Charts of breakdown utilization for all kernels, by number of tasks and by period.

use maud::{Markup, html};

use super::{LEFT, WIDTH, place, words};
use crate::answer::KernelPlan;
use crate::curves::Curves;

/// Height of the plot area.
const HEIGHT: f64 = 180.0;
/// Right end of the plot area; the lines' labels are to its right.
const END: f64 = WIDTH - 110.0;
/// Top of the plot area.
const TOP: f64 = 10.0;

/// A line: a kernel with its points, as index on the x axis and percent.
struct Line<'a> {
    name: &'a str,
    class: &'static str,
    points: Vec<(usize, f64)>,
}

/// Renders both charts, or nothing if no kernel has curves.
pub(super) fn breakdown(plans: &[KernelPlan]) -> Markup {
    let curves: Vec<(&str, &Curves)> = plans
        .iter()
        .filter_map(|plan| Some((plan.kernel.as_str(), plan.curves.as_ref()?)))
        .collect();
    if curves.is_empty() {
        return html! {};
    }
    let mut tasks: Vec<usize> =
        curves.iter().flat_map(|(_, it)| it.by_tasks.iter().map(|point| point.tasks)).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut periods: Vec<f64> = curves
        .iter()
        .flat_map(|(_, it)| it.by_period.iter().map(|point| point.period_percent))
        .collect();
    periods.sort_by(f64::total_cmp);
    periods.dedup();
    let classes = ["own", "before", "blocking", "interrupt"].into_iter().cycle();
    let lines = |points: &dyn Fn(&Curves) -> Vec<(usize, f64)>| -> Vec<Line<'_>> {
        let all = curves.iter().zip(classes.clone());
        all.map(|((name, curves), class)| Line { name, class, points: points(curves) }).collect()
    };
    let by_tasks = lines(&|curves| {
        let points = curves.by_tasks.iter();
        let place = |count: usize| tasks.iter().position(|it| *it == count);
        points.filter_map(|point| Some((place(point.tasks)?, point.breakdown_percent?))).collect()
    });
    let by_period = lines(&|curves| {
        let points = curves.by_period.iter();
        let place = |percent: f64| periods.iter().position(|it| (it - percent).abs() < 1e-9);
        points
            .filter_map(|point| Some((place(point.period_percent)?, point.breakdown_percent?)))
            .collect()
    });
    let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    let periods: Vec<String> = periods.iter().map(|percent| format!("{percent} %")).collect();
    html! {
        h2 { "Load at which the first deadline is missed" }
        p.aside {
            "From bounds with the costs of the suite's images. Where a line has no point, no load \
             holds or the kernel does not support that many tasks."
        }
        (picture("Breakdown by number of tasks", "tasks", &tasks, &by_tasks))
        p.aside { "The work of each task that the clock releases, divided among several." }
        (picture("Breakdown by period", "periods", &periods, &by_period))
        p.aside {
            "Periods, deadlines, distances, jitter and the tick, in percent of what the file states: \
             at 50 %, the same work comes twice as often."
        }
    }
}

fn picture(title: &str, unit: &str, places: &[String], lines: &[Line<'_>]) -> Markup {
    let across = |at: usize| {
        let share = (at as f64 + 0.5) / places.len().max(1) as f64;
        LEFT + share * (END - LEFT)
    };
    let down = |percent: f64| TOP + (1.0 - percent.clamp(0.0, 100.0) / 100.0) * HEIGHT;
    let path = |line: &Line<'_>| {
        let points = line.points.iter();
        let points =
            points.map(|(at, percent)| format!("{},{}", place(across(*at)), place(down(*percent))));
        points.collect::<Vec<_>>().join(" ")
    };
    let names = name_places(lines, down);
    html! {
        figure {
            svg viewBox=(format!("0 0 {WIDTH} {}", TOP + HEIGHT + 24.0)) role="img" aria-label=(title) {
                @for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
                    line.rule x1=(place(LEFT)) x2=(place(END)) y1=(place(down(percent)))
                        y2=(place(down(percent))) {}
                    (words("aside", LEFT - 8.0, down(percent) + 4.0, "end", &format!("{percent} %")))
                }
                @for (at, name) in places.iter().enumerate() {
                    (words("aside", across(at), TOP + HEIGHT + 16.0, "middle", name))
                }
                (words("aside", LEFT - 8.0, TOP + HEIGHT + 16.0, "end", unit))
                @for (line, name) in lines.iter().zip(names) {
                    polyline class=(format!("curve {}", line.class)) points=(path(line)) {}
                    @for (at, percent) in &line.points {
                        circle class=(line.class) cx=(place(across(*at))) cy=(place(down(*percent))) r="3" {
                            title { (line.name) ", " (places[*at]) ": " (format!("{percent:.1} %")) }
                        }
                    }
                    @if let Some((at, y)) = name {
                        (words("", across(at) + 9.0, y + 4.0, "start", line.name))
                    }
                }
            }
        }
    }
}

/// Places the lines' labels: next to their last points, without overlaps.
fn name_places(lines: &[Line<'_>], down: impl Fn(f64) -> f64) -> Vec<Option<(usize, f64)>> {
    let mut taken: Vec<(usize, f64)> = Vec::new();
    let mut places = Vec::new();
    for line in lines {
        let last = line.points.last().map(|(at, percent)| {
            let mut y = down(*percent);
            while taken.iter().any(|(other, taken)| other == at && (taken - y).abs() < 12.0) {
                y += 3.0;
            }
            taken.push((*at, y));
            (*at, y)
        });
        places.push(last);
    }
    places
}
