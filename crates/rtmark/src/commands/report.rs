//! `rtmark report`

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtmark_compare::{Measure, RunLabel, history};
use rtmark_model::{Answer, Key, Series};
use rtmark_report::{History, HistoryPoint, OtherRun, Report, RunFacts};
use rtmark_runner::input_file;
use rtmark_store::{Kind, RunInfo, Store, StoreError};

use crate::cli::Verbosity;
use crate::commands::compare::label;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::replacement::Replacement;
use crate::shelf::{self, Filter, StoreFlag, answers, moment, run_of, short};
use crate::sources::catalogue;

/// Write runs as a self-contained HTML page
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark report -o report.html               the newest complete run
  rtmark report v1.0 -k freertos floor -o freertos.html
  rtmark report v1.0 v1.1 -o both.html       several runs in one page, with their differences
  rtmark report --format md                  for a pull request, cut to the size of a comment
  rtmark worst -k freertos -s 'queue.*' --soc stm32f405 --format json > worst.json
  rtmark report --worst worst.json -o report.html    with worst cases and their witnesses
  rtmark why floor freertos -s thread.yield --format json > why.json
  rtmark report --why why.json -o report.html        with bars that show where the cycles went

Published figures and those imported by `rtmark import` are shown next to rtmark's if spans and
cores are equal; others are listed with the reason why they are not compared.

The page needs no network and no other file: it can be sent by mail, printed, and read without
JavaScript.")]
pub struct Arguments {
    /// Runs: `latest`, `latest~1`, a name, the start of an id, or a commit; with several, the page
    /// shows each and the difference between any two
    #[arg(default_value = "latest", value_name = "RUN", num_args = 1..)]
    runs: Vec<String>,
    /// File to write; `-` is stdout [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "What real-time kernels cost")]
    title: String,
    #[command(flatten)]
    filter: Filter,
    /// Files with results of `rtmark worst --format json` to include
    #[arg(long, value_name = "FILE", num_args = 1..)]
    worst: Vec<PathBuf>,
    /// Files with results of `rtmark why --format json` to include, as bars that show where the cycles
    /// of typical samples went
    #[arg(long, value_name = "FILE", num_args = 1..)]
    why: Vec<PathBuf>,
    /// Maximum number of runs in the history; 0 leaves it out
    #[arg(long, value_name = "RUNS", default_value_t = 20)]
    history: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// Folder with catalogue files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for a browser
    Html,
    /// GitHub Markdown for a pull request, cut to the size of a comment
    Md,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let config = Config::load()?;
        let catalogue = catalogue(self.catalogue.as_deref().or(config.catalogue.as_deref()))?;
        let store = self.store.clone().open_existing(&config)?;
        let found = self.found(&store, verbosity)?;
        let Some((run, more)) = found.split_first() else {
            return Err(CliError::new(Exit::Usage, "no run given", "`rtmark log` shows the runs"));
        };
        let all: Vec<_> = found.iter().collect();
        let mut read_answers = answers(&store, &all, &self.filter)?.into_iter();
        let answers = read_answers.next().unwrap_or_default();
        let other = |(run, answers)| OtherRun { run: facts(run), answers };
        let runs: Vec<_> = more.iter().zip(read_answers).map(other).collect();
        let facts = facts(run);
        let others = shelf::other_figures(true, Some(&store), &catalogue)?;
        let histories = histories(&store, run, &answers, self.history)?;
        let report = Report {
            title: &self.title,
            run: Some(&facts),
            others: &others,
            worst: &read(&self.worst, "worst", rtmark_report::worst)?,
            why: &read(&self.why, "why", rtmark_report::why)?,
            histories: &histories,
            runs: &runs,
            ..Report::of(&answers, &catalogue)
        };
        let Some(path) = self.output.as_deref().and_then(output::file) else {
            output::data(&match self.format {
                Format::Html => report.html().map_err(|error| {
                    CliError::new(Exit::Internal, error, "report this as a bug in rtmark")
                })?,
                Format::Md => report.markdown(),
            })?;
            return Ok(Exit::Fine);
        };
        let bytes = self
            .write(path, &report)
            .map_err(|error| CliError::write_error(path, &error, "check the path"))?;
        if !verbosity.quiet {
            let count = answers.len() + runs.iter().map(|run| run.answers.len()).sum::<usize>();
            let answers = output::count(count, "answer");
            say(format!("wrote {answers} to {} ({} KiB)", path.display(), bytes.div_ceil(1024)));
        }
        Ok(Exit::Fine)
    }

    /// Finds the runs that the arguments name, each once.
    fn found(&self, store: &Store, verbosity: Verbosity) -> Result<Vec<RunInfo>, CliError> {
        let mut found: Vec<RunInfo> = Vec::new();
        for reference in &self.runs {
            let run = run_of(store, reference, verbosity)?;
            if !found.iter().any(|known| known.id == run.id) {
                found.push(run);
            }
        }
        if found.len() > 1 && self.format == Format::Md {
            let hint =
                "name a single run, or compare two: `rtmark compare BEFORE AFTER --format md`";
            return Err(CliError::new(Exit::Usage, "--format md shows a single run", hint));
        }
        Ok(found)
    }

    /// Writes the report atomically, and returns its length in bytes.
    fn write(&self, path: &Path, report: &Report<'_>) -> io::Result<u64> {
        let begun = Replacement::begin(path)?;
        let mut to = BufWriter::with_capacity(1 << 16, begun.file());
        match self.format {
            Format::Html => report.html_to(&mut to).map_err(io::Error::from)?,
            Format::Md => to.write_all(report.markdown().as_bytes())?,
        }
        to.flush()?;
        drop(to);
        let length = begun.file().metadata()?.len();
        begun.keep()?;
        Ok(length)
    }
}

fn facts(run: &RunInfo) -> RunFacts {
    RunFacts {
        id: short(&run.id).to_owned(),
        when: moment(run.started_ms),
        revision: run.revision.clone(),
        complete: run.finished_ms.is_some(),
        command: run.command.clone(),
    }
}

/// Reads files that a command has written with `--format json`.
fn read<T, L: IntoIterator<Item = T>, E: std::fmt::Display>(
    paths: &[PathBuf],
    command: &str,
    parse: impl Fn(&str) -> Result<L, E>,
) -> Result<Vec<T>, CliError> {
    let mut all = Vec::new();
    for path in paths {
        let refuse = |problem: &dyn std::fmt::Display| {
            let message = format!("{}: {problem}", path.display());
            let hint = format!("create it with `rtmark {command} ... --format json > FILE`");
            CliError::new(Exit::Usage, message, hint)
        };
        let text = input_file::read_text(path).map_err(|error| refuse(&error))?;
        all.extend(parse(&text).map_err(|error| refuse(&error))?);
    }
    Ok(all)
}

/// A figure in several runs: of which, when, and what.
type PastFigures = Vec<(RunLabel, i64, Series)>;

/// Collects the history of each answer over the runs up to this one, at most `runs` of them.
fn histories(
    store: &Store,
    run: &RunInfo,
    answers: &[Answer],
    runs: usize,
) -> Result<Vec<History>, StoreError> {
    // Figures of another kind have the same key: instructions, or cycles with the cost of a counter.
    let is_alike = |one: &Series, other: &Series| {
        (one.basis, &one.span.overhead) == (other.basis, &other.span.overhead)
    };
    let mut found: BTreeMap<&Key, (&Series, PastFigures)> = answers
        .iter()
        .filter_map(Answer::series)
        .filter(|series| series.provenance.log.is_none())
        .map(|series| (&series.key, (series, Vec::new())))
        .collect();
    let mut before = store.runs()?;
    // Imported logs have no history here, and may be large.
    let counts = |known: &RunInfo| known.removed.is_none() && known.kind != Kind::Imported;
    before.retain(|known| counts(known) && known.started_ms <= run.started_ms);
    before.truncate(runs);
    if found.is_empty() {
        before.clear();
    }
    for known in before.iter().rev() {
        store.each_answer(&known.id, |answer| -> Result<(), StoreError> {
            if let Answer::Measured(series) = answer
                && let Some((reported, of_it)) = found.get_mut(&series.key)
                && is_alike(reported, &series)
            {
                of_it.push((label(known), known.started_ms, *series));
            }
            Ok(())
        })?;
    }
    let history_of = |(key, (_, series)): (&Key, (&Series, PastFigures))| {
        let points = history(&series, Measure::Median);
        let point = |point: &rtmark_compare::Point| HistoryPoint {
            run: point.run.to_string(),
            when: moment(point.started_ms),
            value: point.value,
            step: point.step.as_ref().map(ToString::to_string),
        };
        let basis = points.last()?.basis;
        Some(History { key: key.clone(), basis, points: points.iter().map(point).collect() })
    };
    Ok(found.into_iter().filter_map(history_of).collect())
}
