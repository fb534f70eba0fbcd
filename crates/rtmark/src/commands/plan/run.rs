//! The set on a kernel's own binary.

use rtmark_firmware::{Kernel, Tree, Variant};
use rtmark_plan::{Model, RunPlan, Set, TaskRun, WitnessPlan, cost_figures, search};
use rtmark_runner::socs::SocFile;
use rtmark_taskset::{Bench, Calibration, Effort, Found, SetError};

use crate::cli::Verbosity;
use crate::commands::run::suite;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;

/// How many offsets are tried for each factor when runs are asked what breaks first.
const BREAKDOWN_OFFSETS: u32 = 2;

/// What is run.
pub struct Subject<'a> {
    pub kernel: &'a Kernel,
    pub model: &'a Model,
    pub variant: &'a Variant,
    pub soc: &'a SocFile,
    pub timelines: Timelines,
}

/// Whether it is to be seen who ran in the longest responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timelines {
    None,
    Drawn,
}

impl Subject<'_> {
    /// Measures the image, runs the set on it, and sets both beside each other.
    pub fn run(
        &self,
        tree: &Tree,
        set: &Set,
        effort: Effort,
        talk: Verbosity,
    ) -> Result<RunPlan, CliError> {
        let manifest = &self.kernel.manifest;
        if !manifest.plan {
            return Ok(not_run(format!("there is no image of task sets for {}", manifest.id)));
        }
        if !talk.quiet {
            say(format!("running the set on {}", manifest.id));
        }
        let mut variant = self.variant.clone();
        if manifest.switches.contains_key("priorities") {
            // Five levels would be too few for eight tasks.
            let priorities = rtmark_firmware::chosen("priorities=32")?.1;
            variant = variant.with("priorities", priorities);
        }
        let refused =
            |why| CliError::new(Exit::NothingSelected, why, "choose another soc or kernel");
        let switched = variant.of(manifest, self.soc.soc.core.name()).map_err(refused)?;
        let built =
            suite(tree.clone(), None).builder.build_plan(self.kernel, &self.soc.soc, &switched)?;
        let Some(image) = built.get(rtmark_firmware::PLAN) else {
            return Ok(not_run("the build brought no image of task sets".to_owned()));
        };
        let bench = match Bench::new(&self.soc.soc, &image.elf, self.model) {
            Ok(bench) => bench,
            Err(SetError::Unfit(why)) => return Ok(not_run(why)),
            Err(error) => return Err(trouble(error)),
        };
        let calibration = bench.calibrate().map_err(trouble)?;
        let found = match bench.search(set, &calibration, effort) {
            Ok(found) => found,
            Err(SetError::Unfit(why)) => return Ok(not_run(why)),
            Err(error) => return Err(trouble(error)),
        };
        let bounds = self.model.bounds(set, &calibration.costs);
        let mut tasks = Vec::new();
        for ((task, bound), found) in set.tasks.iter().zip(bounds).zip(found) {
            let timeline = match self.timelines {
                Timelines::Drawn => bench.timeline(set, &calibration, &found).map_err(trouble)?,
                Timelines::None => None,
            };
            let (bound, terms) = bound
                .map_or_else(|_| (None, Vec::new()), |bound| (Some(bound.response), bound.terms));
            tasks.push(TaskRun {
                name: task.name.clone(),
                bound,
                longest: found.longest,
                jobs: found.jobs,
                witness: witness(found),
                terms,
                timeline,
            });
        }
        let breakdown = broken_down(&bench, set, &calibration, effort);
        Ok(RunPlan {
            not_run: None,
            elf_sha256: image.sha256.clone(),
            offsets_tried: effort.offsets + 1,
            costs: cost_figures(&calibration.costs),
            tasks,
            breakdown_percent: breakdown,
        })
    }
}

fn not_run(why: String) -> RunPlan {
    RunPlan {
        not_run: Some(why),
        elf_sha256: String::new(),
        offsets_tried: 0,
        costs: Vec::new(),
        tasks: Vec::new(),
        breakdown_percent: None,
    }
}

fn witness(found: Found) -> Option<WitnessPlan> {
    let at = found.witness?;
    let (job, released, ended) = (at.job, at.released, at.ended);
    Some(WitnessPlan { job, released, ended, offsets: found.offsets })
}

/// The largest load with which no run misses a deadline.
fn broken_down(bench: &Bench, set: &Set, calibration: &Calibration, effort: Effort) -> Option<f64> {
    let effort = Effort { offsets: BREAKDOWN_OFFSETS.min(effort.offsets), ..effort };
    let holds = |set: &Set| {
        let found = bench.search(set, calibration, effort);
        found.is_ok_and(|found| {
            set.tasks.iter().zip(found).all(|(task, found)| found.longest <= task.deadline)
        })
    };
    let factor = search::breakdown(set, holds);
    (factor > 0).then(|| set.scaled(factor).utilisation_exact() * 100.0)
}

fn trouble(error: SetError) -> CliError {
    let hint = "build the firmware again; if that does not help, report it with the system's file";
    let exit = match &error {
        SetError::Unfit(_) => Exit::Usage,
        SetError::Ended { .. } => Exit::Faulted,
        _ => Exit::BuildFailed,
    };
    CliError::new(exit, error, hint)
}
