//! The store as commands reach it: which file, which run, which of its answers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use rtmark_model::{Answer, Catalogue, Key, Pattern};
use rtmark_store::{RunInfo, Store};

use crate::config::Config;
use crate::exit::Exit;
use crate::trouble::Trouble;

/// Which file keeps results.
#[derive(Clone, Debug, Args)]
pub struct StoreFlag {
    /// The file that keeps results [default: `store` of rtmark.toml, or rtmark/store.sqlite in
    /// the user's data directory]
    #[arg(long, value_name = "FILE", env = rtmark_store::STORE_VARIABLE)]
    store: Option<PathBuf>,
}

impl StoreFlag {
    /// Opens the store, making it when it is missing.
    pub fn open(self, config: &Config) -> Result<Store, Trouble> {
        let named = self.store.or_else(|| config.store.clone());
        Ok(Store::open(named.map_or_else(rtmark_store::default_path, Ok)?)?)
    }
}

/// Which answers of a run.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// Kernels, by name or pattern; all without
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*`; all without
    #[arg(short, long, value_name = "GLOB", num_args = 1..)]
    scenario: Vec<Pattern>,
    /// Socs, by name or pattern; all without
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<Pattern>,
}

impl Filter {
    /// Whether everything is wanted.
    pub fn is_open(&self) -> bool {
        self.kernel.is_empty() && self.scenario.is_empty() && self.soc.is_empty()
    }

    /// Whether answers of this kernel, scenario and soc are wanted.
    pub fn wants(&self, kernel: &str, scenario: &str, soc: &str) -> bool {
        let fits = |patterns: &[Pattern], name| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
        };
        fits(&self.kernel, kernel) && fits(&self.scenario, scenario) && fits(&self.soc, soc)
    }

    fn wants_key(&self, key: &Key) -> bool {
        self.wants(key.kernel.as_str(), key.scenario.as_str(), &key.soc)
    }
}

/// The run that a reference names; branches and tags are those of the repository here.
pub fn run_of(store: &Store, reference: &str) -> Result<RunInfo, Trouble> {
    Ok(store.resolve(reference, commit_of)?)
}

/// What git says here, if it is a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn commit_of(reference: &str) -> Option<String> {
    let commit = format!("{reference}^{{commit}}");
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
}

/// The commit that is checked out in the repository here; `+` follows where files of it
/// were changed. `None` outside a repository.
pub fn commit_here() -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    Some(if changed { commit + "+" } else { commit })
}

/// The answers of a run that a filter wants, in the order of tables.
pub fn answers(store: &Store, run: &RunInfo, filter: &Filter) -> Result<Vec<Answer>, Trouble> {
    let mut answers = store.answers(&run.id)?;
    answers.retain(|answer| filter.wants_key(answer.key()));
    if answers.is_empty() {
        let message = format!("run {} holds no such answer", short(&run.id));
        let hint = format!("`rtmark show {}` shows all that it holds", short(&run.id));
        return Err(Trouble::new(Exit::NothingSelected, message, hint));
    }
    arrange(&mut answers)?;
    Ok(answers)
}

/// Figures of others: published ones, and the newest of each that a store has from logs.
pub fn of_others(
    published: bool,
    store: Option<&Store>,
    catalogue: &Catalogue,
) -> Result<Vec<Answer>, Trouble> {
    let mut others = Vec::new();
    if published {
        let read = rtmark_import::published(catalogue, env!("CARGO_PKG_VERSION"));
        let read = read.map_err(|error| {
            Trouble::new(Exit::Internal, error, "report this as a defect of rtmark")
        })?;
        others.extend(read.times.answers);
    }
    let Some(store) = store else { return Ok(others) };
    let mut known = BTreeSet::new();
    let read = |answer: &Answer| answer.series().is_some_and(|s| s.provenance.log.is_some());
    let newest = store.answers_from_logs()?.into_iter().filter(read);
    others.extend(newest.filter(|answer| known.insert(answer.key().clone())));
    Ok(others)
}

/// Brings answers into the order of tables: socs, scenarios of the catalogue, the floor and
/// then the other kernels.
pub fn arrange(answers: &mut [Answer]) -> Result<(), Trouble> {
    let catalogue = Catalogue::builtin()?;
    answers.sort_by_cached_key(|answer| {
        let key = answer.key();
        let kernel = (key.kernel.as_str() != "floor", key.kernel.clone(), key.version.clone());
        let scenario = (catalogue.position(&key.scenario), key.scenario.clone());
        (key.soc.clone(), key.profile.clone(), key.backend, scenario, kernel)
    });
    Ok(())
}

/// An id as people read it.
pub fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// A moment, in UTC.
pub fn moment(ms: i64) -> String {
    let stamp = jiff::Timestamp::from_millisecond(ms);
    stamp.map_or_else(|_| "?".to_owned(), |stamp| stamp.strftime("%Y-%m-%d %H:%M").to_string())
}
