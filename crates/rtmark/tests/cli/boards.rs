//! Boards, without one: a pseudo-terminal behind which the simulator runs what was loaded, and a
//! session that was recorded that way.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::Duration;

use rtmark_board::Heard;
use rtmark_runner::{Session, socs};
use rtmark_sim::{Cycles, Image};
use serde_json::Value;
use serialport::{SerialPort, TTYPort};

/// A file of the repository.
fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder for one test: the store, what is loaded, what is recorded.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn rtmark(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rtmark"))
            .args(arguments)
            .env("RTMARK_STORE", self.path("store.sqlite"))
            .env("RTMARK_BUILD", Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build"))
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .output()
            .expect("it runs")
    }

    fn expect_success(&self, arguments: &[&str]) -> String {
        let output = self.rtmark(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn trouble(&self, exit: i32, arguments: &[&str]) -> String {
        let output = self.rtmark(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {errors}");
        // As one line, without the frame that wraps it.
        errors.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The samples of each scenario, as a document has them.
fn samples(document: &Value, kind: &str) -> Vec<(String, Value)> {
    let answers = document["answers"].as_array().expect("answers");
    let sample = |answer: &Value| {
        let readings = &answer["readings"];
        let list = match kind {
            "sampled" => readings["sampled"]["samples"].clone(),
            kind => readings[kind].clone(),
        };
        assert!(list.is_array(), "{kind}: {answer}");
        (answer["key"]["scenario"].as_str().expect("a name").to_owned(), list)
    };
    answers.iter().map(sample).collect()
}

/// Loaded firmware runs in the simulator, and what its UART sends goes over the line.
struct Board {
    port: String,
    load: String,
    stop: PathBuf,
    thread: JoinHandle<usize>,
}

impl Board {
    fn new(place: &Place) -> Self {
        let (mut line, far) = TTYPort::pair().expect("pseudo-terminals");
        let port = far.name().expect("a path");
        drop(far);
        let (loaded, stop) = (place.path("loaded.elf"), place.path("stop"));
        let (part, goes) = (place.path("part"), loaded.display());
        let load = format!("cp {{elf}} '{0}' && mv '{0}' '{goes}'", part.display());
        let soc = socs::find("stm32c031").expect("built in").soc;
        let ends = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut runs = 0;
            while !ends.exists() {
                let Ok(elf) = std::fs::read(&loaded) else {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                };
                std::fs::remove_file(&loaded).expect("it was there");
                runs += 1;
                let image = Image::from_elf(&elf).expect("an image");
                let mut session = Session::new(&soc, &image).expect("it fits");
                let mut heard = Heard::default();
                let mut until = Cycles(0);
                while !heard.has_ended() && until < Cycles(5_000_000_000) {
                    until = until.saturating_add(Cycles(5_000_000));
                    session.run(until, |machine| heard.add(&machine.take_console()));
                }
                let console = heard.into_console();
                // The first run is reset half-way.
                let cut = if runs == 1 { console.len() / 2 } else { 0 };
                let sent = [&console[..cut], &console].concat();
                send(&mut line, &sent);
            }
            runs
        });
        Self { port, load, stop, thread }
    }

    /// How many programs it ran.
    fn end(self) -> usize {
        std::fs::write(&self.stop, "").expect("a file");
        self.thread.join().expect("it ran")
    }
}

/// In pieces of a few bytes; a reader that is slow is waited for.
fn send(line: &mut TTYPort, bytes: &[u8]) {
    for piece in bytes.chunks(61) {
        let mut rest = piece;
        while !rest.is_empty() {
            match line.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
                Err(_) => return,
            }
        }
    }
}

const SCENARIOS: [&str; 2] = ["thread.yield", "semaphore.give.immediate"];

#[test]
fn a_board_is_loaded_captured_recorded_and_scored() {
    let place = Place::new();
    let board = Board::new(&place);
    let record = place.path("session.jsonl").display().to_string();
    let port = board.port.clone();
    let kernels = ["floor", "embassy"];
    let mut what = vec!["--soc", "stm32c031", "--kernel", kernels[0], kernels[1], "--scenario"];
    what.extend(SCENARIOS);
    let runs = kernels.len() * SCENARIOS.len();
    let load = board.load.clone();
    let way = ["--port", &port, "--load", &load, "--record", &record];
    let base = ["run", "--format", "json"];
    let on_board = place.expect_success(
        &[&base[..], &["--backend", "board", "--name", "one"], &what, &way].concat(),
    );
    assert_eq!(board.end(), runs, "each scenario of each kernel is loaded");

    // The board is the simulator: its samples are those of the same image there, one by one.
    let on_board = json(&on_board);
    let here = json(&place.expect_success(&[&base[..], &["--clocked=uart"], &what].concat()));
    assert_eq!(samples(&on_board, "sampled"), samples(&here, "exact"));
    assert_eq!(samples(&on_board, "sampled").len(), runs);
    let series = &on_board["answers"][0];
    assert_eq!(series["key"]["backend"], "board");
    assert_eq!(series["clock"], 12_000_000);
    assert_eq!(series["span"]["overhead"], "subtracted");
    assert_eq!(series["provenance"]["board"]["name"], "nucleo-c031c6");
    let link = series["provenance"]["board"]["link"].as_str().expect("a way");
    assert!(link.contains(&port) && link.contains("115200 baud"), "{link}");
    let cost: u64 = series["facts"]["~probe_ends"].as_str().expect("a cost").parse().expect("it");
    assert!((20..200).contains(&cost), "{cost}");

    // Read again from the recording.
    let again = ["--backend", "board", "--from", &record, "--name", "two"];
    let again = json(&place.expect_success(&[&base[..], &again].concat()));
    let known = |document: &Value| document["answers"].as_array().expect("answers").clone();
    let key = |answer: &Value| answer["key"].to_string();
    for answer in known(&again) {
        let same = known(&on_board).into_iter().find(|one| key(one) == key(&answer));
        assert_eq!(same.expect("it was measured")["readings"], answer["readings"]);
    }
    let compared = place.expect_success(&["compare", "one", "two", "--all"]);
    assert!(compared.contains("thread.yield"), "{compared}");

    // Scored: the board is the simulator, and the image is the same.
    let score = json(&place.expect_success(&[
        "validate",
        "stm32c031",
        "--from",
        &record,
        "--format",
        "json",
    ]));
    assert_eq!(score["score"]["figures"], runs);
    assert_eq!(score["score"]["exact"], 1.0);
    assert_eq!(score["rows"][0]["same_image"], true);
    assert!(score["rows"][0]["plain"].is_u64(), "{score}");
    let schema = json(&file("docs/schema/validate.schema.json"));
    assert!(jsonschema::is_valid(&schema, &score), "{score}");
}

#[test]
fn recorded_sessions_are_read_without_their_image() {
    let place = Place::new();
    let path = place.path("session.jsonl");
    let session = file("crates/rtmark/tests/cli/stm32c031-session.jsonl");
    std::fs::write(&path, &session).expect("written");
    let from = path.display().to_string();
    let read = ["run", "--backend", "board", "--from", &from];
    let table = place.expect_success(&read);
    assert!(table.contains("backend board"), "{table}");
    let document = json(&place.expect_success(&[&read[..], &["--format", "json"]].concat()));
    let typical = |index: usize| document["answers"][index]["statistics"]["steady"]["p50"].clone();
    assert_eq!([typical(0), typical(1)], SESSION_MEDIANS.map(Value::from));
    let one = place
        .expect_success(&[&read[..], &["--scenario", "thread.*", "--format", "json"]].concat());
    assert_eq!(json(&one)["answers"].as_array().map(Vec::len), Some(1));
    assert!(
        place
            .trouble(4, &[&read[..], &["--kernel", "rtic"]].concat())
            .contains("none of the recorded runs")
    );
    let of_soc = |soc| [&read[..], &["--soc", soc]].concat();
    assert_eq!(place.expect_success(&of_soc("nucleo-c031c6")), table);
    assert!(place.trouble(4, &of_soc("stm32f405")).contains("no recorded run is of stm32f405"));
    // Nothing is measured, and what was recorded before is still there.
    let board = ["run", "--backend", "board", "--soc", "nucleo-c031c6", "--port", "/dev/null"];
    place.trouble(4, &[&board[..], &["--scenario", "no.such", "--record", &from]].concat());
    assert_eq!(std::fs::read_to_string(&path).expect("there"), session);

    // A digit of a count changed on its way; a line lost; the end lost.
    let spoil = |change: &dyn Fn(&str) -> String| {
        std::fs::write(&path, change(&session)).expect("written");
        place.rtmark(&read)
    };
    let stderr_of = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let digit = spoil(&|text| {
        let at = text.find("@+ ").expect("a line") + 12;
        let other = if &text[at..=at] == "0" { "1" } else { "0" };
        format!("{}{other}{}", &text[..at], &text[at + 1..])
    });
    assert!(stderr_of(&digit).contains("corrupted in transmission"), "{}", stderr_of(&digit));
    let cut = spoil(&|text| text.replacen("@. ", "", 1));
    assert!(!cut.status.success() && stderr_of(&cut).contains("cut off"), "{}", stderr_of(&cut));
    let other = spoil(&|text| text.replace("\"at\":", "\"at\":1"));
    assert!(stderr_of(&other).contains("the board runs another build"), "{}", stderr_of(&other));
    let none = spoil(&|_| "{}\n".to_owned());
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr_of(&none).contains("not an rtmark recording"), "{}", stderr_of(&none));
    let last = session.lines().last().expect("a run");
    let twice = spoil(&|text| format!("{text}{last}\n"));
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr_of(&twice).contains("is in line 3, too"), "{}", stderr_of(&twice));
    let stopped = spoil(&|text| text.replacen("\"clock\":12000000", "\"clock\":0", 1));
    assert_eq!(stopped.status.code(), Some(2));
    assert!(stderr_of(&stopped).contains("line 2: the clock"), "{}", stderr_of(&stopped));
}

/// A session as it would be on a board that takes twice as long for everything: each count is doubled, and
/// the sum is what it then is.
fn twice_as_slow(session: &str) -> String {
    let slower = |line: &str| {
        let mut run: Value = serde_json::from_str(line).expect("JSON");
        if let Some(console) = run["console"].as_str() {
            run["console"] = doubled(console).into();
        }
        run.to_string() + "\n"
    };
    session.lines().map(slower).collect()
}

fn doubled(console: &str) -> String {
    let mut sum = 0_u32;
    let line = |line: &str| {
        let Some(kind) = line.trim_end().strip_prefix('@').and_then(|rest| rest.chars().next())
        else {
            return line.to_owned();
        };
        let words = line[2..].split_whitespace();
        let mut words: Vec<_> =
            words.map(|word| u32::from_str_radix(word, 16).expect("hexadecimal")).collect();
        match kind {
            '^' => {}
            '+' | ' ' => {
                words.iter_mut().skip(1).step_by(2).for_each(|word| *word = word.wrapping_mul(2));
            }
            '.' => words.truncate(1),
            _ => return line.to_owned(),
        }
        sum = words.iter().fold(sum, |sum, word| sum.rotate_left(1).wrapping_add(*word));
        if kind == '.' {
            words.push(sum);
        }
        let words: Vec<_> = words.iter().map(|word| format!("{word:08x}")).collect();
        format!("@{kind} {}\n", words.join(" "))
    };
    console.split_inclusive('\n').map(line).collect()
}

#[test]
fn recorded_sessions_are_compared_and_gated() {
    let place = Place::new();
    let session = file("crates/rtmark/tests/cli/stm32c031-session.jsonl");
    for (name, text) in [("before", session.clone()), ("after", twice_as_slow(&session))] {
        let path = place.path(name);
        std::fs::write(&path, text).expect("written");
        let from = path.display().to_string();
        place.expect_success(&["run", "--backend", "board", "--from", &from, "--name", name]);
        place.expect_success(&[
            "run",
            "--backend",
            "board",
            "--from",
            &from,
            "--name",
            &format!("{name}2"),
        ]);
    }
    let gate =
        |baseline, run| place.rtmark(&["gate", "--baseline", baseline, run, "--format", "json"]);
    // The same samples again are no regression, and twice as many cycles are one.
    assert_eq!(gate("before", "before2").status.code(), Some(0));
    assert_eq!(gate("after", "before").status.code(), Some(0));
    let slower = gate("before", "after");
    assert_eq!(slower.status.code(), Some(3), "{}", String::from_utf8_lossy(&slower.stderr));
    let compared = place.rtmark(&["compare", "before", "after"]);
    assert_eq!(compared.status.code(), Some(3));
    let text = String::from_utf8_lossy(&compared.stdout);
    let [from, _] = SESSION_MEDIANS;
    assert!(text.contains(&format!("median {from} → {}", 2 * from)), "{text}");
    assert!(text.contains("2 worse") && text.contains("bootstrap interval"), "{text}");
}

/// Of the session's scenarios, in the order of answers.
const SESSION_MEDIANS: [u64; 2] = [46, 7];

#[test]
fn missing_pieces_are_reported_with_a_remedy() {
    let place = Place::new();
    let board = ["run", "--backend", "board", "--kernel", "floor", "--scenario", "thread.yield"];
    let with = |more: &[&'static str]| [&board[..], more].concat();
    let text = place.trouble(2, &board);
    assert!(text.contains("--soc") && text.contains("nucleo-c031c6"), "{text}");
    let text = place.trouble(4, &with(&["--soc", "stm32c013"]));
    assert!(text.contains("did you mean `stm32c031`?"), "{text}");
    let text = place.trouble(13, &with(&["--soc", "stm32c031", "--port", "/dev/rtmark-none"]));
    assert!(text.contains("/dev/rtmark-none") && !text.contains("building"), "{text}");
    let text = place.trouble(2, &with(&["--soc", "nrf52840", "--port", "/dev/rtmark-none"]));
    assert!(text.contains("debug probe"), "{text}");
    let text = place.trouble(2, &["run", "--port", "/dev/ttyACM0"]);
    assert!(text.contains("--backend board"), "{text}");
    let text = place.trouble(2, &["run", "--backend", "qemu", "--clocked"]);
    assert!(text.contains("to the simulator"), "{text}");
    if cfg!(not(feature = "board")) {
        let text = place.trouble(13, &with(&["--soc", "stm32c031"]));
        assert!(text.contains("make board") && text.contains("--port"), "{text}");
    }
}
