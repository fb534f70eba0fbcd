//! Which functions are a kernel's, by their names.

use rtmark_model::{Pattern, ScenarioId};
use rtmark_sim::Symbols;
use serde::Deserialize;

use crate::paid::Outcome;
use crate::rules::{Equal, Near};

/// What a function is to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Applications call it.
    Called,
    /// It stands behind those, or is a thread of the kernel's.
    Internal,
    /// The kernel's thread for when there is nothing to do.
    Idle,
    /// It holds the application's own code, whatever its name looks like.
    Application,
}

/// The names of a kernel's functions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// By what it is asked for: the name of its file, of a kernel that is known.
    #[serde(skip)]
    pub id: String,
    /// The kernel's name, for people.
    pub name: String,
    /// A program that has a symbol which fits one of these is one of this kernel's.
    #[serde(default)]
    recognise: Vec<Pattern>,
    calls: Vec<Pattern>,
    #[serde(default)]
    internal: Vec<Pattern>,
    #[serde(default)]
    idle: Vec<Pattern>,
    #[serde(default)]
    application: Vec<Pattern>,
    /// Functions that call the application's: threads, callbacks of timers, handlers.
    #[serde(default)]
    calls_back: Vec<Pattern>,
    /// What names begin with that is not shown.
    #[serde(default)]
    strip: String,
    /// Calls that have a scenario's span.
    #[serde(default)]
    equal: Vec<Equal>,
    /// Calls that are like a scenario.
    #[serde(default)]
    near: Vec<Near>,
}

/// Why a file does not tell a kernel's functions.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// Not TOML, an unknown or missing key, or no pattern.
    #[error("{file}: {error}")]
    Syntax {
        /// The file's name.
        file: String,
        /// What is wrong, with the line.
        error: Box<toml::de::Error>,
    },
}

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("kernels/", $name, ".toml"), include_str!(concat!("../kernels/", $name, ".toml")))),*]
    };
}

/// The kernels that are known. Those whose functions others' programs use, too, come last.
const BUILTIN: &[(&str, &str)] = builtin![
    "freertos", "zephyr", "threadx", "chibios", "rtx", "riot", "nuttx", "lilos", "rtic", "embassy",
];

impl Api {
    /// Reads the names of a kernel's functions from TOML.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key or lacks one, or has a pattern that is none.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ApiError> {
        toml::from_str(text)
            .map_err(|error| ApiError::Syntax { file: file.to_owned(), error: Box::new(error) })
    }

    /// The kernels that are known.
    ///
    /// # Errors
    /// Never for a program that was tested; the files are read like any other's.
    pub fn builtin() -> Result<Vec<Self>, ApiError> {
        let read = |(file, text): &(&str, &str)| {
            let id = file.trim_start_matches("kernels/").trim_end_matches(".toml").to_owned();
            Self::from_toml(file, text).map(|api| Self { id, ..api })
        };
        BUILTIN.iter().map(read).collect()
    }

    /// The kernel of a program, by its symbols.
    pub fn recognised<'a>(known: &'a [Self], symbols: &Symbols) -> Option<&'a Self> {
        let names: Vec<String> = symbols.names().collect();
        let fits = |pattern: &Pattern| names.iter().any(|name| pattern.matches(plain(name)));
        known.iter().find(|api| api.recognise.iter().any(fits))
    }

    /// What a function is to the kernel; `None` if its name tells nothing.
    pub fn kind(&self, function: &str) -> Option<Kind> {
        let name = plain(function);
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        if any(&self.application) {
            Some(Kind::Application)
        } else if any(&self.idle) {
            Some(Kind::Idle)
        } else if any(&self.internal) {
            Some(Kind::Internal)
        } else if any(&self.calls) {
            Some(Kind::Called)
        } else {
            None
        }
    }

    /// Whether a function calls the application's.
    pub fn calls_back(&self, function: &str) -> bool {
        let name = plain(function);
        self.calls_back.iter().any(|pattern| pattern.matches(name))
    }

    /// Calls that have a scenario's span.
    pub fn equal(&self) -> &[Equal] {
        &self.equal
    }

    /// The scenario that all calls of a function together are most like, and what keeps them from
    /// being compared.
    pub fn near(&self, symbol: &str, outcome: Outcome) -> Option<(&ScenarioId, &str)> {
        let fits = |near: &&Near| {
            near.then.outcome() == outcome
                && near.calls.iter().any(|pattern| pattern.matches(plain(symbol)))
        };
        let near = self.near.iter().find(fits)?;
        Some((&near.scenario, &near.differs))
    }

    /// A function's name as applications write it.
    pub fn shown<'a>(&self, function: &'a str) -> &'a str {
        let name = plain(function);
        name.strip_prefix(self.strip.as_str()).unwrap_or(name)
    }
}

/// A name without what compilers append to copies of a function that they have specialised
/// (`.isra.0`, `.constprop.1`), or with which Rust tells versions apart.
pub fn plain(name: &str) -> &str {
    let is_mark =
        |mark: &&str| ["isra", "constprop", "part", "cold", "lto_priv", "llvm"].contains(mark);
    match name.split_once('.') {
        Some((plain, marks)) if marks.split('.').next().as_ref().is_some_and(is_mark) => plain,
        _ => name,
    }
}

/// Whether the compiler has made a function of its own of it, with fewer arguments or another result:
/// what it is given and gives then lies where only that compiler knows.
pub fn is_specialised(name: &str) -> bool {
    is_marked(name, "isra") || is_marked(name, "constprop") || is_part(name)
}

/// Whether it is the rest of a function, the beginning of which the compiler has inlined.
pub fn is_part(name: &str) -> bool {
    is_marked(name, "part")
}

fn is_marked(name: &str, mark: &str) -> bool {
    plain(name) != name && name.split('.').skip(1).any(|part| part == mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Then;

    #[test]
    fn every_file_is_built_in_and_can_be_read() {
        let known = Api::builtin().expect("good");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");
        let files = std::fs::read_dir(folder).expect("there").count();
        assert_eq!(known.len(), files);
        let catalogue = rtmark_model::Catalogue::builtin().expect("good");
        for api in &known {
            assert!(!api.recognise.is_empty() && !api.calls.is_empty(), "{}", api.name);
            for Equal { scenario, calls, then, into, .. } in &api.equal {
                assert!(catalogue.get(scenario).is_some(), "{}: no {scenario}", api.name);
                assert!(!calls.is_empty(), "{}: {scenario}", api.name);
                assert!(*then == Then::Switches || into.is_empty(), "{}: {scenario}", api.name);
            }
            for Near { scenario, differs, .. } in &api.near {
                assert!(catalogue.get(scenario).is_some(), "{}: no {scenario}", api.name);
                assert!(!differs.is_empty(), "{}: {scenario}", api.name);
            }
        }
    }

    #[test]
    fn names_tell_what_a_function_is() {
        let known = Api::builtin().expect("good");
        let api = |name: &str| known.iter().find(|api| api.name == name).expect("known");
        for (kernel, function, kind) in [
            ("FreeRTOS", "xQueueGenericSend", Some(Kind::Called)),
            ("FreeRTOS", "xTaskIncrementTick", Some(Kind::Internal)),
            ("FreeRTOS", "prvIdleTask", Some(Kind::Idle)),
            ("FreeRTOS", "prvCopyDataToQueue.isra.0", Some(Kind::Internal)),
            ("FreeRTOS", "main", None),
            ("Zephyr", "z_impl_k_sem_give", Some(Kind::Called)),
            ("Zephyr", "z_reschedule", Some(Kind::Internal)),
            ("ThreadX", "_txe_semaphore_put", Some(Kind::Called)),
            ("ThreadX", "_tx_thread_system_resume", Some(Kind::Internal)),
            ("ChibiOS", "chSemSignalI", Some(Kind::Called)),
            ("ChibiOS", "chSchWakeupS", Some(Kind::Internal)),
            ("ChibiOS", "choose", None),
            ("Embassy", "embassy_executor::raw::TaskStorage<F>::poll", Some(Kind::Application)),
            ("Embassy", "embassy_executor::raw::SyncExecutor::poll", Some(Kind::Internal)),
        ] {
            assert_eq!(api(kernel).kind(function), kind, "{kernel}: {function}");
        }
        assert_eq!(api("Zephyr").shown("z_impl_k_sem_give"), "k_sem_give");
        assert_eq!(api("ThreadX").shown("_tx_queue_send.part.0"), "tx_queue_send");
        assert!(is_specialised("xQueueGenericSend.constprop.0.isra.0"));
        assert!(is_specialised("xQueueGenericSend.lto_priv.0.isra.0"));
        assert!(!is_specialised("xQueueGenericSend.lto_priv.0") && !is_specialised("a.b"));
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let error =
            Api::from_toml("own.toml", "name = \"own\"\ncalls = [\"a[\"]\n").expect_err("bad");
        let told = error.to_string();
        assert!(told.contains("own.toml") && told.contains("line 2"), "{told}");
        assert!(Api::from_toml("own.toml", "name = \"own\"\ncalls = []\nroots = []\n").is_err());
    }
}
