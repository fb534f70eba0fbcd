//! What kernels cost, measured as `rtmark run` does, and what follows for a system.

use std::collections::BTreeMap;
use std::path::Path;

use rtmark_firmware::{Kernel, Target, Variant};
use rtmark_model::{Answer, Basis, Pattern, Series};
use rtmark_plan::{Chip, Costs, KernelPlan, Model, Set, Spans, System, Timer, Work, search};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Placements, Plan, Platform, Suite, Unit};
use rtmark_sim::MemoryKind;
use rtmark_store::Store;
use rtmark_taskset::Effort;

use super::{function, run, wanted_slack};
use crate::cli::Verbosity;
use crate::commands::run::{RunRecorder, command_line, show_failures, suite};
use crate::error::CliError;
use crate::exit::Exit;
use crate::shelf;
use crate::sources::FoundSources;
use crate::tools::refuse_without_tools;

/// What is measured with.
pub struct Bench<'a> {
    pub system: &'a System,
    /// Where the system's file is.
    pub folder: &'a Path,
    pub soc: &'a SocFile,
    pub found: &'a FoundSources,
    pub store: &'a Store,
    /// Which kernels are wanted; all without.
    pub wanted: &'a [Pattern],
    pub placements: u32,
    pub fresh: bool,
    /// Whether sets are run, and how much is tried then.
    pub runs: Option<Effort>,
    pub timelines: run::Timelines,
    pub talk: Verbosity,
}

/// A kernel of the file's with what analysis knows of it.
struct Candidate<'a> {
    kernel: &'a Kernel,
    model: Model,
    variant: Variant,
}

/// What scenarios brought, by kernel and scenario.
type Figures = BTreeMap<(String, String), Result<Spans, String>>;

/// The kernels of a system with what they cost, in cycles at the soc's own clock.
pub struct Measured<'a> {
    candidates: Vec<Candidate<'a>>,
    figures: Figures,
}

impl Bench<'_> {
    /// The soc's own clock, in cycles a second.
    pub fn hertz(&self) -> u64 {
        self.soc.soc.clock.0.into()
    }

    /// Measures what the kernels cost.
    pub fn measured(&self) -> Result<Measured<'_>, CliError> {
        let candidates = self.candidates()?;
        // Which scenarios there are to be depends on no execution time.
        let shape = self.set(self.hertz(), &mut |_| Ok(1))?;
        let figures = self.measure(&candidates, &shape)?;
        Ok(Measured { candidates, figures })
    }

    /// Answers for each kernel at a clock, in cycles a second.
    pub fn plans(&self, measured: &Measured<'_>, clock: u64) -> Result<Vec<KernelPlan>, CliError> {
        let Measured { candidates, figures } = measured;
        let mut plans = Vec::new();
        for candidate in candidates {
            let name = candidate.kernel.manifest.id.as_str();
            let mut spans = |scenario: &str| {
                let found = figures.get(&(name.to_owned(), scenario.to_owned())).cloned();
                found.unwrap_or_else(|| Err(format!("there is no scenario {scenario}")))
            };
            let mut set = self.set(clock, &mut |work| match work {
                Work::Scenario(id) => spans(id).map(|spans| spans.worst),
                Work::Function(wanted) => function::longest(self.soc, self.folder, wanted),
                Work::Time(time) => Ok(time.cycles(self.hertz())),
            })?;
            let costs = candidate.model.measured(&set, &mut spans);
            if self.system.assigns() {
                assign(&mut set, &candidate.model, &costs);
            }
            let wanted = wanted_slack(self.system);
            let run = self.runs.map(|effort| {
                let Candidate { kernel, model, variant } = candidate;
                let timelines = self.timelines;
                let subject = run::Subject { kernel, model, variant, soc: self.soc, timelines };
                subject.run(&self.found.tree, &set, effort, self.talk)
            });
            plans.push(KernelPlan {
                run: run.transpose()?,
                version: candidate.kernel.manifest.version.clone(),
                profile: candidate.variant.to_string(),
                ..KernelPlan::new(&set, &candidate.model, &costs, wanted)
            });
        }
        Ok(plans)
    }

    fn set(
        &self,
        clock: u64,
        work: &mut dyn FnMut(&Work) -> Result<u64, String>,
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
            let name = named.get_ref();
            let wanted = self.wanted.is_empty() || self.wanted.iter().any(|it| it.matches(name));
            if !wanted {
                continue;
            }
            let refuse = |problem: String| self.system.refusal(named, "kernels", problem);
            let kernel = self.found.kernels.iter().find(|it| it.manifest.id.as_str() == name);
            let kernel = kernel.ok_or_else(|| {
                refuse(format!("there is no kernel `{name}`; `rtmark list kernels` shows them"))
            })?;
            let model = Model::of(name).ok_or_else(|| {
                let known = Model::KERNELS.join(", ");
                refuse(format!("analysis knows no model of {name}; it has those of {known}"))
            })?;
            let mut variant = self.variant(kernel, &model)?;
            let switched = variant
                .of(&kernel.manifest, self.soc.soc.core.name())
                .map_err(|reason| refuse(format!("{name}: {reason}")))?;
            let built = switched.at(&kernel.manifest, &Target::from(&self.soc.soc));
            let mut model = model;
            if model.timer == Timer::Alarm && built.get("tick_hz").is_some() {
                // Without a timer that it has a driver for, this kernel counts by a tick as well.
                model.timer = Timer::Tick;
                variant = self.variant(kernel, &model)?;
            }
            // Each task has an interrupt level of its own, and the timer the most urgent one.
            let levels = 1_usize << self.soc.soc.priority_bits;
            if name == "rtic" && self.system.task.len() + 1 > levels {
                let tasks = self.system.task.len();
                let problem = format!(
                    "rtic: {tasks} tasks and the timer want levels of their own, and the soc has \
                     {levels}"
                );
                return Err(refuse(problem).into());
            }
            candidates.push(Candidate { kernel, model, variant });
        }
        if candidates.is_empty() {
            let message = "none of the file's kernels fits --kernel";
            let hint = "name one of `kernels` in the file";
            return Err(CliError::new(Exit::NothingSelected, message, hint));
        }
        Ok(candidates)
    }

    /// The profile, with the tick that the file wants where the kernel releases tasks by one.
    fn variant(&self, kernel: &Kernel, model: &Model) -> Result<Variant, CliError> {
        let profile = self.system.profile.as_deref().unwrap_or(rtmark_firmware::DEFAULT_PROFILE);
        let variant: Variant = profile.parse()?;
        let Some(tick) = &self.system.tick else { return Ok(variant) };
        let has_tick = kernel.manifest.switches.contains_key("tick_hz");
        if !has_tick || model.timer == Timer::Alarm {
            return Ok(variant);
        }
        let hertz = u64::from(self.soc.soc.clock.0);
        let cycles = tick.get_ref().cycles(hertz).max(1);
        if !hertz.is_multiple_of(cycles) {
            let problem = format!("{cycles} cycles are no whole part of a second");
            return Err(self.system.refusal(tick, "tick", problem).into());
        }
        let value = (hertz / cycles).to_string();
        Ok(variant.with("tick_hz", rtmark_firmware::chosen(&format!("tick_hz={value}"))?.1))
    }

    /// Measures all scenarios that bounds take, or recalls them.
    fn measure(&self, candidates: &[Candidate<'_>], shape: &Set) -> Result<Figures, CliError> {
        let platform = Platform::Sim(Box::new(self.soc.clone()), Basis::Cycles);
        let mut units = Vec::new();
        for candidate in candidates {
            let mut wanted = candidate.model.scenarios(shape);
            wanted.extend(self.system.task.iter().filter_map(|task| match task.work.get_ref() {
                Work::Scenario(id) => Some(id.clone()),
                _ => None,
            }));
            let scenarios = self.found.catalogue.scenarios().iter();
            let scenarios = scenarios.filter(|it| wanted.iter().any(|id| id == it.id.as_str()));
            units.push(Unit::new(candidate.kernel, &platform, &candidate.variant, scenarios));
        }
        let plan = Plan { units };
        let suite = Suite {
            placements: Placements::Exactly(self.placements),
            ..suite(self.found.tree.clone(), None)
        };
        refuse_without_tools(&suite.builder, &plan)?;
        let revision = shelf::commit_here().or_else(|| suite.builder.tree().commit());
        let run = self.store.begin(&command_line(), &suite.rtmark, revision.as_deref())?;
        let keeper = RunRecorder::new(self.store, run, self.talk);
        let mut keeper = if self.fresh { keeper.fresh() } else { keeper };
        let answers = suite.run(&plan, &mut keeper)?;
        keeper.finish()?;
        show_failures(&answers);
        Ok(answers.iter().map(figure).collect())
    }
}

/// Where no order holds, tasks with shorter deadlines go first, so that something can be shown.
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

fn figure(answer: &Answer) -> ((String, String), Result<Spans, String>) {
    let key = answer.key();
    let scenario = key.scenario.to_string();
    let found = match answer {
        Answer::Measured(series) => {
            spans(series).ok_or_else(|| format!("{scenario} brought no samples"))
        }
        Answer::NotApplicable { reason, .. } => Err(format!("{scenario} has no answer: {reason}")),
        Answer::Failed { failure, .. } => Err(format!("{scenario} failed: {failure}")),
    };
    ((key.kernel.to_string(), scenario), found)
}

/// The least and the largest sample of all layouts.
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
    // The layout in the middle is among the layouts.
    let counted_twice = if series.placements.is_empty() { 0 } else { own.len() };
    found.map(|spans| Spans { samples: spans.samples - counted_twice, ..spans })
}

fn extremes(samples: &rtmark_model::Samples) -> Option<(u64, u64)> {
    let values = || samples.iter().map(|(value, _)| value);
    Some((values().min()?, values().max()?))
}
