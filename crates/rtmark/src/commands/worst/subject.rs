//! The subject of a search: an image on a soc with one scenario, its windows, and its interrupt.

use rtmark_firmware::probes::{self, Kind, Record, SECTION};
use rtmark_firmware::{Builder, SelectError, select};
use rtmark_model::ScenarioId;
use rtmark_observe::{Edge, watch_main_stack};
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Platform, Session, probe_watch};
use rtmark_sim::{Blocker, Image, InternalError, Irq, Machine, Register, Stop, Watch};
use rtmark_units::Cycles;
use rtmark_worst::{
    PairedInterrupt, Path, PathError, Question, Reach, Verdict, Window, find_handlers, spans,
};

use crate::commands;
use crate::commands::inputs::Inputs;
use crate::error::CliError;
use crate::exit::Exit;

/// The default interrupt, which all of rtmark's own images handle.
pub const INJECTED: u16 = 8;
/// The scenario id of a kernel's mixed load.
const LOAD: &str = "load.mixed";
/// The number of cycles after which to give up on a point.
const PATIENCE: u64 = 200_000;

/// The maximum number of interrupts that a hint names.
const MAX_NAMED_INTERRUPTS: usize = 12;
/// The maximum number of cycles that a hint suggests for --window.
const MAX_SUGGESTED_WINDOW: u64 = 1_000_000;

/// What to do about a main stack that is too short.
const MORE_RAM: &str = "choose a soc with more RAM, or let the program use less; where its symbol means something \
                        else, link it with --defsym=_stack_end=0";

/// What to search in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Scenarios of the catalogue.
    Scenarios,
    /// The mixed load: tasks, timers, a queue and a device over a hyperperiod.
    Load,
}

/// An image with one scenario.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The kernel's name, for rtmark's own images.
    pub kernel: Option<String>,
    pub scenario: Option<ScenarioId>,
    pub soc: SocFile,
    /// The path of the image.
    pub path: String,
    pub elf: Vec<u8>,
    pub image: Image,
    pub sha256: String,
    /// The most urgent priority of an interrupt that may call the kernel, if that is known.
    pub may_call: Option<u8>,
    /// The text whose output means success, if the program never exits.
    pub until_output: Option<String>,
    /// The inputs from outside the chip.
    pub inputs: Inputs,
}

/// The options of a search, for any subject.
#[derive(Clone, Debug)]
pub struct SearchOptions {
    pub interrupt: Irq,
    pub priority: Option<u8>,
    /// Whether to use the core's most urgent priority.
    pub above: bool,
    pub second: Option<SecondInterrupt>,
    pub reach: Reach,
    /// The window to search instead of the scenario's spans.
    pub window: Option<Window>,
    /// Whether to search from the start of the first span to the end of the last.
    pub whole_run: bool,
    pub woken: Option<String>,
    pub budget: u64,
}

/// The options for a second interrupt.
#[derive(Clone, Copy, Debug)]
pub struct SecondInterrupt {
    pub interrupt: Irq,
    /// The priority; by default, that of the first interrupt.
    pub priority: Option<u8>,
    pub distance: Option<u64>,
}

/// Describes how a run ends.
fn describe_stop(stop: &Stop) -> String {
    match Verdict::from(stop) {
        Verdict::Fine => "the program exits successfully".to_owned(),
        verdict => verdict.text(),
    }
}

fn unfit(subject: &Subject, exit: Exit, problem: impl std::fmt::Display, hint: &str) -> CliError {
    CliError::new(exit, format!("{}: {problem}", subject.name()), hint)
}

impl Subject {
    /// Returns the error for a bug in the simulator that a run of this subject has revealed.
    pub fn internal_error(&self, error: &InternalError) -> CliError {
        commands::internal_error(error, &self.image, &self.elf).about(&self.name())
    }

    pub fn name(&self) -> String {
        let soc = &self.soc.soc.name;
        match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario} on {soc}"),
            (_, Some(scenario)) => format!("{} {scenario} on {soc}", self.path),
            _ => format!("{} on {soc}", self.path),
        }
    }

    /// Reads the probes of the image.
    pub fn records(&self) -> Result<Vec<Record>, CliError> {
        let Some(section) = self.image.section(SECTION) else { return Ok(Vec::new()) };
        probes::parse(section).map_err(|error| {
            unfit(self, Exit::BuildFailed, error, "build the firmware again with this rtmark")
        })
    }

    /// Returns whether a record belongs to the scenario; without a scenario, all do.
    pub fn holds(&self, record: &Record) -> bool {
        self.scenario.as_ref().is_none_or(|id| record.is_of(id))
    }

    /// Creates a machine that is about to run the scenario.
    pub fn machine(&self, records: &[Record]) -> Result<Machine, CliError> {
        let mut machine = Machine::new(&self.soc.soc);
        machine.load(&self.image).map_err(|error| {
            unfit(self, Exit::Usage, error, "link it for this soc, or choose another with --soc")
        })?;
        watch_main_stack(&mut machine, &self.image);
        if let Some(text) = &self.until_output {
            machine.stop_at_output(text.as_bytes());
        }
        self.inputs.connect(&mut machine)?;
        let Some(scenario) = &self.scenario else { return Ok(machine) };
        select(&mut machine, &self.image, records, scenario).map_err(|error| match error {
            SelectError::NoScenario { .. } | SelectError::NoWord => {
                let hint =
                    "choose another with --select, or leave it out for images not built by rtmark";
                unfit(self, Exit::NothingSelected, error, hint)
            }
            SelectError::NoMemory(_) => {
                unfit(self, Exit::BuildFailed, error, "build the firmware again")
            }
        })?;
        Ok(machine)
    }

    /// Runs the program without the interrupt, and returns an error unless it exits successfully: otherwise,
    /// harm done by the interrupt could not be recognised.
    pub fn check_without_interrupt(&self, budget: u64) -> Result<u64, CliError> {
        let run = spans(&self.machine(&self.records()?)?, &[], &[], Cycles(budget));
        if let Stop::Internal(error) = &run.stop {
            return Err(self.internal_error(error));
        }
        let verdict = Verdict::from(&run.stop);
        if let Some(overflow) = self.overflow_of(run.machine) {
            let problem = format!("without the interrupt, {overflow}; so nothing was searched");
            return Err(unfit(self, Exit::Faulted, problem, MORE_RAM));
        }
        let (exit, hint) = match verdict {
            Verdict::Fine => return Ok(run.cycles),
            Verdict::Unfinished | Verdict::Asleep => (
                Exit::OutOfBudget,
                "--check needs a program that ends: give a text that it prints at the end with \
                 --until-output, let it exit through semihosting SYS_EXIT, or raise --max-cycles",
            ),
            Verdict::Status(_) | Verdict::Fault | Verdict::StackOverflow | Verdict::Other => (
                Exit::Faulted,
                "--check needs a program that succeeds without the interrupt; `rtmark sim` shows that run",
            ),
        };
        let problem = format!(
            "without the interrupt {}, after {} cycles, so nothing was searched",
            verdict.text(),
            run.cycles
        );
        Err(unfit(self, exit, problem, hint))
    }

    /// Returns the path to search, and the most urgent priority that the program holds back if its interrupt
    /// was to have that one.
    pub fn path(&self, options: &SearchOptions) -> Result<(Path, Option<u8>), CliError> {
        let records = self.records()?;
        let start = self.machine(&records)?;
        let (mut begins, mut ends, mut end_addresses) = (Vec::new(), Vec::new(), Vec::new());
        for record in records.iter().filter(|record| self.holds(record)) {
            if let Kind::End(address) = record.kind {
                end_addresses.push(address);
            }
            // Nothing can be injected before the first instruction, where a reset begins a span.
            match probe_watch(record.kind) {
                Some((watch, Edge::Begin)) => begins.push(watch),
                Some((watch, Edge::End)) => ends.push(watch),
                None => {}
            }
        }
        let windows = match options.window {
            Some(window) => {
                let before = Cycles(window.from.min(options.budget));
                let asked = [Some(options.interrupt), options.second.map(|it| it.interrupt)];
                self.or_hint(find_handlers(&start, before, asked.into_iter().flatten()))?;
                vec![self.cut_to_run(&start, window, options.budget)?]
            }
            None => self.windows(&start, &begins, &ends, options)?,
        };
        let woken = options.woken.as_ref().map(|name| {
            let found = self.image.symbols().find(name).map(|address| address & !1);
            let hint = "give a function of the image, as `nm` lists it";
            found.ok_or_else(|| unfit(self, Exit::Usage, format!("no symbol `{name}`"), hint))
        });
        let core = self.soc.soc.core;
        let above = options.above.then(|| core.most_urgent_priority());
        // The core's own interrupts have the priority that the program gives them.
        let own = |irq: Irq| irq.external().is_none().then(|| start.interrupt_priority(irq));
        let priority = above.or(options.priority).or_else(|| own(options.interrupt));
        let priority = priority.or(self.may_call);
        let held = priority.is_none().then(|| self.held_back(&start, &windows));
        let priority = priority.or(held).unwrap_or_else(|| core.most_urgent_priority());
        let mut question = Question {
            interrupt: options.interrupt,
            priority,
            windows,
            reach: options.reach,
            patience: PATIENCE,
            woken: woken.transpose()?,
            ends: end_addresses,
            second: options.second.map(|second| PairedInterrupt {
                interrupt: second.interrupt,
                priority: second.priority.or_else(|| own(second.interrupt)).unwrap_or(priority),
                distance: second.distance,
            }),
        };
        // Unless a priority is given, use the one that the program sets, as the register holds it.
        let adopt = |question: &mut Question, interrupt, found| match &mut question.second {
            Some(second) if second.interrupt == interrupt => {
                second.priority = found;
                options.second.is_some_and(|second| second.priority.is_none())
            }
            _ => {
                question.priority = found;
                options.priority.is_none() && !options.above
            }
        };
        for _ in 0..=2 * usize::from(question.second.is_some()) + 1 {
            let result = Path::new(start.clone(), question.clone());
            match result {
                Err(PathError::Priority { interrupt, found, .. })
                    if adopt(&mut question, interrupt, found) => {}
                Err(PathError::UnheldPriority { interrupt, held, .. })
                    if adopt(&mut question, interrupt, held)
                        || options.above && interrupt == options.interrupt => {}
                other => return Ok((self.or_hint(other)?, held)),
            }
        }
        Ok((self.or_hint(Path::new(start, question))?, held))
    }

    /// Adds a hint to the error of a path that cannot be searched.
    fn or_hint<T>(&self, result: Result<T, PathError>) -> Result<T, CliError> {
        result.map_err(|error| {
            let hint = match &error {
                PathError::Internal(error) => return self.internal_error(error),
                PathError::Priority { found, .. } => format!(
                    "use the priority that the program sets: --priority {found:#04x}, or --second-priority for \
                     the second interrupt"
                ),
                PathError::NoReturn { .. } => {
                    let more = self.interrupts_hint();
                    format!("give the greatest distance with --distance CYCLES, or {more}")
                }
                PathError::UnheldPriority { asked, held, .. } => self.priority_hint(*asked, *held),
                _ => self.interrupts_hint(),
            };
            unfit(self, Exit::Usage, error, &hint)
        })
    }

    /// Returns a hint for a priority that the soc cannot hold: often a level, which belongs in the upper bits.
    fn priority_hint(&self, asked: u8, held: u8) -> String {
        let bits = self.soc.soc.priority_bits;
        if bits == 0 {
            return "its interrupts have no priorities: leave the option out".to_owned();
        }
        let level = u32::from(asked) << (8 - bits.min(8));
        let meant = match u8::try_from(level) {
            Ok(level) if level != held => format!(" (level {asked} is {level:#04x})"),
            _ => String::new(),
        };
        format!("{} has the upper {bits} of 8 bits: give {held:#04x}{meant}", self.soc.soc.name)
    }

    /// Returns the most urgent priority that the program holds back by itself up to the end of the windows:
    /// by BASEPRI, or else any.
    fn held_back(&self, start: &Machine, windows: &[Window]) -> u8 {
        let mut machine = start.clone();
        machine.watch_masks();
        let _ = machine.run(windows.last().map_or(Cycles(0), |window| Cycles(window.to)));
        match machine.most_urgent_basepri() {
            Some(mask) => most_urgent_held_by(&mut machine, mask),
            None => self.soc.soc.core.most_urgent_priority(),
        }
    }

    /// Returns a note if the priority of a path was chosen by what the program holds back.
    pub fn priority_note(&self, path: &Path, held: Option<u8>) -> Option<String> {
        let any = self.soc.soc.core.most_urgent_priority();
        held.filter(|held| *held != any && *held == path.question().priority).map(|held| {
            format!(
                "note: {}: priority {held:#04x} is the most urgent that the program holds back by BASEPRI; \
                 --above searches one that only PRIMASK holds back",
                self.name()
            )
        })
    }

    /// Describes where the main stack grew beyond its end in a run of the program, if it did.
    fn overflow_of(&self, machine: Machine) -> Option<String> {
        Session::with(machine, &self.image).with_file(&self.elf).stack_overflow()
    }

    /// Returns a note if the main stack grows beyond its end on a path. What a symbol of somebody else's image
    /// means is not certain, but a kernel's scenario has no figure then, as in `run`.
    pub fn stack_note(&self, path: &Path) -> Result<Option<String>, CliError> {
        let mut machine = self.machine(&self.records()?)?;
        let last = path.question().windows.last();
        let _ = machine.run(last.map_or(Cycles(0), |window| Cycles(window.to)));
        match self.overflow_of(machine) {
            Some(overflow) if self.kernel.is_some() => {
                Err(unfit(self, Exit::Faulted, overflow, MORE_RAM))
            }
            found => Ok(found.map(|overflow| format!("note: {}: {overflow}", self.name()))),
        }
    }

    /// Returns a note if a search of pairs takes long because a handler does not return.
    pub fn endless_note(&self, path: &Path) -> Option<String> {
        path.endless().map(|interrupt| {
            format!(
                "note: {}: the handler of interrupt {interrupt} does not return within {PATIENCE} cycles: the other \
                 interrupt has no result where it waits for that, and each such moment takes long to search",
                self.name()
            )
        })
    }

    /// Returns a hint that names interrupts with a handler of their own when the program starts.
    fn interrupts_hint(&self) -> String {
        let choose = "choose interrupts that the soc has and the firmware handles, with --interrupt and --second";
        let Ok(machine) = self.records().and_then(|records| self.machine(&records)) else {
            return choose.to_owned();
        };
        // Behind a short table of vectors, functions begin.
        let table = machine.handler_table();
        let has_vector = |irq: Irq| {
            table.is_some_and(|table| {
                // The table begins with external interrupt 0, which is exception 16.
                let place = table.wrapping_add(4 * u32::from(irq.exception())).wrapping_sub(64);
                let mut functions = self.image.symbols().functions();
                !functions.any(|it| it.start > table && it.contains(&place))
            })
        };
        let all = [Irq::SYSTICK, Irq::PENDSV].into_iter();
        let all = all.chain((0..machine.soc().interrupts).map(Irq::from));
        let handled: Vec<_> = all
            .filter(|irq| has_vector(*irq))
            .filter_map(|irq| Some((machine.handler_of(irq).ok()?, irq)))
            .collect();
        // A default handler serves many interrupts.
        let alone = |address| handled.iter().filter(|(other, _)| *other == address).count() == 1;
        let names: Vec<_> = handled
            .iter()
            .filter(|(address, _)| alone(*address))
            .map(|(_, irq)| irq.to_string())
            .take(MAX_NAMED_INTERRUPTS)
            .collect();
        match names.as_slice() {
            [] => choose.to_owned(),
            _ => format!("{choose}; at reset it has handlers for {}", names.join(", ")),
        }
    }

    /// Returns the path of a stored question.
    pub fn path_for(&self, question: Question) -> Result<Path, CliError> {
        self.or_hint(Path::new(self.machine(&self.records()?)?, question))
    }

    /// Cuts a window to the length of a run without the interrupt.
    fn cut_to_run(&self, start: &Machine, window: Window, budget: u64) -> Result<Window, CliError> {
        let Window { from, to } = window;
        let run = spans(start, &[], &[], Cycles(to.min(budget)));
        match &run.stop {
            Stop::Internal(error) => Err(self.internal_error(error)),
            Stop::Limit if to > budget => {
                let problem = format!(
                    "the program is still running after {budget} cycles, before the window ends"
                );
                let hint = "give an earlier --window, or raise --max-cycles";
                Err(unfit(self, Exit::OutOfBudget, problem, hint))
            }
            // Cycles asleep are points as well, and the interrupt may wake the program.
            Stop::Limit | Stop::Asleep => Ok(window),
            stop if run.cycles <= from => {
                let problem = format!(
                    "the window starts after the end of the program: {} in cycle {}",
                    describe_stop(stop),
                    run.cycles
                );
                Err(unfit(self, Exit::Usage, problem, "give earlier cycles with --window FROM:TO"))
            }
            _ => Ok(Window { from, to: to.min(run.cycles) }),
        }
    }

    /// Returns the windows of the scenario's spans, as a run without the interrupt enters them.
    fn windows(
        &self,
        start: &Machine,
        begins: &[Watch],
        ends: &[Watch],
        options: &SearchOptions,
    ) -> Result<Vec<Window>, CliError> {
        let run = spans(start, begins, ends, Cycles(options.budget));
        let ended = match &run.stop {
            Stop::Limit => format!("the program was still running after {} cycles", run.cycles),
            Stop::Exit(status) if status.0 == 0 => "the program ran to its end".to_owned(),
            other => format!("{} in cycle {}", describe_stop(other), run.cycles),
        };
        if let Stop::Internal(error) = &run.stop {
            return Err(self.internal_error(error));
        }
        let (Some(first), Some(last)) = (run.windows.first(), run.windows.last()) else {
            let exit = match &run.stop {
                Stop::Fault(_) | Stop::Lockup(_) => Exit::Faulted,
                _ => Exit::OutOfBudget,
            };
            if begins.is_empty() {
                let problem =
                    format!("the image has no probes that mark the cycles to search; {ended}");
                let to = run.cycles.clamp(1, MAX_SUGGESTED_WINDOW);
                let hint = format!("give the cycles to search: --window 0:{to}");
                return Err(unfit(self, exit, problem, &hint));
            }
            let problem = format!("no span was entered: {ended}");
            let hint = "raise --max-cycles, or give the cycles to search with --window FROM:TO";
            return Err(unfit(self, exit, problem, hint));
        };
        Ok(if options.whole_run {
            vec![Window { from: first.from, to: last.to }]
        } else {
            run.windows
        })
    }

    /// Returns the subjects of a plan's unit: one for each supported scenario, or the mixed load.
    pub fn of_unit(
        builder: &Builder,
        unit: &rtmark_runner::Unit,
        what: Workload,
    ) -> Result<Vec<Self>, CliError> {
        let wanted: Vec<ScenarioId> = match what {
            Workload::Scenarios => {
                let answered = unit.scenarios.iter().filter(|(_, excuse)| excuse.is_none());
                let spans = answered.filter(|(scenario, _)| scenario.held_back.is_none());
                spans.map(|(scenario, _)| scenario.id.clone()).collect()
            }
            Workload::Load if no_load(unit).is_some() => Vec::new(),
            Workload::Load => vec![LOAD.parse::<ScenarioId>().map_err(|error| {
                CliError::new(
                    Exit::Internal,
                    format!("{LOAD}: {error}"),
                    "report this as a bug in rtmark",
                )
            })?],
        };
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        // Only runs on the simulator can be searched.
        let Platform::Sim(soc, _) = &unit.platform else { return Ok(Vec::new()) };
        let built = match what {
            Workload::Scenarios => {
                builder.build(&unit.kernel, unit.target(), &unit.setting_changes)?
            }
            Workload::Load => builder.build_load(&unit.kernel, &soc.soc, &unit.setting_changes)?,
        };
        let mut subjects = Vec::new();
        for scenario in wanted {
            let Some(built) = built.get(scenario.group()) else { continue };
            let image = Image::from_elf(&built.elf).map_err(|error| {
                let hint = "build the firmware again";
                CliError::new(Exit::BuildFailed, format!("{}: {error}", built.path.display()), hint)
            })?;
            subjects.push(Self {
                kernel: Some(unit.kernel.manifest.id.to_string()),
                scenario: Some(scenario),
                soc: soc.as_ref().clone(),
                path: built.path.display().to_string(),
                elf: built.elf.clone(),
                image,
                sha256: built.sha256.clone(),
                may_call: Some(unit.kernel.manifest.most_urgent_caller(&soc.soc)),
                until_output: None,
                inputs: Inputs::default(),
            });
        }
        Ok(subjects)
    }
}

/// Returns the most urgent priority that a value of BASEPRI holds back in a machine: the most urgent one of its
/// group, which is more than one where the program groups priorities by AIRCR.PRIGROUP.
fn most_urgent_held_by(machine: &mut Machine, mask: u8) -> u8 {
    for register in [Register::Primask, Register::Faultmask] {
        machine.set_register(register, 0);
    }
    machine.set_register(Register::Basepri, u32::from(mask));
    let bits = u32::from(machine.soc().priority_bits.clamp(1, 8));
    let mut held = (0..mask).step_by(1 << (8 - bits));
    held.find(|priority| machine.priority_blocker(*priority) == Some(Blocker::Basepri))
        .unwrap_or(mask)
}

/// Returns why a unit has no mixed load, if it has none.
pub fn no_load(unit: &rtmark_runner::Unit) -> Option<String> {
    let kernel = &unit.kernel.manifest;
    if !kernel.load {
        return Some(format!("{} has no mixed load", kernel.id));
    }
    let mut scenarios = unit.scenarios.iter();
    let (_, excuse) = scenarios.find(|(scenario, _)| scenario.in_firmware().as_str() == LOAD)?;
    let core = unit.platform.core();
    excuse.as_ref().map(|reason| format!("{} has no mixed load on {core}: {reason}", kernel.id))
}
