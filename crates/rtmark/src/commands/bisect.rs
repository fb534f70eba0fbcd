//! `rtmark bisect`

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use rtmark_bisect::{Judgement, Repository};
use rtmark_compare::Measure;
use rtmark_model::{Document, KernelId, ScenarioId};

use crate::cli::Verbosity;
use crate::commands::history::measure;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// Find the commit that made a scenario slower, with git bisect
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark bisect thread.yield -k freertos --soc stm32f405 --good v1.0 --bad HEAD
  rtmark bisect isr.entry -k freertos --soc stm32f405 --good v1.0 --repository ../FreeRTOS-Kernel
  rtmark bisect filter.median -k ourloop --soc stm32f405 --good v1.0 --own bench/kernels

The repository is rtmark's (with a folder firmware/), a FreeRTOS kernel's (with tasks.c), or one
that has kernels of your own in the folder that --own, or `own` in rtmark.toml, names. Its
working tree is left alone: commits are checked out in a temporary folder. A commit is bad if the
figure is above the threshold, by default halfway between the figures of the good and the bad
commit, so that commits which merely move code are not blamed. Commits that cannot be built are
skipped.")]
pub struct Arguments {
    /// Scenario, by name
    scenario: ScenarioId,
    /// Kernel, by name
    #[arg(short, long)]
    kernel: KernelId,
    /// Soc, by name or path of a soc file
    #[arg(long)]
    soc: String,
    /// Commit at which the scenario was fast
    #[arg(long, value_name = "COMMIT")]
    good: String,
    /// Commit at which the scenario is slow
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    bad: String,
    /// Highest figure of a good commit, in cycles [default: halfway between the two ends]
    #[arg(long, value_name = "CYCLES")]
    threshold: Option<u64>,
    /// Figure to compare: median, max, first, total or disturbed
    #[arg(long, default_value = "median", value_parser = measure)]
    measure: Measure,
    /// Folder of the repository
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    repository: PathBuf,
    /// Folder with kernels of your own, relative to the top of the repository [default: folders of
    /// the repository that `own` in rtmark.toml names, if it is neither rtmark's nor FreeRTOS's]
    #[arg(long, value_name = "FOLDER")]
    own: Option<PathBuf>,
    /// Folder with catalogue files to use instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
}

/// Whether Ctrl-C was pressed, or a signal ended a measurement.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The kind of source that a checkout holds.
enum SourceKind {
    /// rtmark's firmware sources.
    Firmware,
    /// A FreeRTOS kernel.
    FreeRtos,
    /// The user's own kernels, in these folders below the top.
    Own(Vec<PathBuf>),
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let repository = Repository::around(&self.repository)?;
        let (good, bad) = (repository.commit(&self.good)?, repository.commit(&self.bad)?);
        // Ctrl-C reaches git and `rtmark run`, too; the checkout must not be left behind. If this fails, it
        // ends the process at once.
        let _ = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("rtmark-bisect-{}", std::process::id()));
        let checkout = repository.check_out(&bad, folder)?;
        let kind = self.source_kind(checkout.folder(), repository.top())?;
        let probe = |commit: &str| -> Result<u64, CliError> {
            checkout.switch(commit)?;
            self.figure(checkout.folder(), &kind)
        };
        let end = |name: &str, commit: &str| {
            let figure = probe(commit);
            interrupted()?;
            figure.map_err(|error| error.about(&format!("the {name} commit, {commit}")))
        };
        let (at_bad, at_good) = (end("bad", &bad)?, end("good", &good)?);
        let threshold = self.threshold.unwrap_or_else(|| at_good.midpoint(at_bad));
        if at_good > threshold || at_bad <= threshold {
            let message = format!(
                "the {} is {at_good} cycles at the good commit and {at_bad} at the bad one, but the threshold of \
                 {threshold} must be between the two",
                self.measure
            );
            let hint = "choose other commits, or another --threshold";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        let mut figures = HashMap::from([(good.clone(), at_good), (bad.clone(), at_bad)]);
        let found = checkout.search(&good, &bad, |commit| {
            let figure = probe(commit);
            interrupted()?;
            if !verbosity.quiet {
                let found = figure.as_ref().map_or_else(
                    |_| "cannot be measured".into(),
                    |cycles| format!("{cycles} cycles"),
                );
                say(format!("{}  {found}", commit.get(..10).unwrap_or(commit)));
            }
            figures.extend(figure.as_ref().ok().map(|figure| (commit.to_owned(), *figure)));
            Ok::<_, CliError>(match figure {
                Ok(figure) if figure > threshold => Judgement::Bad,
                Ok(_) => Judgement::Good,
                Err(_) => Judgement::Skip,
            })
        });
        // It may have stopped git itself.
        interrupted()?;
        let found = found?;
        let title = format!("{} {} on {}", self.kernel, self.scenario, self.soc);
        let mut text = format!(
            "{title}: the {} was {at_good} cycles at the good commit and is {at_bad} at the bad one\n{found}\n",
            self.measure
        );
        // Git's report begins with the commit.
        let first_bad = found.split_whitespace().next().unwrap_or_default();
        let before = repository.commit(&format!("{first_bad}^")).ok();
        let before = before.and_then(|before| figures.get(&before));
        if let Some((before, after)) = before.zip(figures.get(first_bad)) {
            let _ = writeln!(text, "{before} cycles before that commit, {after} with it");
        }
        output::data(&text)?;
        Ok(Exit::Fine)
    }

    /// Detects what kind of source a checkout holds.
    fn source_kind(&self, folder: &Path, top: &Path) -> Result<SourceKind, CliError> {
        if let Some(own) = &self.own {
            if own.is_absolute() {
                let message = format!("--own {}: the path is absolute", own.display());
                let hint = "give a path relative to the top of the repository, as in --own kernels";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            Ok(SourceKind::Own(vec![own.clone()]))
        } else if folder.join("firmware/c/image.mk").is_file() {
            Ok(SourceKind::Firmware)
        } else if folder.join("tasks.c").is_file() {
            Ok(SourceKind::FreeRtos)
        } else {
            let own = Config::load()?.own;
            let (below, outside): (Vec<_>, Vec<_>) =
                own.iter().map(|own| below(own, top).ok_or(own)).partition(Result::is_ok);
            if !below.is_empty() && outside.is_empty() {
                return Ok(SourceKind::Own(below.into_iter().flatten().collect()));
            }
            let outside = outside.into_iter().find_map(Result::err).map(|own| {
                format!(
                    ", and `own` of rtmark.toml, {}, is no folder of this repository",
                    own.display()
                )
            });
            let message = format!(
                "{}: neither rtmark's repository nor a FreeRTOS kernel's{}",
                top.display(),
                outside.unwrap_or_default()
            );
            let hint = "give the repository's folder with --repository, or that of your own kernels with --own";
            Err(CliError::new(Exit::Usage, message, hint))
        }
    }

    /// Measures the figure of the commit that is checked out in a folder.
    fn figure(&self, folder: &Path, kind: &SourceKind) -> Result<u64, CliError> {
        let mut command = Command::new(std::env::current_exe()?);
        // Builds and results stay in the checkout and are removed with it.
        let kept = folder.join(".git-rtmark");
        command.args(["run", "--quiet", "--format", "json", "--kernel", self.kernel.as_str()]);
        command.args(["--scenario", self.scenario.as_str(), "--soc", &self.soc]);
        command.arg("--store").arg(kept.join("store.sqlite"));
        command.env("RTMARK_BUILD", kept.join("build"));
        if let Some(catalogue) = &self.catalogue {
            command.arg("--catalogue").arg(catalogue);
        }
        match kind {
            SourceKind::Firmware => command.arg("--firmware").arg(folder.join("firmware")),
            SourceKind::FreeRtos => command.env("RTMARK_FREERTOS_KERNEL", folder),
            SourceKind::Own(below) => {
                command.arg("--own").args(below.iter().map(|below| folder.join(below)))
            }
        };
        let Output { status, stdout, stderr } = command.output().map_err(|error| {
            let hint = "check that this rtmark can be executed";
            CliError::new(Exit::Internal, format!("cannot start `rtmark run`: {error}"), hint)
        })?;
        // A signal ended it, and the same one may be about to be noticed here.
        if status.code().is_none() {
            INTERRUPTED.store(true, Ordering::Relaxed);
        }
        let failed_as = |exit: Exit, problem: String| {
            CliError::new(exit, problem, "measure that commit with `rtmark run` to see more")
        };
        if !status.success() {
            let exit = Exit::ALL.iter().find(|exit| status.code() == Some(exit.code().into()));
            let problem = format!("`rtmark run` failed:\n{}", String::from_utf8_lossy(&stderr));
            return Err(failed_as(exit.copied().unwrap_or(Exit::Internal), problem));
        }
        let failed = |problem| failed_as(Exit::BuildFailed, problem);
        let document: Document =
            serde_json::from_slice(&stdout).map_err(|error| failed(error.to_string()))?;
        let series = document.answers.iter().find_map(|reported| reported.answer.series());
        let figure = series.and_then(|series| self.measure.of(series));
        figure.ok_or_else(|| failed(format!("the run has no {} of the scenario", self.measure)))
    }
}

/// Returns a folder's path below the top of a repository, if it is there.
fn below(folder: &Path, top: &Path) -> Option<PathBuf> {
    let (folder, top) = (folder.canonicalize().ok()?, top.canonicalize().ok()?);
    folder.strip_prefix(top).ok().map(Path::to_owned)
}

/// Returns an error once Ctrl-C was pressed or a signal ended a measurement.
fn interrupted() -> Result<(), CliError> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        let hint = "start it again; nothing of it is left in the repository";
        return Err(CliError::new(
            Exit::OutOfBudget,
            "interrupted before a commit was found",
            hint,
        ));
    }
    Ok(())
}
