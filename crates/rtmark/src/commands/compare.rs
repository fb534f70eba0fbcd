//! `rtmark compare`, and code shared with `rtmark gate`

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rtmark_compare::{Aspect, Comparison, Gate, Rows, RunLabel, Verdict, compare};
use rtmark_model::{Answer, Key};
use rtmark_store::{RunInfo, Store};

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::shelf::{self, Filter, StoreFlag, answers, run_of};
use crate::sources::Sources;

/// Compare two runs: show what became faster, slower, or cannot be compared
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark compare latest~1                    the run before the newest with the newest
  rtmark compare main HEAD                   two commits that were measured
  rtmark compare v1 latest --format md       for a pull request
  rtmark compare a b --across settings       even if a kernel's configuration was changed

The simulator's figures are exact: every difference is real. Figures of boards and logs are
compared by their medians, with a confidence interval and a rank test. Series whose spans, bases,
clocks, cores, socs, timing models, placements or settings differ are not compared.

Exit codes: 3 if anything became slower, 5 if nothing did but something cannot be compared.")]
pub struct Arguments {
    /// Earlier run: `latest~1`, a name, the start of an id, or a commit
    #[arg(value_name = "BEFORE")]
    before: String,
    /// Later run
    #[arg(value_name = "AFTER", default_value = "latest")]
    after: String,
    #[command(flatten)]
    shared: Shared,
}

/// Options for how two runs are compared and shown.
#[derive(Debug, Args)]
pub struct Shared {
    #[command(flatten)]
    pub filter: Filter,
    /// Compare even if these differ: clock, core, soc, timing-model, placements or settings
    #[arg(long, value_name = "WHAT", num_args = 1..)]
    across: Vec<Aspect>,
    /// Also show what did not change, and what only one of the runs has
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text table
    Table,
    /// JSON with everything: docs/schema/compare.schema.json
    Json,
    /// GitHub Markdown for a pull request, cut to the size of a comment
    Md,
    /// JUnit XML, one test case per series
    Junit,
    /// GitHub Actions annotations
    Github,
    /// The later run's figures for github-action-benchmark (customSmallerIsBetter)
    BenchmarkAction,
    /// The later run's figures in Bencher's metric format
    Bencher,
}

/// The comparison of two runs.
pub struct Compared {
    pub comparison: Comparison,
    pub after: Vec<Answer>,
    /// How long each answer of the later run took to measure.
    pub times: BTreeMap<Key, Duration>,
}

impl Shared {
    /// Opens the store.
    pub fn open(&self, config: &Config) -> Result<Store, CliError> {
        self.store.clone().open_existing(config)
    }

    /// Returns the run that is to be judged, given the baseline.
    ///
    /// # Errors
    /// When it is not all of what was to be measured, or the baseline itself: such a judgement would let through
    /// what nobody has measured.
    pub fn judged(
        store: &Store,
        baseline: &str,
        reference: &str,
        verbosity: Verbosity,
    ) -> Result<String, CliError> {
        let refuse = |message: String| {
            let hint = "let a run finish, then judge it; `rtmark log` shows the runs, and `rtmark compare` compares \
                        any two";
            Err(CliError::new(Exit::NothingSelected, message, hint))
        };
        let run = run_of(store, reference, verbosity)?;
        if let Some(newer) = shelf::newer_unfinished(store, reference, &run)? {
            let id = shelf::short(&newer.id);
            return refuse(format!(
                "the newest run, {id}, is incomplete (interrupted, or still running)"
            ));
        }
        if run.finished_ms.is_none() {
            let id = shelf::short(&run.id);
            return refuse(format!("run {id} is incomplete (interrupted, or still running)"));
        }
        if run_of(store, baseline, verbosity)?.id == run.id {
            let id = shelf::short(&run.id);
            return refuse(format!("`{baseline}` and `{reference}` are the same run, {id}"));
        }
        Ok(run.id)
    }

    /// Finds two runs and compares them.
    pub fn compare(
        &self,
        store: &Store,
        config: &Config,
        before: &str,
        after: &str,
        verbosity: Verbosity,
    ) -> Result<Compared, CliError> {
        let (was, is) = (run_of(store, before, verbosity)?, run_of(store, after, verbosity)?);
        if was.id == is.id {
            let message =
                format!("`{before}` and `{after}` are the same run, {}", shelf::short(&was.id));
            // `latest` skipped an unfinished run: comparing the older run with itself would mislead.
            if shelf::newer_unfinished(store, after, &is)?.is_some() {
                let hint = "let a run finish, then compare again; `rtmark log` shows the runs";
                return Err(CliError::new(Exit::NothingSelected, message, hint));
            }
            if !verbosity.quiet {
                say(format!("note: {message}"));
            }
        }
        let (before, after) = (was, is);
        for run in [&before, &after].into_iter().filter(|run| run.finished_ms.is_none()) {
            if !verbosity.quiet {
                let id = shelf::short(&run.id);
                say(format!("note: run {id} is incomplete (interrupted, or still running)"));
            }
        }
        let mut found = answers(store, &[&before, &after], &self.filter)?.into_iter();
        let (was, is) = (found.next().unwrap_or_default(), found.next().unwrap_or_default());
        let mut comparison = compare((label(&before), &was), (label(&after), &is), &self.across);
        let kept = self.sources.kept_images(config)?;
        rtmark_cause::note(&mut comparison, &was, &is, &kept);
        if comparison.pairs.is_empty() {
            let message =
                format!("{} and {} have no series in common", comparison.before, comparison.after);
            let hint = "measure the same kernels, scenarios and socs with the same backend and profile \
                        (product+opt=3 differs from product); `rtmark show RUN` shows what a run has, and \
                        `rtmark fairness` compares profiles";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        let (noted, notes) = (Answer::clock_notes(&was), Answer::clock_notes(&is));
        if !verbosity.quiet {
            let id = shelf::short(&before.id);
            let earlier = noted.iter().filter(|note| !notes.contains(note));
            let earlier = earlier.map(|note| format!("note: in {id}, {note}"));
            let later = notes.iter().map(|note| format!("note: {note}"));
            earlier.chain(later).for_each(say);
        }
        let times = store.times(&after)?.into_iter().collect();
        Ok(Compared { comparison, after: is, times })
    }

    /// Prints a comparison, and the verdict of a gate if there is one.
    pub fn show(&self, compared: &Compared, gate: Option<&Gate>) -> Result<(), CliError> {
        let rows = if self.all { Rows::All } else { Rows::Changed };
        let comparison = &compared.comparison;
        let text = match self.format {
            Format::Table => rtmark_compare::table(comparison, gate, rows),
            Format::Json => {
                rtmark_compare::json(GENERATOR, comparison, gate).map_err(std::io::Error::from)?
            }
            Format::Md => rtmark_compare::markdown(comparison, gate, rows),
            Format::Junit => {
                rtmark_compare::junit(comparison, gate, |key| compared.times.get(key).copied())
            }
            Format::Github => rtmark_compare::github(comparison, gate),
            Format::BenchmarkAction => rtmark_report::benchmark_action(&compared.after),
            Format::Bencher => rtmark_report::bencher(&compared.after),
        };
        Ok(output::data(&text)?)
    }
}

/// Returns the label of a run in comparisons.
pub fn label(run: &RunInfo) -> RunLabel {
    RunLabel { id: run.id.clone(), revision: run.revision.clone() }
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let config = Config::load()?;
        let store = self.shared.open(&config)?;
        let compared =
            self.shared.compare(&store, &config, &self.before, &self.after, verbosity)?;
        self.shared.show(&compared, None)?;
        let count = |verdict| compared.comparison.count(verdict);
        Ok(match (count(Verdict::Worse), count(Verdict::Incomparable)) {
            (0, 0) => Exit::Fine,
            (0, _) => Exit::Incomparable,
            _ => Exit::Regression,
        })
    }
}
