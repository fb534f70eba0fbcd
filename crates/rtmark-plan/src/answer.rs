//! The result of a plan as a document: for each kernel, the verdict and the slack that remains.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::costs::{Cost, Costs, Figure, Missing};
use crate::curves::Curves;
use crate::model::Model;
use crate::no_bound::NoBound;
use crate::search;
use crate::set::Set;
use crate::term::Term;
use crate::timeline::Timeline;

/// The version of the document's format.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The version of this format.
    pub schema_version: u32,
    /// The program that wrote the document.
    pub generator: String,
    /// The system's file.
    pub file: String,
    /// The soc.
    pub soc: String,
    /// The clock, in hertz.
    pub clock_hz: u64,
    /// The tick rate in hertz, if a sweep set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<u64>,
    /// The slack that each deadline must leave, in percent.
    pub slack_percent_wanted: f64,
    /// The kernels, in the order of the file.
    pub kernels: Vec<KernelPlan>,
}

/// Whether deadlines are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All deadlines are met with the required slack.
    Holds,
    /// All deadlines are met, but with less than the required slack.
    Tight,
    /// Not all deadlines can be guaranteed.
    Misses,
    /// A bound could not be computed.
    Unknown,
}

impl Verdict {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Tight => "tight",
            Self::Misses => "misses",
            Self::Unknown => "unknown",
        }
    }
}

/// The images whose costs the bounds use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostsOf {
    /// The suite's images: each cost comes from a scenario, and another image may cost more.
    Suite,
    /// The image that runs the set.
    Image,
}

impl CostsOf {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suite => "suite",
            Self::Image => "image",
        }
    }
}

/// The overall result of a plan, from which the exit code follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every kernel meets all deadlines with the slack wanted.
    Holds,
    /// A deadline cannot be guaranteed, or less slack is left than wanted.
    Short,
    /// A run took longer than the bound that was computed from its own image's costs: either the
    /// analysis is wrong, or the kernel does something that the analysis does not know.
    AboveBound,
    /// A queue was full although no run missed a deadline, which the analysis rules out: it is
    /// wrong or incomplete, as for [`Outcome::AboveBound`].
    LostMessage,
}

/// The plan for one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelPlan {
    /// The kernel.
    pub kernel: String,
    /// Its version.
    pub version: String,
    /// The compiler of the images whose costs were measured, as it prints its name and version; empty if none was
    /// built.
    pub compiler: String,
    /// The set of build settings.
    pub profile: String,
    /// The scheduling order, in a few words.
    pub order: String,
    /// Whether the deadlines are met.
    pub verdict: Verdict,
    /// The images whose costs verdict and bounds use: the one that ran the set, or the suite's if the
    /// set was not run.
    pub costs_of: CostsOf,
    /// That times are of another clock than the one that the kernel sets, if they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskPlan>,
    /// The utilization by tasks and handlers, in percent of the processor.
    pub utilisation_percent: f64,
    /// The utilization at which the first deadline is missed if execution times grow and the kernel's
    /// costs do not, in percent; absent if there is no bound.
    pub breakdown_percent: Option<f64>,
    /// The slowest clock at which the bounds still hold, in percent of the clock that the plan is for, if
    /// execution times and costs take the same number of cycles; absent if they do not hold.
    pub slowest_clock_percent: Option<f64>,
    /// The costs that the bounds use.
    pub costs: Vec<CostFigure>,
    /// The costs that are unknown.
    pub missing: Vec<Missing>,
    /// By how many cycles the least slack would grow if each cost were zero.
    pub sensitivity: Vec<Gain>,
    /// The load at which the first deadline is missed with more tasks and with other periods, if a
    /// report was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves: Option<Curves>,
    /// The results with the suite's costs, if the bounds use the image's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_suite: Option<SuitePlan>,
    /// The results of running the set on the kernel, if it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunPlan>,
}

/// The results with the costs of the suite's images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuitePlan {
    /// Whether the deadlines would be met.
    pub verdict: Verdict,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskPlan>,
    /// The utilization at which the first deadline would be missed, in percent.
    pub breakdown_percent: Option<f64>,
    /// The costs.
    pub costs: Vec<CostFigure>,
    /// The costs that are unknown.
    pub missing: Vec<Missing>,
}

/// The results of running a set on the kernel's own image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// Why the set was not run, if it was not.
    pub not_run: Option<String>,
    /// SHA-256 of the image's ELF file before the set was written into it.
    pub elf_sha256: String,
    /// The number of combinations of offsets tried.
    pub offsets_tried: u32,
    /// The tasks, in the order of the file.
    pub tasks: Vec<TaskRun>,
    /// The queues, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueRun>,
    /// How long the processor was awake in all runs together; absent if the set was not run.
    pub wake: Option<WakePlan>,
    /// The utilization at which the first deadline was missed in runs, if execution times grow, in
    /// percent.
    pub breakdown_percent: Option<f64>,
}

/// How long the processor was awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WakePlan {
    /// Cycles from the first release to the last tick or alarm, of all runs.
    pub cycles: u64,
    /// The cycles of these in which the processor was awake.
    pub awake: u64,
}

impl WakePlan {
    /// Returns the share of time for which the processor was awake, in percent.
    pub fn awake_percent(self) -> f64 {
        self.awake as f64 * 100.0 / self.cycles.max(1) as f64
    }
}

/// The results of a task in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRun {
    /// Its name.
    pub name: String,
    /// The bound in cycles, computed from the kernel's costs on that image.
    pub bound: Option<u64>,
    /// The longest response found, in cycles.
    pub longest: u64,
    /// The number of jobs observed.
    pub jobs: u64,
    /// The job with the longest response.
    pub witness: Option<WitnessPlan>,
    /// What ran from the witness's release to its end, if a report was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// The traffic of a queue in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRun {
    /// Its name.
    pub name: String,
    /// The number of messages sent.
    pub sent: u64,
    /// The number of these that had been received when their run ended.
    pub received: u64,
    /// The number of messages that could not be sent because the queue was full.
    pub lost: u64,
}

impl RunPlan {
    /// Returns whether a message was lost because its queue was full.
    pub fn has_lost_messages(&self) -> bool {
        self.queues.iter().any(|queue| queue.lost > 0)
    }
}

/// The job of a task with the longest response in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WitnessPlan {
    /// The number of the job, counted from 0.
    pub job: u64,
    /// The cycle in which it was released.
    pub released: u64,
    /// The cycle in which it ended.
    pub ended: u64,
    /// The offsets of all tasks in that run, in cycles, in the order of the file.
    pub offsets: Vec<u64>,
}

impl TaskRun {
    /// Returns how far the longest response is below the bound, in percent of the bound.
    pub fn gap_percent(&self) -> Option<f64> {
        let bound = self.bound? as f64;
        Some((bound - self.longest as f64) * 100.0 / bound)
    }

    /// Returns whether a response exceeded its bound: either the analysis is wrong, or the kernel
    /// does something that the analysis does not know.
    pub fn exceeds_bound(&self) -> bool {
        self.bound.is_some_and(|bound| self.longest > bound)
    }
}

/// Converts costs to the form used in documents.
fn cost_figures(costs: &Costs) -> Vec<CostFigure> {
    let figure = |(cost, figure): (&Cost, &Figure)| CostFigure {
        cost: *cost,
        what: cost.name().to_owned(),
        figure: figure.clone(),
    };
    costs.known.iter().map(figure).collect()
}

/// A cost and its measured figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostFigure {
    /// The cost.
    pub cost: Cost,
    /// A description of the cost.
    pub what: String,
    /// The figure.
    pub figure: Figure,
}

/// The slack that would be gained if a cost were zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// The cost.
    pub cost: Cost,
    /// The additional slack, in cycles.
    pub cycles: i64,
}

/// The plan for one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskPlan {
    /// Its name.
    pub name: String,
    /// Its priority.
    pub priority: u32,
    /// Cycles from one job to the next.
    pub period: u64,
    /// Cycles from a release to the deadline.
    pub deadline: u64,
    /// The execution time of a job, in cycles.
    pub work: u64,
    /// The bound on the response in cycles, if there is one.
    pub response: Option<u64>,
    /// Why there is no bound.
    pub no_bound: Option<String>,
    /// The deadline minus the bound, in cycles.
    pub slack: Option<i64>,
    /// The terms of the bound.
    pub terms: Vec<Term>,
}

impl TaskPlan {
    /// Returns the slack in percent of the deadline.
    pub fn slack_percent(&self) -> Option<f64> {
        self.slack.map(|slack| slack as f64 * 100.0 / self.deadline as f64)
    }
}

impl KernelPlan {
    /// Computes the plan of one kernel. `wanted_percent` is the slack that each deadline must
    /// leave.
    pub fn new(set: &Set, model: &Model, costs: &Costs, wanted_percent: f64) -> Self {
        let bounds = model.bounds(set, costs);
        let overloaded = |bound: &Result<Bound, NoBound>| {
            matches!(
                bound,
                Err(NoBound::Unbounded(_)
                    | NoBound::LateTurn { .. }
                    | NoBound::LateEnd { .. }
                    | NoBound::LostTicks { .. }
                    | NoBound::LostReleases { .. })
            )
        };
        let overload = bounds.iter().any(overloaded);
        let tasks: Vec<TaskPlan> =
            set.tasks.iter().zip(bounds).map(|(task, bound)| task_plan(task, bound)).collect();
        let bounded = tasks.iter().all(|task| task.response.is_some());
        let costless = costs.missing.is_empty();
        let breakdown = (bounded && costless).then(|| {
            let factor = search::breakdown(set, |set| model.holds(set, costs));
            set.scaled(factor.max(1)).utilisation_exact() * 100.0 * (factor.min(1) as f64)
        });
        let gains = search::sensitivity(set, model, costs);
        Self {
            kernel: model.kernel.clone(),
            version: String::new(),
            compiler: String::new(),
            profile: String::new(),
            order: model.order_description().to_owned(),
            verdict: if overload { Verdict::Misses } else { verdict(&tasks, wanted_percent) },
            costs_of: CostsOf::Suite,
            notes: Vec::new(),
            tasks,
            utilisation_percent: set.utilisation_exact() * 100.0,
            breakdown_percent: breakdown,
            slowest_clock_percent: search::slowest_clock(set, |set| model.holds(set, costs))
                .map(|share| share as f64 / 100.0),
            costs: cost_figures(costs),
            missing: costs.missing.clone(),
            sensitivity: gains.into_iter().map(|(cost, cycles)| Gain { cost, cycles }).collect(),
            curves: None,
            of_suite: None,
            run: None,
        }
    }

    /// Recomputes verdict and bounds with the kernel's costs measured on the image that runs the
    /// set, and keeps the results from the suite's costs beside them.
    #[must_use]
    pub fn on_image(self, set: &Set, model: &Model, costs: &Costs, wanted_percent: f64) -> Self {
        let of_suite = SuitePlan {
            verdict: self.verdict,
            tasks: self.tasks,
            breakdown_percent: self.breakdown_percent,
            costs: self.costs,
            missing: self.missing,
        };
        Self {
            version: self.version,
            compiler: self.compiler,
            profile: self.profile,
            curves: self.curves,
            notes: self.notes,
            costs_of: CostsOf::Image,
            of_suite: Some(of_suite),
            ..Self::new(set, model, costs, wanted_percent)
        }
    }

    /// Adds the results of runs. A deadline missed in a run makes the verdict [`Verdict::Misses`]
    /// whatever the bounds say, and so does a message lost to a full queue.
    #[must_use]
    pub fn with_run(self, run: RunPlan) -> Self {
        let missed = self.missed_deadline(&run) || run.has_lost_messages();
        let verdict = if missed { Verdict::Misses } else { self.verdict };
        Self { verdict, run: Some(run), ..self }
    }

    /// Returns whether a deadline was missed in `run`.
    fn missed_deadline(&self, run: &RunPlan) -> bool {
        let late = |(task, run): (&TaskPlan, &TaskRun)| run.longest > task.deadline;
        self.tasks.iter().zip(&run.tasks).any(late)
    }

    /// Returns the task with the least slack in percent; a task without a bound counts as having
    /// the least.
    pub fn worst(&self) -> Option<&TaskPlan> {
        let order = |task: &&TaskPlan| task.slack_percent().unwrap_or(f64::NEG_INFINITY);
        self.tasks.iter().min_by(|a, b| order(a).total_cmp(&order(b)))
    }
}

fn verdict(tasks: &[TaskPlan], wanted_percent: f64) -> Verdict {
    if tasks.iter().any(|task| task.slack.is_some_and(|slack| slack < 0)) {
        return Verdict::Misses;
    }
    if tasks.iter().any(|task| task.slack.is_none()) {
        return Verdict::Unknown;
    }
    let tight = |task: &TaskPlan| task.slack_percent().is_some_and(|it| it < wanted_percent);
    if tasks.iter().any(tight) { Verdict::Tight } else { Verdict::Holds }
}

fn task_plan(task: &crate::Task, bound: Result<Bound, NoBound>) -> TaskPlan {
    let mut plan = TaskPlan {
        name: task.name.clone(),
        priority: task.priority,
        period: task.period,
        deadline: task.deadline,
        work: task.work,
        response: None,
        no_bound: None,
        slack: None,
        terms: Vec::new(),
    };
    match bound {
        Ok(bound) => {
            let (deadline, response) = (task.deadline as i64, bound.response as i64);
            plan.response = Some(bound.response);
            plan.slack = Some(deadline - response);
            plan.terms = bound.terms;
        }
        Err(no_bound) => plan.no_bound = Some(no_bound.to_string()),
    }
    plan
}

impl Document {
    /// Returns the overall result.
    pub fn outcome(&self) -> Outcome {
        let ran = self.kernels.iter().filter_map(|plan| plan.run.as_ref());
        if ran.flat_map(|run| &run.tasks).any(TaskRun::exceeds_bound) {
            return Outcome::AboveBound;
        }
        let full = |plan: &KernelPlan| {
            plan.run
                .as_ref()
                .is_some_and(|run| run.has_lost_messages() && !plan.missed_deadline(run))
        };
        if self.kernels.iter().any(full) {
            return Outcome::LostMessage;
        }
        let all = self.kernels.iter().all(|plan| plan.verdict == Verdict::Holds);
        if all { Outcome::Holds } else { Outcome::Short }
    }

    /// Returns the document's JSON schema.
    pub fn json_schema() -> schemars::Schema {
        schemars::schema_for!(Self)
    }
}
