//! References to runs: `latest`, `latest~2`, `imported`, a name, the beginning of an id, a commit.

use crate::{Kind, RunInfo, Store, StoreError};

/// Texts shorter than this are not ids or commits.
const MIN_DIGITS: usize = 4;

fn is_hexadecimal(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Words that count back from the newest run, and the kind of run that they count.
const COUNTING: [(&str, Kind); 2] = [("latest", Kind::Measured), ("imported", Kind::Imported)];

/// Parses the kind of run, and how far back from the newest one: 0 for `latest`, 2 for `latest~2`.
fn generations(reference: &str) -> Option<(Kind, usize)> {
    COUNTING.into_iter().find_map(|(word, kind)| match reference.strip_prefix(word)? {
        "" => Some((kind, 0)),
        rest => Some((kind, rest.strip_prefix('~')?.parse().ok()?)),
    })
}

/// Tells whether a name would hide one of these words.
pub fn is_reserved(name: &str) -> bool {
    COUNTING.iter().any(|(word, _)| *word == name)
}

/// Tells whether a run is of a commit that begins like this; `+` asks for a modified tree.
fn is_of(run: &RunInfo, commit: &str) -> bool {
    let Some(revision) = &run.revision else { return false };
    match (commit.strip_suffix('+'), revision.strip_suffix('+')) {
        (Some(wanted), Some(known)) => known.starts_with(wanted),
        (None, None) => revision.starts_with(commit),
        _ => false,
    }
}

impl Store {
    /// Returns the run that a reference denotes. Names are tried first, then beginnings of ids and
    /// commits, then the result of `commit_of`, which is the full commit of a branch or tag in the
    /// caller's repository. Among several runs of one commit, the newest complete one is taken. Removed
    /// runs are ignored. `latest` is the newest complete run of [`Kind::Measured`], `imported` that of
    /// [`Kind::Imported`].
    ///
    /// # Errors
    /// When nothing fits, several runs do, or the file cannot be read.
    pub fn resolve(
        &self,
        reference: &str,
        commit_of: impl FnOnce(&str) -> Option<String>,
    ) -> Result<RunInfo, StoreError> {
        let mut runs = self.runs()?;
        runs.retain(|run| run.removed.is_none());
        let unknown = || StoreError::NoSuchRun(reference.escape_debug().to_string());
        if let Some((kind, back)) = generations(reference) {
            let others = runs.iter().filter(|run| run.kind != kind).count();
            let complete: Vec<_> = runs
                .into_iter()
                .filter(|run| run.kind == kind && run.finished_ms.is_some())
                .collect();
            let known = complete.len();
            return complete.into_iter().nth(back).ok_or(StoreError::TooFewRuns {
                reference: reference.to_owned(),
                wanted: back.saturating_add(1),
                known,
                others,
            });
        }
        if let Some(index) = runs.iter().position(|run| run.names.iter().any(|n| n == reference)) {
            return Ok(runs.swap_remove(index));
        }
        let text = reference.to_ascii_lowercase();
        if is_hexadecimal(text.strip_suffix('+').unwrap_or(&text)) {
            let fitting = |run: &&RunInfo| run.id.starts_with(&text);
            let mut ids: Vec<&RunInfo> = runs.iter().filter(fitting).collect();
            // One commit may have many runs, but several commits with the same beginning are ambiguous.
            if let Some(run) = newest_of(&runs, &text, reference)? {
                ids.push(run);
            }
            match ids.as_slice() {
                [] => {}
                [run] => return Ok((*run).clone()),
                several => {
                    return Err(StoreError::Ambiguous {
                        reference: reference.to_owned(),
                        candidates: several.iter().map(|run| run.id.clone()).collect(),
                    });
                }
            }
        }
        let commit = commit_of(reference).ok_or_else(unknown)?;
        newest_of(&runs, &commit, reference)?.cloned().ok_or_else(|| {
            let changed = format!("{commit}+");
            if runs.iter().any(|run| is_of(run, &changed)) {
                return StoreError::OnlyChanged(commit);
            }
            let short = commit.get(..12).unwrap_or(&commit);
            StoreError::NoSuchRun(format!("{}` (commit `{short}", reference.escape_debug()))
        })
    }
}

/// Returns the newest run of a commit, preferring complete runs to interrupted ones.
fn newest_of<'a>(
    runs: &'a [RunInfo],
    commit: &str,
    reference: &str,
) -> Result<Option<&'a RunInfo>, StoreError> {
    let fitting: Vec<_> = runs.iter().filter(|run| is_of(run, commit)).collect();
    let newest = fitting.iter().find(|run| run.finished_ms.is_some()).or(fitting.first()).copied();
    if fitting.iter().any(|run| newest.is_some_and(|newest| run.revision != newest.revision)) {
        return Err(StoreError::Ambiguous {
            reference: reference.to_owned(),
            candidates: fitting.iter().map(|run| run.id.clone()).collect(),
        });
    }
    Ok(newest)
}
