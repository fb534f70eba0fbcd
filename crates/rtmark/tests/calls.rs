//! `rtmark calls`: what an application pays its kernel, beside what `rtmark run` measures.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

fn build_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("firmware-build")
}

fn rtmark(arguments: &[&str]) -> Output {
    let store = tempfile::tempdir().expect("a folder");
    Command::new(env!("CARGO_BIN_EXE_rtmark"))
        .args(arguments)
        .env("RTMARK_STORE", store.path().join("store.sqlite"))
        .env("RTMARK_BUILD", build_folder())
        .env("XDG_CONFIG_HOME", store.path())
        .output()
        .expect("rtmark runs")
}

fn document(arguments: &[&str]) -> Value {
    let output = rtmark(arguments);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Minimum, median and number of a function's calls in a scenario of FreeRTOS'.
fn called(scenario: &str, function: &str, outcome: &str) -> (u64, u64, u64) {
    let choice = ["calls", "-k", "freertos", "-s", scenario, "--soc", "stm32f405"];
    let document = document(&[&choice[..], &["--format", "json"]].concat());
    let paid = &document["runs"][0]["paid"];
    let all = paid["called"].as_array().expect("calls");
    let is_it = |one: &&Value| one["function"] == function && one["outcome"] == outcome;
    let found = all.iter().find(is_it).unwrap_or_else(|| panic!("{function}: {paid}"));
    let figure = |of: &str| found["cycles"][of].as_u64().expect("a figure");
    (figure("min"), figure("median"), found["calls"].as_u64().expect("a count"))
}

/// Minimum and median of a scenario of FreeRTOS', and the number of its samples.
fn measured(scenario: &str) -> (u64, u64, u64) {
    let choice = ["run", "-k", "freertos", "-s", scenario, "--soc", "stm32f405"];
    let document = document(&[&choice[..], &["--placements", "1", "--format", "json"]].concat());
    let steady = &document["answers"][0]["statistics"]["steady"];
    let figure = |of: &str| steady[of].as_u64().expect("a figure");
    (figure("min"), figure("p50"), figure("count"))
}

#[test]
fn a_call_costs_its_scenarios_span_minus_argument_loads() {
    for (scenario, function) in [
        ("semaphore.give.immediate", "xQueueGenericSend"),
        ("semaphore.take.immediate", "xQueueSemaphoreTake"),
        ("mutex.lock.immediate", "xQueueSemaphoreTake"),
        ("queue.send.16b", "xQueueGenericSend"),
    ] {
        let (least, typical, calls) = called(scenario, function, "returned");
        let (shortest, median, samples) = measured(scenario);
        assert!(calls > samples, "{scenario}: {calls} calls of {samples} samples");
        // Three to five instructions load handle, pointer and timeout.
        for (call, span) in [(least, shortest), (typical, median)] {
            assert!((1..=8).contains(&(span - call)), "{scenario}: {call} of {span}");
        }
    }
}

#[test]
fn switches_are_timed_to_the_other_threads_first_instruction() {
    // The receiver waits; the send wakes it, and it goes first.
    let (_, typical, _) = called("queue.handover", "xQueueReceive", "switched");
    let (_, back, _) = called("queue.handover", "xQueueGenericSend", "returned");
    let (_, median, _) = measured("queue.handover");
    let around = median - typical - back;
    assert!((1..=20).contains(&around), "{typical} + {back} of {median}");
}

#[test]
fn every_cycle_is_attributed() {
    for kernel in ["freertos", "embassy"] {
        let choice = ["calls", "-k", kernel, "--load", "--soc", "stm32c031", "--format", "json"];
        let document = document(&choice);
        let run = &document["runs"][0];
        let shares = run["paid"]["shares"].as_object().expect("shares");
        let sum: u64 = shares.values().map(|share| share.as_u64().expect("cycles")).sum();
        assert_eq!(Some(sum), run["cycles"].as_u64(), "{kernel}");
        // Everybody works in it, and there is time left.
        assert!(shares.values().all(|share| share.as_u64() > Some(0)), "{kernel}: {shares:?}");
        if kernel == "embassy" {
            let inlined = run["paid"]["inlined"].as_array().expect("a list");
            let of_channel =
                |call: &&Value| call["function"].as_str().expect("a name").contains("channel");
            assert!(inlined.iter().any(|call| of_channel(&call)), "{inlined:?}");
        }
    }
}

#[test]
fn indistinguishable_scenarios_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("bad.toml"), "name = \"x\"\ncalls = [3]\n").expect("written");
    std::fs::write(path("other.toml"), "name = \"x\"\ncalls = [\"zz_*\"]\n").expect("written");
    // By its former name: it is `ring` now.
    let choice = ["calls", "-k", "evloop", "-s", "isr.entry", "--soc", "stm32c031"];
    for (more, code, expected) in [
        (vec![], 4, "none of the functions that applications call"),
        (vec!["--api", &path("bad.toml")], 2, "line 2"),
        (vec!["--api", &path("other.toml")], 4, "--api"),
        (vec!["--api", "linux"], 2, "freertos"),
    ] {
        let output = rtmark(&[&choice[..], &more].concat());
        let shown = String::from_utf8_lossy(&output.stderr);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(code), "{more:?}: {shown}");
        assert!(shown.contains(expected), "{more:?}: {shown}");
        assert!(output.stdout.is_empty(), "{more:?}");
    }
}
