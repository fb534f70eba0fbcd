//! Reads results of `rtmark worst --format json` in their published form
//! (`docs/schema/worst.schema.json`), as far as a report shows them.

use rtmark_model::{Backend, Place, Series, visible};
use serde::Deserialize;

use crate::matrix::Block;

/// The supported schema version.
const SCHEMA_VERSION: u32 = 1;

/// The reason why a file cannot be read as worst cases.
#[derive(Debug, thiserror::Error)]
pub enum WorstError {
    /// It is not JSON, or has another structure.
    #[error("not a result of `rtmark worst --format json`: {}", visible(.0.to_string().as_bytes()))]
    Form(#[from] serde_json::Error),
    /// It has another schema version.
    #[error(
        "a result of `rtmark worst` in format version {0}; this rtmark reads version {SCHEMA_VERSION}"
    )]
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

/// The result of searching one scenario of one firmware.
#[derive(Clone, Debug, Deserialize)]
pub struct Worst {
    pub(crate) kernel: Option<String>,
    pub(crate) scenario: Option<String>,
    pub(crate) soc: String,
    pub(crate) core: String,
    pub(crate) image: String,
    pub(crate) elf_sha256: String,
    pub(crate) timing_model: String,
    /// Below zero, a Cortex-M's own interrupt: CMSIS's numbers.
    pub(crate) interrupt: i32,
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
    /// Whether the image names no functions.
    #[serde(default)]
    pub(crate) functions_unknown: bool,
}

/// One measured aspect, in cycles.
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
    /// Cycles, and the number of points that took as many.
    pub(crate) histogram: Vec<(i64, u64)>,
    /// For each slice of the path that has points: its number, minimum and maximum.
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

/// Reads the output of `rtmark worst --format json`.
///
/// # Errors
/// When it has another structure.
pub fn worst(text: &str) -> Result<Vec<Worst>, WorstError> {
    let version: Version = serde_json::from_str(text)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(WorstError::Version(version.schema_version));
    }
    Ok(serde_json::from_str::<Document>(text)?.results)
}

impl Worst {
    /// Names its subject: `freertos queue.handover on stm32f405`.
    pub(crate) fn title(&self) -> String {
        let of = match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario}"),
            (_, Some(scenario)) => format!("{} {scenario}", self.image),
            _ => self.image.clone(),
        };
        format!("{of} on {}", self.soc)
    }

    /// Tells whether one of these figures is from the image that was searched, or none is of its group: the
    /// mixed load itself is no scenario with a figure.
    pub(crate) fn is_of_the_firmware_of<'a>(
        &self,
        series: impl Iterator<Item = &'a Series>,
    ) -> bool {
        let group = |scenario: &str| scenario.split('.').next().map(str::to_owned);
        let of_it = series.filter(|series| {
            Some(series.key.kernel.as_str()) == self.kernel.as_deref()
                && series.key.soc == self.soc
                && self.scenario.as_deref().and_then(group) == group(series.key.scenario.as_str())
        });
        let mut series = of_it.peekable();
        series.peek().is_none() || series.any(|series| series.is_of_image(&self.elf_sha256))
    }

    /// Tells whether it belongs to the figures of a block: the simulator's, on the same soc, from the same
    /// firmware.
    pub(crate) fn is_of_block(&self, block: &Block<'_>) -> bool {
        block.backend == Backend::Sim
            && block.soc == self.soc
            && self.is_of_the_firmware_of(block.series())
    }

    /// Returns how long the handler was kept waiting, if that was searched.
    pub(crate) fn handler(&self) -> Option<&Timed> {
        self.latencies.first()
    }
}

impl Witness {
    /// Formats what held the interrupt back, and for how long.
    pub(crate) fn held(&self) -> String {
        let held: Vec<_> =
            self.held.iter().map(|(what, cycles)| format!("{what} {cycles}")).collect();
        held.join(", ")
    }
}
