//! Parts of a run: what one of several computers has measured, and the whole that they join to.
//!
//! A part is kept in a file and not in the store, in which a run is a complete measurement. The file holds
//! what the whole run asks, so that parts are joined only where all of that is equal.

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

/// How often a part that may be interrupted is written to its file.
const KEPT_EACH: Duration = Duration::from_secs(5);

/// What a whole run asks, and how it is divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Question {
    rtmark: String,
    timing_model: String,
    placements: String,
    max_cycles: Option<Cycles>,
    /// The digests of soc and machine files, by name.
    socs: BTreeMap<String, String>,
    /// What the answers are about, in their order.
    keys: Vec<Key>,
    /// In how many parts it is measured.
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
    /// Which part, counted from 1.
    number: usize,
    /// The commit that was measured.
    revision: Option<String>,
    /// Whether nothing is missing.
    complete: bool,
    /// The answers, each with the digest of what it depends on where it may be recalled.
    answers: Vec<(Option<String>, Answer)>,
}

impl RunPart {
    /// Whether a file claims to hold one.
    pub fn is_in(path: &Path) -> Result<bool, CliError> {
        FORM.is_of(path)
    }

    /// Reads one from its file.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        serde_json::from_slice(&FORM.read(path)?).map_err(|error| FORM.damaged(path, error))
    }

    fn write(&self, path: &Path) -> Result<(), CliError> {
        let contents = serde_json::to_vec(self)
            .map_err(|error| CliError::new(Exit::Internal, error, "report this as a defect"))?;
        FORM.write(path, &contents)
    }
}

/// Shows progress, and keeps answers in a part's file.
struct PartKeeper {
    part: RunPart,
    path: PathBuf,
    /// What the file held before.
    known: BTreeMap<String, Answer>,
    recalled: usize,
    written: Instant,
    progress: Progress,
}

impl SuiteObserver for PartKeeper {
    type Error = CliError;

    fn event(&mut self, event: Event<'_>) {
        self.progress.show(&event);
    }

    fn recall(&mut self, question: &Fingerprint) -> Option<Answer> {
        let known = self.known.remove(question.as_str());
        self.recalled += usize::from(known.is_some());
        known
    }

    // Parts join to the same bytes whoever measured them, how fast ever.
    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
        _: Option<Duration>,
    ) -> Result<(), CliError> {
        let question = question.map(|question| question.as_str().to_owned());
        self.part.answers.push((question, answer.clone()));
        if self.written.elapsed() >= KEPT_EACH {
            self.part.write(&self.path)?;
            self.written = Instant::now();
        }
        Ok(())
    }
}

/// Measures one part of a plan into a file, and goes on where the file holds some of it.
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
            let hint = "name another file, or remove this one to measure anew";
            return Err(refuse(path, "the state of another run, or of another part", hint));
        }
        known = before.answers.into_iter().filter_map(|(q, answer)| Some((q?, answer))).collect();
    }
    let part =
        RunPart { question, number: share.number, revision, complete: false, answers: Vec::new() };
    // Before hours have passed: whether it can be written.
    part.write(path)?;
    let mut keeper = PartKeeper {
        part,
        path: path.to_owned(),
        known,
        recalled: 0,
        written: Instant::now(),
        progress: Progress::new(verbosity),
    };
    let answers = suite.run(&plan.part(share, suite.placements), &mut keeper);
    keeper.progress.finish();
    let answers = answers?;
    keeper.part.complete = true;
    keeper.part.write(path)?;
    let exit = show_failures(&answers);
    if !verbosity.quiet {
        let recalled = match keeper.recalled {
            0 => String::new(),
            some => format!(" ({some} known from before)"),
        };
        let count = output::count(answers.len(), "answer");
        let path = path.display();
        say(format!("{count}{recalled}, part {share} of the run, kept in {path}"));
    }
    Ok(exit)
}

/// What parts join to.
#[derive(Debug)]
pub struct Joined {
    /// The answers, in the order of the whole run.
    pub answers: Vec<Answer>,
    /// The parts of which nothing or not all is there, counted from 1.
    pub missing: Vec<usize>,
    /// The commit that was measured.
    pub revision: Option<String>,
    /// The version of rtmark that measured.
    pub rtmark: String,
}

/// Joins the parts of one run.
///
/// # Errors
/// When they are of different runs, or of kernels that were built by different compilers.
pub fn join(parts: &[(PathBuf, RunPart)]) -> Result<Option<Joined>, CliError> {
    let Some((first_path, first)) = parts.first() else { return Ok(None) };
    let mut by_number: BTreeMap<usize, (&Path, &RunPart)> = BTreeMap::new();
    for (path, part) in parts {
        if (&part.question, &part.revision) != (&first.question, &first.revision) {
            let message =
                format!("{} and {} are of different runs", first_path.display(), path.display());
            let hint = "join parts that the same rtmark has measured of the same sources, socs, \
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
    Ok(Some(Joined {
        answers,
        missing: missing.collect(),
        revision: first.revision.clone(),
        rtmark: first.question.rtmark.clone(),
    }))
}

/// Refuses parts whose computers have compiled a kernel differently.
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
                    "{} and {}: {kernel} for {soc} was compiled by {} there and by {} here",
                    first.display(),
                    path.display(),
                    told(there),
                    told(here)
                );
                let hint = "measure all parts with the same compilers, as by one container image";
                return Err(CliError::new(Exit::Incomparable, message, hint));
            }
        }
    }
    Ok(())
}

fn told(compiler: &Compiler) -> String {
    let words = std::iter::once(&compiler.version).chain(&compiler.flags);
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}
