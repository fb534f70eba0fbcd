//! Carries out a plan from beginning to end: build, check, run, answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rtmark_firmware::probes::{self, index_of};
use rtmark_firmware::{BuildSystem, Builder, BuiltImage, FirmwareError, Layouts};
use rtmark_model::{Answer, Counted, Failure, FailureKind, Firmware, Key, Scenario, Series};
use rtmark_observe::{Lines, Map, SpanCost, StackUse};
use rtmark_sim::Soc;
use rtmark_store::{Fingerprint, fingerprint};
use rtmark_units::Cycles;

use crate::clocked::can_be_clocked;
use crate::explain::{Explained, explain};
use crate::footprint::stacks;
use crate::images::{Images, Program, Ready, build, check, every_image, failure_of};
use crate::measure::Probed;
use crate::observer::{Event, SuiteObserver};
use crate::placed::{Placed, Placements};
use crate::plan::{Plan, Unit};
use crate::platform::Platform;

mod answers;
mod schedule;
mod staged;

/// Carries out plans.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Builds the firmware.
    pub builder: Builder,
    /// The version of rtmark.
    pub rtmark: String,
    /// SHA-256 of the running program, if known: without it no answer is recalled.
    pub rtmark_sha256: Option<String>,
    /// A budget for every scenario that replaces the catalogue's.
    pub max_cycles: Option<Cycles>,
    /// The number of code layouts in which a scenario is measured on the simulator.
    pub placements: Placements,
}

struct Task<'a> {
    unit: &'a Unit,
    scenario: &'a Scenario,
    image: &'a Ready,
    /// The number of layouts in which it runs.
    layouts: usize,
    budget: Cycles,
    question: Option<Fingerprint>,
}

impl<'a> Task<'a> {
    /// Returns the cycles that all its layouts may take in total.
    fn whole_budget(&self) -> Cycles {
        Cycles(self.budget.0.saturating_mul(self.images().len() as u64))
    }

    /// Returns the layouts in which it runs, the linker's own first.
    fn images(&self) -> Vec<&'a Ready> {
        let placed = self.image.placed.iter().take(self.layouts.saturating_sub(1));
        std::iter::once(self.image).chain(placed).collect()
    }
}

/// Why probes in the firmware cannot measure a scenario.
const NO_CLOCK: &str = "Its span begins or ends with the reset, or where an exception becomes \
                        pending or has returned, or, in Rust, at a function's entry: no instruction there \
                        could read a counter.";

/// Why probes in the firmware cannot count cycles awake.
const NO_SLEEP: &str = "It counts the cycles in which the core is awake: a counter that runs on \
                        while the core sleeps cannot count them.";

/// The line tables of images, by the images' SHA-256; each is read on first use.
type LineTables<'a> = BTreeMap<&'a str, Option<Lines<'a>>>;

impl Probed {
    fn map<'a, 'b>(&'a self, sha256: &'a str, tables: &'b mut LineTables<'a>) -> Map<'b, 'a>
    where
        'a: 'b,
    {
        let lines = tables.entry(sha256).or_insert_with(|| Lines::new(&self.elf));
        Map::new(&self.image, lines.as_ref())
    }
}

/// The result of a run, or why there is none.
type Done = Result<Placed, Failure>;

impl Suite {
    /// Creates a suite that recalls no answers, keeps to the catalogue's budgets, and measures the
    /// linker's own layout alone. `rtmark` is the version that answers will name.
    pub fn plain(builder: Builder, rtmark: &str) -> Self {
        Self {
            builder,
            rtmark: rtmark.to_owned(),
            rtmark_sha256: None,
            max_cycles: None,
            placements: Placements::ONE,
        }
    }

    /// Builds what the plan asks for, and explains what each scenario's typical sample was spent on, or
    /// returns the answer that takes its place. Results are in the plan's order.
    pub fn explain<O: SuiteObserver>(
        &self,
        plan: &Plan,
        observer: &mut O,
    ) -> Vec<Result<Explanation, Answer>> {
        let commit = self.builder.tree().commit();
        self.observe(plan, observer, |task, soc, image| {
            let key = task.unit.key(task.scenario);
            let Explained { measured, sample, began, cost } =
                explain(soc, image, task.scenario, task.budget, |_| {})
                    .map_err(|failure| Answer::Failed { key: key.clone(), failure })?;
            let series = self.series(task, key, measured, commit.as_deref());
            Ok(Explanation { series, sample, began, cost })
        })
    }

    /// Builds what the plan asks for, and reports the memory that each scenario uses, or returns the
    /// answer that takes its place. Results are in the plan's order.
    pub fn footprints<O: SuiteObserver>(
        &self,
        plan: &Plan,
        observer: &mut O,
    ) -> Vec<Result<Footprint, Answer>> {
        self.observe(plan, observer, |task, soc, image| {
            let key = task.unit.key(task.scenario);
            match stacks(soc, image, task.scenario, task.budget) {
                Ok(Ok(stacks)) => {
                    Ok(Footprint { key, firmware: task.image.firmware.clone(), stacks })
                }
                Ok(Err(reason)) => Err(Answer::NotApplicable { key, reason }),
                Err(failure) => Err(Answer::Failed { key, failure }),
            }
        })
    }

    /// Builds what the plan asks for and lets `watch` run each scenario on the simulator; scenarios
    /// without a run have their answers instead. Results are in the plan's order.
    fn observe<O: SuiteObserver, T: Send>(
        &self,
        plan: &Plan,
        observer: &mut O,
        watch: impl Fn(&Task<'_>, &Soc, &Probed) -> Result<T, Answer> + Sync,
    ) -> Vec<Result<T, Answer>> {
        let images = self.build(plan, observer, Placements::ONE);
        let resolved = self.resolve_tasks(plan, &images, observer);
        let observed = resolved.into_par_iter().map(|resolved| {
            let (key, task) = resolved?;
            let (Platform::Sim(file, _), Program::Observed(image)) =
                (&task.unit.platform, &task.image.program)
            else {
                let reason = "Only the simulator can be observed.".to_owned();
                return Err(Answer::NotApplicable { key, reason });
            };
            if task.scenario.held_back.is_some() {
                let reason = "Its sample is not a span: use `rtmark worst --load`.".to_owned();
                return Err(Answer::NotApplicable { key, reason });
            }
            watch(&task, &file.soc, image)
        });
        observed.collect()
    }

    /// Resolves the plan into tasks, using the built images.
    fn resolve_tasks<'a, O: SuiteObserver>(
        &self,
        plan: &'a Plan,
        images: &'a [Images],
        observer: &mut O,
    ) -> Vec<Result<(Key, Task<'a>), Answer>> {
        let mut resolved = Vec::new();
        for (unit, images) in plan.units.iter().zip(images) {
            for (scenario, excuse) in &unit.scenarios {
                let key = unit.key(scenario);
                resolved.push(
                    match self.resolve_task(plan, unit, scenario, excuse.as_ref(), images) {
                        Resolution::NotApplicable(reason) => {
                            Err(Answer::NotApplicable { key, reason })
                        }
                        Resolution::Failed(failure) => Err(Answer::Failed { key, failure }),
                        Resolution::Run(task) => Ok((key, task)),
                    },
                );
            }
        }
        let tasks = || resolved.iter().filter_map(|resolved| resolved.as_ref().ok());
        let budget = tasks().map(|(_, task)| task.budget).sum();
        let scenarios = tasks().count();
        observer.event(Event::Running { unit: None, scenarios, budget });
        resolved
    }

    fn build<O: SuiteObserver>(
        &self,
        plan: &Plan,
        observer: &mut O,
        placements: Placements,
    ) -> Vec<Images> {
        let wanted = firmwares(plan).count();
        observer.event(Event::Building { firmwares: wanted });
        let mut images: Vec<Images> = plan.units.iter().map(|_| Images::new()).collect();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let built = move |at, built| sender.send((at, built)).is_ok();
            let jobs = rayon::current_num_threads() / wanted.max(1);
            scope.spawn(move || self.build_all(plan, placements, &|_| jobs, &built));
            for (at, built) in receiver {
                images[at] = checked(&plan.units[at], built, observer);
            }
        });
        images
    }

    /// Builds what the plan asks for, in parallel, one platform after the other. `begin` is called with each firmware's
    /// index in the plan, may wait, and returns how many processors the build may occupy; `report` is called with the
    /// index, too, and returns whether to go on.
    fn build_all(
        &self,
        plan: &Plan,
        placements: Placements,
        begin: &(impl Fn(usize) -> usize + Sync),
        report: &(impl Fn(usize, Result<Built, FirmwareError>) -> bool + Send + Clone),
    ) {
        let in_turn = plan.platforms().into_iter().flat_map(|units| {
            let mut wanted: Vec<_> = firmwares(plan).filter(|(at, _)| units.contains(at)).collect();
            // What Cargo builds takes longest.
            wanted.sort_by_key(|(_, unit)| unit.kernel.manifest.build != BuildSystem::Cargo);
            wanted
        });
        let wanted: Vec<_> = in_turn.collect();
        let threads = rayon::current_num_threads();
        let (wanted, next) = (&wanted, &AtomicUsize::new(0));
        // Separate threads, so that those that run scenarios do not wait for compilers.
        std::thread::scope(|scope| {
            for _ in 0..threads.min(wanted.len()) {
                let report = report.clone();
                scope.spawn(move || {
                    while let Some(&(at, unit)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let mut builder = self.builder.clone();
                        builder.jobs = builder.jobs.max(begin(at));
                        let target = unit.target();
                        let layouts = |image: &str| unit.layouts(image, placements);
                        let built = build(unit, &builder).and_then(|images| {
                            let (kernel, setting_changes) = (&unit.kernel, &unit.setting_changes);
                            let placed = builder.place(
                                kernel,
                                &target,
                                setting_changes,
                                &images,
                                layouts,
                            )?;
                            Ok((images, placed))
                        });
                        if !report(at, built) {
                            break;
                        }
                    }
                });
            }
        });
    }

    fn resolve_task<'a>(
        &self,
        plan: &Plan,
        unit: &'a Unit,
        scenario: &'a Scenario,
        excuse: Option<&String>,
        images: &'a Images,
    ) -> Resolution<'a> {
        let id = &scenario.id;
        let manifest = &unit.kernel.manifest;
        let kernel = &manifest.id;
        let image = images.get(id.group());
        let held = match image {
            Some(Ok(ready)) => index_of(ready.program.records(), scenario.in_firmware()),
            _ => None,
        };
        let names = [id, scenario.in_firmware()];
        let never = names.iter().any(|name| manifest.never_applicable(name).is_some());
        let contradiction = |message: String, hint: &str| {
            Resolution::Failed(Failure {
                kind: FailureKind::Build,
                message,
                hint: hint.into(),
                console: String::new(),
            })
        };
        match (excuse, held, image) {
            (Some(_), Some(_), _) if never => contradiction(
                format!("{kernel} declares {id} not applicable, but its firmware contains it"),
                "remove it from one of the two: kernel.toml or the image",
            ),
            (Some(reason), ..) => Resolution::NotApplicable(reason.clone()),
            (None, _, Some(Err(failure))) => Resolution::Failed(failure.clone()),
            (None, Some(_), Some(Ok(Ready { program: Program::Clocked(image), .. })))
                if !can_be_clocked(&image.records, scenario.in_firmware()) =>
            {
                Resolution::NotApplicable(NO_CLOCK.to_owned())
            }
            (None, Some(_), Some(Ok(Ready { program: Program::Clocked(_), .. })))
                if scenario.span.counted == Counted::Awake =>
            {
                Resolution::NotApplicable(NO_SLEEP.to_owned())
            }
            (None, Some(index), Some(Ok(ready))) => {
                let clock = u64::from(unit.platform.clock().0);
                let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
                let budget = self.max_cycles.unwrap_or(budget);
                let layouts = self.placements.of(scenario) as usize;
                let mut task =
                    Task { unit, scenario, image: ready, layouts, budget, question: None };
                task.question = self.question(&task, index);
                Resolution::Run(task)
            }
            (None, _, Some(Ok(ready))) if unit.kernel.own => {
                let mut of_image = probes::scenarios(ready.program.records());
                match of_image.find(|name| !plan.known.contains(*name)) {
                    Some(unknown) => contradiction(
                        format!(
                            "{kernel}'s image {} contains {unknown}, which no catalogue describes, but \
                             not {id}",
                            id.group()
                        ),
                        "if it is meant to be the same scenario, correct its name in the firmware or \
                         in scenarios.toml; otherwise describe the other one, too",
                    ),
                    None => Resolution::NotApplicable(format!(
                        "{}'s firmware does not contain it.",
                        unit.kernel.manifest.name
                    )),
                }
            }
            (None, _, _) => contradiction(
                format!("{kernel} has neither an answer to {id} nor a reason why not"),
                "add the scenario to its firmware, or a [[not_applicable]] to its kernel.toml",
            ),
        }
    }

    /// Returns the fingerprint of everything that the samples depend on.
    fn question(&self, task: &Task<'_>, index: u32) -> Option<Fingerprint> {
        let &Task { unit, scenario, image: ready, budget, .. } = task;
        // A board is measured every time.
        if matches!(unit.platform, Platform::Board(_)) {
            return None;
        }
        let program = self.rtmark_sha256.as_deref()?;
        let priority = scenario.held_back.as_ref().map(|looked| unit.priority_of(looked.interrupt));
        let numbers = format!("{index} {} {} {priority:?}", scenario.samples, budget.0);
        // Which samples are kept, and whether a run is good, depend on these, too.
        let Scenario { span, restarts, lone_ends, own, .. } = scenario;
        let span = format!("{span:?} {restarts:?} {lone_ends:?} {own}");
        let id = scenario.id.as_str();
        let (elf, soc) = (ready.firmware.elf_sha256.as_str(), unit.platform.sha256());
        let backend = unit.platform.backend().name();
        let basis = unit.platform.basis().name();
        let model = ready.emulator.as_deref().unwrap_or(rtmark_sim::TIMING_MODEL);
        let common = [backend, basis, program, model, elf, soc, id, &span, &numbers];
        let images = task.images();
        let placed = images[1..].iter().map(|layout| layout.firmware.elf_sha256.as_str());
        Some(fingerprint(common.into_iter().chain(placed)))
    }
}

/// The images of a firmware, and the same images in other layouts.
type Built = (BTreeMap<String, BuiltImage>, Layouts);

/// Returns the firmwares that a plan builds, with their indices.
fn firmwares(plan: &Plan) -> impl Iterator<Item = (usize, &Unit)> {
    plan.units.iter().enumerate().filter(|(_, unit)| unit.needs_firmware())
}

/// Reports whether a firmware was built, and reads its images.
fn checked<O: SuiteObserver>(
    unit: &Unit,
    built: Result<Built, FirmwareError>,
    observer: &mut O,
) -> Images {
    observer.event(Event::Built { unit, result: built.as_ref().map(|_| ()) });
    match built {
        Ok((built, placed)) => check(unit, built, placed),
        Err(error) => every_image(unit, &failure_of(&error)),
    }
}

/// The memory that a kernel uses in a scenario.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The kernel, the scenario, the soc.
    pub key: Key,
    /// The image that holds the scenario.
    pub firmware: Firmware,
    /// The stacks that the scenario used.
    pub stacks: Vec<StackUse>,
}

/// The explanation of a scenario's typical sample.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// All samples, and what produced them.
    pub series: Series,
    /// The index of the explained sample, from 0.
    pub sample: u64,
    /// When it began, in cycles since reset.
    pub began: Cycles,
    /// What its cycles were spent on.
    pub cost: SpanCost,
}

enum Resolution<'a> {
    NotApplicable(String),
    Failed(Failure),
    Run(Task<'a>),
}
