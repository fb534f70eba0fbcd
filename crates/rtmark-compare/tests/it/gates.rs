//! Budgets, and what a gate permits.

use super::*;

#[test]
fn a_gate_passes_moved_code_and_fails_changed_code() {
    let held = |before: Answer, after: Answer, text: &str| {
        gate(&compared(&[before], &[after]), &policy(text)).regressions
    };
    assert!(held(counted(100, 40), counted(117, 40), "").is_empty());
    // A limit is a limit, whatever causes the excess.
    let limit = "[[budget]]\nat_most = 110\n";
    let over = held(counted(100, 40), counted(117, 40), limit);
    assert_eq!(over[0].excess.map(|excess| excess.limit), Some(110));
    assert!(held(counted(100, 40), counted(109, 40), limit).is_empty());
    // Instructions are a figure of their own, besides cycles.
    let more = held(counted(100, 40), counted(100, 41), "");
    assert_eq!(more[0].basis, Some(rtmark_model::Basis::Instructions));
    assert!(more[0].text.contains("median 40 \u{2192} 41 (+1, +2.50 %) instructions"), "{more:?}");
    assert!(held(counted(100, 40), counted(101, 41), "[[budget]]\nabsolute = 1\n").is_empty());
    // A limit in cycles is not a limit in instructions.
    let few = held(counted(20, 40), counted(20, 41), "[[budget]]\nat_most = 30\nabsolute = 1\n");
    assert!(few.is_empty(), "{few:?}");
    let mut otherwise = compared(&[counted(20, 40)], &[counted(23, 42)]);
    otherwise.pairs[0].decide(Vec::new());
    let limited = |limit: &str| gate(&otherwise, &policy(limit)).regressions.len();
    assert_eq!(
        limited("[[budget]]\nat_most = 30\n"),
        0,
        "nor where the same code took another path"
    );
    assert_eq!(limited("[[budget]]\nat_most = 22\n"), 2, "median and max, in cycles");
}

fn policy(text: &str) -> Policy {
    Policy::from_toml(text).expect("good")
}

#[test]
fn the_last_matching_budget_decides() {
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

/// 29 % of 100 are 29, in whatever base the computer counts.
#[test]
fn a_relative_budget_allows_what_it_states() {
    for (percent, before) in [(29, 100), (57, 100), (7, 100), (1, 300), (58, 1000)] {
        let policy = policy(&format!("[[budget]]\nrelative = 0.{percent:02}\n"));
        let regressions = |growth: u64| {
            let after = plain("a.b", 1, before + growth);
            gate(&compared(&[plain("a.b", 1, before)], &[after]), &policy).regressions.len()
        };
        let allowed = before * percent / 100;
        assert_eq!((regressions(allowed), regressions(allowed + 1)), (0, 2), "{percent} %");
    }
}

#[test]
fn acknowledged_regressions_pass_up_to_their_limit() {
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

/// A budget from before a kernel was renamed is still that kernel's.
#[test]
fn budgets_and_acknowledgements_accept_a_former_name() {
    let ring = |first, cycles| {
        let Answer::Measured(mut series) = plain("a.b", first, cycles) else { panic!("measured") };
        series.key.kernel = "ring".parse().expect("a name");
        Answer::Measured(series)
    };
    let grown = compared(&[ring(120, 1000)], &[ring(120, 1010)]);
    let left = |text: &str| gate(&grown, &policy(text)).regressions.len();
    assert_eq!(left("measures = ['median']\n"), 1);
    for (kernel, expected) in [("ring", 0), ("evloop", 0), ("ev*", 0), ("evloop-pool", 1)] {
        let budget =
            format!("measures = ['median']\n[[budget]]\nkernel = '{kernel}'\nabsolute = 10\n");
        let known = format!(
            "measures = ['median']\n[[acknowledged]]\nscenario = '*'\nkernel = '{kernel}'\nup_to = 1010\n\
             reason = 'known'\n"
        );
        assert_eq!((left(&budget), left(&known)), (expected, expected), "{kernel}");
    }
}

#[test]
fn invalid_policies_are_rejected_with_their_line() {
    let refused = |text: &str| Policy::from_toml(text).expect_err("refused").to_string();
    let error = refused("[[budget]]\nrelativ = 1\n");
    assert!(error.contains("line 2") && error.contains("relativ"), "{error}");
    assert!(refused("[[acknowledged]]\nscenario = 'a'\nup_to = 1\n").contains("reason"));
    let error = refused("[[budget]]\nabsolute = 1\n[[budget]]\nrelative = -0.1\n");
    assert!(error.contains("line 4") && error.contains("relative = -0.1 is not"), "{error}");
    let error = refused("[[acknowledged]]\nscenario = 'a'\nup_to = 1\nreason = ' '\n");
    assert!(error.contains("line 4") && error.contains("without its reason"), "{error}");
    let error = refused("\nmeasures = []\n");
    assert!(error.contains("line 2") && error.contains("nothing is held"), "{error}");
    assert!(refused("measures = ['mode']\n").contains("median"));
}

#[test]
fn each_figure_is_checked_against_its_budget() {
    let held = |before: Answer, after: Answer, text: &str| {
        let gate = gate(&compared(&[before], &[after]), &policy(text));
        gate.regressions.iter().map(|f| f.excess.map(|e| e.limit)).collect::<Vec<_>>()
    };
    let grown = || (plain("a.b", 120, 1000), plain("a.b", 120, 1010));
    let of = |text: &str| held(grown().0, grown().1, text);
    assert_eq!(of("measures = ['median']\n"), [Some(1000)]);
    assert_eq!(of("measures = ['median']\n[[budget]]\nrelative = 0.0099\n"), [Some(1009)], "cut");
    assert_eq!(of("measures = ['median']\n[[budget]]\nrelative = 0.01\n"), []);
    assert_eq!(of("measures = ['median']\n[[budget]]\nabsolute = 9\n"), [Some(1009)]);
    assert_eq!(of("measures = ['median']\n[[budget]]\nabsolute = 10\n"), []);
    let both = "measures = ['median']\n[[budget]]\nabsolute = 4\nrelative = 0.01\n";
    assert_eq!(of(both), [], "whichever is more");
    // An excess that existed before and did not grow is not due to this change.
    let above = "measures = ['median']\n[[budget]]\nat_most = 900\n";
    assert_eq!(held(plain("a.b", 1, 1000), plain("a.b", 1, 999), above), []);
    assert_eq!(of(above), [Some(900)]);
    let refused = |text: &str| Policy::from_toml(text).is_err();
    assert!(!refused("[[budget]]\nrelative = 1e6\n") && refused("[[budget]]\nrelative = 1.1e6\n"));
}

#[test]
fn a_gate_lists_incomparable_series_and_unused_acknowledgements() {
    let clock = answer("a.b", json!([{"value": 5}]), json!({"clock": 1_000_000}));
    let comparison = compared(&[plain("a.b", 1, 5)], &[clock]);
    let text = "[[acknowledged]]\nscenario = 'x.*'\nup_to = 1\nreason = 'once'\n\
                [[budget]]\nscenario = 'a.*'\n";
    let found = gate(&comparison, &policy(text));
    assert_eq!(found.incomparable, ["k a.b on s: clock: 48 MHz before, 1 MHz after"]);
    assert_eq!(found.unused, ["[[acknowledged]] x.*: once: nothing that was compared matches"]);
    let done = text.replace("x.*", "a.*");
    let found = gate(&compared(&[plain("a.b", 1, 5)], &[plain("a.b", 1, 5)]), &policy(&done));
    assert_eq!(found.unused, ["[[acknowledged]] a.*: once: no longer needed"]);
    assert!(found.regressions.is_empty());
    // An acknowledgement is specific to kernel, soc and figure too.
    let grown = compared(&[plain("a.b", 120, 100)], &[plain("a.b", 120, 105)]);
    for (entry, left) in [
        ("kernel = 'k'", 0),
        ("kernel = 'x'", 2),
        ("soc = 's'", 0),
        ("soc = 'x'", 2),
        ("measure = 'max'", 1),
        ("measure = 'first'", 2),
    ] {
        let text =
            format!("[[acknowledged]]\nscenario = 'a.b'\n{entry}\nup_to = 200\nreason = 'r'\n");
        assert_eq!(gate(&grown, &policy(&text)).regressions.len(), left, "{entry}");
    }
}

#[test]
fn a_sampled_series_regresses_only_beyond_its_confidence() {
    let at = |resolution: u64, base: u64| {
        let samples: Vec<_> = std::iter::once(json!({"value": 999}))
            .chain((0..40).map(|n| json!({"value": base + n % 5})))
            .collect();
        let mut value = serde_json::to_value(series("a.b", json!([]), json!({}))).expect("JSON");
        value["readings"] = json!({"sampled": {"resolution": resolution, "samples": samples}});
        Answer::Measured(Box::new(serde_json::from_value(value).expect("a series")))
    };
    let of = |base| at(1, base);
    let coarse = one(at(20, 100), at(20, 110));
    assert_eq!(coarse.verdict, Verdict::Same);
    assert_eq!(coarse.notes, ["less than the clock can show: its resolution is 20 cycles"]);
    assert!(one(at(20, 100), at(20, 100)).notes.is_empty());
    let verdict = |before, after| one(of(before), of(after)).verdict;
    assert_eq!(verdict(100, 100), Verdict::Same);
    assert_eq!(verdict(100, 110), Verdict::Worse);
    assert_eq!(verdict(110, 100), Verdict::Better);
    let held =
        |before, after| gate(&compared(&[of(before)], &[of(after)]), &policy("")).regressions;
    assert_eq!(
        held(100, 110)[0].excess.map(|e| (e.change.before, e.change.after)),
        Some((102, 112))
    );
    assert!(held(100, 100).is_empty() && held(110, 100).is_empty());
    let points = [of(100), of(100), of(110), of(110)].into_iter().enumerate();
    let points: Vec<_> = points
        .filter_map(|(n, answer)| Some((label("r"), n as i64, answer.series()?.clone())))
        .collect();
    let steps: Vec<_> =
        history(&points, Measure::Median).iter().map(|point| point.step.is_some()).collect();
    assert_eq!(steps, [false, false, true, false]);
}
