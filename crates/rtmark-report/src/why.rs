//! Results of `rtmark why --format json`, read in their published form
//! (`docs/schema/why.schema.json`), as far as a report shows them.

use rtmark_model::{Key, visible};
use serde::Deserialize;

/// The version of the form that is read.
const SCHEMA_VERSION: u32 = 1;

/// Why a file does not say what cycles were spent on.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    /// It is not JSON, or of another form.
    #[error("no result of `rtmark why --format json`: {}", visible(.0.to_string().as_bytes()))]
    Form(#[from] serde_json::Error),
    /// It is of another version of the form.
    #[error("a result of `rtmark why` in form {0}; this rtmark reads form {SCHEMA_VERSION}")]
    Version(u32),
}

#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

#[derive(Deserialize)]
struct Document {
    a: Spent,
    b: Spent,
}

/// What the typical sample of a series was spent on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Spent {
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

/// A function's part.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Part {
    /// What kind of work it does, by its name in data: `exception-entry`.
    pub(crate) role: String,
    pub(crate) function: String,
    pub(crate) cycles: u64,
}

/// Reads what `rtmark why --format json` has printed: both series.
///
/// # Errors
/// When it is of another form.
pub fn why(text: &str) -> Result<[Spent; 2], WhyError> {
    let version: Version = serde_json::from_str(text)?;
    if version.schema_version != SCHEMA_VERSION {
        return Err(WhyError::Version(version.schema_version));
    }
    let Document { a, b } = serde_json::from_str(text)?;
    Ok([a, b])
}
