//! Results of `rtmark worst --format json`, read in their published form
//! (`docs/schema/worst.schema.json`), as far as a report shows them.

use rtmark_model::{Place, visible};
use serde::Deserialize;

/// The version of the form that is read.
const SCHEMA_VERSION: u32 = 1;

/// Why a file holds no worst cases.
#[derive(Debug, thiserror::Error)]
pub enum WorstError {
    /// It is not JSON, or of another form.
    #[error("no result of `rtmark worst --format json`: {}", visible(.0.to_string().as_bytes()))]
    Form(#[from] serde_json::Error),
    /// It is of another version of the form.
    #[error("a result of `rtmark worst` in form {0}; this rtmark reads form {SCHEMA_VERSION}")]
    Version(u32),
}

#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

#[derive(Deserialize)]
struct Document {
    results: Vec<Worst>,
}

/// What a search has found for one scenario of one firmware.
#[derive(Clone, Debug, Deserialize)]
pub struct Worst {
    pub(crate) kernel: Option<String>,
    pub(crate) scenario: Option<String>,
    pub(crate) soc: String,
    pub(crate) core: String,
    pub(crate) image: String,
    pub(crate) elf_sha256: String,
    pub(crate) timing_model: String,
    pub(crate) interrupt: u16,
    pub(crate) priority: u8,
    pub(crate) points: u64,
    pub(crate) complete: bool,
    pub(crate) reach: String,
    pub(crate) latencies: Vec<Timed>,
    pub(crate) held_back: Vec<Stretch>,
    /// Results of earlier versions lack it.
    #[serde(default)]
    pub(crate) held_back_by_one: Vec<Stretch>,
    pub(crate) not_executed: Vec<String>,
}

/// One thing that was timed, in cycles.
#[derive(Clone, Debug, Deserialize)]
pub struct Timed {
    pub(crate) text: String,
    pub(crate) missing: u64,
    pub(crate) min: i64,
    pub(crate) p50: i64,
    pub(crate) p90: i64,
    pub(crate) p99: i64,
    pub(crate) max: i64,
    pub(crate) chance_in_1000: f64,
    /// Cycles, and how many points took so many.
    pub(crate) histogram: Vec<(i64, u64)>,
    /// Of each of the path's slices that has points: its number, the least, the most.
    pub(crate) along_the_path: Vec<(u32, i64, i64)>,
    pub(crate) witnesses: Vec<Witness>,
}

/// A worst case.
#[derive(Clone, Debug, Deserialize)]
pub struct Witness {
    pub(crate) cycles: i64,
    pub(crate) point: u64,
    pub(crate) at: Place,
    pub(crate) stack: Vec<String>,
    pub(crate) held: Vec<(String, u64)>,
    pub(crate) command: String,
}

/// A stretch in which the interrupt was held back.
#[derive(Clone, Debug, Deserialize)]
pub struct Stretch {
    pub(crate) cycles: u64,
    pub(crate) count: u64,
    pub(crate) held_by: String,
    pub(crate) from: Place,
    pub(crate) to: Place,
}

/// Reads what `rtmark worst --format json` has printed.
///
/// # Errors
/// When it is of another form.
pub fn worst(text: &str) -> Result<Vec<Worst>, WorstError> {
    let version: Version = serde_json::from_str(text)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(WorstError::Version(version.schema_version));
    }
    Ok(serde_json::from_str::<Document>(text)?.results)
}

impl Worst {
    /// What it is of: `freertos queue.handover on stm32f405`.
    pub(crate) fn title(&self) -> String {
        let of = match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario}"),
            (_, Some(scenario)) => format!("{} {scenario}", self.image),
            _ => self.image.clone(),
        };
        format!("{of} on {}", self.soc)
    }

    /// Whether it is of a scenario on a soc, in whichever build.
    pub(crate) fn is_of(&self, soc: &str, scenario: &str) -> bool {
        self.soc == soc && self.scenario.as_deref() == Some(scenario)
    }

    /// How long the handler was kept waiting, where it was searched.
    pub(crate) fn handler(&self) -> Option<&Timed> {
        self.latencies.first()
    }
}

impl Witness {
    /// What held the interrupt back, and for how long.
    pub(crate) fn held(&self) -> String {
        let held: Vec<_> =
            self.held.iter().map(|(what, cycles)| format!("{what} {cycles}")).collect();
        held.join(", ")
    }
}
