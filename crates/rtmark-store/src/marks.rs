//! Marks appended to runs after they were made, namely names and removals; and pruning, the only
//! operation that deletes anything from the file.

use rusqlite::{Transaction, TransactionBehavior, params};

use crate::reference::is_reserved;
use crate::{RunInfo, Store, StoreError, now_ms};

/// What pruning has deleted, or would delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The number of runs.
    pub runs: u64,
    /// The number of their answers.
    pub answers: u64,
    /// The number of bytes by which the file became smaller; 0 if nothing was deleted yet.
    pub bytes: u64,
}

/// The maximum length of a name, in bytes.
const LONGEST_NAME: usize = 96;

/// Checks whether a name is allowed for runs.
///
/// # Errors
/// [`StoreError::BadName`] with the reason.
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let refuse = |reason| {
        Err(StoreError::BadName {
            name: name.chars().take(120).flat_map(char::escape_debug).collect(),
            reason,
        })
    };
    if name.is_empty() || name.len() > LONGEST_NAME {
        return refuse("names have 1 to 96 characters");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return refuse("it does not begin with a letter");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/')) {
        return refuse("it contains a character that is not allowed in names");
    }
    if is_reserved(name) {
        return refuse("`latest` and `imported` always mean the newest run of their kind");
    }
    if name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return refuse("it could be the beginning of an id or of a commit");
    }
    Ok(())
}

impl Store {
    pub(crate) fn mark(&self, run: i64, mark: &str, text: &str) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO marks (run, at_ms, mark, text) VALUES (?1, ?2, ?3, ?4)",
                params![run, now_ms(), mark, text],
            )
            .map_err(|error| self.database(error))?;
        Ok(())
    }

    /// Gives a run a name, which is taken away from any other run that had it.
    ///
    /// # Errors
    /// When the name is not allowed, or the file cannot be written.
    pub fn name(&self, run: &RunInfo, name: &str) -> Result<(), StoreError> {
        check_name(name)?;
        self.mark(run.row, "named", name)
    }

    /// Takes a name away from a run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn unname(&self, run: &RunInfo, name: &str) -> Result<(), StoreError> {
        self.mark(run.row, "unnamed", name)
    }

    /// Marks a run as removed: it is ignored from now on, and stays in the file until it is pruned.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&self, run: &RunInfo, reason: &str) -> Result<(), StoreError> {
        self.mark(run.row, "removed", reason)
    }

    /// Undoes a removal.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn restore(&self, run: &RunInfo) -> Result<(), StoreError> {
        self.mark(run.row, "restored", "")
    }

    /// Returns how much pruning would delete now.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn prunable(&self) -> Result<Pruned, StoreError> {
        let runs = self.runs()?;
        let removed = runs.iter().filter(|run| run.removed.is_some());
        Ok(removed.fold(Pruned::default(), |sum, run| Pruned {
            runs: sum.runs + 1,
            answers: sum.answers + run.answers,
            bytes: 0,
        }))
    }

    /// Deletes all removed runs from the file and releases their space.
    ///
    /// # Errors
    /// When the file cannot be written, or another process holds it.
    pub fn prune(&self) -> Result<Pruned, StoreError> {
        let size = || std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let prune = || -> rusqlite::Result<(usize, usize)> {
            let transaction =
                Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let removed = "run IN (SELECT run FROM removed)";
            let answers =
                transaction.execute(&format!("DELETE FROM answers WHERE {removed}"), [])?;
            let runs = transaction
                .execute("DELETE FROM runs WHERE row IN (SELECT run FROM removed)", [])?;
            transaction.commit()?;
            Ok((runs, answers))
        };
        self.checkpoint()?;
        let before = size();
        let (runs, answers) = prune().map_err(|error| self.database(error))?;
        self.connection.execute_batch("VACUUM").map_err(|error| self.database(error))?;
        self.checkpoint()?;
        Ok(Pruned {
            runs: runs as u64,
            answers: answers as u64,
            bytes: before.saturating_sub(size()),
        })
    }

    /// Moves the contents of the journal into the file itself.
    fn checkpoint(&self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| self.database(error))
    }
}
