//! The pages in docs/studies are what the command writes for their data, and the data belongs to
//! the current studies. With RTMARK_BLESS=1, the pages are rewritten from the existing data.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rtmark_study::{
    Document, Figures, Report, Study, Verdict, against_boards, builtin, scoreboard,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_default()
}

/// Returns whether the file equals the current text, after rewriting it on request.
fn written(name: &str, text_now: &str) -> bool {
    if std::env::var_os("RTMARK_BLESS").is_some() {
        std::fs::write(folder().join(name), text_now).expect("writable");
    }
    text(name) == text_now
}

fn kept(id: &str) -> (String, Report) {
    let document: Document = serde_json::from_str(&text(&format!("{id}.json")))
        .unwrap_or_else(|error| panic!("{id}.json: {error}"));
    let mut studies = document.studies;
    assert_eq!(studies.len(), 1, "{id}");
    (document.generator, studies.remove(0))
}

#[test]
fn pages_match_their_data_and_the_studies() {
    let anew = "write it anew with `rtmark study --all --out docs/studies`";
    let mut wanted = BTreeSet::new();
    for study in builtin().expect("good") {
        let id = &study.id;
        let (generator, report) = kept(id);
        assert!(report.is_of(&study), "docs/studies/{id}.json is of another form of it: {anew}");
        let (page, pictures) = report.page(&generator);
        assert!(written(&format!("{id}.md"), &page), "docs/studies/{id}.md: {anew}");
        assert!(!pictures.is_empty(), "{id} has no picture");
        for (name, svg) in pictures {
            assert!(written(&name, &svg), "docs/studies/{name}: {anew}");
            assert!(page.contains(&format!("]({name})")), "{name} is shown");
            wanted.insert(name);
        }
        wanted.extend([format!("{id}.md"), format!("{id}.json")]);
    }
    wanted.insert("scoreboard.md".to_owned());
    let there = std::fs::read_dir(folder()).expect("a folder");
    let there = there.map(|entry| entry.expect("there").file_name().display().to_string());
    assert_eq!(there.collect::<BTreeSet<_>>(), wanted, "nothing else lies there");
}

#[test]
fn the_scoreboard_matches_the_pages() {
    let reports: Vec<_> = builtin().expect("good").iter().map(|study| kept(&study.id).1).collect();
    let anew = "write it anew with `rtmark study --all --out docs/studies`";
    assert!(written("scoreboard.md", &scoreboard(&reports)), "docs/studies/scoreboard.md: {anew}");
    let pages: Vec<_> = builtin().expect("good").into_iter().chain(against_boards()).collect();
    for Study { id, score, published, .. } in pages {
        let place = if id == "validation" { format!("../{id}") } else { id.clone() };
        let (_, report) = kept(&place);
        assert_eq!(report.scores.len(), score.len(), "{id}");
        assert!(!published.unstated.is_empty(), "{id}: what is not stated");
        for score in &report.scores {
            let fails = matches!(score.verdict(), Verdict::OutOfBand | Verdict::NoValue);
            assert!(!fails, "{id}: {}", score.what);
            let has_reason = score.measured.is_some() || score.reason.is_some();
            assert!(score.formula.is_none() || has_reason, "{id}: {}", score.what);
        }
    }
}

#[test]
fn the_validation_page_matches_its_data() {
    let anew = "write it anew with `rtmark study validation --out docs`";
    let study = against_boards().expect("good");
    let (generator, report) = kept("../validation");
    assert!(report.is_of(&study), "docs/validation.json is of another form of it: {anew}");
    let (page, _) = report.page(&generator);
    assert!(written("../validation.md", &page), "docs/validation.md: {anew}");
    assert!(page.contains("## The ratios by chip"));
}

#[test]
fn every_word_of_the_pages_holds_and_every_figure_is_there() {
    for study in builtin().expect("good") {
        let (_, report) = kept(&study.id);
        let broken: Vec<_> =
            report.failed_conditions().map(|(_, one)| one.condition.clone()).collect();
        assert!(broken.is_empty(), "{}: {broken:?}", study.id);
        for explained in &report.explanations {
            assert!(!explained.rests_on.is_empty(), "{}: {}", study.id, explained.title);
            assert!(!explained.text.contains("n/a"), "{}: {}", study.id, explained.title);
        }
        for row in report.tables.iter().flat_map(|table| &table.rows) {
            assert!(row.measured.is_some() || row.reason.is_some(), "{}: {}", study.id, row.what);
        }
    }
}

/// Without any run, no figure has a value.
#[test]
fn what_has_no_value_fails_and_is_shown_so() {
    let study = &builtin().expect("good")[0];
    let bands = study.score.iter().filter(|score| score.band.is_some()).count();
    let conditions: usize = study.explanation.iter().map(|one| one.holds.len()).sum();
    let report = Report::new(study, Figures::default(), Vec::new()).expect("good formulas");
    assert!(bands > 0 && conditions > 0);
    assert_eq!(report.out_of_band().count(), bands);
    let (page, _) = report.page("rtmark");
    assert_eq!(page.matches("| no value: ").count(), bands, "{page}");
    assert_eq!(page.matches("> Not known here: ").count(), conditions, "{page}");
    assert!(!page.contains("Not so here"), "{page}");
}

#[test]
fn a_report_of_another_study_is_detected() {
    let studies = builtin().expect("good");
    let (_, report) = kept(&studies[0].id);
    assert!(!report.is_of(&studies[1]));
    let mut other = studies[0].clone();
    if let Some(row) = other.table[0].row.first_mut() {
        row.published = row.published.map(|value| value + 1.0);
    }
    assert!(!report.is_of(&other), "another published figure");
    let mut other = studies[0].clone();
    other.explanation[0].text.push_str(" And more.");
    assert!(!report.is_of(&other), "another word");
}

/// Boards named by sources, and the simulated chips on them.
const CHIPS: [(&str, &str); 5] = [
    ("STM32L432KB", "STM32L432"),
    ("RP2350 Pimoroni Explorer", "RP2350"),
    ("Nucleo-144 STM32F446ZE", "STM32F446"),
    ("nRF52840", "nRF52840"),
    ("generic", "Cortex-M3"),
];

#[test]
fn every_published_row_of_an_included_kernel_and_chip_is_compared_with_ours() {
    let catalogue = rtmark_model::Catalogue::builtin().expect("good");
    let published = rtmark_import::published(&catalogue, "0").expect("good");
    let boards = against_boards().expect("good");
    let mut found = 0;
    for series in published.times.answers.iter().filter_map(|answer| answer.series()) {
        let kernel = series.key.kernel.as_str();
        let core = series.provenance.core.as_str();
        if !["freertos", "embassy", "rtic", "lilos"].contains(&kernel) {
            continue;
        }
        if !core.starts_with("cortex-m") || core.starts_with("cortex-m7") {
            continue;
        }
        let row = &series.provenance.log.as_ref().expect("a source").row;
        let chip = CHIPS.iter().find(|(board, _)| *board == series.key.soc);
        let (_, chip) = chip.unwrap_or_else(|| panic!("{}: no chip for {row}", series.key.soc));
        let mean = series.readings.summarised().and_then(|summary| summary.mean).expect("a mean");
        let score = boards.score.iter().find(|score| {
            // As printed, or converted to nanoseconds.
            let value = if score.unit == "us" { score.published * 1e3 } else { score.published };
            score.chip.as_deref() == Some(*chip)
                && score.what.ends_with(row.as_str())
                && (value - mean).abs() < 1e-6 * mean
        });
        let score = score.unwrap_or_else(|| panic!("{kernel} on {chip}: {row} is not there"));
        let source = series.provenance.log.as_ref().expect("a source");
        let equal = catalogue.equal_to(source.suite, row).is_some();
        assert_eq!(score.band.is_some(), equal, "{kernel} on {chip}: {row}: a ratio for equals");
        found += 1;
    }
    assert_eq!(found, boards.score.len(), "nothing else stands there");
}
