//! `rtmark validate`

use std::convert::Infallible;

use clap::{Args, ValueEnum};
use rtmark_board::OutputChannel;
use rtmark_compare::validate;
use rtmark_firmware::{DEFAULT_PROFILE, Kernel, Variant};
use rtmark_model::{Answer, Basis, Catalogue, Pattern, ScenarioId};
use rtmark_runner::recording::Recorded;
use rtmark_runner::{Event, Plan, Platform, Rehearsal, Selection, Suite, SuiteObserver, socs};

use crate::boards::{self, BoardFlags, Recorder};
use crate::cli::Verbosity;
use crate::commands::run::{show_failures, suite};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR, say};
use crate::progress::Progress;
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Score the simulator's timing against a board
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark validate stm32c031 --port /dev/ttyACM0 --load 'my-flasher {elf}' --record board.jsonl
  rtmark validate stm32c031 --from board.jsonl       the same again, without the board
  rtmark validate stm32f405 -k floor freertos -s 'thread.*' --from board.jsonl --format json

Simulator and board run the same image, whose probes read the core's cycle counter; the cost of a
probe is measured on each and subtracted. `plain` is the simulator's figure for firmware without
such probes. The score is the share of medians that are equal, within one cycle and within 5 %, and
the mean relative difference (bias, above 0 if the simulator's figures are higher).

This has not been tried with a real board yet: docs/boards.md describes what is tested without one.

Exit codes: 5 if no scenario has a figure on both sides; else see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Soc, board, or path of a board file
    #[arg(value_name = "SOC")]
    soc: String,
    /// Kernels, by name or pattern [default: all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*` [default: all]
    #[arg(short, long, value_name = "GLOB", num_args = 1..)]
    scenario: Vec<Pattern>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    sources: Sources,
    // Must be last: its help heading applies to all arguments after it.
    #[command(flatten)]
    board: BoardFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text table
    Table,
    /// JSON: docs/schema/validate.schema.json
    Json,
}

/// Shows progress and records the output, without recalling earlier answers.
struct Watcher {
    progress: Progress,
    recorder: Option<Recorder>,
}

impl SuiteObserver for Watcher {
    type Error = Infallible;

    fn event(&mut self, event: Event<'_>) {
        self.progress.show(&event);
        if let (Event::Captured { recorded }, Some(recorder)) = (&event, &mut self.recorder) {
            recorder.keep(recorded);
        }
    }
}

/// What boards and simulator have in common in a validation.
struct Setting<'a> {
    catalogue: &'a Catalogue,
    kernels: Vec<Kernel>,
    suite: Suite,
    verbosity: Verbosity,
}

impl Setting<'_> {
    fn answers(
        &self,
        platform: Platform,
        variants: &[Variant],
        selection: &Selection,
        recorder: Option<Recorder>,
    ) -> Result<Vec<Answer>, CliError> {
        let plan = Plan::new(self.catalogue, &self.kernels, &[platform], variants, selection)?;
        refuse_without_tools(&self.suite.builder, &plan)?;
        let mut watcher = Watcher { progress: Progress::new(self.verbosity), recorder };
        let Ok(answers) = self.suite.run(&plan, &mut watcher);
        watcher.progress.finish();
        watcher.recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(answers)
    }
}

/// Returns a pattern that matches only this name.
fn exactly(id: &ScenarioId) -> Option<Pattern> {
    id.as_str().replace('+', "[+]").parse().ok()
}

/// Returns the scenarios that have a figure, and the variants that they were built in.
fn measured(answers: &[Answer]) -> (Selection, Vec<Variant>) {
    let mut selection = Selection::default();
    let mut variants: Vec<Variant> = Vec::new();
    let holds = |list: &[Pattern], one: &Pattern| list.iter().any(|p| p.as_str() == one.as_str());
    for series in answers.iter().filter_map(Answer::series) {
        let key = &series.key;
        let kernel: Option<Pattern> = key.kernel.as_str().parse().ok();
        selection.kernels.extend(kernel.filter(|one| !holds(&selection.kernels, one)));
        let scenario = exactly(&key.scenario);
        selection.scenarios.extend(scenario.filter(|one| !holds(&selection.scenarios, one)));
        let variant: Option<Variant> = key.profile.parse().ok();
        variants.extend(variant.filter(|variant| !variants.contains(variant)));
    }
    (selection, variants)
}

/// Returns how the firmware of a recording printed.
fn output_channel(runs: &[Recorded]) -> OutputChannel {
    let by_uart = runs.iter().any(|run| run.console.contains("\n@! "));
    if by_uart { OutputChannel::Uart } else { OutputChannel::Semihosting }
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        let config = Config::load()?;
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&config)?;
        let setting =
            Setting { catalogue: &catalogue, kernels, suite: suite(tree, None), verbosity };
        let requested =
            Selection { kernels: self.kernel.clone(), scenarios: self.scenario.clone() };
        let (board, rehearsal, soc) = if let Some(path) = self.board.from() {
            let mut runs = boards::recorded(path, &requested)?;
            let file = rtmark_runner::boards::find(&self.soc);
            let soc = match &file {
                Ok(file) => Ok(file.soc.clone()),
                Err(_) => socs::find(&self.soc),
            };
            let name = soc.as_ref().map_or(&self.soc, |file| &file.soc.name);
            boards::retain_socs(&mut runs, std::slice::from_ref(name), path)?;
            let soc = soc?;
            let rehearsal = match output_channel(&runs) {
                OutputChannel::Semihosting => Rehearsal::new(soc.clone()),
                OutputChannel::Uart => Rehearsal::of_board(&file?, OutputChannel::Uart),
            };
            (boards::answers(&runs, &catalogue), rehearsal, soc)
        } else {
            let file = rtmark_runner::boards::find(&self.soc)?;
            let soc = file.soc.clone();
            let bench = self.board.bench(file.clone())?;
            let prints = if bench.target.console.is_some() {
                OutputChannel::Uart
            } else {
                OutputChannel::Semihosting
            };
            let recorder = self.board.recorder()?;
            let default: Vec<Variant> = DEFAULT_PROFILE.parse().into_iter().collect();
            let platform = Platform::Board(Box::new(bench));
            if !verbosity.quiet {
                say("on the board:");
            }
            let answers = setting.answers(platform, &default, &requested, recorder)?;
            (answers, Rehearsal::of_board(&file, prints), soc)
        };

        let (selection, variants) = measured(&board);
        let (mut here, mut plain) = (Vec::new(), Vec::new());
        if !variants.is_empty() {
            if !verbosity.quiet {
                say("on the simulator:");
            }
            let platform = Platform::Rehearsal(Box::new(rehearsal));
            here = setting.answers(platform, &variants, &selection, None)?;
            let platform = Platform::Sim(Box::new(soc), Basis::Cycles);
            plain = setting.answers(platform, &variants, &selection, None)?;
        }
        let found = validate(GENERATOR, rtmark_sim::TIMING_MODEL, &board, &here, &plain);
        output::data(&match self.format {
            Format::Table => found.table(),
            Format::Json => output::json(&found)?,
        })?;
        Ok(match (show_failures(&board), found.score) {
            (Exit::Fine, None) => Exit::Incomparable,
            (exit, _) => exit,
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn published_schema_matches_the_types() {
        crate::schema::check("validate", &rtmark_compare::Validation::json_schema());
    }
}
