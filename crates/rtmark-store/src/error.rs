//! Why a store could not be used, told apart by what its user does next.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

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
    /// There is no such file.
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
    /// It is a database of something else.
    #[error("{} is a database, but not one of rtmark's", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
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
    /// Another process holds it for longer than is waited for.
    #[error("the store {} is locked by another process", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is no store, or is damaged.
    #[error("the store {} is damaged or no store: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Nothing more can be written there: a full disk, or a limit on the file's size.
    #[error("no room to write to the store {}: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The file may not be read or written.
    #[error("the store {} cannot be opened or written: {source}", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// SQLite refused for another reason.
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
    /// A reference fits no run.
    #[error("no run is called `{0}`")]
    NoSuchRun(String),
    /// There are not so many runs.
    #[error("{}", not_so_many(reference, *wanted, *known, *others))]
    NotSoMany {
        /// The reference.
        reference: String,
        /// Which one, counted from one.
        wanted: usize,
        /// How many there are.
        known: usize,
        /// How many runs of other kinds there are.
        others: usize,
    },
    /// A reference fits several runs.
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
    /// A name that runs cannot have.
    #[error("`{name}` is no name for a run: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// Why.
        reason: &'static str,
    },
}

fn not_so_many(reference: &str, wanted: usize, known: usize, others: usize) -> String {
    let word = reference.split('~').next().unwrap_or_default();
    let what = if word == "imported" { "import" } else { "run" };
    let besides = match others {
        0 => String::new(),
        1 => format!("; one is there that `{word}` never means"),
        _ => format!("; {others} are there that `{word}` never means"),
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
    /// What SQLite says about a file, told apart.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, source }
            }
            // Where a limit on files cuts a write short, SQLite calls it a failure of I/O.
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => Self::Full { path, source },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Denied { path, source }
            }
            _ => Self::Database { path, source },
        }
    }

    /// What to do next, in one line.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoPlace => "name a file with --store or RTMARK_STORE",
            Self::Folder { .. } | Self::Denied { .. } => {
                "check the path and its permissions, or name another file with --store or RTMARK_STORE"
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
                "keep the file: `sqlite3 FILE .recover` saves what can be read; go on with another one by --store"
            }
            Self::Full { .. } => {
                "make room and run it again: what was finished before is kept and is not measured again"
            }
            Self::NotSoMany { known: 0, others: 1.., .. } => {
                "`rtmark log` shows them: imports, bundles and fairness runs have an id and perhaps a name, and the newest import is `imported`; `rtmark run` measures"
            }
            Self::NotSoMany { known: 0, .. } => {
                "`rtmark run` makes one; `rtmark log` shows also interrupted ones"
            }
            Self::NoSuchRun(_) | Self::NotSoMany { .. } => {
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
