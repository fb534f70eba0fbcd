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
use rtmark_model::Answer;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::marks::check_name;
use crate::{Kind, RunInfo, RunWriter, Store, StoreError};

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

/// Adds the runs of a bundle to a store: all of them or, if anything is wrong, none.
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
                target = begin(store, run, &mut imported, &lines)?;
            }
            Line::Answer(answer) => {
                answers += 1;
                match &target {
                    Target::None => return Err(lines.problem("an answer before any run")),
                    Target::Known => {}
                    Target::New(writer) => {
                        writer.record(&answer, None)?;
                        imported.answers += 1;
                    }
                }
            }
            Line::End(end) => {
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
    let known: Option<i64> = store
        .connection
        .query_row("SELECT row FROM runs WHERE id = ?1", [&run.id], |row| row.get(0))
        .optional()
        .map_err(database)?;
    if known.is_some() {
        imported.known.push(run.id);
        return Ok(Target::Known);
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
    for name in run.names {
        check_name(&name)?;
        let taken: bool = store
            .connection
            .query_row("SELECT EXISTS (SELECT 1 FROM names WHERE name = ?1)", [&name], |row| {
                row.get(0)
            })
            .map_err(database)?;
        if taken {
            imported.names_taken.push(name);
        } else {
            store
                .connection
                .execute(
                    "INSERT INTO marks (run, at_ms, mark, text) VALUES (?1, ?2, 'named', ?3)",
                    params![row, crate::now_ms(), name],
                )
                .map_err(database)?;
        }
    }
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
