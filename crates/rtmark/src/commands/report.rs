//! `rtmark report`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtmark_model::{Answer, Catalogue};
use rtmark_report::RunFacts;
use rtmark_store::RunInfo;

use crate::cli::Talk;
use crate::commands::run::catalogue;
use crate::config::Config;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{Filter, StoreFlag, answers, moment, run_of, short};
use crate::trouble::Trouble;

/// Write a run as one HTML file that a colleague can open
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark report -o report.html               the newest complete run
  rtmark report v1.0 -k freertos floor -o freertos.html
  rtmark report --format md                  the same as Markdown, for a pull request

The file needs no network and no other file: it can be sent by mail, printed, and read
without its script.")]
pub struct Arguments {
    /// The run: `latest`, `latest~1`, a name, the beginning of an id, a commit
    #[arg(default_value = "latest", value_name = "RUN")]
    run: String,
    /// The file to write; stdout without
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What stands above it
    #[arg(long, value_name = "TEXT", default_value = "What real-time kernels cost")]
    title: String,
    #[command(flatten)]
    filter: Filter,
    /// The form of the report
    #[arg(long, value_enum, default_value_t = Format::Html)]
    format: Format,
    /// A folder with catalogue files instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One page for a browser
    Html,
    /// For pull requests: GitHub's Markdown
    Md,
}

impl Arguments {
    pub fn run(self, talk: Talk) -> Result<Exit, Trouble> {
        let config = Config::load()?;
        let catalogue = catalogue(self.catalogue.as_deref().or(config.catalogue.as_deref()))?;
        let store = self.store.open(&config)?;
        let run = run_of(&store, &self.run)?;
        let answers = answers(&store, &run, &self.filter)?;
        let text = match self.format {
            Format::Html => page(&self.title, &run, &answers, &catalogue)?,
            Format::Md => markdown(&self.title, &run, &answers),
        };
        let Some(path) = self.output else {
            output::data(&text)?;
            return Ok(Exit::Fine);
        };
        std::fs::write(&path, &text).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Trouble::new(Exit::Usage, message, "check the path")
        })?;
        if !talk.quiet {
            let answers = output::count(answers.len(), "answer");
            say(format!("{answers} in {} ({} KiB)", path.display(), text.len().div_ceil(1024)));
        }
        Ok(Exit::Fine)
    }
}

const GENERATOR: &str = concat!("rtmark ", env!("CARGO_PKG_VERSION"));

fn page(
    title: &str,
    run: &RunInfo,
    answers: &[Answer],
    catalogue: &Catalogue,
) -> Result<String, Trouble> {
    let facts = RunFacts {
        id: short(&run.id).to_owned(),
        when: moment(run.started_ms),
        revision: run.revision.clone(),
        complete: run.finished_ms.is_some(),
        command: run.command.clone(),
    };
    rtmark_report::html(title, GENERATOR, Some(&facts), answers, catalogue)
        .map_err(|error| Trouble::new(Exit::Internal, error, "report this as a defect of rtmark"))
}

fn markdown(title: &str, run: &RunInfo, answers: &[Answer]) -> String {
    let commit = run.revision.as_ref().map(|commit| format!(", commit `{commit}`"));
    format!(
        "## {title}\n\nRun `{}` of {} UTC{}, by {GENERATOR}.\n\n{}",
        short(&run.id),
        moment(run.started_ms),
        commit.unwrap_or_default(),
        rtmark_report::markdown(answers)
    )
}
