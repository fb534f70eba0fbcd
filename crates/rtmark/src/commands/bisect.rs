//! `rtmark bisect`

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Args;
use rtmark_bisect::{Judgement, Repository};
use rtmark_compare::Measure;
use rtmark_model::{Document, KernelId, ScenarioId};

use crate::cli::Verbosity;
use crate::commands::history::measure;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};

/// Find the commit that made a scenario slower, by git bisect
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark bisect thread.yield -k freertos --soc stm32f405 --good v1.0 --bad HEAD
  rtmark bisect isr.entry -k freertos --soc stm32f405 --good v1.0 --repository ../FreeRTOS-Kernel
  rtmark bisect filter.median -k ourloop --soc stm32f405 --good v1.0 --own bench/kernels

The repository is one of rtmark's own (it has the folder firmware/), a FreeRTOS kernel's (it
has tasks.c), or any that holds kernels of your own, in the folder that --own names. Its files are left alone: commits are checked out in a folder aside. A commit
counts as bad when the figure is above the threshold; without one, above the figure of the
good commit. Commits that cannot be built are skipped.")]
pub struct Arguments {
    /// The scenario
    scenario: ScenarioId,
    /// The kernel
    #[arg(short, long)]
    kernel: KernelId,
    /// The soc, by name or path of a soc file
    #[arg(long)]
    soc: String,
    /// A commit at which it was fast
    #[arg(long, value_name = "COMMIT")]
    good: String,
    /// A commit at which it is slow
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    bad: String,
    /// The most that a good commit may take, in cycles
    #[arg(long, value_name = "CYCLES")]
    threshold: Option<u64>,
    /// Which figure: median, max, first, total or disturbed
    #[arg(long, default_value = "median", value_parser = measure)]
    measure: Measure,
    /// The repository
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    repository: PathBuf,
    /// The folder of the repository that holds kernels of your own, from the repository's top
    #[arg(long, value_name = "FOLDER")]
    own: Option<PathBuf>,
    /// A folder with catalogue files instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
}

/// What a checkout holds.
#[derive(Clone, Copy)]
enum Holds {
    /// rtmark's firmware sources.
    Firmware,
    /// A FreeRTOS kernel.
    FreeRtos,
    /// Kernels of somebody's own.
    Own,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let repository = Repository::around(&self.repository)?;
        let (good, bad) = (repository.commit(&self.good)?, repository.commit(&self.bad)?);
        let folder = std::env::temp_dir().join(format!("rtmark-bisect-{}", std::process::id()));
        let aside = repository.check_out(&bad, folder)?;
        let holds = self.holds(aside.folder(), repository.top())?;
        let probe = |commit: &str| -> Result<u64, CliError> {
            aside.switch(commit)?;
            self.figure(aside.folder(), holds)
        };
        let (at_bad, at_good) = (probe(&bad)?, probe(&good)?);
        let threshold = self.threshold.unwrap_or(at_good);
        if at_good > threshold || at_bad <= threshold {
            let message = format!(
                "the good commit has {at_good} and the bad one {at_bad}, with {threshold} between them allowed"
            );
            let hint = "choose other commits, or a --threshold that lies between the two";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        let found = aside.search(&good, &bad, |commit| {
            let figure = probe(commit);
            if !verbosity.quiet {
                let told =
                    figure.as_ref().map_or_else(|_| "cannot be measured".into(), u64::to_string);
                say(format!("{}  {told}", commit.get(..10).unwrap_or(commit)));
            }
            match figure {
                Ok(figure) if figure > threshold => Judgement::Bad,
                Ok(_) => Judgement::Good,
                Err(_) => Judgement::Skip,
            }
        })?;
        let title = format!("{} {} on {}", self.kernel, self.scenario, self.soc);
        output::data(&format!(
            "{title}: {} was {at_good} at the good commit and is {at_bad} at the bad one\n{found}\n",
            self.measure
        ))?;
        Ok(Exit::Fine)
    }

    /// What a checkout of a repository holds.
    fn holds(&self, folder: &Path, top: &Path) -> Result<Holds, CliError> {
        if let Some(own) = &self.own {
            if own.is_absolute() {
                let message = format!("--own names {}, which starts at the root", own.display());
                let hint = "name the folder as it lies in the repository, as in --own kernels";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            Ok(Holds::Own)
        } else if folder.join("firmware/c/image.mk").is_file() {
            Ok(Holds::Firmware)
        } else if folder.join("tasks.c").is_file() {
            Ok(Holds::FreeRtos)
        } else {
            let message =
                format!("{} is neither rtmark's firmware nor a FreeRTOS kernel", top.display());
            let hint = "name its folder with --repository, or that of your kernels with --own";
            Err(CliError::new(Exit::Usage, message, hint))
        }
    }

    /// The figure of what is checked out in a folder.
    fn figure(&self, folder: &Path, holds: Holds) -> Result<u64, CliError> {
        let mut command = Command::new(std::env::current_exe()?);
        // What was measured on the way stays there and goes with it.
        let kept = folder.join(".git-rtmark");
        command.args(["run", "--quiet", "--format", "json", "--kernel", self.kernel.as_str()]);
        command.args(["--scenario", self.scenario.as_str(), "--soc", &self.soc]);
        command.arg("--store").arg(kept.join("store.sqlite"));
        command.env("RTMARK_BUILD", kept.join("build"));
        if let Some(catalogue) = &self.catalogue {
            command.arg("--catalogue").arg(catalogue);
        }
        match holds {
            Holds::Firmware => command.arg("--firmware").arg(folder.join("firmware")),
            Holds::FreeRtos => command.env("RTMARK_FREERTOS_KERNEL", folder),
            Holds::Own => {
                command.arg("--own").arg(folder.join(self.own.as_deref().unwrap_or(Path::new(""))))
            }
        };
        let Output { status, stdout, stderr } = command.output()?;
        let failed = |problem: String| {
            let hint = "run the same with `rtmark run` at that commit";
            CliError::new(Exit::BuildFailed, problem, hint)
        };
        if !status.success() {
            return Err(failed(String::from_utf8_lossy(&stderr).trim().to_owned()));
        }
        let document: Document =
            serde_json::from_slice(&stdout).map_err(|error| failed(error.to_string()))?;
        let series = document.answers.iter().find_map(|reported| reported.answer.series());
        let figure = series.and_then(|series| self.measure.of(series));
        figure.ok_or_else(|| failed(format!("it has no {} there", self.measure)))
    }
}
