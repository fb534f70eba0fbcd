//! `rtmark import`: logs in, series out, and what is said about the rest.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{CommandResult, Elf, printing, rtmark, run_rtmark};

const LOG: &str = "\
*** Booting Zephyr OS build v4.2.0 ***\r
thread.yield.preemptive.ctx.k_to_k       - Context switch via k_yield          :     240 cycles ,     5000 ns : \r
thread.start.kernel.from.kernel          - Start thread                        :     480 cycles ,    10000 ns : \r
heap.malloc.immediate                    - Average time for heap malloc        :  FAILED cycles ,   FAILED ns : no heap\r
semaphore.give.immediate.kernel          - Give a semaphore                    :     1x0 cycles ,     2000 ns : \r
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(folder.path().join("uart.log"), LOG).expect("writable");
    folder
}

#[test]
fn imported_rows_are_printed_and_stored() {
    let folder = folder();
    let result = run_rtmark(folder.path(), &["import", "uart.log", "--soc", "stm32f405"]);
    assert_eq!(result.code, 0, "{result:#?}");
    let text = &result.stdout;
    assert!(text.contains("zephyr 4.2.0") && text.contains("stm32f405"), "{text}");
    assert!(text.contains("mean 240 cycles  5.00 \u{b5}s  = thread.yield"), "{text}");
    assert!(text.contains("like thread.start, but ours creates the thread"), "{text}");
    assert!(text.contains("not compared: failed: the suite says FAILED, and: no heap"), "{text}");
    assert!(result.stderr.contains("warning: uart.log:5: looks like a row"), "{result:#?}");
    assert!(
        result.stderr.contains("3 rows, 1 flagged, 1 line unreadable; stored as run"),
        "{result:#?}"
    );
    assert!(folder.path().join("data/rtmark/store.sqlite").is_file());
}

/// Names of files are bytes; the store keeps the command line as text.
#[test]
#[cfg(unix)]
fn a_file_whose_name_is_not_utf8_is_imported() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().expect("a scratch folder");
    let name = std::ffi::OsStr::from_bytes(b"a\xff.csv");
    let rows = "scenario,unit,value\nisr.mine,cycles,10\n";
    std::fs::write(folder.path().join(name), rows).expect("written");
    let output = rtmark(folder.path()).arg("import").arg(name).output().expect("rtmark runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let log = run_rtmark(folder.path(), &["log"]);
    assert!(log.stdout.contains("rtmark import a\u{fffd}.csv"), "{log:#?}");
}

#[test]
fn dry_runs_store_nothing_and_json_matches_the_schema() {
    let folder = folder();
    let arguments = ["import", "uart.log", "--dry-run", "--show", "json", "-q"];
    let result = run_rtmark(folder.path(), &arguments);
    assert_eq!((result.code, result.stderr.as_str()), (0, ""), "{result:#?}");
    assert!(!folder.path().join("data").exists());
    let document: rtmark_model::Document = serde_json::from_str(&result.stdout).expect("JSON");
    let series = document.answers[0].answer.series().expect("a series");
    assert_eq!(series.clock.0, 48_000_000);
    assert_eq!(series.key.backend, rtmark_model::Backend::Log);
    let source = series.provenance.log.as_ref().expect("a log");
    assert_eq!((source.file.as_str(), source.line), ("uart.log", 2));
}

#[test]
fn logs_from_stdin_are_completed_by_options() {
    let folder = folder();
    let mut child = rtmark(folder.path())
        .args(["import", "-", "--dry-run", "--show", "csv", "--kernel", "freertos"])
        .args(["--version", "11.1", "--clock", "150MHz", "--soc", "my board"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rtmark runs");
    let log = "** Yield stats [avg, min, max] in nanoseconds **\n Yield (context switch) : 900, 800, 1500\n";
    child.stdin.take().expect("a pipe").write_all(log.as_bytes()).expect("written");
    let result: CommandResult = child.wait_with_output().expect("it ends").into();
    assert_eq!(result.code, 0, "{result:#?}");
    assert!(result.stdout.contains("my board,,150000000,freertos,11.1,"), "{result:#?}");
}

#[test]
fn firmware_output_on_the_simulator_is_imported_as_a_log() {
    let folder = folder();
    let row = "a.b - c : 48 cycles , 1000 ns :";
    Elf { code: &printing(row, true), ..Elf::default() }.write(&folder.path().join("z.elf"));
    let arguments = ["import", "--from-sim", "z.elf", "--soc", "stm32c031"];
    let result = run_rtmark(folder.path(), &arguments);
    assert_eq!(result.code, 0, "{result:#?}");
    assert!(
        result.stdout.contains("stm32c031") && result.stdout.contains("mean 48 cycles"),
        "{result:#?}"
    );
}

#[test]
fn firmware_that_is_run_tells_the_clock_of_its_rows() {
    let folder = folder();
    let rows = "kernel,version,soc,scenario,unit,value,span\n\
                freertos,11.1,stm32c031,thread.yield,cycles,240,catalogue";
    Elf { code: &printing(rows, true), ..Elf::default() }.write(&folder.path().join("z.elf"));
    let base = ["import", "--from-sim", "z.elf", "--soc", "stm32c031", "--show", "csv"];
    let result = run_rtmark(folder.path(), &base);
    assert!(result.stdout.contains("stm32c031,cortex-m0plus,12000000,"), "{result:#?}");
    assert!(result.stderr.contains("at the clock after reset, 12 MHz"), "{result:#?}");
    let result = run_rtmark(folder.path(), &[&base[..], &["--clock", "24MHz"]].concat());
    assert!(result.stdout.contains("stm32c031,cortex-m0plus,24000000,"), "{result:#?}");
    let without = ["import", "--from-sim", "z.elf", "--soc", "mps2-an385", "--crystal", "8MHz"];
    run_rtmark(folder.path(), &without).assert_error(2, &["--crystal", "has no crystal"]);
}

#[test]
fn unreadable_input_is_rejected() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), &[&["import"], arguments].concat());
    run(&["nope.log"]).assert_error(2, &["nope.log", "check the path"]);
    std::fs::write(folder.path().join("empty.log"), "hello\n").expect("writable");
    run(&["empty.log"])
        .assert_error(4, &["no rows of a known suite in empty.log", "docs/import.md"]);
    std::fs::write(folder.path().join("bad.json"), "{\"rtmark_import\": 9, \"rows\": []}")
        .expect("writable");
    run(&["bad.json"]).assert_error(2, &["bad.json", "version 9"]);
    assert_eq!(run(&["uart.log", "--format", "x"]).code, 2);
    run(&["--from-sim", "uart.log", "--soc", "stm32c031"])
        .assert_error(2, &["uart.log", "rtmark sim"]);
    for (core, warns) in [("cortex-m9", true), ("cortex-a72", false), ("cortex-m4f", false)] {
        let result = run(&["uart.log", "--core", core, "--dry-run"]);
        assert_eq!(result.code, 0, "{}", result.stderr);
        let warning = "no figures for `cortex-m9`; did you mean `cortex-m";
        assert_eq!(result.stderr.contains(warning), warns, "{}", result.stderr);
    }
    run(&["--from-sim", "uart.log", "--soc", "nope"]).assert_error(4, &["no soc is called `nope`"]);
    assert_eq!(run(&[]).code, 2);
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_read_up_to_a_limit() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), &[&["import"], arguments].concat());
    let endless = "/dev/zero: it holds more than 256 MiB";
    run(&["/dev/zero"]).assert_error(2, &[endless, "split the file"]);
    run(&["--from-sim", "/dev/zero", "--soc", "stm32c031"]).assert_error(2, &[endless]);
    std::fs::create_dir(folder.path().join("catalogue")).expect("made");
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("catalogue/a.toml")).expect("made");
    let catalogue = ["--catalogue", "catalogue", "uart.log"];
    run(&catalogue).assert_error(2, &["a.toml: it holds more than 256 MiB"]);
}

#[test]
fn bundles_of_other_stores_are_imported() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    assert_eq!(run(&["import", "uart.log", "-q"]).code, 0);
    let exported = run(&["export", "imported", "-o", "x.rtmark"]);
    assert_eq!(exported.code, 0, "{exported:#?}");
    let other = run(&["import", "x.rtmark", "--store", "other.db"]);
    assert_eq!(other.code, 0, "{other:#?}");
    assert!(other.stderr.contains("x.rtmark: added 1 run with 3 answers"), "{other:#?}");
    let again = run(&["import", "x.rtmark", "--store", "other.db"]);
    assert!(again.stderr.contains("added 0 runs with 0 answers; 1 run already"), "{again:#?}");
    let dry = run(&["import", "x.rtmark", "--dry-run", "--store", "third.db"]);
    assert!(dry.stderr.contains("1 run with 3 answers; nothing stored"), "{dry:#?}");
    assert!(!folder.path().join("third.db").exists());
    let text = std::fs::read_to_string(folder.path().join("x.rtmark")).expect("there");
    std::fs::write(folder.path().join("cut.rtmark"), &text[..text.len() / 2]).expect("writable");
    for more in [&[][..], &["--dry-run"]] {
        let cut = run(&[&["import", "cut.rtmark", "--store", "third.db"], more].concat());
        cut.assert_error(2, &["cut.rtmark: the bundle: ", "nothing was imported"]);
    }
}

#[test]
fn gzipped_logs_are_imported() {
    let folder = folder();
    let packed = Command::new("gzip").args(["-k", "uart.log"]).current_dir(folder.path()).status();
    assert!(packed.expect("gzip runs").success());
    let log = run_rtmark(folder.path(), &["import", "uart.log.gz"]);
    assert!(log.stderr.contains("3 rows, 1 flagged, 1 line unreadable"), "{log:#?}");
    let bytes = std::fs::read(folder.path().join("uart.log.gz")).expect("there");
    std::fs::write(folder.path().join("cut.gz"), &bytes[..20]).expect("writable");
    run_rtmark(folder.path(), &["import", "cut.gz"]).assert_error(2, &["cut.gz"]);
}

#[test]
fn without_a_store_no_row_is_reported_as_stored() {
    let folder = folder();
    std::fs::write(folder.path().join("noise.db"), [0x55; 5000]).expect("writable");
    let refused = run_rtmark(folder.path(), &["import", "uart.log", "--store", "noise.db"]);
    refused.assert_error(1, &["noise.db", "damaged or not a store"]);
    assert_eq!(refused.stdout, "");
}

#[test]
fn published_figures_are_listed_with_their_sources() {
    let folder = folder();
    let list = run_rtmark(folder.path(), &["list", "published"]);
    assert_eq!(list.code, 0, "{list:#?}");
    assert!(list.stdout.contains("https://tweedegolf.nl/"), "sources are named");
    assert!(list.stdout.contains("program size 20676 bytes"));
    let json = run_rtmark(folder.path(), &["list", "published", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let entries = json.as_array().expect("a list");
    assert!(entries.len() > 400 && entries.iter().all(|entry| entry["source"].is_string()));
}

/// A store on a disk of its own, which is taken away at the end.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None where this may not be done.
    fn new(at: &std::path::Path, size: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is passed over says so")]
fn a_full_disk_loses_no_finished_result() {
    let folder = folder();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("made");
    let Some(_disk) = SmallDisk::new(&disk, "768k") else {
        eprintln!("passed over: only root may mount a small disk");
        return;
    };
    let rows: Vec<_> = (0..2000)
        .map(|n| format!("a.row_{n} - row {n} : {} cycles , {} ns :\n", 100 + n, 1000 + 10 * n))
        .collect();
    std::fs::write(folder.path().join("long.log"), rows.concat()).expect("writable");
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    let store = ["--store", "disk/s.sqlite"];
    assert_eq!(run(&[&["import", "uart.log", "-q"], &store[..]].concat()).code, 0);
    let full = run(&[&["import", "long.log", "-q"], &store[..]].concat());
    full.assert_error(1, &["no room to write", "disk/s.sqlite", "make room"]);
    let log = run(&[&["log", "--format", "json"], &store[..]].concat());
    let log: serde_json::Value = serde_json::from_str(&log.stdout).expect("JSON");
    let runs = log["runs"].as_array().expect("runs");
    assert_eq!((runs.len(), &runs[1]["answers"]), (2, &3.into()), "{log}");
    assert!(runs[0]["finished_ms"].is_null(), "{log}");
    let kept = runs[0]["answers"].as_u64().expect("a number");
    assert!((1..2000).contains(&kept), "what was finished before is there: {log}");
    let shown = run(&[&["show", "imported", "--format", "json"], &store[..]].concat());
    assert_eq!(shown.code, 0, "{shown:#?}");
}

#[test]
fn csv_has_averages_and_flags_and_prefers_printed_figures() {
    let folder = folder();
    let log = "T: 0 ( 1501) P:98 I:1000 C:  60000 Min:      2 Act:    3 Avg:    3 Max:      19\n\
               a.b - c : 66 cycles , 1071 ns :\na.c - c : 100 cycles , 1600 ns :\n\
               a.d - c : 0 cycles , 0 ns :\n";
    std::fs::write(folder.path().join("x.log"), log).expect("writable");
    let csv = run_rtmark(folder.path(), &["import", "x.log", "--show", "csv", "-q"]);
    let lines: Vec<Vec<&str>> = csv.stdout.lines().map(|line| line.split(',').collect()).collect();
    let cell = |row: usize, name: &str| {
        let at = lines[0].iter().position(|column| *column == name).expect("a column");
        lines[row + 1][at]
    };
    let of = |row, names: &[&str]| names.iter().map(|name| cell(row, name)).collect::<Vec<_>>();
    let names = ["samples", "min", "mean", "max", "typical", "statistic", "clock_hz", "flags"];
    assert_eq!(of(0, &names), ["60000", "2000", "3000", "19000", "3000", "mean", "", ""]);
    assert_eq!(of(1, &["mean", "typical_ns", "clock_hz"]), ["66", "1071", "62500000"]);
    assert_eq!(of(3, &["typical", "flags"]), ["0", "zero: it took no time"]);
    assert_eq!(
        of(3, &["suite", "row", "file", "line"]),
        ["zephyr-latency-measure", "a.d", "x.log", "4"]
    );
    let shown = run_rtmark(folder.path(), &["show", "imported", "--format", "csv"]);
    assert_eq!(shown.stdout, csv.stdout, "show says what import said");
}

#[test]
fn both_runs_in_one_log_are_stored_and_printed() {
    let folder = folder();
    let run = |min: u32| format!("T: 0 ( 9) P:98 I:1000 C: 500 Min: {min} Act: 9 Avg: 9 Max: 90\n");
    let log = [
        "# /dev/cpu_dma_latency set to 0us\n",
        &run(2),
        "# /dev/cpu_dma_latency set to 0us\n",
        &run(3),
    ];
    std::fs::write(folder.path().join("x.log"), log.concat()).expect("writable");
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    let table = run(&["import", "x.log"]);
    assert!(table.stdout.matches("thread 0").count() == 2, "{table:#?}");
    let shown = run(&["show", "imported"]);
    assert_eq!(shown.stdout, table.stdout);
    let page = run(&["report", "imported", "-o", "r.html"]);
    assert_eq!(page.code, 0, "{page:#?}");
    let page = std::fs::read_to_string(folder.path().join("r.html")).expect("there");
    assert!(page.matches("thread 0").count() >= 2);
    let again = run(&["compare", "imported", "imported", "--format", "json"]);
    let pairs: serde_json::Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(pairs["pairs"].as_array().expect("a list").len(), 2, "the first and the second");
    let markdown = run(&["show", "imported", "--format", "md"]);
    assert_eq!(markdown.stdout.matches("thread 0").count(), 2, "{markdown:#?}");
}

#[test]
fn latest_skips_imports_and_history_includes_them() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    let other = LOG.replace("240 cycles ,     5000 ns", "288 cycles ,     6000 ns");
    std::fs::write(folder.path().join("later.log"), other).expect("writable");
    assert_eq!(run(&["import", "uart.log", "-q", "--soc", "b"]).code, 0);
    assert_eq!(run(&["import", "later.log", "-q", "--soc", "b"]).code, 0);
    run(&["show"]).assert_error(4, &["no complete run yet", "there are 2", "`imported`"]);
    assert!(run(&["show", "imported"]).stdout.contains("288 cycles"));
    assert!(run(&["show", "imported~1"]).stdout.contains("240 cycles"));
    run(&["show", "imported~2"]).assert_error(4, &["import 3 from the newest, and 2 are complete"]);
    run(&["name", "imported", "imported"]).assert_error(2, &["not allowed as the name of a run"]);
    let row = "zephyr-latency-measure.thread.yield.preemptive.ctx.k_to_k";
    let history = run(&["history", row, "-k", "zephyr", "--soc", "b"]);
    assert_eq!(history.code, 0, "{history:#?}");
    let lines: Vec<_> = history.stdout.lines().collect();
    assert!(lines[1].contains("240") && lines[2].contains("288"), "{history:#?}");
    assert!(!lines[2].contains('\u{25c6}'), "no change without samples: {history:#?}");
    assert!(history.stderr.contains("averages from logs"), "{history:#?}");
    let none = run(&["history", row, "-k", "zephir", "--soc", "b"]);
    none.assert_error(4, &["no run has the kernel `zephir`", "did you mean `zephyr`"]);
}

#[test]
fn a_history_tells_of_flagged_figures() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    let head = "kernel,soc,scenario,unit,value,from,to,flag\n";
    for (name, flag) in [("one.csv", ",odd"), ("two.csv", ",")] {
        let text = format!("{head}k,b,x.y,cycles,100,p,q{flag}\n");
        std::fs::write(folder.path().join(name), text).expect("writable");
    }
    let history = ["history", "x.y", "-k", "k", "--soc", "b"];
    assert_eq!(run(&["import", "one.csv", "-q"]).code, 0);
    run(&history).assert_error(4, &["all figures of x.y of k on b are flagged", "rtmark show RUN"]);
    assert_eq!(run(&["import", "two.csv", "-q"]).code, 0);
    let shown = run(&history);
    assert!(shown.code == 0 && shown.stdout.contains("1 run"), "{shown:#?}");
    assert!(shown.stderr.contains("1 flagged figure left out"), "{shown:#?}");
}

#[test]
fn html_shows_several_runs_and_markdown_one() {
    let folder = folder();
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    let other = LOG.replace("240 cycles ,     5000 ns", "288 cycles ,     6000 ns");
    std::fs::write(folder.path().join("later.log"), other).expect("writable");
    assert_eq!(run(&["import", "uart.log", "-q", "--soc", "b"]).code, 0);
    assert_eq!(run(&["import", "later.log", "-q", "--soc", "b"]).code, 0);
    let both = ["report", "imported", "imported~1", "-o", "both.html"];
    let result = run(&both);
    assert!(result.code == 0 && result.stderr.contains("6 answers to both.html"), "{result:#?}");
    let page = std::fs::read_to_string(folder.path().join("both.html")).expect("there");
    assert!(page.contains("288 cycles") && page.contains("240 cycles"), "rows of both");
    // The same run twice is one.
    let result = run(&["report", "imported", "imported", "-o", "one.html"]);
    assert!(result.stderr.contains("3 answers to one.html"), "{result:#?}");
    run(&["report", "imported", "imported~1", "--format", "md"])
        .assert_error(2, &["--format md shows a single run", "rtmark compare BEFORE AFTER"]);
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is passed over says so")]
fn reports_are_written_atomically() {
    let folder = folder();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).expect("made");
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    assert_eq!(run(&["import", "uart.log", "-q"]).code, 0);
    std::os::unix::fs::symlink("real.html", folder.path().join("link.html")).expect("made");
    std::fs::write(folder.path().join("real.html"), "old").expect("writable");
    assert_eq!(run(&["report", "imported", "-o", "link.html"]).code, 0);
    assert!(std::fs::read_to_string(folder.path().join("real.html")).expect("there").len() > 3);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("one").file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let Some(_disk) = SmallDisk::new(&disk, "16k") else {
        eprintln!("passed over: only root may mount a small disk");
        return;
    };
    std::fs::write(disk.join("r.html"), "old").expect("writable");
    run(&["report", "imported", "-o", "disk/r.html"])
        .assert_error(1, &["disk/r.html", "No space left", "free some space"]);
    assert_eq!(std::fs::read_to_string(disk.join("r.html")).expect("there"), "old");
    assert_eq!(std::fs::read_dir(&disk).expect("a folder").count(), 1, "nothing else stays");
}

#[test]
fn long_logs_are_shown_in_full_across_pages() {
    let folder = folder();
    let row =
        |n: u32| format!("a.row_{n} - row {n} : {} cycles , {} ns :\n", 100 + n, 1000 + 10 * n);
    let rows: String = (0..3000).map(row).collect();
    std::fs::write(folder.path().join("long.log"), rows).expect("writable");
    let run = |arguments: &[&str]| run_rtmark(folder.path(), arguments);
    assert_eq!(run(&["import", "long.log", "-q"]).code, 0);
    let table = run(&["show", "imported"]).stdout;
    let headings = table.lines().filter(|line| line.contains(" \u{b7} ")).count();
    assert_eq!((headings, table.matches("a.row_").count()), (1, 3000), "a heading once");
    let csv = run(&["show", "imported", "--format", "csv"]).stdout;
    assert_eq!((csv.lines().count(), csv.matches(",clock_hz,").count()), (3001, 1));
    let json = run(&["show", "imported", "--format", "json", "-s", "*.a.row_29*"]).stdout;
    let json: rtmark_model::Document = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json.answers.len(), 111);
    run(&["show", "imported", "-s", "b.*"]).assert_error(4, &["no scenario of run", "`b.*`"]);
    run(&["show", "imported", "-s", "*", "b.*"]).assert_error(4, &["fits `b.*`"]);
}
