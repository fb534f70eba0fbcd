//! The published JSON schema is the one that the types have.

use std::path::Path;

#[test]
fn the_published_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/results.schema.json");
    let mut current =
        serde_json::to_string_pretty(&rtmark_model::Document::json_schema()).expect("serialises");
    current.push('\n');
    if std::env::var_os("RTMARK_BLESS").is_some() {
        std::fs::write(&path, &current).expect("writable");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == current,
        "docs/schema/results.schema.json is not what the types say; write it anew with\n  \
         RTMARK_BLESS=1 cargo test -p rtmark-model --test schema\nand raise SCHEMA_VERSION if \
         readers of the old form would misread the new one"
    );
}
