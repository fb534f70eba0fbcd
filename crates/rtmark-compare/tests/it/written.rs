//! What is written for machines, GitHub and people.

use super::*;

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
        "::error title=k a.b on s::median 100 \u{2192} 101 (+1, +1.00 %25) cycles%0A\
         max 100 \u{2192} 101 (+1, +1.00 %25) cycles"
    );
    assert!(
        lines.iter().all(|line| line.starts_with("::error ") || line.starts_with("::warning "))
    );
    let text = markdown(&comparison, Some(&found), Rows::Changed);
    assert!(text.contains("| s | a.b | k | worse |") && text.contains("\\<b\\>"), "{text}");
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

#[test]
fn annotations_tell_a_cause_once_and_where_it_is() {
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
