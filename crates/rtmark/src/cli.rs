//! The command line.

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::commands::{
    bisect, cache, calls, compare, completions, doctor, exit_codes, export, fairness, footprint,
    gate, history, import, init, list, log, man, merge, name, plan, prune, report, rm, run, show,
    sim, study, trace, validate, why, worst,
};
use crate::error::CliError;
use crate::exit::Exit;

/// Measure what a real-time kernel costs: to the cycle, without a board
///
/// rtmark builds the same scenarios for several real-time kernels, each in the kernel's own idiom,
/// and runs them on a simulator that models the cycles of Arm Cortex-M, Cortex-R5 and RISC-V cores.
/// It shows what each operation costs, next to a floor: the same operation written by hand.
#[derive(Debug, Parser)]
#[command(name = "rtmark", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

/// Lists the global options after a command's own.
const LAST: usize = 900;

/// How much goes to stderr.
#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Print only errors
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub quiet: bool,
    /// Print more details
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = LAST)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Arguments>),
    List(list::Arguments),
    Fairness(Box<fairness::Arguments>),
    Footprint(footprint::Arguments),
    Why(why::Arguments),
    Calls(Box<calls::Arguments>),
    Sim(Box<sim::Arguments>),
    Worst(Box<worst::Arguments>),
    Plan(Box<plan::Arguments>),
    Merge(merge::Arguments),
    Trace(Box<trace::Arguments>),
    Validate(Box<validate::Arguments>),
    Study(study::Arguments),
    Log(log::Arguments),
    Show(show::Arguments),
    Name(name::Arguments),
    Rm(rm::Arguments),
    Prune(prune::Arguments),
    Export(export::Arguments),
    Import(Box<import::Arguments>),
    Compare(Box<compare::Arguments>),
    Gate(Box<gate::Arguments>),
    History(history::Arguments),
    Bisect(bisect::Arguments),
    Report(Box<report::Arguments>),
    Init(init::Arguments),
    Cache(cache::Arguments),
    Doctor(doctor::Arguments),
    ExitCodes(exit_codes::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Cli {
    /// Runs the chosen command.
    pub fn run(self) -> Result<Exit, CliError> {
        let verbosity = self.verbosity;
        match self.command {
            Command::Run(arguments) => arguments.run(verbosity),
            Command::List(arguments) => arguments.run(verbosity),
            Command::Fairness(arguments) => arguments.run(verbosity),
            Command::Footprint(arguments) => arguments.run(verbosity),
            Command::Why(arguments) => arguments.run(verbosity),
            Command::Calls(arguments) => arguments.run(verbosity),
            Command::Sim(arguments) => arguments.run(verbosity),
            Command::Worst(arguments) => arguments.run(verbosity),
            Command::Plan(arguments) => arguments.run(verbosity),
            Command::Merge(arguments) => arguments.run(verbosity),
            Command::Trace(arguments) => arguments.run(verbosity),
            Command::Validate(arguments) => arguments.run(verbosity),
            Command::Study(arguments) => arguments.run(verbosity),
            Command::Log(arguments) => arguments.run(),
            Command::Show(arguments) => arguments.run(verbosity),
            Command::Name(arguments) => arguments.run(verbosity),
            Command::Rm(arguments) => arguments.run(verbosity),
            Command::Prune(arguments) => arguments.run(verbosity),
            Command::Export(arguments) => arguments.run(verbosity),
            Command::Import(arguments) => arguments.run(verbosity),
            Command::Compare(arguments) => arguments.run(verbosity),
            Command::Gate(arguments) => arguments.run(verbosity),
            Command::History(arguments) => arguments.run(verbosity),
            Command::Bisect(arguments) => arguments.run(verbosity),
            Command::Report(arguments) => arguments.run(verbosity),
            Command::Init(arguments) => arguments.run(verbosity),
            Command::Cache(arguments) => arguments.run(verbosity),
            Command::Doctor(arguments) => arguments.run(),
            Command::ExitCodes(arguments) => arguments.run(),
            Command::Completions(arguments) => arguments.run(),
            Command::Man(arguments) => arguments.run(),
        }
    }
}
