//! Decides by name which functions are a kernel's.

use std::collections::BTreeSet;

use rtmark_model::{Pattern, ScenarioId};
use rtmark_observe::Lines;
use rtmark_sim::Symbols;
use serde::Deserialize;

use crate::cost::Outcome;
use crate::rules::{Equal, Near};

/// The role of a function with respect to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Applications call it.
    Called,
    /// It is called by those, or is a thread of the kernel's.
    Internal,
    /// It is the kernel's idle thread.
    Idle,
    /// It contains the application's own code, whatever its name looks like.
    Application,
}

/// The names of a kernel's functions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Api {
    /// The name by which it is requested: for a known kernel, the name of its file.
    #[serde(skip)]
    pub id: String,
    /// The kernel's name, for people.
    pub name: String,
    /// Patterns for symbols that identify a program of this kernel.
    #[serde(default)]
    recognise: Vec<Pattern>,
    calls: Vec<Pattern>,
    #[serde(default)]
    internal: Vec<Pattern>,
    #[serde(default)]
    idle: Vec<Pattern>,
    /// Functions that are idle from their first call of one of these on: they do it again and again.
    #[serde(default)]
    idle_loop: Vec<Pattern>,
    #[serde(default)]
    application: Vec<Pattern>,
    /// Functions that call the application: threads, timer callbacks, handlers.
    #[serde(default)]
    calls_back: Vec<Pattern>,
    /// Functions in which a call continues that an exception has moved to a stack of the kernel's.
    #[serde(default)]
    carries_out: Vec<Pattern>,
    /// A prefix of names that is not shown.
    #[serde(default)]
    strip: String,
    /// The prefix, in its place, of functions that unprivileged code calls by SVC; empty if there are none.
    #[serde(default)]
    system_calls: String,
    /// Calls that have a scenario's span.
    #[serde(default)]
    equal: Vec<Equal>,
    /// Calls that resemble a scenario.
    #[serde(default)]
    near: Vec<Near>,
}

/// The reason why a file is not a valid list of a kernel's functions.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// It is not TOML, has an unknown or missing key, or an invalid pattern.
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

/// The known kernels. Those whose functions other programs use as well come last.
const BUILTIN: &[(&str, &str)] = builtin![
    "freertos", "zephyr", "threadx", "chibios", "rtx", "ucos3", "riot", "nuttx", "lilos", "rtic",
    "embassy",
];

impl Api {
    /// Parses the names of a kernel's functions from TOML.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, lacks one, or has an invalid pattern.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, ApiError> {
        toml::from_str(text)
            .map_err(|error| ApiError::Syntax { file: file.to_owned(), error: Box::new(error) })
    }

    /// Returns the known kernels.
    ///
    /// # Errors
    /// Never in a released program: tests read every built-in file. They are parsed like a user's
    /// files.
    pub fn builtin() -> Result<Vec<Self>, ApiError> {
        let read = |(file, text): &(&str, &str)| {
            let id = file.trim_start_matches("kernels/").trim_end_matches(".toml").to_owned();
            Self::from_toml(file, text).map(|api| Self { id, ..api })
        };
        BUILTIN.iter().map(read).collect()
    }

    /// Returns the kernel of a program, recognised by its symbols.
    pub fn recognise<'a>(known: &'a [Self], symbols: &Symbols) -> Option<&'a Self> {
        let names: Vec<String> = symbols.names().collect();
        known.iter().find(|api| names.iter().any(|name| api.identifies(name)))
    }

    /// Returns the role of a function; `None` if its name does not determine it.
    pub fn kind(&self, function: &str) -> Option<Kind> {
        if fits(&self.application, function) {
            Some(Kind::Application)
        } else if fits(&self.idle, function) {
            Some(Kind::Idle)
        } else if fits(&self.internal, function) {
            Some(Kind::Internal)
        } else if fits(&self.calls, function) {
            Some(Kind::Called)
        } else {
            None
        }
    }

    /// Tells whether a function identifies a program of this kernel.
    pub(crate) fn identifies(&self, function: &str) -> bool {
        fits(&self.recognise, function)
    }

    /// Tells whether a name leaves open that its function is the kernel's: no pattern is that name, and it has no path.
    pub(crate) fn is_open(&self, function: &str) -> bool {
        let name = base_name(function);
        let lists = [&self.application, &self.idle, &self.internal, &self.calls];
        let mut all = lists.into_iter().flatten();
        matches!(self.kind(name), Some(Kind::Called | Kind::Internal))
            && !name.contains("::")
            && all.all(|pattern| pattern.as_str() != name)
    }

    /// Returns the patterns that match no function of an image, neither one with a symbol nor one that the compiler
    /// has inlined, each with its key in the file.
    pub fn unmatched(
        &self,
        symbols: &Symbols,
        lines: Option<&Lines<'_>>,
    ) -> Vec<(&'static str, &Pattern)> {
        let mut names: BTreeSet<String> = symbols.names().collect();
        if let Some(lines) = lines {
            let frames = lines.inlined_borders().into_iter().flat_map(|it| lines.inlined_at(it));
            names.extend(frames.filter_map(|frame| frame.function));
        }
        let keys = [
            ("calls", &self.calls),
            ("internal", &self.internal),
            ("idle", &self.idle),
            ("idle_loop", &self.idle_loop),
            ("application", &self.application),
            ("calls_back", &self.calls_back),
            ("carries_out", &self.carries_out),
        ];
        let all = keys.into_iter().flat_map(|(key, all)| all.iter().map(move |it| (key, it)));
        all.filter(|(_, it)| !names.iter().any(|name| it.matches(base_name(name)))).collect()
    }

    /// Returns what a function's name has behind the prefix of those that unprivileged code calls by SVC; `None` if it is
    /// none of these.
    fn of_system_call<'f>(&self, function: &'f str) -> Option<&'f str> {
        let prefix = Some(self.system_calls.as_str()).filter(|prefix| !prefix.is_empty())?;
        base_name(function).strip_prefix(prefix)
    }

    /// Tells whether unprivileged code calls a function by SVC.
    pub(crate) fn is_system_call(&self, function: &str) -> bool {
        self.of_system_call(function).is_some()
    }

    /// Returns the symbol of the function that a system call leads to, if a function is one.
    pub(crate) fn behind_system_call(&self, function: &str) -> Option<String> {
        Some([&self.strip, self.of_system_call(function)?].concat())
    }

    /// Tells whether a function calls the application.
    pub fn calls_application(&self, function: &str) -> bool {
        fits(&self.calls_back, function)
    }

    /// Tells whether a function is idle once it has called a function that is.
    pub fn loops_idle(&self, function: &str) -> bool {
        fits(&self.idle_loop, function)
    }

    /// Tells whether a call may continue in a function after an exception, on a stack of the kernel's.
    pub(crate) fn carries_out(&self, function: &str) -> bool {
        fits(&self.carries_out, function)
    }

    /// Returns the calls that have a scenario's span.
    pub fn equal(&self) -> &[Equal] {
        &self.equal
    }

    /// Returns the scenario that all calls of a function together resemble most, and why the two cannot
    /// be compared.
    pub fn near(&self, symbol: &str, outcome: Outcome) -> Option<(&ScenarioId, &str)> {
        let fits = |near: &&Near| {
            near.then.outcome() == outcome
                && near.calls.iter().any(|pattern| pattern.matches(base_name(symbol)))
        };
        let near = self.near.iter().find(fits)?;
        Some((&near.scenario, &near.differs))
    }

    /// Returns the symbol of the function that a function of this name would be the wrapper of: the same
    /// with the prefix that is not shown; `None` if it has that, as every name has an empty one.
    pub fn wrapped(&self, function: &str) -> Option<String> {
        let prefix = self.strip.as_str();
        (!function.starts_with(prefix)).then(|| format!("{prefix}{function}"))
    }

    /// Returns a function's name as applications write it.
    pub fn display_name<'a>(&self, function: &'a str) -> &'a str {
        let name = base_name(function);
        name.strip_prefix(self.strip.as_str()).unwrap_or(name)
    }
}

/// Tells whether a function's name matches any of a kernel's patterns.
fn fits(patterns: &[Pattern], function: &str) -> bool {
    let name = base_name(function);
    patterns.iter().any(|pattern| pattern.matches(name))
}

/// Strips what compilers append to specialised copies of a function (`.isra.0`, `.constprop.1`), and
/// what Rust appends to distinguish versions.
pub fn base_name(name: &str) -> &str {
    let is_mark =
        |mark: &&str| ["isra", "constprop", "part", "cold", "lto_priv", "llvm"].contains(mark);
    match name.split_once('.') {
        Some((plain, marks)) if marks.split('.').next().as_ref().is_some_and(is_mark) => plain,
        _ => name,
    }
}

/// Tells whether the compiler has specialised a function, with fewer arguments or another result: only
/// the compiler knows where its arguments and its result are then.
pub fn is_specialised(name: &str) -> bool {
    is_marked(name, "isra") || is_marked(name, "constprop") || is_part(name)
}

/// Tells whether it is the remainder of a function whose beginning has been inlined.
pub fn is_part(name: &str) -> bool {
    is_marked(name, "part")
}

fn is_marked(name: &str, mark: &str) -> bool {
    base_name(name) != name && name.split('.').skip(1).any(|part| part == mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleOutcome;

    #[test]
    fn every_file_is_embedded_and_parses() {
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
                assert!(
                    *then == RuleOutcome::Switches || into.is_empty(),
                    "{}: {scenario}",
                    api.name
                );
            }
            for Near { scenario, differs, .. } in &api.near {
                assert!(catalogue.get(scenario).is_some(), "{}: no {scenario}", api.name);
                assert!(!differs.is_empty(), "{}: {scenario}", api.name);
            }
        }
    }

    #[test]
    fn functions_are_classified_by_name() {
        let known = Api::builtin().expect("good");
        let api = |name: &str| known.iter().find(|api| api.name == name).expect("known");
        for (kernel, function, kind) in [
            ("FreeRTOS", "xQueueGenericSend", Some(Kind::Called)),
            ("FreeRTOS", "xTaskIncrementTick", Some(Kind::Internal)),
            ("FreeRTOS", "prvIdleTask", Some(Kind::Idle)),
            ("FreeRTOS", "prvCopyDataToQueue.isra.0", Some(Kind::Internal)),
            ("FreeRTOS", "main", None),
            ("FreeRTOS", "MPU_vTaskDelay", Some(Kind::Called)),
            ("FreeRTOS", "MPU_vTaskDelayImpl", Some(Kind::Internal)),
            ("FreeRTOS", "MPU_vTaskDelay_Unpriv", Some(Kind::Internal)),
            ("FreeRTOS", "MPU_StoreHandleAndDataAtIndex", None),
            ("Zephyr", "z_impl_k_sem_give", Some(Kind::Called)),
            ("Zephyr", "z_mrsh_k_sem_give", Some(Kind::Called)),
            ("Zephyr", "z_reschedule", Some(Kind::Internal)),
            ("Zephyr", "z_mem_domain_init_thread", Some(Kind::Internal)),
            ("Zephyr", "z_cstart", Some(Kind::Internal)),
            ("Zephyr", "z_sched_prio_cmp", Some(Kind::Internal)),
            // Formatted output, the log and the shell do not belong to it.
            ("Zephyr", "z_cbvprintf_impl", None),
            ("Zephyr", "z_log_msg_commit", None),
            ("Zephyr", "z_shell_fprintf", None),
            ("Zephyr", "z_impl_ztest_run_test_suites", Some(Kind::Application)),
            ("ThreadX", "_txe_semaphore_put", Some(Kind::Called)),
            ("ThreadX", "_tx_thread_system_resume", Some(Kind::Internal)),
            ("ChibiOS", "chSemSignalI", Some(Kind::Called)),
            ("ChibiOS", "chSchWakeupS", Some(Kind::Internal)),
            ("ChibiOS", "choose", None),
            ("uC/OS-III", "OSSemPend", Some(Kind::Called)),
            ("uC/OS-III", "OSTimeTick", Some(Kind::Internal)),
            ("uC/OS-III", "OS_RdyListInsertTail", Some(Kind::Internal)),
            ("uC/OS-III", "OS_IdleTask", Some(Kind::Idle)),
            ("uC/OS-III", "App_OS_TaskSwHook", None),
            ("Embassy", "embassy_executor::raw::TaskStorage<F>::poll", Some(Kind::Application)),
            ("Embassy", "embassy_executor::raw::SyncExecutor::poll", Some(Kind::Internal)),
        ] {
            assert_eq!(api(kernel).kind(function), kind, "{kernel}: {function}");
        }
        assert_eq!(api("Zephyr").display_name("z_impl_k_sem_give"), "k_sem_give");
        assert_eq!(api("ThreadX").display_name("_tx_queue_send.part.0"), "tx_queue_send");
        assert!(is_specialised("xQueueGenericSend.constprop.0.isra.0"));
        assert!(is_specialised("xQueueGenericSend.lto_priv.0.isra.0"));
        assert!(!is_specialised("xQueueGenericSend.lto_priv.0") && !is_specialised("a.b"));
        assert_eq!(base_name("a.b"), "a.b");
    }

    #[test]
    fn errors_are_reported_with_their_line() {
        let error =
            Api::from_toml("own.toml", "name = \"own\"\ncalls = [\"a[\"]\n").expect_err("bad");
        let message = error.to_string();
        assert!(message.contains("own.toml") && message.contains("line 2"), "{message}");
        assert!(Api::from_toml("own.toml", "name = \"own\"\ncalls = []\nroots = []\n").is_err());
    }
}
