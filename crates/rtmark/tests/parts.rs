//! Parts of a run, measured apart, join to what one computer measures: byte for byte.

use std::path::{Path, PathBuf};
use std::process::Command;

const SCENARIOS: [&str; 5] =
    ["thread.yield", "semaphore.*", "mutex.*", "queue.send.*", "timer.tick"];

struct Folder {
    home: tempfile::TempDir,
}

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rtmark"));
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env("RTMARK_BUILD", Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"))
            .env("RTMARK_STORE", self.path("store.sqlite"))
            // The sources that the other tests build, so that what they have built is built.
            .env("RTMARK_FIRMWARE", Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware"))
            .env("COLUMNS", "160");
        command
    }

    /// Says `rtmark` something, and returns its exit code, stdout and stderr.
    fn say(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let output = self.command(arguments).output().expect("rtmark runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Says it what to measure, and what more.
    fn run(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let arguments = ["run", "-k", "floor", "freertos", "--soc", "stm32c031", "stm32f405"];
        let layouts = ["--placements", "2", "-s"];
        self.say(&[&arguments[..], &layouts, &SCENARIOS, more].concat())
    }
}

#[test]
fn merged_parts_of_a_run_equal_the_whole_run() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let (code, whole, errors) = folder.run(&["--fresh", "--format", "json"]);
    assert_eq!(code, Some(0), "{errors}");
    let (_, table, _) = folder.run(&[]);

    let parts = ["1/3", "2/3", "3/3"].map(|part| {
        let state = format!("{}.run", &part[..1]);
        let (code, shown, errors) = folder.run(&["--partition", part, "--state", &state]);
        assert_eq!((code, &*shown), (Some(0), ""), "{errors}");
        assert!(errors.contains(&format!("part {part} of the run")), "{errors}");
        let count = errors.lines().last().and_then(|line| line.split(' ').next());
        count.and_then(|answers| answers.parse().ok()).expect("a number of answers, first")
    });
    let answers: usize = parts.iter().sum();
    assert!(parts.iter().all(|&answers| answers > 10), "{parts:?}");
    let document: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
    assert_eq!(document["answers"].as_array().map(Vec::len), Some(answers));

    for form in [["2.run", "3.run", "1.run", "2.run"], ["1.run", "2.run", "3.run", "3.run"]] {
        let (code, joined, errors) =
            folder.say(&[&["merge", "--format", "json"], &form[..]].concat());
        assert_eq!(code, Some(0), "{errors}");
        assert!(joined == whole, "the joined run differs");
        assert!(
            errors.contains(" from 3 parts, "),
            "one that is given twice counts once: {errors}"
        );
    }
    let (_, joined, _) = folder.say(&["merge", "1.run", "2.run", "3.run", "--name", "joined"]);
    assert_eq!(joined, table);
    // It is a run like others.
    let (code, shown, errors) = folder.say(&["compare", "latest~3", "joined"]);
    assert_eq!(code, Some(0), "{shown}{errors}");

    let (code, some, errors) = folder.say(&["merge", "1.run", "3.run", "--format", "json"]);
    assert_eq!(code, Some(12), "{errors}");
    assert!(errors.contains("parts are missing or incomplete: 2"), "{errors}");
    let some: serde_json::Value = serde_json::from_str(&some).expect("JSON");
    assert_eq!(some["answers"].as_array().map(Vec::len), Some(parts[0] + parts[2]));
}

#[test]
fn parts_of_different_runs_do_not_merge() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let run = |soc: &str, part: &str, state: &str| {
        let arguments =
            ["run", "-k", "floor", "-s", "thread.yield", "--soc", soc, "--placements", "1"];
        folder.say(&[&arguments[..], &["--partition", part, "--state", state]].concat())
    };
    for (soc, part, state) in
        [("stm32c031", "1/2", "a"), ("stm32f405", "2/2", "b"), ("stm32c031", "1/3", "c")]
    {
        let (code, _, errors) = run(soc, part, state);
        assert_eq!(code, Some(0), "{errors}");
    }
    for other in ["b", "c"] {
        let (code, shown, errors) = folder.say(&["merge", "a", other]);
        assert_eq!((code, &*shown), (Some(5), ""), "{errors}");
        assert!(errors.contains("different runs"), "{errors}");
    }
    // Another part's file is not overwritten.
    let (code, _, errors) = run("stm32c031", "2/2", "a");
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("another part"), "{errors}");
    // A part that is there is not measured again.
    let (code, _, errors) = run("stm32f405", "2/2", "b");
    assert_eq!(code, Some(0), "{errors}");
    // Nor are its answers lost if it is stopped before they have been needed again.
    let (path, arguments) = (folder.path("b"), ["--partition", "2/2", "--state", "b"]);
    let written = || std::fs::metadata(&path).expect("there");
    let before = written();
    let what =
        ["run", "-k", "floor", "-s", "thread.yield", "--soc", "stm32f405", "--placements", "1"];
    let mut resumed = folder.command(&[&what[..], &arguments].concat()).spawn().expect("it starts");
    while written().modified().ok() == before.modified().ok()
        && resumed.try_wait().expect("a child").is_none()
    {}
    let _ = resumed.kill();
    resumed.wait().expect("it was started");
    assert!(written().len() >= before.len());
    std::fs::write(folder.path("d"), "RTMARKRN and nothing").expect("writable");
    let (code, _, errors) = folder.say(&["merge", "a", "d"]);
    assert_eq!(code, Some(2), "{errors}");
    let (code, _, errors) = folder.say(&["run", "--partition", "4/3", "--state", "e"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("such as 2/8"), "{errors}");
    assert!(!folder.path("store.sqlite").exists(), "a part is no run of the store");
}

#[test]
fn each_chip_is_printed_when_finished_and_each_measurement_is_timed() {
    let folder = Folder { home: tempfile::tempdir().expect("a scratch folder") };
    let (code, table, errors) = folder.run(&["--fresh"]);
    assert_eq!(code, Some(0), "{errors}");
    let (_, shown, _) = folder.say(&["show", "latest"]);
    assert_eq!(shown, table, "the tables of the chips are those of all");

    // Both streams in one, so that their order is to be seen; and one thread, as two may measure two chips
    // at once.
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let arguments = ["run", "-v", "--fresh", "-k", "floor", "freertos", "--placements", "2"];
    let chips = ["--soc", "stm32c031", "stm32f405", "-s", "thread.*", "semaphore.*", "heap.*"];
    let mut child = folder
        .command(&[&arguments[..], &chips].concat())
        .env("RAYON_NUM_THREADS", "1")
        .stdout(writer.try_clone().expect("a pipe"))
        .stderr(writer)
        .spawn()
        .expect("rtmark runs");
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut reader, &mut stderr).expect("text");
    assert!(child.wait().expect("it ends").success(), "{stderr}");
    let (before, behind) = stderr.split_once("stm32c031 \u{b7} cortex-m0plus").expect("a table");
    let measured = |text: &str, chip: &str| text.matches(&format!("measured stm32{chip} ")).count();
    assert!(measured(before, "c031") > 10 && measured(behind, "c031") == 0, "{stderr}");
    assert!(measured(behind, "f405") > 10, "it did not wait for the other chip: {stderr}");
    assert_eq!(measured(before, "f405"), 0, "{stderr}");

    // A run that recalls takes no time to measure, and says none.
    let (_, recalled, _) = folder.run(&[]);
    assert_eq!(recalled, table);
    let junit = |before: &str, after: &str| {
        let (code, xml, errors) = folder.say(&["compare", before, after, "--format", "junit"]);
        assert_eq!(code, Some(0), "{errors}");
        let cases: Vec<_> = xml.lines().filter(|line| line.contains("<testcase ")).collect();
        assert!(cases.len() > 20, "{xml}");
        (cases.len(), cases.iter().filter(|case| case.contains(" time=\"")).count())
    };
    let (cases, timed) = junit("latest", "latest~2");
    assert_eq!(cases, timed, "each was measured");
    assert_eq!(junit("latest~2", "latest").1, 0, "each was known");
}
