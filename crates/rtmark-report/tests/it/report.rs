//! The report's parts, in Markdown and in HTML, and what it refuses.

use rtmark_model::Answer;
use rtmark_report::Report;

use crate::fixture::{Fixture, HOSTILE};

/// The headings of everything that a report can contain.
const PARTS: &[&str] = &[
    "Longest held back",
    "Cold and warm",
    "Settings side by side",
    "What produced the figures",
    "Worst case",
    "Witnesses of freertos thread.yield on one",
    "Longest held back in freertos thread.yield on one",
    "Figures of others beside ours",
    "History",
    "Environment",
];

#[test]
fn both_formats_have_the_same_parts() {
    let fixture = Fixture::new();
    let html = fixture.report().html().expect("rendered");
    let markdown = fixture.report().markdown();
    for part in PARTS {
        assert!(html.contains(&format!(">{part}<")), "{part} in HTML");
        assert!(markdown.contains(&format!("# {part}\n")), "{part} in {markdown}");
    }
    for figure in ["rtmark sim x.elf --irq=8@1234", "PRIMASK 44", "31", "3.3\u{d7} ours"] {
        assert!(html.contains(figure) && markdown.contains(figure), "{figure} in {markdown}");
    }
    assert!(markdown.contains("| growth.tick.delayed | freertos | linear"), "{markdown}");
}

#[test]
fn hostile_text_is_escaped_in_markdown() {
    let fixture = Fixture::new();
    let markdown = fixture.report().markdown();
    assert!(markdown.contains(HOSTILE), "as code, it is what it was");
    let mut bars = 0;
    for line in markdown.lines() {
        // Between backticks nothing is markup.
        let plain: String = line.replace("\\<", "").split('`').step_by(2).collect();
        assert!(!plain.contains("<script>") && !plain.contains("<img"), "{line}");
        let of_line =
            if line.starts_with('|') { line.replace("\\|", "").matches('|').count() } else { 0 };
        assert!(bars == 0 || of_line == 0 || bars == of_line, "{line}");
        bars = of_line;
    }
}

#[test]
fn markdown_fits_into_a_comment_and_lists_omissions() {
    let fixture = Fixture::new();
    let report = fixture.report();
    assert!(!report.markdown().contains("Shortened"), "a short one is whole");
    let with = |scenarios: usize| -> Vec<Answer> {
        let renamed = |number: usize| {
            report.answers.iter().filter_map(Answer::series).take(2).map(move |series| {
                let mut series = series.clone();
                series.key.scenario = format!("thread.yield.s{number}").parse().expect("good");
                Answer::Measured(Box::new(series))
            })
        };
        (0..scenarios).flat_map(renamed).collect()
    };
    for scenarios in [700, 2000] {
        let answers = with(scenarios);
        let long = Report { answers: &answers, ..report }.markdown();
        assert!(long.chars().count() <= 65_536, "{} characters", long.chars().count());
        let last = long.lines().last().expect("a line");
        assert!(last.contains("Left out are times"), "{last}");
        assert!(last.contains("report.html"), "{last}");
        // Pieces that do not fit at all are listed.
        assert_eq!(last.contains("and: one"), scenarios == 2000, "{last}");
        // Medians remain as long as there is room for them.
        assert_eq!(long.contains("thread.yield.s699 "), scenarios == 700, "{scenarios}");
    }
}

#[test]
fn two_versions_of_a_kernel_are_distinguished() {
    let fixture = Fixture::new();
    let report = fixture.report();
    let newer = |answer: &Answer| {
        let mut series = answer.series()?.clone();
        series.key.version = "2".into();
        Some(Answer::Measured(Box::new(series)))
    };
    let mut answers = report.answers.to_vec();
    answers.extend(report.answers.iter().filter_map(newer));
    let html = Report { answers: &answers, ..report }.html().expect("rendered");
    for name in ["FreeRTOS 1", "FreeRTOS 2"] {
        assert!(html.contains(&format!("<title>{name}: from ")), "charts of {name}");
        assert!(html.contains(&format!("> {name}</th>")), "figures of {name}");
    }
}

#[test]
fn unknown_versions_of_worst_cases_are_rejected() {
    let refused = |text: &str| rtmark_report::worst(text).expect_err(text).to_string();
    assert!(refused("\u{1b}[2J").contains("not a result of `rtmark worst --format json`"));
    assert!(refused("{}").contains("schema_version"));
    assert!(refused("{\"schema_version\": 2}").contains("version 2"));
    let text = refused("{\"schema_version\": 1, \"results\": [{\"kernel\": \"\u{1b}\"}]}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_report_without_measurements_renders() {
    let catalogue = rtmark_model::Catalogue::builtin().expect("good");
    let report = Report::of(&[], &catalogue);
    assert!(report.html().expect("rendered").contains("Environment"));
    assert!(report.markdown().starts_with("## What real-time kernels cost"));
}

#[test]
fn each_kernel_has_a_bar_of_its_sample_by_cost() {
    let fixture = Fixture::new();
    let html = fixture.report().html().expect("rendered");
    let (_, bars) = html.split_once("<table class=\"spent\">").expect("bars");
    let (bars, _) = bars.split_once("</table>").expect("their end");
    // Of the floor's 50 cycles, 30 are the thread's; of FreeRTOS' 100, 80: shares of the longest bar.
    for piece in [
        "class=\"w0\" x=\"0.00%\" width=\"30.00%\"",
        "class=\"w5\" x=\"30.00%\" width=\"12.00%\"",
        "class=\"w0\" x=\"0.00%\" width=\"80.00%\"",
        "class=\"w10\" x=\"92.00%\" width=\"8.00%\"",
    ] {
        assert!(bars.contains(piece), "{piece} in {bars}");
    }
    assert!(bars.contains("exception entry 12") && bars.contains("other 8"), "{bars}");
    assert!(!bars.contains("<script") && !bars.contains("<img"), "{bars}");
    assert_eq!(
        bars.matches("of another build").count(),
        1,
        "only freertos' is another one: {bars}"
    );
    // Bars of other timing rules are not shown with a figure.
    let mut answers = fixture.report().answers.to_vec();
    for answer in &mut answers {
        if let Answer::Measured(series) = answer {
            series.provenance.timing_model = Some("3".into());
        }
    }
    let html = Report { answers: &answers, ..fixture.report() }.html().expect("rendered");
    assert!(!html.contains("class=\"spent\""));
}

#[test]
fn unknown_versions_of_explanations_are_rejected() {
    let refused = |text: &str| rtmark_report::why(text).expect_err(text).to_string();
    assert!(refused("{}").contains("schema_version"));
    assert!(refused("{\"schema_version\": 2}").contains("version 2"));
    assert!(refused("{\"schema_version\": 1}").contains("`rtmark why --format json`"));
}
