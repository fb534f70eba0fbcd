//! `rtmark merge`

use std::path::PathBuf;

use clap::Args;

use super::run::{self, RunPart, join, render, show_failures};
use super::worst::{self, Part, found_of, show};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{self, StoreFlag};

/// Join the parts of a run or a search that several computers have made, and show the whole
///
/// The result is that of one computer. Parts are files that `rtmark run` or `rtmark worst` has written
/// with --partition K/N --state FILE; each may be given more than once. A run is kept in the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtmark merge part-*.run --name sweep
  rtmark merge part-*.worst
  rtmark merge part-*.worst --format json > worst.json

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The parts
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Draw the latencies along the path in SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// The form of the result; of searches a table (which is text) or json
    #[arg(long, value_enum, default_value_t = run::Format::Table)]
    format: run::Format,
    /// Give the run a name, by which it is referred to later
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
}

/// What was missing.
fn cut_short(message: String) -> Exit {
    let hint = "give all parts, each carried out to its end";
    CliError::new(Exit::OutOfBudget, message, hint).show()
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let mut of_runs = Vec::new();
        for path in &self.parts {
            of_runs.push(RunPart::is_in(path)?);
        }
        if of_runs.iter().all(|&of_run| of_run) {
            return self.runs(verbosity);
        }
        let other = of_runs.iter().position(|&of_run| of_run).map(|place| &self.parts[place]);
        if let Some(path) = other {
            let message = format!("{} is a part of a run, and others are not", path.display());
            return Err(CliError::new(Exit::Usage, message, "join runs and searches apart"));
        }
        self.searches()
    }

    /// Joins runs.
    fn runs(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        if self.picture.is_some() {
            let hint = "`rtmark report` draws runs";
            return Err(CliError::new(Exit::Usage, "--picture is for parts of searches", hint));
        }
        if let Some(name) = &self.name {
            rtmark_store::check_name(name)?;
        }
        let read = |path: PathBuf| RunPart::read(&path).map(|part| (path, part));
        let parts = self.parts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let Some(joined) = join(&parts)? else { return Ok(Exit::NothingSelected) };
        let store = self.store.open(&Config::load()?)?;
        let command = run::command_line();
        let run = store.begin(&command, &joined.rtmark, joined.revision.as_deref())?;
        let id = run.id().to_owned();
        for answer in &joined.answers {
            run.record(answer, None)?;
        }
        if joined.missing.is_empty() {
            run.finish()?;
        }
        if let Some(name) = &self.name {
            store.name(&shelf::run_of(&store, &id, verbosity)?, name)?;
        }
        output::data(&render(self.format, &joined.answers)?)?;
        let exit = show_failures(&joined.answers);
        if !verbosity.quiet {
            let answers = output::count(joined.answers.len(), "answer");
            let (parts, short) = (output::count(parts.len(), "part"), shelf::short(&id));
            let file = store.path().display();
            say(format!("{answers} of {parts}, kept as run {short} in {file}"));
        }
        if joined.missing.is_empty() {
            return Ok(exit);
        }
        let missing: Vec<_> = joined.missing.iter().map(ToString::to_string).collect();
        Ok(cut_short(format!("parts are missing or not complete: {}", missing.join(", "))))
    }

    /// Joins searches.
    fn searches(self) -> Result<Exit, CliError> {
        let format = match self.format {
            run::Format::Table => worst::Format::Text,
            run::Format::Json => worst::Format::Json,
            _ => {
                let message = "searches are shown as a table or as json";
                return Err(CliError::new(Exit::Usage, message, "give one of the two as --format"));
            }
        };
        if self.name.is_some() {
            let hint = "leave out --name; `--format json` keeps what was found";
            return Err(CliError::new(Exit::Usage, "--name is for parts of runs", hint));
        }
        let mut joined: Option<(Part, &PathBuf)> = None;
        for path in &self.parts {
            let part = Part::read(path)?;
            let Some((whole, first)) = &mut joined else {
                joined = Some((part, path));
                continue;
            };
            if !whole.belongs_with(&part) {
                let message =
                    format!("{} and {} are of different searches", first.display(), path.display());
                let hint = "join parts of the same firmware, soc, scenario and interrupt";
                return Err(CliError::new(Exit::Incomparable, message, hint));
            }
            if part.findings.pieces.is_subset(&whole.findings.pieces) {
                continue;
            }
            if !part.findings.pieces.is_disjoint(&whole.findings.pieces) {
                let message =
                    format!("{} holds pieces that another part holds, too", path.display());
                let hint = "give each part of one partition once";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            whole.findings.absorb(part.findings);
        }
        let Some((whole, first)) = joined else { return Ok(Exit::NothingSelected) };
        let found = found_of(&whole, first)?;
        let complete = found.complete;
        show(vec![found], format, self.picture.as_deref())?;
        if complete {
            return Ok(Exit::Fine);
        }
        Ok(cut_short("parts are missing: what is shown is about a part of the points".to_owned()))
    }
}
