//! Writes JSON for programs: `docs/schema/compare.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Comparison, Gate};

/// The version of [`Document`]'s schema. It is incremented if a reader of the older version would
/// misread the newer one; added keys alone do not require that.
const SCHEMA_VERSION: u32 = 1;

/// A comparison, and a gate's result.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Document {
    /// The version of this schema.
    schema_version: u32,
    /// The program that wrote it, with its version.
    generator: String,
    /// The comparison.
    #[serde(flatten)]
    comparison: Comparison,
    /// The gate's result, if there was a gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gate: Option<Gate>,
}

/// Renders a comparison as JSON. `generator` names the program.
///
/// # Errors
/// The types cause none; those of the serialiser are passed on.
pub fn json(
    generator: &str,
    comparison: &Comparison,
    gate: Option<&Gate>,
) -> Result<String, serde_json::Error> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        generator: generator.to_owned(),
        comparison: comparison.clone(),
        gate: gate.cloned(),
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/compare.schema.json");
        let current = serde_json::to_string_pretty(&schemars::schema_for!(Document));
        let current = current.expect("serialises") + "\n";
        if std::env::var_os("RTMARK_BLESS").is_some() {
            std::fs::write(path, &current).expect("writable");
        }
        assert!(
            std::fs::read_to_string(path).unwrap_or_default() == current,
            "docs/schema/compare.schema.json is not what the types say; write it anew with\n  \
             RTMARK_BLESS=1 cargo test -p rtmark-compare published_schema\nand raise \
             SCHEMA_VERSION if readers of the old form would misread the new one"
        );
    }
}
