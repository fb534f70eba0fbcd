//! Options that choose the firmware to run: an image, or kernels with scenarios or their mixed load.

use std::path::PathBuf;

use clap::Args;
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Variant, sha256};
use rtmark_model::{Basis, Pattern, ScenarioId};
use rtmark_observe::missing_debug_info;
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Plan, Platform, Selection, input_file};
use rtmark_sim::Image;

use super::subject::{Subject, Workload, no_load};
use crate::cli::Verbosity;
use crate::commands::clock::ClockArgs;
use crate::commands::inputs::InputArgs;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;
use crate::sources::{FoundSources, Sources};

/// The options that choose the firmware.
#[derive(Debug, Args)]
pub struct Choice {
    /// ELF file to use instead of kernels
    #[arg(requires = "soc")]
    image: Option<PathBuf>,
    /// Kernels, by name or pattern [default: all]
    #[arg(short, long, value_name = "KERNEL", num_args = 1.., conflicts_with = "image")]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*`
    #[arg(short, long, value_name = "GLOB", num_args = 1.., conflicts_with = "image",
          required_unless_present_any = ["image", "load"])]
    scenario: Vec<Pattern>,
    /// Use the kernels' mixed load instead of scenarios: several tasks, timers, a queue, a lock and a
    /// device, over a hyperperiod; its handler of interrupt 8 calls the kernel
    #[arg(long, conflicts_with_all = ["image", "scenario"])]
    load: bool,
    /// Scenario to run, for an image built by rtmark
    #[arg(long, value_name = "SCENARIO", requires = "image")]
    select: Option<ScenarioId>,
    /// Socs, by name or path of a soc file [default: the socs of the default suite]
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<String>,
    #[command(flatten)]
    pub clock: ClockArgs,
    /// Build profile, optionally with settings, as in `product+opt=3`
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: Variant,
    #[command(flatten)]
    pub inputs: InputArgs,
    #[command(flatten)]
    sources: Sources,
}

/// The usage of a command with this choice: clap would show only one of the three ways.
pub fn usage(command: &str) -> String {
    let output = if command == "trace" { " --output <FILE>" } else { "" };
    let ways = ["--soc <SOC>... <IMAGE>", "--scenario <GLOB>...", "--load"];
    ways.map(|way| format!("rtmark {command} [OPTIONS]{output} {way}")).join("\n       ")
}

impl Choice {
    /// Returns the chosen programs, building firmware if necessary.
    pub fn subjects(&self, verbosity: Verbosity) -> Result<Vec<Subject>, CliError> {
        let socs: Result<Vec<_>, _> = match self.soc.as_slice() {
            [] => socs::suite(),
            names => names.iter().map(|name| socs::find(name)).collect(),
        };
        let socs: Result<Vec<_>, _> = socs?.into_iter().map(|soc| self.clock.apply(soc)).collect();
        let socs = socs?;
        let inputs = self.inputs.read()?;
        if let Some(path) = &self.image {
            let refuse = |problem: String, hint: &str| {
                CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
            };
            let elf = input_file::read_bytes(path)
                .map_err(|error| refuse(error.to_string(), "check the path"))?;
            let image = Image::from_elf(&elf)
                .map_err(|error| refuse(error.to_string(), "give an ELF file"))?;
            if let Some(reason) = missing_debug_info(&elf).filter(|_| !verbosity.quiet) {
                say(format!("{}: {reason}", path.display()));
            }
            let subject = |soc: SocFile| Subject {
                kernel: None,
                scenario: self.select.clone(),
                may_call: None,
                soc: soc.for_image(&image),
                path: path.display().to_string(),
                sha256: sha256(&elf),
                elf: elf.clone(),
                image: image.clone(),
                until_output: None,
                inputs: inputs.clone(),
            };
            return Ok(socs.into_iter().map(subject).collect());
        }
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&Config::load()?)?;
        let selection =
            Selection { kernels: self.kernel.clone(), scenarios: self.scenario.clone() };
        let platforms: Vec<_> =
            socs.into_iter().map(|soc| Platform::Sim(Box::new(soc), Basis::Cycles)).collect();
        let plan = Plan::new(
            &catalogue,
            &kernels,
            &platforms,
            std::slice::from_ref(&self.profile),
            &selection,
        )?;
        let builder = Builder::new(tree);
        let what = if self.load { Workload::Load } else { Workload::Scenarios };
        let mut subjects = Vec::new();
        for unit in &plan.units {
            if verbosity.verbose > 0 {
                say(format!("building {} for {}", unit.kernel.manifest.id, unit.platform.name()));
            }
            let found = Subject::of_unit(&builder, unit, what)?;
            if let (Workload::Load, false, Some(why)) = (what, verbosity.quiet, no_load(unit)) {
                say(format!("note: {why}"));
            }
            subjects.extend(found.into_iter().map(|it| Subject { inputs: inputs.clone(), ..it }));
        }
        if subjects.is_empty() {
            let (message, hint) = match what {
                Workload::Scenarios => (
                    "none of these kernels supports any of these scenarios",
                    "`rtmark list scenarios` shows the names; `rtmark run` shows why a kernel lacks one",
                ),
                Workload::Load => (
                    "none of these kernels has a mixed load",
                    "docs/worst.md lists the kernels that have one; use --scenario for the others",
                ),
            };
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        Ok(subjects)
    }
}
