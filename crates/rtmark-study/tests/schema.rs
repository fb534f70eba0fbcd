//! The published schema of `rtmark study --format json` matches the types.

#[test]
fn the_published_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/study.schema.json");
    let schema = schemars::schema_for!(rtmark_study::Document);
    let current = serde_json::to_string_pretty(&schema).expect("serialises") + "\n";
    if std::env::var_os("RTMARK_BLESS").is_some() {
        std::fs::write(path, &current).expect("writable");
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == current,
        "docs/schema/study.schema.json is not what the types say; write it anew with\n  \
         RTMARK_BLESS=1 cargo test -p rtmark-study --test schema\nand raise SCHEMA_VERSION if \
         readers of the old form would misread the new one"
    );
}
