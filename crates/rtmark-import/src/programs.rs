//! Known benchmark programs: the functions by which an image is recognised, and its last output.

use serde::Deserialize;

use crate::Suite;

/// The file that describes them.
const BUILTIN: &str = include_str!("programs.toml");

/// A benchmark program whose images are recognised.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The suite that its rows belong to.
    pub suite: Suite,
    /// The functions that together identify an image of it.
    functions: Vec<String>,
    /// The texts it prints after success. The line may continue after the text.
    pub ends: Vec<String>,
    /// The texts it prints after a failure.
    #[serde(default)]
    pub fails: Vec<String>,
    /// The input it needs before it begins.
    #[serde(default)]
    pub sent: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    program: Vec<Program>,
}

impl Program {
    /// Returns the known programs.
    ///
    /// # Errors
    /// Never in a released program, as the file is covered by tests.
    pub fn builtin() -> Result<Vec<Self>, toml::de::Error> {
        toml::from_str::<File>(BUILTIN).map(|file| file.program)
    }

    /// Recognises the program of an image; `has` tells whether the image has a function.
    pub fn recognise(has: impl Fn(&str) -> bool) -> Option<Self> {
        let known = Self::builtin().unwrap_or_default();
        known.into_iter().find(|program| program.functions.iter().all(|name| has(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_recognised_by_all_of_their_functions() {
        for program in Program::builtin().expect("good") {
            assert!(program.functions.len() > 1 && !program.ends.is_empty(), "{}", program.name);
        }
        let named = |names: &[&str]| Program::recognise(|name| names.contains(&name));
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
