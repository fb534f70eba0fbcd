//! Output for programs, GitHub and people.

use std::slice::from_ref;

use super::*;

#[test]
fn machine_readable_output_is_well_formed() {
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
    let took = |key: &Key| match key.scenario.as_str() {
        "a.b" => Some(Duration::from_micros(1_234_567)),
        "a.c" => Some(Duration::from_millis(2)),
        _ => None,
    };
    let xml = junit(&comparison, Some(&found), took);
    let suite = "tests=\"3\" failures=\"2\" errors=\"1\" time=\"1.237\">";
    assert_eq!(xml.matches(suite).count(), 2, "{xml}");
    let timed = |name: &str, time: &str| xml.contains(&format!("name=\"{name}\"{time}>"));
    assert!(timed("a.b", " time=\"1.235\"") && timed("a.c", " time=\"0.002\""), "{xml}");
    assert!(timed("a.d", ""), "nobody knows how long it took: {xml}");
    assert!(xml.contains("&lt;b&gt;") && !xml.contains('\u{1b}') && !xml.contains("<b>"), "{xml}");
    let annotations = github(&comparison, Some(&found));
    let lines: Vec<_> = annotations.lines().collect();
    assert_eq!(
        lines[0],
        "::error title=k a.b on s::median 100 \u{2192} 101 (+1, +1.00 %25) cycles%0A\
         max 100 \u{2192} 101 (+1, +1.00 %25) cycles"
    );
    assert!(
        lines.iter().all(|line| line.starts_with("::error ") || line.starts_with("::warning "))
    );
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.starts_with("### Refused: 2 scenarios beyond budget\n"), "{text}");
    assert!(
        text.contains("\n| a.b | k | s | median 100 \u{2192} 101 (+1, +1.00 %) cycles; also max |"),
        "{text}"
    );
    assert!(text.contains("\\<b\\>") && !text.contains("<b>"), "{text}");
    assert!(text.contains("<details><summary>1 not compared</summary>\n\n| scenario |"), "{text}");
}

#[test]
fn comments_begin_with_regressions_and_their_causes() {
    let names: Vec<_> = (0..12).map(|number| format!("a.b{number}")).collect();
    let runs = |steady: [u64; 12]| -> Vec<Answer> {
        names.iter().zip(steady).map(|(name, steady)| plain(name, 120, steady)).collect()
    };
    let after = [107, 107, 107, 107, 107, 107, 107, 90, 102, 103, 100, 105];
    let mut comparison = compared(&runs([100; 12]), &runs(after));
    for pair in &mut comparison.pairs[..7] {
        pair.changed = vec!["give_it".to_owned()];
        pair.cause = Some("give_it (+7, +3 instructions)".to_owned());
    }
    let line = rtmark_model::Line { file: "src/a.c".to_owned(), line: 7 };
    comparison.pairs[0].place = Some(line);
    comparison.pairs[8].decide(Vec::new());
    let policy = "[[budget]]\nscenario = \"a.b9\"\nrelative = 0.05\n\
                  [[acknowledged]]\nscenario = \"a.b11\"\nup_to = 105\nreason = \"a *trial*\"\n";
    let found = gate(&comparison, &Policy::from_toml(policy).expect("a policy"));
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    let (first, more) = text.split_once("<details>").expect("something folded");
    assert!(first.starts_with("### Refused: 7 scenarios beyond budget\n\n"), "{text}");
    assert!(first.contains("\n**give\\_it** was changed (src/a.c:7):\n\n| scenario "), "{text}");
    let row = "| a.b0 | k | s | median 100 \u{2192} 107 (+7, +7.00 %) cycles; also max |  | give\\_it (+7, ";
    assert!(first.contains(row), "{text}");
    assert_eq!(first.matches("| k | s |").count(), 5, "what is read in ten seconds: {text}");
    let folded: Vec<_> = more.split("<summary>").skip(1).collect();
    let begins =
        ["2 more<", "1 accepted before<", "1 slower, within", "1 faster<", "1 moved: the same"];
    assert!(
        folded.len() == 5 && folded.iter().zip(begins).all(|(f, b)| f.starts_with(b)),
        "{text}"
    );
    assert!(
        folded[1].contains("| a.b11 | k | s | ") && folded[1].contains("a \\*trial\\* |"),
        "{text}"
    );
    assert!(folded[4].contains("| a.b8 |") && !text.contains("a.b10"), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("\n</details>\n").count());

    // Without a gate, regressions are what a gate without budgets would refuse.
    let compared = markdown(&comparison, None, Rows::All);
    assert!(compared.starts_with("### 9 scenarios slower, 1 faster\n"), "{compared}");
    assert!(
        compared.contains("**give\\_it** was changed") && compared.contains("| a.b9 |"),
        "{compared}"
    );
    assert!(compared.contains("Unknown cause:") && compared.contains("1 the same<"), "{compared}");
    let nothing = self::compared(&runs([100; 12]), &runs([100; 12]));
    let passed = markdown(&nothing, Some(&gate(&nothing, &Policy::default())), Rows::Changed);
    assert!(passed.starts_with("### Passed: no regression\n") && !passed.contains('|'), "{passed}");
}

#[test]
fn markdown_fits_into_a_github_comment() {
    let runs = |steady: u64| -> Vec<Answer> {
        (0..2000).map(|number| plain(&format!("a.b{number}"), 900, steady)).collect()
    };
    let comparison = compared(&runs(100), &runs(101));
    let found = gate(&comparison, &Policy::default());
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.chars().count() <= 65_536, "{} characters", text.chars().count());
    assert!(text.starts_with("### Refused: 2000 scenarios beyond budget\n"), "{text}");
    assert_eq!(text.matches("more do not fit a comment").count(), 1, "{text}");
    assert!(text.contains("| a.b0 |") && !text.contains("| a.b1999 |"), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("\n</details>\n").count());

    // The same with very many causes.
    let mut many = comparison;
    for (number, pair) in many.pairs.iter_mut().enumerate() {
        pair.changed = vec![format!("a_function_with_a_name_of_some_length_{number}")];
    }
    let text = markdown(&many, Some(&gate(&many, &Policy::default())), Rows::All);
    assert!(text.chars().count() <= 65_536, "{} characters", text.chars().count());
    assert!(text.contains(" more causes do not fit a comment"), "{text}");

    let otherwise = json!({"provenance": {"timing_model": "3"}});
    let other = answer("a.b", json!([{"value": 5, "times": 9}]), otherwise);
    let comparison = compared(&[plain("a.b", 5, 5)], &[other]);
    let found = gate(&comparison, &Policy::default());
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.contains("### Not passed: 1 cannot be compared\n"), "{text}");
}

#[test]
fn annotations_state_each_cause_once_with_its_location() {
    let names = ["a.b", "a.c", "a.d", "a.e"];
    let before: Vec<_> = names.iter().map(|name| plain(name, 120, 100)).collect();
    let mut after: Vec<_> = names.iter().map(|name| plain(name, 120, 107)).collect();
    after[3] = failed("a.e");
    let mut comparison = compared(&before, &after);
    for (at, function) in ["give", "give", "take"].into_iter().enumerate() {
        comparison.pairs[at].changed = vec![function.to_owned()];
    }
    let line = rtmark_model::Line { file: "src/a,b.c".to_owned(), line: 7 };
    comparison.pairs[0].place = Some(line);
    let found = gate(&comparison, &Policy::default());
    let annotations = github(&comparison, Some(&found));
    let lines: Vec<_> = annotations.lines().collect();
    assert_eq!(lines.len(), 3, "{annotations}");
    let begin = "::error file=src/a%2Cb.c,line=7,title=2 scenarios slower by give::k a.b on s: ";
    assert!(lines[0].starts_with(begin), "{annotations}");
    assert!(lines[0].contains("%0Ak a.c on s: median 100 \u{2192} 107"), "{annotations}");
    assert!(lines[1].starts_with("::error title=k a.d on s::median"), "{annotations}");
    assert!(lines[2].starts_with("::error title=k a.e on s::"), "{annotations}");
}

#[test]
fn a_headline_says_what_could_not_be_compared() {
    let headline = |before: &[Answer], after: &[Answer]| {
        let text = markdown(&compared(before, after), None, Rows::Changed);
        text.lines().next().unwrap_or_default().to_owned()
    };
    let other = answer("a.b", json!([{"value": 5}]), json!({"clock": 1}));
    let (a, c) = (plain("a.b", 120, 100), plain("a.c", 120, 100));
    assert_eq!(headline(from_ref(&a), from_ref(&other)), "### Nothing could be compared");
    let all = headline(&[a.clone(), c.clone()], &[other, c.clone()]);
    assert_eq!(all, "### Nothing became slower or faster; 1 cannot be compared");
    assert_eq!(headline(&[a.clone(), c.clone()], &[a, c]), "### Nothing became slower or faster");
}

/// Returns one series of each verdict, a.a to a.e.
fn one_of_each() -> Comparison {
    let executed = |name: &str, steady: u64, instructions: u64| {
        let executed = json!([{"value": 50}, {"value": instructions, "times": 99}]);
        let samples = json!([{"value": 120}, {"value": steady, "times": 99}]);
        answer(name, samples, json!({"executed": executed}))
    };
    let otherwise = answer("a.e", json!([{"value": 5}]), json!({"clock": 1}));
    let others = |steady: [u64; 4]| {
        let names = ["a.a", "a.b", "a.c", "a.d"];
        names
            .into_iter()
            .zip(steady)
            .map(|(name, steady)| executed(name, steady, if steady == 105 { 42 } else { 40 }))
    };
    let before: Vec<_> = others([100; 4]).chain([plain("a.e", 120, 100)]).collect();
    let mut after: Vec<_> = others([100, 103, 97, 105]).chain([otherwise]).collect();
    after[2] = executed("a.c", 97, 39);
    compared(&before, &after)
}

#[test]
fn a_table_lists_what_changed_with_its_verdict_below_one_heading() {
    let mut comparison = one_of_each();
    comparison.pairs[3].changed = vec!["give".to_owned(), "take".to_owned()];
    let text = table(&comparison, None, Rows::Changed);
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert_eq!(line("a.a"), "", "nothing to see: {text}");
    for (name, begins) in [
        ("a.b", "a.b  k  \u{1b}[2mmoved       \u{1b}[0m  median 100 \u{2192} 103 (+3, +3.00 %)"),
        ("a.c", "a.c  k  \u{1b}[32mbetter      \u{1b}[0m  median 100 \u{2192} 97 (-3, -3.00 %)"),
        ("a.d", "a.d  k  \u{1b}[1m\u{1b}[31mworse       \u{1b}[0m  median 100 \u{2192} 105"),
        ("a.e", "a.e  k  \u{1b}[33mincomparable\u{1b}[0m  clock: 48 MHz before, 1 Hz after"),
    ] {
        assert!(line(name).starts_with(begins), "{begins:?}: {text:?}");
    }
    assert!(line("a.d").ends_with("; changed: give, take") && !line("a.c").contains("changed"));
    assert_eq!(
        text.matches("s \u{b7} profile product \u{b7} backend sim \u{b7} cycles").count(),
        1
    );
    let counted = "\n5 series: 1 same, 1 moved, 1 better, 1 worse, 1 incomparable\n";
    assert!(text.contains(counted) && !text.contains("the gate"), "{text}");
    let all = table(&comparison, None, Rows::All);
    assert!(all.contains("\na.a  k  \u{1b}[2msame        \u{1b}[0m\n"), "{all:?}");
    let pair = [plain("a.b", 1, 1)];
    let text = table(&compared(&pair, &pair), None, Rows::Changed);
    assert!(text.ends_with("\n1 series: 1 same\n"), "{text}");
}

#[test]
fn a_gate_is_passed_with_neither_a_regression_nor_something_incomparable() {
    let end = |after: Answer| {
        let comparison = compared(&[plain("a.b", 120, 100)], &[after]);
        let found = gate(&comparison, &Policy::default());
        table(&comparison, Some(&found), Rows::Changed)
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(end(plain("a.b", 120, 99)), "the gate is passed");
    assert_eq!(end(plain("a.b", 120, 101)), "the gate is not passed");
    let otherwise = answer("a.b", json!([{"value": 5}]), json!({"clock": 1}));
    assert_eq!(end(otherwise), "the gate is not passed");
}

#[test]
fn without_a_gate_whatever_became_worse_is_an_error() {
    let comparison = one_of_each();
    let annotations = github(&comparison, None);
    let begins = ["::notice title=k a.c", "::error title=k a.d", "::warning title=k a.e"];
    let lines: Vec<_> = annotations.lines().collect();
    assert_eq!(lines.len(), begins.len(), "{annotations}");
    assert!(lines.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{annotations}");
    let xml = junit(&comparison, None, |_| None);
    let case = |name: &str| {
        xml.lines().find(|line| line.contains(&format!("name=\"{name}\""))).unwrap_or_default()
    };
    assert!(case("a.a").ends_with("name=\"a.a\"/>"), "{xml}");
    for (name, child) in
        [("a.b", "<system-out>"), ("a.c", "<system-out>"), ("a.d", "<failure "), ("a.e", "<error ")]
    {
        assert!(case(name).contains(child), "{xml}");
    }
    assert!(xml.contains("tests=\"5\" failures=\"1\" errors=\"1\""), "{xml}");
}

#[test]
fn an_annotation_counts_the_figures_that_it_leaves_out() {
    let names: Vec<_> = (0..4).map(|number| format!("a.b{number}")).collect();
    let runs =
        |steady: u64| -> Vec<_> { names.iter().map(|name| plain(name, 120, steady)).collect() };
    let of = |count: usize| {
        let mut comparison = compared(&runs(100)[..count], &runs(107)[..count]);
        comparison.pairs.iter_mut().for_each(|pair| pair.changed = vec!["give".to_owned()]);
        github(&comparison, Some(&gate(&comparison, &Policy::default())))
    };
    // A median and a largest sample each.
    assert_eq!(of(4).matches("%0A").count(), 5, "{}", of(4));
    assert!(of(4).ends_with("%0Aand 3 more\n"), "{}", of(4));
    assert!(!of(2).contains(" more"), "{}", of(2));
}

#[test]
fn a_row_has_cycles_and_instructions_in_columns_of_their_own() {
    let row = |before: Answer, after: Answer| {
        let comparison = compared(&[before], &[after]);
        let text = markdown(&comparison, None, Rows::Changed);
        text.lines().find(|line| line.starts_with("| a.b ")).unwrap_or_default().to_owned()
    };
    let cycles = "median 100 \u{2192} 104 (+4, +4.00 %) cycles; also max";
    assert_eq!(
        row(counted(100, 40), counted(104, 42)),
        format!("| a.b | k | s | {cycles} | +2 |  |")
    );
    let only = "median 40 \u{2192} 42 (+2, +5.00 %) instructions; also max";
    assert_eq!(row(counted(100, 40), counted(100, 42)), format!("| a.b | k | s | {only} |  |  |"));
    assert_eq!(
        row(plain("a.b", 120, 100), plain("a.b", 120, 104)),
        format!("| a.b | k | s | {cycles} |  |  |")
    );
}

#[test]
fn what_became_better_on_the_whole_is_not_among_what_became_slower() {
    // Only the first sample of a.a grew, and its typical one shrank.
    let before = [plain("a.a", 120, 100), plain("a.b", 120, 100)];
    let after = [plain("a.a", 121, 90), plain("a.b", 120, 101)];
    let text = markdown(&compared(&before, &after), None, Rows::Changed);
    let (first, folded) = text.split_once("<details>").expect("something folded");
    assert!(first.contains("| a.b |") && !first.contains("| a.a |"), "{text}");
    assert!(folded.contains("1 faster<") && folded.contains("| a.a |"), "{text}");
}
