//! Which firmware is looked at: an image, or kernels with scenarios or their mixed load.

use std::path::PathBuf;

use clap::Args;
use rtmark_firmware::{Builder, DEFAULT_PROFILE, Variant, sha256};
use rtmark_model::{Basis, Pattern, ScenarioId};
use rtmark_observe::untold;
use rtmark_runner::socs::{self, SocFile};
use rtmark_runner::{Plan, Platform, Selection, given};
use rtmark_sim::Image;

use super::subject::{Subject, What};
use crate::cli::Verbosity;
use crate::commands::inputs::InputArgs;
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;
use crate::sources::{FoundSources, Sources};

/// The arguments that choose it.
#[derive(Debug, Args)]
pub struct Choice {
    /// An image instead of the kernels' own: an ELF file
    #[arg(requires = "soc")]
    image: Option<PathBuf>,
    /// Kernels, by name or pattern; all without
    #[arg(short, long, value_name = "KERNEL", num_args = 1.., conflicts_with = "image")]
    kernel: Vec<Pattern>,
    /// Scenarios, by name or pattern such as `semaphore.*`
    #[arg(short, long, value_name = "GLOB", num_args = 1.., conflicts_with = "image",
          required_unless_present_any = ["image", "load"])]
    scenario: Vec<Pattern>,
    /// The kernels' mixed load instead of scenarios: several tasks, timers, a queue, a lock and a
    /// device, over a hyperperiod; its handler of interrupt 8 uses the kernel
    #[arg(long, conflicts_with_all = ["image", "scenario"])]
    load: bool,
    /// The scenario of an image of rtmark's own
    #[arg(long, value_name = "SCENARIO", requires = "image")]
    select: Option<ScenarioId>,
    /// Socs, by name or path of a soc file; the default suite's without
    #[arg(long, value_name = "SOC", num_args = 1..)]
    soc: Vec<String>,
    /// The set of build settings; `product+opt=3` changes single ones of it
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: Variant,
    #[command(flatten)]
    pub inputs: InputArgs,
    #[command(flatten)]
    sources: Sources,
}

impl Choice {
    /// What was chosen, built where it has to be.
    pub fn subjects(&self, verbosity: Verbosity) -> Result<Vec<Subject>, CliError> {
        let socs: Result<Vec<_>, _> = match self.soc.as_slice() {
            [] => socs::suite(),
            names => names.iter().map(|name| socs::find(name)).collect(),
        };
        let socs = socs?;
        let inputs = self.inputs.read()?;
        if let Some(path) = &self.image {
            let refuse = |problem: String, hint: &str| {
                CliError::new(Exit::Usage, format!("{}: {problem}", path.display()), hint)
            };
            let elf = given::read_bytes(path)
                .map_err(|error| refuse(error.to_string(), "check the path"))?;
            let image = Image::from_elf(&elf)
                .map_err(|error| refuse(error.to_string(), "give an ELF file"))?;
            if let Some(untold) = untold(&elf).filter(|_| !verbosity.quiet) {
                say(format!("{}: {untold}", path.display()));
            }
            let subject = |soc: SocFile| Subject {
                kernel: None,
                scenario: self.select.clone(),
                may_call: soc.soc.core.most_urgent_priority(),
                soc,
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
        let what = if self.load { What::Load } else { What::Scenarios };
        let mut subjects = Vec::new();
        for unit in &plan.units {
            if verbosity.verbose > 0 {
                say(format!("building {} for {}", unit.kernel.manifest.id, unit.platform.name()));
            }
            let found = Subject::of_unit(&builder, unit, what)?;
            if found.is_empty() && what == What::Load && !verbosity.quiet {
                say(format!("{} has no mixed load", unit.kernel.manifest.id));
            }
            subjects.extend(found.into_iter().map(|it| Subject { inputs: inputs.clone(), ..it }));
        }
        if subjects.is_empty() {
            let (message, hint) = match what {
                What::Scenarios => (
                    "none of these kernels has any of these scenarios",
                    "`rtmark list scenarios` shows them; `rtmark run` says why a kernel lacks one",
                ),
                What::Load => (
                    "none of these kernels has a mixed load",
                    "docs/worst.md tells which have one; `--scenario` searches what others have",
                ),
            };
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        Ok(subjects)
    }
}
