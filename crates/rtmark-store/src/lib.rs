//! What was measured, kept.
//!
//! A [`Store`] is one SQLite file. A [`RunWriter`] appends the answers of one run
//! as they come; each survives the death of the process once [`RunWriter::record`]
//! has returned, and the run counts as complete only once [`RunWriter::finish`]
//! has been called. Nothing that was written is ever changed: names and removals
//! are marks that are appended, a removed run is passed over everywhere, and only
//! [`Store::prune`] takes removed runs out of the file for good.
//!
//! ```no_run
//! use rtmark_store::Store;
//!
//! let store = Store::open("results.sqlite")?;
//! for run in store.runs()? {
//!     println!("{} {}: {} answers, {} failed", run.id, run.command, run.answers, run.failed);
//! }
//! # Ok::<(), rtmark_store::StoreError>(())
//! ```
//!
//! Runs are found by references ([`Store::resolve`]) and travel between stores in
//! bundles ([`bundle`]). This crate knows no command line and runs no benchmark.

pub mod bundle;
mod error;
mod marks;
mod reference;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rtmark_model::{Answer, Backend, Key};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

pub use error::StoreError;
pub use marks::{Pruned, check_name};
use schema::Form;
pub use writer::{Fingerprint, RunWriter, fingerprint};

/// The environment variable that names the store's file.
pub const STORE_VARIABLE: &str = "RTMARK_STORE";

/// How long is waited for another process that writes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the answers of a run are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Measured here.
    #[default]
    Measured,
    /// Read from logs of other suites.
    Imported,
    /// Measured elsewhere, and brought by a bundle.
    Brought,
    /// Measured here to find unequal settings, with settings that nobody chose.
    Fairness,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Measured, Self::Imported, Self::Brought, Self::Fairness];

    /// The word used in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Imported => "imported",
            Self::Brought => "brought",
            Self::Fairness => "fairness",
        }
    }

    fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or_default()
    }
}

/// A run, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its id: hexadecimal, unique, to be shortened as long as it stays so.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it was finished; a run without was interrupted, or is going on.
    pub finished_ms: Option<i64>,
    /// The command that made it.
    pub command: String,
    /// The rtmark that made it.
    pub rtmark: String,
    /// The commit that was measured, where it is known; `+` follows when the tree had changes.
    pub revision: Option<String>,
    /// Where its answers are from.
    pub kind: Kind,
    /// Its names, in alphabetical order.
    pub names: Vec<String>,
    /// Why it was removed, if it was.
    pub removed: Option<String>,
    /// Answers that it holds.
    pub answers: u64,
    /// Of these, those that are failures.
    pub failed: u64,
    row: i64,
}

/// A file of runs.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
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

/// The URI by which SQLite reads a file without writing anything beside it.
fn unchanging(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = String::from("file:");
    for byte in whole.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    PathBuf::from(uri + "?immutable=1")
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Store {
    /// Opens a store, making file and folder when they are missing. While another
    /// process writes, this one waits for up to half a minute.
    ///
    /// # Errors
    /// When the folder cannot be made, or the file is no store, is damaged or locked, or
    /// was written by a newer rtmark.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_waiting(path, PATIENCE)
    }

    /// As [`Store::open`], waiting for other processes no longer than `patience`.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_waiting(path: impl Into<PathBuf>, patience: Duration) -> Result<Self, StoreError> {
        let path = path.into();
        if path.is_dir() {
            return Err(StoreError::IsFolder { path });
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let prepared = Connection::open(&path).and_then(|mut connection| {
            connection.busy_timeout(patience)?;
            let version = schema::prepare(&mut connection)?;
            Ok((connection, version))
        });
        Self::prepared(path, prepared)
    }

    /// Opens a store that is there: as [`Store::open`], but makes nothing, and is content
    /// with a place where nothing can be written as long as nothing is to be.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is no such file.
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        match Self::open(&path) {
            Err(StoreError::Denied { source, .. }) => {
                // Nobody can write there, so nobody changes it while it is read.
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let read = Connection::open_with_flags(unchanging(&path), flags);
                let Ok(connection) = read else { return Err(StoreError::of(&path, source)) };
                let prepared = schema::form(&connection).map(|form| (connection, form));
                match prepared {
                    Ok((_, Form::Of(found))) if found < schema::NEWEST => {
                        Err(StoreError::of(&path, source))
                    }
                    prepared => Self::prepared(path, prepared),
                }
            }
            opened => opened,
        }
    }

    fn prepared(
        path: PathBuf,
        prepared: rusqlite::Result<(Connection, Form)>,
    ) -> Result<Self, StoreError> {
        match prepared {
            Err(source) => Err(StoreError::of(&path, source)),
            Ok((_, Form::Foreign)) => Err(StoreError::Foreign { path }),
            Ok((_, Form::Of(found))) if found > schema::NEWEST => {
                Err(StoreError::Newer { path, found, known: schema::NEWEST })
            }
            Ok((connection, Form::Of(_))) => Ok(Self { connection, path }),
        }
    }

    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn database(&self, source: rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, source)
    }

    /// Begins a run that is measured here. `revision` is the commit that is measured, where it is known.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(
        &self,
        command: &str,
        rtmark: &str,
        revision: Option<&str>,
    ) -> Result<RunWriter<'_>, StoreError> {
        self.begin_as(Kind::Measured, command, rtmark, revision)
    }

    /// As [`Self::begin`], of another kind.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_as(
        &self,
        kind: Kind,
        command: &str,
        rtmark: &str,
        revision: Option<&str>,
    ) -> Result<RunWriter<'_>, StoreError> {
        // Only the end of a transaction tells whether there was room: a statement that returns
        // rows has told them before.
        let begin = || -> rusqlite::Result<(i64, String)> {
            let transaction = self.connection.unchecked_transaction()?;
            let begun = transaction.query_row(
                "INSERT INTO runs (id, started_ms, command, rtmark, revision, kind) \
                 VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3, ?4, ?5) RETURNING row, id",
                params![now_ms(), command, rtmark, revision, kind.name()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            transaction.commit()?;
            Ok(begun)
        };
        let (row, id) = begin().map_err(|error| self.database(error))?;
        Ok(RunWriter { store: self, row, id })
    }

    /// All runs, the newest first; those that were removed carry the reason.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunInfo>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunInfo>> {
            let mut statement = self.connection.prepare(
                "SELECT id, started_ms, finished_ms, command, rtmark, revision, \
                 (SELECT reason FROM removed WHERE run = runs.row), \
                 coalesce(tallies.answers, 0), coalesce(tallies.failed, 0), runs.row, kind \
                 FROM runs LEFT JOIN tallies ON tallies.run = runs.row \
                 ORDER BY started_ms DESC, runs.row DESC",
            )?;
            let mut runs: Vec<RunInfo> =
                statement.query_map([], run_info)?.collect::<Result<_, _>>()?;
            let mut names = self.connection.prepare("SELECT run, name FROM names ORDER BY name")?;
            let names = names.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
            let places: HashMap<i64, usize> =
                runs.iter().enumerate().map(|(at, info)| (info.row, at)).collect();
            for pair in names {
                let (run, name): (i64, String) = pair?;
                if let Some(info) = places.get(&run).and_then(|&at| runs.get_mut(at)) {
                    info.names.push(name);
                }
            }
            Ok(runs)
        };
        read().map_err(|error| self.database(error))
    }

    /// The answers of one run, in the order in which they came.
    ///
    /// # Errors
    /// When the file cannot be read, or holds an answer of an unknown form.
    pub fn answers(&self, run: &str) -> Result<Vec<Answer>, StoreError> {
        let mut answers = Vec::new();
        self.each_answer(run, |answer| -> Result<(), StoreError> {
            answers.push(answer);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Shows the answers of one run, in the order in which they came, one after the other: a run may
    /// hold more of them than there is memory.
    ///
    /// # Errors
    /// As [`Store::answers`], and those of `show`.
    pub fn each_answer<E: From<StoreError>>(
        &self,
        run: &str,
        mut show: impl FnMut(Answer) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(
            "SELECT body, '' FROM answers WHERE run = (SELECT row FROM runs WHERE id = ?1) \
             ORDER BY row",
            &[&run],
            |answer, _| show(answer),
        )
    }

    /// How long the measurements of one run took by the clock on the wall, as far as they were made in
    /// that run and on this computer: what was recalled, imported or brought has no time.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn times(&self, run: &RunInfo) -> Result<Vec<(Key, Duration)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(String, i64)>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT json_extract(body, '$.key'), took_us FROM answers \
                 WHERE run = ?1 AND took_us IS NOT NULL AND json_valid(body) ORDER BY row",
            )?;
            let times = statement.query_map([run.row], |row| Ok((row.get(0)?, row.get(1)?)))?;
            times.collect()
        };
        let times = read().map_err(|error| self.database(error))?;
        let time = |(key, us): (String, i64)| {
            let took = Duration::from_micros(u64::try_from(us).unwrap_or(0));
            Ok((serde_json::from_str(&key)?, took))
        };
        times.into_iter().map(time).collect()
    }

    /// The next answers of one run, so many at most, behind the last one that was read: with each the
    /// place where the next page begins. The first page is behind 0.
    ///
    /// # Errors
    /// As [`Store::answers`].
    pub fn page(
        &self,
        run: &RunInfo,
        behind: i64,
        most: usize,
    ) -> Result<Vec<(i64, Answer)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(i64, String)>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT row, body FROM answers WHERE run = ?1 AND row > ?2 ORDER BY row LIMIT ?3",
            )?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let page = statement
                .query_map(params![run.row, behind, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
            page.collect()
        };
        let page = read().map_err(|error| self.database(error))?;
        page.into_iter().map(|(row, body)| Ok((row, serde_json::from_str(&body)?))).collect()
    }

    /// The answers about one scenario of one kernel on one soc, each with the id of its run, those of
    /// the oldest run first. Removed runs are passed over.
    ///
    /// # Errors
    /// As [`Store::answers`].
    pub fn answers_about(&self, subject: &Subject) -> Result<Vec<(String, Answer)>, StoreError> {
        let mut found = Vec::new();
        let Subject { soc, kernel, scenario } = subject;
        self.each(
            "SELECT body, runs.id FROM answers JOIN runs ON runs.row = answers.run \
             WHERE scenario = ?1 AND kernel = ?2 AND soc = ?3 \
             AND answers.run NOT IN (SELECT run FROM removed) \
             ORDER BY runs.started_ms, runs.row, answers.row",
            &[scenario, kernel, soc],
            |answer, run| -> Result<(), StoreError> {
                found.push((run.to_owned(), answer));
                Ok(())
            },
        )?;
        Ok(found)
    }

    /// Shows the answers that were read from logs, each with the id of its run, those of the newest
    /// run first. Removed runs are passed over.
    ///
    /// # Errors
    /// As [`Store::each_answer`].
    pub fn each_from_logs<E: From<StoreError>>(
        &self,
        show: impl FnMut(Answer, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each(
            "SELECT body, runs.id FROM tallies JOIN runs ON runs.row = tallies.run \
             JOIN answers ON answers.run = tallies.run \
             WHERE tallies.from_logs > 0 AND answers.backend = ?1 \
             AND tallies.run NOT IN (SELECT run FROM removed) \
             ORDER BY tallies.run DESC, answers.row",
            &[&Backend::Log.name()],
            show,
        )
    }

    fn each<E: From<StoreError>>(
        &self,
        query: &str,
        values: &[&dyn rusqlite::ToSql],
        mut show: impl FnMut(Answer, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |error| E::from(self.database(error));
        let mut statement = self.connection.prepare_cached(query).map_err(failed)?;
        let mut rows = statement.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let text = |at| row.get_ref(at).and_then(|text| Ok(text.as_str()?));
            let answer = serde_json::from_str(text(0).map_err(failed)?).map_err(StoreError::from);
            show(answer?, text(1).map_err(failed)?)?;
        }
        Ok(())
    }

    /// What all answers are about, each once. Removed runs are passed over.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn all_subjects(&self) -> Result<Vec<Subject>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Subject>> {
            let any: bool =
                self.connection
                    .query_row("SELECT EXISTS (SELECT 1 FROM removed)", [], |row| row.get(0))?;
            // An index has all that is asked for, as long as runs do not matter.
            let mut statement = self.connection.prepare(if any {
                "SELECT DISTINCT soc, kernel, scenario FROM answers \
                 WHERE run NOT IN (SELECT run FROM removed)"
            } else {
                "SELECT DISTINCT soc, kernel, scenario FROM answers"
            })?;
            statement.query_map([], subject)?.collect()
        };
        read().map_err(|error| self.database(error))
    }

    /// What the answers of a run are about: soc, kernel and scenario of each.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn subjects(&self, run: &RunInfo) -> Result<Vec<Subject>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Subject>> {
            let mut statement = self
                .connection
                .prepare_cached("SELECT soc, kernel, scenario FROM answers WHERE run = ?1")?;
            statement.query_map([run.row], subject)?.collect()
        };
        read().map_err(|error| self.database(error))
    }

    /// The newest answer that was made of exactly these ingredients, as
    /// [`fingerprint`] sums them up. Those of removed runs are passed over.
    ///
    /// # Errors
    /// When the file cannot be read, or holds an answer of an unknown form.
    pub fn find(&self, fingerprint: &Fingerprint) -> Result<Option<Answer>, StoreError> {
        let body: Option<String> = self
            .connection
            .query_row(
                "SELECT body FROM answers WHERE fingerprint = ?1 \
                 AND run NOT IN (SELECT run FROM removed) ORDER BY row DESC LIMIT 1",
                [fingerprint.as_str()],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.database(error))?;
        Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
    }
}

/// What an answer is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The soc's name.
    pub soc: String,
    /// The kernel.
    pub kernel: String,
    /// The scenario.
    pub scenario: String,
}

fn subject(row: &Row<'_>) -> rusqlite::Result<Subject> {
    Ok(Subject { soc: row.get(0)?, kernel: row.get(1)?, scenario: row.get(2)? })
}

fn run_info(row: &Row<'_>) -> rusqlite::Result<RunInfo> {
    Ok(RunInfo {
        id: row.get(0)?,
        started_ms: row.get(1)?,
        finished_ms: row.get(2)?,
        command: row.get(3)?,
        rtmark: row.get(4)?,
        revision: row.get(5)?,
        names: Vec::new(),
        removed: row.get(6)?,
        answers: row.get::<_, i64>(7)?.unsigned_abs(),
        failed: row.get::<_, i64>(8)?.unsigned_abs(),
        row: row.get(9)?,
        kind: Kind::of(&row.get::<_, String>(10)?),
    })
}
