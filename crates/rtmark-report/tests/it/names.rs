//! Whose a figure is: names, links and ratios where a kernel has several builds, chips or backends.

use rtmark_model::{Answer, Catalogue, Effect, FAIRNESS_VERSION, Fairness, Setting, Settings};
use rtmark_report::Report;
use serde_json::{Value, json};

/// An answer with one figure; what `patch` has takes the place of what is here.
fn answer(kernel: &str, profile: &str, scenario: &str, figure: u64, patch: &Value) -> Answer {
    let mut answer = json!({
        "answer": "measured",
        "key": {"soc": "one", "kernel": kernel, "version": "1", "profile": profile,
                "scenario": scenario, "backend": "sim"},
        "basis": "cycles",
        "span": {"from": "x", "to": "y", "switches": 1, "overhead": "none",
                 "ticks": 0, "interrupts": 0},
        "clock": 48_000_000,
        "readings": {"exact": [{"value": figure, "times": 9}]},
        "provenance": {"rtmark": "0", "timing_model": "2", "soc_sha256": "aa", "core": "cortex-m4f",
                       "settings": {}, "compiler": {"version": "gcc 1"},
                       "firmware": {"image": "thread", "elf_sha256": profile,
                                    "flash_bytes": 1, "ram_bytes": 1}},
    });
    for (part, with) in patch.as_object().into_iter().flatten() {
        match (answer.get_mut(part), with) {
            (Some(Value::Object(of)), Value::Object(with)) if part != "readings" => {
                of.extend(with.clone());
            }
            _ => answer[part] = with.clone(),
        }
    }
    serde_json::from_value(answer).expect("an answer")
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn curve(kernel: &str, profile: &str, each: u64) -> Vec<Answer> {
    let point = |n: u64| {
        let scenario = format!("growth.tick.delayed.{n}");
        answer(kernel, profile, &scenario, 100 + each * n, &json!({}))
    };
    [1, 2, 4, 8, 16, 32].map(point).into()
}

#[test]
fn curves_of_two_profiles_are_told_apart() {
    let mut answers = curve("freertos", "product", 10);
    answers.extend(curve("freertos", "checked", 20));
    answers.extend(curve("ring", "product", 30));
    let table = plain(&rtmark_report::table(&answers, 120));
    let of = |each: &str| {
        let line = table.lines().find(|line| line.contains(&format!(" {each} ")));
        line.unwrap_or_else(|| panic!("{each} in {table}")).to_owned()
    };
    assert!(of("10.0").contains("freertos product "), "{table}");
    assert!(of("20.0").contains("freertos checked "), "{table}");
    assert!(!of("30.0").contains("product"), "one is enough: {table}");
    let markdown = rtmark_report::markdown(&answers);
    assert!(markdown.contains("| growth.tick.delayed | freertos checked | linear"), "{markdown}");
    assert!(markdown.contains("| growth.tick.delayed | ring | linear"), "{markdown}");
}

#[test]
fn metrics_name_the_backend() {
    let qemu = json!({"key": {"backend": "qemu"}, "basis": "instructions"});
    let answers = [
        answer("freertos", "product", "thread.yield", 1, &json!({})),
        answer("freertos", "product", "thread.yield", 2, &qemu),
        answer("freertos", "checked", "thread.yield", 3, &qemu),
    ];
    let list: Value =
        serde_json::from_str(&rtmark_report::benchmark_action(&answers)).expect("JSON");
    let names: Vec<_> = list.as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        [
            "one/freertos/thread.yield",
            "one/freertos/thread.yield/qemu",
            "one/freertos/thread.yield/checked/qemu"
        ]
    );
    let bencher: Value = serde_json::from_str(&rtmark_report::bencher(&answers)).expect("JSON");
    assert_eq!(bencher.as_object().expect("an object").len(), 3, "{bencher}");
    assert_eq!(bencher["one/freertos/thread.yield/qemu"]["instructions"]["value"], 2);
}

#[test]
fn ratios_are_to_the_figure_on_the_same_chip_or_to_all() {
    let catalogue = Catalogue::builtin().expect("good");
    let on = |soc: &str| json!({"key": {"soc": soc}});
    let log = |soc: &str| {
        json!({"key": {"soc": soc, "backend": "log"},
               "readings": {"summarised": {"mean": 300.0}},
               "provenance": {"core": "cortex-m4f", "log": {
                   "file": "uart.log", "line": 7, "suite": "zephyr-latency-measure",
                   "row": "thread.yield.preemptive.ctx.k_to_k"}}})
    };
    let ours = |kernel: &str| {
        [
            answer(kernel, "product", "thread.yield", 100, &on("one")),
            answer(kernel, "product", "thread.yield", 150, &on("two")),
            answer(kernel, "checked", "thread.yield", 200, &on("two")),
        ]
    };
    let shown = |kernel: &str, of: &str, soc: &str| {
        let theirs = [answer(of, "product", "x.y", 0, &log(soc))];
        let text = plain(&rtmark_report::related(&ours(kernel), &theirs, &catalogue, 160));
        let line = text.lines().find(|line| line.contains("[1]")).map(str::to_owned);
        (line.unwrap_or_else(|| panic!("theirs in {text}")), text)
    };
    let (line, text) = shown("freertos", "freertos", "one");
    assert!(line.contains(" 3.0\u{d7} ours"), "the one of the same chip: {line}");
    // Two builds of ours on the same chip, and three on others.
    assert!(text.contains("freertos 1 product") && text.contains("freertos 1 checked"), "{text}");
    let (line, _) = shown("freertos", "freertos", "two");
    assert!(line.contains(" 1.50\u{d7}..2.0\u{d7} ours"), "{line}");
    let (line, _) = shown("freertos", "freertos", "three");
    assert!(line.contains(" 1.50\u{d7}..3.0\u{d7} ours"), "{line}");
    let (line, _) = shown("floor", "freertos", "three");
    assert!(line.contains(" 1.50\u{d7}..3.0\u{d7} floor"), "{line}");
}

#[test]
fn worst_cases_are_linked_from_the_build_that_was_searched() {
    let answers = [
        answer("freertos", "product", "thread.yield", 100, &json!({})),
        answer("freertos", "checked", "thread.yield", 200, &json!({})),
    ];
    let worst = json!({"schema_version": 1, "results": [{
        "kernel": "freertos", "scenario": "thread.yield", "soc": "one", "core": "cortex-m4f",
        "image": "thread", "elf_sha256": "checked", "timing_model": "2", "interrupt": 8,
        "priority": 0, "points": 9, "complete": true, "reach": "all",
        "latencies": [{"text": "to the handler", "missing": 0, "min": 1, "p50": 2, "p90": 3,
                       "p99": 4, "max": 4321, "chance_in_1000": 1.0, "histogram": [],
                       "along_the_path": [], "witnesses": []}],
        "held_back": [], "not_executed": [],
    }]});
    let worst = rtmark_report::worst(&worst.to_string()).expect("good");
    let catalogue = Catalogue::builtin().expect("good");
    let of = |answers: &[Answer]| {
        let report = Report { worst: &worst, ..Report::of(answers, &catalogue) };
        let html = report.html().expect("rendered");
        let links = |text: &str| html.matches(text).count();
        (links("Worst case found by search: "), links("Worst case: 4321 cycles"))
    };
    // Once in the overview, once with the scenario: those of `checked`.
    assert_eq!(of(&answers), (1, 1));
    assert_eq!(of(&answers[..1]), (0, 0), "another build than this");
    assert_eq!(of(&answers[1..]), (1, 1));
}

#[test]
fn effects_say_what_they_are_not_from() {
    let effect = |setting: &str, value: &str, before, after| Effect {
        subject: "freertos:product".into(),
        setting: setting.into(),
        value: Setting::Text(value.into()),
        scenario: "thread.yield".into(),
        both_with: Settings::new(),
        before,
        after: Some(after),
        problem: None,
        layouts: None,
    };
    let clang = Effect {
        both_with: [("lto".to_owned(), Setting::Switch(false))].into(),
        layouts: Some((9, 1)),
        ..effect("compiler", "clang", 120, 130)
    };
    let fairness = Fairness {
        schema_version: FAIRNESS_VERSION,
        generator: "test".into(),
        soc: "one".into(),
        subjects: vec!["freertos:product".into()],
        differences: Vec::new(),
        effects: vec![clang, effect("opt", "s", 100, 90)],
    };
    let text = plain(&rtmark_report::fairness(&fairness, 200));
    let line = |part: &str| text.lines().find(|line| line.contains(part)).expect(&text).to_owned();
    assert!(line("freertos:product   ").ends_with(" 100"), "the subject's own figure: {text}");
    assert!(line("compiler clang").ends_with("130    +10 [1]"), "{text}");
    assert!(line("opt s").ends_with("\u{2212}10"), "{text}");
    let note = line("[1] ");
    for part in ["from 120", "lto off as well", "in 1 layout of its code, before in 9"] {
        assert!(text.contains(part), "{part} in {note}");
    }
}
