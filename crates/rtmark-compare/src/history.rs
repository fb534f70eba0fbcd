//! Follows a series over many runs, and finds the runs at which it changed.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use rtmark_model::{Basis, Readings, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::change::of_instructions;
use crate::differences::differences;
use crate::estimate::{Direction, Estimate};
use crate::{Change, Difference, Measure, RunLabel};

/// The figure of one run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The run.
    pub run: RunLabel,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// The figure, in the series' basis.
    pub value: u64,
    /// What is counted.
    pub basis: Basis,
    /// What changed since the previous run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
}

/// A change between two runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The figure changed. A sampled series is compared with the first run of the current stretch of
    /// equal ones.
    Change(Change),
    /// The figure changed, but not the number of instructions: the code moved.
    Moved(Change),
    /// The previous figure is not comparable.
    Break(Vec<Difference>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(change) | Self::Moved(change) => {
                let part = change.relative().map(crate::change::per_cent).unwrap_or_default();
                let moved = if matches!(self, Self::Moved(_)) { ", moved" } else { "" };
                write!(f, "{:+} {part}{moved}", change.growth())
            }
            Self::Break(differences) => {
                let why: Vec<_> = differences.iter().map(ToString::to_string).collect();
                write!(f, "not comparable with before: {}", why.join("; "))
            }
        }
    }
}

/// Finds the change points. An exact series changes if its figure does; a sampled one if [`Estimate`]
/// finds a significant difference from the first run of the current stretch. Series without the figure
/// are left out.
pub fn history(runs: &[(RunLabel, i64, Series)], measure: Measure) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut stretch: Option<&Series> = None;
    for (run, started_ms, series) in runs {
        let Some(value) = measure.of(series).filter(|_| series.flags.is_empty()) else { continue };
        let step = stretch.and_then(|before| step(before, series, measure));
        if step.is_some() || stretch.is_none() {
            stretch = Some(series);
        }
        let (run, started_ms) = (run.clone(), *started_ms);
        points.push(Point { run, started_ms, value, basis: series.basis, step });
    }
    points
}

fn step(before: &Series, after: &Series, measure: Measure) -> Option<Step> {
    let mut found = differences(before, after);
    found.retain(|difference| difference.prevents_comparison(&[]));
    if !found.is_empty() {
        return Some(Step::Break(found));
    }
    let change = Change { measure, before: measure.of(before)?, after: measure.of(after)? };
    let changed = match (&before.readings, &after.readings) {
        (Readings::Sampled(was), Readings::Sampled(is)) => {
            Estimate::of(was, is).is_ok_and(|estimate| estimate.direction() != Direction::None)
        }
        // Without samples, change and chance cannot be distinguished.
        (Readings::Summarised(_), _) | (_, Readings::Summarised(_)) => false,
        _ => change.before != change.after,
    };
    let moved = of_instructions(before, after).is_some_and(|changes| changes.is_empty());
    changed.then_some(if moved { Step::Moved(change) } else { Step::Change(change) })
}

const ASIDE: Style = Style::new().dimmed();
const WORSE: Style = AnsiColor::Red.on_default().bold();
const BETTER: Style = AnsiColor::Green.on_default().bold();

/// The width of the chart in columns.
const WIDTH: usize = 32;

/// Draws points one below the other, the oldest first, with their change points labelled. `moment`
/// formats the time of a run.
pub fn chart(points: &[Point], moment: impl Fn(i64) -> String) -> String {
    let values = || points.iter().map(|point| point.value);
    let (Some(min), Some(max)) = (values().min(), values().max()) else { return String::new() };
    let digits = max.to_string().len();
    let mut text = String::new();
    for point in points {
        let place = match max - min {
            0 => 0,
            range => {
                (u128::from(point.value - min) * (WIDTH as u128 - 1) / u128::from(range)) as usize
            }
        };
        let line: String =
            (0..WIDTH).map(|at| if at == place { '\u{25cf}' } else { '\u{b7}' }).collect();
        let _ = write!(
            text,
            "{ASIDE}{}{ASIDE:#}  {:<21}  {:>digits$}  {line}",
            moment(point.started_ms),
            point.run.to_string(),
            point.value
        );
        match &point.step {
            Some(step @ Step::Change(change)) => {
                let style = if change.growth() > 0 { WORSE } else { BETTER };
                let _ = write!(text, "  {style}\u{25c6} {step}{style:#}");
            }
            Some(step @ Step::Moved(_)) => {
                let _ = write!(text, "  {ASIDE}\u{25c7} {step}{ASIDE:#}");
            }
            Some(step @ Step::Break(_)) => {
                let _ = write!(text, "  {ASIDE}\u{2502} {step}{ASIDE:#}");
            }
            None => {}
        }
        text.push('\n');
    }
    text
}
