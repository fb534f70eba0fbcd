//! Comparisons of constructed answers: verdicts, refusals, budgets, and output formats.

#![expect(clippy::needless_pass_by_value, reason = "literals stand where they are used")]

use std::time::Duration;

use rtmark_compare::{
    Aspect, Comparison, Difference, Measure, Policy, Rows, RunLabel, Step, Verdict, chart, compare,
    gate, github, history, json, junit, markdown, table,
};
use rtmark_model::{Answer, Failure, FailureKind, Key, Series};
use serde_json::{Value, json};

mod gates;
mod histories;
mod validations;
mod written;

/// Returns a series as the store would have it, with some fields replaced.
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

/// A failed build: the compiler's words, and after a blank line the command.
fn unbuilt(scenario: &str) -> Answer {
    let failure = Failure {
        kind: FailureKind::Build,
        message: "building ours failed\nmain.c:1: error\n\ncommand: make OUT=/tmp/build".into(),
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
    let changes: Vec<_> = pair.changes.iter().map(ToString::to_string).collect();
    assert_eq!(changes[0], "median 100 \u{2192} 101 (+1, +1.00 %)");
    let measures: Vec<_> = pair.changes.iter().map(|change| change.measure).collect();
    assert_eq!(measures, [Measure::Median, Measure::Max, Measure::Total]);
    assert_eq!(one(plain("a.b", 120, 100), plain("a.b", 120, 100)).verdict, Verdict::Same);
    assert_eq!(one(plain("a.b", 120, 100), plain("a.b", 119, 100)).verdict, Verdict::Better);
    let ordered = |values: [u64; 4]| {
        let runs = values.map(|value| json!({"value": value}));
        one(
            answer(
                "a.b",
                json!([120, 100, 100, 101].map(|value| json!({"value": value}))),
                json!({}),
            ),
            answer("a.b", json!(runs), json!({})),
        )
        .notes
    };
    assert!(matches!(&ordered([120, 100, 101, 100])[..], [note] if note.contains("another order")));
    assert!(ordered([120, 100, 100, 101]).is_empty() && ordered([120, 102, 101, 101]).is_empty());
    let rare = json!([{"value": 120}, {"value": 100, "times": 98}, {"value": 130}]);
    let pair = one(plain("a.b", 120, 100), answer("a.b", rare, json!({})));
    assert_eq!((pair.verdict, pair.changes[0].measure), (Verdict::Worse, Measure::Max));
    // A worst case that grew is worse, even if the typical one shrank.
    let rare = json!([{"value": 120}, {"value": 99, "times": 98}, {"value": 130}]);
    let pair = one(plain("a.b", 120, 100), answer("a.b", rare, json!({})));
    assert_eq!((pair.verdict, pair.changes[0].measure), (Verdict::Worse, Measure::Median));
    let hit = json!([{"value": 120}, {"value": 100, "times": 99}, {"value": 500, "tick": true}]);
    let hit_more =
        json!([{"value": 120}, {"value": 100, "times": 99}, {"value": 501, "tick": true}]);
    let pair = one(answer("a.b", hit, json!({})), answer("a.b", hit_more, json!({})));
    assert_eq!(pair.changes[0].measure, Measure::Disturbed);
}

/// Returns a simulated series with the number of instructions in each sample.
fn counted(steady: u64, instructions: u64) -> Answer {
    let executed = json!([{"value": 50}, {"value": instructions, "times": 99}]);
    let samples = json!([{"value": 120}, {"value": steady, "times": 99}]);
    answer("a.b", samples, json!({"executed": executed}))
}

#[test]
fn equal_instructions_at_other_addresses_count_as_moved() {
    let moved = one(counted(100, 40), counted(117, 40));
    assert_eq!((moved.verdict, moved.instructions.len()), (Verdict::Moved, 0));
    assert_eq!(moved.changes[0].growth(), 17);
    assert_eq!(one(counted(100, 40), counted(100, 40)).verdict, Verdict::Same);
    // An additional instruction is a change, whatever happened to the cycles.
    for steady in [99, 100, 101] {
        let changed = one(counted(100, 40), counted(steady, 41));
        assert_eq!((changed.verdict, changed.instructions[0].growth()), (Verdict::Worse, 1));
    }
    assert_eq!(one(counted(100, 40), counted(101, 39)).verdict, Verdict::Worse);
    assert_eq!(one(counted(100, 40), counted(99, 39)).verdict, Verdict::Better);
    // If one of them does not record its instructions, it is unknown.
    assert_eq!(one(plain("a.b", 120, 100), counted(117, 40)).verdict, Verdict::Worse);
}

#[test]
fn instruction_counts_of_disturbed_samples_are_ignored() {
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
fn the_executed_code_takes_precedence_over_the_instruction_count() {
    // The same code took another path, because of an address or the time of a tick.
    let mut pair = one(counted(100, 40), counted(103, 42));
    assert!(pair.differs() && pair.verdict == Verdict::Worse);
    pair.decide(Vec::new());
    assert_eq!(pair.verdict, Verdict::Moved);
    // Different instructions, but equally many.
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
fn series_that_differ_in_kind_are_incomparable_with_the_difference() {
    let refused = |patch: Value, words: &[&str]| {
        let samples = json!([{"value": 1}, {"value": 100, "times": 99}]);
        let pair = one(plain("a.b", 1, 100), answer("a.b", samples, patch));
        assert_eq!(pair.verdict, Verdict::Incomparable, "{pair:?}");
        assert!(pair.changes.is_empty());
        let changes: Vec<_> = pair.differences.iter().map(ToString::to_string).collect();
        assert_eq!(changes, words);
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
    refused(json!({"span": {"counted": "awake"}}), &["span counted: all before, awake after"]);
    let layout =
        |number: u64| json!({"layout": number, "elf_sha256": "cc", "samples": [{"value": 100}]});
    refused(
        json!({"placements": [layout(0), layout(1), layout(2)]}),
        &["placements: 1 before, 3 after"],
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
fn failed_builds_are_told_once_and_without_the_command() {
    let pair = one(unbuilt("a.b"), unbuilt("a.b"));
    let Difference { before, after, .. } = &pair.differences[0];
    assert!(before.contains("main.c:1: error"), "{before}");
    assert!(!before.contains("command:"), "{before}");
    assert_eq!(after, "failed in the same way");
    let pair = one(unbuilt("a.b"), failed("a.b"));
    let Difference { after, .. } = &pair.differences[0];
    assert!(after.starts_with("failed (the firmware faulted: "), "{after}");
    let pair = one(plain("a.b", 1, 1), unbuilt("a.b"));
    assert_eq!(pair.verdict, Verdict::Worse);
    let note = &pair.notes[0];
    assert!(note.contains("main.c:1: error") && !note.contains("command:"), "{note}");
}

#[test]
fn newly_recorded_settings_are_shown_and_crossing_needs_consent() {
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
fn added_and_removed_answers_are_listed() {
    let comparison = compared(
        &[plain("a.a", 1, 1), plain("a.b", 1, 1), failed("a.c"), plain("a.d", 1, 1)],
        &[plain("a.b", 1, 1), plain("a.c", 1, 1), failed("a.d"), plain("a.e", 1, 1)],
    );
    let verdicts: Vec<_> = comparison.pairs.iter().map(|pair| pair.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Better, Verdict::Worse]);
    assert_eq!(comparison.only_before[0].scenario.as_str(), "a.a");
    assert_eq!(comparison.only_after[0].scenario.as_str(), "a.e");
    let found = gate(&comparison, &Policy::default());
    assert!(found.regressions[0].text.contains("it now fails"), "{found:?}");
    let shown = table(&comparison, Some(&found), Rows::Changed);
    assert!(!shown.contains("\u{1b}[2J"), "nothing from outside steers a terminal");
    assert!(
        shown.contains("1 only before; 1 only after") && !shown.contains("k a.a on s"),
        "{shown}"
    );
    let all = table(&comparison, Some(&found), Rows::All);
    assert!(all.contains("k a.a on s") && all.contains("k a.e on s"), "{all}");
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    let row =
        "1 only before</summary>\n\n| scenario | kernel | soc |\n|---|---|---|\n| a.a | k | s |";
    assert!(text.contains(row), "{text}");
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
        Some(Step::Change(change) | Step::Moved(change)) => change.growth(),
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
fn figures_are_of_steady_samples() {
    let of = |runs: Value| series("a.b", runs, json!({}));
    let several = of(json!([
        {"value": 120, "times": 2}, {"value": 100, "times": 3},
        {"value": 900, "times": 2, "tick": true}, {"value": 700, "interrupt": true},
        {"value": 130, "times": 2}
    ]));
    let figures = Measure::ALL.map(|measure| measure.of(&several));
    // The very first sample is separate, and so are disturbed ones.
    assert_eq!(figures, [Some(100), Some(130), Some(120), Some(120 + 300 + 260), Some(900)]);
    let names = Measure::ALL.map(Measure::name);
    assert_eq!(names, ["median", "max", "first", "total", "disturbed"]);
}

#[test]
fn a_summary_replaces_its_samples_where_possible() {
    let summary =
        json!({"exact": null, "summarised": {"mean": 240.6, "max": 300.0, "first": 500.0}});
    let mut of =
        serde_json::to_value(series("a.b", json!([{"value": 1}]), json!({}))).expect("JSON");
    of["readings"] = json!({"summarised": summary["summarised"]});
    let of: Series = serde_json::from_value(of).expect("a series");
    let figures = Measure::ALL.map(|measure| measure.of(&of));
    assert_eq!(figures, [Some(241), Some(300), Some(500), None, None]);
    let labels = |id: &str| (label(id), 0, of.clone());
    let points = history(&[labels("one"), labels("two")], Measure::Median);
    assert!(points.iter().all(|point| point.value == 241 && point.step.is_none()), "{points:?}");
}

#[test]
fn percentages_have_as_many_digits_as_needed() {
    let changes = |before: u64, after: u64| {
        rtmark_compare::Change { measure: Measure::Max, before, after }.to_string()
    };
    assert_eq!(changes(0, 5), "max 0 \u{2192} 5 (+5)", "of nothing there is no part");
    assert_eq!(changes(10_000, 10_994), "max 10000 \u{2192} 10994 (+994, +9.94 %)");
    assert_eq!(changes(10_000, 10_995), "max 10000 \u{2192} 10995 (+995, +10.0 %)");
    assert_eq!(changes(1_000, 500), "max 1000 \u{2192} 500 (-500, -50.0 %)");
    assert_eq!(changes(1_000, 1_994), "max 1000 \u{2192} 1994 (+994, +99.4 %)");
    assert!(!changes(1_000, 1_995).contains('.'), "{}", changes(1_000, 1_995));
}

#[test]
fn totals_are_compared_only_for_equal_sample_counts() {
    let of = |times: u64, value: u64| {
        answer("a.b", json!([{"value": 120}, {"value": value, "times": times}]), json!({}))
    };
    let measures = |pair: rtmark_compare::Pair| -> Vec<Measure> {
        pair.changes.iter().map(|change| change.measure).collect()
    };
    assert_eq!(
        measures(one(of(9, 100), of(9, 101))),
        [Measure::Median, Measure::Max, Measure::Total]
    );
    let pair = one(of(9, 100), of(19, 101));
    assert_eq!(pair.notes, ["10 samples before, 20 after"]);
    assert_eq!(measures(pair), [Measure::Median, Measure::Max]);
    assert_eq!(one(of(9, 100), of(19, 100)).verdict, Verdict::Same);
}

#[test]
fn the_instruction_count_of_a_disturbed_first_sample_is_ignored() {
    let of = |hit: bool, first: u64, steady: u64| {
        let executed = json!([{"value": first}, {"value": steady, "times": 99}]);
        let samples = json!([{"value": 120, "tick": hit}, {"value": 100, "times": 99}]);
        answer("a.b", samples, json!({"executed": executed}))
    };
    let measures = |before: Answer, after: Answer| -> Vec<Measure> {
        one(before, after).instructions.iter().map(|change| change.measure).collect()
    };
    assert_eq!(measures(of(false, 50, 40), of(false, 70, 40)), [Measure::First]);
    for (before, after) in [(true, false), (false, true), (true, true)] {
        assert_eq!(measures(of(before, 50, 40), of(after, 70, 40)), []);
        let both = measures(of(before, 50, 40), of(after, 70, 41));
        assert_eq!(both, [Measure::Median, Measure::Max, Measure::Total], "{before} {after}");
    }
}

#[test]
fn pairs_state_their_subject_and_whether_a_figure_differs() {
    let same = one(plain("a.b", 120, 100), plain("a.b", 120, 100));
    assert_eq!((same.title().as_str(), same.differs()), ("k a.b on s", false));
    let patch = json!({"key": {"profile": "checked", "backend": "qemu"}});
    let runs = json!([{"value": 1}]);
    let other = one(answer("a.b", runs.clone(), patch.clone()), answer("a.b", runs, patch));
    assert_eq!(other.title(), "k a.b on s, profile checked, backend qemu");
    assert!(one(plain("a.b", 120, 100), plain("a.b", 120, 101)).differs());
    assert!(one(counted(100, 40), counted(117, 40)).differs());
    let fails = one(plain("a.b", 120, 100), failed("a.b"));
    assert_eq!(
        (fails.verdict, fails.differs()),
        (Verdict::Worse, false),
        "by failing, not by a figure"
    );
    let clock = answer("a.b", json!([{"value": 5}]), json!({"clock": 1}));
    let refused = one(plain("a.b", 120, 100), clock);
    assert_eq!((refused.verdict, refused.differs()), (Verdict::Incomparable, false));
}

#[test]
fn log_rows_of_equal_name_are_paired_in_order() {
    let of = |value: u64| {
        let patch = json!({"key": {"backend": "log"}});
        answer("a.b", json!([{"value": value}, {"value": value, "times": 9}]), patch)
    };
    let comparison = compared(&[of(100), of(200)], &[of(100), of(201), of(300)]);
    let verdicts: Vec<_> = comparison.pairs.iter().map(|pair| pair.verdict).collect();
    assert_eq!(verdicts, [Verdict::Same, Verdict::Worse]);
    assert_eq!((comparison.only_before.len(), comparison.only_after.len()), (0, 1));
    // Of repeated measurements, the last one counts.
    let again = compared(&[plain("a.b", 9, 9), plain("a.b", 120, 100)], &[plain("a.b", 120, 100)]);
    assert_eq!((again.pairs.len(), again.pairs[0].verdict), (1, Verdict::Same));
}

#[test]
fn an_unstated_clock_is_not_0_hz() {
    let with_clock = |clock: u64| answer("a.b", json!([{"value": 5}]), json!({"clock": clock}));
    let pair = one(with_clock(0), with_clock(48_000_000));
    assert_eq!(pair.differences[0].to_string(), "clock: not stated before, 48 MHz after");
    assert_eq!(pair.verdict, Verdict::Incomparable);
    assert_eq!(one(with_clock(0), with_clock(0)).verdict, Verdict::Same);
}

#[test]
fn changed_versions_and_compilers_are_listed() {
    let of = |patch: Value| answer("a.b", json!([{"value": 1}, {"value": 5, "times": 9}]), patch);
    let compiler = |version: &str, flags: &[&str]| {
        of(json!({"provenance": {"compiler": {"version": version, "flags": flags}}}))
    };
    let same = one(compiler("gcc 1", &["-O2"]), compiler("gcc 1", &["-O2"]));
    assert_eq!((same.version_before, same.notes), (None, vec![]));
    let newer = one(compiler("gcc 1", &[]), compiler("gcc 2", &[]));
    assert_eq!(newer.notes, ["the compiler was gcc 1 and is gcc 2"]);
    let flags = one(compiler("gcc 1", &["-O2"]), compiler("gcc 1", &["-Os"]));
    assert_eq!(flags.notes, ["the compiler's flags changed"]);
    let kernel = one(of(json!({})), of(json!({"key": {"version": "2"}})));
    assert_eq!((kernel.version_before.as_deref(), kernel.key.version.as_str()), (Some("1"), "2"));
    // An entry that neither has is not a pair.
    let none =
        || Answer::NotApplicable { key: plain("a.b", 1, 1).key().clone(), reason: "r".into() };
    assert!(compared(&[none()], &[none()]).pairs.is_empty());
    assert_eq!(one(none(), of(json!({}))).verdict, Verdict::Incomparable);
}
