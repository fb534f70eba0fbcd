//! What the rows of other suites time, as far as it is known: the data in `spans.toml`.

use rtmark_model::{
    Catalogue, Counted, Expected, Near, Overhead, Pattern, ScenarioId, Span, Suite,
};
use serde::Deserialize;

/// The file with the data.
const BUILTIN: &str = include_str!("spans.toml");

/// The spans of suites' rows.
#[derive(Clone, Debug)]
pub struct Spans {
    suites: Vec<About>,
    rows: Vec<Entry>,
}

/// What applies to all rows of a suite.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    suite: Suite,
    overhead: Overhead,
    /// The rows with a different overhead.
    #[serde(default)]
    subtracted: Vec<Pattern>,
    /// The kernel, if the suite exists for one only.
    #[serde(default)]
    kernel: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    suite: Suite,
    rows: Vec<Pattern>,
    /// The row in the suite's latest version that times the same span.
    #[serde(default)]
    same_as: Option<String>,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    switches: u32,
    /// The most similar scenario, and the difference.
    #[serde(default)]
    near: Option<ScenarioId>,
    #[serde(default)]
    differs: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    suite: Vec<About>,
    row: Vec<Entry>,
}

/// What is known about a row's span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Where it begins and ends.
    pub span: Span,
    /// Our scenario with this span, and how many of the row's units one of its samples contains.
    pub equal: Option<(ScenarioId, u32)>,
    /// The most similar scenario, and the difference.
    pub near: Option<Near>,
    /// The row's name in the suite's latest version.
    pub name: String,
}

/// The panic message for invalid built-in data.
const BUILTIN_IS_VALID: &str = "the data of spans.toml are tested";

impl Spans {
    /// Returns the built-in data.
    ///
    /// # Errors
    /// Never in a released program, as the file is covered by tests.
    pub fn builtin() -> Result<Self, toml::de::Error> {
        let file: File = toml::from_str(BUILTIN)?;
        Ok(Self { suites: file.suite, rows: file.row })
    }

    /// Returns the built-in data, or no data rather than an error.
    pub fn known() -> Self {
        let builtin = Self::builtin();
        debug_assert!(builtin.is_ok(), "{BUILTIN_IS_VALID}: {builtin:?}");
        builtin.unwrap_or(Self { suites: Vec::new(), rows: Vec::new() })
    }

    /// Returns the kernel of a suite that exists for one only.
    pub fn kernel(&self, suite: Suite) -> Option<&str> {
        self.suites.iter().find(|about| about.suite == suite)?.kernel.as_deref()
    }

    /// Describes what a row times, and which scenario is equal or near.
    pub fn describe(&self, suite: Suite, row: &str, catalogue: &Catalogue) -> Described {
        let about = self.suites.iter().find(|about| about.suite == suite);
        let overhead = match about {
            Some(about) if about.subtracted.iter().any(|p| p.matches(row)) => Overhead::Subtracted,
            Some(about) => about.overhead,
            None => Overhead::Included,
        };
        let fits = |entry: &&Entry| {
            entry.suite == suite && entry.rows.iter().any(|pattern| pattern.matches(row))
        };
        let entry = self.rows.iter().find(fits);
        let name = entry.and_then(|entry| entry.same_as.as_deref()).unwrap_or(row);
        if let Some((scenario, equal)) = catalogue.equal_to(suite, name) {
            let span = Span { overhead, ..scenario.span.clone() };
            let equal = Some((scenario.id.clone(), equal.times.get()));
            return Described { span, equal, near: None, name: name.to_owned() };
        }
        // An old form of a row without an equal one is described like the new form.
        let known = |entry: &&Entry| {
            entry.suite == suite
                && !entry.from.is_empty()
                && entry.rows.iter().any(|pattern| pattern.matches(name))
        };
        let entry = self.rows.iter().find(known);
        let describe = |text: Option<&str>, edge: &str| {
            text.map_or_else(|| format!("the {edge} of `{row}` as {suite} has it"), str::to_owned)
        };
        Described {
            span: Span {
                from: describe(entry.map(|entry| entry.from.as_str()), "beginning"),
                to: describe(entry.map(|entry| entry.to.as_str()), "end"),
                counted: Counted::All,
                switches: entry.map_or(0, |entry| entry.switches),
                overhead,
                ticks: Expected::Any,
                interrupts: Expected::Any,
            },
            equal: None,
            near: entry.and_then(|entry| {
                Some(Near { scenario: entry.near.clone()?, differs: entry.differs.clone()? })
            }),
            name: name.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_spans_name_existing_scenarios() {
        let spans = Spans::builtin().expect(BUILTIN_IS_VALID);
        let catalogue = Catalogue::builtin().expect("good");
        for entry in &spans.rows {
            let name = entry.rows.first().expect("a pattern").as_str();
            assert!(entry.same_as.is_some() == entry.from.is_empty(), "{name}: one of both");
            assert_eq!(entry.from.is_empty(), entry.to.is_empty(), "{name}");
            assert_eq!(entry.near.is_some(), entry.differs.is_some(), "{name}");
            if let Some(near) = &entry.near {
                assert!(catalogue.get(near).is_some(), "{name}: no scenario {near}");
            }
        }
    }

    #[test]
    fn old_row_names_have_the_span_of_the_new_ones() {
        let spans = Spans::known();
        let catalogue = Catalogue::builtin().expect("good");
        let suite = Suite::ZephyrLatencyMeasure;
        let new = spans.describe(suite, "semaphore.give.wake+ctx.k_to_k", &catalogue);
        let old = spans.describe(suite, "Give a semaphore (context switch K -> K)", &catalogue);
        assert_eq!(new, old);
        assert_eq!(new.equal, Some(("semaphore.give.wake+ctx".parse().expect("good"), 1)));
        let other = spans.describe(suite, "fifo.put.immediate.kernel", &catalogue);
        assert!(other.equal.is_none() && other.near.is_some(), "{other:?}");
        assert_eq!(other.span.overhead, Overhead::Subtracted);
        let unknown = spans.describe(suite, "what.ever", &catalogue);
        assert!(unknown.span.from.contains("what.ever"), "{unknown:?}");
    }

    #[test]
    fn rows_whose_span_changed_under_the_same_name_equal_nothing() {
        let spans = Spans::known();
        let catalogue = Catalogue::builtin().expect("good");
        let suite = Suite::ZephyrLatencyMeasure;
        let of = |row: &str| spans.describe(suite, row, &catalogue);
        // Since 3.5 a resumption ends in the resumed thread; before, it began there.
        let (old, new) = (of("Time to resume a thread"), of("thread.resume.kernel.from.kernel"));
        assert!(new.equal.is_some() && new.near.is_none(), "{new:?}");
        assert_ne!(old.span, new.span);
        assert_eq!(of("Resume kernel thread from kernel thread"), new);
        for (row, near) in [
            ("Time to resume a thread", "thread.end"),
            ("Time to abort a thread (not running)", "thread.abort"),
            ("Switch from ISR back to interrupted thread", "isr.return"),
            ("isr.resume.interrupted.thread.kernel", "isr.return"),
            ("Time from ISR to executing a different thread", "isr.wake.thread"),
            ("isr.resume.different.thread.kernel", "isr.wake.thread"),
            ("Time to create a thread (without start)", "thread.create"),
            ("thread.create.kernel.from.kernel", "thread.create"),
        ] {
            let described = of(row);
            assert_eq!(described.equal, None, "{row}");
            let least = described.near.unwrap_or_else(|| panic!("{row}: something is near"));
            assert_eq!(least.scenario.as_str(), near, "{row}");
            assert!(!least.differs.is_empty(), "{row}");
        }
        let abort = of("Abort kernel thread from kernel thread");
        assert_eq!(abort.equal, Some(("thread.abort.static".parse().expect("good"), 1)));
    }
}
