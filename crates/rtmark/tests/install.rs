//! The program away from its checkout: with the sources that it holds, in folders of any name, by
//! several at once, and where nothing can be written.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn rtmark(home: &Path, cache: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rtmark"));
    command.args(arguments).current_dir(home).env("HOME", home);
    for variable in ["RTMARK_FIRMWARE", "RTMARK_OWN", "RTMARK_CONFIG", "RTMARK_STORE"] {
        command.env_remove(variable);
    }
    command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").env_remove("RTMARK_BUILD");
    // Cargo's own are where they were.
    let kept = |name: &str, folder: &str| {
        let given = std::env::var_os(name).map(std::path::PathBuf::from);
        given.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(folder)))
    };
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let Some(folder) = kept(name, folder) {
            command.env(name, folder);
        }
    }
    command.env("XDG_CACHE_HOME", cache);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// One scenario of some kernels.
fn arguments<'a>(kernels: &[&'a str]) -> Vec<&'a str> {
    let more = ["-s", "thread.yield", "--soc", "stm32c031", "--placements", "2"];
    [&["run", "--format", "json", "--fresh"][..], &more, &["-k"], kernels].concat()
}

/// The figures and images of what was measured, by kernel.
fn measured(output: &Output) -> Vec<(String, String, u64)> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let of = |answer: &Value| {
        assert_eq!(answer["answer"], "measured", "{answer}");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let image = &answer["provenance"]["firmware"]["elf_sha256"];
        let median = answer["statistics"]["steady"]["p50"].as_u64().expect("a figure");
        (text(&answer["key"]["kernel"]), text(image), median)
    };
    document["answers"].as_array().expect("answers").iter().map(of).collect()
}

#[test]
fn an_installed_binary_measures_the_same_as_its_checkout() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let plain = scratch.path().join("plain");
    let odd = scratch.path().join("zu Häuse; #1 $x");
    for home in [&plain, &odd] {
        std::fs::create_dir(home).expect("writable");
    }
    let run = |home: &Path, arguments: &[&str]| {
        rtmark(home, &home.join("cache"), arguments).output().expect("rtmark runs")
    };
    let arguments = arguments(&["floor", "freertos"]);
    let here = measured(&run(&plain, &arguments));
    assert_eq!(
        here.iter().map(|(kernel, ..)| kernel.as_str()).collect::<Vec<_>>(),
        ["floor", "freertos"]
    );
    assert!(plain.join("cache/rtmark/firmware").is_dir(), "its own sources");
    assert_eq!(measured(&run(&odd, &arguments)), here, "names of folders are in no image");
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let checkout = checkout.canonicalize().expect("there");
    let firmware = ["--firmware", checkout.to_str().expect("Unicode")];
    assert_eq!(measured(&run(&plain, &[&arguments[..], &firmware].concat())), here);
}

#[test]
fn concurrent_processes_build_once_and_measure_the_same() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let started = (0..3).map(|number| {
        let home = scratch.path().join(format!("project {number}"));
        std::fs::create_dir(&home).expect("writable");
        let cache = scratch.path().join("cache");
        rtmark(&home, &cache, &arguments(&["floor"])).spawn().expect("rtmark runs")
    });
    let started: Vec<_> = started.collect();
    let ended = started.into_iter().map(|one| measured(&one.wait_with_output().expect("ends")));
    let mut ended: Vec<_> = ended.collect();
    ended.dedup();
    assert_eq!(ended.len(), 1, "{ended:?}");
    let builds = scratch.path().join("cache/rtmark/builds");
    assert_eq!(std::fs::read_dir(builds).expect("there").count(), 1, "one tree of sources");
}

/// The image of what is measured, and nothing else; later another one, of the objects that are there.
#[test]
fn only_the_images_of_what_is_measured_are_built() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let cache = scratch.path().join("cache");
    let files = |is_wanted: &dyn Fn(&Path) -> bool| {
        let mut folders = vec![cache.join("rtmark/builds")];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("readable").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if is_wanted(&path) {
                    let modified = entry.metadata().and_then(|file| file.modified());
                    let name = entry.file_name().to_string_lossy().into_owned();
                    found.push((name, modified.expect("a time")));
                }
            }
        }
        found.sort();
        found
    };
    let images_after = |scenario: &str| {
        let wanted = ["run", "-q", "-s", scenario, "-k", "floor", "--soc", "stm32c031"];
        let output = rtmark(scratch.path(), &cache, &wanted).args(["--placements", "1"]).output();
        let output = output.expect("rtmark runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let images = files(&|path| path.extension().is_some_and(|end| end == "elf"));
        images.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(images_after("thread.yield"), ["thread.elf"]);
    let start_up = || files(&|path| path.ends_with("obj/startup.o"));
    let first = start_up();
    assert_eq!(first.len(), 1);
    assert_eq!(images_after("queue.send.immediate"), ["queue.elf", "thread.elf"]);
    assert_eq!(start_up(), first, "made once");
}

#[cfg(unix)]
#[test]
fn built_images_run_on_a_read_only_file_system() {
    use std::os::unix::fs::PermissionsExt;

    fn make_writable(folder: &Path, mode: u32) {
        for entry in std::fs::read_dir(folder).expect("readable").flatten() {
            if entry.path().is_dir() {
                make_writable(&entry.path(), mode);
            }
        }
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder, mode).expect("its own");
    }

    let scratch = tempfile::tempdir().expect("a scratch folder");
    let cache = scratch.path().join("cache");
    let home = scratch.path().join("home");
    std::fs::create_dir(&home).expect("writable");
    let arguments = arguments(&["floor"]);
    let built = measured(&rtmark(&home, &cache, &arguments).output().expect("rtmark runs"));
    make_writable(&cache, 0o555);
    let again = rtmark(&home, &cache, &arguments).output().expect("rtmark runs");
    let other = [&arguments[..], &["--soc", "stm32f405"]].concat();
    // Root writes everywhere.
    let is_root = std::fs::write(cache.join("probe"), "").is_ok();
    let refused = rtmark(&home, &cache, &other).output().expect("rtmark runs");
    make_writable(&cache, 0o755);
    assert_eq!(measured(&again), built);
    if !is_root {
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && stderr.contains("--build-dir"), "{stderr}");
        assert!(!stderr.contains("compiler's words"), "{stderr}");
    }
}
