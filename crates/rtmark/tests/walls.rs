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
fn crates_depend_only_on_lower_layers() {
    let uses = uses();
    let allowed: &[(&str, &[&str])] = &[
        ("rtmark-units", &[]),
        ("rtmark-embed", &[]),
        ("rtmark-book", &[]),
        ("rtmark-tail-calls", &[]),
        ("rtmark-files", &[]),
        ("rtmark-sources", &[]),
        ("rtmark-stdout", &[]),
        ("rtmark-sim", &["rtmark-units"]),
        ("rtmark-model", &["rtmark-files", "rtmark-units"]),
        ("rtmark-observe", &["rtmark-units", "rtmark-model", "rtmark-sim"]),
        ("rtmark-board", &[]),
        ("rtmark-qemu", &["rtmark-model"]),
        ("rtmark-firmware", &["rtmark-units", "rtmark-model", "rtmark-sim"]),
        ("rtmark-store", &["rtmark-units", "rtmark-model"]),
        ("rtmark-compare", &["rtmark-units", "rtmark-model"]),
        ("rtmark-report", &["rtmark-units", "rtmark-model"]),
        ("rtmark-plan", &["rtmark-units"]),
        ("rtmark-bisect", &[]),
        ("rtmark-gdb", &["rtmark-sim"]),
        ("rtmark-semihosting", &["rtmark-sim"]),
        ("rtmark-snapshot", &["rtmark-sim"]),
        (
            "rtmark-cause",
            &[
                "rtmark-units",
                "rtmark-model",
                "rtmark-sim",
                "rtmark-observe",
                "rtmark-firmware",
                "rtmark-compare",
                "rtmark-runner",
            ],
        ),
        (
            "rtmark-taskset",
            &["rtmark-units", "rtmark-sim", "rtmark-observe", "rtmark-firmware", "rtmark-plan"],
        ),
        ("rtmark-worst", &["rtmark-units", "rtmark-sim"]),
        (
            "rtmark-web",
            &["rtmark-model", "rtmark-sim", "rtmark-observe", "rtmark-trace", "rtmark-worst"],
        ),
        ("rtmark-trace", &["rtmark-units", "rtmark-model", "rtmark-sim", "rtmark-observe"]),
        ("rtmark-calls", &["rtmark-model", "rtmark-sim", "rtmark-observe"]),
        ("rtmark-study", &["rtmark-files", "rtmark-model", "rtmark-sim", "rtmark-observe"]),
        ("rtmark-import", &["rtmark-files", "rtmark-units", "rtmark-model"]),
        (
            "rtmark-runner",
            &[
                "rtmark-files",
                "rtmark-units",
                "rtmark-model",
                "rtmark-sim",
                "rtmark-board",
                "rtmark-qemu",
                "rtmark-observe",
                "rtmark-calls",
                "rtmark-import",
                "rtmark-firmware",
                "rtmark-store",
                "rtmark-trace",
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

/// The lines of a file without comments, and without what is compiled for tests alone.
fn product(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("readable");
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indented = &line[..line.len() - line.trim_start().len()];
        if line.trim_start().starts_with("#[cfg(test)]") {
            // As the code is formatted, an item ends with its own line, or with a brace below
            // where it began.
            let end = format!("{indented}}}");
            let mut item = lines.by_ref().skip_while(|line| line.trim_start().starts_with("#["));
            if item.next().is_some_and(|first| !first.ends_with([';', ',', '}'])) {
                item.find(|line| *line == end || line.starts_with(&format!("{end},")));
            }
        } else if !line.trim_start().starts_with("//") {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// The folders of the simulator, each of which may use those before it.
const FOLDERS: [&str; 17] = [
    "soc",
    "image",
    "isa",
    "arch",
    "memory",
    "timing",
    "devices",
    "state",
    "host",
    "exec",
    "exceptions",
    "engine",
    "debug",
    "superblock",
    "riscv",
    "armr",
    "machine",
];

/// The only files of the crates with unsafe code; the lint against it is on in all others.
const UNSAFE: [&str; 2] =
    ["crates/rtmark-sim/src/engine/native/pages.rs", "crates/rtmark-stdout/src/lib.rs"];

#[test]
fn unsafe_code_is_in_two_small_files() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("readable");
    assert!(manifest.contains("\nunsafe_code = \"deny\"\n"), "the lint is on");
    let lint = ["unsafe", "code"].join("_");
    let excepts = |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|it| it.contains(&lint));
    let found: BTreeSet<_> = sources(&root().join("crates"))
        .into_iter()
        .filter(|path| !path.ends_with("tests/walls.rs") && excepts(path))
        .map(|path| path.strip_prefix(root()).unwrap_or(&path).to_path_buf())
        .collect();
    assert_eq!(found, UNSAFE.map(PathBuf::from).into());
    for path in UNSAFE {
        let lines = std::fs::read_to_string(root().join(path)).expect("readable").lines().count();
        assert!(lines < 250, "{path}: {lines} lines");
    }
}

/// What uses something behind it all the same. This list is empty, and is to stay so.
const EXCEPTIONS: &[(&str, &str)] = &[];

#[test]
fn simulator_folders_depend_only_on_earlier_ones() {
    let folder = root().join("crates/rtmark-sim/src");
    let place = |name: &str| FOLDERS.iter().position(|folder| *folder == name);
    let mut found = BTreeMap::new();
    let is_test = |path: &PathBuf| {
        let within = path.strip_prefix(&folder).unwrap_or(path);
        within.iter().any(|part| part == "tests.rs" || part == "tests")
    };
    for path in sources(&folder).into_iter().filter(|path| !is_test(path)) {
        let relative = path.strip_prefix(&folder).expect("within");
        let name = relative.iter().next().and_then(|name| name.to_str()).expect("a name");
        let name = name.trim_end_matches(".rs");
        if name == "lib" {
            continue;
        }
        let at = place(name).unwrap_or_else(|| panic!("{name} is no folder of the plan"));
        for used in product(&path).split("crate::").skip(1) {
            let end = used.find(|it: char| !it.is_alphanumeric() && it != '_');
            let used = &used[..end.unwrap_or(used.len())];
            let other = place(used).unwrap_or_else(|| {
                panic!("{}: `crate::{used}` names no folder", path.display());
            });
            // What an operation does is to know nothing of what it costs.
            if other > at || (name, used) == ("exec", "timing") {
                let files: &mut BTreeSet<_> =
                    found.entry((FOLDERS[at], FOLDERS[other])).or_default();
                files.insert(relative.to_path_buf());
            }
        }
    }
    let excepted: BTreeSet<_> = EXCEPTIONS.iter().copied().collect();
    for (edge, files) in &found {
        assert!(excepted.contains(edge), "{edge:?} leads backwards in {files:?}");
    }
    for edge in excepted {
        assert!(found.contains_key(&edge), "{edge:?} is no exception any more: strike it out");
    }
}

/// What operations see of time: nothing, but for those files of theirs that are about it.
const TIMED: [&str; 2] = ["peripherals.rs", "partial.rs"];

#[test]
fn operations_do_not_see_the_clock() {
    for path in sources(&root().join("crates/rtmark-sim/src/exec")) {
        let is_excepted = TIMED.iter().any(|name| path.ends_with(name));
        if is_excepted || path.iter().any(|part| part == "tests.rs" || part == "tests") {
            continue;
        }
        let code = product(&path);
        for word in [".rules", ".cycles", ".deadline", ".lines", ".line_mask", ".memo", ".pipe"] {
            let mut found = code.match_indices(word);
            let whole = found.any(|(at, _)| {
                !code[at + word.len()..].starts_with(|it: char| it.is_alphanumeric() || it == '_')
            });
            assert!(!whole, "{}: {word}", path.display());
        }
    }
}

/// The names of the functions that code defines, of those in blocks that begin with a line.
fn functions<'a>(code: &'a str, block: Option<&str>) -> Vec<&'a str> {
    let mut within = block.is_none();
    let mut names = Vec::new();
    for line in code.lines() {
        if let Some(block) = block {
            within = within && line != "}" || line == block;
        }
        let head = line.trim_start().split_once("fn ").filter(|_| within);
        let Some((before, name)) = head else { continue };
        let is_head = before
            .split(' ')
            .all(|word| ["", "const", "unsafe"].contains(&word) || word.starts_with("pub"));
        let end = name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len());
        if is_head {
            names.push(&name[..end]);
        }
    }
    names
}

/// What the engine does for accesses to peripherals and the system space, whose values depend on the cycle.
const ENGINE_SERVICES: [&str; 1] = ["pass_time"];

#[test]
fn operations_call_no_methods_of_the_engine() {
    let folder = root().join("crates/rtmark-sim/src");
    let all = |name: &str| -> Vec<String> {
        let files = sources(&folder.join(name)).into_iter();
        let files =
            files.filter(|path| !path.iter().any(|part| part == "tests.rs" || part == "tests"));
        files.map(|path| product(&path)).collect()
    };
    let (engine, exec) = (all("engine"), all("exec"));
    let methods: BTreeSet<_> =
        engine.iter().flat_map(|code| functions(code, Some("impl State {"))).collect();
    assert!(methods.len() > 50, "methods are found: {methods:?}");
    // What types of folders that operations may use call the same.
    let lower: Vec<_> =
        FOLDERS.into_iter().take_while(|name| *name != "exceptions").flat_map(all).collect();
    let known: BTreeSet<_> = lower.iter().flat_map(|code| functions(code, None)).collect();
    for method in methods.difference(&known).filter(|method| !ENGINE_SERVICES.contains(method)) {
        let call = format!(".{method}(");
        assert!(!exec.iter().any(|code| code.contains(&call)), "an operation calls {method}");
    }
}

#[test]
fn the_simulator_uses_no_host_services_or_randomness() {
    let folder = root().join("crates/rtmark-sim/src");
    for path in sources(&folder).into_iter().filter(|path| !path.ends_with("tests.rs")) {
        let code = product(&path);
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
fn only_the_binary_exits_the_process() {
    for name in uses().keys().filter(|name| name.starts_with("rtmark-")) {
        for path in sources(&root().join("crates").join(name).join("src")) {
            let program = ["main.rs", "bin"].iter().any(|part| path.ends_with(part));
            let text = std::fs::read_to_string(&path).expect("readable");
            let ends = text.contains("process::exit") || text.contains("process::abort");
            assert!(program || !ends, "{}", path.display());
        }
    }
}

/// The most lines of a file.
const MAX_LINES: usize = 600;

#[test]
fn files_stay_short() {
    let crates = root().join("crates");
    let lines = |path: &Path| std::fs::read_to_string(path).expect("readable").lines().count();
    for path in sources(&crates) {
        let (name, count) = (path.strip_prefix(&crates).expect("within").display(), lines(&path));
        assert!(count <= MAX_LINES, "{name} has {count} lines: split it by what it is about");
    }
}

/// The type that a line declares for others than its own file, if it does.
fn declared(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub")?;
    let line = line.strip_prefix('(').map_or(Some(line), |within| Some(within.split_once(')')?.1));
    let (kind, rest) = line?.trim_start().split_once(' ')?;
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
    ["struct", "enum", "trait", "union", "type"].contains(&kind).then(|| &rest[..end])
}

/// Folders with names of their own: a core of another architecture has instructions, a pipeline and
/// registers, too, and so has the host; and each judge has its programs, runs and scores.
const NAMESPACES: [&str; 8] = [
    "rtmark-sim/src/engine/native/",
    "rtmark-sim/src/riscv/",
    "rtmark-sim/src/armr/",
    "rtmark-judge/src/lockstep/",
    "rtmark-judge/src/riscv/",
    "rtmark-judge/src/armr/",
    "rtmark-judge/src/rtl/",
    "rtmark-silicon/src/rtl/",
];

/// Names that several types of a crate have, and why they may.
const SHARED: &[(&str, &str, &str)] = &[
    ("rtmark", "Arguments", "each command has its own, by clap's custom"),
    ("rtmark", "Format", "each command has its own, by clap's custom"),
];

#[test]
fn public_types_of_a_crate_have_unique_names() {
    let crates = root().join("crates");
    let mut places: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for path in sources(&crates) {
        let within = path.strip_prefix(&crates).expect("within");
        let name = within.to_string_lossy().into_owned();
        let mut parts = name.splitn(3, '/');
        let (Some(of), Some("src"), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if within.iter().any(|part| part == "tests.rs" || part == "tests") {
            continue;
        }
        let namespace = NAMESPACES.into_iter().find(|folder| name.starts_with(folder));
        let space = namespace.map_or(of, |folder| folder.trim_end_matches('/')).to_owned();
        for declared in product(&path).lines().filter_map(declared) {
            let known = places.entry((space.clone(), declared.to_owned())).or_default();
            known.insert(file.to_owned());
        }
    }
    assert!(places.len() > 1_000, "types are found: {}", places.len());
    let mut excepted: BTreeSet<_> = SHARED.iter().map(|(space, name, _)| (*space, *name)).collect();
    for ((space, name), files) in places.iter().filter(|(_, files)| files.len() > 1) {
        let is_excepted = excepted.remove(&(space.as_str(), name.as_str()));
        assert!(is_excepted, "{space}: {name} names a type in each of {files:?}");
    }
    assert!(excepted.is_empty(), "{excepted:?} are shared no more: strike them out");
}
