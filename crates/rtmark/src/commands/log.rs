//! `rtmark log`

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use rtmark_model::visible;
use rtmark_store::{RunInfo, Store};
use serde::Serialize;

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::shelf::{Filter, StoreFlag, moment, short};

/// List the runs in the store, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark log                                 the last 20 runs
  rtmark log -n 3 --kernel freertos          the last three runs with answers of FreeRTOS
  rtmark log --all --format json             all runs, including removed ones, for programs

Commands refer to a run by `latest`, `latest~1` (the one before), its name, the start of its id,
or the commit that it measured: a hash, a branch or a tag. Times are in UTC.")]
pub struct Arguments {
    /// Maximum number of runs to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Show all runs, including removed ones
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Show only incomplete runs: interrupted or still running
    #[arg(long)]
    incomplete: bool,
    #[command(flatten)]
    filter: Filter,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text, one line per run
    Table,
    /// JSON: docs/schema/log.schema.json
    Json,
}

/// The runs, as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Log<'a> {
    /// The version of this format.
    schema_version: u32,
    /// The runs, the newest first.
    runs: Vec<Entry<'a>>,
}

/// One run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry<'a> {
    /// Its id: 32 hexadecimal digits.
    id: &'a str,
    /// Its names.
    names: &'a [String],
    /// The commit that it measured, if known, followed by `+` if the tree had changes.
    revision: Option<&'a str>,
    /// When it began, in milliseconds since 1970.
    started_ms: i64,
    /// When it finished, in milliseconds since 1970; null if it never did.
    finished_ms: Option<i64>,
    /// The reason for its removal; null if it was not removed.
    removed: Option<&'a str>,
    /// The number of answers that it contains.
    answers: u64,
    /// The number of answers that are failures.
    failed: u64,
    /// The command that recorded it.
    command: &'a str,
    /// The version of rtmark that recorded it.
    rtmark: &'a str,
}

impl Arguments {
    pub fn run(self) -> Result<Exit, CliError> {
        let store = self.store.open_existing(&Config::load()?)?;
        let mut runs = store.runs()?;
        let known = runs.len();
        runs.retain(|run| self.all || run.removed.is_none());
        runs.retain(|run| !self.incomplete || run.finished_ms.is_none());
        if !self.filter.is_open() {
            runs = holding(&store, runs, &self.filter)?;
        }
        let hidden = if self.all { 0 } else { runs.len().saturating_sub(self.limit as usize) };
        runs.truncate(runs.len() - hidden);
        let text = match self.format {
            Format::Table if runs.is_empty() && known > 0 => {
                format!("no run matches, of {} in the store\n", output::count(known, "run"))
            }
            Format::Table => table(&runs, hidden),
            Format::Json => {
                let log = Log { schema_version: 1, runs: runs.iter().map(Entry::of).collect() };
                output::json(&log)?
            }
        };
        output::data(&text)?;
        Ok(Exit::Fine)
    }
}

fn holding(store: &Store, runs: Vec<RunInfo>, filter: &Filter) -> Result<Vec<RunInfo>, CliError> {
    let mut kept = Vec::new();
    for run in runs {
        let subjects = store.subjects(&run)?;
        if subjects.iter().any(|s| filter.accepts(&s.kernel, &s.scenario, &s.soc)) {
            kept.push(run);
        }
    }
    Ok(kept)
}

impl<'a> Entry<'a> {
    fn of(run: &'a RunInfo) -> Self {
        Self {
            id: &run.id,
            names: &run.names,
            revision: run.revision.as_deref(),
            started_ms: run.started_ms,
            finished_ms: run.finished_ms,
            removed: run.removed.as_deref(),
            answers: run.answers,
            failed: run.failed,
            command: &run.command,
            rtmark: &run.rtmark,
        }
    }
}

const ID: Style = AnsiColor::Yellow.on_default();
const NAME: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();

fn table(runs: &[RunInfo], hidden: usize) -> String {
    if runs.is_empty() {
        return "no runs yet; `rtmark run` makes one\n".to_owned();
    }
    let mut text: String = runs.iter().map(line).collect();
    if hidden > 0 {
        let _ = writeln!(text, "{ASIDE}and {hidden} older; --all or -n shows them{ASIDE:#}");
    }
    text
}

fn line(run: &RunInfo) -> String {
    let commit = run.revision.as_deref().unwrap_or("-");
    let commit = match commit.strip_suffix('+') {
        Some(clean) => format!("{}+", short(clean)),
        None => short(commit).to_owned(),
    };
    let mut text = format!(
        "{ID}{}{ID:#}  {}  {commit:9}  {:>12}",
        short(&run.id),
        moment(run.started_ms),
        output::count(run.answers, "answer"),
    );
    for name in &run.names {
        let _ = write!(text, "  {NAME}{name}{NAME:#}");
    }
    if run.failed > 0 {
        let _ = write!(text, "  {BAD}{} failed{BAD:#}", run.failed);
    }
    if run.finished_ms.is_none() {
        let _ = write!(text, "  {BAD}incomplete{BAD:#}");
    }
    if let Some(reason) = &run.removed {
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let _ = write!(text, "  {BAD}removed{BAD:#}{reason}");
    }
    let command: String = run.command.chars().take(60).collect();
    text + &format!("  {ASIDE}{}{ASIDE:#}\n", visible(command.replace('\n', " ").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("log", &schemars::schema_for!(Log<'_>));
    }
}
