//! What is searched: an image on a soc with one scenario, its windows, its interrupt.

use rtmark_firmware::probes::{self, Kind, Record, SECTION};
use rtmark_firmware::{Builder, SelectError, select};
use rtmark_model::ScenarioId;
use rtmark_runner::socs::SocFile;
use rtmark_runner::{Edge, Platform};
use rtmark_sim::{Image, InternalError, Machine, Stop, Watch};
use rtmark_units::Cycles;
use rtmark_worst::{Path, PathError, Question, Reach, Second, Verdict, Window, spans};

use crate::commands;
use crate::commands::inputs::Inputs;
use crate::error::CliError;
use crate::exit::Exit;

/// The interrupt whose handler every image of rtmark's own has.
pub const INJECTED: u16 = 8;
/// What a kernel's mixed load is called in its image.
const LOAD: &str = "load.mixed";
/// Cycles after which one point is given up.
const PATIENCE: u64 = 200_000;

/// The most cycles that are suggested where nobody says which.
const SUGGESTED: u64 = 1_000_000;

/// What of a kernel is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Scenarios of the catalogue.
    Scenarios,
    /// Its mixed load: tasks, timers, a queue and a device over a hyperperiod.
    Load,
}

/// An image with one scenario.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The kernel's name, of rtmark's own images.
    pub kernel: Option<String>,
    pub scenario: Option<ScenarioId>,
    pub soc: SocFile,
    /// Where the image is.
    pub path: String,
    pub elf: Vec<u8>,
    pub image: Image,
    pub sha256: String,
    /// The priority of an interrupt that may call the kernel, the most urgent such.
    pub may_call: u8,
    /// What it prints when it has ended, if it does not end by itself.
    pub until_output: Option<String>,
    /// What is sent to it.
    pub inputs: Inputs,
}

/// What is asked of each subject.
#[derive(Clone, Debug)]
pub struct Wish {
    pub interrupt: u16,
    pub priority: Option<u8>,
    /// The most urgent priority of the core.
    pub above: bool,
    pub second: Option<WishSecond>,
    pub reach: Reach,
    /// The window instead of the scenario's spans.
    pub window: Option<Window>,
    /// From the first span's beginning to the last one's end.
    pub whole_run: bool,
    pub woken: Option<String>,
    pub budget: u64,
}

/// The second interrupt that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct WishSecond {
    pub interrupt: u16,
    /// The first one's without.
    pub priority: Option<u8>,
    pub distance: Option<u64>,
}

/// How a run ends, in a few words.
fn how_it_ends(stop: &Stop) -> String {
    match Verdict::from(stop) {
        Verdict::Fine => "it ends well".to_owned(),
        verdict => verdict.text(),
    }
}

fn unfit(subject: &Subject, exit: Exit, problem: impl std::fmt::Display, hint: &str) -> CliError {
    CliError::new(exit, format!("{}: {problem}", subject.name()), hint)
}

impl Subject {
    /// The simulator was wrong in a run of it.
    pub fn mistaken(&self, error: &InternalError) -> CliError {
        commands::mistaken(error, &self.image, &self.elf).about(&self.name())
    }

    pub fn name(&self) -> String {
        let soc = &self.soc.soc.name;
        match (&self.kernel, &self.scenario) {
            (Some(kernel), Some(scenario)) => format!("{kernel} {scenario} on {soc}"),
            (_, Some(scenario)) => format!("{} {scenario} on {soc}", self.path),
            _ => format!("{} on {soc}", self.path),
        }
    }

    /// The probes of its image, and of its scenario alone if it has one.
    pub fn records(&self) -> Result<Vec<Record>, CliError> {
        let Some(section) = self.image.section(SECTION) else { return Ok(Vec::new()) };
        probes::parse(section).map_err(|error| {
            unfit(self, Exit::BuildFailed, error, "build the firmware again with this rtmark")
        })
    }

    /// Whether a record is about its scenario, if it has one.
    pub fn holds(&self, record: &Record) -> bool {
        self.scenario.as_ref().is_none_or(|id| record.is_of(id))
    }

    /// A machine that is about to run the scenario.
    pub fn machine(&self, records: &[Record]) -> Result<Machine, CliError> {
        let mut machine = Machine::new(&self.soc.soc);
        machine.load(&self.image).map_err(|error| {
            unfit(self, Exit::Usage, error, "link it for this soc, or choose another with --soc")
        })?;
        if let Some(text) = &self.until_output {
            machine.stop_at_output(text.as_bytes());
        }
        self.inputs.connect(&mut machine)?;
        let Some(scenario) = &self.scenario else { return Ok(machine) };
        select(&mut machine, &self.image, records, scenario).map_err(|error| match error {
            SelectError::NoScenario { .. } | SelectError::NoWord => {
                let hint = "select one of those; leave out --select for other images";
                unfit(self, Exit::NothingSelected, error, hint)
            }
            SelectError::NoMemory(_) => {
                unfit(self, Exit::BuildFailed, error, "build the firmware again")
            }
        })?;
        Ok(machine)
    }

    /// Runs it without any interrupt, and refuses one that does not come to its end, or is not
    /// content with it: what an interrupt does to it could not be told from that.
    pub fn ends_well_alone(&self, budget: u64) -> Result<(), CliError> {
        let run = spans(&self.machine(&self.records()?)?, &[], &[], Cycles(budget));
        if let Stop::Internal(error) = &run.stop {
            return Err(self.mistaken(error));
        }
        let verdict = Verdict::from(&run.stop);
        let (exit, hint) = match verdict {
            Verdict::Fine => return Ok(()),
            Verdict::Unfinished | Verdict::Asleep => (
                Exit::OutOfBudget,
                "--check looks at how a program ends: give a text that it prints by then with \
                 --until-output, let it end by semihosting SYS_EXIT, or allow more with --max-cycles",
            ),
            Verdict::Status(_) | Verdict::Fault | Verdict::Other => (
                Exit::Faulted,
                "`rtmark sim` shows the same run: --check needs a program that is content by itself",
            ),
        };
        let problem = format!(
            "without the interrupt {}, after {} cycles: no moment was searched",
            verdict.text(),
            run.cycles
        );
        Err(unfit(self, exit, problem, hint))
    }

    /// The way through it.
    pub fn path(&self, wish: &Wish) -> Result<Path, CliError> {
        let records = self.records()?;
        let start = self.machine(&records)?;
        let (mut begins, mut ends, mut end_addresses) = (Vec::new(), Vec::new(), Vec::new());
        for record in records.iter().filter(|record| self.holds(record)) {
            if let Kind::End(address) = record.kind {
                end_addresses.push(address);
            }
            // Nothing can be injected before the first instruction, where a reset begins a span.
            match Edge::watched(record.kind) {
                Some((watch, Edge::Begin)) => begins.push(watch),
                Some((watch, Edge::End)) => ends.push(watch),
                None => {}
            }
        }
        let windows = match wish.window {
            Some(window) => vec![self.until_its_end(&start, window, wish.budget)?],
            None => self.windows(&start, &begins, &ends, wish)?,
        };
        let woken = wish.woken.as_ref().map(|name| {
            let found = self.image.symbols().find(name).map(|address| address & !1);
            let hint = "name a function of the image, as `arm-none-eabi-nm` shows it";
            found.ok_or_else(|| unfit(self, Exit::Usage, format!("no symbol `{name}`"), hint))
        });
        let core = self.soc.soc.core;
        let above = wish.above.then(|| core.most_urgent_priority());
        let priority = above.or(wish.priority).unwrap_or(self.may_call);
        let mut question = Question {
            interrupt: wish.interrupt,
            priority,
            windows,
            reach: wish.reach,
            patience: PATIENCE,
            woken: woken.transpose()?,
            ends: end_addresses,
            second: wish.second.map(|second| Second {
                interrupt: second.interrupt,
                priority: second.priority.unwrap_or(priority),
                distance: second.distance,
            }),
        };
        // Where nobody asks for a priority, the program's own counts.
        let own = |question: &mut Question, interrupt, found| match &mut question.second {
            Some(second) if second.interrupt == interrupt => {
                second.priority = found;
                wish.second.is_some_and(|wish| wish.priority.is_none())
            }
            _ => {
                question.priority = found;
                wish.priority.is_none() && !wish.above
            }
        };
        for _ in 0..=usize::from(question.second.is_some()) {
            let result = Path::new(start.clone(), question.clone());
            match result {
                Err(PathError::Priority { interrupt, found, .. })
                    if own(&mut question, interrupt, found) => {}
                other => return self.told(other),
            }
        }
        self.told(Path::new(start, question))
    }

    fn told(&self, result: Result<Path, PathError>) -> Result<Path, CliError> {
        result.map_err(|error| {
            let hint = match &error {
                PathError::Internal(error) => return self.mistaken(error),
                PathError::Priority { found, .. } => format!(
                    "ask about the one that it has: --priority {found:#04x} (of the second \
                     interrupt, --second-priority)"
                ),
                _ => "choose interrupts that the soc has and the firmware handles, with \
                      --interrupt and --second"
                    .to_owned(),
            };
            unfit(self, Exit::Usage, error, &hint)
        })
    }

    /// The way of a question that has been asked before.
    pub fn path_for(&self, question: Question) -> Result<Path, CliError> {
        self.told(Path::new(self.machine(&self.records()?)?, question))
    }

    /// A window as far as the program runs without any interrupt.
    fn until_its_end(
        &self,
        start: &Machine,
        window: Window,
        budget: u64,
    ) -> Result<Window, CliError> {
        let Window { from, to } = window;
        let run = spans(start, &[], &[], Cycles(to.min(budget)));
        match &run.stop {
            Stop::Internal(error) => Err(self.mistaken(error)),
            Stop::Limit if to > budget => {
                let problem =
                    format!("it is still running after {budget} cycles, before the window's end");
                let hint = "end the window sooner, or allow more with --max-cycles";
                Err(unfit(self, Exit::OutOfBudget, problem, hint))
            }
            // In its sleep there are moments, too, and the interrupt may wake it.
            Stop::Limit | Stop::Asleep => Ok(window),
            stop if run.cycles <= from => {
                let problem = format!(
                    "the window begins behind its end: {} in cycle {}",
                    how_it_ends(stop),
                    run.cycles
                );
                Err(unfit(self, Exit::Usage, problem, "name earlier cycles with --window FROM:TO"))
            }
            _ => Ok(Window { from, to: to.min(run.cycles) }),
        }
    }

    fn windows(
        &self,
        start: &Machine,
        begins: &[Watch],
        ends: &[Watch],
        wish: &Wish,
    ) -> Result<Vec<Window>, CliError> {
        let run = spans(start, begins, ends, Cycles(wish.budget));
        let ended = match &run.stop {
            Stop::Limit => format!("it was still running after {} cycles", run.cycles),
            Stop::Exit(status) if status.0 == 0 => "it ran to its end".to_owned(),
            other => format!("{} in cycle {}", how_it_ends(other), run.cycles),
        };
        if let Stop::Internal(error) = &run.stop {
            return Err(self.mistaken(error));
        }
        let (Some(first), Some(last)) = (run.windows.first(), run.windows.last()) else {
            let exit = match &run.stop {
                Stop::Fault(_) | Stop::Lockup(_) => Exit::Faulted,
                _ => Exit::OutOfBudget,
            };
            if begins.is_empty() {
                let problem = format!("it has no probes that tell which cycles to search; {ended}");
                let to = run.cycles.clamp(1, SUGGESTED);
                let hint = format!("name the cycles: --window 0:{to}");
                return Err(unfit(self, exit, problem, &hint));
            }
            let problem = format!("no span is ever entered: {ended}");
            let hint = "allow more with --max-cycles, or name cycles with --window FROM:TO";
            return Err(unfit(self, exit, problem, hint));
        };
        Ok(if wish.whole_run {
            vec![Window { from: first.from, to: last.to }]
        } else {
            run.windows
        })
    }

    /// The subjects of a plan's unit: one for each scenario that has an answer, or its mixed load.
    pub fn of_unit(
        builder: &Builder,
        unit: &rtmark_runner::Unit,
        what: What,
    ) -> Result<Vec<Self>, CliError> {
        let wanted: Vec<ScenarioId> = match what {
            What::Scenarios => {
                let answered = unit.scenarios.iter().filter(|(_, excuse)| excuse.is_none());
                let spans = answered.filter(|(scenario, _)| scenario.held_back.is_none());
                spans.map(|(scenario, _)| scenario.id.clone()).collect()
            }
            What::Load if !unit.kernel.manifest.load => Vec::new(),
            What::Load => vec![LOAD.parse::<ScenarioId>().map_err(|error| {
                CliError::new(Exit::Internal, format!("{LOAD}: {error}"), "report this as a defect")
            })?],
        };
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        // Only the simulator can be searched: the plan was made of socs.
        let Platform::Sim(soc, _) = &unit.platform else { return Ok(Vec::new()) };
        let built = match what {
            What::Scenarios => builder.build(&unit.kernel, &soc.soc, &unit.switched)?,
            What::Load => builder.build_load(&unit.kernel, &soc.soc, &unit.switched)?,
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
                may_call: unit.kernel.manifest.most_urgent_caller(&soc.soc),
                until_output: None,
                inputs: Inputs::default(),
            });
        }
        Ok(subjects)
    }
}
