//! Where names, references and versions end, and what becomes of time and space.

use super::*;

#[test]
fn a_run_begins_when_the_clock_says() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let clock = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        i64::try_from(since.as_millis()).expect("in this era")
    };
    let before = clock();
    store.begin("rtmark run", "0", None).expect("begun").finish().expect("finished");
    let run = &store.runs().expect("read")[0];
    assert!((before..=clock()).contains(&run.started_ms), "{run:?}");
    assert!(run.finished_ms.is_some_and(|ms| (run.started_ms..=clock()).contains(&ms)), "{run:?}");
}

#[test]
fn names_have_at_most_96_characters() {
    let name = |length: usize| check_name(&"n".repeat(length));
    assert!(name(1).is_ok() && name(96).is_ok());
    for length in [0, 97, 98] {
        let reason = name(length).expect_err("refused").to_string();
        assert!(reason.contains("1 to 96 characters"), "{reason}");
    }
}

#[test]
fn ids_are_abbreviated_to_no_fewer_than_four_digits() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let id = finished(&store, None, &["a.b"]).id;
    let found = |digits: usize| store.resolve(&id[..digits], no_commits);
    assert_eq!(found(4).expect("there").id, id);
    for digits in [0, 1, 3] {
        assert!(matches!(found(digits), Err(StoreError::NoSuchRun(_))), "{digits}");
    }
}

#[test]
fn pruning_makes_the_file_smaller() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let names: Vec<_> = (0..300).map(|number| format!("a.b{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let run = finished(&store, None, &names);
    store.remove(&run, "").expect("removed");
    let pruned = store.prune().expect("pruned");
    assert_eq!((pruned.runs, pruned.answers), (1, 300));
    // Each answer has its own text, of more than a hundred bytes.
    assert!(pruned.bytes > 300 * 100, "{pruned:?}");
}

/// Nobody knows yet which tables a newer version will have.
#[test]
fn a_newer_store_is_left_as_it_is() {
    let (folder, _) = scratch();
    for tables in ["CREATE TABLE runs (x); CREATE TABLE answers (y)", "CREATE TABLE others (z)"] {
        let path = folder.path().join(format!("newer{}", tables.len()));
        let connection = Connection::open(&path).expect("made");
        connection.execute_batch(tables).expect("made");
        connection.pragma_update(None, "user_version", schema::NEWEST + 1).expect("set");
        drop(connection);
        let before = std::fs::read(&path).expect("there");
        let opened = Store::open(&path);
        assert!(
            matches!(opened, Err(StoreError::Newer { known: schema::NEWEST, .. })),
            "{opened:?}"
        );
        assert!(std::fs::read(&path).expect("there") == before, "{tables}");
    }
}

/// What a process was writing when its store was copied is in a second file, which cannot be read where
/// SQLite cannot make a third one. The runs in it must not go missing silently.
#[cfg(unix)]
#[test]
fn a_journal_in_a_read_only_location_is_refused() {
    let (folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    finished(&store, None, &["a.b"]);
    drop(store);
    let store = Store::open(&path).expect("opened");
    finished(&store, None, &["a.c"]);
    let copy = folder.path().join("copy");
    let journal = folder.path().join("copy-wal");
    std::fs::copy(&path, &copy).expect("copied");
    std::fs::copy(path.with_extension("sqlite-wal"), &journal).expect("the store is in use");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&copy, &link).expect("linked");
    let opened = |path: &Path| Store::open_unchanging(path.to_owned(), denied());
    for path in [&copy, &link] {
        let error = opened(path).expect_err("refused");
        assert!(matches!(error, StoreError::Unread { .. }), "{error}");
        assert!(error.to_string().contains("copy-wal"), "{error}");
    }
    // Without anything in it, the file is complete.
    std::fs::write(&journal, []).expect("emptied");
    assert_eq!(opened(&copy).expect("opened").runs().expect("read").len(), 1);
    // Where files can be written, the journal is read.
    std::fs::copy(path.with_extension("sqlite-wal"), &journal).expect("copied");
    assert_eq!(Store::open_existing(&copy).expect("opened").runs().expect("read").len(), 2);
}

/// A store that may have no more pages is as full as its disk.
#[test]
fn a_full_disk_is_reported_and_what_was_recorded_remains() {
    let (_folder, path) = scratch();
    let store = Store::open(&path).expect("made");
    let run = store.begin("rtmark run", "0", None).expect("begun");
    let id = run.id().to_owned();
    run.record(&answer("a.b"), None).expect("recorded");
    store.connection.pragma_update(None, "max_page_count", 1).expect("as few as there are");
    let answers: Vec<_> = (0..2_000).map(|number| answer(&format!("a.c{number}"))).collect();
    let error = run.record_all(&answers).expect_err("full");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let kept = store.answers(&id).expect("read");
    assert_eq!(kept.iter().map(Answer::key).collect::<Vec<_>>(), [answer("a.b").key()]);
}
