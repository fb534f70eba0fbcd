//! Bundles: files that carry runs from one store to another.
//!
//! A bundle is text with one JSON object per line, optionally compressed with gzip; `docs/bundle.md`
//! describes it. Its last line has the digest of all lines before it, so that a truncated or modified
//! bundle is rejected. Importing a bundle changes a store completely or not at all, never takes more
//! memory than [`LONGEST_LINE`], and trusts nothing: an imported answer is never reused for a later
//! run.

use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use rtmark_model::{Answer, Key};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::marks::check_name;
use crate::{Kind, RunInfo, RunWriter, Store, StoreError, read_answer};

/// The newest version of the bundle format.
pub const FORM: u32 = 1;
/// The longest line that is read, in bytes.
pub const LONGEST_LINE: u64 = 64 << 20;
/// The longest bundle that is read, in bytes when unpacked.
pub const MAX_BYTES: u64 = 4 << 30;
/// The beginning of every uncompressed bundle.
const BEGINNING: &[u8] = b"{\"rtmark_bundle\":";
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The reason why a bundle could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// It is something else.
    #[error("it is not a bundle: {0}")]
    NoBundle(&'static str),
    /// A newer rtmark wrote it.
    #[error("it has format version {0}; this rtmark supports versions up to {FORM}")]
    Newer(u32),
    /// A line is invalid.
    #[error("line {line}: {problem}")]
    Line {
        /// Counted from one.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// It is truncated or was modified.
    #[error("it is incomplete or was modified: {0}")]
    Broken(&'static str),
    /// It cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The store reported an error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    rtmark_bundle: u32,
    generator: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Run(RunLine),
    Answer(Box<Answer>),
    End(EndLine),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunLine {
    id: String,
    started_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finished_ms: Option<i64>,
    command: String,
    rtmark: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    runs: u64,
    answers: u64,
    sha256: String,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The ids of runs that are new to the store.
    pub added: Vec<String>,
    /// The ids of runs that it already had; they are left unchanged.
    pub known: Vec<String>,
    /// The ids of runs that it had from an earlier bundle, made before they were finished, and of which
    /// it now has more.
    pub completed: Vec<String>,
    /// The number of answers added.
    pub answers: u64,
    /// Names of runs in the bundle that other runs have in the store.
    pub names_taken: Vec<String>,
}

/// How a bundle is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As text.
    Plain,
    /// Compressed with gzip.
    Gzip,
}

/// Tells whether a file that begins with these uncompressed bytes (the first 64 suffice) may be a
/// bundle.
pub fn looks_like_bundle(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING)
}

/// Returns a file's contents, decompressed if it is compressed with gzip.
///
/// # Errors
/// When it cannot be read.
pub fn unpacked<'a>(from: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    // `fill_buf` may return a single byte, as with pipes; no text begins with this one.
    Ok(if from.fill_buf()?.first() == GZIP.first() {
        Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(from)))
    } else {
        Box::new(from)
    })
}

fn hexadecimal(digest: Sha256) -> String {
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    digest.finalize().iter().fold(String::new(), hex)
}

/// Writes runs as a bundle.
///
/// # Errors
/// When the store cannot be read or the bundle not be written.
pub fn export(
    store: &Store,
    runs: &[RunInfo],
    generator: &str,
    packing: Packing,
    to: impl Write,
) -> Result<u64, BundleError> {
    match packing {
        Packing::Plain => {
            let mut to = io::BufWriter::new(to);
            let answers = write(store, runs, generator, &mut to)?;
            to.flush()?;
            Ok(answers)
        }
        Packing::Gzip => {
            let mut to = GzEncoder::new(to, Compression::default());
            let answers = write(store, runs, generator, &mut to)?;
            to.finish()?.flush()?;
            Ok(answers)
        }
    }
}

fn write(
    store: &Store,
    runs: &[RunInfo],
    generator: &str,
    to: &mut impl Write,
) -> Result<u64, BundleError> {
    let mut digest = Sha256::new();
    let mut answers = 0;
    let mut line = |text: String| -> io::Result<()> {
        digest.update(&text);
        digest.update(b"\n");
        to.write_all(text.as_bytes())?;
        to.write_all(b"\n")
    };
    let json = |value: &Line| serde_json::to_string(value).map_err(io::Error::from);
    let head = Head { rtmark_bundle: FORM, generator: generator.to_owned() };
    line(serde_json::to_string(&head).map_err(io::Error::from)?)?;
    // The oldest first, so that runs with equal times keep their order in the importing store.
    let mut runs: Vec<&RunInfo> = runs.iter().collect();
    runs.sort_by_key(|run| (run.started_ms, run.row));
    for run in &runs {
        line(json(&Line::Run(RunLine {
            id: run.id.clone(),
            started_ms: run.started_ms,
            finished_ms: run.finished_ms,
            command: run.command.clone(),
            rtmark: run.rtmark.clone(),
            revision: run.revision.clone(),
            names: run.names.clone(),
        }))?)?;
        store.each_answer(&run.id, |answer| -> Result<(), BundleError> {
            answers += 1;
            line(json(&Line::Answer(Box::new(answer)))?)?;
            Ok(())
        })?;
    }
    let sha256 = hexadecimal(digest);
    let end = json(&Line::End(EndLine { runs: runs.len() as u64, answers, sha256 }))?;
    to.write_all(end.as_bytes())?;
    to.write_all(b"\n")?;
    Ok(answers)
}

/// Adds the runs of a bundle to a store: all of them or, if anything is wrong, none. A run that the store
/// has is skipped, unless an earlier bundle brought it before it was finished: what that bundle lacked is
/// appended.
///
/// # Errors
/// When it is not a bundle, is newer than supported or broken, or the store cannot be written.
pub fn import(store: &Store, from: impl Read) -> Result<Imported, BundleError> {
    read(store, unpacked(from)?)
}

/// Reads a bundle like [`import`] without keeping anything, and returns what it would add to an empty
/// store.
///
/// # Errors
/// Those of [`import`].
pub fn check(from: impl Read) -> Result<Imported, BundleError> {
    import(&Store::open(":memory:")?, from)
}

/// The lines of a bundle, limited in length.
struct Lines<R> {
    from: io::Take<R>,
    number: u64,
    total: u64,
    digest: Sha256,
}

impl<R: BufRead> Lines<R> {
    fn problem(&self, problem: impl std::fmt::Display) -> BundleError {
        BundleError::Line { line: self.number, problem: problem.to_string() }
    }

    /// Reads the next line without its terminator; returns whether there was one.
    fn next(&mut self, line: &mut Vec<u8>) -> Result<bool, BundleError> {
        line.clear();
        self.from.set_limit(LONGEST_LINE + 1);
        let read = self.from.read_until(b'\n', line)? as u64;
        self.number += 1;
        self.total += read;
        if read == 0 {
            return Ok(false);
        }
        if read > LONGEST_LINE {
            return Err(self.problem(format!("it is longer than {} MiB", LONGEST_LINE >> 20)));
        }
        if self.total > MAX_BYTES {
            return Err(self.problem(format!("the bundle is longer than {} GiB", MAX_BYTES >> 30)));
        }
        if line.pop() != Some(b'\n') {
            return Err(BundleError::Broken("its last line has no end"));
        }
        Ok(true)
    }
}

fn read(store: &Store, from: impl BufRead) -> Result<Imported, BundleError> {
    let mut lines = Lines { from: from.take(0), number: 0, total: 0, digest: Sha256::new() };
    let mut text = Vec::new();
    head(&mut lines, &mut text)?;
    lines.digest.update(&text);
    lines.digest.update(b"\n");

    let transaction = Transaction::new_unchecked(&store.connection, TransactionBehavior::Immediate)
        .map_err(|error| store.database(error))?;
    let mut imported = Imported::default();
    let mut target = Target::None;
    let (mut runs, mut answers) = (0, 0);
    loop {
        if !lines.next(&mut text)? {
            return Err(BundleError::Broken("its last line is missing"));
        }
        let line: Line = serde_json::from_slice(&text).map_err(|error| lines.problem(error))?;
        match line {
            Line::Run(run) => {
                runs += 1;
                end_run(target, &mut imported, &lines)?;
                target = begin(store, run, &mut imported, &lines)?;
            }
            Line::Answer(answer) => {
                answers += 1;
                match &mut target {
                    Target::None => return Err(lines.problem("an answer before any run")),
                    Target::Known => {}
                    Target::New(writer) => {
                        writer.record(&answer, None)?;
                        imported.answers += 1;
                    }
                    Target::Unfinished(run) => run.compare_or_add(&answer, &lines)?,
                }
            }
            Line::End(end) => {
                end_run(target, &mut imported, &lines)?;
                if (end.runs, end.answers) != (runs, answers) {
                    return Err(BundleError::Broken("the counts in its last line do not match"));
                }
                if end.sha256 != hexadecimal(lines.digest.clone()) {
                    return Err(BundleError::Broken("its digest does not match"));
                }
                if lines.next(&mut text)? {
                    return Err(lines.problem("something follows the last line"));
                }
                break;
            }
        }
        lines.digest.update(&text);
        lines.digest.update(b"\n");
    }
    transaction.commit().map_err(|error| store.database(error))?;
    Ok(imported)
}

/// Reads the first line. Its format version is checked before anything else.
fn head<R: BufRead>(lines: &mut Lines<R>, text: &mut Vec<u8>) -> Result<(), BundleError> {
    #[derive(Deserialize)]
    struct Form {
        rtmark_bundle: u32,
    }
    let begins = match lines.next(text) {
        Ok(there) => there && text.starts_with(BEGINNING),
        Err(BundleError::Line { .. } | BundleError::Broken(_)) => false,
        Err(BundleError::Io(error)) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(BundleError::NoBundle("it begins like gzip but is not"));
        }
        Err(other) => return Err(other),
    };
    if !begins {
        return Err(BundleError::NoBundle("its first line is not that of a bundle"));
    }
    let form: Form = serde_json::from_slice(text).map_err(|error| lines.problem(error))?;
    if form.rtmark_bundle > FORM {
        return Err(BundleError::Newer(form.rtmark_bundle));
    }
    let head: Result<Head, _> = serde_json::from_slice(text);
    head.map(drop).map_err(|error| lines.problem(error))
}

/// The destination of the answers that follow.
enum Target<'a> {
    None,
    Known,
    New(RunWriter<'a>),
    Unfinished(Unfinished<'a>),
}

/// A run of which an earlier bundle had a part. Answers are only ever appended to a run, so that part is
/// its beginning.
struct Unfinished<'a> {
    writer: RunWriter<'a>,
    /// The position of the last stored answer that the bundle has repeated.
    repeated: i64,
    /// The number of answers that are new.
    added: u64,
    /// When it was finished, according to the bundle, and its names there.
    finished_ms: Option<i64>,
    names: Vec<String>,
}

impl Unfinished<'_> {
    /// Returns the key of the next stored answer, with its position.
    fn next_stored(&self) -> Result<Option<(i64, Key)>, StoreError> {
        let store = self.writer.store;
        let read = || -> rusqlite::Result<Option<(i64, String)>> {
            let mut statement = store.connection.prepare_cached(
                "SELECT row, body FROM answers WHERE run = ?1 AND row > ?2 ORDER BY row LIMIT 1",
            )?;
            let next = params![self.writer.row, self.repeated];
            statement.query_row(next, |row| Ok((row.get(0)?, row.get(1)?))).optional()
        };
        let Some((row, body)) = read().map_err(|error| store.database(error))? else {
            return Ok(None);
        };
        let answer = read_answer(&body)?;
        Ok(Some((row, answer.key().clone())))
    }

    /// Passes over an answer that the store has, and adds one that it lacks.
    fn compare_or_add<R: BufRead>(
        &mut self,
        answer: &Answer,
        lines: &Lines<R>,
    ) -> Result<(), BundleError> {
        if self.added == 0
            && let Some((row, key)) = self.next_stored()?
        {
            self.repeated = row;
            return if key == *answer.key() { Ok(()) } else { Err(self.differs(lines)) };
        }
        self.writer.record(answer, None)?;
        self.added += 1;
        Ok(())
    }

    fn differs<R: BufRead>(&self, lines: &Lines<R>) -> BundleError {
        lines.problem(format!("the store has other answers of the run {}", self.writer.id))
    }

    fn end<R: BufRead>(self, imported: &mut Imported, lines: &Lines<R>) -> Result<(), BundleError> {
        let store = self.writer.store;
        let lacks_some = self.added == 0 && self.next_stored()?.is_some();
        if lacks_some && self.finished_ms.is_some() {
            return Err(self.differs(lines));
        }
        if self.added == 0 && self.finished_ms.is_none() {
            imported.known.push(self.writer.id);
            return Ok(());
        }
        store
            .connection
            .execute(
                "UPDATE runs SET finished_ms = ?1 WHERE row = ?2",
                params![self.finished_ms, self.writer.row],
            )
            .map_err(|error| store.database(error))?;
        give_names(store, self.writer.row, self.names, imported)?;
        imported.answers += self.added;
        imported.completed.push(self.writer.id);
        Ok(())
    }
}

/// Handles the end of a run's answers.
fn end_run<R: BufRead>(
    target: Target<'_>,
    imported: &mut Imported,
    lines: &Lines<R>,
) -> Result<(), BundleError> {
    match target {
        Target::Unfinished(run) => run.end(imported, lines),
        Target::None | Target::Known | Target::New(_) => Ok(()),
    }
}

/// Gives a run the names that it has in a bundle, but for those that another run has, and those that it
/// once had here: the user has taken them away.
fn give_names(
    store: &Store,
    row: i64,
    names: Vec<String>,
    imported: &mut Imported,
) -> Result<(), BundleError> {
    for name in names {
        check_name(&name)?;
        let known = |query| {
            let known = store.connection.query_row(query, params![name, row], |row| row.get(0));
            known.map_err(|error| store.database(error))
        };
        if known("SELECT EXISTS (SELECT 1 FROM names WHERE name = ?1 AND run <> ?2)")? {
            imported.names_taken.push(name);
        } else if !known("SELECT EXISTS (SELECT 1 FROM marks WHERE text = ?1 AND run = ?2)")? {
            store.mark(row, "named", &name)?;
        }
    }
    Ok(())
}

fn begin<'a, R: BufRead>(
    store: &'a Store,
    run: RunLine,
    imported: &mut Imported,
    lines: &Lines<R>,
) -> Result<Target<'a>, BundleError> {
    let is_id =
        run.id.len() == 32 && run.id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_id {
        return Err(lines.problem("a run's id is not 32 hexadecimal digits"));
    }
    let is_commit = |text: &String| {
        let digits = text.strip_suffix('+').unwrap_or(text);
        digits.len() <= 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if !run.revision.iter().all(is_commit) {
        return Err(lines.problem("a run's revision is not a commit"));
    }
    let database = |error| BundleError::Store(store.database(error));
    // A run of this store's own is never changed from outside.
    let known: Option<(i64, bool)> = store
        .connection
        .query_row(
            "SELECT row, finished_ms IS NULL AND kind = ?2 FROM runs WHERE id = ?1",
            params![run.id, Kind::Bundled.name()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
        .map_err(database)?;
    match known {
        Some((row, true)) => {
            let (finished_ms, names) = (run.finished_ms, run.names);
            let writer = RunWriter { store, row, id: run.id };
            let run = Unfinished { writer, repeated: 0, added: 0, finished_ms, names };
            return Ok(Target::Unfinished(run));
        }
        Some((_, false)) => {
            imported.known.push(run.id);
            return Ok(Target::Known);
        }
        None => {}
    }
    let row: i64 = store
        .connection
        .query_row(
            "INSERT INTO runs (id, started_ms, finished_ms, command, rtmark, revision, kind) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING row",
            params![
                run.id,
                run.started_ms,
                run.finished_ms,
                run.command,
                run.rtmark,
                run.revision,
                Kind::Bundled.name()
            ],
            |row| row.get(0),
        )
        .map_err(database)?;
    give_names(store, row, run.names, imported)?;
    imported.added.push(run.id.clone());
    Ok(Target::New(RunWriter { store, row, id: run.id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], total: u64) -> Lines<&[u8]> {
        Lines { from: text.take(0), number: 0, total, digest: Sha256::new() }
    }

    #[test]
    fn a_bundle_has_at_most_4_gib() {
        let mut text = Vec::new();
        let mut lines = lines(b"abc\nde\n\n", MAX_BYTES - 7);
        assert!(lines.next(&mut text).is_ok_and(|more| more) && text == b"abc");
        assert!(lines.next(&mut text).is_ok_and(|more| more) && text == b"de");
        let error = lines.next(&mut text).expect_err("refused").to_string();
        assert_eq!(error, "line 3: the bundle is longer than 4 GiB");
        let beyond = self::lines(b"abc\n", MAX_BYTES).next(&mut text);
        assert!(beyond.expect_err("refused").to_string().contains("4 GiB"));
    }

    #[test]
    fn a_line_has_at_most_64_mib_with_its_end() {
        let mut text = Vec::new();
        let mut long = vec![b'a'; LONGEST_LINE as usize];
        long[LONGEST_LINE as usize - 1] = b'\n';
        assert!(lines(&long, 0).next(&mut text).is_ok_and(|more| more));
        long.insert(0, b'a');
        let error = lines(&long, 0).next(&mut text).expect_err("refused").to_string();
        assert_eq!(error, "line 1: it is longer than 64 MiB");
    }
}
