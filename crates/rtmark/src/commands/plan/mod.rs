//! `rtmark plan`

mod function;
mod measured;
mod run;
mod sweep;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtmark_model::Pattern;
use rtmark_plan::{Document, Form, Outcome, SCHEMA_VERSION, System, SystemError};
use rtmark_runner::{input_file, socs};
use rtmark_taskset::SearchEffort;
use rtmark_units::Share;

use crate::cli::Verbosity;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR};
use crate::replacement::{self, replace};
use crate::shelf::StoreFlag;
use crate::sources::Sources;
use sweep::SweepValues;

pub use sweep::join;

/// Check whether tasks meet their deadlines at each kernel's cost, and with how much slack
///
/// A file describes the system: tasks, locks, interrupts and queues. The kernel's costs are
/// measured as by `rtmark run`, and the worst sample of each enters a response-time analysis.
/// docs/plan.md describes the method and what it does not take into account.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark plan --init > system.toml         an example of every key
  rtmark plan system.toml
  rtmark plan system.toml --kernel freertos --format md
  rtmark plan system.toml --sweep clock=24..48 tick=100..10000
  rtmark plan system.toml --sweep clock=24..48 --partition 2/8 --format json > part2.json
  rtmark merge part*.json
  rtmark plan system.toml --run            and what the kernel's own binary does with the set
  rtmark plan system.toml --run --report plan.html   with the timelines of the longest responses

The exit code is 3 if a deadline cannot be guaranteed, or less slack is left than the file demands;
for a sweep, if that is so at every point.
Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// File that describes the system
    #[arg(value_name = "FILE", required_unless_present = "init")]
    file: Option<PathBuf>,
    /// Write an example of such a file to standard output
    #[arg(long, conflicts_with = "file")]
    init: bool,
    /// Kernels among those in the file, by name or pattern [default: all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Clocks (in MHz, up to the soc's own) and ticks (in Hz) to sweep over: clock=24..168
    /// tick=100..10000, or comma-separated values. Costs are assumed to be the same number of
    /// cycles as at the soc's own clock, wait states included
    #[arg(long, value_name = "KEY=VALUES", num_args = 1.., conflicts_with_all = ["run", "offsets", "max_cycles", "report"])]
    sweep: Vec<SweepValues>,
    /// Part K of N of a sweep's points, so that several computers can share a sweep; `rtmark merge`
    /// joins the parts
    #[arg(long, value_name = "K/N", requires = "sweep")]
    partition: Option<Share>,
    /// Also run the set on each kernel's own binary, and compare the longest responses found with
    /// bounds from the costs of that very image
    #[arg(long)]
    run: bool,
    /// Number of random combinations of offsets to run, besides the stated one
    #[arg(long, value_name = "N", default_value_t = 12, requires = "run", value_parser = clap::value_parser!(u32).range(..=100_000))]
    offsets: u32,
    /// Most cycles of one run, if the hyperperiod is longer
    #[arg(long, value_name = "N", default_value_t = 20_000_000, requires = "run", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    max_cycles: u64,
    /// Write a page with the timeline of each task's longest response and the composition of its
    /// bound
    #[arg(long, value_name = "FILE.html", requires = "run")]
    report: Option<PathBuf>,
    /// Code layouts in which to measure each cost; the worst of all counts (docs/placement.md)
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    placements: u32,
    #[command(flatten)]
    store: StoreFlag,
    /// Measure again even if the store has results of exactly this firmware, soc and simulator
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text tables
    Table,
    /// JSON with everything: docs/schema/plan.schema.json
    Json,
    /// GitHub Markdown
    Md,
}

impl From<SystemError> for CliError {
    fn from(error: SystemError) -> Self {
        let hint = error.hint.clone();
        Self::new(Exit::Usage, error, hint)
    }
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let Some(path) = &self.file else {
            output::data(rtmark_plan::EXAMPLE)?;
            return Ok(Exit::Fine);
        };
        let system = read(path)?;
        replacement::check(self.report.as_deref())?;
        let soc = soc_of(&system, path)?;
        let config = Config::load()?;
        let found = self.sources.find(&config)?;
        let store = self.store.open(&config)?;
        let bench = measured::Bench {
            system: &system,
            folder: path.parent().unwrap_or(Path::new(".")),
            soc: &soc,
            found: &found,
            store: &store,
            wanted: &self.kernel,
            placements: self.placements,
            fresh: self.fresh,
            runs: self.run.then_some(SearchEffort {
                offsets: self.offsets,
                seed: 0,
                cycles: self.max_cycles,
            }),
            report: match self.report {
                Some(_) => run::Report::Wanted,
                None => run::Report::None,
            },
            verbosity,
        };
        if !self.sweep.is_empty() {
            let share = self.partition.unwrap_or(Share::WHOLE);
            return sweep::answer(path, &bench, &self.sweep, share, self.format);
        }
        let at = Point { hertz: bench.hertz(), tick_hz: None };
        let document = document(path, &bench, &bench.measured()?, at)?;
        let text = match self.format {
            Format::Table => document.text(Form::Text),
            Format::Md => document.text(Form::Markdown),
            Format::Json => output::json(&document)?,
        };
        output::data(&text)?;
        if let Some(path) = &self.report {
            replace(path, document.page().as_bytes())?;
        }
        exit_of(document.outcome())
    }
}

/// Returns the exit code for the outcome of a plan.
fn exit_of(outcome: Outcome) -> Result<Exit, CliError> {
    match outcome {
        Outcome::Holds => Ok(Exit::Fine),
        Outcome::Short => Ok(Exit::Regression),
        Outcome::AboveBound | Outcome::LostMessage => {
            let message = match outcome {
                Outcome::LostMessage => "a message was lost although no run missed a deadline",
                _ => "a run took longer than its bound",
            };
            let hint = "either the analysis is wrong, or the kernel does something that it does \
                        not know: please report it with the file and this output; --format json \
                        has the witness";
            Err(CliError::new(Exit::Internal, message, hint))
        }
    }
}

/// The clock and tick of a plan.
#[derive(Clone, Copy)]
struct Point {
    /// Clock in Hz.
    hertz: u64,
    /// Tick rate in Hz, if it differs from the file's.
    tick_hz: Option<u64>,
}

fn document(
    path: &Path,
    bench: &measured::Bench<'_>,
    measured: &measured::Measured<'_>,
    at: Point,
) -> Result<Document, CliError> {
    Ok(Document {
        schema_version: SCHEMA_VERSION,
        generator: GENERATOR.to_owned(),
        file: path.display().to_string(),
        soc: bench.soc.soc.name.clone(),
        clock_hz: at.hertz,
        tick_hz: at.tick_hz,
        slack_percent_wanted: wanted_slack(bench.system),
        kernels: bench.plans(measured, at.hertz)?,
    })
}

fn wanted_slack(system: &System) -> f64 {
    system.slack_percent.as_ref().map_or(0.0, |slack| *slack.get_ref())
}

fn read(path: &Path) -> Result<System, CliError> {
    let name = path.display().to_string();
    let text = input_file::read_text(path).map_err(|error| {
        let hint = "check the path; `rtmark plan --init` writes an example";
        CliError::new(Exit::Usage, format!("{name}: {error}"), hint)
    })?;
    Ok(System::from_toml(&name, &text)?)
}

/// Finds the soc that a file names; a path is relative to the file's folder.
fn soc_of(system: &System, path: &Path) -> Result<socs::SocFile, CliError> {
    let name = system.soc.get_ref();
    let beside = path.parent().map(|folder| folder.join(name));
    let named = match beside.filter(|beside| name.contains('.') && beside.is_file()) {
        Some(beside) => beside.display().to_string(),
        None => name.clone(),
    };
    socs::find(&named).map_err(|error| system.refusal(&system.soc, "soc", error.to_string()).into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schemas_are_current() {
        crate::schema::check("plan", &rtmark_plan::Document::json_schema());
        crate::schema::check("plan-sweep", &rtmark_plan::Sweep::json_schema());
        crate::schema::check("plan-system", &rtmark_plan::System::json_schema());
    }
}
