//! Runs the program natively.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::image::{PRINTED, faults, interrupted, prints, speeds_up, works};

/// Reads a chip's file.
pub fn soc(name: &str) -> String {
    let path = format!("{}/../../socs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a soc file")
}

/// The request that opens an image, with its files.
fn opening(soc: &str, image: &[u8], cycles: u64, pend: &Value) -> Vec<u8> {
    opening_for(soc, image, (cycles, None), pend)
}

/// The same, for a run that ends after cycles or nanoseconds.
fn opening_for(soc: &str, image: &[u8], limit: (u64, Option<u64>), pend: &Value) -> Vec<u8> {
    let (most, lasts) = limit;
    let ask = json!({"ask": "open", "soc": soc.len(), "image": image.len(), "most": most, "lasts": lasts, "pend": pend});
    let mut bytes = format!("{ask}\n").into_bytes();
    bytes.extend(soc.as_bytes());
    bytes.extend(image);
    bytes
}

/// Returns the events of requests.
fn events_of(bytes: &[u8]) -> Vec<Value> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_rtmark-web"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    program.stdin.take().expect("piped").write_all(bytes).expect("written");
    let output = program.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the events of requests about an image.
pub fn events_for(soc: &str, image: &[u8], cycles: u64, asks: &[Value]) -> Vec<Value> {
    let mut bytes = opening(soc, image, cycles, &Value::Null);
    bytes.extend(asks.iter().flat_map(|ask| format!("{ask}\n").into_bytes()));
    events_of(&bytes)
}

/// Returns the events of a kind.
pub fn only<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// Returns how a run ends without intermediate stops.
pub fn ended(soc: &str, image: &[u8], cycles: u64) -> Value {
    let events = events_for(soc, image, cycles, &[json!({"ask": "go", "cycle": cycles})]);
    only(&events, "ended").last().copied().expect("an end").clone()
}

/// Returns the moment at a cycle, in a run that goes straight there.
pub fn moment(soc: &str, image: &[u8], cycle: u64) -> Value {
    let events = events_for(soc, image, 1 << 40, &[json!({"ask": "go", "cycle": cycle})]);
    only(&events, "moment").last().copied().expect("a moment").clone()
}

#[test]
fn a_run_is_reported_from_start_to_end() {
    let go = json!({"ask": "go", "cycle": 1_000_000});
    let events = events_for(&soc("stm32c031"), &prints(), 1_000_000, &[go]);
    assert_eq!(events[0]["event"], "loaded");
    assert_eq!(only(&events, "moment")[0]["clock"], 12_000_000, "the clock after reset");
    assert_eq!(only(&events, "console")[0]["text"], PRINTED);
    let end = only(&events, "ended")[0];
    assert_eq!(end["how"], "exit");
    // Six instructions, of which the last has not completed.
    assert!(end["instructions"].as_u64().is_some_and(|count| (5..=6).contains(&count)));
    let moment = events.last().expect("a moment");
    assert_eq!(moment["console"], PRINTED);
}

#[test]
fn endless_runs_stop_at_their_limit_and_errors_are_reported() {
    let end = ended(&soc("stm32f405"), &works(), 3_000_017);
    assert_eq!(end["how"], "limit");
    let cycles = end["cycles"].as_u64().expect("a count");
    assert!((3_000_017..3_000_100).contains(&cycles), "{end}");
    assert_eq!(ended(&soc("stm32c031"), &faults(), 1_000_000)["how"], "fault");
    for (soc, image, part) in [
        (soc("stm32c031"), vec![], "the image"),
        (soc("stm32c031"), b"\x7fELF nothing".to_vec(), "the image"),
        (soc("stm32c031"), vec![0xff; 64], "does not fit stm32c031"),
        ("name = 3".to_owned(), prints(), "the soc file"),
    ] {
        let events = events_for(&soc, &image, 1000, &[json!({"ask": "step", "by": 1})]);
        assert_eq!(events[0]["event"], "refused", "{events:?}");
        assert!(events[0]["text"].as_str().is_some_and(|text| text.contains(part)), "{events:?}");
        assert!(
            events[1]["text"].as_str().is_some_and(|text| text.contains("no image")),
            "{events:?}"
        );
    }
    let events = events_of(b"nothing\n{\"ask\":\"fly\"}\n");
    assert_eq!(only(&events, "refused").len(), 2, "{events:?}");
}

#[test]
fn time_passes_by_the_clock_registers() {
    let go = json!({"ask": "go", "cycle": u64::MAX});
    for (chip, image, clock, notes) in [
        ("stm32f405", speeds_up(), 168_000, 0),
        ("stm32f405", works(), 16_000, 1),
        ("stm32c031", works(), 12_000, 1),
    ] {
        let limit = (1 << 40, Some(2_000_000));
        let mut bytes = opening_for(&soc(chip), &image, limit, &Value::Null);
        bytes.extend(format!("{go}\n").into_bytes());
        let events = events_of(&bytes);
        assert_eq!(only(&events, "ended")[0]["how"], "limit");
        let moment = only(&events, "moment").last().copied().expect("a moment").clone();
        let time = moment["nanoseconds"].as_u64().expect("a time");
        assert!((2_000_000..2_010_000).contains(&time), "{chip}: {moment}");
        let cycles = moment["cycles"].as_u64().expect("a count");
        assert!((2 * clock - 200..=2 * clock + 200).contains(&cycles), "{chip}: {moment}");
        assert_eq!(moment["clock"], clock * 1000, "{chip}: {moment}");
        assert_eq!(moment["clock_notes"].as_array().map(Vec::len), Some(notes), "{moment}");
    }
}

/// Removes what differs between moments that are reached in different ways.
fn without_reached(moment: &Value) -> Value {
    let mut moment = moment.clone();
    moment["reached"] = Value::Null;
    moment
}

#[test]
fn moments_do_not_depend_on_how_they_are_reached() {
    // A scalar core, one with a pipeline, and one that issues two instructions at once.
    for chip in ["stm32c031", "stm32f405", "stm32h743"] {
        let soc = soc(chip);
        let image = interrupted();
        // Forwards over copies, back to the beginning, into the middle, step by step.
        let asks = [
            json!({"ask": "go", "cycle": 5_000_000}),
            json!({"ask": "go", "cycle": 1_234_567}),
            json!({"ask": "go", "cycle": 3_999_999}),
            json!({"ask": "go", "cycle": 0}),
            json!({"ask": "go", "cycle": 777}),
            json!({"ask": "step", "by": 5}),
            json!({"ask": "step", "by": -5}),
            json!({"ask": "step", "by": -40}),
            json!({"ask": "step", "by": 40}),
            json!({"ask": "go", "cycle": 4_500_001}),
            json!({"ask": "step", "by": -3}),
            json!({"ask": "step", "by": 3}),
        ];
        let events = events_for(&soc, &image, 1 << 40, &asks);
        let moments: Vec<_> =
            only(&events, "moment").into_iter().skip(1).map(without_reached).collect();
        assert_eq!(moments.len(), asks.len(), "{chip}");
        for (ask, moment_found) in asks.iter().zip(&moments) {
            if let Some(cycle) = ask["cycle"].as_u64() {
                assert_eq!(
                    *moment_found,
                    without_reached(&moment(&soc, &image, cycle)),
                    "{chip}: {ask}"
                );
            }
        }
        assert_ne!(moments[4]["registers"], moments[5]["registers"]);
        assert_eq!(moments[4], moments[6], "{chip}: five on and five back");
        assert_eq!(moments[6], moments[8], "{chip}: forty back and forty on");
        assert_eq!(moments[9], moments[11], "{chip}: three back and three on");
    }
}

#[test]
fn a_survey_reports_cycles_and_peripheral_use() {
    let asks = [
        json!({"ask": "go", "cycle": 200_000}),
        json!({"ask": "survey", "from": 50_000, "to": 150_000}),
        json!({"ask": "survey", "from": 50_000, "to": 50_000}),
        json!({"ask": "survey", "from": 0, "to": 20_000_001}),
    ];
    let events = events_for(&soc("stm32f405"), &interrupted(), 1 << 40, &asks);
    let found = only(&events, "surveyed")[0];
    let cycles = found["cycles"].as_u64().expect("a count");
    assert!((99_900..100_200).contains(&cycles), "{cycles}");
    let sum = |list: &Value| -> u64 {
        list.as_array().expect("a list").iter().filter_map(|each| each[1].as_u64()).sum()
    };
    assert_eq!(sum(&found["folded"]), cycles);
    let handlers = &found["lanes"].as_array().expect("a list")[0];
    assert_eq!(handlers["category"], "handler");
    // SysTick every 1000 cycles, of which the first may have begun before.
    let times = handlers["of"].as_u64().expect("a count");
    assert!((99..=101).contains(&times), "{times}");
    let used = found["used"].as_array().expect("a list");
    assert!(
        used.iter().any(|used| used["name"] == "SysTick.CTRL" && used["reads"] == times),
        "{used:?}"
    );
    assert_eq!(only(&events, "refused").len(), 1, "what is empty is refused: {events:?}");
}

#[test]
fn the_worst_moment_is_found_and_reachable() {
    let asks = [
        json!({"ask": "worst", "interrupt": 3, "priority": null, "from": 1000, "to": 21_000}),
        json!({"ask": "worst", "interrupt": 200, "priority": null, "from": 1000, "to": 2000}),
        json!({"ask": "worst", "interrupt": 3, "priority": null, "from": 1000, "to": 1000}),
        json!({"ask": "worst", "interrupt": 3, "priority": 77, "from": 1000, "to": 90_000_000}),
    ];
    let soc = soc("stm32f405");
    let events = events_for(&soc, &interrupted(), 1 << 40, &asks);
    assert_eq!(only(&events, "refused").len(), 3, "{events:?}");
    let found = only(&events, "found")[0];
    let number = |name: &str| found[name].as_u64().expect("a count");
    // SysTick's handler, of the same priority, has to end first.
    assert!(number("worst") > number("least") + 10, "{found}");
    assert!(found["holders"].to_string().contains("SysTick"), "{found}");
    // The same in a run in which the interrupt really comes: its handler begins so much later.
    let (point, worst) = (number("point"), number("worst"));
    let pend = json!({"interrupt": 3, "priority": number("priority"), "at": point});
    let mut bytes = opening(&soc, &interrupted(), 1 << 40, &pend);
    bytes.extend(format!("{}\n", json!({"ask": "go", "cycle": point + worst})).into_bytes());
    let events = events_of(&bytes);
    let moment = only(&events, "moment")[1];
    assert_eq!(moment["cycles"], point + worst, "{moment}");
    assert_eq!(moment["handler"], "IRQ 3", "{moment}");
}
