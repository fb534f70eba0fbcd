//! Unit tests of the store.

use std::time::Instant;

use super::*;
use rtmark_model::{Backend, Key};

mod limits;

fn answer(scenario: &str) -> Answer {
    let key = Key {
        soc: "s".into(),
        kernel: "floor".parse().expect("good"),
        version: "1".into(),
        profile: "product".into(),
        scenario: scenario.parse().expect("good"),
        backend: Backend::Sim,
    };
    Answer::NotApplicable { key, reason: "because".into() }
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("deep/er/store.sqlite");
    (folder, path)
}

#[test]
fn recorded_data_survives_reopening() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let run = store.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record(&answer("a.b"), None).expect("recorded");
    run.record(&answer("a.c"), Some(&fingerprint(["x", "y"]))).expect("recorded");
    drop(store);

    let store = Store::open(&path).expect("opened");
    let runs = store.runs().expect("read");
    assert_eq!((runs.len(), &runs[0].id, runs[0].answers), (1, &id, 2));
    assert_eq!(runs[0].finished_ms, None, "it was never finished");
    let answers = store.answers(&id).expect("read");
    let ids: Vec<_> = answers.iter().map(|a| a.key().scenario.as_str()).collect();
    assert_eq!(ids, ["a.b", "a.c"]);
    let found = store.find(&fingerprint(["x", "y"])).expect("read").expect("found");
    assert_eq!(found.key().scenario.as_str(), "a.c");
    assert!(store.find(&fingerprint(["xy", ""])).expect("read").is_none());
}

#[test]
fn complete_answers_are_recorded_in_order() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let run = store.begin("rtmark import", "0", None).expect("begun");
    let id = run.id().to_owned();
    let answers: Vec<_> = (0..600).map(|number| answer(&format!("a.b{number}"))).collect();
    run.record_all(&answers).expect("recorded");
    let kept = Store::open(&path).expect("opened").answers(&id).expect("read");
    let keys = |answers: &[Answer]| answers.iter().map(|a| a.key().clone()).collect::<Vec<_>>();
    assert_eq!(keys(&kept), keys(&answers));
}

#[test]
fn measurements_record_their_duration() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let run = store.begin("rtmark run", "0", None).expect("begun");
    let took = [None, Some(Duration::from_micros(1_500_250)), Some(Duration::ZERO)];
    for (name, took) in ["a.b", "a.c", "a.d"].into_iter().zip(took) {
        run.record_timed(&answer(name), None, took).expect("recorded");
    }
    run.finish().expect("finished");
    let other = store.begin("rtmark run", "0", None).expect("begun");
    other.record_timed(&answer("a.e"), None, Some(Duration::MAX)).expect("recorded");
    let runs = store.runs().expect("read");
    let first = runs.iter().find(|run| run.answers == 3).expect("there");
    let times = store.times(first).expect("read");
    let shown: Vec<_> = times.iter().map(|(key, took)| (key.scenario.as_str(), *took)).collect();
    assert_eq!(shown, [("a.c", Duration::from_micros(1_500_250)), ("a.d", Duration::ZERO)]);
    assert_eq!(times[0].0, *answer("a.c").key());
}

#[test]
fn finished_runs_are_marked() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    store.begin("c", "0", None).and_then(RunWriter::finish).expect("finished");
    assert!(store.runs().expect("read")[0].finished_ms.is_some());
}

#[test]
fn answers_cannot_be_changed() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    store.begin("c", "0", None).and_then(|run| run.record(&answer("a.b"), None)).expect("recorded");
    let change = store.connection.execute("UPDATE answers SET kernel = 'x'", []);
    assert!(change.expect_err("refused").to_string().contains("append-only"));
}

#[test]
fn concurrent_writers_lose_nothing() {
    let (_folder, path) = scratch();
    Store::open(&path).expect("made");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = Store::open(&path).expect("opened");
                let run = store.begin("c", "0", None).expect("begun");
                for _ in 0..50 {
                    run.record(&answer("a.b"), None).expect("recorded");
                }
                run.finish().expect("finished");
            });
        }
    });
    let runs = Store::open(&path).and_then(|store| store.runs()).expect("read");
    assert_eq!(runs.iter().map(|run| run.answers).collect::<Vec<_>>(), [50, 50]);
}

#[test]
fn files_that_are_not_stores_are_rejected() {
    let (folder, _) = scratch();
    let path = folder.path().join("noise");
    std::fs::write(&path, [0x55; 4096]).expect("written");
    let error = Store::open(&path).expect_err("refused").to_string();
    assert!(error.contains("noise") && error.contains("not a database"), "{error}");

    let path = folder.path().join("newer");
    let store = Store::open(&path).expect("made");
    store.connection.pragma_update(None, "user_version", 99).expect("set");
    drop(store);
    assert!(matches!(Store::open(&path), Err(StoreError::Newer { found: 99, .. })));

    let path = folder.path().join("other");
    let connection = Connection::open(&path).expect("made");
    connection.execute_batch("CREATE TABLE somebodys (x); PRAGMA user_version = 1").expect("made");
    for version in [1, 0] {
        connection.pragma_update(None, "user_version", version).expect("set");
        let before = std::fs::read(&path).expect("there");
        assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })), "{version}");
        assert_eq!(std::fs::read(&path).expect("there"), before, "it is left as it was");
    }

    let folder = folder.path().to_owned();
    assert!(matches!(Store::open(&folder), Err(StoreError::IsFolder { .. })));
}

#[test]
fn reading_does_not_create_a_store() {
    let (folder, path) = scratch();
    assert!(matches!(Store::open_existing(&path), Err(StoreError::Missing { .. })));
    assert!(!folder.path().join("deep").exists());
    let store = Store::open(&path).expect("made");
    store.begin("rtmark run", "0", None).expect("begun").finish().expect("finished");
    drop(store);
    assert_eq!(Store::open_existing(&path).expect("opened").runs().expect("read").len(), 1);
}

/// SQLite's answer to opening a file that may not be written.
fn denied() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN), None)
}

#[test]
fn read_only_stores_can_be_read() {
    let (folder, _) = scratch();
    let path = folder.path().join("50% #?& \u{fc}.sqlite");
    let store = Store::open(&path).expect("made");
    store.begin("rtmark run", "0", None).expect("begun").finish().expect("finished");
    drop(store);
    let store = Store::open_unchanging(path, denied()).expect("opened");
    let runs = store.runs().expect("read");
    assert_eq!(runs.len(), 1);
    assert!(matches!(store.remove(&runs[0], ""), Err(StoreError::Denied { .. })));
    // An old one would have to be migrated, and a missing one is not made.
    let old = folder.path().join("old");
    of_form(1, &old);
    let opened = |path: PathBuf| Store::open_unchanging(path, denied());
    assert!(matches!(opened(old), Err(StoreError::Denied { .. })));
    let missing = folder.path().join("missing");
    assert!(matches!(opened(missing.clone()), Err(StoreError::Denied { .. })) && !missing.exists());
}

#[test]
fn the_location_follows_the_environment() {
    let from = |set: &[(&str, &str)]| {
        place(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| PathBuf::from(v))).ok()
    };
    let all = [("RTMARK_STORE", "x.db"), ("XDG_DATA_HOME", "/d"), ("HOME", "/h")];
    assert_eq!(from(&all), Some("x.db".into()));
    assert_eq!(from(&all[1..]), Some("/d/rtmark/store.sqlite".into()));
    assert_eq!(from(&all[2..]), Some("/h/.local/share/rtmark/store.sqlite".into()));
    let relative = [("XDG_DATA_HOME", "d"), ("HOME", "/h")];
    assert_eq!(from(&relative), Some("/h/.local/share/rtmark/store.sqlite".into()));
    assert_eq!(from(&[]), None);
    // What is set to nothing is not set.
    let empty = [("RTMARK_STORE", ""), ("XDG_DATA_HOME", ""), ("HOME", "/h")];
    assert_eq!(from(&empty), Some("/h/.local/share/rtmark/store.sqlite".into()));
}

/// Creates a store of an older version, with one finished and one interrupted run.
fn of_form(form: usize, path: &Path) {
    let connection = Connection::open(path).expect("made");
    for step in &schema::STEPS[..form] {
        connection.execute_batch(step).expect("a good step");
    }
    connection.pragma_update(None, "user_version", form as i64).expect("set");
    let body = r#"{"answer":"measured","provenance":{"commit":"c0ffee+"}}"#;
    // The first version has no column for commits.
    let (column, commit) = if form == 1 { ("", "") } else { (", revision", ", 'c0ffee+'") };
    let none = if form == 1 { "" } else { ", NULL" };
    // Up to the second version, nothing states the kind of a run.
    let (kinds, [measured, imported, fairness]) = match form {
        1 | 2 => ("", [""; 3]),
        _ => (", kind", [", 'measured'", ", 'imported'", ", 'fairness'"]),
    };
    connection
        .execute_batch(&format!(
            "INSERT INTO runs (id, started_ms, finished_ms, command, rtmark{column}{kinds}) VALUES
                 ('aaaa0000', 1, 2, 'rtmark run', '0.1.0'{commit}{measured}),
                 ('bbbb0000', 3, NULL, 'rtmark run', '0.1.0'{none}{measured}),
                 ('cccc0000', 4, 5, 'rtmark import x.log', '0.1.0'{none}{imported}),
                 ('dddd0000', 6, 7, 'rtmark -q fairness --soc s', '0.1.0'{none}{fairness}),
                 ('eeee0000', 8, 9, 'rtmark run --name unfairness', '0.1.0'{none}{measured});
             INSERT INTO answers (run, soc, kernel, version, profile, scenario, backend, answer, body)
                 VALUES (1, 's', 'k', '1', 'default', 'a.b', 'sim', 'measured', '{body}'),
                        (2, 's', 'k', '1', 'default', 'a.b', 'sim', 'failed', 'no json'),
                        (3, 's', 'k', '1', 'default', 'a.b', 'log', 'measured', '{{}}'),
                        (3, 's', 'k', '1', 'default', 'a.c', 'log', 'measured', '{{}}'),
                        (5, 's', 'k', '1', 'default', 'a.b', 'sim', 'measured', '{{}}'),
                        (5, 's', 'k', '1', 'default', 'a.b', 'log', 'measured', '{{}}');"
        ))
        .expect("filled");
}

#[test]
fn stores_of_every_older_version_are_migrated() {
    for form in 1..schema::STEPS.len() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("old");
        of_form(form, &path);
        let store = Store::open(&path).expect("migrated");
        let runs = store.runs().expect("read");
        let known: Vec<_> =
            runs.iter().map(|run| (&run.id[..4], run.answers, run.failed, run.kind)).collect();
        let expected = [
            ("eeee", 2, 0, Kind::Measured),
            ("dddd", 0, 0, Kind::Fairness),
            ("cccc", 2, 0, Kind::Imported),
            ("bbbb", 1, 1, Kind::Measured),
            ("aaaa", 1, 0, Kind::Measured),
        ];
        assert_eq!(known, expected, "form {form}");
        let runs = &runs[3..];
        assert_eq!(runs[1].revision.as_deref(), Some("c0ffee+"), "taken from its answers");
        assert_eq!((runs[0].revision.as_deref(), runs[0].finished_ms), (None, None));
        store.name(&runs[1], "before").expect("the new form's marks work");
        let change = store.connection.execute("UPDATE runs SET command = 'x' WHERE row = 1", []);
        assert!(change.expect_err("refused").to_string().contains("append-only"));
        let form: i64 = store
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .expect("there");
        assert_eq!(form, schema::NEWEST);
    }
}

fn finished(store: &Store, revision: Option<&str>, scenarios: &[&str]) -> RunInfo {
    let run = store.begin("rtmark run", "0", revision).expect("begun");
    let id = run.id().to_owned();
    for scenario in scenarios {
        run.record(&answer(scenario), Some(&fingerprint([*scenario]))).expect("recorded");
    }
    run.finish().expect("finished");
    let runs = store.runs().expect("read");
    runs.into_iter().find(|run| run.id == id).expect("there")
}

fn no_commits(_: &str) -> Option<String> {
    None
}

#[test]
fn references_resolve_to_runs() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let commit = "1234567890abcdef1234567890abcdef12345678";
    let first = finished(&store, Some(commit), &["a.b"]);
    let second = finished(&store, Some("99999999+"), &["a.b"]);
    let third = finished(&store, Some(commit), &["a.b"]);
    store.begin("rtmark run", "0", None).expect("interrupted");
    let found = |reference: &str| store.resolve(reference, no_commits).map(|run| run.id);
    assert_eq!(found("latest").expect("there"), third.id, "only complete runs are the latest");
    assert_eq!(found("latest~2").expect("there"), first.id);
    let error = found("latest~3").expect_err("too far back").to_string();
    assert!(error.contains("run 4") && error.contains("3 are complete"), "{error}");
    assert_eq!(found(&second.id[..9]).expect("there"), second.id);
    assert_eq!(found(&second.id[..9].to_uppercase()).expect("there"), second.id);
    assert_eq!(found("12345678").expect("there"), third.id, "the newest of a commit");
    assert_eq!(found("9999999+").expect("there"), second.id);
    let branch = |_: &str| Some("99999999".to_owned());
    let error = store.resolve("main", branch).expect_err("only with changes");
    assert!(matches!(error, StoreError::OnlyChanged(_)), "{error}");
    let branch = |_: &str| Some(commit.to_owned());
    assert_eq!(store.resolve("main", branch).expect("there").id, third.id);
    store.name(&first, "main").expect("named");
    assert_eq!(store.resolve("main", branch).expect("there").id, first.id, "names come first");
    store.name(&second, "main").expect("named anew");
    assert_eq!(found("main").expect("there"), second.id);
    store.unname(&second, "main").expect("unnamed");
    assert!(matches!(found("main"), Err(StoreError::NoSuchRun(_))));
    for bad in ["", "latest", "1a", "a b", "beef", "x\n", &"a".repeat(97)] {
        assert!(matches!(store.name(&first, bad), Err(StoreError::BadName { .. })), "{bad}");
    }
    assert!(matches!(found("f"), Err(StoreError::NoSuchRun(_))), "too short for an id");

    let alike = "1234567890abcdef000000000000000000000000";
    finished(&store, Some(alike), &[]);
    assert!(matches!(found("12345678"), Err(StoreError::Ambiguous { .. })));
}

#[test]
fn removed_runs_are_skipped_and_only_they_are_pruned() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let kept = finished(&store, None, &["a.b"]);
    let removed = finished(&store, None, &["a.c", "a.d"]);
    store.name(&removed, "old").expect("named");
    let delete = |what: &str| store.connection.execute(what, []).map_err(|e| e.to_string());
    for what in ["DELETE FROM answers", "DELETE FROM runs", "DELETE FROM marks"] {
        let error = delete(what).expect_err("refused");
        assert!(error.contains("pruned") || error.contains("append-only"), "{what}: {error}");
    }
    assert_eq!(store.prune().expect("pruned").runs, 0, "nothing was removed yet");
    store.remove(&removed, "wrong board").expect("removed");
    assert_eq!(store.resolve("latest", no_commits).expect("there").id, kept.id);
    assert!(
        store.resolve("old", no_commits).is_err()
            && store.resolve(&removed.id, no_commits).is_err()
    );
    assert!(store.find(&fingerprint(["a.c"])).expect("read").is_none(), "no answer any more");
    assert_eq!(store.answers(&removed.id).expect("read").len(), 2, "but still in the file");
    store.restore(&removed).expect("restored");
    assert_eq!(store.resolve("old", no_commits).expect("there").id, removed.id);
    store.remove(&removed, "").expect("removed again");
    assert_eq!(store.prunable().expect("read"), Pruned { runs: 1, answers: 2, bytes: 0 });
    let pruned = store.prune().expect("pruned");
    assert_eq!((pruned.runs, pruned.answers), (1, 2));
    assert_eq!(store.runs().expect("read"), [kept]);
}

#[test]
fn locked_stores_are_reported_and_lose_nothing() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    finished(&store, None, &["a.b"]);
    let other = Connection::open(&path).expect("opened");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let began = Instant::now();
    let impatient = Store::open_waiting(&path, Duration::from_millis(50)).expect("readers pass");
    assert_eq!(impatient.runs().expect("read").len(), 1);
    let error = impatient.begin("c", "0", None).expect_err("locked");
    assert!(matches!(error, StoreError::Locked { .. }) && error.to_string().contains("locked"));
    assert!(began.elapsed() < Duration::from_secs(10));
    other.execute_batch("ROLLBACK").expect("unlocked");
    impatient.begin("c", "0", None).expect("begun");
}

#[test]
fn truncated_or_overwritten_stores_are_rejected() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    for _ in 0..40 {
        finished(&store, None, &["a.b", "a.c", "a.d"]);
    }
    drop(store);
    let whole = std::fs::read(&path).expect("readable");
    let reads = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("writable");
        let store = Store::open(&path)?;
        for run in store.runs()? {
            store.answers(&run.id)?;
        }
        store.begin("c", "0", None).and_then(|run| run.record(&answer("x.y"), None))
    };
    reads(&whole).expect("whole");
    for length in [50, 1000, whole.len() / 2, whole.len() - 4096] {
        let error = reads(&whole[..length]).expect_err("refused");
        assert!(matches!(error, StoreError::Damaged { .. }), "{length}: {error}");
    }
    let mut noise = whole.clone();
    noise[100..8192].fill(0xA5);
    assert!(matches!(reads(&noise), Err(StoreError::Damaged { .. })));
}

/// Returns an answer from a log, or one that failed.
fn other(scenario: &str, backend: Backend) -> Answer {
    let Answer::NotApplicable { key, reason } = answer(scenario) else { panic!("it is one") };
    Answer::NotApplicable { key: Key { backend, ..key }, reason }
}

fn failed(scenario: &str) -> Answer {
    let failure = rtmark_model::Failure {
        kind: rtmark_model::FailureKind::Fault,
        message: "m".into(),
        hint: "h".into(),
        console: String::new(),
    };
    Answer::Failed { key: answer(scenario).key().clone(), failure }
}

fn of_kind(store: &Store, kind: Kind, answers: &[Answer]) -> RunInfo {
    let run = store.begin_as(kind, "c", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record_all(answers).expect("recorded");
    run.finish().expect("finished");
    store.resolve(&id, no_commits).expect("there")
}

#[test]
fn latest_and_imported_resolve_separately() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let found = |reference: &str| store.resolve(reference, no_commits).map(|run| run.id);
    let error_of = |reference: &str| found(reference).expect_err("none").to_string();
    assert_eq!(error_of("latest"), "the store holds no complete run yet");
    assert_eq!(error_of("imported"), "the store holds no complete import yet");
    let logs = [other("a.b", Backend::Log)];
    let first = of_kind(&store, Kind::Imported, &logs);
    assert!(error_of("latest").ends_with("there is one that `latest` never selects"));
    let hint = store.resolve("latest", no_commits).expect_err("none").hint();
    assert!(hint.contains("`imported`"), "{hint}");
    let own = of_kind(&store, Kind::Measured, &[answer("a.b"), failed("a.c")]);
    let second = of_kind(&store, Kind::Imported, &logs);
    let fair = of_kind(&store, Kind::Fairness, &[answer("a.b")]);
    let bundled = of_kind(&store, Kind::Bundled, &[answer("a.b")]);
    assert_eq!(found("latest").expect("there"), own.id);
    assert_eq!(found("imported").expect("there"), second.id);
    assert_eq!(found("imported~1").expect("there"), first.id);
    assert!(error_of("latest~1").contains("run 2 from the newest, and one is complete"));
    assert!(error_of("imported~5").contains("import 6 from the newest, and 2 are complete"));
    for word in ["latest", "imported"] {
        assert!(matches!(store.name(&own, word), Err(StoreError::BadName { .. })), "{word}");
    }
    // Each of them is found by id and by name.
    store.name(&bundled, "theirs").expect("named");
    assert_eq!(found("theirs").expect("there"), bundled.id);
    assert_eq!(found(&fair.id[..12]).expect("there"), fair.id);
    assert_eq!((own.answers, own.failed, own.kind), (2, 1, Kind::Measured));
    assert_eq!((fair.answers, fair.failed, fair.kind), (1, 0, Kind::Fairness));
}

#[test]
fn answers_are_read_in_pages_and_by_subject() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let many: Vec<_> = (0..10).map(|n| other(&format!("a.b{n}"), Backend::Log)).collect();
    let first = of_kind(&store, Kind::Imported, &many);
    let second = of_kind(&store, Kind::Imported, &[many[3].clone(), many[3].clone()]);
    let own = of_kind(&store, Kind::Measured, &[answer("a.b3"), answer("x.y")]);
    let name = |answer: &Answer| answer.key().scenario.to_string();
    let (mut behind, mut read) = (0, Vec::new());
    loop {
        let page = store.page(&first, behind, 4).expect("read");
        let Some((last, _)) = page.last() else { break };
        behind = *last;
        assert!(page.len() <= 4);
        read.extend(page.iter().map(|(_, answer)| name(answer)));
    }
    assert_eq!(read, many.iter().map(name).collect::<Vec<_>>());
    let about = |scenario: &str| {
        let kernel = "floor".parse().expect("a name");
        let subject = Subject { soc: "s".into(), kernel, scenario: scenario.into() };
        let found = store.answers_about(&subject).expect("read");
        found.into_iter().map(|(run, _)| run).collect::<Vec<_>>()
    };
    assert_eq!(about("a.b3"), [&first.id, &second.id, &second.id, &own.id].map(String::clone));
    assert_eq!(about("a.b"), Vec::<String>::new());
    let of = |run: &RunInfo| {
        let subjects = store.subjects(run).expect("read").into_iter();
        subjects.map(|s| format!("{} {} {}", s.soc, s.kernel, s.scenario)).collect::<Vec<_>>()
    };
    assert_eq!(of(&own), ["s floor a.b3", "s floor x.y"]);
    let from_logs = || {
        let mut runs = Vec::new();
        store
            .each_from_logs(|_, run| -> Result<(), StoreError> {
                runs.push(run.to_owned());
                Ok(())
            })
            .expect("read");
        runs
    };
    let newest_first = [vec![second.id.clone(); 2], vec![first.id.clone(); 10]].concat();
    assert_eq!(from_logs(), newest_first);
    let subjects = || {
        let mut all: Vec<_> =
            store.all_subjects().expect("read").into_iter().map(|s| s.scenario).collect();
        all.sort();
        all.join(" ")
    };
    assert_eq!(subjects(), "a.b0 a.b1 a.b2 a.b3 a.b4 a.b5 a.b6 a.b7 a.b8 a.b9 x.y");
    store.remove(&first, "").expect("removed");
    assert_eq!(about("a.b3"), [&second.id, &second.id, &own.id].map(String::clone));
    assert_eq!(from_logs(), vec![second.id.clone(); 2]);
    assert_eq!(subjects(), "a.b3 x.y");
    // Pruning removes the counts together with the runs.
    assert_eq!(store.prune().expect("pruned").answers, 10);
    let left: i64 = store
        .connection
        .query_row("SELECT sum(answers) FROM tallies", [], |row| row.get(0))
        .expect("read");
    assert_eq!(left, 4);
}

/// A bundle of last year may be imported after the log of today.
#[test]
fn figures_from_logs_are_ordered_by_when_their_runs_began() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    for (id, started_ms) in [("today", 30), ("last-year", 10), ("twin-1", 20), ("twin-2", 20)] {
        let kind = Kind::Bundled.name();
        store
            .connection
            .execute(
                "INSERT INTO runs (id, started_ms, command, rtmark, kind) VALUES (?1, ?2, 'c', '0', ?3)",
                params![id, started_ms, kind],
            )
            .expect("added");
        let row = store.connection.last_insert_rowid();
        let run = RunWriter { store: &store, row, id: id.to_owned() };
        run.record_all(&[other("a.b", Backend::Log), answer("a.b")]).expect("recorded");
    }
    let mut runs = Vec::new();
    store
        .each_from_logs(|answer, run| -> Result<(), StoreError> {
            assert_eq!(answer.key().backend, Backend::Log);
            runs.push(run.to_owned());
            Ok(())
        })
        .expect("read");
    assert_eq!(runs, ["today", "twin-2", "twin-1", "last-year"]);
}

/// Results from before a kernel was renamed belong to its current name.
#[test]
fn a_renamed_kernel_has_one_history() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let renamed = |answer: Answer| match answer {
        Answer::NotApplicable { key, reason } => {
            let kernel = "ring".parse().expect("a name");
            Answer::NotApplicable { key: Key { kernel, ..key }, reason }
        }
        other => other,
    };
    let run = store.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record(&renamed(answer("a.b")), None).expect("recorded");
    // As an earlier program wrote it.
    let copied = store.connection.execute(
        "INSERT INTO answers (run, soc, kernel, version, profile, scenario, backend, answer, body) \
         SELECT run, soc, 'evloop', version, profile, scenario, backend, answer, \
         replace(body, '\"ring\"', '\"evloop\"') FROM answers",
        [],
    );
    assert_eq!(copied.expect("copied"), 1);
    let bodies: i64 = store
        .connection
        .query_row("SELECT count(*) FROM answers WHERE body LIKE '%\"evloop\"%'", [], |row| {
            row.get(0)
        })
        .expect("read");
    assert_eq!(bodies, 1, "one answer has the former name");

    let all = store.all_subjects().expect("read");
    assert_eq!(all.iter().map(|it| it.kernel.as_str()).collect::<Vec<_>>(), ["ring"]);
    let found = store.answers_about(&all[0]).expect("read");
    assert_eq!(found.len(), 2);
    let answers = store.answers(&id).expect("read");
    assert!(answers.iter().all(|answer| answer.key().kernel.as_str() == "ring"));
}
