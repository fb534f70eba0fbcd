//! `rtmark study` over a small image made here, and what it says of the built-in ones.

use serde_json::Value;

use crate::common::{CommandResult, Probe, START, printing, run_rtmark};
use crate::run::Tree;

const STUDY: &str = r#"
id = "small"
title = "A small study"
question = "How long do three instructions take?"
ours = "They are timed."
published = { source = "nobody", board = "none", how = ["by guessing"] }
figure = [
    { name = "twice", formula = "k.one * 2" },
    { name = "start", of = "k.one", functions = ["start"] },
]

[[soc]]
name = "slow"
of = "stm32c031"
description = "without cache and prefetch"
write = [[0x4002_2000, 0x0004_0401]]

[[run]]
as = "k"
kernel = "k"
soc = "stm32c031"
scenarios = { one = "a.one" }
attribute = ["one"]

[[run]]
as = "slow"
kernel = "k"
soc = "slow"
scenarios = { one = "a.one" }

[[table]]
title = "Times"
unit = "cycles"
row = [
    { what = "once", published = 4, measured = "k.one" },
    { what = "twice", published = 10, measured = "twice" },
    { what = "with an answer", measured = "k.one.fact.answer" },
]

[[score]]
what = "once more"
published = 1000
unit = "cycles"
measured = "k.one"
band = [0.0001, BAND]
why = "it is a guess"

[[explanation]]
title = "All in one."
text = "{start} of {k.one} cycles are the function's; {slow.one} on the other soc."
holds = ["start > 0", "k.one < CONDITION"]
"#;

const PROBES: &[Probe<'static>] = &[(5, 0, "a.one"), (1, START, "a.one"), (2, START + 6, "a.one")];

/// What a study says whose condition is this.
fn studied(condition: &str, more: &[&str]) -> (Tree, CommandResult) {
    studied_within(condition, "0.9", more)
}

/// What a study says whose condition is this, with another upper bound of its ratio.
fn studied_within(condition: &str, band: &str, more: &[&str]) -> (Tree, CommandResult) {
    let tree = Tree::of(&["a.one"]);
    tree.image(&printing("a.one ok answer=42", true), PROBES);
    let text = STUDY.replace("CONDITION", condition).replace("BAND", band);
    std::fs::write(tree.path("small.toml"), text).expect("writable");
    let options = ["study", "small.toml", "--catalogue", "catalogue"];
    let result = run_rtmark(&tree.path(""), &[&options, more].concat());
    (tree, result)
}

#[test]
fn user_studies_are_measured_and_explained() {
    let (tree, result) = studied("1000", &["--format", "json", "--out", "pages"]);
    assert_eq!(result.code, 0, "{result:#?}");
    let json: Value = serde_json::from_str(&result.stdout).expect("JSON");
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/study.schema.json");
    let schema = std::fs::read_to_string(schema).expect("published");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<_> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?}");

    let study = &json["studies"][0];
    let runs = study["runs"].as_array().expect("runs");
    let typical = |at: usize| runs[at]["typical"].as_u64().expect("a figure");
    let (once, slow) = (typical(0), typical(1));
    assert_eq!(runs[1]["key"]["soc"], "slow");
    assert_eq!(slow, once, "this image makes no first writes: {study:#}");
    let rows = &study["tables"][0]["rows"];
    assert_eq!(rows[0]["measured"].as_f64(), Some(once as f64));
    assert_eq!(rows[0]["ratio"].as_f64(), Some(once as f64 / 4.0));
    assert_eq!(rows[1]["measured"].as_f64(), Some(2.0 * once as f64));
    assert_eq!(rows[2]["measured"].as_f64(), Some(42.0));
    let expected = format!("{once} of {once} cycles are the function's; {slow} on the other soc.");
    assert_eq!(study["explanations"][0]["text"], expected.as_str());

    let file = |name: &str| std::fs::read_to_string(tree.path("pages").join(name));
    let page = file("small.md").expect("a page");
    assert!(page.contains(&expected) && page.contains("](small-1.svg)"), "{page}");
    assert!(file("small-1.svg").expect("a picture").contains("<svg"));
    assert_eq!(file("small.json").expect("data"), result.stdout);
}

#[test]
fn explanations_that_do_not_hold_are_marked() {
    let (_tree, result) = studied("1", &[]);
    assert_eq!(result.code, 0, "{result:#?}");
    assert!(result.stdout.contains("! k.one < 1: does not hold"), "{result:#?}");
    assert!(result.stderr.contains("does not hold"), "{result:#?}");
    assert!(result.stdout.contains("published") && result.stdout.contains("ratio"), "{result:#?}");
}

#[test]
fn a_ratio_that_leaves_its_band_is_a_regression() {
    let (_tree, result) = studied_within("1000", "0.001", &[]);
    assert_eq!(result.code, 3, "{result:#?}");
    assert!(result.stderr.contains("small: once more"), "{result:#?}");
    assert!(result.stdout.contains("out of its band"), "{result:#?}");
}

#[test]
fn invalid_studies_are_rejected() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let folder = folder.path();
    run_rtmark(folder, &["study", "prime-asinc"]).assert_error(4, &["did you mean `prime-async`?"]);
    run_rtmark(folder, &["study", "none.toml"]).assert_error(2, &["none.toml"]);
    std::fs::write(
        folder.join("bad.toml"),
        STUDY.replace("BAND", "1.0").replace("k.one * 2", "k.two"),
    )
    .expect("written");
    run_rtmark(folder, &["study", "bad.toml"]).assert_error(2, &["nothing measures `k.two`"]);
    assert_eq!(run_rtmark(folder, &["study"]).code, 2);
    let list = run_rtmark(folder, &["study", "--list"]);
    for id in ["prime-async", "zephyr-latency", "event-vs-queue", "preempt-response"] {
        assert!(list.stdout.contains(id), "{list:#?}");
    }
}

/// What a study says in which something is replaced.
fn changed(from: &str, to: &str) -> CommandResult {
    let tree = Tree::of(&["a.one"]);
    tree.image(&printing("a.one ok answer=42", true), PROBES);
    let text = STUDY.replace("CONDITION", "1000").replace("BAND", "0.9");
    assert!(text.contains(from), "{from}");
    std::fs::write(tree.path("small.toml"), text.replace(from, to)).expect("writable");
    run_rtmark(&tree.path(""), &["study", "small.toml", "--catalogue", "catalogue"])
}

/// A mistake in a study of one's own is not a mistake of the program.
#[test]
fn names_that_nothing_has_are_errors_of_the_study() {
    for (from, to, code, words) in [
        ("\"a.one\"", "\"a.won\"", 4, "no scenario is called `a.won`; did you mean `a.one`?"),
        ("kernel = \"k\"", "kernel = \"kk\"", 4, "no kernel is called `kk`; did you mean `k`?"),
        ("0x4002_2000", "0x4002_2004", 2, "soc slow: stm32c031 writes nothing to 0x40022004"),
    ] {
        let result = changed(from, to);
        result.assert_error(code, &[words]);
        assert!(!result.stderr.contains("report this"), "{result:#?}");
    }
}

/// What no function matches is unknown, rather than none.
#[test]
fn functions_that_nothing_executes_have_no_figure() {
    let result = changed("[\"start\"]", "[\"strat\"]");
    assert_eq!(result.code, 0, "{result:#?}");
    assert!(result.stdout.contains("n/a of "), "{result:#?}");
    assert!(result.stdout.contains("! start > 0: "), "{result:#?}");
}
