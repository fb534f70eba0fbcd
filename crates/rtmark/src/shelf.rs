//! Access to the store for commands: which file, which run, which of its answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use rtmark_model::{Answer, Catalogue, KernelId, Key, Pattern};
use rtmark_store::{RunInfo, Store, StoreError};

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::output::say;

/// Which store to use.
#[derive(Clone, Debug, Args)]
pub struct StoreFlag {
    /// File that keeps the results [default: `store` in rtmark.toml, else rtmark/store.sqlite in
    /// the user's data directory]
    #[arg(long, value_name = "FILE", env = rtmark_store::STORE_VARIABLE)]
    store: Option<PathBuf>,
}

impl StoreFlag {
    /// Opens the store, creating it if it does not exist.
    pub fn open(self, config: &Config) -> Result<Store, CliError> {
        Ok(Store::open(self.path(config)?)?)
    }

    /// Returns the store's file, which need not exist.
    pub fn path(self, config: &Config) -> Result<PathBuf, CliError> {
        self.named(config).map_or_else(|| Ok(rtmark_store::default_path()?), Ok)
    }

    /// Opens the store for reading: one that was named explicitly must exist.
    pub fn open_existing(self, config: &Config) -> Result<Store, CliError> {
        if let Some(path) = self.named(config) {
            return Ok(Store::open_existing(path)?);
        }
        let path = rtmark_store::default_path()?;
        let opened = if path.exists() { Store::open_existing } else { Store::open };
        Ok(opened(path)?)
    }

    fn named(self, config: &Config) -> Option<PathBuf> {
        self.store.or_else(|| config.store.clone())
    }
}

/// Which answers of a run to use.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// Kernels, by name or pattern [default: all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*` [default: all]
    #[arg(short, long, value_name = "GLOB", num_args = 1..)]
    scenario: Vec<Pattern>,
    /// Socs, by name or pattern [default: all]
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<Pattern>,
}

impl Filter {
    /// Returns whether the filter accepts everything.
    pub fn is_open(&self) -> bool {
        self.kernel.is_empty() && self.scenario.is_empty() && self.soc.is_empty()
    }

    /// Returns whether the filter accepts answers of this kernel, scenario and soc.
    pub fn accepts(&self, kernel: &KernelId, scenario: &str, soc: &str) -> bool {
        let fits = |patterns: &[Pattern], fit: &dyn Fn(&Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(fit)
        };
        fits(&self.kernel, &|pattern| kernel.matches(pattern))
            && fits(&self.scenario, &|pattern| pattern.matches(scenario))
            && fits(&self.soc, &|pattern| pattern.matches(soc))
    }

    pub fn accepts_key(&self, key: &Key) -> bool {
        self.accepts(&key.kernel, key.scenario.as_str(), &key.soc)
    }

    /// Returns its patterns, each with the part of a key that it is for.
    fn patterns(&self) -> Vec<(KeyPart, &Pattern)> {
        let all = [
            (KeyPart::Kernel, &self.kernel),
            (KeyPart::Scenario, &self.scenario),
            (KeyPart::Soc, &self.soc),
        ];
        all.into_iter().flat_map(|(part, some)| some.iter().map(move |it| (part, it))).collect()
    }
}

/// A part of an answer's key that a filter looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyPart {
    Kernel,
    Scenario,
    Soc,
}

impl KeyPart {
    const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Scenario => "scenario",
            Self::Soc => "soc",
        }
    }

    /// Returns this part of a key.
    fn of(self, key: &Key) -> &str {
        match self {
            Self::Kernel => key.kernel.as_str(),
            Self::Scenario => key.scenario.as_str(),
            Self::Soc => &key.soc,
        }
    }

    /// Returns whether a pattern fits this part of a key.
    fn fits(self, pattern: &Pattern, key: &Key) -> bool {
        match self {
            Self::Kernel => key.kernel.matches(pattern),
            Self::Scenario => pattern.matches(key.scenario.as_str()),
            Self::Soc => pattern.matches(&key.soc),
        }
    }
}

/// Finds the run that a reference names; branches and tags are those of the current folder's repository.
pub fn run_of(store: &Store, reference: &str, verbosity: Verbosity) -> Result<RunInfo, CliError> {
    let run = store.resolve(reference, commit_of).map_err(|error| no_run(store, error))?;
    if let Some(newer) = newer_unfinished(store, reference, &run)?.filter(|_| !verbosity.quiet) {
        say(format!(
            "note: skipped the newer run {}: it is incomplete (interrupted, or still running)",
            short(&newer.id)
        ));
    }
    Ok(run)
}

/// Returns the error for a reference that names no run, with the most similar name that a run has.
fn no_run(store: &Store, error: StoreError) -> CliError {
    let StoreError::NoSuchRun(reference) = &error else { return error.into() };
    let names = store.runs().unwrap_or_default().into_iter().flat_map(|run| run.names);
    let names: Vec<_> = names.collect();
    let near = or_nearest(reference, names.iter().map(String::as_str));
    CliError::new(Exit::NothingSelected, format!("{error}{near}"), error.hint())
}

/// Returns the newer run that `latest` would name if that run were complete.
pub fn newer_unfinished(
    store: &Store,
    reference: &str,
    run: &RunInfo,
) -> Result<Option<RunInfo>, CliError> {
    if reference != "latest" {
        return Ok(None);
    }
    let mut newer = store.runs()?.into_iter().take_while(|other| other.id != run.id);
    Ok(newer.find(|other| other.removed.is_none() && other.kind == run.kind))
}

/// Runs git in the current folder; returns its trimmed output if it succeeded and printed something.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn commit_of(reference: &str) -> Option<String> {
    let commit = format!("{reference}^{{commit}}");
    git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
}

/// Returns the commit that is checked out in the current folder's repository, followed by `+` if tracked
/// files were changed; `None` outside a repository.
pub fn commit_here() -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    Some(if changed { commit + "+" } else { commit })
}

/// What patterns of a filter have fitted nothing yet, and what was there instead.
pub struct Unmatched<'a> {
    patterns: Vec<(KeyPart, &'a Pattern)>,
    /// The kernels, scenarios and socs that were seen, where there are patterns.
    known: BTreeMap<KeyPart, BTreeSet<String>>,
}

impl<'a> Unmatched<'a> {
    pub fn new(filter: &'a Filter) -> Self {
        Self { patterns: filter.patterns(), known: BTreeMap::new() }
    }

    /// Looks at the key of an answer, whether the filter accepts it or not.
    pub fn see(&mut self, key: &Key) {
        for part in self.patterns.iter().map(|(part, _)| *part) {
            let (name, known) = (part.of(key), self.known.entry(part).or_default());
            if !known.contains(name) {
                known.insert(name.to_owned());
            }
        }
        self.patterns.retain(|(part, pattern)| !part.fits(pattern, key));
    }

    /// Returns the error for a pattern that has fitted nothing of any of these runs, if there is one.
    pub fn error(&self, store: &Store, runs: &[&RunInfo]) -> Option<CliError> {
        let (part, pattern) = self.patterns.first()?;
        let names: Vec<_> = runs.iter().map(|run| short(&run.id)).collect();
        let known = self.known.get(part).into_iter().flatten();
        let near = or_nearest(pattern.as_str(), known.map(String::as_str));
        let (what, of) = (part.name(), names.join(" or "));
        let message = format!("no {what} of run {of} fits `{pattern}`{near}");
        let hint = match store.resolve(pattern.as_str(), commit_of) {
            Ok(_) => format!(
                "`{pattern}` is a run: an option takes all values that follow it, so give runs before it, or after `--`"
            ),
            Err(_) => format!(
                "correct it, or leave it out; `rtmark show {}` shows all",
                names.first().copied().unwrap_or("latest")
            ),
        };
        Some(CliError::new(Exit::NothingSelected, message, hint))
    }
}

/// Returns the error for a run without any answer that a filter accepts.
pub fn no_match(run: &RunInfo) -> CliError {
    let message = format!("run {} has no answer that matches", short(&run.id));
    let hint = format!("`rtmark show {}` shows all its answers", short(&run.id));
    CliError::new(Exit::NothingSelected, message, hint)
}

/// Reads the answers of runs that a filter accepts, each run's in table order.
///
/// # Errors
/// When a run has none, or when one of several patterns fits nothing of any run: a misspelt one would leave out
/// what a gate was to judge.
pub fn answers(
    store: &Store,
    runs: &[&RunInfo],
    filter: &Filter,
) -> Result<Vec<Vec<Answer>>, CliError> {
    let mut unmatched = Unmatched::new(filter);
    let mut all = Vec::new();
    for run in runs {
        let mut answers = Vec::new();
        store.each_answer(&run.id, |answer| -> Result<(), CliError> {
            unmatched.see(answer.key());
            if filter.accepts_key(answer.key()) {
                answers.push(answer);
            }
            Ok(())
        })?;
        arrange(&mut answers)?;
        all.push(answers);
    }
    if let Some(error) = unmatched.error(store, runs) {
        return Err(error);
    }
    match runs.iter().zip(&all).find(|(_, answers)| answers.is_empty()) {
        Some((run, _)) => Err(no_match(run)),
        None => Ok(all),
    }
}

/// Returns other people's figures: published ones, and the newest of each that were imported from logs.
pub fn other_figures(
    published: bool,
    store: Option<&Store>,
    catalogue: &Catalogue,
) -> Result<Vec<Answer>, CliError> {
    let mut others = Vec::new();
    if published {
        let read = rtmark_import::published(catalogue, env!("CARGO_PKG_VERSION"));
        let read = read.map_err(|error| {
            CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
        })?;
        others.extend(read.times.answers);
    }
    let Some(store) = store else { return Ok(others) };
    // The newest run that has a key wins; within that run, a key may occur several times.
    let (mut known, mut of_run) = (BTreeSet::new(), BTreeSet::new());
    let mut newest = String::new();
    store.each_from_logs(|answer, run| -> Result<(), CliError> {
        if run != newest {
            known.append(&mut of_run);
            run.clone_into(&mut newest);
        }
        let says = answer.series().and_then(|series| {
            let source = series.provenance.log.as_ref()?;
            let equal = || catalogue.equal_to(source.suite, &source.row).is_some();
            Some(source.near.is_some() || equal() || catalogue.get(&series.key.scenario).is_some())
        });
        // Rows without a counterpart in the catalogue have nothing to be shown next to.
        if says == Some(true) && !known.contains(answer.key()) {
            of_run.insert(answer.key().clone());
            others.push(answer);
        }
        Ok(())
    })?;
    Ok(others)
}

/// Sorts answers in table order, as `rtmark run` does: by soc, then scenario in catalogue order, then the
/// floor, kernels in C, kernels in Rust.
pub fn arrange(answers: &mut [Answer]) -> Result<(), CliError> {
    let catalogue = Catalogue::builtin()?;
    let in_rust: BTreeSet<KernelId> = answers
        .iter()
        .filter_map(Answer::series)
        .filter(|series| series.provenance.compiler.version.starts_with("rustc"))
        .map(|series| series.key.kernel.clone())
        .collect();
    answers.sort_by_cached_key(|answer| {
        let key = answer.key();
        let id = key.kernel.clone();
        let kernel = (id.as_str() != "floor", in_rust.contains(&id), id, key.version.clone());
        let scenario = (catalogue.position(&key.scenario), key.scenario.clone());
        (key.soc.clone(), key.profile.clone(), key.backend, scenario, kernel)
    });
    Ok(())
}

/// Shortens an id for display.
pub fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// Formats a time, in UTC.
pub fn moment(ms: i64) -> String {
    let stamp = jiff::Timestamp::from_millisecond(ms);
    stamp.map_or_else(|_| "?".to_owned(), |stamp| stamp.strftime("%Y-%m-%d %H:%M").to_string())
}
