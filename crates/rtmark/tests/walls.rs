//! The walls of ARCHITECTURE.md, as far as a test can see them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates of the workspace with those of its crates that each may use when built.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let built = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
            let ours = built.map(name).filter(|name| name.starts_with("rtmark"));
            (name(package), ours.collect())
        })
        .collect()
}

#[test]
fn crates_use_only_what_lies_below_them() {
    let uses = uses();
    let allowed: &[(&str, &[&str])] = &[
        ("rtmark-units", &[]),
        ("rtmark-sim", &["rtmark-units"]),
        ("rtmark-model", &["rtmark-units"]),
        ("rtmark-observe", &["rtmark-units", "rtmark-model", "rtmark-sim"]),
        ("rtmark-board", &[]),
        ("rtmark-qemu", &["rtmark-model"]),
        ("rtmark-firmware", &["rtmark-units", "rtmark-model", "rtmark-sim"]),
        ("rtmark-store", &["rtmark-units", "rtmark-model"]),
        ("rtmark-compare", &["rtmark-units", "rtmark-model"]),
        ("rtmark-report", &["rtmark-units", "rtmark-model"]),
        ("rtmark-worst", &["rtmark-sim"]),
        ("rtmark-trace", &["rtmark-units", "rtmark-model", "rtmark-sim", "rtmark-observe"]),
        ("rtmark-study", &["rtmark-model", "rtmark-sim", "rtmark-observe"]),
        ("rtmark-import", &["rtmark-units", "rtmark-model"]),
        (
            "rtmark-runner",
            &[
                "rtmark-units",
                "rtmark-model",
                "rtmark-sim",
                "rtmark-board",
                "rtmark-qemu",
                "rtmark-observe",
                "rtmark-firmware",
                "rtmark-store",
            ],
        ),
    ];
    for &(name, below) in allowed {
        let used = uses.get(name).unwrap_or_else(|| panic!("{name} is a crate of the workspace"));
        let above: Vec<_> = used.iter().filter(|used| !below.contains(&used.as_str())).collect();
        assert!(above.is_empty(), "{name} uses {above:?}");
    }
    for (name, used) in &uses {
        assert!(!used.contains("rtmark"), "{name} uses the command line");
    }
}

/// Every Rust file of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn the_simulator_touches_neither_host_nor_chance() {
    let folder = root().join("crates/rtmark-sim/src");
    for path in sources(&folder).into_iter().filter(|path| !path.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in [
            "std::fs",
            "std::io",
            "std::net",
            "std::env",
            "std::process",
            "std::time",
            "Instant",
            "SystemTime",
            "RandomState",
            "println!",
            "static mut",
            "thread_local!",
        ] {
            assert!(!code.contains(word), "{}: {word}", path.display());
        }
        // A hash of the library's own is seeded by chance.
        for line in code.lines().filter(|line| line.contains("HashMap") || line.contains("HashSet"))
        {
            let harmless = line.starts_with("use ") || line.contains("BuildHasherDefault");
            assert!(harmless, "{}: {line}", path.display());
        }
    }
}

#[test]
fn only_the_program_ends_the_process() {
    for name in uses().keys().filter(|name| name.starts_with("rtmark-")) {
        for path in sources(&root().join("crates").join(name).join("src")) {
            let program = ["main.rs", "bin"].iter().any(|part| path.ends_with(part));
            let text = std::fs::read_to_string(&path).expect("readable");
            let ends = text.contains("process::exit") || text.contains("process::abort");
            assert!(program || !ends, "{}", path.display());
        }
    }
}
