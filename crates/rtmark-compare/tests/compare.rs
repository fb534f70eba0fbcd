//! Comparisons over answers made here: verdicts, refusals, budgets, and what is written.

#![expect(clippy::needless_pass_by_value, reason = "literals stand where they are used")]

use rtmark_compare::{
    Aspect, Comparison, Measure, Policy, Rows, RunLabel, Step, Verdict, chart, compare, gate,
    github, history, json, junit, markdown, table,
};
use rtmark_model::{Answer, Failure, FailureKind, Series};
use serde_json::{Value, json};

/// A series as the store would have it, with some of it replaced.
fn series(scenario: &str, runs: Value, patch: Value) -> Series {
    let mut series = json!({
        "key": {"soc": "s", "kernel": "k", "version": "1", "profile": "product",
                "scenario": scenario, "backend": "sim"},
        "basis": "cycles",
        "span": {"from": "x", "to": "y", "switches": 1, "overhead": "none",
                 "ticks": 0, "interrupts": 0},
        "clock": 48_000_000,
        "readings": {"exact": runs},
        "provenance": {"rtmark": "0", "timing_model": "2", "soc_sha256": "aaaaaaaaaaaaaaaa",
                       "core": "cortex-m0plus", "settings": {"tick_hz": 1000}},
    });
    merge(&mut series, patch);
    serde_json::from_value(series).expect("a series")
}

fn merge(into: &mut Value, patch: Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch,
    }
}

fn answer(scenario: &str, runs: Value, patch: Value) -> Answer {
    Answer::Measured(Box::new(series(scenario, runs, patch)))
}

fn plain(scenario: &str, first: u64, steady: u64) -> Answer {
    answer(scenario, json!([{"value": first}, {"value": steady, "times": 99}]), json!({}))
}

fn failed(scenario: &str) -> Answer {
    let failure = Failure {
        kind: FailureKind::Fault,
        message: "<b>\u{1b}[2J".into(),
        hint: String::new(),
        console: String::new(),
    };
    Answer::Failed { key: plain(scenario, 1, 1).key().clone(), failure }
}

fn label(id: &str) -> RunLabel {
    RunLabel { id: id.into(), revision: Some("0123456789abcdef+".into()) }
}

fn compared(before: &[Answer], after: &[Answer]) -> Comparison {
    compare((label("before00aa"), before), (label("after000aa"), after), &[])
}

fn one(before: Answer, after: Answer) -> rtmark_compare::Pair {
    compared(&[before], &[after]).pairs.remove(0)
}

#[test]
fn exact_series_differ_by_one_cycle() {
    let pair = one(plain("a.b", 120, 100), plain("a.b", 120, 101));
    assert_eq!(pair.verdict, Verdict::Worse);
    let told: Vec<_> = pair.changes.iter().map(ToString::to_string).collect();
    assert_eq!(told[0], "median 100 \u{2192} 101 (+1, +1.00 %)");
    let measures: Vec<_> = pair.changes.iter().map(|change| change.measure).collect();
    assert_eq!(measures, [Measure::Median, Measure::Max, Measure::Total]);
    assert_eq!(one(plain("a.b", 120, 100), plain("a.b", 120, 100)).verdict, Verdict::Same);
    assert_eq!(one(plain("a.b", 120, 100), plain("a.b", 119, 100)).verdict, Verdict::Better);
    let rare = json!([{"value": 120}, {"value": 100, "times": 98}, {"value": 130}]);
    let pair = one(plain("a.b", 120, 100), answer("a.b", rare, json!({})));
    assert_eq!((pair.verdict, pair.changes[0].measure), (Verdict::Worse, Measure::Max));
    let hit = json!([{"value": 120}, {"value": 100, "times": 99}, {"value": 500, "tick": true}]);
    let hit_more =
        json!([{"value": 120}, {"value": 100, "times": 99}, {"value": 501, "tick": true}]);
    let pair = one(answer("a.b", hit, json!({})), answer("a.b", hit_more, json!({})));
    assert_eq!(pair.changes[0].measure, Measure::Disturbed);
}

/// A series of the simulator's, with the number of instructions in each sample.
fn counted(steady: u64, instructions: u64) -> Answer {
    let executed = json!([{"value": 50}, {"value": instructions, "times": 99}]);
    let samples = json!([{"value": 120}, {"value": steady, "times": 99}]);
    answer("a.b", samples, json!({"executed": executed}))
}

#[test]
fn the_same_instructions_at_other_addresses_are_moved() {
    let moved = one(counted(100, 40), counted(117, 40));
    assert_eq!((moved.verdict, moved.instructions.len()), (Verdict::Moved, 0));
    assert_eq!(moved.changes[0].by(), 17);
    assert_eq!(one(counted(100, 40), counted(100, 40)).verdict, Verdict::Same);
    // An instruction more is a change, whatever became of the cycles.
    for steady in [99, 100, 101] {
        let changed = one(counted(100, 40), counted(steady, 41));
        assert_eq!((changed.verdict, changed.instructions[0].by()), (Verdict::Worse, 1));
    }
    assert_eq!(one(counted(100, 40), counted(101, 39)).verdict, Verdict::Worse);
    assert_eq!(one(counted(100, 40), counted(99, 39)).verdict, Verdict::Better);
    // Where one of them does not tell its instructions, nobody knows.
    assert_eq!(one(plain("a.b", 120, 100), counted(117, 40)).verdict, Verdict::Worse);
}

#[test]
fn instructions_of_samples_that_something_hit_do_not_count() {
    let hit = |instructions: u64| {
        let executed = json!([{"value": 50}, {"value": 40, "times": 98},
                              {"value": instructions, "tick": true}]);
        let samples = json!([{"value": 120}, {"value": 100, "times": 98},
                             {"value": 200 + instructions, "tick": true}]);
        answer("a.b", samples, json!({"executed": executed}))
    };
    assert_eq!(one(hit(90), hit(91)).verdict, Verdict::Moved);
}

#[test]
fn the_code_that_spans_execute_decides_over_the_number_of_its_instructions() {
    // The same code took another way: by an address, or by when a tick came.
    let mut pair = one(counted(100, 40), counted(103, 42));
    assert!(pair.differs() && pair.verdict == Verdict::Worse);
    pair.decide(Vec::new());
    assert_eq!(pair.verdict, Verdict::Moved);
    // Other instructions, and as many.
    let mut pair = one(counted(100, 40), counted(103, 40));
    assert!(pair.differs() && pair.verdict == Verdict::Moved);
    pair.decide(vec!["f".to_owned()]);
    assert_eq!(pair.verdict, Verdict::Worse);
    let mut pair = one(counted(100, 40), counted(97, 40));
    pair.decide(vec!["f".to_owned()]);
    assert_eq!(pair.verdict, Verdict::Better);
    assert!(!one(counted(100, 40), counted(100, 40)).differs());
}

#[test]
fn a_gate_lets_pass_what_moved_and_refuses_what_changed() {
    let held = |before: Answer, after: Answer, text: &str| {
        gate(&compared(&[before], &[after]), &policy(text)).regressions
    };
    assert!(held(counted(100, 40), counted(117, 40), "").is_empty());
    // A limit is a limit, by whatever it is exceeded.
    let limit = "[[budget]]\nat_most = 110\n";
    let over = held(counted(100, 40), counted(117, 40), limit);
    assert_eq!(over[0].excess.map(|excess| excess.limit), Some(110));
    assert!(held(counted(100, 40), counted(109, 40), limit).is_empty());
    // Instructions are a figure of their own, beside cycles.
    let more = held(counted(100, 40), counted(100, 41), "");
    assert_eq!(more[0].basis, Some(rtmark_model::Basis::Instructions));
    assert!(more[0].text.contains("median 40 \u{2192} 41 (+1, +2.50 %) instructions"), "{more:?}");
    assert!(held(counted(100, 40), counted(101, 41), "[[budget]]\nabsolute = 1\n").is_empty());
    // And no limit in cycles is one in instructions.
    let few = held(counted(20, 40), counted(20, 41), "[[budget]]\nat_most = 30\nabsolute = 1\n");
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn what_differs_in_more_than_its_figures_is_refused_with_the_difference() {
    let refused = |patch: Value, words: &[&str]| {
        let samples = json!([{"value": 1}, {"value": 100, "times": 99}]);
        let pair = one(plain("a.b", 1, 100), answer("a.b", samples, patch));
        assert_eq!(pair.verdict, Verdict::Incomparable, "{pair:?}");
        assert!(pair.changes.is_empty());
        let told: Vec<_> = pair.differences.iter().map(ToString::to_string).collect();
        assert_eq!(told, words);
    };
    refused(json!({"span": {"to": "z"}}), &["span to: y before, z after"]);
    refused(json!({"span": {"switches": 2}}), &["span switches: 1 before, 2 after"]);
    refused(
        json!({"span": {"overhead": "included"}}),
        &["span overhead: none before, included after"],
    );
    refused(json!({"basis": "instructions"}), &["basis: cycles before, instructions after"]);
    refused(json!({"clock": 1_000_000}), &["clock: 48 MHz before, 1 MHz after"]);
    refused(
        json!({"provenance": {"core": "cortex-m0"}}),
        &["core: cortex-m0plus before, cortex-m0 after"],
    );
    refused(json!({"provenance": {"timing_model": "3"}}), &["timing-model: 2 before, 3 after"]);
    refused(
        json!({"provenance": {"soc_sha256": "bbbbbbbbbbbbbbbb"}}),
        &["soc: file aaaaaaaaaaaa before, file bbbbbbbbbbbb after"],
    );
    refused(
        json!({"provenance": {"settings": {"tick_hz": 100}}}),
        &["settings tick_hz: 1000 before, 100 after"],
    );
    refused(
        json!({"flags": [{"kind": "wrapped", "why": "below zero"}]}),
        &["flags: none before, wrapped after"],
    );
    let sampled = json!({"sampled": {"resolution": 1, "samples": [{"value": 1, "times": 100}]}});
    let after = series("a.b", json!([]), json!({}));
    let mut value = serde_json::to_value(after).expect("serialises");
    value["readings"] = sampled;
    let after = serde_json::from_value(value).expect("a series");
    let pair = one(plain("a.b", 1, 1), Answer::Measured(Box::new(after)));
    assert_eq!(pair.differences[0].to_string(), "readings: exact before, sampled after");
}

#[test]
fn a_setting_that_is_newly_written_down_is_shown_and_crossing_is_asked_for() {
    let samples = || json!([{"value": 1}, {"value": 90, "times": 99}]);
    let more = answer("a.b", samples(), json!({"provenance": {"settings": {"mpu": false}}}));
    let pair = one(plain("a.b", 1, 100), more);
    assert_eq!(pair.verdict, Verdict::Better);
    assert_eq!(pair.differences[0].to_string(), "settings mpu: not stated before, off after");

    let other = answer("a.b", samples(), json!({"provenance": {"settings": {"tick_hz": 100}}}));
    let before = [plain("a.b", 1, 100)];
    let across = [Aspect::Settings];
    let crossed = compare((label("b"), &before), (label("a"), &[other]), &across);
    assert_eq!(crossed.pairs[0].verdict, Verdict::Better);
    assert_eq!(crossed.pairs[0].differences.len(), 1, "and still shown");
    "span".parse::<Aspect>().expect_err("never");
    assert_eq!("timing-model".parse(), Ok(Aspect::TimingModel));
}

#[test]
fn answers_come_and_go() {
    let comparison = compared(
        &[plain("a.a", 1, 1), plain("a.b", 1, 1), failed("a.c"), plain("a.d", 1, 1)],
        &[plain("a.b", 1, 1), plain("a.c", 1, 1), failed("a.d"), plain("a.e", 1, 1)],
    );
    let verdicts: Vec<_> = comparison.pairs.iter().map(|pair| pair.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Better, Verdict::Worse]);
    assert_eq!(comparison.only_before[0].scenario.as_str(), "a.a");
    assert_eq!(comparison.only_after[0].scenario.as_str(), "a.e");
    let found = gate(&comparison, &Policy::default());
    assert!(found.regressions[0].text.contains("it fails now"), "{found:?}");
    let shown = table(&comparison, Some(&found), Rows::Changed);
    assert!(!shown.contains("\u{1b}[2J"), "nothing from outside steers a terminal");
}

fn policy(text: &str) -> Policy {
    Policy::from_toml(text).expect("good")
}

#[test]
fn budgets_allow_and_the_last_one_that_fits_decides() {
    let comparison = compared(
        &[plain("a.b", 120, 1000), plain("c.d", 120, 1000)],
        &[plain("a.b", 125, 1009), plain("c.d", 120, 1011)],
    );
    let found = |text: &str| {
        let gate = gate(&comparison, &policy(text));
        let of = |f: &rtmark_compare::Finding| {
            format!("{} {}", f.key.scenario, f.excess.map_or("-", |e| e.change.measure.name()))
        };
        gate.regressions.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(found(""), ["a.b median", "a.b max", "a.b first", "c.d median", "c.d max"]);
    let one_percent = "[[budget]]\nrelative = 0.01\n";
    assert_eq!(found(one_percent), ["a.b first", "c.d median", "c.d max"]);
    let more = format!(
        "{one_percent}[[budget]]\nscenario = 'c.*'\nkernel = 'k'\nsoc = 's'\nabsolute = 11\n"
    );
    assert_eq!(found(&more), ["a.b first"]);
    let strict = format!("{more}[[budget]]\nmeasure = 'max'\nabsolute = 99\nat_most = 1010\n");
    assert_eq!(found(&strict), ["a.b first", "c.d max"]);
    assert_eq!(found(&format!("measures = ['median']\n{one_percent}")), ["c.d median"]);
    let elsewhere = "[[budget]]\nsoc = 'other'\nabsolute = 99\n";
    assert_eq!(found(elsewhere).len(), 5);
    let idle = gate(&comparison, &policy(&format!("{more}{elsewhere}"))).unused;
    assert!(matches!(idle.as_slice(), [one] if one.contains("on other")), "{idle:?}");
}

#[test]
fn acknowledged_regressions_pass_up_to_their_length() {
    let comparison = compared(&[plain("a.b", 120, 100)], &[plain("a.b", 120, 105)]);
    let accept = |up_to: u64| {
        let text =
            format!("[[acknowledged]]\nscenario = 'a.*'\nup_to = {up_to}\nreason = 'checks'\n");
        gate(&comparison, &policy(&text))
    };
    let accepted = accept(105);
    assert!(accepted.regressions.is_empty() && accepted.unused.is_empty());
    assert_eq!(accepted.acknowledged[0].reason.as_deref(), Some("checks"));
    let exceeded = accept(104);
    assert_eq!((exceeded.regressions.len(), exceeded.unused.len()), (2, 1), "{exceeded:?}");
}

#[test]
fn policies_with_mistakes_are_refused_with_their_line() {
    let refused = |text: &str| Policy::from_toml(text).expect_err("refused").to_string();
    let error = refused("[[budget]]\nrelativ = 1\n");
    assert!(error.contains("line 2") && error.contains("relativ"), "{error}");
    assert!(refused("[[acknowledged]]\nscenario = 'a'\nup_to = 1\n").contains("reason"));
    assert!(refused("[[budget]]\nrelative = -0.1\n").contains("-0.1"));
    assert!(refused("measures = ['mode']\n").contains("median"));
}

#[test]
fn what_is_written_for_machines_is_well_formed() {
    let comparison = compared(
        &[plain("a.b", 120, 100), plain("a.c", 1, 5), plain("a.d", 1, 5)],
        &[
            plain("a.b", 120, 101),
            failed("a.c"),
            answer("a.d", json!([{"value": 1}]), json!({"basis": "ns"})),
        ],
    );
    let found = gate(&comparison, &Policy::default());
    let document: Value =
        serde_json::from_str(&json("test", &comparison, Some(&found)).expect("JSON"))
            .expect("JSON");
    assert_eq!(document["pairs"][0]["verdict"], "worse");
    assert_eq!(document["gate"]["regressions"][0]["excess"]["limit"], 100);
    let xml = junit(&comparison, Some(&found));
    assert!(xml.contains("tests=\"3\" failures=\"2\" errors=\"1\""), "{xml}");
    assert!(xml.contains("&lt;b&gt;") && !xml.contains('\u{1b}') && !xml.contains("<b>"), "{xml}");
    let annotations = github(&comparison, Some(&found));
    let lines: Vec<_> = annotations.lines().collect();
    assert_eq!(
        lines[0],
        "::error title=k a.b on s::median 100 \u{2192} 101 (+1, +1.00 %25) cycles"
    );
    assert!(
        lines.iter().all(|line| line.starts_with("::error ") || line.starts_with("::warning "))
    );
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.contains("| s | a.b | k | worse |") && text.contains("\\<b\\>"), "{text}");
}

#[test]
fn histories_name_their_change_points() {
    let exact = |value: u64, patch: Value| {
        series("a.b", json!([{"value": 1}, {"value": value, "times": 9}]), patch)
    };
    let values = [(100, "2"), (100, "2"), (104, "2"), (104, "2"), (90, "3"), (90, "3")];
    let runs: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(at, (value, model))| {
            let patch = json!({"provenance": {"timing_model": model}});
            (label(&format!("run{at}")), at as i64, exact(*value, patch))
        })
        .collect();
    let points = history(&runs, Measure::Median);
    let steps = points.iter().map(|point| match &point.step {
        None => 0,
        Some(Step::Change(change) | Step::Moved(change)) => change.by(),
        Some(Step::Break(_)) => 999,
    });
    assert_eq!(steps.collect::<Vec<_>>(), [0, 0, 4, 0, 999, 0]);
    let drawn = chart(&points, |ms| ms.to_string());
    assert!(
        drawn.contains("\u{25c6} +4 +4.00 %") && drawn.contains("timing-model: 2 before"),
        "{drawn}"
    );
}

#[test]
fn markdown_fits_a_comment_of_github() {
    let runs = |steady: u64| -> Vec<Answer> {
        (0..2000).map(|number| plain(&format!("a.b{number}"), 900, steady)).collect()
    };
    let comparison = compared(&runs(100), &runs(101));
    let found = gate(&comparison, &Policy::default());
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.chars().count() <= 65_536, "{} characters", text.chars().count());
    assert!(text.contains(" beyond budget.**"), "{text}");
    assert_eq!(text.matches("more do not fit a comment").count(), 2, "findings and rows");
    assert!(text.contains("| a.b0 |") && !text.contains("| a.b1999 |"), "{text}");

    let otherwise = json!({"provenance": {"timing_model": "3"}});
    let other = answer("a.b", json!([{"value": 5, "times": 9}]), otherwise);
    let comparison = compared(&[plain("a.b", 5, 5)], &[other]);
    let found = gate(&comparison, &Policy::default());
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.contains("Not passed: 1 cannot be compared."), "{text}");
}
