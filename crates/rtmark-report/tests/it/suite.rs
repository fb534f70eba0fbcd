//! A run of the whole catalogue with made-up figures, as large as a real one.

use rtmark_model::{Answer, Catalogue, Series};
use serde_json::{Value, json};

/// The kernels of the suite, the floor first.
pub const KERNELS: [&str; 6] = ["floor", "freertos", "ring", "embassy", "lilos", "rtic"];

/// Returns a kernel's figure for a scenario: some constant number, larger for later kernels.
fn figure(kernel: usize, scenario: &str) -> u64 {
    let letters = scenario.bytes().fold(7_u64, |sum, letter| (sum * 31 + u64::from(letter)) % 997);
    let n = scenario.rsplit('.').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1);
    (10 + letters / 9) * (1 + kernel as u64 * (letters % 5)) + n * (letters % 3)
}

fn held(cycles: u64, kernel: &str) -> Value {
    json!({"cycles": cycles, "began": 9, "ended": 9 + cycles, "times": 1, "total_cycles": cycles,
           "by": [if cycles < 20 { "one instruction" } else { "PRIMASK" }],
           "from": {"address": 1, "function": "take",
                    "line": {"file": format!("/x/{kernel}-1.2/src/exec.rs"), "line": 545}},
           "to": {"address": 2}})
}

fn answer(soc: &str, kernel: usize, profile: &str, scenario: &str, span: &Value) -> Answer {
    let name = KERNELS[kernel];
    let key = json!({"soc": soc, "kernel": name, "version": "1.2.0", "profile": profile,
                     "scenario": scenario, "backend": "sim"});
    if scenario.len() % 7 == kernel {
        let reason = format!("It has no such thing as {scenario} needs, and can do without.");
        return Answer::NotApplicable { key: serde_json::from_value(key).expect("a key"), reason };
    }
    let value = figure(kernel, scenario);
    let is_held = scenario.starts_with("load.held");
    let samples = if is_held {
        json!([{"value": value}])
    } else {
        json!([{"value": value + 30}, {"value": value, "times": 90},
               {"value": value + value / 3, "times": 9}, {"value": value * 2}])
    };
    let placement = |layout: u64| {
        json!({"layout": layout, "elf_sha256": "22",
               "samples": [{"value": value + layout, "times": 3}]})
    };
    serde_json::from_value(json!({
        "answer": "measured", "key": key, "basis": "cycles", "span": span, "clock": 168_000_000,
        "readings": {"exact": samples},
        "held": is_held.then(|| held(value, name)),
        "emptied": [{"value": value + 50, "times": 3}],
        "placements": [placement(0), placement(1), placement(2)],
        "provenance": {"rtmark": "0", "timing_model": "2", "soc_sha256": "aa", "core": "cortex-m4f",
                       "settings": {"opt": "2", "lto": true, "tick_hz": 1000},
                       "compiler": {"version": "gcc 1"},
                       "firmware": {"image": scenario.split('.').next(), "elf_sha256": "11".repeat(32),
                                    "flash_bytes": 5000 + 900 * kernel, "ram_bytes": 400 * kernel}},
    }))
    .expect("an answer")
}

/// Returns answers to every scenario of the catalogue with every kernel on two chips, in one profile.
pub fn suite(catalogue: &Catalogue, profile: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    for soc in ["stm32c031", "stm32f405"] {
        for scenario in catalogue.scenarios() {
            let span = serde_json::to_value(&scenario.span).expect("JSON");
            let of = |kernel| answer(soc, kernel, profile, scenario.id.as_str(), &span);
            answers.extend((0..KERNELS.len()).map(of));
        }
    }
    answers
}

/// Changes one thing in each series.
pub fn changed(mut answers: Vec<Answer>, change: impl Fn(&mut Series)) -> Vec<Answer> {
    for answer in &mut answers {
        if let Answer::Measured(series) = answer {
            change(series);
        }
    }
    answers
}
