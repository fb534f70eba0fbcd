//! `rtmark footprint`

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Tree, Variant};
use rtmark_model::{Answer, Firmware, Key, Pattern};
use rtmark_observe::{StackKind, StackUse};
use rtmark_runner::{Footprint, Plan, Selection, Suite};
use rtmark_units::Cycles;
use serde::Serialize;

use super::run::{catalogue, own_sha256, refuse_without_tools, show_failures, simulated};
use super::why::Watcher;
use crate::cli::Talk;
use crate::exit::Exit;
use crate::output;
use crate::progress::Progress;
use crate::trouble::Trouble;

/// Show what memory the kernels take: flash, RAM, and the stack that each task and each
/// interrupt has used
///
/// Flash and RAM are those of the whole image that holds a scenario, with its tasks,
/// stacks and heap. Stacks are watched while the scenario runs, at every instruction: they
/// are what was used, no bound on what could be.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: see `rtmark help exit-codes`.")]
#[command(after_long_help = "\
Examples:
  rtmark footprint --soc stm32c031
  rtmark footprint -k freertos embassy -s thread.yield queue.handover --format json

Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// Kernels, by name or pattern; all without
    #[arg(short, long, value_name = "KERNEL", num_args = 1..)]
    kernel: Vec<Pattern>,
    /// Scenarios whose stacks are watched, by name or pattern
    #[arg(short, long, value_name = "GLOB", num_args = 1..,
          default_values = ["thread.yield", "queue.handover", "isr.wake.thread", "timer.wake"])]
    scenario: Vec<Pattern>,
    /// Socs, by name, pattern or path of a soc file; all built-in ones without
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<String>,
    /// The set of build settings
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: Variant,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The folder with the kernels' firmware sources [default: found from here upwards]
    #[arg(long, value_name = "FOLDER", env = "RTMARK_FIRMWARE")]
    firmware: Option<PathBuf>,
    /// A folder with catalogue files instead of the built-in ones
    #[arg(long, value_name = "FOLDER", env = "RTMARK_CATALOGUE")]
    catalogue: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One JSON object
    Json,
}

/// The version of [`Document`]'s form.
const SCHEMA_VERSION: u32 = 1;

/// What `rtmark footprint --format json` prints. Fields may be added; `schema_version`
/// rises when one changes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema_version: u32,
    /// The program that wrote it, with its version.
    generator: &'static str,
    /// One for each kernel and scenario.
    footprints: Vec<Entry<'a>>,
}

/// What a kernel takes in one scenario; all sizes are bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry<'a> {
    /// The scenario, kernel and soc.
    key: &'a Key,
    /// The image that holds the scenario, with its flash and RAM.
    firmware: &'a Firmware,
    /// The stacks of the run.
    stacks: &'a [StackUse],
}

impl Arguments {
    pub fn run(self, talk: Talk) -> Result<Exit, Trouble> {
        let catalogue = catalogue(self.catalogue.as_deref())?;
        let tree = Tree::find(self.firmware.as_deref())?;
        let kernels = tree.kernels()?;
        let socs = simulated(&self.soc)?;
        let selection = Selection { kernels: self.kernel, scenarios: self.scenario };
        let plan = Plan::new(
            &catalogue,
            &kernels,
            &socs,
            std::slice::from_ref(&self.profile),
            &selection,
        )?;
        let suite = Suite {
            builder: Builder::new(tree),
            rtmark: env!("CARGO_PKG_VERSION").to_owned(),
            rtmark_sha256: own_sha256(),
            max_cycles: None::<Cycles>,
        };
        refuse_without_tools(&suite.builder, &plan)?;
        let mut watcher = Watcher(Progress::new(talk));
        let answers = suite.footprints(&plan, &mut watcher);
        watcher.0.finish();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(footprint) => found.push(footprint),
                Err(Answer::NotApplicable { .. }) => {}
                Err(answer) => others.push(answer),
            }
        }
        match self.format {
            Format::Json => {
                let footprints = found.iter().map(|footprint| {
                    let Footprint { key, firmware, stacks } = footprint;
                    Entry { key, firmware, stacks }
                });
                let document = Document {
                    schema_version: SCHEMA_VERSION,
                    generator: concat!("rtmark ", env!("CARGO_PKG_VERSION")),
                    footprints: footprints.collect(),
                };
                let json = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
                output::data(&(json + "\n"))?;
            }
            Format::Table => output::data(&table(&found))?,
        }
        Ok(show_failures(&others))
    }
}

/// A line for each kernel and scenario, with one for each stack below. All is bytes.
fn table(footprints: &[Footprint]) -> String {
    let mut text = String::new();
    let mut soc = "";
    for Footprint { key, firmware, stacks } in footprints {
        if key.soc != soc {
            soc = &key.soc;
            let before = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{before}{soc}, in bytes");
            let _ = writeln!(
                text,
                "{:<20} {:<10} {:>8} {:>8}  stack used by",
                "scenario", "kernel", "flash", "RAM"
            );
        }
        let _ = writeln!(
            text,
            "{:<20} {:<10} {:>8} {:>8}",
            key.scenario.as_str(),
            key.kernel.as_str(),
            firmware.flash_bytes,
            firmware.ram_bytes
        );
        for StackUse { name, kind, bytes, .. } in stacks {
            let kind = match kind {
                StackKind::Main => "main stack, from",
                StackKind::Task => "task",
                StackKind::Interrupt => "interrupt",
            };
            let _ = writeln!(text, "{:50}{:>6}  {kind} {name}", "", bytes.0);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        crate::schema::check("footprint", &schemars::schema_for!(Document<'_>));
    }
}
