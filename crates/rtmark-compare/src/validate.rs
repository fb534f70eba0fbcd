//! Scores the simulator's timing model against a board.
//!
//! The board's median of each scenario is compared with that of the same image on the simulator, where
//! its probes cost the same. The figure of the plain firmware, whose probes are mere addresses, is
//! shown beside both to quantify the effect of instrumentation.

use std::fmt::Write as _;

use rtmark_model::{Answer, DEFAULT_PROFILE, Key, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`Validation`]'s schema.
const SCHEMA_VERSION: u32 = 1;

/// The agreement of the simulator with a board.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// The version of this schema.
    pub schema_version: u32,
    /// The program that wrote it, with its version.
    pub generator: String,
    /// The source of the board's figures.
    pub board: String,
    /// The version of the simulator's timing model.
    pub timing_model: String,
    /// The scenarios with a figure on both sides.
    pub rows: Vec<Row>,
    /// The scenarios without one, with the reasons.
    pub left_out: Vec<OmittedScenario>,
    /// The score over all rows; none if there are no rows.
    pub score: Option<Score>,
}

/// One scenario of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The kernel.
    pub kernel: String,
    /// The scenario.
    pub scenario: String,
    /// The set of build settings.
    pub profile: String,
    /// The board's median, in cycles.
    pub board: u64,
    /// The smallest of the board's steady samples.
    pub board_min: u64,
    /// The largest of the board's steady samples.
    pub board_max: u64,
    /// The simulator's median of the firmware that reads a counter.
    pub simulator: u64,
    /// The simulator's median of the plain firmware, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<u64>,
    /// Whether the board and the simulator ran the same file.
    pub same_image: bool,
}

/// A scenario without a figure on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedScenario {
    /// The kernel.
    pub kernel: String,
    /// The scenario.
    pub scenario: String,
    /// Why.
    pub reason: String,
}

/// How many of the simulator's figures equal the board's, and how far off the others are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// The number of figures compared.
    pub figures: u64,
    /// How many of them are of different builds, whose code may differ.
    #[serde(default)]
    pub of_another_build: u64,
    /// The fraction that is equal, from 0 to 1.
    pub exact: f64,
    /// The fraction that is at most one cycle off.
    pub within_1_cycle: f64,
    /// The fraction that is at most 5 % off.
    pub within_5_percent: f64,
    /// The mean of the relative differences: above 0 if the simulator's figures are higher.
    pub bias: f64,
    /// The largest relative difference.
    pub worst: f64,
}

impl Row {
    /// Returns how much the simulator's figure exceeds the board's, relative to the board's.
    pub fn difference(&self) -> f64 {
        (self.simulator as f64 - self.board as f64) / self.board.max(1) as f64
    }
}

impl Score {
    /// Returns the score of these rows.
    pub fn of(rows: &[Row]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let count = rows.len() as f64;
        let share =
            |fits: fn(&Row) -> bool| rows.iter().filter(|row| fits(row)).count() as f64 / count;
        Some(Self {
            figures: rows.len() as u64,
            of_another_build: rows.iter().filter(|row| !row.same_image).count() as u64,
            exact: share(|row| row.board == row.simulator),
            within_1_cycle: share(|row| row.board.abs_diff(row.simulator) <= 1),
            within_5_percent: share(|row| row.difference().abs() <= 0.05),
            bias: rows.iter().map(Row::difference).sum::<f64>() / count,
            worst: rows.iter().map(|row| row.difference().abs()).fold(0.0, f64::max),
        })
    }
}

fn same(one: &Key, other: &Key) -> bool {
    let of = |key: &Key| (key.kernel.clone(), key.scenario.clone(), key.profile.clone());
    of(one) == of(other)
}

fn typical(series: &Series) -> u64 {
    series.statistics().map_or(0, |statistics| statistics.typical())
}

/// Compares a board's answers with the simulator's, both of the firmware that reads a counter and of
/// the plain one.
pub fn validate(
    generator: &str,
    timing_model: &str,
    board: &[Answer],
    simulator: &[Answer],
    plain: &[Answer],
) -> Validation {
    let find = |answers: &'_ [Answer], key: &Key| {
        answers.iter().find(|answer| same(answer.key(), key)).cloned()
    };
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    let mut of = String::new();
    for answer in board {
        let key = answer.key();
        let mut leave = |reason: String| {
            let (kernel, scenario) = (key.kernel.to_string(), key.scenario.to_string());
            left_out.push(OmittedScenario { kernel, scenario, reason });
        };
        let measured = match answer {
            Answer::Measured(series) => series,
            Answer::NotApplicable { reason, .. } => {
                leave(reason.clone());
                continue;
            }
            Answer::Failed { failure, .. } => {
                leave(format!("failed on the board: {failure}"));
                continue;
            }
        };
        if of.is_empty() {
            let name = measured.provenance.board.as_ref();
            let name = name.map(|board| format!("{}, by {}", board.name, board.link));
            of = format!(
                "{} at {}",
                name.unwrap_or_else(|| format!("backend {}: no board", key.backend)),
                measured.clock
            );
        }
        let here = match find(simulator, key) {
            Some(Answer::Measured(series)) => series,
            Some(Answer::Failed { failure, .. }) => {
                leave(format!("failed on the simulator: {failure}"));
                continue;
            }
            Some(Answer::NotApplicable { reason, .. }) => {
                leave(format!("not on the simulator: {reason}"));
                continue;
            }
            None => {
                leave("not measured on the simulator".to_owned());
                continue;
            }
        };
        let steady = measured.statistics().and_then(|statistics| statistics.steady);
        let median = typical(measured);
        rows.push(Row {
            kernel: key.kernel.to_string(),
            scenario: key.scenario.to_string(),
            profile: key.profile.clone(),
            board: median,
            board_min: steady.map_or(median, |steady| steady.min),
            board_max: steady.map_or(median, |steady| steady.max),
            simulator: typical(&here),
            plain: find(plain, key).as_ref().and_then(Answer::series).map(typical),
            same_image: measured.provenance.firmware.elf_sha256
                == here.provenance.firmware.elf_sha256,
        });
    }
    Validation {
        schema_version: SCHEMA_VERSION,
        generator: generator.to_owned(),
        board: of,
        timing_model: timing_model.to_owned(),
        score: Score::of(&rows),
        rows,
        left_out,
    }
}

impl Validation {
    /// Returns the JSON schema of validations.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Validation)
    }

    /// Renders it as a table for people.
    pub fn table(&self) -> String {
        let mut text = format!("board: {}\ntiming model {}\n\n", self.board, self.timing_model);
        let name = |row: &Row| match row.profile.as_str() {
            DEFAULT_PROFILE => format!("{} {}", row.kernel, row.scenario),
            profile => format!("{} {} {profile}", row.kernel, row.scenario),
        };
        let width = self.rows.iter().map(|row| name(row).len()).max().unwrap_or(0).max(20);
        let _ = writeln!(
            text,
            "{:width$}  {:>9} {:>17}  {:>9} {:>8}  {:>9}",
            "median cycles", "board", "min..max", "simulator", "off by", "plain"
        );
        for row in &self.rows {
            let off = if row.board == row.simulator {
                "0".to_owned()
            } else {
                format!("{:+.1} %", 100.0 * row.difference())
            };
            let range = format!("{}..{}", row.board_min, row.board_max);
            let plain = row.plain.map_or_else(|| "-".to_owned(), |plain| plain.to_string());
            let note = if row.same_image { "" } else { "  another build" };
            let _ = writeln!(
                text,
                "{:width$}  {:>9} {range:>17}  {:>9} {off:>8}  {plain:>9}{note}",
                name(row),
                row.board,
                row.simulator
            );
        }
        for left in &self.left_out {
            let _ = writeln!(text, "{} {}: {}", left.kernel, left.scenario, left.reason);
        }
        match self.score {
            None => text.push_str("\nno figure on both sides: no score\n"),
            Some(score) => {
                let _ = writeln!(
                    text,
                    "\nscore of {} figures: {:.1} % exact, {:.1} % within 1 cycle, {:.1} % within \
                     5 %; bias {:+.2} %, worst {:.1} %",
                    score.figures,
                    100.0 * score.exact,
                    100.0 * score.within_1_cycle,
                    100.0 * score.within_5_percent,
                    100.0 * score.bias,
                    100.0 * score.worst
                );
                if score.of_another_build > 0 {
                    let _ = writeln!(
                        text,
                        "{} of them compare different builds: their code may differ, too",
                        score.of_another_build
                    );
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(board: u64, simulator: u64) -> Row {
        Row {
            kernel: "floor".into(),
            scenario: "thread.yield".into(),
            profile: DEFAULT_PROFILE.into(),
            board,
            board_min: board,
            board_max: board + 3,
            simulator,
            plain: Some(simulator),
            same_image: true,
        }
    }

    #[test]
    fn the_score_counts_close_figures() {
        let rows = [row(100, 100), row(100, 101), row(200, 210), row(100, 90), row(100, 98)];
        let score = Score::of(&rows).expect("there are rows");
        assert_eq!(score.figures, 5);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        near(score.exact, 0.2);
        near(score.within_1_cycle, 0.4);
        near(score.within_5_percent, 0.8);
        near(score.bias, (0.0 + 0.01 + 0.05 - 0.1 - 0.02) / 5.0);
        near(score.worst, 0.1);
        assert_eq!(Score::of(&[]), None);
    }
}
