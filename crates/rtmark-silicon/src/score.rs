//! Scores of the model, and tables of them.

use std::collections::BTreeMap;
use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use rayon::prelude::*;

use crate::Failure;
use crate::chip::{Measurements, Sample};
use crate::settings::{Part, Setting};
use crate::test::{Half, Kind};

/// How well the model does on a set of measurements, each of which is one run on a chip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    pub measurements: u64,
    pub exact: u64,
    pub within_one: u64,
    /// Measurements of windows that the simulator cannot run as the chip did.
    unscored: u64,
    chip: u64,
    model: u64,
    /// The sum of relative errors.
    error: f64,
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

impl Score {
    /// Counts a window that was measured `count` times.
    pub fn add(&mut self, count: u64, chip: u64, model: Option<u64>) {
        self.measurements += count;
        let Some(model) = model else {
            self.unscored += count;
            return;
        };
        self.chip += count * chip;
        self.model += count * model;
        self.error += count as f64 * model.abs_diff(chip) as f64 / chip.max(1) as f64;
        if model == chip {
            self.exact += count;
        }
        if model.abs_diff(chip) <= 1 {
            self.within_one += count;
        }
    }

    /// Returns the share of exact measurements in percent.
    pub fn exact_percent(&self) -> f64 {
        percent(self.exact, self.measurements)
    }

    pub fn within_one_percent(&self) -> f64 {
        percent(self.within_one, self.measurements)
    }
}

/// Scores of all measurements of a group, and of the two halves of the tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Halves {
    pub all: Score,
    fitting: Score,
    scoring: Score,
}

impl Halves {
    fn add(&mut self, half: Half, count: u64, chip: u64, model: Option<u64>) {
        self.all.add(count, chip, model);
        let half = match half {
            Half::Fitting => &mut self.fitting,
            Half::Scoring => &mut self.scoring,
        };
        half.add(count, chip, model);
    }

    fn row(&self, name: String) -> Vec<String> {
        let all = &self.all;
        let shown = |score: &Score| match score.measurements {
            0 => "-".to_owned(),
            _ => format!("{:.1} %", score.exact_percent()),
        };
        let scored = all.measurements - all.unscored;
        vec![
            name,
            all.measurements.to_string(),
            shown(all),
            format!("{:.1} %", all.within_one_percent()),
            format!("{:+.1} %", percent(all.model, all.chip) - 100.0),
            format!("{:.1} %", 100.0 * all.error / scored.max(1) as f64),
            shown(&self.fitting),
            shown(&self.scoring),
            all.unscored.to_string(),
        ]
    }
}

/// Where and how a chip ran code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub chip: &'static str,
    pub place: String,
    pub setting: Setting,
}

impl Group {
    pub fn of(measured: &Measurements, sample: &Sample) -> Self {
        let Sample { place, setting, .. } = sample;
        Self { chip: measured.chip.name, place: place.clone(), setting: *setting }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chip, place, setting } = self;
        let setting = setting.to_string();
        let comma = if setting.is_empty() { "" } else { ", " };
        write!(f, "{chip} {place}{comma}{setting}")
    }
}

/// Scores by where and how code ran, and within that by kind of test.
pub type Scores = BTreeMap<Group, (Halves, BTreeMap<Kind, Halves>)>;

/// Windows that ran with a cache, whose cycles depend on what it held.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    measurements: u64,
    /// Between the cycles with a cache that always hits and those with one that always misses.
    within: u64,
    below: u64,
    above: u64,
    unscored: u64,
}

/// Scores all measurements made with the cache off.
pub fn scores(measured: &Measurements) -> Result<Scores, Failure> {
    let prepared = measured.chip.prepare(None)?;
    let uncached = |sample: &&Sample| sample.setting.cache != Part::On;
    let samples: Vec<_> = measured.samples.iter().filter(uncached).collect();
    let modelled: Vec<_> = samples
        .par_iter()
        .map(|sample| prepared.cycles(measured.row(sample), sample.setting))
        .collect();
    let mut scores = Scores::new();
    for (sample, model) in samples.into_iter().zip(modelled) {
        let row = measured.row(sample);
        let half = Half::of(&row.test);
        let (whole, kinds) = scores.entry(Group::of(measured, sample)).or_default();
        let kind = kinds.entry(Kind::of(&row.test)).or_default();
        for group in [whole, kind] {
            group.add(half, sample.count, row.cycles, model);
        }
    }
    Ok(scores)
}

/// Compares the windows that ran with the cache on with the model's limits.
pub fn bounds(measured: &Measurements) -> Result<BTreeMap<Group, Bounds>, Failure> {
    let prepared = measured.chip.prepare(None)?;
    let mut groups: BTreeMap<Group, Bounds> = BTreeMap::new();
    for sample in measured.samples.iter().filter(|sample| sample.setting.cache == Part::On) {
        let row = measured.row(sample);
        let bounds = groups.entry(Group::of(measured, sample)).or_default();
        bounds.measurements += sample.count;
        let least = prepared.least(row, sample.setting);
        let part = match (least, prepared.cycles(row, sample.setting)) {
            (Some(least), Some(_)) if row.cycles < least => &mut bounds.below,
            (Some(_), Some(most)) if row.cycles > most => &mut bounds.above,
            (Some(_), Some(_)) => &mut bounds.within,
            _ => &mut bounds.unscored,
        };
        *part += sample.count;
    }
    Ok(groups)
}

/// Returns an empty table with its header.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

/// Renders a table with its figures right-aligned.
pub fn finished(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

/// Renders the scores as a table.
pub fn score_table(scores: &Scores) -> String {
    let mut table = table(&[
        "measurements of",
        "number",
        "exact",
        "within 1",
        "bias",
        "mean error",
        "exact, half fitted on",
        "other half",
        "not run",
    ]);
    for (group, (whole, kinds)) in scores {
        table.add_row(whole.row(group.to_string()));
        for (kind, score) in kinds {
            table.add_row(score.row(format!("  {kind}")));
        }
    }
    finished(table)
}

/// Renders the comparison of cached code as a table.
pub fn bounds_table(groups: &BTreeMap<Group, Bounds>) -> String {
    let mut table =
        table(&["measurements of", "number", "within", "fewer cycles", "more cycles", "not run"]);
    for (group, bounds) in groups {
        let share = |part: u64| format!("{:.1} %", percent(part, bounds.measurements));
        table.add_row([
            group.to_string(),
            bounds.measurements.to_string(),
            share(bounds.within),
            share(bounds.below),
            share(bounds.above),
            bounds.unscored.to_string(),
        ]);
    }
    finished(table)
}
