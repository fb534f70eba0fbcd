//! `rtmark merge`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use super::plan;
use super::run::{self, RunPart, join, render, show_failures};
use super::worst::{self, Part, found_of, show};
use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::shelf::{self, StoreFlag};

/// Merge the parts of a run, search or sweep that several computers made, and show the result
///
/// The result is the same as from a single computer. Parts are files written by `rtmark run` or
/// `rtmark worst` with --partition K/N --state FILE, or printed by `rtmark plan --sweep` with
/// --partition K/N --format json; giving a part more than once does no harm. A merged run is kept in
/// the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtmark merge part-*.run --name sweep
  rtmark merge part-*.worst
  rtmark merge part-*.worst --format json > worst.json
  rtmark merge part-*.json

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Files of the parts
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Draw a search's latencies along the path, in this SVG file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Output format; searches support table and json, sweeps also md
    #[arg(long, value_enum, default_value_t = run::Format::Table)]
    format: run::Format,
    /// Name for the run, to refer to it later
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
}

/// The kind of work that a part belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Search,
    Sweep,
}

impl Kind {
    /// Detects the kind from a file's first bytes.
    fn of(path: &Path) -> Result<Self, CliError> {
        let mut first = [0; 1];
        let is_json = File::open(path).and_then(|mut file| file.read(&mut first));
        Ok(match is_json {
            Ok(1) if first == *b"{" => Self::Sweep,
            _ if RunPart::is_in(path)? => Self::Run,
            _ if Part::is_in(path)? => Self::Search,
            _ => {
                let problem = "not a part of a run, a search or a sweep";
                let hint = "give files written with --state by `rtmark run` or `rtmark worst`, or the output of \
                            `rtmark plan --sweep ... --partition K/N --format json`";
                let message = format!("{}: {problem}", path.display());
                return Err(CliError::new(Exit::Usage, message, hint));
            }
        })
    }
}

/// Reports an incomplete set of parts.
fn incomplete(message: String) -> Exit {
    let hint = "give all parts, each run to its end";
    CliError::new(Exit::OutOfBudget, message, hint).show()
}

fn refuse(message: &str, hint: &str) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Usage, message, hint))
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let kinds = self.parts.iter().map(|path| Kind::of(path)).collect::<Result<Vec<_>, _>>()?;
        let Some(&kind) = kinds.first() else { return Ok(Exit::NothingSelected) };
        if let Some(other) = kinds.iter().position(|&other| other != kind) {
            let (first, other) = (self.parts[0].display(), self.parts[other].display());
            let message = format!("{first} and {other} are parts of different kinds of work");
            return refuse(&message, "merge runs, searches and sweeps separately");
        }
        if self.picture.is_some() && kind != Kind::Search {
            let hint = "leave out --picture; `rtmark report` draws runs";
            return refuse("--picture only applies to parts of searches", hint);
        }
        if self.name.is_some() && kind != Kind::Run {
            return refuse(
                "--name only applies to parts of runs, which the store keeps",
                "leave out --name",
            );
        }
        match kind {
            Kind::Run => self.runs(verbosity),
            Kind::Search => self.searches(),
            Kind::Sweep => {
                let format = match self.format {
                    run::Format::Table => plan::Format::Table,
                    run::Format::Json => plan::Format::Json,
                    run::Format::Md => plan::Format::Md,
                    _ => {
                        return refuse(
                            "sweeps do not support this --format",
                            "choose table, json or md",
                        );
                    }
                };
                plan::join(&self.parts, format)
            }
        }
    }

    /// Merges the parts of a run.
    fn runs(self, verbosity: Verbosity) -> Result<Exit, CliError> {
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
            let (parts, short) = (output::count(joined.parts, "part"), shelf::short(&id));
            let file = store.path().display();
            say(format!("{answers} from {parts}, stored as run {short} in {file}"));
        }
        if joined.missing.is_empty() {
            return Ok(exit);
        }
        let missing: Vec<_> = joined.missing.iter().map(ToString::to_string).collect();
        Ok(incomplete(format!("parts are missing or incomplete: {}", missing.join(", "))))
    }

    /// Merges the parts of a search.
    fn searches(self) -> Result<Exit, CliError> {
        let format = match self.format {
            run::Format::Table => worst::Format::Text,
            run::Format::Json => worst::Format::Json,
            _ => return refuse("searches do not support this --format", "choose table or json"),
        };
        let mut joined: Option<(Part, &PathBuf)> = None;
        for path in &self.parts {
            let part = Part::read(path)?;
            let Some((whole, first)) = &mut joined else {
                joined = Some((part, path));
                continue;
            };
            if !whole.is_same_search(&part) {
                let message = format!(
                    "{} and {} belong to different searches",
                    first.display(),
                    path.display()
                );
                let hint = "merge parts of the same firmware, soc, scenario and interrupt";
                return Err(CliError::new(Exit::Incomparable, message, hint));
            }
            if part.findings.pieces.is_subset(&whole.findings.pieces) {
                continue;
            }
            if !part.findings.pieces.is_disjoint(&whole.findings.pieces) {
                let message = format!("{} overlaps with another part", path.display());
                let hint = "give the parts of a single partition";
                return Err(CliError::new(Exit::Usage, message, hint));
            }
            whole.findings.absorb(part.findings);
        }
        let Some((whole, first)) = joined else { return Ok(Exit::NothingSelected) };
        let found = found_of(&whole, first)?;
        let complete = found.complete;
        show(vec![found], None, format, self.picture.as_deref())?;
        if complete {
            return Ok(Exit::Fine);
        }
        Ok(incomplete("parts are missing: the result covers only some of the points".to_owned()))
    }
}
