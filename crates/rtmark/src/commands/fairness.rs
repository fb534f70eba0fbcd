//! `rtmark fairness`

use clap::{Args, ValueEnum};
use rtmark_firmware::Kernel;
use rtmark_model::{FAIRNESS_VERSION, Fairness, Pattern, Settings};
use rtmark_runner::fairness::{self, Subject};
use rtmark_runner::{NothingSelected, Placements, Plan, Platform, Suite, nearest, socs};
use rtmark_units::Cycles;

use crate::cli::Verbosity;
use crate::commands::run::{PLACEMENTS, RunRecorder, command_line, show_failures, suite};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, GENERATOR};
use crate::shelf::StoreFlag;
use crate::sources::{FoundSources, Sources};
use crate::tools::refuse_without_tools;

/// Show which build settings of two kernels differ, and how much each difference matters
///
/// With a single kernel and --measure, each setting that it offers is changed in turn.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rtmark fairness freertos embassy --soc stm32c031 --scenario thread.yield --measure
  rtmark fairness freertos:documented freertos --soc stm32f405
  rtmark fairness freertos --measure --soc stm32c031 --scenario thread.yield 'queue.send.*'

docs/settings.md lists the settings. Exit codes: see `rtmark help exit-codes`.")]
pub struct Arguments {
    /// One or two kernels, each optionally with a profile and settings, as in `freertos:product+lto=off`
    #[arg(value_name = "KERNEL[:PROFILE]", num_args = 1..=2, required = true)]
    subjects: Vec<Subject>,
    /// Soc, by name or path of a soc file
    #[arg(long, default_value = "stm32c031")]
    soc: String,
    /// Scenarios, by name or pattern
    #[arg(short, long, value_name = "GLOB", num_args = 1.., default_value = "thread.yield")]
    scenario: Vec<Pattern>,
    /// Change one setting at a time, and measure the effect
    #[arg(long)]
    measure: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    store: StoreFlag,
    /// Cycles after which to give up on a scenario [default: the catalogue's budget]
    #[arg(long, value_name = "N", value_parser = super::sim::cycles)]
    max_cycles: Option<u64>,
    #[command(flatten)]
    sources: Sources,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Text table
    Table,
    /// JSON: docs/schema/fairness.schema.json
    Json,
}

impl Arguments {
    pub fn run(self, verbosity: Verbosity) -> Result<Exit, CliError> {
        if self.subjects.len() == 1 && !self.measure {
            let message = "a single kernel has nothing to be compared with";
            let hint = "name a second kernel, or change its settings one by one with --measure";
            return Err(CliError::new(Exit::Usage, message, hint));
        }
        let config = Config::load()?;
        let FoundSources { tree, kernels, catalogue } = self.sources.find(&config)?;
        let soc = socs::find(&self.soc)?;
        let wanted = |id: &str| self.scenario.iter().any(|pattern| pattern.matches(id));
        let scenarios: Vec<_> =
            catalogue.scenarios().iter().filter(|scenario| wanted(scenario.id.as_str())).collect();
        if scenarios.is_empty() {
            let patterns: Vec<_> = self.scenario.iter().map(ToString::to_string).collect();
            let pattern = patterns.join(" ");
            return Err(NothingSelected {
                what: "scenario",
                pattern,
                near: None,
                reasons: Vec::new(),
            }
            .into());
        }
        let mut pairs: Vec<(&Kernel, &Subject)> = Vec::new();
        for subject in &self.subjects {
            pairs.push((kernel_of(&kernels, subject)?, subject));
        }
        let plan = fairness::plan(&catalogue, &pairs, &Platform::from(soc.clone()), &scenarios);
        for unit in &plan.units {
            let core = soc.soc.core.name();
            if let Err(reason) = unit.variant.of(&unit.kernel.manifest, core) {
                let hint =
                    "`switches` in its kernel.toml lists the settings that it can be built with";
                return Err(CliError::new(Exit::NothingSelected, reason, hint));
            }
        }

        // As `rtmark run` measures: its figures are those whose differences are to be explained.
        let placements = Placements::Usually(PLACEMENTS);
        let suite = Suite { placements, ..suite(tree, self.max_cycles.map(Cycles)) };
        refuse_without_tools(&suite.builder, &plan)?;
        let store = self.store.open(&config)?;
        let revision = suite.builder.tree().commit();
        let kind = rtmark_store::Kind::Fairness;
        let run = store.begin_as(kind, &command_line(), &suite.rtmark, revision.as_deref())?;
        let mut observer = RunRecorder::new(&store, run, verbosity);
        let before = suite.run(&plan, &mut observer)?;
        let failed = show_failures(&before);
        let found: Option<Vec<&Settings>> =
            plan.units.iter().map(|unit| fairness::settings(&before, unit)).collect();
        let Some(found) = found else {
            observer.finish()?;
            if failed != Exit::Fine {
                return Ok(failed);
            }
            let message = "none of these scenarios was measured for every kernel";
            let hint = "choose scenarios that every kernel supports; `rtmark run` shows which";
            return Err(CliError::new(Exit::Incomparable, message, hint));
        };
        let differences = match found.as_slice() {
            [first, second] => fairness::unequal(first, second),
            _ => Vec::new(),
        };
        let mut effects = Vec::new();
        if self.measure {
            let trials = fairness::trials(&plan.units, &found);
            let units = fairness::firmware(&trials);
            let after = suite.run(&Plan::of_units(units, &catalogue), &mut observer)?;
            effects = fairness::effects(&plan.units, &before, &trials, &after);
        }
        observer.finish()?;
        let result = Fairness {
            schema_version: FAIRNESS_VERSION,
            generator: GENERATOR.to_owned(),
            soc: soc.soc.name.clone(),
            subjects: self.subjects.iter().map(ToString::to_string).collect(),
            differences,
            effects,
        };
        let text = match self.format {
            Format::Table => rtmark_report::fairness(&result, output::width()),
            Format::Json => output::json(&result)?,
        };
        output::data(&text)?;
        Ok(failed)
    }
}

fn kernel_of<'a>(kernels: &'a [Kernel], subject: &Subject) -> Result<&'a Kernel, CliError> {
    let found = kernels.iter().find(|kernel| kernel.manifest.id == subject.kernel);
    found.ok_or_else(|| {
        let pattern = subject.kernel.to_string();
        let names = kernels.iter().map(|kernel| kernel.manifest.id.as_str());
        let near = nearest(&pattern, names).map(str::to_owned);
        NothingSelected { what: "kernel", pattern, near, reasons: Vec::new() }.into()
    })
}
