//! Measures kernels' costs as `rtmark run` does, and computes plans from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rtmark_firmware::{Kernel, Target, Variant};
use rtmark_model::{Answer, Basis, Pattern, Series, Setting, current_kernel_name};
use rtmark_plan::{
    Chip, Costs, Curves, Function, KernelPlan, Model, Order, Protocol, Rounding, Set, Spans,
    System, Timer, Work, search,
};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Placements, Plan, Platform, Suite, Unit};
use rtmark_sim::MemoryKind;
use rtmark_store::Store;
use rtmark_taskset::SearchEffort;

use super::{function, run, wanted_slack};
use crate::cli::Verbosity;
use crate::commands::run::{RunRecorder, command_line, show_failures, suite};
use crate::error::{CliError, or_nearest};
use crate::exit::Exit;
use crate::shelf;
use crate::sources::FoundSources;
use crate::tools::refuse_without_tools;

/// The tick rate in Hz if a kernel has a tick and the file states none.
const TICK_HZ: i64 = 1000;

/// The number of tasks that lilos can wake individually: one per bit of a word (`os/src/exec.rs`).
const WAKE_BITS: usize = 32;

/// The most closures that the event loop's ring can hold (`firmware/ring/ring.c`).
const CLOSURES: usize = 16;

/// Everything that measuring needs.
pub struct Bench<'a> {
    pub system: &'a System,
    /// The directory of the system's file.
    pub folder: &'a Path,
    pub soc: &'a SocFile,
    pub found: &'a FoundSources,
    pub store: &'a Store,
    /// Patterns of the kernels wanted; all if empty.
    pub wanted: &'a [Pattern],
    pub placements: u32,
    pub fresh: bool,
    /// The effort of runs, if sets are to be run.
    pub runs: Option<SearchEffort>,
    pub report: run::Report,
    pub verbosity: Verbosity,
}

/// A kernel named by the file, with its model for the analysis.
struct Candidate<'a> {
    kernel: &'a Kernel,
    model: Model,
    variant: Variant,
}

/// The results of scenarios, by kernel and scenario.
type Figures = BTreeMap<(String, String), Result<Spans, String>>;

/// The kernels of a system with their costs, in cycles at the soc's own clock.
pub struct Measured<'a> {
    candidates: Vec<Candidate<'a>>,
    figures: Figures,
    functions: Functions,
    /// What is known about the images, by kernel.
    images: BTreeMap<String, Images>,
}

/// What is known about a kernel's images.
#[derive(Clone, Default)]
struct Images {
    /// That times are of another clock than the one that the kernel sets.
    clock_notes: Vec<String>,
    /// The compiler; several are separated by commas.
    compiler: String,
}

/// The longest calls of functions, in cycles.
type Functions = BTreeMap<Function, u64>;

impl Bench<'_> {
    /// Returns the soc's own clock in Hz.
    pub fn hertz(&self) -> u64 {
        self.soc.soc.clock.0.into()
    }

    /// Measures the costs of the kernels.
    pub fn measured(&self) -> Result<Measured<'_>, CliError> {
        let candidates = self.candidates()?;
        let mut functions = Functions::new();
        // Which scenarios are needed does not depend on execution times, so errors in the file are
        // reported before anything is measured.
        let shape = self.set(self.hertz(), &mut |work| match work {
            Work::Time(time) => Ok(Some(time.cycles(self.hertz(), Rounding::Up))),
            Work::Scenario(id) => {
                let mut all = self.found.catalogue.scenarios().iter();
                let found = all.find(|scenario| scenario.id.as_str() == id);
                found.map(|_| None).ok_or_else(|| format!("there is no scenario `{id}`"))
            }
            Work::Function(wanted) => {
                let longest = function::longest(self.soc, self.folder, wanted)?;
                functions.insert(wanted.clone(), longest);
                Ok(Some(longest))
            }
        })?;
        let answers = self.measure(&candidates, &shape)?;
        let names = candidates.iter().map(|candidate| candidate.kernel.manifest.id.to_string());
        let images = names.map(|name| (name.clone(), Images::of(&name, &answers))).collect();
        let figures = answers.iter().map(figure).collect();
        Ok(Measured { candidates, figures, functions, images })
    }

    /// Computes the plan of each kernel at a clock in Hz.
    pub fn plans(&self, measured: &Measured<'_>, clock: u64) -> Result<Vec<KernelPlan>, CliError> {
        let Measured { candidates, figures, functions, images } = measured;
        let mut plans = Vec::new();
        for candidate in candidates {
            let name = candidate.kernel.manifest.id.as_str();
            let spans = |scenario: &str| {
                let found = figures.get(&(name.to_owned(), scenario.to_owned())).cloned();
                found.unwrap_or_else(|| Err(format!("there is no scenario {scenario}")))
            };
            let set = self.set(clock, &mut |work| match work {
                Work::Scenario(id) => spans(id).map(|spans| Some(spans.worst)),
                Work::Function(wanted) => Ok(functions.get(wanted).copied()),
                Work::Time(time) => Ok(Some(time.cycles(self.hertz(), Rounding::Up))),
            })?;
            let costs = |set: &Set| candidate.model.measured(set, &mut |scenario| spans(scenario));
            let plan = self.plan(candidate, &set, &costs)?;
            let Images { clock_notes: mut notes, compiler } =
                images.get(name).cloned().unwrap_or_default();
            notes.extend(set.assumptions());
            plans.push(KernelPlan { notes, compiler, ..plan });
        }
        Ok(plans)
    }

    /// Computes the plan of one kernel with the suite's costs and, if the set is run, with those of
    /// the image.
    fn plan(
        &self,
        candidate: &Candidate<'_>,
        set: &Set,
        costs_with: &dyn Fn(&Set) -> Costs,
    ) -> Result<KernelPlan, CliError> {
        let Candidate { kernel, model, variant } = candidate;
        let costs = &costs_with(set);
        let order = |set: &mut Set, costs: &Costs| {
            if self.system.assigns_priorities() {
                assign(set, model, costs);
            }
        };
        let mut ordered = set.clone();
        order(&mut ordered, costs);
        let slack_percent = wanted_slack(self.system);
        let plan = KernelPlan {
            version: kernel.manifest.version.clone(),
            profile: variant.to_string(),
            curves: self
                .report
                .is_wanted()
                .then(|| Curves::of(&ordered, model, self.most_tasks(model), costs_with)),
            ..KernelPlan::new(&ordered, model, costs, slack_percent)
        };
        let Some(effort) = self.runs else { return Ok(plan) };
        let planned =
            run::PlannedRun { kernel, model, variant, soc: self.soc, report: self.report };
        let request = run::RunRequest { set, plan, slack_percent, effort };
        planned.run(&self.found.tree, request, order, self.verbosity)
    }

    fn set(
        &self,
        clock: u64,
        work: &mut dyn FnMut(&Work) -> Result<Option<u64>, String>,
    ) -> Result<Set, CliError> {
        let memories = self.soc.soc.memories.iter();
        let ram = memories.filter(|memory| memory.kind == MemoryKind::Ram);
        let ram = ram.map(|memory| u64::from(memory.size)).sum();
        let chip = Chip { hertz: self.hertz(), clock, ram };
        Ok(self.system.set(chip, work)?)
    }

    fn candidates(&self) -> Result<Vec<Candidate<'_>>, CliError> {
        let mut candidates = Vec::new();
        for named in &self.system.kernels {
            let refuse = |problem: String| self.system.refusal(named, "kernels", problem);
            let name = current_kernel_name(named.get_ref());
            let kernel = self.found.kernels.iter().find(|it| it.manifest.id.as_str() == name);
            let fits = |pattern: &Pattern| match kernel {
                Some(kernel) => kernel.manifest.id.matches(pattern),
                None => pattern.matches(name),
            };
            if !self.wanted.is_empty() && !self.wanted.iter().any(fits) {
                continue;
            }
            let kernel = kernel.ok_or_else(|| {
                refuse(format!("there is no kernel `{name}`; `rtmark list kernels` shows them"))
            })?;
            let model = Model::of(name).ok_or_else(|| {
                let known = Model::KERNELS.join(", ");
                refuse(format!("the analysis has no model of {name}; it has models of {known}"))
            })?;
            let mut variant = self.variant(kernel, &model)?;
            let changes =
                variant.of(&kernel.manifest, self.soc.soc.core.name()).map_err(|reason| {
                    let core = self.soc.soc.core.name();
                    let is_fine = |profile: Variant| profile.of(&kernel.manifest, core).is_ok();
                    // If the profile builds without the tick, the tick is to blame.
                    let is_of_tick = self.profile().is_ok_and(is_fine);
                    match (&self.system.profile, &self.system.tick) {
                        (_, Some(tick)) if is_of_tick => self.system.refusal(tick, "tick", reason),
                        (Some(profile), _) => self.system.refusal(profile, "profile", reason),
                        (None, _) => refuse(format!("{name}: {reason}")),
                    }
                })?;
            let target = Target::from(&self.soc.soc);
            let built = changes.at(&kernel.manifest, &target);
            let mut model = model;
            let has_tick = built.get("tick_hz").is_some();
            let is_coarse = target.timer().is_some_and(|timer| !timer.counts_microseconds());
            if model.timer == Timer::Alarm && (has_tick || is_coarse) {
                // Without a timer for which it has a driver, this kernel uses a tick as well. The
                // same goes for a coarse timer: times of a set are not whole numbers of its counts,
                // and near alarms come late.
                model.timer = Timer::Tick;
                variant = self.variant(kernel, &model)?;
                if !has_tick && self.system.tick.is_none() {
                    variant = variant.with("tick_hz", Setting::Number(TICK_HZ));
                }
            }
            let (tasks, most) = (self.system.task.len(), self.most_tasks(&model));
            if tasks > most {
                let problem = match model.order {
                    Order::Rounds => {
                        format!("{name}: {tasks} tasks, but it can wake only {most} individually")
                    }
                    Order::Fifo => format!(
                        "{name}: {tasks} tasks, but as it is compiled only {most} closures can wait"
                    ),
                    _ => format!(
                        "{name}: {tasks} tasks and the timer need an interrupt level each, but \
                         the soc has {}",
                        most + 1
                    ),
                };
                return Err(refuse(problem).into());
            }
            candidates.push(Candidate { kernel, model, variant });
        }
        let fits = |pattern: &Pattern| {
            candidates.iter().any(|found| found.kernel.manifest.id.matches(pattern))
        };
        if let Some(pattern) = self.wanted.iter().find(|pattern| !fits(pattern)) {
            let names = self.system.kernels.iter().map(|named| named.get_ref().as_str());
            let near = or_nearest(pattern.as_str(), names);
            let message = format!("--kernel: none of the file's kernels fits `{pattern}`{near}");
            let hint = "name one of `kernels` in the file";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        Ok(candidates)
    }

    /// Returns the most tasks that a kernel supports on the soc.
    fn most_tasks(&self, model: &Model) -> usize {
        match (model.order, model.protocol) {
            // Each task has its own interrupt level, and the timer has the most urgent one.
            (_, Protocol::Ceiling) => (1_usize << self.soc.soc.priority_bits) - 1,
            (Order::Rounds, _) => WAKE_BITS,
            (Order::Fifo, _) => CLOSURES,
            _ => usize::MAX,
        }
    }

    /// Returns the profile named by the file.
    fn profile(&self) -> Result<Variant, CliError> {
        let Some(named) = &self.system.profile else {
            return Ok(Variant::profile(rtmark_firmware::DEFAULT_PROFILE));
        };
        let read = named.get_ref().parse::<Variant>();
        let variant =
            read.map_err(|error| self.system.refusal(named, "profile", error.to_string()))?;
        // The bounds count the ticks of the file's `tick`.
        if variant.chosen().contains_key("tick_hz") {
            let problem = "it sets tick_hz: state the tick's period with `tick` instead";
            return Err(self.system.refusal(named, "profile", problem.to_owned()).into());
        }
        Ok(variant)
    }

    /// Returns the profile, with the tick requested by the file if the kernel releases tasks by
    /// ticks.
    fn variant(&self, kernel: &Kernel, model: &Model) -> Result<Variant, CliError> {
        let variant = self.profile()?;
        let Some(tick) = &self.system.tick else { return Ok(variant) };
        let has_tick = kernel.manifest.switches.contains_key("tick_hz");
        if !has_tick || model.timer == Timer::Alarm {
            return Ok(variant);
        }
        let hertz = u64::from(self.soc.soc.clock.0);
        let cycles = tick.get_ref().cycles(hertz, Rounding::Nearest);
        if cycles == 0 {
            return Err(self
                .system
                .refusal(tick, "tick", "0 cycles are too short".to_owned())
                .into());
        }
        if !hertz.is_multiple_of(cycles) {
            let problem = format!("a second is not a whole number of ticks of {cycles} cycles");
            return Err(self.system.refusal(tick, "tick", problem).into());
        }
        let value = (hertz / cycles).to_string();
        Ok(variant.with("tick_hz", rtmark_firmware::chosen(&format!("tick_hz={value}"))?.1))
    }

    /// Measures all scenarios that the bounds need, or takes their results from the store.
    fn measure(&self, candidates: &[Candidate<'_>], shape: &Set) -> Result<Vec<Answer>, CliError> {
        let platform = Platform::Sim(Box::new(self.soc.clone()), Basis::Cycles);
        let mut units = Vec::new();
        for candidate in candidates {
            let mut wanted = candidate.model.scenarios(shape);
            if self.report.is_wanted() {
                // Work that is not measured yet may be divided as well.
                let mut shape = shape.clone();
                shape.tasks.iter_mut().for_each(|task| task.work = task.work.max(1_000));
                let sets = Curves::divided(&shape, self.most_tasks(&candidate.model));
                wanted.extend(sets.iter().flat_map(|set| candidate.model.scenarios(set)));
            }
            wanted.extend(self.system.task.iter().filter_map(|task| match task.work.get_ref() {
                Work::Scenario(id) => Some(id.clone()),
                _ => None,
            }));
            let scenarios = self.found.catalogue.scenarios().iter();
            let scenarios = scenarios.filter(|it| wanted.iter().any(|id| id == it.id.as_str()));
            units.push(Unit::new(candidate.kernel, &platform, &candidate.variant, scenarios));
        }
        let plan = Plan::of_units(units, &self.found.catalogue);
        let suite = Suite {
            placements: Placements::Exactly(self.placements),
            ..suite(self.found.tree.clone(), None)
        };
        refuse_without_tools(&suite.builder, &plan)?;
        let revision = shelf::commit_here().or_else(|| suite.builder.tree().commit());
        let run = self.store.begin(&command_line(), &suite.rtmark, revision.as_deref())?;
        let recorder = RunRecorder::new(self.store, run, self.verbosity);
        let mut recorder = if self.fresh { recorder.fresh() } else { recorder };
        let answers = suite.run(&plan, &mut recorder)?;
        recorder.finish()?;
        show_failures(&answers);
        Ok(answers)
    }
}

/// Assigns priorities. If no assignment holds, tasks with shorter deadlines get higher priorities,
/// so that there is something to show.
fn assign(set: &mut Set, model: &Model, costs: &Costs) {
    let found = search::assign(set, model, costs).unwrap_or_else(|| {
        let mut order: Vec<usize> = (0..set.tasks.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(set.tasks[index].deadline));
        let mut priorities = vec![0; order.len()];
        for (priority, index) in (1..).zip(order) {
            priorities[index] = priority;
        }
        priorities
    });
    for (task, priority) in set.tasks.iter_mut().zip(found) {
        task.priority = priority;
    }
}

impl Images {
    fn of(kernel: &str, answers: &[Answer]) -> Self {
        let own = || answers.iter().filter(|answer| answer.key().kernel.as_str() == kernel);
        let series = own().filter_map(Answer::series);
        let compilers: BTreeSet<&str> =
            series.map(|series| series.provenance.compiler.version.as_str()).collect();
        let compiler = compilers.into_iter().collect::<Vec<_>>().join(", ");
        Self { clock_notes: Answer::clock_notes(own()), compiler }
    }
}

fn figure(answer: &Answer) -> ((String, String), Result<Spans, String>) {
    let key = answer.key();
    let scenario = key.scenario.to_string();
    let found = match answer {
        Answer::Measured(series) => {
            spans(series).ok_or_else(|| format!("{scenario} produced no samples"))
        }
        Answer::NotApplicable { reason, .. } => Err(format!("{scenario} has no answer: {reason}")),
        Answer::Failed { failure, .. } => Err(format!("{scenario} failed: {failure}")),
    };
    ((key.kernel.to_string(), scenario), found)
}

/// Returns the least and the largest sample over all layouts.
fn spans(series: &Series) -> Option<Spans> {
    let own = series.readings.samples()?;
    let all = std::iter::once(own).chain(series.placements.iter().map(|one| &one.samples));
    let mut found: Option<Spans> = None;
    for samples in all {
        let Some((least, worst)) = extremes(samples) else { continue };
        let so_far = found.unwrap_or(Spans { least, worst, samples: 0 });
        found = Some(Spans {
            least: so_far.least.min(least),
            worst: so_far.worst.max(worst),
            samples: so_far.samples + samples.len(),
        });
    }
    // The middle layout is also among the placements.
    let counted_twice = if series.placements.is_empty() { 0 } else { own.len() };
    found.map(|spans| Spans { samples: spans.samples - counted_twice, ..spans })
}

fn extremes(samples: &rtmark_model::Samples) -> Option<(u64, u64)> {
    let values = || samples.iter().map(|(value, _)| value);
    Some((values().min()?, values().max()?))
}
