//! `rtmark sim`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rtmark_firmware::probes;
use rtmark_model::{ScenarioId, visible};
use rtmark_runner::{Ending, Session, socs};
use rtmark_sim::{Image, ImageError};
use rtmark_units::{Cycles, Hertz};
use serde::Serialize;

use crate::cli::Talk;
use crate::exit::Exit;
use crate::output::{self, say};
use crate::trouble::Trouble;

/// How long an image may run on the soc's own clock unless --max-cycles says
/// otherwise, in seconds.
const SECONDS: u64 = 10;

/// Run any ELF image in the simulator: print its console, say how it ended
///
/// What the program prints goes to stdout, how it ended to stderr.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// The ELF file
    image: PathBuf,
    /// The soc, by name or path of a soc file
    #[arg(long)]
    soc: String,
    /// Cycles after which to stop [default: ten seconds of the soc's clock]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_cycles: Option<u64>,
    /// For images of rtmark's own: the scenario to run
    #[arg(long, value_name = "SCENARIO")]
    select: Option<ScenarioId>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The console as it comes, then the ending in words
    Text,
    /// One JSON object at the end
    Json,
}

/// A run as JSON.
#[derive(Debug, Serialize)]
struct Outcome<'a> {
    schema_version: u32,
    image: String,
    soc: &'a str,
    timing_model: &'a str,
    ending: &'static str,
    message: String,
    cycles: u64,
    instructions: u64,
    nanoseconds: u64,
    console: String,
}

fn refuse(path: &Path, problem: impl std::fmt::Display, hint: &str) -> Trouble {
    Trouble::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
}

fn load(path: &Path) -> Result<Image, Trouble> {
    let bytes = std::fs::read(path).map_err(|error| refuse(path, error, "check the path"))?;
    Image::from_elf(&bytes).map_err(|error| {
        let hint = match error {
            ImageError::NotElf(_) => "give the ELF file that the linker wrote, not a .bin or .hex made from it",
            ImageError::OtherMachine(_) => {
                "compile for Arm Cortex-M, for instance with arm-none-eabi-gcc or a thumb target of Rust"
            }
            _ => "link it again and copy it whole",
        };
        refuse(path, error, hint)
    })
}

impl Arguments {
    pub fn run(self, talk: Talk) -> Result<Exit, Trouble> {
        let soc = socs::find(&self.soc)?.soc;
        let image = load(&self.image)?;
        let mut session = Session::new(&soc, &image).map_err(|error| {
            let hint = format!(
                "link it for the memories of {}, or choose another soc with --soc",
                soc.name
            );
            refuse(&self.image, error, &hint)
        })?;
        if let Some(scenario) = &self.select {
            select(&mut session, &image, scenario).map_err(|problem| {
                refuse(&self.image, problem, "leave out --select for other images")
            })?;
        }

        let limit = self.max_cycles.unwrap_or(SECONDS * u64::from(soc.clock.0));
        let terminal = output::to_terminal();
        let mut console: Vec<u8> = Vec::new();
        let mut written = Ok(());
        let ending = session.run(Cycles(limit), |machine| {
            let printed = machine.take_console();
            if self.format == Format::Json {
                console.extend(printed);
            } else if written.is_ok() && !printed.is_empty() {
                let shown = if terminal { visible(&printed).into_bytes() } else { printed };
                written = output::raw(&shown);
            }
        });
        written?;

        let (cycles, instructions) = (session.machine.cycles(), session.machine.instructions());
        let message = session.tell(&ending);
        if self.format == Format::Json {
            let outcome = Outcome {
                schema_version: 1,
                image: self.image.display().to_string(),
                soc: &soc.name,
                timing_model: rtmark_sim::TIMING_MODEL,
                ending: word(&ending),
                message,
                cycles: cycles.0,
                instructions: instructions.0,
                nanoseconds: cycles.at(soc.clock).0,
                console: visible(&console),
            };
            let json = serde_json::to_string_pretty(&outcome).map_err(std::io::Error::from)?;
            output::data(&(json + "\n"))?;
        } else {
            if !talk.quiet {
                let time = seconds(cycles, soc.clock);
                say(format!("{cycles}, {instructions}, {time} at {}", soc.clock));
            }
            match hint(&ending) {
                Some(hint) => {
                    let _ = Trouble::new(exit(&ending), &message, hint).show();
                }
                None if talk.quiet => {}
                None => say(&message),
            }
        }
        Ok(exit(&ending))
    }
}

fn select(session: &mut Session<'_>, image: &Image, scenario: &ScenarioId) -> Result<(), String> {
    let section = image.section(probes::SECTION).ok_or("it has no probes")?;
    let records = probes::parse(section).map_err(|error| error.to_string())?;
    let index = records.iter().find_map(|record| match record.kind {
        probes::Kind::Scenario(index) if record.scenario == *scenario => Some(index),
        _ => None,
    });
    let index = index.ok_or_else(|| {
        let is_scenario =
            |record: &&probes::Record| matches!(record.kind, probes::Kind::Scenario(_));
        let held: Vec<_> =
            records.iter().filter(is_scenario).map(|record| record.scenario.as_str()).collect();
        format!("no scenario {scenario} in it; it holds {}", held.join(", "))
    })?;
    let address = image.symbols().address_of(probes::SELECT_SYMBOL);
    let address = address.ok_or_else(|| format!("it has no symbol {}", probes::SELECT_SYMBOL))?;
    session.machine.poke_word(address, index).map_err(|error| error.to_string())
}

fn seconds(cycles: Cycles, clock: Hertz) -> String {
    format!("{:.6} s", cycles.at(clock).0 as f64 / 1e9)
}

const fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Exit(_) => "exit",
        Ending::Fault(_) => "fault",
        Ending::Lockup(_) => "lockup",
        Ending::Breakpoint(_) => "breakpoint",
        Ending::Asleep => "asleep",
        Ending::Reset => "reset",
        Ending::Limit => "limit",
        _ => "other",
    }
}

fn exit(ending: &Ending) -> Exit {
    match ending {
        Ending::Exit(status) if status.0 == 0 => Exit::Fine,
        Ending::Exit(_)
        | Ending::Fault(_)
        | Ending::Lockup(_)
        | Ending::Breakpoint(_)
        | Ending::Reset => Exit::Faulted,
        _ => Exit::OutOfBudget,
    }
}

/// What to do about an ending that is not what one wants.
fn hint(ending: &Ending) -> Option<&'static str> {
    match ending {
        Ending::Exit(_) => None,
        Ending::Fault(_) | Ending::Lockup(_) => Some(
            "look up the address with arm-none-eabi-addr2line, and what the function accesses there",
        ),
        Ending::Breakpoint(_) => {
            Some("a BKPT is often the end of a panic or an assert: see the console above")
        }
        Ending::Reset => Some("firmware that panics often resets: see the console above"),
        Ending::Asleep => {
            Some("let it end by semihosting SYS_EXIT, or enable an interrupt that wakes it")
        }
        _ => Some("allow more with --max-cycles, or let it end by semihosting SYS_EXIT"),
    }
}
