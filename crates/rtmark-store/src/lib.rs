//! Stores measurements.
//!
//! A [`Store`] is one SQLite file. A [`RunWriter`] appends the answers of one run as they arrive. Each
//! survives a crash of the process once [`RunWriter::record`] has returned, and the run counts as
//! complete only after [`RunWriter::finish`]. Nothing that was written is ever changed: names and
//! removals are appended marks, a removed run is ignored everywhere, and only [`Store::prune`] deletes
//! removed runs from the file.
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
//! Runs are found by references ([`Store::resolve`]) and travel between stores in bundles ([`bundle`]).
//! This crate knows nothing of a command line and runs no benchmark.

pub mod bundle;
mod error;
mod marks;
mod reference;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rtmark_model::{Answer, Backend, IdError, KernelId, Key};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

pub use error::StoreError;
pub use marks::{Pruned, check_name};
use schema::Form;
pub use writer::{Fingerprint, RunWriter, fingerprint};

/// The environment variable that sets the store's file.
pub const STORE_VARIABLE: &str = "RTMARK_STORE";

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(30);

/// The origin of a run's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Measured here.
    #[default]
    Measured,
    /// Read from logs of other suites.
    Imported,
    /// Measured elsewhere, and imported from a bundle.
    Bundled,
    /// Measured here to examine unequal settings, with settings that nobody chose.
    Fairness,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Measured, Self::Imported, Self::Bundled, Self::Fairness];

    /// Returns the word used in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Imported => "imported",
            Self::Bundled => "brought",
            Self::Fairness => "fairness",
        }
    }

    fn of(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or_default()
    }
}

/// A run as shown in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Its id: hexadecimal and unique; it may be abbreviated as long as it remains unique.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When it was finished; a run without this was interrupted, or is in progress.
    pub finished_ms: Option<i64>,
    /// The command line that started it.
    pub command: String,
    /// The version of rtmark that made it.
    pub rtmark: String,
    /// The measured commit, if known, followed by `+` if the tree had changes.
    pub revision: Option<String>,
    /// The origin of its answers.
    pub kind: Kind,
    /// Its names, in alphabetical order.
    pub names: Vec<String>,
    /// The reason for its removal, if it was removed.
    pub removed: Option<String>,
    /// The number of its answers.
    pub answers: u64,
    /// How many of these are failures.
    pub failed: u64,
    row: i64,
}

/// Reads an answer from the text that [`RunWriter::record`] has written. A series, as most answers are, is read
/// as what it is: into a tagged enum, serde would first read it as a value of any form.
fn read_answer(body: &str) -> serde_json::Result<Answer> {
    if body.starts_with(r#"{"answer":"measured","#) {
        return serde_json::from_str(body).map(Answer::Measured);
    }
    serde_json::from_str(body)
}

/// A file of runs.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// Returns the default location of the store: `$RTMARK_STORE`, or else `rtmark/store.sqlite` in the
/// user's data directory.
///
/// # Errors
/// [`StoreError::NoPlace`] when the environment determines neither.
pub fn default_path() -> Result<PathBuf, StoreError> {
    place(|name| std::env::var_os(name).map(PathBuf::from))
}

fn place(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, StoreError> {
    let variable = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(path) = variable(STORE_VARIABLE) {
        return Ok(path);
    }
    // According to the XDG specification, a relative path there is to be ignored.
    let data = variable("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/share"));
    let windows = || variable("LOCALAPPDATA");
    let folder = data.or_else(home).or_else(windows).ok_or(StoreError::NoPlace)?;
    Ok(folder.join("rtmark").join("store.sqlite"))
}

/// Returns the URI with which SQLite reads a file without writing anything beside it.
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

/// Returns the journal of a file, which has what was written last, unless there is none or it is empty.
fn journal_of(path: &Path) -> Option<PathBuf> {
    // SQLite keeps it beside the file that a link points to.
    let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut journal = whole.into_os_string();
    journal.push("-wal");
    let journal = PathBuf::from(journal);
    std::fs::metadata(&journal).is_ok_and(|found| found.len() > 0).then_some(journal)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Store {
    /// Opens a store, creating the file and its folder if they are missing. Waits for up to half a
    /// minute while another process is writing.
    ///
    /// # Errors
    /// When the folder cannot be created, or the file is not a store, is damaged or locked, or was
    /// written by a newer rtmark.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_waiting(path, PATIENCE)
    }

    /// Opens a store like [`Store::open`], but waits for other processes no longer than `patience`.
    ///
    /// # Errors
    /// Those of [`Store::open`].
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

    /// Opens an existing store. Unlike [`Store::open`] it creates nothing, and works in a read-only
    /// location as long as nothing is written.
    ///
    /// # Errors
    /// Those of [`Store::open`], when the file does not exist, and when a read-only location has a part
    /// of the store that can only be read where files can be written.
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        match Self::open(&path) {
            // Nobody can write there, so the file cannot change while it is read.
            Err(StoreError::Denied { source, .. }) => Self::open_unchanging(path, source),
            opened => opened,
        }
    }

    /// Opens a store in a location that nobody can write, which is why opening it normally was `denied`.
    /// An older version cannot be migrated there, and a journal cannot be read: SQLite would need to make
    /// a file beside it, and ignores it when told that nothing changes.
    fn open_unchanging(path: PathBuf, denied: rusqlite::Error) -> Result<Self, StoreError> {
        if let Some(journal) = journal_of(&path) {
            return Err(StoreError::Unread { path, journal });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let read = Connection::open_with_flags(unchanging(&path), flags);
        let Ok(connection) = read else { return Err(StoreError::of(&path, denied)) };
        let prepared = schema::form(&connection).map(|form| (connection, form));
        match prepared {
            Ok((_, Form::Of(found))) if found < schema::NEWEST => {
                Err(StoreError::of(&path, denied))
            }
            prepared => Self::prepared(path, prepared),
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

    /// Returns the path of the store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn database(&self, source: rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, source)
    }

    /// Begins a run that is measured here. `revision` is the measured commit, if known.
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

    /// Begins a run of another kind.
    ///
    /// # Errors
    /// Those of [`Self::begin`].
    pub fn begin_as(
        &self,
        kind: Kind,
        command: &str,
        rtmark: &str,
        revision: Option<&str>,
    ) -> Result<RunWriter<'_>, StoreError> {
        // Only the end of a transaction shows whether there was enough space: a statement that returns
        // rows has returned them before.
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

    /// Returns all runs, the newest first; removed ones include the reason.
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

    /// Returns the answers of one run, in the order in which they were recorded.
    ///
    /// # Errors
    /// When the file cannot be read, or contains an answer in an unknown format.
    pub fn answers(&self, run: &str) -> Result<Vec<Answer>, StoreError> {
        let mut answers = Vec::new();
        self.each_answer(run, |answer| -> Result<(), StoreError> {
            answers.push(answer);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Passes the answers of one run to `show` one at a time, in the order in which they were recorded:
    /// a run may have more answers than fit into memory.
    ///
    /// # Errors
    /// Those of [`Store::answers`], and those of `show`.
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

    /// Returns the wall-clock times of a run's measurements, as far as they were made in that run and
    /// on this computer: recalled and imported answers have none.
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

    /// Returns the next answers of one run, up to a limit, after the last one that was read; with each,
    /// the position at which the next page begins. The first page is after 0.
    ///
    /// # Errors
    /// Those of [`Store::answers`].
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
        page.into_iter().map(|(row, body)| Ok((row, read_answer(&body)?))).collect()
    }

    /// Returns the answers about one scenario of one kernel on one soc, each with the id of its run,
    /// the oldest run first. Removed runs are ignored.
    ///
    /// # Errors
    /// Those of [`Store::answers`].
    pub fn answers_about(&self, subject: &Subject) -> Result<Vec<(String, Answer)>, StoreError> {
        let mut found = Vec::new();
        let Subject { soc, kernel, scenario } = subject;
        // Rows from before a renaming have the kernel's former name.
        let names: Vec<&str> = kernel.names().collect();
        let places = vec!["?"; names.len()].join(", ");
        let query = format!(
            "SELECT body, runs.id FROM answers JOIN runs ON runs.row = answers.run \
             WHERE scenario = ? AND soc = ? AND kernel IN ({places}) \
             AND answers.run NOT IN (SELECT run FROM removed) \
             ORDER BY runs.started_ms, runs.row, answers.row"
        );
        let mut values: Vec<&dyn rusqlite::ToSql> = vec![scenario, soc];
        values.extend(names.iter().map(|name| name as &dyn rusqlite::ToSql));
        self.each(&query, &values, |answer, run| -> Result<(), StoreError> {
            found.push((run.to_owned(), answer));
            Ok(())
        })?;
        Ok(found)
    }

    /// Passes the answers that were read from logs to `show`, each with the id of its run: first those of
    /// the run that began last and, of runs that began at the same time, of the one that was added last.
    /// Removed runs are ignored.
    ///
    /// # Errors
    /// Those of [`Store::each_answer`].
    pub fn each_from_logs<E: From<StoreError>>(
        &self,
        mut show: impl FnMut(Answer, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.connection.prepare_cached(
                "SELECT runs.row FROM tallies JOIN runs ON runs.row = tallies.run \
                 WHERE tallies.from_logs > 0 AND runs.row NOT IN (SELECT run FROM removed) \
                 ORDER BY runs.started_ms DESC, runs.row DESC",
            )?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        // One query for all runs would sort all answers, which may not fit into memory.
        for run in read().map_err(|error| E::from(self.database(error)))? {
            self.each(
                "SELECT body, runs.id FROM answers JOIN runs ON runs.row = answers.run \
                 WHERE answers.run = ?1 AND answers.backend = ?2 ORDER BY answers.row",
                &[&run, &Backend::Log.name()],
                &mut show,
            )?;
        }
        Ok(())
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
            let answer = read_answer(text(0).map_err(failed)?).map_err(StoreError::from);
            show(answer?, text(1).map_err(failed)?)?;
        }
        Ok(())
    }

    /// Returns the subjects of all answers, each once. Removed runs are ignored.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn all_subjects(&self) -> Result<Vec<Subject>, StoreError> {
        let read = || -> rusqlite::Result<Vec<Subject>> {
            let any: bool =
                self.connection
                    .query_row("SELECT EXISTS (SELECT 1 FROM removed)", [], |row| row.get(0))?;
            // An index covers the query as long as runs do not matter.
            let mut statement = self.connection.prepare(if any {
                "SELECT DISTINCT soc, kernel, scenario FROM answers \
                 WHERE run NOT IN (SELECT run FROM removed)"
            } else {
                "SELECT DISTINCT soc, kernel, scenario FROM answers"
            })?;
            let mut seen = HashSet::new();
            let all = statement.query_map([], subject)?;
            // A kernel's former name and its current one are one subject.
            all.filter(|found| found.as_ref().map_or(true, |found| seen.insert(found.clone())))
                .collect()
        };
        read().map_err(|error| self.database(error))
    }

    /// Returns the subjects of a run's answers: soc, kernel and scenario of each.
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

    /// Returns the newest answer with exactly this fingerprint, as computed by [`fingerprint`]. Answers
    /// of removed runs are ignored.
    ///
    /// # Errors
    /// When the file cannot be read, or contains an answer in an unknown format.
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
        Ok(body.map(|body: String| read_answer(&body)).transpose()?)
    }
}

/// The subject of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The soc's name.
    pub soc: String,
    /// The kernel.
    pub kernel: KernelId,
    /// The scenario.
    pub scenario: String,
}

fn subject(row: &Row<'_>) -> rusqlite::Result<Subject> {
    let kernel: String = row.get(1)?;
    let kernel = kernel.parse().map_err(|error: IdError| {
        rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, error.into())
    })?;
    Ok(Subject { soc: row.get(0)?, kernel, scenario: row.get(2)? })
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
