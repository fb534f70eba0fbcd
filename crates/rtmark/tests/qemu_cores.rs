//! The cores that only QEMU has: every machine answers for FreeRTOS and for Embassy, with the same
//! instructions each time.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

const MACHINES: [&str; 3] = ["rv32-virt", "a72-virt", "zcu102-r5"];

/// Short ones of each kind: with a switch, without, with the heap, without an answer.
const SCENARIOS: [&str; 6] = [
    "thread.{yield,resume.preempt,create}",
    "queue.{send.immediate,handover,receive.64b}",
    "semaphore.*.immediate",
    "heap.malloc.16b",
    "timer.{now,start,tick}",
    "isr.entry",
];

/// The machines, and whether Embassy has a tick there.
const WITH_EMBASSY: [(&str, bool); 3] =
    [("rv32-virt", true), ("a72-virt", false), ("zcu102-r5", false)];

/// What is missing, or the answers of a run without any recollection.
fn answers(kernel: &str, machine: &str, scenarios: &[&str]) -> Result<Vec<Value>, String> {
    let home = tempfile::tempdir().expect("a scratch folder");
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware-build");
    let output = Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(["run", "--backend", "qemu", "--kernel", kernel, "--format", "json"])
        .args(["--soc", machine, "--scenario"])
        .args(scenarios)
        .arg("--store")
        .arg(home.path().join("store.sqlite"))
        .env_remove("RTMARK_FIRMWARE")
        .env_remove("RTMARK_CATALOGUE")
        .env("RTMARK_BUILD", build)
        .output()
        .expect("rtmark runs");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(13) {
        return Err(stderr);
    }
    assert!(output.status.success(), "{machine}: {}\n{stderr}", output.status);
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    Ok(document["answers"].as_array().expect("answers").clone())
}

/// The typical sample of a scenario; none where it does not apply.
fn typical(answers: &[Value], scenario: &str) -> Option<u64> {
    let answer = answers
        .iter()
        .find(|answer| answer["key"]["scenario"] == scenario)
        .unwrap_or_else(|| panic!("{scenario} has an answer"));
    answer["statistics"]["steady"]["p50"].as_u64()
}

/// Both are the same, and counted by QEMU.
fn compare(machine: &str, first: &[Value], again: &[Value]) {
    for (one, other) in first.iter().zip(again) {
        assert_eq!(one["readings"], other["readings"], "{machine} {}", one["key"]["scenario"]);
        if one["answer"] == "measured" {
            assert_eq!(one["basis"], "instructions");
            assert_eq!(one["span"]["overhead"], "subtracted");
            assert!(one["provenance"]["emulator"].as_str().is_some_and(|e| e.contains("QEMU")));
            assert!(one["provenance"]["timing_model"].is_null());
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a machine that is left out is told")]
fn freertos_results_repeat_on_every_core() {
    for machine in MACHINES {
        let first = match answers("freertos", machine, &SCENARIOS) {
            Ok(answers) => answers,
            Err(missing) => {
                // `scripts/setup test` installs all of it where it may.
                eprintln!("{machine} is left out: {missing}");
                continue;
            }
        };
        let again = answers("freertos", machine, &SCENARIOS).expect("the tools are still there");
        let of = |scenario| typical(&first, scenario);
        let measured = |scenario| of(scenario).unwrap_or_else(|| panic!("{machine} {scenario}"));
        compare(machine, &first, &again);
        // A handover is a send, a wait and a switch; a yield is a switch.
        let switch = measured("thread.yield");
        assert!(switch > 50, "{machine}: a yield of {switch} instructions");
        let parts = switch + measured("queue.send.immediate");
        let handover = measured("queue.handover");
        assert!((parts..10 * parts).contains(&handover), "{machine}: {handover}, parts {parts}");
        // A load, in a critical section where the port does not say that one is enough.
        assert!(measured("timer.now") < switch, "{machine}");
        // No instruction of these programs stands where an exception becomes pending.
        assert_eq!((of("timer.tick"), of("isr.entry")), (None, None), "{machine}");
    }
}

/// The Xtensa is there for polls alone, and its counter does not count instructions one by one. A poll takes
/// the same instructions each time, as nothing ticks, so that a count which were rounded would show.
#[test]
#[expect(clippy::print_stderr, reason = "a machine that is left out is told")]
fn polls_are_counted_on_xtensa() {
    let polls = ["events.wait.poll_empty", "events.get.poll", "queue.receive.poll_empty"];
    let [wait, get, queue] = polls;
    let answers = match answers("freertos", "lx106-sim", &[wait, get, queue, "thread.yield"]) {
        Ok(answers) => answers,
        Err(missing) => {
            // `scripts/setup test` installs all of it where it may.
            eprintln!("lx106-sim is left out: {missing}");
            return;
        }
    };
    let of = |id: &str| {
        let answer = answers.iter().find(|answer| answer["key"]["scenario"] == id);
        &answer.unwrap_or_else(|| panic!("{id} has an answer"))["statistics"]["steady"]
    };
    for poll in polls {
        assert_eq!(of(poll)["count"], 99_999, "{poll}");
        assert_eq!(of(poll)["min"], of(poll)["max"], "{poll}");
    }
    let [wait, get, queue] = polls.map(|poll| of(poll)["p50"].as_u64().expect("measured"));
    assert!(20 < get && get < queue && queue < wait && wait < 300, "{get} {queue} {wait}");
    assert!(of("thread.yield").is_null(), "the port is for polls alone");
}

/// The floor runs on one of these cores, and is the least there, too.
#[test]
#[expect(clippy::print_stderr, reason = "a machine that is left out is told")]
fn the_floor_takes_the_fewest_instructions() {
    let machine = "zcu102-r5";
    let shared = ["thread.yield", "thread.create", "semaphore.take.immediate"];
    let found = ["floor", "freertos", "embassy"].map(|kernel| answers(kernel, machine, &shared));
    let [Ok(floor), Ok(freertos), Ok(embassy)] = &found else {
        eprintln!("{machine} is left out: {found:?}");
        return;
    };
    for scenario in shared {
        let of =
            |answers: &[Value]| typical(answers, scenario).unwrap_or_else(|| panic!("{scenario}"));
        let (least, others) = (of(floor), [of(freertos), of(embassy)]);
        assert!(least > 3 && others.iter().all(|it| *it > least), "{scenario}: {least} {others:?}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a machine that is left out is told")]
fn embassy_results_repeat_on_every_core() {
    for (machine, ticks) in WITH_EMBASSY {
        let scenarios = ["thread.*", "semaphore.take.*", "timer.now", "isr.entry"];
        let first = match answers("embassy", machine, &scenarios) {
            Ok(answers) => answers,
            Err(missing) => {
                eprintln!("{machine} is left out: {missing}");
                continue;
            }
        };
        let again = answers("embassy", machine, &scenarios).expect("the tools are still there");
        compare(machine, &first, &again);
        let of = |scenario| typical(&first, scenario);
        // A poll for each, and no stack to make or to change.
        for scenario in ["thread.yield", "thread.create", "semaphore.take.immediate"] {
            let found = of(scenario).unwrap_or_else(|| panic!("{machine} {scenario}"));
            assert!((10..120).contains(&found), "{machine} {scenario}: {found} instructions");
        }
        // It waits for a tick before.
        assert_eq!(of("timer.now").is_some(), ticks, "{machine}");
        let reason = |scenario: &str| {
            let answer = first.iter().find(|answer| answer["key"]["scenario"] == scenario);
            answer.and_then(|answer| answer["reason"].as_str()).unwrap_or_default().to_owned()
        };
        assert!(reason("thread.resume.preempt").starts_with("Nothing preempts"), "{machine}");
        let no_interrupt = reason("isr.entry");
        let known = ["Cortex-M's controller", "No interrupt reaches this core"];
        assert!(known.iter().any(|why| no_interrupt.contains(why)), "{machine}: {no_interrupt}");
    }
}
