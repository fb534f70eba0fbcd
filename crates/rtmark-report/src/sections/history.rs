//! Figures over several runs: those that changed, and how many did not.

use rtmark_model::{Basis, Key};

use crate::matrix::grouped;
use crate::sheet::{Chart, Column, Line, Row, Scales, Sheet, Style};

/// The number of figures with a chart; the table lists all that changed.
const CHARTS: usize = 24;

/// One figure over several runs.
#[derive(Clone, Debug)]
pub struct History {
    /// The question that it answers.
    pub key: Key,
    /// What is counted.
    pub basis: Basis,
    /// The figure in each run, the oldest first.
    pub points: Vec<HistoryPoint>,
}

/// The figure in one run.
#[derive(Clone, Debug)]
pub struct HistoryPoint {
    /// The run's name, as shown to people.
    pub run: String,
    /// The time of the run, in words.
    pub when: String,
    /// The median of the steady samples.
    pub value: u64,
    /// What changed since the previous run, in words, if anything.
    pub step: Option<String>,
}

impl History {
    fn changes(&self) -> impl Iterator<Item = (&HistoryPoint, &HistoryPoint)> {
        self.points.windows(2).filter_map(|pair| match pair {
            [before, after] if after.step.is_some() => Some((before, after)),
            _ => None,
        })
    }
}

/// Renders what changed over the given runs.
pub fn histories(histories: &[History]) -> Option<Sheet> {
    let several: Vec<_> = histories.iter().filter(|history| history.points.len() > 1).collect();
    let longest = several.iter().map(|history| history.points.len()).max()?;
    let mut changed = several.clone();
    changed.retain(|history| history.changes().next().is_some());
    let about = format!(
        "{} figures were measured in more than one run, at most in {longest}; {} of them changed.",
        several.len(),
        changed.len()
    );
    let mut sheet = Sheet::new("history", "History", about);
    sheet.columns = ["soc", "kernel", "scenario", "run", "when"].map(Column::text).into();
    sheet.columns.extend([Column::number("before"), Column::number("after")]);
    sheet.columns.push(Column::text("what changed"));
    for history in &changed {
        let key = &history.key;
        for (before, after) in history.changes() {
            let row = Row::new([
                key.soc.clone(),
                key.kernel.to_string(),
                key.scenario.to_string(),
                after.run.clone(),
                after.when.clone(),
                grouped(before.value),
                grouped(after.value),
                after.step.clone().unwrap_or_default(),
            ]);
            sheet.rows.push(row.kernel(key.kernel.as_str()).scenario(key.scenario.as_str()));
        }
    }
    sheet.charts = changed.iter().take(CHARTS).map(|history| chart(history)).collect();
    Some(sheet)
}

fn chart(history: &History) -> Chart {
    let key = &history.key;
    let points = history.points.iter().enumerate();
    Chart {
        title: format!("{} {} on {}, by run", key.kernel, key.scenario, key.soc),
        across: "runs".into(),
        up: history.basis.name().into(),
        scales: Scales::Even,
        places: history.points.iter().map(|point| point.run.clone()).collect(),
        lines: vec![Line {
            name: key.kernel.to_string(),
            kernel: Some(key.kernel.to_string()),
            style: Style::Steps,
            points: points.map(|(at, point)| (at as f64, point.value as f64)).collect(),
        }],
    }
}
