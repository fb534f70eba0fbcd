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

/// Join the parts of a run, a search or a sweep that several computers have made, and show the whole
///
/// The result is that of one computer. Parts are files that `rtmark run` or `rtmark worst` has written with
/// --partition K/N --state FILE, or `rtmark plan --sweep` with --partition K/N --format json; each may be given
/// more than once. A run is kept in the store.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  rtmark merge part-*.run --name sweep
  rtmark merge part-*.worst
  rtmark merge part-*.worst --format json > worst.json
  rtmark merge part-*.json

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The parts
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// Draw the latencies along the path in SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// The form of the result; of searches a table (which is text) or json, of sweeps also md
    #[arg(long, value_enum, default_value_t = run::Format::Table)]
    format: run::Format,
    /// Give the run a name, by which it is referred to later
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    store: StoreFlag,
}

/// What parts are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run,
    Search,
    Sweep,
}

impl Kind {
    /// What a file's first bytes say.
    fn of(path: &Path) -> Result<Self, CliError> {
        let mut first = [0; 1];
        let is_json = File::open(path).and_then(|mut file| file.read(&mut first));
        Ok(match is_json {
            Ok(1) if first == *b"{" => Self::Sweep,
            _ if RunPart::is_in(path)? => Self::Run,
            _ if Part::is_in(path)? => Self::Search,
            _ => {
                let problem = "no part of a run, of a search or of a sweep";
                let hint = "give files that --state of `rtmark run` or `rtmark worst` has written, or what \
                            `rtmark plan --sweep ... --partition K/N --format json` has printed";
                let message = format!("{}: {problem}", path.display());
                return Err(CliError::new(Exit::Usage, message, hint));
            }
        })
    }
}

/// What was missing.
fn cut_short(message: String) -> Exit {
    let hint = "give all parts, each carried out to its end";
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
            return refuse(&message, "join runs, searches and sweeps apart");
        }
        if self.picture.is_some() && kind != Kind::Search {
            let hint = "`rtmark report` draws runs; leave out --picture";
            return refuse("--picture is for parts of searches", hint);
        }
        if self.name.is_some() && kind != Kind::Run {
            return refuse(
                "--name is for parts of runs, which the store keeps",
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
                    _ => return refuse("a sweep has no such form", "give table, json or md"),
                };
                plan::join(&self.parts, format)
            }
        }
    }

    /// Joins runs.
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
            _ => return refuse("a search has no such form", "give table or json"),
        };
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
