use rtmark_firmware::probes::Kind;
use rtmark_model::{Catalogue, Point, Unpaired};

use super::*;
use crate::clocked::tests::{CALIBRATION, ended, records};

/// A scenario of two samples, in an image with the probes of the tests of logs.
fn scenario() -> Scenario {
    let catalogue = Catalogue::builtin().expect("good");
    let known = catalogue.scenarios().first().expect("scenarios");
    let id = "a.b".parse().expect("a name");
    Scenario { id, samples: 2, point: None, held_back: None, ..known.clone() }
}

fn image() -> Clocked {
    let selected = Record { kind: Kind::Scenario(3), scenario: scenario().id };
    let records = records().into_iter().chain([selected]).collect();
    Clocked { elf: Vec::new(), records, path: "a.elf".to_owned() }
}

const SUCCEEDED: RunEnd<'_> =
    RunEnd { ending_text: "its end", succeeded: true, place: "on a bench", counter: None };

/// What a run of these spans prints, with the scenario that it ran.
fn printed(select: &str, spans: &str, lost: u32, rest: &str) -> Vec<u8> {
    let log = format!("@^ {select}\n{CALIBRATION}{spans}");
    (ended(&log, lost) + rest).into_bytes()
}

const SPANS: &str =
    "@  00000031 00001000 00000041 00001020\n@  00000031 00002000 00000041 00002030\n";

fn values(measured: &Measured) -> Vec<u64> {
    measured.samples.0.iter().map(|(value, _)| value).collect()
}

#[test]
fn a_log_becomes_samples_and_what_was_subtracted() {
    let console = printed("00000003", SPANS, 0, "a.b ok primes=7\n@! 0\n");
    let measured = judge(&console, SUCCEEDED, &image(), &scenario()).expect("good");
    // The pair of probes costs 12: see the tests of logs.
    assert_eq!(values(&measured), [0x20 - 12, 0x30 - 12]);
    assert_eq!(measured.unpaired, Unpaired::default());
    let facts: Vec<_> =
        measured.facts.iter().map(|(key, value)| format!("{key} {value}")).collect();
    assert_eq!(facts, ["primes 7", "~probe_begin 36", "~probe_end 52", "~probe_ends 12"]);
    assert!(measured.declined.is_none());
    // A counter that counts twice for each instruction: a nanosecond each, at 2 GHz.
    let counter = Some(CoreCounter { hz: 2_000_000_000, shift: 0 });
    let halved = judge(&console, RunEnd { counter, ..SUCCEEDED }, &image(), &scenario());
    assert_eq!(values(&halved.expect("good")), [0x10 - 6, 0x18 - 6]);
}

/// One of two samples is missing, or was spoilt by the printing of the log.
#[test]
fn samples_that_printing_spoilt_are_not_missing() {
    let spoilt = "@  00000031 00001000\n@+ 00000041 00009000 00000031 00009100 00000041 00009110\n";
    let missing = "@  00000031 00009100 00000041 00009110\n";
    for (spans, enough) in [(spoilt, true), (missing, false)] {
        let console = printed("00000003", spans, 0, "a.b ok\n");
        let judged = judge(&console, SUCCEEDED, &image(), &scenario());
        assert_eq!(judged.as_ref().map(values).ok(), enough.then(|| vec![0x10 - 12]), "{spans}");
    }
}

#[test]
fn a_point_may_be_declined() {
    let id = scenario().id;
    let point = Some(Point { curve: id.clone(), of: "tasks".to_owned(), n: 16 });
    let point = Scenario { id: "a.b.16".parse().expect("a name"), point, ..scenario() };
    assert_eq!(image().word(&point), Some(16 << 16 | 3));
    let console = printed("00100003", "", 0, "a.b n/a: no room\n");
    let measured = judge(&console, SUCCEEDED, &image(), &point).expect("declined");
    assert_eq!(measured.declined.as_deref(), Some("no room"));
}

#[test]
fn output_that_shows_no_measurement_is_a_failure() {
    let good = |rest: &str| printed("00000003", SPANS, 0, rest);
    let failed = RunEnd { succeeded: false, ..SUCCEEDED };
    let outputs = [
        (printed("00000004", SPANS, 0, "a.b ok\n"), SUCCEEDED, "it ran scenario 0x4 of its image"),
        (
            printed("00000003", "@  00000099 00001000\n", 0, "a.b ok\n"),
            SUCCEEDED,
            "it has a probe at 0x00000099",
        ),
        (good(""), SUCCEEDED, "it ended without saying `a.b ok` (its end)"),
        (good("a.b FAILED: 1\n"), SUCCEEDED, "it says: FAILED: 1"),
        (good("a.b ok\n@! 1\n"), SUCCEEDED, "it printed ok, but ended with its end"),
        (good("a.b ok\n"), failed, "it printed ok, but ended with its end"),
        (printed("00000003", SPANS, 9, "a.b ok\n"), SUCCEEDED, "9 probes were reached after"),
        (b"a.b ok\n".to_vec(), SUCCEEDED, "its probe log is cut off (its end)"),
        (good("a.b ok\n@? 1\n"), SUCCEEDED, "contains the invalid line `@? 1`"),
    ];
    for (console, end, message) in outputs {
        let failure = judge(&console, end, &image(), &scenario()).expect_err(message);
        assert!(failure.message.contains(message), "{message}: {}", failure.message);
        assert!(failure.message.ends_with("[a.elf on a bench]"), "{}", failure.message);
        assert_eq!(failure.kind, FailureKind::Check, "{message}");
        // What was received whole and is invalid is the line's fault.
        let is_lines = message.contains("invalid line");
        assert_eq!(failure.hint.contains("loses bytes"), is_lines, "{message}: {}", failure.hint);
    }
    // Of a long console that has no log, the end is shown.
    let console = [vec![b'x'; 5000], b"the end\n".to_vec()].concat();
    let failure = judge(&console, SUCCEEDED, &image(), &scenario()).expect_err("no log");
    assert_eq!((failure.console.len(), failure.console.ends_with("the end\n")), (4096, true));
}

#[test]
fn only_an_image_with_the_scenario_can_be_given_one() {
    let other = Scenario { id: "a.z".parse().expect("a name"), ..scenario() };
    assert_eq!(image().word(&other), None);
    for scenario in [scenario(), other] {
        let failure = image().with(&scenario, "on a bench").expect_err("no file");
        assert_eq!(failure.kind, FailureKind::Build);
        let wanted = format!("it cannot select {} [a.elf on a bench]", scenario.id);
        assert_eq!(failure.message, wanted);
    }
    let probed = crate::tests::programs::Program::default().probed();
    let clocked = Clocked { elf: probed.elf, records: probed.records, path: probed.path };
    let elf = clocked.with(&crate::tests::programs::scenario(), "on a bench").expect("selected");
    assert_eq!(elf.len(), clocked.elf.len());
    assert_ne!(elf, clocked.elf);
}
