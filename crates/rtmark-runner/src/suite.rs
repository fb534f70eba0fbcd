//! The whole way of a plan: build, check, run, answer.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use rayon::prelude::*;
use rtmark_firmware::{Builder, BuiltImage, FirmwareError, probes};
use rtmark_model::{
    Answer, Basis, Failure, FailureKind, Firmware, Key, Provenance, Readings, Scenario, Series,
};
use rtmark_sim::Image;
use rtmark_store::{Fingerprint, fingerprint};
use rtmark_units::Cycles;

use crate::measure::{Measured, Probed, measure};
use crate::plan::{Plan, Unit};

/// What happens while a plan is carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// So many firmwares are about to be built.
    Building(usize),
    /// A firmware is built, or is not.
    Built(&'a Unit, Result<(), &'a FirmwareError>),
    /// So many scenarios are about to run; they may take so many cycles together.
    Running(usize, Cycles),
    /// A scenario has advanced by so many cycles.
    Advanced(Cycles),
    /// A scenario has its answer. The cycles are what it has not used of its budget.
    Answered(&'a Answer, Origin, Cycles),
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was measured now, or said by the kernel.
    Fresh,
    /// The same firmware on the same soc has given it before.
    Recalled,
}

/// What looks on while a plan is carried out, and keeps the answers.
pub trait Ledger {
    /// Why an answer could not be kept.
    type Error;

    /// Is told what happens.
    fn event(&mut self, event: Event<'_>);

    /// An answer given before to exactly this question, if it is known and wanted.
    fn recall(&mut self, question: &Fingerprint) -> Option<Answer>;

    /// Keeps an answer.
    ///
    /// # Errors
    /// When it cannot; nothing more is then run.
    fn record(
        &mut self,
        answer: &Answer,
        question: Option<&Fingerprint>,
    ) -> Result<(), Self::Error>;
}

/// Carries out plans.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Builds the firmware.
    pub builder: Builder,
    /// The version of rtmark.
    pub rtmark: String,
    /// SHA-256 of the running program, where it is known: without it no answer is recalled.
    pub rtmark_sha256: Option<String>,
    /// A budget for every scenario instead of the catalogue's.
    pub max_cycles: Option<Cycles>,
}

struct Task<'a> {
    unit: &'a Unit,
    scenario: &'a Scenario,
    image: &'a Ready,
    budget: Cycles,
    question: Option<Fingerprint>,
}

/// An image that was built, read and checked.
struct Ready {
    probed: Probed,
    firmware: Firmware,
    compiler: rtmark_model::Compiler,
}

/// The images of a unit, by group, each with what is wrong with it if anything is.
type Images = BTreeMap<String, Result<Ready, Failure>>;

enum Message {
    Advanced(Cycles),
    Done(usize, Result<Measured, Failure>, Cycles),
}

impl Suite {
    /// Builds and runs what the plan asks for. The answers are in the order of
    /// tables: soc, scenario, kernel.
    ///
    /// # Errors
    /// When the ledger cannot keep an answer. What goes wrong with a scenario is an
    /// answer, not an error.
    pub fn run<L: Ledger>(&self, plan: &Plan, ledger: &mut L) -> Result<Vec<Answer>, L::Error> {
        let images = self.build(plan, ledger);
        let commit = self.builder.tree().commit();
        let mut answers: Vec<Answer> = Vec::new();
        let mut tasks: Vec<Task<'_>> = Vec::new();
        let settle =
            |answer: Answer, origin, question: Option<&Fingerprint>, rest, ledger: &mut L| {
                ledger.record(&answer, question)?;
                ledger.event(Event::Answered(&answer, origin, rest));
                Ok::<_, L::Error>(answer)
            };
        for (unit, images) in plan.units.iter().zip(&images) {
            for (scenario, excuse) in &unit.scenarios {
                let key = unit.key(&plan.profile, scenario);
                let answer = match self.ask(unit, scenario, excuse.as_ref(), images) {
                    Ask::Said(reason) => Answer::NotApplicable { key, reason },
                    Ask::Failed(failure) => Answer::Failed { key, failure },
                    Ask::Run(task) => {
                        let known = task.question.as_ref().and_then(|q| ledger.recall(q));
                        let Some(Answer::Measured(known)) = known else {
                            tasks.push(task);
                            continue;
                        };
                        let Readings::Exact(samples) = known.readings else {
                            tasks.push(task);
                            continue;
                        };
                        let measured =
                            Measured { samples, unpaired: known.unpaired, facts: known.facts };
                        let answer = self.answer(&task, key, measured, commit.as_deref());
                        let question = task.question.as_ref();
                        answers.push(settle(
                            answer,
                            Origin::Recalled,
                            question,
                            Cycles::ZERO,
                            ledger,
                        )?);
                        continue;
                    }
                };
                answers.push(settle(answer, Origin::Fresh, None, Cycles::ZERO, ledger)?);
            }
        }

        // The longest first, so that no processor is left with one of them at the end.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.budget));
        ledger.event(Event::Running(tasks.len(), tasks.iter().map(|task| task.budget).sum()));
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let tasks = &tasks;
            scope.spawn(move || run_all(tasks, &sender));
            // When this returns early, the receiver is dropped and the runs stop.
            for message in receiver {
                match message {
                    Message::Advanced(cycles) => ledger.event(Event::Advanced(cycles)),
                    Message::Done(index, result, rest) => {
                        let task = &tasks[index];
                        let key = task.unit.key(&plan.profile, task.scenario);
                        let (answer, question) = match result {
                            Ok(measured) => {
                                let answer = self.answer(task, key, measured, commit.as_deref());
                                (answer, task.question.as_ref())
                            }
                            Err(failure) => (Answer::Failed { key, failure }, None),
                        };
                        answers.push(settle(answer, Origin::Fresh, question, rest, ledger)?);
                    }
                }
            }
            Ok::<(), L::Error>(())
        })?;
        let place = |answer: &Answer| plan_position(plan, answer.key());
        answers.sort_by_cached_key(place);
        Ok(answers)
    }

    fn build<L: Ledger>(&self, plan: &Plan, ledger: &mut L) -> Vec<Images> {
        let wanted = plan.units.iter().filter(|unit| unit.needs_firmware()).count();
        ledger.event(Event::Building(wanted));
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut images: Vec<Images> = plan.units.iter().map(|_| Images::new()).collect();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let units = plan.units.par_iter().enumerate();
                units.filter(|(_, unit)| unit.needs_firmware()).for_each_with(
                    sender,
                    |sender, (index, unit)| {
                        let built = self.builder.build(&unit.kernel, &unit.soc.soc, &plan.profile);
                        // Nobody listens any more only when everything is over.
                        let _ = sender.send((index, built));
                    },
                );
            });
            for (index, built) in receiver {
                let unit = &plan.units[index];
                ledger.event(Event::Built(unit, built.as_ref().map(|_| ())));
                images[index] = match built {
                    Ok(built) => check(unit, built),
                    Err(error) => every_image(unit, &failure_of(&error)),
                };
            }
        });
        images
    }

    fn ask<'a>(
        &self,
        unit: &'a Unit,
        scenario: &'a Scenario,
        excuse: Option<&String>,
        images: &'a Images,
    ) -> Ask<'a> {
        let id = &scenario.id;
        let kernel = &unit.kernel.manifest.id;
        let image = images.get(id.group());
        let held = match image {
            Some(Ok(ready)) => ready.probed.index_of(id),
            _ => None,
        };
        let contradiction = |message: String, hint: &str| {
            Ask::Failed(Failure {
                kind: FailureKind::Build,
                message,
                hint: hint.into(),
                console: String::new(),
            })
        };
        match (excuse, held, image) {
            (Some(reason), None, _) => Ask::Said(reason.clone()),
            (Some(_), Some(_), _) => contradiction(
                format!("{kernel} says that {id} does not apply, and its firmware holds it"),
                "take it out of one of the two: kernel.toml or the image",
            ),
            (None, _, Some(Err(failure))) => Ask::Failed(failure.clone()),
            (None, Some(index), Some(Ok(ready))) => {
                let clock = u64::from(unit.soc.soc.clock.0);
                let budget = Cycles(scenario.budget_ms.saturating_mul(clock) / 1000);
                let budget = self.max_cycles.unwrap_or(budget);
                let question = self.question(unit, scenario, ready, index, budget);
                Ask::Run(Task { unit, scenario, image: ready, budget, question })
            }
            (None, _, _) => contradiction(
                format!("{kernel} has neither an answer to {id} nor a reason why not"),
                "add the scenario to its firmware, or a [[not_applicable]] to its kernel.toml",
            ),
        }
    }

    /// Everything that the samples depend on.
    fn question(
        &self,
        unit: &Unit,
        scenario: &Scenario,
        ready: &Ready,
        index: u32,
        budget: Cycles,
    ) -> Option<Fingerprint> {
        let program = self.rtmark_sha256.as_deref()?;
        let numbers = format!("{index} {} {}", scenario.samples, budget.0);
        let span = format!("{:?}", scenario.span);
        let id = scenario.id.as_str();
        let (elf, soc) = (ready.firmware.elf_sha256.as_str(), unit.soc.sha256.as_str());
        let model = rtmark_sim::TIMING_MODEL;
        Some(fingerprint(["sim", program, model, elf, soc, id, &span, &numbers]))
    }

    fn answer(
        &self,
        task: &Task<'_>,
        key: Key,
        measured: Measured,
        commit: Option<&str>,
    ) -> Answer {
        let unit = task.unit;
        Answer::Measured(Box::new(Series {
            key,
            basis: Basis::Cycles,
            span: task.scenario.span.clone(),
            clock: unit.soc.soc.clock,
            readings: Readings::Exact(measured.samples),
            unpaired: measured.unpaired,
            facts: measured.facts,
            flags: Vec::new(),
            provenance: Provenance {
                rtmark: self.rtmark.clone(),
                rtmark_sha256: self.rtmark_sha256.clone(),
                timing_model: Some(rtmark_sim::TIMING_MODEL.to_owned()),
                soc_sha256: unit.soc.sha256.clone(),
                core: unit.soc.soc.core.name().to_owned(),
                firmware: task.image.firmware.clone(),
                compiler: task.image.compiler.clone(),
                settings: unit.kernel.manifest.settings.clone(),
                commit: commit.map(str::to_owned),
                log: None,
            },
        }))
    }
}

enum Ask<'a> {
    Said(String),
    Failed(Failure),
    Run(Task<'a>),
}

fn run_all(tasks: &[Task<'_>], sender: &Sender<Message>) {
    let tasks = tasks.iter().enumerate().par_bridge();
    // An error means that nobody listens any more: stop.
    let _ = tasks.try_for_each_with(sender.clone(), |sender, (index, task)| {
        let mut before = Cycles::ZERO;
        let advanced = |now: Cycles| {
            let _ = sender.send(Message::Advanced(now.saturating_sub(before)));
            before = now;
        };
        let result =
            measure(&task.unit.soc.soc, &task.image.probed, task.scenario, task.budget, advanced);
        sender.send(Message::Done(index, result, task.budget.saturating_sub(before)))
    });
}

fn plan_position(plan: &Plan, key: &Key) -> (usize, usize, usize) {
    let soc = plan.units.iter().position(|unit| unit.soc.soc.name == key.soc);
    let unit = plan.units.iter().position(|unit| unit.kernel.manifest.id == key.kernel);
    let scenarios = plan.units.first().map(|unit| unit.scenarios.as_slice()).unwrap_or_default();
    let scenario = scenarios.iter().position(|(scenario, _)| scenario.id == key.scenario);
    let last = usize::MAX;
    (soc.unwrap_or(last), scenario.unwrap_or(last), unit.unwrap_or(last))
}

fn failure_of(error: &FirmwareError) -> Failure {
    let (kind, hint) = match error {
        FirmwareError::Tool(missing) => (FailureKind::ToolMissing, missing.install.clone()),
        _ => (
            FailureKind::Build,
            "the compiler's words are above; `rtmark doctor` checks the tools".into(),
        ),
    };
    Failure { kind, message: error.to_string(), hint, console: String::new() }
}

fn every_image(unit: &Unit, failure: &Failure) -> Images {
    unit.kernel.manifest.images.iter().map(|name| (name.clone(), Err(failure.clone()))).collect()
}

fn check(unit: &Unit, built: BTreeMap<String, BuiltImage>) -> Images {
    built.into_iter().map(|(name, image)| (name.clone(), ready(unit, &name, image))).collect()
}

fn ready(unit: &Unit, name: &str, built: BuiltImage) -> Result<Ready, Failure> {
    let path = built.path.display().to_string();
    let refuse = |problem: String| Failure {
        kind: FailureKind::Build,
        message: format!("{}: {problem}", built.path.display()),
        hint: format!("see how the firmware of {} is linked", unit.kernel.manifest.id),
        console: String::new(),
    };
    let image = Image::from_elf(&built.elf).map_err(|error| refuse(error.to_string()))?;
    let section = image.section(probes::SECTION).ok_or_else(|| {
        refuse(format!("no section {}: its probes were dropped by the linker", probes::SECTION))
    })?;
    let records = probes::parse(section).map_err(|error| refuse(error.to_string()))?;
    let firmware = Firmware {
        image: name.to_owned(),
        elf_sha256: built.sha256,
        flash_bytes: image.flash_bytes(),
        ram_bytes: image.ram_bytes(),
    };
    let probed = Probed { image, records, path };
    if let Some(stray) = probed.scenarios().find(|scenario| scenario.group() != name) {
        return Err(refuse(format!("scenario {stray} belongs into the image {}", stray.group())));
    }
    Ok(Ready { probed, firmware, compiler: built.compiler })
}
