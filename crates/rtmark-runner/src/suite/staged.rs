//! Carries out a plan in stages, one for each platform. A kernel's scenarios run as soon as its firmware is built,
//! while other firmware is building; what belongs to a later stage waits for processors that the earlier ones leave
//! free, so that the first platform's answers are complete early.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rtmark_board::Capture;
use rtmark_firmware::FirmwareError;
use rtmark_model::{Answer, Board};
use rtmark_store::Fingerprint;
use rtmark_units::Cycles;

use super::{Built, Done, LineTables, Resolution, Suite, Task, checked, firmwares};
use crate::boards::rehearse;
use crate::emulate::{DEADLINE, emulate};
use crate::images::{Images, Program};
use crate::observer::{Event, Origin, SuiteObserver};
use crate::placed::{Measurement, Placed, measure_all};
use crate::plan::Plan;
use crate::platform::Platform;

/// The position of a run: the index of its unit in the plan, and its index in that unit.
type At = (usize, usize);

/// Messages from builds and runs in progress.
enum Message {
    /// The firmware at this index of the plan was built, or failed to build.
    Built(usize, Result<Built, FirmwareError>),
    /// This many cycles have passed.
    Advanced(Cycles),
    /// A board printed this.
    Captured(At, Capture),
    /// A run is over.
    Done(At, FinishedRun),
}

/// The result of a finished run.
struct FinishedRun {
    done: Done,
    /// The unused part of its budget, in cycles.
    unused_budget: Cycles,
    /// Its wall-clock time.
    duration: Duration,
}

/// The measurements on one platform.
struct Stage {
    /// The units that have not begun, by their indices in the plan.
    waiting: Vec<usize>,
    answers: Vec<Answer>,
}

/// Counts runs, and holds builds back that would take processors from those of earlier stages.
struct Gate {
    /// Each stage's units, by their indices in the plan.
    stages: Vec<Range<usize>>,
    load: Mutex<Load>,
    changed: Condvar,
}

/// What the gate goes by.
struct Load {
    /// Each stage's number of runs that have not ended.
    running: Vec<usize>,
    /// Nobody waits for firmware any more.
    abandoned: bool,
}

impl Load {
    /// Returns whether the runs before a stage leave no processor free.
    fn is_full_before(&self, stage: usize) -> bool {
        self.running[..stage].iter().sum::<usize>() > rayon::current_num_threads()
    }
}

impl Gate {
    fn new(stages: Vec<Range<usize>>) -> Self {
        let load = Mutex::new(Load { running: vec![0; stages.len()], abandoned: false });
        Self { stages, load, changed: Condvar::new() }
    }

    /// Returns the stage of a unit.
    fn stage(&self, unit: usize) -> usize {
        self.stages.iter().position(|units| units.contains(&unit)).unwrap_or(0)
    }

    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Load)) {
        change(&mut self.load());
        self.changed.notify_all();
    }

    /// Waits until the runs of earlier stages leave processors free for building a unit's firmware.
    fn pass(&self, unit: usize) {
        let stage = self.stage(unit);
        let waits = |load: &mut Load| load.is_full_before(stage) && !load.abandoned;
        let _passed = self.changed.wait_while(self.load(), waits);
    }
}

/// Opens a gate for good when it is dropped.
struct OpensAtEnd<'a>(&'a Gate);

impl Drop for OpensAtEnd<'_> {
    fn drop(&mut self) {
        self.0.change(|load| load.abandoned = true);
    }
}

/// A plan in progress. Images and tasks are stored elsewhere, because threads borrow them.
struct PlanExecution<'a, 'o, O> {
    suite: &'a Suite,
    plan: &'a Plan,
    images: &'a [OnceLock<Images>],
    tasks: &'a [OnceLock<Vec<Task<'a>>>],
    observer: &'o mut O,
    commit: Option<String>,
    gate: &'a Gate,
    stages: Vec<Stage>,
    /// The number of stages reported as finished.
    finished: usize,
    lines: LineTables<'a>,
    chips: BTreeMap<At, Board>,
}

impl Suite {
    /// Builds and runs what the plan asks for. The answers are in table order: soc, scenario, kernel.
    ///
    /// # Errors
    /// When the observer cannot keep an answer. Whatever goes wrong with a scenario is an answer, not
    /// an error.
    pub fn run<O: SuiteObserver>(
        &self,
        plan: &Plan,
        observer: &mut O,
    ) -> Result<Vec<Answer>, O::Error> {
        observer.event(Event::Building { firmwares: firmwares(plan).count() });
        let built = |needed| if needed { OnceLock::new() } else { OnceLock::from(Images::new()) };
        let images: Vec<_> = plan.units.iter().map(|unit| built(unit.needs_firmware())).collect();
        let tasks: Vec<_> = plan.units.iter().map(|_| OnceLock::new()).collect();
        let gate = Gate::new(plan.platforms());
        let stage =
            |units: &Range<usize>| Stage { waiting: units.clone().collect(), answers: Vec::new() };
        let mut execution = PlanExecution {
            suite: self,
            plan,
            images: &images,
            tasks: &tasks,
            observer,
            commit: self.builder.tree().commit(),
            gate: &gate,
            stages: gate.stages.iter().map(stage).collect(),
            finished: 0,
            lines: LineTables::new(),
            chips: BTreeMap::new(),
        };
        execution.execute()?;
        let mut answers: Vec<_> =
            execution.stages.into_iter().flat_map(|stage| stage.answers).collect();
        answers.sort_by_cached_key(|answer| plan.position(answer.key()));
        Ok(answers)
    }
}

impl<O: SuiteObserver> PlanExecution<'_, '_, O> {
    fn execute(&mut self) -> Result<(), O::Error> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (suite, plan, gate) = (self.suite, self.plan, self.gate);
        std::thread::scope(|scope| {
            // If this function returns early, the receiver is dropped, and builds and runs stop.
            let (receiver, _opens) = (receiver, OpensAtEnd(gate));
            let builds = sender.clone();
            let report_build = move |at, built| builds.send(Message::Built(at, built)).is_ok();
            let begin = |at| gate.pass(at);
            scope.spawn(move || suite.build_all(plan, suite.placements, &begin, &report_build));
            // Kept while there are units to begin.
            let mut sender = Some(sender);
            loop {
                while let Some(unit) = self.next_unit() {
                    let tasks = self.begin(unit)?;
                    let tasks = self.tasks[unit].get_or_init(|| tasks);
                    if let Some(sender) = sender.clone() {
                        scope.spawn(move || run_all(unit, tasks, &sender));
                    }
                }
                sender = sender.filter(|_| self.stages.iter().any(|it| !it.waiting.is_empty()));
                self.report_finished_stages();
                let Ok(message) = receiver.recv() else { return Ok(()) };
                self.handle(message)?;
            }
        })
    }

    /// Takes the next unit whose firmware is built, if earlier stages leave processors free. A later stage must not
    /// delay one in progress.
    fn next_unit(&mut self) -> Option<usize> {
        let load = self.gate.load();
        let free =
            self.stages.iter_mut().enumerate().take_while(|(at, _)| !load.is_full_before(*at));
        let images = self.images;
        free.into_iter().find_map(|(_, Stage { waiting, .. })| {
            let at = waiting.iter().position(|unit| images[*unit].get().is_some())?;
            Some(waiting.remove(at))
        })
    }
}

impl<'a, O: SuiteObserver> PlanExecution<'a, '_, O> {
    /// Begins a unit: answers what needs no run, and returns the tasks to run.
    fn begin(&mut self, at: usize) -> Result<Vec<Task<'a>>, O::Error> {
        let stage = self.gate.stage(at);
        let mut tasks: Vec<Task<'_>> = Vec::new();
        let Some(images) = self.images[at].get() else { return Ok(tasks) };
        let unit = &self.plan.units[at];
        for (scenario, excuse) in &unit.scenarios {
            let key = unit.key(scenario);
            let (suite, plan) = (self.suite, self.plan);
            let resolved = suite.resolve_task(plan, unit, scenario, excuse.as_ref(), images);
            let (answer, origin, question) = match resolved {
                Resolution::NotApplicable(reason) => {
                    (Answer::NotApplicable { key, reason }, Origin::Fresh, None)
                }
                Resolution::Failed(failure) => {
                    (Answer::Failed { key, failure }, Origin::Fresh, None)
                }
                Resolution::Run(task) => {
                    let commit = self.commit.as_deref();
                    let known = self.suite.recalled(&task, key, commit, self.observer);
                    let Some(known) = known else {
                        tasks.push(task);
                        continue;
                    };
                    (known, Origin::Recalled, task.question)
                }
            };
            self.keep(stage, answer, origin, question.as_ref(), None)?;
        }
        // The longest task first, so that no processor is left with a long one at the end.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.whole_budget()));
        let budget = tasks.iter().map(Task::whole_budget).sum();
        self.observer.event(Event::Running { unit: Some(unit), scenarios: tasks.len(), budget });
        self.gate.change(|load| load.running[stage] += tasks.len());
        Ok(tasks)
    }

    fn handle(&mut self, message: Message) -> Result<(), O::Error> {
        match message {
            Message::Built(at, built) => {
                let images = checked(&self.plan.units[at], built, self.observer);
                // Each is built only once.
                let _ = self.images[at].set(images);
            }
            Message::Advanced(cycles) => self.observer.event(Event::Advanced { cycles }),
            Message::Captured(at, capture) => {
                let Some(task) = self.task(at) else { return Ok(()) };
                let recorded = self.suite.recorded(task, capture, self.commit.as_deref());
                if let Some(recorded) = recorded {
                    self.chips.extend(recorded.provenance.board.clone().map(|chip| (at, chip)));
                    self.observer.event(Event::Captured { recorded: &recorded });
                }
            }
            Message::Done(at, FinishedRun { done, unused_budget, duration }) => {
                let Some(task) = self.task(at) else { return Ok(()) };
                let (commit, chip) = (self.commit.as_deref(), self.chips.remove(&at));
                let answer = self.suite.answer(task, done, chip, commit, &mut self.lines);
                let measured = matches!(answer, Answer::Measured(_));
                let question = task.question.as_ref().filter(|_| measured);
                let stage = self.gate.stage(at.0);
                self.gate.change(|load| load.running[stage] -= 1);
                self.keep(stage, answer, Origin::Fresh, question, Some((unused_budget, duration)))?;
            }
        }
        Ok(())
    }

    fn task(&self, (unit, at): At) -> Option<&'a Task<'a>> {
        self.tasks[unit].get()?.get(at)
    }

    /// Reports each stage that is over, once all stages before it are.
    fn report_finished_stages(&mut self) {
        while let Some(Stage { waiting, answers }) = self.stages.get_mut(self.finished)
            && waiting.is_empty()
            && self.gate.load().running[self.finished] == 0
        {
            answers.sort_by_cached_key(|answer| self.plan.position(answer.key()));
            self.observer.event(Event::Finished { answers });
            self.finished += 1;
        }
    }

    /// Makes the observer keep an answer, and reports it. `ran` holds the unused budget and the
    /// wall-clock time of a new measurement.
    fn keep(
        &mut self,
        stage: usize,
        answer: Answer,
        origin: Origin,
        question: Option<&Fingerprint>,
        ran: Option<(Cycles, Duration)>,
    ) -> Result<(), O::Error> {
        self.observer.record(&answer, question, ran.map(|(_, duration)| duration))?;
        let unused = ran.map_or(Cycles::ZERO, |(unused_budget, _)| unused_budget);
        self.observer.event(Event::Answered { answer: &answer, origin, unused });
        self.stages[stage].answers.push(answer);
        Ok(())
    }
}

fn run_all(unit: usize, tasks: &[Task<'_>], sender: &Sender<Message>) {
    let tasks = tasks.iter().enumerate().par_bridge();
    // An error means that nobody is listening any more: stop.
    let _ = tasks.try_for_each_with(sender.clone(), |sender, (index, task)| {
        let at = (unit, index);
        let (began, elapsed) = (Instant::now(), AtomicU64::new(0));
        let advanced = |since: Cycles| {
            elapsed.fetch_add(since.0, Ordering::Relaxed);
            let _ = sender.send(Message::Advanced(since));
        };
        let report = |capture: Option<Capture>| {
            if let Some(capture) = capture {
                let _ = sender.send(Message::Captured(at, capture));
            }
        };
        let done = match (&task.unit.platform, &task.image.program) {
            (Platform::Sim(file, basis), Program::Observed(_)) => {
                let (soc, scenario) = (&file.soc, task.scenario);
                let layouts = task.images();
                let looked = scenario.held_back.as_ref();
                let looked = looked.map(|looked| (looked, task.unit.priority_of(looked.interrupt)));
                let tasks = Measurement { scenario, looked, basis: *basis, budget: task.budget };
                measure_all(soc, &layouts, tasks, advanced)
            }
            (Platform::Qemu(file), Program::Clocked(image)) => {
                emulate(&file.machine, image, task.scenario, DEADLINE).map(Placed::unvaried)
            }
            (Platform::Rehearsal(rehearsal), Program::Clocked(image)) => {
                let soc = &rehearsal.file.soc;
                let (console, result) = rehearse(soc, image, task.scenario, task.budget);
                report(console);
                result.map(Placed::unvaried)
            }
            (Platform::Board(bench), Program::Clocked(image)) => {
                let (console, result) = bench.run(image, task.scenario);
                report(console);
                result.map(Placed::unvaried)
            }
            _ => unreachable!("images are read for the platform that they run on"),
        };
        let elapsed = Cycles(elapsed.load(Ordering::Relaxed));
        let unused_budget = task.whole_budget().saturating_sub(elapsed);
        sender
            .send(Message::Done(at, FinishedRun { done, unused_budget, duration: began.elapsed() }))
    });
}
