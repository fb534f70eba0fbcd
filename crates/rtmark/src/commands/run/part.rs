//! Parts of a partitioned run, and merging them.
//!
//! A part is kept in a file rather than the store, in which a run is a complete measurement. The file records
//! the question that the whole run asks, and only parts with equal questions are merged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rtmark_model::{Answer, Compiler, Key};
use rtmark_runner::{Event, Plan, Suite, SuiteObserver};
use rtmark_store::Fingerprint;
use rtmark_units::{Cycles, Share};
use serde::{Deserialize, Serialize};

use super::show_failures;
use crate::cli::Verbosity;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::part_file::{Form, refuse};
use crate::progress::Progress;

const FORM: Form = Form {
    magic: b"RTMARKRN",
    version: 1,
    what: "a part of a run",
    made_by: "rtmark run --partition K/N --state FILE",
};

/// How often a part is saved while it is measured.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// The question that a whole run asks, and how it is partitioned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Question {
    rtmark: String,
    timing_model: String,
    placements: String,
    max_cycles: Option<Cycles>,
    /// The digests of soc and machine files, by name.
    socs: BTreeMap<String, String>,
    /// The keys of all answers, in order.
    keys: Vec<Key>,
    /// The number of parts.
    parts: usize,
}

impl Question {
    fn new(plan: &Plan, suite: &Suite, parts: usize) -> Self {
        let platforms = plan.units.iter().map(|unit| &unit.platform);
        let socs = platforms.map(|p| (p.name().to_owned(), p.sha256().to_owned())).collect();
        Self {
            rtmark: suite.rtmark.clone(),
            timing_model: rtmark_sim::TIMING_MODEL.to_owned(),
            placements: format!("{:?}", suite.placements),
            max_cycles: suite.max_cycles,
            socs,
            keys: plan.keys(),
            parts,
        }
    }
}

/// A part of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunPart {
    question: Question,
    /// The number of this part, starting at 1.
    number: usize,
    /// The commit that was measured.
    revision: Option<String>,
    /// Whether the part is complete.
    complete: bool,
    /// The answers, each with the digest of what it depends on if it can be recalled.
    answers: Vec<(Option<String>, Answer)>,
}

impl RunPart {
    /// Returns whether a file starts like a part.
    pub fn is_in(path: &Path) -> Result<bool, CliError> {
        FORM.is_of(path)
    }

    /// Reads a part from its file.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        serde_json::from_slice(&FORM.read(path)?).map_err(|error| FORM.damaged(path, error))
    }

    fn write(&self, path: &Path) -> Result<(), CliError> {
        let contents = serde_json::to_vec(self).map_err(|error| {
            CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
        })?;
        FORM.write(path, &contents)
    }
}

/// Shows progress, and saves answers in a part's file.
struct PartRecorder {
    part: RunPart,
    path: PathBuf,
    /// The answers that the file already had.
    known: BTreeMap<String, Answer>,
    recalled: usize,
    written: Instant,
    progress: Progress,
}

impl PartRecorder {
    /// Writes the file: the answers so far, and those of before that have not been recalled yet.
    fn save(&mut self) -> Result<(), CliError> {
        let answers = self.part.answers.len();
        let kept =
            self.known.iter().map(|(question, answer)| (Some(question.clone()), answer.clone()));
        self.part.answers.extend(kept);
        let written = self.part.write(&self.path);
        self.part.answers.truncate(answers);
        self.written = Instant::now();
        written
    }
}

impl SuiteObserver for PartRecorder {
    type Error = CliError;

    fn event(&mut self, event: Event<'_>) {
        self.progress.show(&event);
    }

    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        let known = self.known.remove(question.as_str());
        self.recalled += usize::from(known.is_some());
        known
    }

    // Durations are not recorded: merged parts must not depend on the computers' speed.
    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
        _: Option<Duration>,
    ) -> Result<(), CliError> {
        let question = question.map(|question| question.as_str().to_owned());
        self.part.answers.push((question, answer.clone()));
        if self.written.elapsed() >= SAVE_INTERVAL {
            self.save()?;
        }
        Ok(())
    }
}

/// Measures one part of a plan into a file, resuming if the file already has some answers.
pub fn measure(
    plan: &Plan,
    suite: &Suite,
    share: Share,
    path: &Path,
    revision: Option<String>,
    verbosity: Verbosity,
) -> Result<Exit, CliError> {
    let question = Question::new(plan, suite, share.of);
    let mut known = BTreeMap::new();
    if path.exists() {
        let before = RunPart::read(path)?;
        if (&before.question, before.number) != (&question, share.number) {
            let hint = "give another file, or delete this one to start again";
            return Err(refuse(path, "the file holds another run, or another part", hint));
        }
        known = before.answers.into_iter().filter_map(|(q, answer)| Some((q?, answer))).collect();
    }
    let part =
        RunPart { question, number: share.number, revision, complete: false, answers: Vec::new() };
    let mut recorder = PartRecorder {
        part,
        path: path.to_owned(),
        known,
        recalled: 0,
        written: Instant::now(),
        progress: Progress::new(verbosity),
    };
    // Fail early, before hours of measuring, if the file cannot be written.
    recorder.save()?;
    let answers = suite.run(&plan.part(share, suite.placements), &mut recorder);
    recorder.progress.finish();
    let answers = answers?;
    recorder.part.complete = true;
    recorder.part.write(path)?;
    let exit = show_failures(&answers);
    if !verbosity.quiet {
        let recalled = match recorder.recalled {
            0 => String::new(),
            some => format!(" ({some} recalled)"),
        };
        let count = output::count(answers.len(), "answer");
        let path = path.display();
        say(format!("{count}{recalled}, part {share} of the run, saved in {path}"));
    }
    Ok(exit)
}

/// The merged parts of a run.
#[derive(Debug)]
pub struct MergedRun {
    /// The answers, in the order of the whole run.
    pub answers: Vec<Answer>,
    /// The parts that are missing or incomplete, numbered from 1.
    pub missing: Vec<usize>,
    /// How many different parts there were.
    pub parts: usize,
    /// The commit that was measured.
    pub revision: Option<String>,
    /// The version of rtmark that measured.
    pub rtmark: String,
}

/// Merges the parts of one run.
///
/// # Errors
/// If they belong to different runs, or their kernels were built by different compilers.
pub fn join(parts: &[(PathBuf, RunPart)]) -> Result<Option<MergedRun>, CliError> {
    let Some((first_path, first)) = parts.first() else { return Ok(None) };
    let mut by_number: BTreeMap<usize, (&Path, &RunPart)> = BTreeMap::new();
    for (path, part) in parts {
        if (&part.question, &part.revision) != (&first.question, &first.revision) {
            let message =
                format!("{} and {} belong to different runs", first_path.display(), path.display());
            let hint = "merge parts that were measured by the same rtmark, from the same sources, socs, \
                        scenarios and settings";
            return Err(CliError::new(Exit::Incomparable, message, hint));
        }
        let known = by_number.entry(part.number).or_insert((path, part));
        if !known.1.complete && part.complete {
            *known = (path, part);
        }
    }
    same_compilers(by_number.values().copied())?;
    let missing = (1..=first.question.parts)
        .filter(|number| by_number.get(number).is_none_or(|(_, part)| !part.complete));
    let place: BTreeMap<&Key, usize> =
        first.question.keys.iter().enumerate().map(|(place, key)| (key, place)).collect();
    let answers = by_number.values().flat_map(|(_, part)| &part.answers);
    let mut answers: Vec<Answer> = answers.map(|(_, answer)| answer.clone()).collect();
    answers.sort_by_key(|answer| place.get(answer.key()).copied());
    Ok(Some(MergedRun {
        answers,
        missing: missing.collect(),
        parts: by_number.len(),
        revision: first.revision.clone(),
        rtmark: first.question.rtmark.clone(),
    }))
}

/// Returns an error if parts were measured with differently compiled kernels.
fn same_compilers<'a>(
    parts: impl Iterator<Item = (&'a Path, &'a RunPart)>,
) -> Result<(), CliError> {
    let mut compilers: BTreeMap<[&str; 3], (&Path, &Compiler)> = BTreeMap::new();
    for (path, part) in parts {
        for series in part.answers.iter().filter_map(|(_, answer)| answer.series()) {
            let Key { soc, kernel, profile, .. } = &series.key;
            let here = &series.provenance.compiler;
            let (first, there) =
                *compilers.entry([soc, kernel.as_str(), profile]).or_insert((path, here));
            if there != here {
                let message = format!(
                    "{} and {}: {kernel} for {soc} was compiled by {} in the first, and by {} in the second",
                    first.display(),
                    path.display(),
                    described(there),
                    described(here)
                );
                let hint = "measure all parts with the same compilers, for example in the same container image";
                return Err(CliError::new(Exit::Incomparable, message, hint));
            }
        }
    }
    Ok(())
}

/// Formats a compiler's version and flags.
fn described(compiler: &Compiler) -> String {
    let words = std::iter::once(&compiler.version).chain(&compiler.flags);
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}
