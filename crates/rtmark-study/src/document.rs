//! Reports: studies with their figures, which is all that renderers need and what the JSON
//! contains.

use rtmark_model::{Answer, Key, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::formula::Formula;
use crate::score::Score;
use crate::study::{Study, StudyError};
use crate::template::Template;

/// The version of [`Document`]'s format. It increases when a reader of the older format would
/// misread the newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// Studies and their measured figures, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// The version of this format.
    pub schema_version: u32,
    /// The program that measured, with its version.
    pub generator: String,
    /// The studies.
    pub studies: Vec<Report>,
}

/// A study and its measured figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// The study's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The question it asks.
    pub question: String,
    /// What was published, and how it was measured.
    pub published: Source,
    /// What was measured for comparison.
    pub ours: String,
    /// The published figures beside ours.
    pub tables: Vec<Table>,
    /// The score of every published figure.
    #[serde(default)]
    pub scores: Vec<Score>,
    /// Why the figures differ.
    pub explanations: Vec<CheckedExplanation>,
    /// The runs that were made.
    pub runs: Vec<StudyRun>,
}

/// The source of the published figures, and how they were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// The author and the place of publication, as far as known.
    pub source: String,
    /// The board.
    pub board: String,
    /// How it was measured.
    pub how: Vec<String>,
    /// What a repetition would need to know and the source does not state.
    #[serde(default)]
    pub unstated: Vec<String>,
}

/// A group of related rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A published figure beside ours, or ours alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// A description of the figure.
    pub what: String,
    /// The unit of our figure.
    pub unit: String,
    /// The published figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// The unit of the published figure, if it differs from ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_unit: Option<String>,
    /// Our figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// Our figure divided by the published one, if both have the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The formula that computes our figure from the runs.
    pub formula: String,
    /// Why the two are not comparable, so that there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Why there is no figure of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An explanation whose figures were measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedExplanation {
    /// What it explains.
    pub title: String,
    /// The text with its figures.
    pub text: String,
    /// The conditions that the text relies on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<Condition>,
}

impl CheckedExplanation {
    /// Returns the conditions that do not hold; if there are any, words of the text are wrong.
    pub fn failed_conditions(&self) -> impl Iterator<Item = &Condition> {
        self.rests_on.iter().filter(|condition| condition.holds != Some(true))
    }
}

/// A condition on figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// The condition, as a formula.
    pub condition: String,
    /// Whether it holds; absent if a figure is missing.
    pub holds: Option<bool>,
}

/// A run made for the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRun {
    /// The name used in formulas.
    pub name: String,
    /// The key of the series.
    pub key: Key,
    /// Its typical sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<u64>,
    /// What is counted: `cycles`, `instructions`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub basis: String,
    /// The clock of the core in hertz.
    pub clock_hz: u32,
    /// The compiler's name and version as it prints them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub compiler: String,
    /// SHA-256 of the firmware.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub elf_sha256: String,
    /// The version of the timing rules, or the emulator's version as it prints it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The settings that matter.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Why there are no samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StudyRun {
    /// Describes an answer.
    pub fn new(name: &str, answer: &Answer) -> Self {
        let mut run = Self {
            name: name.to_owned(),
            key: answer.key().clone(),
            typical: None,
            basis: String::new(),
            clock_hz: 0,
            compiler: String::new(),
            elf_sha256: String::new(),
            by: String::new(),
            settings: Settings::new(),
            reason: None,
        };
        match answer {
            Answer::NotApplicable { reason, .. } => run.reason = Some(reason.clone()),
            Answer::Failed { failure, .. } => run.reason = Some(failure.to_string()),
            Answer::Measured(series) => {
                let provenance = &series.provenance;
                run.typical = series.statistics().map(|statistics| statistics.typical());
                run.basis = series.basis.to_string();
                run.clock_hz = series.clock.0;
                run.compiler.clone_from(&provenance.compiler.version);
                run.elf_sha256.clone_from(&provenance.firmware.elf_sha256);
                let model = provenance.timing_model.as_ref();
                let model = model.map(|version| format!("timing model {version}"));
                run.by = model.or_else(|| provenance.emulator.clone()).unwrap_or_default();
                run.settings.clone_from(&provenance.settings);
            }
        }
        run
    }
}

impl Report {
    /// Combines a study with its measured figures.
    ///
    /// # Errors
    /// When a formula of the study cannot be read, which reading the study would already have
    /// reported.
    pub fn new(
        study: &Study,
        mut figures: Figures,
        runs: Vec<StudyRun>,
    ) -> Result<Self, StudyError> {
        let refuse = |error: crate::FormulaError| StudyError {
            origin: study.id.clone(),
            problem: error.to_string(),
        };
        figures.evaluate(study);
        let mut tables = Vec::new();
        for table in &study.table {
            let mut rows = Vec::new();
            for row in &table.row {
                let formula = Formula::read(&row.measured).map_err(refuse)?;
                let value = formula.value(|name| figures.value(name));
                let measured = value.as_ref().ok().copied().map(rounded);
                let ratio = match (row.published, measured) {
                    (Some(theirs), Some(ours))
                        if theirs != 0.0
                            && row.published_unit.is_none()
                            && row.differs.is_none() =>
                    {
                        Some(rounded(ours / theirs))
                    }
                    _ => None,
                };
                rows.push(Row {
                    what: row.what.clone(),
                    unit: row.unit.clone().unwrap_or_else(|| table.unit.clone()),
                    published: row.published,
                    published_unit: row.published_unit.clone(),
                    measured,
                    ratio,
                    formula: row.measured.clone(),
                    differs: row.differs.clone(),
                    reason: value.err().map(|error| error.to_string()),
                });
            }
            tables.push(Table { title: table.title.clone(), rows });
        }
        let mut scores = Vec::new();
        for score in &study.score {
            scores.push(score.score(&figures).map_err(refuse)?);
        }
        let mut explanations = Vec::new();
        for explanation in &study.explanation {
            let text = Template::read(&explanation.text).map_err(refuse)?;
            let mut rests_on = Vec::new();
            for condition in &explanation.holds {
                let formula = Formula::read(condition).map_err(refuse)?;
                let holds = formula.value(|name| figures.value(name)).ok().map(|value| value > 0.0);
                rests_on.push(Condition { condition: condition.clone(), holds });
            }
            let text = text.fill(|name| figures.value(name));
            explanations.push(CheckedExplanation {
                title: explanation.title.clone(),
                text,
                rests_on,
            });
        }
        Ok(Self {
            id: study.id.clone(),
            title: study.title.clone(),
            question: study.question.clone(),
            published: Source {
                source: study.published.source.clone(),
                board: study.published.board.clone(),
                how: study.published.how.clone(),
                unstated: study.published.unstated.clone(),
            },
            ours: study.ours.split_whitespace().collect::<Vec<_>>().join(" "),
            tables,
            scores,
            explanations,
            runs,
        })
    }

    /// Returns the explanations with broken conditions, and those conditions.
    pub fn failed_conditions(&self) -> impl Iterator<Item = (&CheckedExplanation, &Condition)> {
        let explanations = self.explanations.iter();
        explanations.flat_map(|one| one.failed_conditions().map(move |condition| (one, condition)))
    }

    /// Returns whether this is a report of exactly that study: same texts, same published figures.
    pub fn is_of(&self, study: &Study) -> bool {
        let empty = Self::new(study, Figures::default(), Vec::new());
        let Ok(empty) = empty else { return false };
        let rows = |report: &Self| -> Vec<_> {
            let rows = report.tables.iter().flat_map(|table| {
                table.rows.iter().map(|row| {
                    let words = [&table.title, &row.what, &row.unit, &row.formula];
                    let differs = row.differs.clone();
                    (words.map(Clone::clone), row.published.map(f64::to_bits), differs)
                })
            });
            rows.collect()
        };
        let words = |report: &Self| {
            let Self { id, title, question, published, ours, .. } = report.clone();
            (id, title, question, published, ours)
        };
        // Everything in a score except what was measured.
        let scores = |report: &Self| -> Vec<_> {
            let bare = |score: &Score| Score {
                measured: None,
                ratio: None,
                ratios: None,
                reason: None,
                ..score.clone()
            };
            report.scores.iter().map(bare).collect()
        };
        let texts = self.explanations.len() == study.explanation.len()
            && self.explanations.iter().zip(&study.explanation).all(|(explained, explanation)| {
                let conditions = explained.rests_on.iter().map(|one| &one.condition);
                explained.title == explanation.title
                    && conditions.eq(&explanation.holds)
                    && Template::read(&explanation.text)
                        .is_ok_and(|template| follows(&explained.text, &template))
            });
        words(self) == words(&empty)
            && rows(self) == rows(&empty)
            && scores(self) == scores(&empty)
            && texts
    }
}

/// Rounds to the digits that are significant, so that files read back are identical.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Returns whether a text contains the template's fixed words in their order.
fn follows(text: &str, template: &Template) -> bool {
    let mut rest = text;
    template.texts().all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}
