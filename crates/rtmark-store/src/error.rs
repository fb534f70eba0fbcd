//! The reasons why a store could not be used, distinguished by what the user can do next.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The reason why a store could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Its location is unknown: there is neither a home nor a data directory.
    #[error("the location of the store is unknown: neither XDG_DATA_HOME nor HOME is set")]
    NoPlace,
    /// Its folder cannot be created.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file does not exist.
    #[error("there is no store {}", path.display())]
    Missing {
        /// The file that was looked for.
        path: PathBuf,
    },
    /// It is a folder.
    #[error("the store {} is a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// It is another application's database.
    #[error("{} is a database, but not one of rtmark's", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer rtmark wrote it.
    #[error(
        "the store {} has format version {found}; this rtmark supports versions up to {known}", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: i64,
        /// The newest supported version.
        known: i64,
    },
    /// Another process has held it for longer than the time limit.
    #[error("the store {} is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a store, or is damaged.
    #[error("the store {} is damaged or not a store: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// No space is left: the disk is full, or a limit on the file's size is reached.
    #[error("no room to write to the store {}: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// Permission to read or write the file is missing.
    #[error("the store {} cannot be opened or written: {source}", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// What was written last is in a journal, which cannot be read in a read-only folder.
    #[error(
        "the newest runs of the store {} are in {}, which cannot be read in a read-only folder",
        path.display(), journal.display()
    )]
    Unread {
        /// The store's file.
        path: PathBuf,
        /// The journal beside it.
        journal: PathBuf,
    },
    /// SQLite reported another error.
    #[error("the store {}: {source}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A stored answer cannot be read.
    #[error("the store holds an answer that cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    /// A reference matches no run.
    #[error("no run is called `{0}`")]
    NoSuchRun(String),
    /// There are fewer runs than the reference asks for.
    #[error("{}", too_few_runs(reference, *wanted, *known, *others))]
    TooFewRuns {
        /// The reference.
        reference: String,
        /// The run's position, counted from one.
        wanted: usize,
        /// How many there are.
        known: usize,
        /// The number of runs of other kinds.
        others: usize,
    },
    /// A reference matches several runs.
    #[error("`{reference}` may be any of the runs {}", candidates.join(", "))]
    Ambiguous {
        /// The reference.
        reference: String,
        /// The runs' ids.
        candidates: Vec<String>,
    },
    /// The commit was measured only with changes on top of it.
    #[error("the commit {0} was measured only with uncommitted changes")]
    OnlyChanged(String),
    /// A name that is not allowed for runs.
    #[error("`{name}` is not allowed as the name of a run: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// Why.
        reason: &'static str,
    },
}

fn too_few_runs(reference: &str, wanted: usize, known: usize, others: usize) -> String {
    let word = reference.split('~').next().unwrap_or_default();
    let what = if word == "imported" { "import" } else { "run" };
    let besides = match others {
        0 => String::new(),
        1 => format!("; there is one that `{word}` never selects"),
        _ => format!("; there are {others} that `{word}` never selects"),
    };
    match known {
        0 => format!("the store holds no complete {what} yet{besides}"),
        1 => format!("`{reference}` asks for {what} {wanted} from the newest, and one is complete"),
        _ => format!(
            "`{reference}` asks for {what} {wanted} from the newest, and {known} are complete"
        ),
    }
}

impl StoreError {
    /// Classifies SQLite's error about a file.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, source }
            }
            // If a limit on file sizes truncates a write, SQLite reports an I/O error.
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => Self::Full { path, source },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Denied { path, source }
            }
            _ => Self::Database { path, source },
        }
    }

    /// Returns what to do next, in one line.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoPlace => "name a file with --store or RTMARK_STORE",
            Self::Folder { .. } | Self::Denied { .. } => {
                "check the path and its permissions, or name another file with --store or RTMARK_STORE"
            }
            Self::Unread { .. } => {
                "copy both files into a folder that can be written, and name the copy with --store"
            }
            Self::Missing { .. } => {
                "check --store, RTMARK_STORE or `store` in rtmark.toml; `rtmark run` makes a store"
            }
            Self::IsFolder { .. } | Self::Foreign { .. } => {
                "name another file with --store or RTMARK_STORE; this one was left as it is"
            }
            Self::Newer { .. } => "update rtmark, or name another store with --store",
            Self::Locked { .. } => {
                "wait until the other process is done, or name another store with --store"
            }
            Self::Damaged { .. } => {
                "keep the file: `sqlite3 FILE .recover` saves what can be read; continue with another store by --store"
            }
            Self::Full { .. } => {
                "make room and run it again: what was finished before is kept and is not measured again"
            }
            Self::TooFewRuns { known: 0, others: 1.., .. } => {
                "`rtmark log` shows them: imports, bundles and fairness runs have an id and perhaps a name, and the newest import is `imported`; `rtmark run` measures"
            }
            Self::TooFewRuns { known: 0, .. } => {
                "`rtmark run` makes one; `rtmark log` shows also interrupted ones"
            }
            Self::NoSuchRun(_) | Self::TooFewRuns { .. } => {
                "`rtmark log` shows the runs; a reference is latest, latest~1, imported, a name, the beginning of an id, or a commit"
            }
            Self::Ambiguous { .. } => "give more of the id; `rtmark log` shows the runs",
            Self::OnlyChanged(_) => {
                "commit and run again, or name such a run with its id: `rtmark log`"
            }
            Self::BadName { .. } => {
                "begin with a letter, and use letters, digits, `.`, `_`, `-` and `/`"
            }
            Self::Database { .. } | Self::Answer(_) => {
                "check the file, or name another one with --store or RTMARK_STORE"
            }
        }
    }
}
