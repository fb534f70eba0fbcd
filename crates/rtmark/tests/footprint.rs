//! What `rtmark footprint` says of stacks, against what is left in memory when the run is over.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn build() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

/// The sources that the other tests build, so that what they have built is built.
fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// The image with this digest.
fn image(sha256: &str) -> String {
    let path = build().join("kept").join(sha256).with_extension("elf");
    assert!(path.is_file(), "no image {sha256} was built");
    path.display().to_string()
}

struct Folder {
    home: tempfile::TempDir,
}

impl Folder {
    /// What rtmark says as JSON.
    fn say(&self, arguments: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(arguments)
            .args(["--format", "json"])
            .current_dir(self.home.path())
            .env("RTMARK_STORE", self.home.path().join("store.sqlite"))
            .env("RTMARK_BUILD", build())
            .env("RTMARK_FIRMWARE", firmware())
            .output()
            .expect("rtmark runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

/// Below the lowest byte that is said to be used nothing was ever written, and right above it something.
fn memory_agrees(folder: &Folder, soc: &str, footprint: &Value) -> usize {
    const BELOW: u64 = 64;
    // What an interrupt leaves for floating-point registers is in use before anything is written there.
    const ABOVE: u64 = 112;
    let scenario = footprint["key"]["scenario"].as_str().expect("a scenario");
    let image = image(footprint["firmware"]["elf_sha256"].as_str().expect("a digest"));
    let stacks = footprint["stacks"].as_array().expect("stacks");
    let tasks: Vec<_> = stacks.iter().filter(|stack| stack["kind"] == "task").collect();
    let lowest = |task: &Value| task["lowest"].as_u64().expect("an address");
    // No two tasks use the same memory.
    let used =
        |task: &&Value| (lowest(task), lowest(task) + task["bytes"].as_u64().expect("bytes"));
    let mut ranges: Vec<_> = tasks.iter().map(used).collect();
    ranges.sort_unstable();
    let apart = ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    assert!(apart, "{soc} {scenario}: {tasks:?}");
    let dumps =
        tasks.iter().map(|task| format!("--dump={:#x}:{}", lowest(task) - BELOW, BELOW + ABOVE));
    let dumps: Vec<String> = dumps.collect();
    let mut arguments = vec!["sim", &image, "--soc", soc, "--select", scenario, "-q"];
    arguments.extend(dumps.iter().map(String::as_str));
    let run = folder.say(&arguments);
    for (task, dump) in tasks.iter().zip(run["dumps"].as_array().expect("dumps")) {
        let bytes = dump["bytes"].as_str().expect("hexadecimal digits").as_bytes();
        let is_fresh = |byte: &[u8]| matches!(byte, b"00" | b"a5" | b"A5");
        let (below, above) = bytes.split_at(2 * BELOW as usize);
        assert!(below.chunks(2).all(is_fresh), "{soc} {scenario}, below {task}: {dump}");
        assert!(!above.chunks(2).all(is_fresh), "{soc} {scenario}, {task}: {dump}");
    }
    tasks.len()
}

#[test]
fn stack_use_matches_the_memory_written() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    for soc in ["stm32f405", "generic-hazard3", "zynqmp-r5"] {
        let arguments = ["footprint", "-k", "freertos", "--soc", soc, "-s", "thread.yield"];
        let more = ["queue.handover", "timer.wake", "growth.delay.delayed.16"];
        let document = folder.say(&[&arguments[..], &more].concat());
        let schema = include_str!("../../../docs/schema/footprint.schema.json");
        let schema: Value = serde_json::from_str(schema).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let problems: Vec<_> = validator.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        let footprints = document["footprints"].as_array().expect("footprints");
        let tasks: usize =
            footprints.iter().map(|footprint| memory_agrees(&folder, soc, footprint)).sum();
        assert!(tasks >= 6, "{soc}: {tasks} tasks");
        // Start-up is one stack, whatever it sets up on the way.
        for footprint in footprints {
            let stacks = footprint["stacks"].as_array().expect("stacks");
            let main: Vec<_> = stacks.iter().filter(|stack| stack["kind"] == "main").collect();
            assert!(main.len() == 1 && main[0]["name"] == "Reset_Handler", "{soc}: {stacks:?}");
            assert!(main[0]["bytes"].as_u64() > Some(60), "{soc}: {main:?}");
            assert!(
                stacks.iter().all(|stack| {
                    stack["kind"] != "task"
                        || stack["name"].as_str().is_some_and(|it| it.contains("Task"))
                }),
                "{soc}: {stacks:?}"
            );
        }
    }
}

/// Of a run that fails, nobody knows what it would have used: it has no entry, the others keep theirs.
#[test]
fn a_scenario_that_fails_has_no_footprint() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let ours = folder.home.path().join("ours");
    std::fs::create_dir(&ours).expect("made");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/own");
    for entry in std::fs::read_dir(guide.join("c")).expect("the guide's kernel").flatten() {
        std::fs::copy(entry.path(), ours.join(entry.file_name())).expect("copied");
    }
    std::fs::copy(guide.join("scenarios.toml"), ours.join("scenarios.toml")).expect("copied");
    let run = |expected: &str| {
        let source = std::fs::read_to_string(guide.join("c/filter.c")).expect("readable");
        let changed = source.replace("middle, 18u", expected);
        std::fs::write(ours.join("filter.c"), changed).expect("writable");
        let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(["footprint", "--own", "ours", "-k", "ourloop", "--soc", "stm32c031", "-s"])
            .args(["filter.median", "notify.give.immediate", "--format", "json"])
            .current_dir(folder.home.path())
            .env("RTMARK_STORE", folder.home.path().join("store.sqlite"))
            .env("RTMARK_BUILD", build())
            .env("RTMARK_FIRMWARE", firmware())
            .output()
            .expect("rtmark runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let document: Value = serde_json::from_slice(&output.stdout).expect(&stderr);
        let footprints = document["footprints"].as_array().expect("footprints").iter();
        let scenario = |entry: &Value| entry["key"]["scenario"].as_str().map(str::to_owned);
        (output.status.code(), footprints.filter_map(scenario).collect::<Vec<_>>(), stderr)
    };
    let (code, scenarios, stderr) = run("middle, 18u");
    assert_eq!((code, scenarios.len()), (Some(0), 2), "{stderr}");
    let (code, scenarios, stderr) = run("middle, 19u");
    assert_eq!(scenarios, ["notify.give.immediate"], "{stderr}");
    assert!(code == Some(11) && stderr.contains("median is 18, expected 19"), "{code:?}: {stderr}");
}

/// A kernel starts its first task by a return on a Hazard3 and a Cortex-R5, and by an exception on a
/// Cortex-M: nobody has called it.
#[test]
fn tasks_are_the_roots_of_their_stacks_on_every_core() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    for soc in ["stm32f405", "generic-hazard3", "zynqmp-r5"] {
        let arguments = ["footprint", "-k", "freertos", "--soc", soc, "-s", "queue.handover"];
        let footprint = &folder.say(&arguments)["footprints"][0];
        let image = image(footprint["firmware"]["elf_sha256"].as_str().expect("a digest"));
        let file = folder.home.path().join(soc);
        let profile = format!("--profile={}", file.display());
        folder.say(&["sim", &image, "--soc", soc, "--select", "queue.handover", &profile]);
        let folded = std::fs::read_to_string(file).expect("a profile");
        let is_task = |name: &str| {
            ["v", "prv"].iter().any(|begin| name.starts_with(begin))
                && name.ends_with("Task")
                && !["NewTask", "FirstTask"].iter().any(|end| name.ends_with(end))
        };
        let mut roots = std::collections::BTreeSet::new();
        for stack in folded.lines() {
            let functions = stack.rsplit_once(' ').map_or(stack, |(stack, _)| stack).split(';');
            for (depth, function) in functions.enumerate().filter(|(_, name)| is_task(name)) {
                assert_eq!(depth, 0, "{soc}: {function} in {stack}");
                roots.insert(function.to_owned());
            }
        }
        // Both ends of the queue, and the timers' task.
        assert!(roots.len() >= 3, "{soc}: {roots:?}");
    }
}

#[test]
fn an_image_has_its_kernels_footprint() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let soc = ["--soc", "stm32f405"];
    let arguments = ["footprint", "-k", "freertos", "-s", "semaphore.give.immediate"];
    let native = folder.say(&[&arguments[..], &soc].concat());
    let native = &native["footprints"][0];
    let image = image(native["firmware"]["elf_sha256"].as_str().expect("a digest"));
    let document =
        folder.say(&[&["footprint", "--image", &format!("app={image}")][..], &soc].concat());
    assert_eq!(document["footprints"].as_array().map(Vec::len), Some(0), "no kernel was asked for");
    let images = document["images"].as_array().expect("images");
    assert_eq!((images.len(), &images[0]["name"]), (1, &"app".into()));
    for (ours, theirs) in [("flash_bytes", "flash_bytes"), ("ram_bytes", "ram_bytes")] {
        assert_eq!(images[0][ours], native["firmware"][theirs]);
    }
    // As it was linked, its first scenario is the one that runs. Only the names of tasks differ: those of
    // an image are its kernel's.
    let without_names = |stacks: &Value| {
        let mut stacks = stacks.as_array().expect("stacks").clone();
        for stack in stacks.iter_mut().filter(|stack| stack["kind"] == "task") {
            stack.as_object_mut().expect("an object").remove("name");
        }
        stacks
    };
    assert_eq!(without_names(&images[0]["stacks"]), without_names(&native["stacks"]));
    let is_named = |name: &str| {
        images[0]["stacks"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == name))
    };
    assert!(is_named("Tmr Svc") && is_named("give"), "{}", images[0]);
    assert_eq!(images[0]["ended"], "exit: success");
    let short = folder.say(
        &[&["footprint", "--max-cycles", "2000", "--image", &format!("app={image}")][..], &soc]
            .concat(),
    );
    let short = &short["images"][0];
    assert!(short["cycles"].as_u64() < Some(2100), "{short}");
    assert!(
        short["ended"].as_str().is_some_and(|ended| ended.contains("still running")),
        "{short}"
    );
}

/// The sizes of symbols that `nm` lists with a name and an address of their own, by name.
fn sizes_by_nm(nm: &str, image: &str) -> HashMap<String, (char, u64)> {
    let output = Command::new(nm).args(["-S", image]).output().expect("nm runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut found = HashMap::<String, (char, u64)>::new();
    let (mut names, mut addresses) = (HashMap::new(), HashMap::new());
    for line in text.lines() {
        let [address, size, kind, name] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        *names.entry(name.to_owned()).or_insert(0) += 1;
        *addresses.entry(address.to_owned()).or_insert(0) += 1;
        let size = u64::from_str_radix(size, 16).expect("a size");
        let kind = kind.chars().next().expect("a letter").to_ascii_uppercase();
        found.insert(name.to_owned(), (kind, size));
        if addresses[address] > 1 || names[name] > 1 {
            found.remove(name);
        }
    }
    found
}

#[test]
fn an_images_memory_is_split_by_symbol_as_nm_does_and_by_file_and_crate() {
    for (soc, nm) in [
        ("stm32f405", "arm-none-eabi-nm"),
        ("generic-hazard3", "riscv64-unknown-elf-nm"),
        ("zynqmp-r5", "arm-none-eabi-nm"),
    ] {
        memory_is_split(soc, nm);
    }
}

fn memory_is_split(soc: &str, nm: &str) {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let built = ["footprint", "-k", "freertos", "embassy", "--soc", soc, "-s", "thread.yield"];
    let built = folder.say(&built);
    for footprint in built["footprints"].as_array().expect("footprints") {
        let kernel = footprint["key"]["kernel"].as_str().expect("a kernel");
        let image = image(footprint["firmware"]["elf_sha256"].as_str().expect("a digest"));
        let split = |by: &str| {
            let column = format!("it={image}");
            let options = ["--soc", soc, "--max-cycles", "1000", "--by", by];
            let said = folder.say(&[&["footprint", "--image", &column], &options[..]].concat());
            let it = said["images"][0].clone();
            let parts = it["parts"].as_array().expect("parts").clone();
            for bytes in ["flash_bytes", "ram_bytes"] {
                let sum: u64 = parts.iter().filter_map(|part| part[bytes].as_u64()).sum();
                assert_eq!(Some(sum), it[bytes].as_u64(), "{soc}, {kernel} by {by}: {bytes}");
            }
            let size = |part: &Value, bytes: &str| part[bytes].as_u64().expect("a number");
            let by_name = parts.iter().map(|part| {
                let name = part["name"].as_str().expect("a name").to_owned();
                (name, (size(part, "flash_bytes"), size(part, "ram_bytes")))
            });
            by_name.collect::<HashMap<_, _>>()
        };
        let symbols = split("symbol");
        let mut checked = 0;
        for (name, (kind, size)) in sizes_by_nm(nm, &image) {
            let Some(&found) = symbols.get(&name) else { continue };
            let expected = match kind {
                'T' | 'W' | 'R' => (size, 0),
                'B' => (0, size),
                'D' => (size, size),
                _ => continue,
            };
            assert_eq!(found, expected, "{soc}, {kernel}: {name}, {kind}");
            checked += 1;
        }
        let (files, crates) = (split("file"), split("crate"));
        let flash = |groups: &HashMap<String, (u64, u64)>, name: &str| {
            let named = groups.iter().filter(|(key, _)| key.starts_with(name));
            named.map(|(_, (flash, _))| flash).sum::<u64>()
        };
        if kernel == "freertos" {
            assert!(checked > 40, "{soc}: {checked} symbols");
            assert!(flash(&files, "third-party/tasks.c") > 1000, "{files:?}");
            assert!(flash(&crates, "third-party") > flash(&files, "third-party/tasks.c"));
            // The heap is a variable.
            let heap = crates.iter().find(|(key, _)| key.starts_with("third-party"));
            assert!(heap.is_some_and(|(_, (_, ram))| *ram > 1000), "{crates:?}");
        } else {
            assert!(flash(&crates, "embassy-executor-") > 100, "{crates:?}");
            assert!(flash(&crates, "core") > 100, "{crates:?}");
        }
    }
}
