//! The format of studies: their files in `data/studies`.

use std::collections::{BTreeMap, BTreeSet};

use rtmark_model::{KernelId, Pattern, ScenarioId};
use serde::Deserialize;

use crate::formula::{Formula, FormulaError};
use crate::score::ScoreFile;
use crate::template::Template;

/// A study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The question it asks.
    pub question: String,
    /// What was published.
    pub published: PublishedFile,
    /// What we measure in its place, in a few sentences.
    pub ours: String,
    /// Socs that differ from a built-in one in their initial register writes.
    #[serde(default)]
    pub soc: Vec<DerivedSoc>,
    /// What is measured.
    pub run: Vec<Run>,
    /// Figures computed from the measurements.
    #[serde(default)]
    pub figure: Vec<FigureFile>,
    /// Tables that compare figures.
    #[serde(default)]
    pub table: Vec<TableFile>,
    /// Every figure that was published.
    #[serde(default)]
    pub score: Vec<ScoreFile>,
    /// Why the figures differ.
    #[serde(default)]
    pub explanation: Vec<Explanation>,
}

/// What was published, where, and how it was measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFile {
    /// Who published it and where, as far as known.
    pub source: String,
    /// The board.
    pub board: String,
    /// How it was measured.
    pub how: Vec<String>,
    /// What one would need to know to repeat it, but the publication does not state.
    #[serde(default)]
    pub unstated: Vec<String>,
}

/// A soc that differs from a built-in one in its initial register writes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedSoc {
    /// Its name.
    pub name: String,
    /// The name of the built-in soc.
    pub of: String,
    /// The differences in words.
    pub description: String,
    /// Addresses of registers and the values written to them initially.
    pub write: Vec<(u32, u32)>,
}

/// One firmware on one soc, and what is measured with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The prefix of the names of its figures.
    #[serde(rename = "as")]
    pub name: String,
    /// The kernel.
    pub kernel: KernelId,
    /// The soc, or QEMU's machine.
    pub soc: String,
    /// The build profile; by default the kernel's own.
    #[serde(default)]
    pub profile: Option<String>,
    /// Settings that differ from the profile's, or that matter here, such as `opt=3`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Where it runs.
    #[serde(default)]
    pub on: RunTarget,
    /// Scenarios, by the names used for their figures.
    pub scenarios: BTreeMap<String, ScenarioId>,
    /// The scenarios among these whose cycles are attributed to functions.
    #[serde(default)]
    pub attribute: BTreeSet<String>,
    /// The scenarios among these that are interrupted at every moment.
    #[serde(default)]
    pub interrupt: BTreeSet<String>,
}

/// The platform of a run, and the unit it counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunTarget {
    /// The simulator, in cycles.
    #[default]
    Sim,
    /// The simulator, in instructions.
    #[serde(rename = "sim-instructions")]
    SimInstructions,
    /// QEMU, in instructions.
    Qemu,
}

/// A figure in a study's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureFile {
    /// Its name.
    pub name: String,
    /// The formula that computes it.
    #[serde(default)]
    pub formula: Option<String>,
    /// Alternatively, the attributed scenario whose functions' shares it adds up.
    #[serde(default)]
    pub of: Option<String>,
    /// Patterns of the functions' names.
    #[serde(default)]
    pub functions: Vec<Pattern>,
    /// Which share of each function.
    #[serde(default)]
    pub share: ShareKind,
}

/// Which share of a function in a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShareKind {
    /// Its own cycles.
    #[default]
    Cycles,
    /// Its own instructions.
    Instructions,
    /// Cycles in which a memory made the core wait.
    Waits,
    /// How often it was called.
    Calls,
}

/// The shares of functions in an attributed scenario.
#[derive(Clone, Debug)]
pub struct FunctionShare<'a> {
    /// The scenario's name in figures.
    pub of: &'a str,
    /// Patterns of the functions' names.
    pub functions: &'a [Pattern],
    /// Which share of each function.
    pub share: ShareKind,
}

/// How a figure is obtained.
#[derive(Clone, Debug)]
pub enum FigureSource<'a> {
    /// A formula over other figures.
    Formula(Formula),
    /// The shares of functions.
    Functions(FunctionShare<'a>),
}

/// A table of related rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// Its title.
    pub title: String,
    /// The unit of its figures, if they all have the same.
    #[serde(default)]
    pub unit: String,
    /// The rows.
    pub row: Vec<TableRow>,
}

/// A published figure beside one of ours, or one of ours alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRow {
    /// What it measures.
    pub what: String,
    /// Its unit, if it differs from the table's.
    #[serde(default)]
    pub unit: Option<String>,
    /// The published figure.
    #[serde(default)]
    pub published: Option<f64>,
    /// The formula of our figure.
    pub measured: String,
    /// The unit of the published figure, if its basis differs; there is no ratio then.
    #[serde(default)]
    pub published_unit: Option<String>,
    /// How the span or program differs; there is no ratio then, either.
    #[serde(default)]
    pub differs: Option<String>,
}

/// Why figures are as they are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// What it explains.
    pub title: String,
    /// The text, in which `{formula}` is replaced by a figure.
    pub text: String,
    /// The conditions on which the wording depends.
    #[serde(default)]
    pub holds: Vec<String>,
}

/// A study that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}")]
pub struct StudyError {
    /// Its file.
    pub origin: String,
    /// What is wrong.
    pub problem: String,
}

impl FigureFile {
    /// Returns how the figure is obtained.
    ///
    /// # Errors
    /// When it is neither a formula nor functions of a scenario.
    pub fn source(&self) -> Result<FigureSource<'_>, FormulaError> {
        match (&self.formula, &self.of) {
            (Some(formula), None) if self.functions.is_empty() => {
                Ok(FigureSource::Formula(Formula::read(formula)?))
            }
            (None, Some(of)) if !self.functions.is_empty() => {
                let (functions, share) = (self.functions.as_slice(), self.share);
                Ok(FigureSource::Functions(FunctionShare { of, functions, share }))
            }
            _ => Formula::read("").map(FigureSource::Formula),
        }
    }
}

/// Suffixes of a scenario's name in names of figures.
pub(crate) const OF_SERIES: [&str; 10] =
    ["first", "min", "max", "largest", "mean", "cold", "ns", "count", "flash", "sum"];
/// In series with at most this many samples, each sample is a figure, numbered from `at1`.
pub(crate) const FEW: u64 = 16;
/// Suffixes of an interrupted scenario's name in names of figures.
pub(crate) const OF_INTERRUPTED: [&str; 4] =
    ["handler_min", "handler_max", "delay_min", "delay_max"];

impl Study {
    /// Reads a study's file; `origin` names it in errors.
    ///
    /// # Errors
    /// When it is not TOML of this format, or a formula in it cannot be read or names something
    /// that the study does not measure.
    pub fn from_toml(origin: &str, text: &str) -> Result<Self, StudyError> {
        let refuse = |problem: String| StudyError { origin: origin.to_owned(), problem };
        let study: Self = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        study.check().map_err(refuse)?;
        Ok(study)
    }

    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.id.is_empty() || !self.id.chars().all(plain) {
            return Err("`id` may hold lower-case letters, digits and `-` only".to_owned());
        }
        let mut known = BTreeSet::new();
        let mut series = BTreeSet::new();
        for run in &self.run {
            for alias in run.attribute.iter().chain(&run.interrupt) {
                if !run.scenarios.contains_key(alias) {
                    return Err(format!("run {} has no scenario `{alias}`", run.name));
                }
            }
            for alias in run.scenarios.keys() {
                let name = format!("{}.{alias}", run.name);
                if run.interrupt.contains(alias) {
                    known.extend(OF_INTERRUPTED.map(|part| format!("{name}.{part}")));
                }
                known.extend(OF_SERIES.map(|part| format!("{name}.{part}")));
                known.extend((1..=FEW).map(|number| format!("{name}.at{number}")));
                if !series.insert(name.clone()) || !known.insert(name.clone()) {
                    return Err(format!("`{name}` is measured twice"));
                }
            }
        }
        let names = |formula: &Formula, known: &BTreeSet<String>| {
            // Facts that a program reports about itself are known only after it has run.
            let fact =
                |name: &str| name.rsplit_once(".fact.").is_some_and(|(of, _)| series.contains(of));
            match formula.names().into_iter().find(|name| !known.contains(*name) && !fact(name)) {
                None => Ok(()),
                Some(name) => Err(format!("`{formula}`: nothing measures `{name}`")),
            }
        };
        let number = |formula: &Formula, known: &BTreeSet<String>| {
            if formula.is_condition() {
                return Err(format!("`{formula}` is a condition, not a figure"));
            }
            names(formula, known)
        };
        for figure in &self.figure {
            match figure.source() {
                Err(error) => return Err(format!("figure {}: {error}", figure.name)),
                Ok(FigureSource::Formula(formula)) => number(&formula, &known)?,
                Ok(FigureSource::Functions(share)) => {
                    let of = |run: &Run| {
                        run.attribute
                            .iter()
                            .any(|alias| share.of == format!("{}.{alias}", run.name))
                    };
                    if !self.run.iter().any(of) {
                        return Err(format!("`{}` is not attributed to functions", share.of));
                    }
                }
            }
            if !known.insert(figure.name.clone()) {
                return Err(format!("figure `{}` is defined already", figure.name));
            }
        }
        let read = |text: &str| Formula::read(text).map_err(|error| error.to_string());
        for row in self.table.iter().flat_map(|table| &table.row) {
            number(&read(&row.measured)?, &known)?;
            if row.published.is_some_and(|published| !published.is_finite()) {
                return Err(format!("row `{}`: `published` is not a figure", row.what));
            }
        }
        for score in &self.score {
            score.check()?;
            let formulas = score.formulas().map_err(|error| error.to_string())?;
            formulas.iter().try_for_each(|formula| number(formula, &known))?;
        }
        for explanation in &self.explanation {
            let text = Template::read(&explanation.text).map_err(|error| error.to_string())?;
            text.formulas().try_for_each(|formula| number(formula, &known))?;
            for condition in &explanation.holds {
                let formula = read(condition)?;
                if !formula.is_condition() {
                    return Err(format!("`{condition}` is not a condition: it compares nothing"));
                }
                names(&formula, &known)?;
            }
        }
        Ok(())
    }

    /// Returns the soc that the study derives under this name.
    pub fn derived(&self, name: &str) -> Option<&DerivedSoc> {
        self.soc.iter().find(|soc| soc.name == name)
    }
}

impl DerivedSoc {
    /// Returns the text of the soc's file, given that of the soc it derives from.
    ///
    /// # Errors
    /// When that text is not TOML, or lacks an initial write to one of the registers.
    pub fn text(&self, base: &str) -> Result<String, String> {
        let mut soc: toml::Table =
            base.parse().map_err(|error: toml::de::Error| error.to_string())?;
        soc.insert("name".to_owned(), self.name.clone().into());
        soc.insert("description".to_owned(), self.description.clone().into());
        for (address, value) in &self.write {
            let same = |write: &&mut toml::Value| {
                write.get("address").and_then(toml::Value::as_integer) == Some((*address).into())
            };
            let init = soc.get_mut("init").and_then(toml::Value::as_array_mut);
            let write = init.and_then(|init| init.iter_mut().find(same));
            let place = write.and_then(|write| write.get_mut("value"));
            let place =
                place.ok_or_else(|| format!("{} writes nothing to {address:#x}", self.of))?;
            *place = (*value).into();
        }
        toml::to_string(&soc).map_err(|error| error.to_string())
    }
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$((
            concat!("data/studies/", $name),
            rtmark_files::text(concat!("data/studies/", $name)),
        )),*]
    };
}

const BUILTIN: &[(&str, &str)] = builtin![
    "prime-async.toml",
    "zephyr-latency.toml",
    "event-vs-queue.toml",
    "preempt-response.toml",
];

/// The study that compares published rows with the chips they were published for.
const BOARDS: (&str, &str) = ("data/validation.toml", rtmark_files::text("data/validation.toml"));

/// Returns published rows of kernels included here, compared with the chips they were published
/// for.
///
/// # Errors
/// Never in a tested build.
pub fn against_boards() -> Result<Study, StudyError> {
    Study::from_toml(BOARDS.0, BOARDS.1)
}

/// Returns the built-in studies.
///
/// # Errors
/// Never in a tested build; the files are read like any others.
pub fn builtin() -> Result<Vec<Study>, StudyError> {
    BUILTIN.iter().map(|(origin, text)| Study::from_toml(origin, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
id = "x"
title = "X"
question = "?"
ours = "ours"
published = { source = "s", board = "b", how = [], unstated = ["u"] }
score = [{ what = "w", published = 3.0, measured = "k.a", band = [0.95, 1.1] }]
run = [{ as = "k", kernel = "floor", soc = "s", scenarios = { a = "thread.yield" }, attribute = ["a"] }]
figure = [
    { name = "half", formula = "k.a / 2" },
    { name = "part", of = "k.a", functions = ["f*"] },
]
table = [{ title = "t", row = [{ what = "w", published = 3.0, measured = "half + part" }] }]
explanation = [{ title = "e", text = "It is {k.a.max}.", holds = ["half < k.a"] }]
"#;

    #[test]
    fn every_study_is_embedded_and_valid() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/studies");
        for entry in std::fs::read_dir(folder).expect("there") {
            let name = format!("data/studies/{}", entry.expect("there").file_name().display());
            assert!(BUILTIN.iter().any(|(builtin, _)| *builtin == name), "{name} is not built in");
        }
        let studies = builtin().expect("good");
        assert_eq!(studies.len(), BUILTIN.len());
        for (study, (origin, _)) in studies.iter().zip(BUILTIN) {
            assert_eq!(*origin, format!("data/studies/{}.toml", study.id));
        }
    }

    #[test]
    fn unmeasured_names_are_rejected() {
        Study::from_toml("x", GOOD).expect("good");
        let refusal = |from: &str, to: &str| {
            assert!(GOOD.contains(from), "{from}");
            Study::from_toml("x", &GOOD.replace(from, to)).expect_err(to).to_string()
        };
        assert!(refusal("half + part", "half + whole").contains("nothing measures `whole`"));
        assert!(refusal("{k.a.max}", "{k.b.max}").contains("k.b.max"));
        assert!(refusal("half < k.a", "half").contains("not a condition"));
        for (figure, condition) in [
            ("\"k.a / 2\"", "\"k.a < 2\""),
            ("half + part", "half > part"),
            ("measured = \"k.a\"", "measured = \"k.a > 1\""),
            ("{k.a.max}", "{k.a > 1}"),
        ] {
            assert!(refusal(figure, condition).contains("is a condition, not a figure"));
        }
        assert!(
            refusal(
                "what = \"w\", published = 3.0, measured = \"half",
                "what = \"w\", published = nan, measured = \"half"
            )
            .contains("not a figure")
        );
        assert!(refusal("\"k.a\", band", "\"k.b\", band").contains("nothing measures `k.b`"));
        assert!(refusal("[0.95, 1.1]", "[0.5, 1.1]").contains("needs a `why`"));
        assert!(refusal("of = \"k.a\"", "of = \"k.b\"").contains("not attributed"));
        assert!(refusal("[\"a\"]", "[\"b\"]").contains("no scenario `b`"));
        assert!(refusal("\"half\"", "\"k.a\"").contains("already"));
        assert!(refusal("functions = [\"f*\"]", "functions = []").contains("wanted"));
        assert!(refusal("title = \"X\"", "tittle = \"X\"").contains("tittle"));
        assert!(refusal("id = \"x\"", "id = \"../x\"").contains("id"));
    }

    #[test]
    fn a_derived_soc_has_different_initial_writes() {
        let base =
            "name = 'a'\ndescription = 'A'\n[[init]]\nregister = 'R'\naddress = 0x10\nvalue = 1\n";
        let mut derived = DerivedSoc {
            name: "b".into(),
            of: "a".into(),
            description: "B".into(),
            write: vec![(0x10, 7)],
        };
        let text = derived.text(base).expect("derived");
        assert!(text.contains("name = \"b\"") && text.contains("value = 7"), "{text}");
        derived.write = vec![(0x14, 7)];
        assert!(derived.text(base).expect_err("no such").contains("0x14"));
    }
}
