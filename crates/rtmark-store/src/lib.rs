//! What was measured, kept.
//!
//! A [`Store`] is one SQLite file. A [`RunWriter`] appends the answers of one run
//! as they come; each survives the death of the process once [`RunWriter::record`]
//! has returned, and the run counts as complete only once [`RunWriter::finish`]
//! has been called. Nothing that was written is ever changed.
//!
//! This crate knows no command line and runs no benchmark.

mod schema;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rtmark_model::{Answer, Key};
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest, Sha256};

/// The environment variable that names the store's file.
pub const STORE_VARIABLE: &str = "RTMARK_STORE";

/// Why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No place for it is known: neither a home nor a data directory.
    #[error("no place for the store: neither XDG_DATA_HOME nor HOME is set")]
    NoPlace,
    /// Its folder cannot be made.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A newer rtmark wrote it.
    #[error(
        "the store {} has form {found}, this rtmark knows forms up to {known}", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form known.
        known: i64,
    },
    /// SQLite refused: the file is locked, damaged, not a store, or the disk is full.
    #[error("the store {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// An answer that is stored cannot be read.
    #[error("the store holds an answer that cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
}

/// A run, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its name: hexadecimal, unique, to be shortened as long as it stays so.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it was finished; a run without was interrupted.
    pub finished_ms: Option<i64>,
    /// The command that made it.
    pub command: String,
    /// The rtmark that made it.
    pub rtmark: String,
    /// Answers that it holds.
    pub answers: u64,
}

/// A file of runs.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// Appends the answers of one run.
#[derive(Debug)]
pub struct RunWriter<'a> {
    store: &'a Store,
    row: i64,
    id: String,
}

/// Where the store is unless someone says otherwise: `$RTMARK_STORE`, else
/// `rtmark/store.sqlite` in the user's data directory.
///
/// # Errors
/// [`StoreError::NoPlace`] when the environment names neither.
pub fn default_path() -> Result<PathBuf, StoreError> {
    place(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, StoreError> {
    if let Some(path) = variable(STORE_VARIABLE) {
        return Ok(path);
    }
    // The XDG rules: a relative path there is to be ignored.
    let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/share"));
    let windows = || variable("LOCALAPPDATA");
    let folder = data.or_else(home).or_else(windows).ok_or(StoreError::NoPlace)?;
    Ok(folder.join("rtmark").join("store.sqlite"))
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Store {
    /// Opens a store, making file and folder when they are missing.
    ///
    /// # Errors
    /// When the folder cannot be made, or the file is no store, is damaged, or
    /// was written by a newer rtmark.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let prepared = Connection::open(&path).and_then(|mut connection| {
            // Two processes may write at once: the second one waits.
            connection.busy_timeout(Duration::from_secs(30))?;
            let version = schema::prepare(&mut connection)?;
            Ok((connection, version))
        });
        match prepared {
            Err(source) => Err(StoreError::Database { path, source }),
            Ok((_, found)) if found > schema::NEWEST => {
                Err(StoreError::Newer { path, found, known: schema::NEWEST })
            }
            Ok((connection, _)) => Ok(Self { connection, path }),
        }
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn database(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }

    /// Begins a run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&self, command: &str, rtmark: &str) -> Result<RunWriter<'_>, StoreError> {
        let started = now_ms();
        let row = self
            .connection
            .query_row(
                "INSERT INTO runs (id, started_ms, command, rtmark) \
                 VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3) RETURNING row, id",
                params![started, command, rtmark],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .map_err(|error| self.database(error))?;
        Ok(RunWriter { store: self, row: row.0, id: row.1 })
    }

    /// All runs, the newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunInfo>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunInfo>> {
            let mut statement = self.connection.prepare(
                "SELECT id, started_ms, finished_ms, command, rtmark, \
                 (SELECT count(*) FROM answers WHERE run = runs.row) FROM runs ORDER BY row DESC",
            )?;
            statement.query_map([], run_info)?.collect()
        };
        read().map_err(|error| self.database(error))
    }

    /// The answers of one run, in the order in which they came.
    ///
    /// # Errors
    /// When the file cannot be read, or holds an answer of an unknown form.
    pub fn answers(&self, run: &str) -> Result<Vec<Answer>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(
                "SELECT body FROM answers WHERE run = (SELECT row FROM runs WHERE id = ?1) ORDER BY row",
            )?;
            statement.query_map([run], |row| row.get(0))?.collect()
        };
        let bodies = read().map_err(|error| self.database(error))?;
        bodies.iter().map(|body| Ok(serde_json::from_str(body)?)).collect()
    }

    /// The newest answer that was made of exactly these ingredients, as
    /// [`fingerprint`] sums them up.
    ///
    /// # Errors
    /// When the file cannot be read, or holds an answer of an unknown form.
    pub fn find(&self, fingerprint: &Fingerprint) -> Result<Option<Answer>, StoreError> {
        let body: Option<String> = self
            .connection
            .query_row(
                "SELECT body FROM answers WHERE fingerprint = ?1 ORDER BY row DESC LIMIT 1",
                [&fingerprint.0],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.database(error))?;
        Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
    }
}

fn run_info(row: &Row<'_>) -> rusqlite::Result<RunInfo> {
    Ok(RunInfo {
        id: row.get(0)?,
        started_ms: row.get(1)?,
        finished_ms: row.get(2)?,
        command: row.get(3)?,
        rtmark: row.get(4)?,
        answers: row.get::<_, i64>(5)?.unsigned_abs(),
    })
}

impl RunWriter<'_> {
    /// The run's name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends an answer; it survives the death of the process once this has returned.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record(
        &self,
        answer: &Answer,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<(), StoreError> {
        let body = serde_json::to_string(answer)?;
        let Key { soc, kernel, version, profile, scenario, backend } = answer.key();
        let kind = match answer {
            Answer::Measured(_) => "measured",
            Answer::NotApplicable { .. } => "not-applicable",
            Answer::Failed { .. } => "failed",
        };
        self.store
            .connection
            .prepare_cached(
                "INSERT INTO answers (run, soc, kernel, version, profile, scenario, backend, \
                 basis, answer, fingerprint, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    self.row,
                    soc,
                    kernel.as_str(),
                    version,
                    profile,
                    scenario.as_str(),
                    backend.name(),
                    answer.series().map(|series| series.basis.name()),
                    kind,
                    fingerprint.map(|fingerprint| &fingerprint.0),
                    body
                ])
            })
            .map_err(|error| self.store.database(error))?;
        Ok(())
    }

    /// Marks the run complete.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), StoreError> {
        self.store
            .connection
            .execute("UPDATE runs SET finished_ms = ?1 WHERE row = ?2", params![now_ms(), self.row])
            .map_err(|error| self.store.database(error))?;
        Ok(())
    }
}

/// A digest of everything that an exact answer depends on: equal digests,
/// equal answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

/// Sums up the ingredients of an answer.
pub fn fingerprint<'a>(ingredients: impl IntoIterator<Item = &'a str>) -> Fingerprint {
    let mut digest = Sha256::new();
    for ingredient in ingredients {
        // The length keeps neighbours apart.
        digest.update((ingredient.len() as u64).to_le_bytes());
        digest.update(ingredient);
    }
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Fingerprint(digest.finalize().iter().fold(String::new(), hex))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtmark_model::Backend;

    fn answer(scenario: &str) -> Answer {
        let key = Key {
            soc: "s".into(),
            kernel: "floor".parse().expect("good"),
            version: "1".into(),
            profile: "default".into(),
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
    fn what_is_recorded_is_there_after_reopening() {
        let (_folder, path) = scratch();
        let store = Store::open(&path).expect("made");
        let run = store.begin("rtmark run", "0").expect("begun");
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
    fn a_finished_run_says_so() {
        let (_folder, path) = scratch();
        let store = Store::open(&path).expect("made");
        store.begin("c", "0").and_then(RunWriter::finish).expect("finished");
        assert!(store.runs().expect("read")[0].finished_ms.is_some());
    }

    #[test]
    fn answers_cannot_be_changed() {
        let (_folder, path) = scratch();
        let store = Store::open(&path).expect("made");
        store.begin("c", "0").and_then(|run| run.record(&answer("a.b"), None)).expect("recorded");
        let change = store.connection.execute("UPDATE answers SET kernel = 'x'", []);
        assert!(change.expect_err("refused").to_string().contains("append-only"));
    }

    #[test]
    fn two_writers_do_not_lose_each_other() {
        let (_folder, path) = scratch();
        Store::open(&path).expect("made");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let store = Store::open(&path).expect("opened");
                    let run = store.begin("c", "0").expect("begun");
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
    fn files_that_are_no_store_are_refused() {
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
        connection.execute_batch("CREATE TABLE runs (x)").expect("made");
        drop(connection);
        let error = Store::open(&path).expect_err("refused").to_string();
        assert!(error.contains("already exists"), "{error}");
    }

    #[test]
    fn the_place_follows_the_environment() {
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
    }
}
