//! Answers: a kernel's response to a scenario, and the documents that contain them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Curve, Key, Samples, Series, Spread, Statistics};

/// The answer of one kernel to one scenario on one soc.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The scenario was measured.
    Measured(Box<Series>),
    /// The kernel has no such primitive.
    NotApplicable {
        /// The answer's key.
        key: Key,
        /// Why, in one sentence.
        reason: String,
    },
    /// The measurement failed.
    Failed {
        /// The answer's key.
        key: Key,
        /// What went wrong.
        failure: Failure,
    },
}

impl Answer {
    /// Returns the answer's key.
    pub fn key(&self) -> &Key {
        match self {
            Self::Measured(series) => &series.key,
            Self::NotApplicable { key, .. } | Self::Failed { key, .. } => key,
        }
    }

    /// Returns which times of some answers are of another clock than the one that the program sets, each note once.
    pub fn clock_notes<'a>(answers: impl IntoIterator<Item = &'a Self>) -> Vec<String> {
        let mut notes = Vec::new();
        for note in answers.into_iter().filter_map(|answer| answer.series()?.clock_note()) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Returns the series, if it was measured.
    pub fn series(&self) -> Option<&Series> {
        match self {
            Self::Measured(series) => Some(series),
            _ => None,
        }
    }
}

/// The kind of a failure, which determines the exit code.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The simulator made a mistake, or yielded a figure that no core could achieve.
    Internal,
    /// A compiler, a linker or a board is missing.
    ToolMissing,
    /// The firmware could not be built, or does not contain what the catalogue asks for.
    Build,
    /// The firmware does not fit the soc.
    Load,
    /// A processor fault, lockup, or breakpoint.
    Fault,
    /// The firmware's own check failed, or it ended without printing `ok`.
    Check,
    /// The cycle budget ran out, the processor sleeps for ever, or no span was completed.
    Budget,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Internal => "rtmark itself is wrong",
            Self::ToolMissing => "a tool or device is missing",
            Self::Build => "the firmware was not built",
            Self::Load => "the firmware does not fit the soc",
            Self::Fault => "the firmware faulted",
            Self::Check => "the firmware's own check failed",
            Self::Budget => "the firmware did not get there",
        })
    }
}

/// What went wrong, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What happened, with addresses and symbols.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// What the firmware printed, with control characters made visible.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub console: String,
}

impl Failure {
    /// Returns what went wrong, without the command that failed: it follows the compiler's words after a blank
    /// line.
    pub fn problem(&self) -> String {
        let message = self.message.split("\n\n").next().unwrap_or_default();
        format!("{}: {message}", self.kind)
    }
}

/// The version of [`Document`]'s schema. It is incremented if a reader of the older version would
/// misread the newer one; added keys alone do not require that.
pub const SCHEMA_VERSION: u32 = 1;

/// The machine-readable document of results.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// The version of this schema.
    pub schema_version: u32,
    /// The program that wrote it, with its version.
    pub generator: String,
    /// The answers, ordered by soc, kernel and scenario.
    pub answers: Vec<Reported>,
    /// The curves formed by answers to the points of a scenario: how a cost grows with a count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
}

/// An answer together with what can be computed from it, for readers that do not compute it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// The statistics of a measured series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    /// The statistics of the samples with emptied caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_statistics: Option<Statistics>,
    /// The statistics of the numbers of executed instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_statistics: Option<Statistics>,
    /// The range over layouts of the code, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

impl Document {
    /// Creates the document of these answers.
    pub fn new(generator: impl Into<String>, answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<_> = answers.into_iter().collect();
        let curves = Curve::of(&answers);
        let report = |answer: Answer| {
            let statistics = answer.series().and_then(Series::statistics);
            let emptied = answer.series().and_then(|series| series.emptied.as_ref());
            let emptied_statistics = emptied.and_then(Samples::statistics);
            let executed = answer.series().and_then(|series| series.executed.as_ref());
            let executed_statistics = executed.and_then(|executed| executed.0.statistics());
            let spread = answer.series().and_then(Series::spread);
            Reported { answer, statistics, emptied_statistics, executed_statistics, spread }
        };
        Self {
            schema_version: SCHEMA_VERSION,
            generator: generator.into(),
            answers: answers.into_iter().map(report).collect(),
            curves,
        }
    }

    /// Returns the JSON schema of documents.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Document)
    }
}
