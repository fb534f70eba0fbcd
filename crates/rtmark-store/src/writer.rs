//! Appends the answers of one run as they arrive.

use std::time::Duration;

use rtmark_model::{Answer, Key};
use rusqlite::params;
use sha2::{Digest, Sha256};

use crate::{Store, StoreError, now_ms};

/// The number of answers in one transaction if all are available at once.
const ANSWERS_PER_TRANSACTION: usize = 256;

/// Appends the answers of one run.
#[derive(Debug)]
pub struct RunWriter<'a> {
    pub(crate) store: &'a Store,
    pub(crate) row: i64,
    pub(crate) id: String,
}

impl RunWriter<'_> {
    /// Returns the run's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Appends an answer, which survives a crash of the process once this method has returned.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record(
        &self,
        answer: &Answer,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<(), StoreError> {
        self.record_timed(answer, fingerprint, None)
    }

    /// Appends an answer with the wall-clock time of its measurement: see [`Store::times`].
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record_timed(
        &self,
        answer: &Answer,
        fingerprint: Option<&Fingerprint>,
        took: Option<Duration>,
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
                 basis, answer, fingerprint, body, took_us) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
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
                    fingerprint.map(Fingerprint::as_str),
                    body,
                    took.map(|took| i64::try_from(took.as_micros()).unwrap_or(i64::MAX))
                ])
            })
            .map_err(|error| self.store.database(error))?;
        Ok(())
    }

    /// Appends answers that are all available, many in one transaction: if the process crashes, the
    /// last few may be missing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn record_all(&self, answers: &[Answer]) -> Result<(), StoreError> {
        for some in answers.chunks(ANSWERS_PER_TRANSACTION) {
            let connection = &self.store.connection;
            let failed = |error| self.store.database(error);
            let transaction = connection.unchecked_transaction().map_err(failed)?;
            some.iter().try_for_each(|answer| self.record(answer, None))?;
            transaction.commit().map_err(failed)?;
        }
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

/// A digest of everything that an exact answer depends on: equal digests mean equal answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Returns the digest, in hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Computes the fingerprint of an answer's ingredients.
pub fn fingerprint<'a>(ingredients: impl IntoIterator<Item = &'a str>) -> Fingerprint {
    let mut digest = Sha256::new();
    for ingredient in ingredients {
        // The length separates adjacent ingredients.
        digest.update((ingredient.len() as u64).to_le_bytes());
        digest.update(ingredient);
    }
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    Fingerprint(digest.finalize().iter().fold(String::new(), hex))
}
