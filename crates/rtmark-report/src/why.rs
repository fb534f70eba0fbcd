//! Reads results of `rtmark why --format json` in their published form (`docs/schema/why.schema.json`),
//! as far as a report shows them.

use rtmark_model::{Key, visible};
use serde::Deserialize;

/// The supported schema version.
const SCHEMA_VERSION: u32 = 1;

/// The reason why a file cannot be read as an attribution of cycles.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// It is not JSON, or has another structure.
    #[error("not a result of `rtmark why --format json`: {}", visible(.0.to_string().as_bytes()))]
    Form(#[from] serde_json::Error),
    /// It has another schema version.
    #[error(
        "a result of `rtmark why` in format version {0}; this rtmark reads version {SCHEMA_VERSION}"
    )]
    Version(u32),
}

#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

#[derive(Deserialize)]
struct Document {
    a: Explained,
    b: Explained,
}

/// Where the cycles of a series' typical sample went.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Explained {
    pub(crate) key: Key,
    pub(crate) elf_sha256: String,
    pub(crate) timing_model: String,
    pub(crate) cost: Cost,
}

/// Cycles, and the functions that they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Cost {
    pub(crate) cycles: u64,
    pub(crate) parts: Vec<Part>,
}

/// A function's share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Part {
    /// The kind of work it does, by its name in data: `exception-entry`.
    pub(crate) role: String,
    pub(crate) function: String,
    pub(crate) cycles: u64,
}

/// Reads the output of `rtmark why --format json`, which has two series.
///
/// # Errors
/// When it has another structure.
pub fn why(text: &str) -> Result<[Explained; 2], WhyError> {
    let version: Version = serde_json::from_str(text)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(WhyError::Version(version.schema_version));
    }
    let Document { a, b } = serde_json::from_str(text)?;
    Ok([a, b])
}
