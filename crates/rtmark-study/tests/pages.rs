//! The pages in docs/studies are what the command writes of their data, and that data is of the
//! studies as they are now.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rtmark_study::{Document, Report, builtin};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_default()
}

fn kept(id: &str) -> (String, Report) {
    let document: Document = serde_json::from_str(&text(&format!("{id}.json")))
        .unwrap_or_else(|error| panic!("docs/studies/{id}.json: {error}"));
    let mut studies = document.studies;
    assert_eq!(studies.len(), 1, "{id}");
    (document.generator, studies.remove(0))
}

#[test]
fn pages_are_written_of_their_data_and_the_studies() {
    let anew = "write it anew with `rtmark study --all --out docs/studies`";
    let mut wanted = BTreeSet::new();
    for study in builtin().expect("good") {
        let id = &study.id;
        let (generator, report) = kept(id);
        assert!(report.is_of(&study), "docs/studies/{id}.json is of another form of it: {anew}");
        let (page, pictures) = report.page(&generator);
        assert!(page == text(&format!("{id}.md")), "docs/studies/{id}.md: {anew}");
        assert!(!pictures.is_empty(), "{id} has no picture");
        for (name, svg) in pictures {
            assert!(svg == text(&name), "docs/studies/{name}: {anew}");
            assert!(page.contains(&format!("]({name})")), "{name} is shown");
            wanted.insert(name);
        }
        wanted.extend([format!("{id}.md"), format!("{id}.json")]);
    }
    let there = std::fs::read_dir(folder()).expect("a folder");
    let there = there.map(|entry| entry.expect("there").file_name().display().to_string());
    assert_eq!(there.collect::<BTreeSet<_>>(), wanted, "nothing else lies there");
}

#[test]
fn every_word_of_the_pages_holds_and_every_figure_is_there() {
    for study in builtin().expect("good") {
        let (_, report) = kept(&study.id);
        let broken: Vec<_> = report.broken().map(|(_, one)| one.condition.clone()).collect();
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

#[test]
fn a_report_of_another_study_is_told() {
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
