//! Carries out a plan in stages, one for each platform. A kernel's scenarios run as soon as its firmware is built,
//! while other firmware is building; what belongs to a later stage waits for processors that the earlier ones leave
//! free.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rtmark_board::Capture;
use rtmark_firmware::FirmwareError;
use rtmark_model::{Answer, Basis, Board, Failure};
use rtmark_store::Fingerprint;
use rtmark_units::Cycles;

use super::schedule::Schedule;
use super::{Built, Done, LineTables, Resolution, Suite, Task, checked, firmwares};
use crate::boards::rehearse;
use crate::emulate::{DEADLINE, emulate};
use crate::images::{Images, Program, Ready};
use crate::measure::{Measured, Probed};
use crate::observer::{Event, Origin, SuiteObserver};
use crate::placed::{Measurement, Placed};
use crate::plan::Plan;
use crate::platform::Platform;

/// The position of a task: the index of its unit in the plan, and its index in that unit.
type At = (usize, usize);

/// Messages from builds and runs in progress.
enum Message {
    /// The firmware at this index of the plan was built, or failed to build.
    Built(usize, Result<Built, FirmwareError>),
    /// This many cycles have passed.
    Advanced(Cycles),
    /// A board printed this.
    Captured(At, Capture),
    /// A task is over.
    Done(At, FinishedTask),
}

/// The result of a finished task.
struct FinishedTask {
    done: Done,
    /// The unused part of its budget, in cycles.
    unused_budget: Cycles,
    /// The wall-clock time of its runs in total.
    duration: Duration,
}

/// The measurements on one platform.
struct Stage {
    /// The units that have not begun, by their indices in the plan.
    waiting: Vec<usize>,
    answers: Vec<Answer>,
}

/// A plan in progress. Images and tasks are stored elsewhere, because threads borrow them.
struct PlanExecution<'a, 'o, O> {
    suite: &'a Suite,
    plan: &'a Plan,
    images: &'a [OnceLock<Images>],
    tasks: &'a [OnceLock<Vec<Task<'a>>>],
    observer: &'o mut O,
    commit: Option<String>,
    schedule: &'a Schedule<Run<'a>>,
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
        let builds = firmwares(plan).map(|(at, _)| at);
        let schedule = Schedule::new(plan.platforms(), builds, rayon::current_num_threads());
        let stage = |at| Stage { waiting: schedule.units(at).collect(), answers: Vec::new() };
        let mut execution = PlanExecution {
            suite: self,
            plan,
            images: &images,
            tasks: &tasks,
            observer,
            commit: self.builder.tree().commit(),
            schedule: &schedule,
            stages: (0..schedule.stages()).map(stage).collect(),
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
        let (suite, plan, schedule) = (self.suite, self.plan, self.schedule);
        std::thread::scope(|scope| {
            // If this function returns early, the receiver is dropped, and builds and runs stop.
            let (receiver, _closes) = (receiver, schedule.close_at_end());
            let builds = sender.clone();
            let report_build = move |at, built| builds.send(Message::Built(at, built)).is_ok();
            let begin = |at| schedule.await_build(at);
            scope.spawn(move || suite.build_all(plan, suite.placements, &begin, &report_build));
            for _ in 0..schedule.processors() {
                scope.spawn(|| {
                    // If a run panics, none begins any more, and the panic is passed on.
                    let _closes = schedule.close_at_end();
                    while let Some(run) = schedule.next_run() {
                        run.perform();
                    }
                });
            }
            // Kept while there are units to begin.
            let mut sender = Some(sender);
            loop {
                while let Some(unit) = self.next_unit() {
                    let tasks = self.begin(unit)?;
                    let tasks = self.tasks[unit].get_or_init(|| tasks);
                    if let Some(sender) = &sender {
                        self.run_all(unit, tasks, sender);
                    }
                }
                sender = sender.filter(|_| self.stages.iter().any(|it| !it.waiting.is_empty()));
                self.report_finished_stages();
                let Ok(message) = receiver.recv() else { return Ok(()) };
                self.handle(message)?;
            }
        })
    }

    /// Takes the next unit whose firmware is built.
    fn next_unit(&mut self) -> Option<usize> {
        let images = self.images;
        self.stages.iter_mut().find_map(|Stage { waiting, .. }| {
            let at = waiting.iter().position(|unit| images[*unit].get().is_some())?;
            Some(waiting.remove(at))
        })
    }
}

impl<'a, O: SuiteObserver> PlanExecution<'a, '_, O> {
    /// Begins a unit: answers what needs no run, and returns the tasks to run.
    fn begin(&mut self, at: usize) -> Result<Vec<Task<'a>>, O::Error> {
        let stage = self.schedule.stage(at);
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
        let budget = tasks.iter().map(Task::whole_budget).sum();
        self.observer.event(Event::Running { unit: Some(unit), scenarios: tasks.len(), budget });
        Ok(tasks)
    }

    /// Schedules the runs of a unit's tasks.
    fn run_all(&self, unit: usize, tasks: &'a [Task<'a>], sender: &Sender<Message>) {
        let runs = tasks.iter().enumerate().flat_map(|(index, task)| {
            let progress = Arc::new(Progress::new((unit, index), task, sender.clone()));
            let runs = 0..progress.layouts.len();
            runs.map(move |layout| (task.budget, Run { progress: progress.clone(), layout }))
        });
        self.schedule.add(self.schedule.stage(unit), runs);
    }

    fn handle(&mut self, message: Message) -> Result<(), O::Error> {
        match message {
            Message::Built(at, built) => {
                self.schedule.end_build(at);
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
            Message::Done(at, FinishedTask { done, unused_budget, duration }) => {
                let Some(task) = self.task(at) else { return Ok(()) };
                let (commit, chip) = (self.commit.as_deref(), self.chips.remove(&at));
                let answer = self.suite.answer(task, done, chip, commit, &mut self.lines);
                let measured = matches!(answer, Answer::Measured(_));
                let question = task.question.as_ref().filter(|_| measured);
                let stage = self.schedule.stage(at.0);
                self.schedule.end_runs(stage, task.images().len());
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
            && self.schedule.is_idle(self.finished)
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

/// A task in progress.
struct Progress<'a> {
    at: At,
    task: &'a Task<'a>,
    /// Each of these runs by itself.
    layouts: Vec<&'a Ready>,
    results: Mutex<Results>,
    sender: Sender<Message>,
}

/// What the runs of a task have yielded.
struct Results {
    /// By layout.
    measured: Vec<Option<Result<Measured, Failure>>>,
    elapsed: Cycles,
    duration: Duration,
}

impl<'a> Progress<'a> {
    fn new(at: At, task: &'a Task<'a>, sender: Sender<Message>) -> Self {
        let layouts = task.images();
        let measured = layouts.iter().map(|_| None).collect();
        let results = Results { measured, elapsed: Cycles::ZERO, duration: Duration::ZERO };
        Self { at, task, layouts, results: Mutex::new(results), sender }
    }

    /// Returns what a simulated scenario is measured by.
    fn measurement(&self, basis: Basis) -> Measurement<'a> {
        let Task { unit, scenario, budget, .. } = *self.task;
        let looked = scenario.held_back.as_ref();
        let looked = looked.map(|looked| (looked, unit.priority_of(looked.interrupt)));
        Measurement { scenario, looked, basis, budget }
    }

    /// Sends a message. Nobody may be listening any more; then the schedule is closed, too.
    fn send(&self, message: Message) {
        let _ = self.sender.send(message);
    }

    /// Measures one layout.
    fn measure(&self, layout: usize, advanced: impl Fn(Cycles)) -> Result<Measured, Failure> {
        let task = self.task;
        let report = |capture: Option<Capture>| {
            if let Some(capture) = capture {
                self.send(Message::Captured(self.at, capture));
            }
        };
        match (&task.unit.platform, &self.layouts[layout].program) {
            (Platform::Sim(file, basis), Program::Observed(probed)) => {
                self.measurement(*basis).measure(&file.soc, probed, advanced)
            }
            (Platform::Qemu(file), Program::Clocked(image)) => {
                emulate(&file.machine, image, task.scenario, DEADLINE)
            }
            (Platform::Rehearsal(rehearsal), Program::Clocked(image)) => {
                let soc = &rehearsal.file.soc;
                let (console, result) = rehearse(soc, image, task.scenario, task.budget);
                report(console);
                result
            }
            (Platform::Board(bench), Program::Clocked(image)) => {
                let (console, result) = bench.run(image, task.scenario);
                report(console);
                result
            }
            _ => unreachable!("images are read for the platform that they run on"),
        }
    }

    /// Puts the results of all layouts together.
    fn place(&self, mut measured: Vec<Result<Measured, Failure>>) -> Done {
        match &self.task.unit.platform {
            Platform::Sim(file, basis) => {
                let probed = self.layouts.iter().filter_map(|image| match &image.program {
                    Program::Observed(probed) => Some((*image, probed)),
                    Program::Clocked(_) => None,
                });
                let images: Vec<(&Ready, &Probed)> = probed.collect();
                self.measurement(*basis).place(&file.soc, &images, measured)
            }
            _ => measured.swap_remove(0).map(Placed::unvaried),
        }
    }
}

/// A run that waits for a processor.
struct Run<'a> {
    progress: Arc<Progress<'a>>,
    layout: usize,
}

impl Run<'_> {
    /// Measures the layout. The last run of a task reports its result.
    fn perform(self) {
        let Self { progress, layout } = self;
        let (began, elapsed) = (Instant::now(), Cell::new(Cycles::ZERO));
        let advanced = |since: Cycles| {
            elapsed.set(elapsed.get() + since);
            progress.send(Message::Advanced(since));
        };
        let measured = progress.measure(layout, advanced);
        let mut results = progress.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.measured[layout] = Some(measured);
        results.elapsed += elapsed.get();
        results.duration += began.elapsed();
        if results.measured.iter().any(Option::is_none) {
            return;
        }
        let measured = results.measured.drain(..).flatten().collect();
        let began = Instant::now();
        let done = progress.place(measured);
        progress.send(Message::Done(
            progress.at,
            FinishedTask {
                done,
                unused_budget: progress.task.whole_budget().saturating_sub(results.elapsed),
                duration: results.duration + began.elapsed(),
            },
        ));
    }
}
