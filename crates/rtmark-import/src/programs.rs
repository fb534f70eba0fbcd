//! Benchmark programs as images: by which functions they are recognised, and what they print last.

use serde::Deserialize;

use crate::Suite;

/// The file with what is known.
const BUILTIN: &str = include_str!("programs.toml");

/// A benchmark program whose images are recognised.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// The suite that its rows are of.
    pub suite: Suite,
    /// An image that has all of these functions is one.
    functions: Vec<String>,
    /// What it prints when it has ended well. The line may go on behind it.
    pub ends: Vec<String>,
    /// What it prints when it has ended otherwise.
    #[serde(default)]
    pub fails: Vec<String>,
    /// What it is to be sent before it begins.
    #[serde(default)]
    pub sent: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: Vec<Program>,
}

impl Program {
    /// Those that are known.
    ///
    /// # Errors
    /// Never for a program that was tested; the file is read like any other.
    pub fn builtin() -> Result<Vec<Self>, toml::de::Error> {
        toml::from_str::<File>(BUILTIN).map(|file| file.program)
    }

    /// The program of an image, by whether it has functions of some names.
    pub fn recognised(has: impl Fn(&str) -> bool) -> Option<Self> {
        let known = Self::builtin().unwrap_or_default();
        known.into_iter().find(|program| program.functions.iter().all(|name| has(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_by_all_of_its_functions() {
        for program in Program::builtin().expect("good") {
            assert!(program.functions.len() > 1 && !program.ends.is_empty(), "{}", program.name);
        }
        let named = |names: &[&str]| Program::recognised(|name| names.contains(&name));
        let found = named(&["main", "thread_switch_yield", "int_to_thread"]).expect("known");
        assert_eq!(
            (found.suite, found.name.as_str()),
            (Suite::ZephyrLatencyMeasure, "latency_measure")
        );
        assert!(named(&["main", "int_to_thread"]).is_none());
        let riot = named(&["test_utils_interactive_sync", "sched_run"]).expect("known");
        assert_eq!((riot.suite, riot.sent.as_str()), (Suite::Riot, "s\n"));
        let found = named(&["tm_initialize", "tm_thread_create", "tm_main"]).expect("known");
        assert_eq!(found.suite, Suite::ThreadMetric);
    }
}
