//! The published JSON schemas match the types.

use std::path::Path;

#[test]
fn the_published_schemas_are_current() {
    let schemas = [
        ("results", rtmark_model::Document::json_schema()),
        ("fairness", rtmark_model::Fairness::json_schema()),
    ];
    for (name, schema) in schemas {
        let file = format!("docs/schema/{name}.schema.json");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&file);
        let mut current = serde_json::to_string_pretty(&schema).expect("serialises");
        current.push('\n');
        if std::env::var_os("RTMARK_BLESS").is_some() {
            std::fs::write(&path, &current).expect("writable");
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == current,
            "{file} does not match the types; regenerate it with\n  \
             RTMARK_BLESS=1 cargo test -p rtmark-model --test schema\nand raise its version if \
             readers of the old version would misread the new one"
        );
    }
}
