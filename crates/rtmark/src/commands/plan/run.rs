//! Runs the set on a kernel's own binary.

use rtmark_firmware::{Kernel, Tree, Variant};
use rtmark_plan::{
    Costs, KernelPlan, Model, Order, Queue, QueueRun, RunPlan, Set, TaskRun, WakePlan, WitnessPlan,
    search,
};
use rtmark_runner::socs::SocFile;
use rtmark_taskset::{Bench, Calibration, SearchEffort, SetError, TaskResult, Traffic, Wake};

use crate::cli::Verbosity;
use crate::commands::run::suite;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::say;

/// The most random offsets tried for each factor of the breakdown search.
const BREAKDOWN_OFFSETS: u32 = 2;

/// What to run.
pub struct PlannedRun<'a> {
    pub kernel: &'a Kernel,
    pub model: &'a Model,
    pub variant: &'a Variant,
    pub soc: &'a SocFile,
    pub report: Report,
}

/// Whether to write a page, which needs more data: timelines of the longest responses, and
/// breakdown with more tasks and other periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    None,
    Wanted,
}

impl Report {
    pub const fn is_wanted(self) -> bool {
        matches!(self, Self::Wanted)
    }
}

/// What to run, and what is already known about it.
pub struct RunRequest<'a> {
    /// The set, with the priorities that its file states.
    pub set: &'a Set,
    /// The plan with the suite's costs.
    pub plan: KernelPlan,
    /// The slack that each deadline must leave, in percent.
    pub slack_percent: f64,
    pub effort: SearchEffort,
}

/// A kernel's image with its calibration.
struct Image {
    bench: Bench,
    calibration: Calibration,
    sha256: String,
}

impl PlannedRun<'_> {
    /// Measures the image, computes bounds from its costs, runs the set on it, and combines the
    /// two. If that is not possible, the plan keeps its results and states the reason.
    ///
    /// `order` assigns priorities to the set's tasks if the file asks for it.
    pub fn run(
        &self,
        tree: &Tree,
        request: RunRequest<'_>,
        order: impl Fn(&mut Set, &Costs),
        verbosity: Verbosity,
    ) -> Result<KernelPlan, CliError> {
        let RunRequest { set, plan, slack_percent, effort } = request;
        if !verbosity.quiet {
            say(format!("running the set on {}", self.kernel.manifest.id));
        }
        let image = match self.image(tree)? {
            Ok(image) => image,
            Err(why) => return Ok(plan.with_run(not_run(why))),
        };
        let Image { bench, calibration, sha256 } = image;
        let mut set = set.clone();
        order(&mut set, &calibration.costs);
        let searched = match bench.search(&set, &calibration, effort) {
            Ok(searched) => searched,
            Err(SetError::DoesNotFit(why)) => return Ok(plan.with_run(not_run(why))),
            // The event loop ends when closures arrive faster than they run; this is expected if
            // the bounds predict it.
            Err(error @ SetError::Ended { .. }) if self.overflows(&set, &calibration.costs) => {
                let plan = plan.on_image(&set, self.model, &calibration.costs, slack_percent);
                return Ok(plan.with_run(not_run(error.to_string())));
            }
            Err(error) => return Err(failed(error)),
        };
        let plan = plan.on_image(&set, self.model, &calibration.costs, slack_percent);
        let mut tasks = Vec::new();
        for (task, found) in plan.tasks.iter().zip(searched.tasks) {
            let timeline = match self.report {
                Report::Wanted => bench.timeline(&set, &calibration, &found).map_err(failed)?,
                Report::None => None,
            };
            tasks.push(TaskRun {
                name: task.name.clone(),
                bound: task.response,
                longest: found.longest,
                jobs: found.jobs,
                witness: witness(found),
                timeline,
            });
        }
        let Wake { cycles, awake } = searched.wake;
        let breakdown = breakdown_factor(&bench, &set, &calibration, effort);
        Ok(plan.with_run(RunPlan {
            not_run: None,
            elf_sha256: sha256,
            offsets_tried: searched.runs,
            tasks,
            queues: set.queues.iter().zip(searched.queues).map(queue).collect(),
            wake: (cycles > 0).then_some(WakePlan { cycles, awake }),
            breakdown_percent: breakdown,
        }))
    }

    /// Returns whether closures may accumulate in the event loop beyond its capacity.
    fn overflows(&self, set: &Set, costs: &Costs) -> bool {
        self.model.order == Order::Fifo && self.model.bounds(set, costs).iter().any(Result::is_err)
    }

    /// Builds and calibrates the image of task sets, or returns the reason why there is none.
    fn image(&self, tree: &Tree) -> Result<Result<Image, String>, CliError> {
        let manifest = &self.kernel.manifest;
        if !manifest.plan {
            return Ok(Err(format!("there is no image of task sets for {}", manifest.id)));
        }
        let core = self.soc.soc.core.name();
        if !core.starts_with("cortex-m") {
            let why = format!("images of task sets are for Cortex-M cores, and the soc has {core}");
            return Ok(Err(why));
        }
        let mut variant = self.variant.clone();
        if manifest.switches.contains_key("priorities") {
            // The default of five levels is too few for eight tasks.
            let priorities = rtmark_firmware::chosen("priorities=32")?.1;
            variant = variant.with("priorities", priorities);
        }
        let refused =
            |why| CliError::new(Exit::NothingSelected, why, "choose another soc or kernel");
        let changes = variant.of(manifest, core).map_err(refused)?;
        let built =
            suite(tree.clone(), None).builder.build_plan(self.kernel, &self.soc.soc, &changes)?;
        let Some(image) = built.get(rtmark_firmware::PLAN) else {
            return Ok(Err("the build produced no image of task sets".to_owned()));
        };
        let bench = match Bench::new(&self.soc.soc, &image.elf, self.model) {
            Ok(bench) => bench,
            Err(SetError::DoesNotFit(why)) => return Ok(Err(why)),
            Err(error) => return Err(failed(error)),
        };
        let calibration = bench.calibrate().map_err(failed)?;
        Ok(Ok(Image { bench, calibration, sha256: image.sha256.clone() }))
    }
}

fn not_run(why: String) -> RunPlan {
    RunPlan {
        not_run: Some(why),
        elf_sha256: String::new(),
        offsets_tried: 0,
        tasks: Vec::new(),
        queues: Vec::new(),
        wake: None,
        breakdown_percent: None,
    }
}

fn queue((queue, traffic): (&Queue, Traffic)) -> QueueRun {
    let Traffic { sent, received, lost } = traffic;
    QueueRun { name: queue.name.clone(), sent, received, lost }
}

fn witness(found: TaskResult) -> Option<WitnessPlan> {
    let at = found.witness?;
    let (job, released, ended) = (at.job, at.released, at.ended);
    Some(WitnessPlan { job, released, ended, offsets: found.offsets })
}

/// Returns the largest load at which no run misses a deadline or loses a message.
fn breakdown_factor(
    bench: &Bench,
    set: &Set,
    calibration: &Calibration,
    effort: SearchEffort,
) -> Option<f64> {
    let effort = SearchEffort { offsets: BREAKDOWN_OFFSETS.min(effort.offsets), ..effort };
    let holds = |set: &Set| {
        let found = bench.search(set, calibration, effort);
        found.is_ok_and(|found| {
            let lost = found.queues.iter().any(|queue| queue.lost > 0);
            let mut tasks = set.tasks.iter().zip(found.tasks);
            !lost && tasks.all(|(task, found)| found.longest <= task.deadline)
        })
    };
    let factor = search::breakdown(set, holds);
    (factor > 0).then(|| set.scaled(factor).utilisation_exact() * 100.0)
}

fn failed(error: SetError) -> CliError {
    let again = "build the firmware again; if that does not help, report it with the system's file";
    let (exit, hint) = match &error {
        SetError::DoesNotFit(_) => (Exit::Usage, again),
        SetError::Ended { .. } => (Exit::Faulted, again),
        SetError::StackOverflow(_) => (Exit::Faulted, "choose a soc with more RAM"),
        _ => (Exit::BuildFailed, again),
    };
    CliError::new(exit, error, hint)
}
