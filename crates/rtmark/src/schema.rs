//! Checks that the published schemas match the types.

/// Compares a schema with the one in `docs/schema`, or rewrites that file if
/// `RTMARK_BLESS` is set.
pub fn check(name: &str, schema: &schemars::Schema) {
    let file = format!("docs/schema/{name}.schema.json");
    let path = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let current = serde_json::to_string_pretty(schema).expect("serialises") + "\n";
    if std::env::var_os("RTMARK_BLESS").is_some() {
        std::fs::write(&path, &current).expect("writable");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == current,
        "{file} does not match the types; regenerate it with\n  \
         RTMARK_BLESS=1 cargo test -p rtmark --bin rtmark published_schema\nand raise its version \
         if readers of the old form would misread the new one"
    );
}
