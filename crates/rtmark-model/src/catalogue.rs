//! The catalogue: the meaning of each scenario, defined once for all kernels.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::id::IdError;
use crate::span::{Counted, Expected};
use crate::{EqualRow, Overhead, ScenarioId, Span, Suite, Victim};

/// The definition of one scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its stable name.
    pub id: ScenarioId,
    /// The question that it answers, in one line.
    pub answers: String,
    /// Where its timing begins and ends.
    pub span: Span,
    /// The minimum number of samples of a run.
    pub samples: u64,
    /// How often its span may restart before its end, if its begin occurs more often than its end.
    pub restarts: Expected,
    /// How often its end may occur without a begin, if it says so: see [`Scenario::has_too_many_lone_ends`].
    pub lone_ends: Option<Expected>,
    /// How long a run may take on the soc's own clock, in milliseconds.
    pub budget_ms: u64,
    /// The maximum number of code layouts in which it is measured by default, because a run takes long
    /// or its points compensate for layouts; `None` for the usual number.
    pub layouts: Option<u32>,
    /// Rows of other suites with the same span.
    pub equal: Vec<EqualRow>,
    /// Why a multiple of the floor is meaningless for it, if it is: the floor is then an answer like
    /// the others, and not the minimum.
    pub no_multiple: Option<String>,
    /// Its position on a curve, if the cost of one operation is measured against a count.
    pub point: Option<Point>,
    /// The interrupt and the program whose longest wait is its sample, if it does not time a span.
    pub held_back: Option<HeldBack>,
    /// Whether it belongs to a user's own kernel, so that rtmark's kernels do not answer it.
    pub own: bool,
}

/// A position on a curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The curve: the name known to the firmware, shared by all of its points.
    pub curve: ScenarioId,
    /// What is counted, in the plural: `delayed threads`.
    pub of: String,
    /// The count.
    pub n: u32,
}

/// The longest stretch of a program in which an interrupt would be held back.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldBack {
    /// The interrupt.
    pub interrupt: Victim,
    /// The program: the name known to the firmware. It is examined from its first begin probe to its
    /// last end probe.
    pub program: ScenarioId,
}

/// How often the end of a user's own scenario may occur without a begin, unless it says otherwise: where spans
/// reach from one event to the next of its kind, the first one ends none.
const OWN_LONE_ENDS: Expected = Expected::Exactly(1);

impl Scenario {
    /// Tells whether this many ends without a begin are more than the scenario allows. Those of rtmark's own
    /// catalogue allow any number, because their firmware is tested.
    pub fn has_too_many_lone_ends(&self, seen: u64) -> bool {
        let usual = if self.own { OWN_LONE_ENDS } else { Expected::Any };
        self.lone_ends.unwrap_or(usual).exceeded_by(seen)
    }

    /// Returns the name known to the firmware: the curve's for a point, the program's for an examined
    /// program.
    pub fn in_firmware(&self) -> &ScenarioId {
        let program = self.held_back.as_ref().map(|held_back| &held_back.program);
        let curve = self.point.as_ref().map(|point| &point.curve);
        program.or(curve).unwrap_or(&self.id)
    }
}

/// All scenarios in table order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    scenarios: Vec<Scenario>,
    by_id: BTreeMap<ScenarioId, usize>,
}

/// The reason why a catalogue file was rejected. The text names file and line.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("{file}: {error}")]
    Syntax {
        /// The file's name.
        file: String,
        /// What is wrong, with the line.
        error: Box<toml::de::Error>,
    },
    /// A row of another suite that two scenarios claim.
    #[error("{file}: {id} and {other} both claim the row `{row}`")]
    EqualTwice {
        /// The file's name.
        file: String,
        /// The later scenario.
        id: ScenarioId,
        /// The earlier one.
        other: ScenarioId,
        /// The row.
        row: EqualRow,
    },
    /// Points of a curve that are not valid.
    #[error("{file}: {id}: {problem}")]
    Points {
        /// The file's name.
        file: String,
        /// The curve.
        id: ScenarioId,
        /// What is wrong.
        problem: &'static str,
    },
    /// A point whose name is not valid.
    #[error("{file}: {error}")]
    Name {
        /// The file's name.
        file: String,
        /// What is wrong.
        error: IdError,
    },
    /// A scenario that is defined twice.
    #[error("{file}: scenario {id} is defined a second time")]
    Twice {
        /// The file's name.
        file: String,
        /// The scenario.
        id: ScenarioId,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: ScenarioId,
    answers: String,
    from: String,
    to: String,
    #[serde(default)]
    counted: Counted,
    switches: u32,
    #[serde(default = "no_overhead")]
    overhead: Overhead,
    #[serde(default = "none")]
    ticks: Expected,
    #[serde(default = "none")]
    interrupts: Expected,
    samples: u64,
    #[serde(default = "none")]
    restarts: Expected,
    lone_ends: Option<Expected>,
    #[serde(default = "two_seconds")]
    budget_ms: u64,
    layouts: Option<u32>,
    #[serde(default)]
    equal: Vec<EqualRow>,
    no_multiple: Option<String>,
    /// What grows, and the counts at which it is measured: both or neither.
    grows: Option<String>,
    #[serde(default)]
    points: Vec<u16>,
    held_back: Option<HeldBack>,
}

const fn no_overhead() -> Overhead {
    Overhead::None
}

const fn none() -> Expected {
    Expected::Exactly(0)
}

const fn two_seconds() -> u64 {
    2_000
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("catalogue/", $name), rtmark_files::text(concat!("catalogue/", $name)))),*]
    };
}

/// The files of the repository's `catalogue/`, in table order.
const BUILTIN: &[(&str, &str)] = builtin![
    "thread.toml",
    "semaphore.toml",
    "mutex.toml",
    "rwlock.toml",
    "queue.toml",
    "stream.toml",
    "events.toml",
    "notify.toml",
    "async.toml",
    "isr.toml",
    "load.toml",
    "timer.toml",
    "heap.toml",
    "pool.toml",
    "tm.toml",
    "workload.toml",
    "boot.toml",
    "priority.toml",
    "duty.toml",
    "storm.toml",
    "growth.toml",
];

impl Catalogue {
    /// Returns the built-in catalogue.
    ///
    /// # Errors
    /// Never in a released program: tests read every built-in file. They are parsed like a user's
    /// files.
    pub fn builtin() -> Result<Self, CatalogueError> {
        Self::from_files(BUILTIN.iter().copied())
    }

    /// Adds the scenarios of a user's own kernel.
    ///
    /// # Errors
    /// When the file is not TOML, has an unknown key, or repeats a scenario.
    pub fn add_own(&mut self, file: &str, text: &str) -> Result<(), CatalogueError> {
        let before = self.scenarios.len();
        self.read(file, text)?;
        for scenario in &mut self.scenarios[before..] {
            scenario.own = true;
        }
        Ok(())
    }

    /// Parses a catalogue from the names and contents of its files.
    ///
    /// # Errors
    /// When a file is not TOML, has an unknown key, or repeats a scenario.
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::default();
        for (file, text) in files {
            catalogue.read(file, text)?;
        }
        Ok(catalogue)
    }

    fn read(&mut self, file: &str, text: &str) -> Result<(), CatalogueError> {
        let read: File = toml::from_str(text).map_err(|error| CatalogueError::Syntax {
            file: file.to_owned(),
            error: Box::new(error),
        })?;
        read.scenario.into_iter().try_for_each(|entry| self.add(file, entry))
    }

    /// Adds a scenario, or one for each point of a curve.
    fn add(&mut self, file: &str, entry: Entry) -> Result<(), CatalogueError> {
        let curve = entry.id.clone();
        for row in &entry.equal {
            if let Some((other, _)) = self.equal_to(row.suite, &row.row) {
                let (file, other, row) = (file.to_owned(), other.id.clone(), row.clone());
                return Err(CatalogueError::EqualTwice { file, id: curve, other, row });
            }
        }
        let one = Scenario {
            id: entry.id,
            answers: entry.answers,
            span: Span {
                from: entry.from,
                to: entry.to,
                counted: entry.counted,
                switches: entry.switches,
                overhead: entry.overhead,
                ticks: entry.ticks,
                interrupts: entry.interrupts,
            },
            samples: entry.samples,
            restarts: entry.restarts,
            lone_ends: entry.lone_ends,
            budget_ms: entry.budget_ms,
            layouts: entry.layouts,
            equal: entry.equal,
            no_multiple: entry.no_multiple,
            point: None,
            held_back: entry.held_back,
            own: false,
        };
        let points =
            |problem| CatalogueError::Points { file: file.to_owned(), id: curve.clone(), problem };
        match entry.grows {
            None if entry.points.is_empty() => self.push(file, one),
            None => Err(points("`points` needs `grows`, which says what they count")),
            Some(_)
                if !entry.points.is_sorted_by(|a, b| a < b) || entry.points.first() < Some(&1) =>
            {
                Err(points("`points` must be a list of rising counts from 1 on"))
            }
            Some(of) => entry.points.into_iter().map(u32::from).try_for_each(|n| {
                let id = curve
                    .at(n)
                    .map_err(|error| CatalogueError::Name { file: file.to_owned(), error })?;
                let point = Some(Point { curve: curve.clone(), of: of.clone(), n });
                self.push(file, Scenario { id, point, ..one.clone() })
            }),
        }
    }

    fn push(&mut self, file: &str, scenario: Scenario) -> Result<(), CatalogueError> {
        let id = scenario.id.clone();
        if self.by_id.insert(id.clone(), self.scenarios.len()).is_some() {
            return Err(CatalogueError::Twice { file: file.to_owned(), id });
        }
        self.scenarios.push(scenario);
        Ok(())
    }

    /// Returns the scenarios in table order.
    pub fn scenarios(&self) -> &[Scenario] {
        &self.scenarios
    }

    /// Returns a scenario by its name.
    pub fn get(&self, id: &ScenarioId) -> Option<&Scenario> {
        self.by_id.get(id).map(|&index| &self.scenarios[index])
    }

    /// Returns the scenario with the span of another suite's row, and the details of the match.
    pub fn equal_to(&self, suite: Suite, row: &str) -> Option<(&Scenario, &EqualRow)> {
        let of = |scenario: &&Scenario| {
            let mut rows = scenario.equal.iter();
            rows.any(|equal| equal.suite == suite && equal.row == row)
        };
        let scenario = self.scenarios.iter().find(of)?;
        let row = scenario.equal.iter().find(|equal| equal.suite == suite && equal.row == row)?;
        Some((scenario, row))
    }

    /// Returns a scenario's position in table order; unknown ones come last.
    pub fn position(&self, id: &ScenarioId) -> usize {
        self.by_id.get(id).copied().unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[[scenario]]\nid = \"a.b\"\nanswers = \"?\"\nfrom = \"x\"\nto = \"y\"\nswitches = 0\nsamples = 1\n";

    #[test]
    fn ends_without_a_begin_are_limited_in_a_users_own_scenarios() {
        let text = |id: &str, more: &str| {
            format!(
                "[[scenario]]\nid = \"{id}\"\nanswers = \"?\"\nfrom = \"x\"\nto = \"y\"\nswitches = 0\n\
                 samples = 1\n{more}\n"
            )
        };
        let ours = text("a.one", "");
        let mut catalogue = Catalogue::from_files([("x", &*ours)]).expect("good");
        let own = [("b.any", "lone_ends = \"any\""), ("b.none", "lone_ends = 0"), ("b.usual", "")];
        let own: String = own.map(|(id, more)| text(id, more)).concat();
        catalogue.add_own("y", &own).expect("good");
        let most = |id: &str| {
            let scenario = catalogue.get(&id.parse().expect("good")).expect("there");
            (0..3).filter(|seen| !scenario.has_too_many_lone_ends(*seen)).count()
        };
        assert_eq!(["a.one", "b.any", "b.none", "b.usual"].map(most), [3, 3, 1, 2]);
    }

    #[test]
    fn the_builtin_catalogue_holds_every_file_of_the_repository() {
        let catalogue = Catalogue::builtin().expect("good");
        assert!(catalogue.scenarios().len() >= 17);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalogue");
        for entry in std::fs::read_dir(folder).expect("there") {
            let name = format!("catalogue/{}", entry.expect("there").file_name().display());
            assert!(BUILTIN.iter().any(|(builtin, _)| *builtin == name), "{name} is not built in");
        }
        for scenario in catalogue.scenarios() {
            assert!(scenario.answers.ends_with('?'), "{}: a question", scenario.id);
            assert_eq!(catalogue.get(&scenario.id), Some(scenario));
            // Renderers identify points by their names alone.
            let point = scenario.point.as_ref().map(|point| (point.curve.clone(), point.n));
            assert_eq!(scenario.id.point(), point, "{}", scenario.id);
        }
    }

    #[test]
    fn a_row_is_that_of_its_suite() {
        let row = |suite, row, times| {
            format!("{{ suite = \"{suite}\", row = \"{row}\", times = {times} }}")
        };
        let [x, y, z] = [
            ("zephyr-latency-measure", "x", 2),
            ("thread-metric", "y", 3),
            ("thread-metric", "x", 5),
        ]
        .map(|(suite, name, times)| row(suite, name, times));
        let text = format!("{GOOD}equal = [{x}, {y}, {z}]\n");
        let catalogue = Catalogue::from_files([("x", &*text)]).expect("good");
        let times = |suite, row| catalogue.equal_to(suite, row).map(|(_, row)| row.times.get());
        assert_eq!(times(Suite::ThreadMetric, "x"), Some(5));
        assert_eq!(times(Suite::ThreadMetric, "y"), Some(3));
        assert_eq!(times(Suite::ZephyrLatencyMeasure, "x"), Some(2));
        assert_eq!(times(Suite::ZephyrLatencyMeasure, "y"), None);
    }

    #[test]
    fn rows_of_other_suites_are_found() {
        let catalogue = Catalogue::builtin().expect("good");
        let found = |suite, row| {
            let (scenario, row) = catalogue.equal_to(suite, row)?;
            Some((scenario.id.as_str(), row.times.get()))
        };
        let tag = "semaphore.give.wake+ctx.k_to_k";
        assert_eq!(found(Suite::ZephyrLatencyMeasure, tag), Some(("semaphore.give.wake+ctx", 1)));
        assert_eq!(found(Suite::RtosBenchmark, tag), None);
        let preemptive = found(Suite::ThreadMetric, "Preemptive Scheduling");
        assert_eq!(preemptive, Some(("tm.preemptive", 5)));
        for scenario in catalogue.scenarios() {
            for row in &scenario.equal {
                assert_eq!(row.row.trim(), row.row, "{}", scenario.id);
                let grouped = row.row.contains(": ");
                assert_eq!(grouped, row.suite == Suite::RtosBenchmark, "{}: {row}", scenario.id);
                let suite = serde_json::to_value(row.suite).expect("a name");
                assert_eq!(suite, row.suite.name());
            }
        }
    }

    #[test]
    fn a_curve_is_one_scenario_for_each_point() {
        let text = format!("{GOOD}grows = \"things\"\npoints = [1, 4]\n");
        let catalogue = Catalogue::from_files([("x", &*text)]).expect("good");
        let ids: Vec<_> = catalogue.scenarios().iter().map(|s| s.id.as_str()).collect();
        assert_eq!(ids, ["a.b.1", "a.b.4"]);
        let four = &catalogue.scenarios()[1];
        assert_eq!((four.in_firmware().as_str(), four.answers.as_str()), ("a.b", "?"));
        assert_eq!(four.point.as_ref().map(|point| point.n), Some(4));
        let (curve, n) = four.id.point().expect("a point");
        assert_eq!((curve.as_str(), n), ("a.b", 4));

        let refusal = |from: &str, to: &str| {
            assert!(text.contains(from));
            let spoilt = text.replace(from, to);
            Catalogue::from_files([("x", &*spoilt)]).expect_err("refused").to_string()
        };
        assert!(refusal("[1, 4]", "[4, 1]").contains("x: a.b: `points` must be"));
        assert!(refusal("[1, 4]", "[0, 1]").contains("rising counts from 1"));
        assert!(refusal("[1, 4]", "[]").contains("rising counts from 1"));
        assert!(refusal("grows = \"things\"", "").contains("needs `grows`"));
    }

    #[test]
    fn rows_claimed_by_two_scenarios_are_rejected() {
        let row = "equal = [{ suite = \"thread-metric\", row = \"x\" }]\n";
        let one = format!("{GOOD}{row}");
        let two = one.replace("a.b", "a.c");
        let error = Catalogue::from_files([("one", &*one), ("two", &*two)]);
        let error = error.expect_err("refused").to_string();
        assert_eq!(error, "two: a.c and a.b both claim the row `thread-metric: x`");
        let unknown = one.replace("thread-metric", "thread-metrics");
        let error = Catalogue::from_files([("x", &*unknown)]).expect_err("refused").to_string();
        assert!(error.contains("thread-metrics") && error.contains("rtos-benchmark"), "{error}");
    }

    #[test]
    fn errors_name_file_and_line() {
        Catalogue::from_files([("good.toml", GOOD)]).expect("the model to spoil is good");
        let spoilt = format!("{GOOD}switchs = 1\n");
        let error = Catalogue::from_files([("x.toml", &*spoilt)]).expect_err("refused").to_string();
        assert!(error.contains("x.toml") && error.contains("line 8") && error.contains("switchs"));
        let error = Catalogue::from_files([("one.toml", GOOD), ("two.toml", GOOD)]);
        assert!(error.expect_err("refused").to_string().contains("two.toml: scenario a.b"));
        let text = GOOD.replace("samples = 1", "samples = 1\nticks = \"some\"");
        let error = Catalogue::from_files([("x.toml", &*text)]).expect_err("refused").to_string();
        assert!(error.contains("a number or \"any\""), "{error}");
    }
}
