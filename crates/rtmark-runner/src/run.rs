//! Runs an image in the simulator and reports how the run ended.

use rtmark_observe::{RunClock, stack_overflow, watch_main_stack};
use rtmark_sim::{
    ExitStatus, FaultKind, FaultReport, FileCalls, Host, Image, InternalError, LandmarkObserver,
    Landmarks, LoadError, Machine, Memory, MemoryKind, Observer, Register, Soc, Stop,
    WatchdogCause,
};
use rtmark_units::Cycles;

use crate::internal_error;

/// The cycles that the simulator runs between looks at its state: long enough to cost nothing, short enough for
/// progress to move, and for the host's caches to keep what is recorded in between (an idle thread that keeps
/// passing a probe is a hit for every few cycles).
pub const SLICE: Cycles = Cycles(200_000);

/// How a run ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// The program ended itself, with success or failure.
    Exit(ExitStatus),
    /// A fault without a handler of its own.
    Fault(FaultReport),
    /// A fault inside a fault handler: the processor is locked up.
    Lockup(FaultReport),
    /// A breakpoint without a debugger, at this address.
    Breakpoint(u32),
    /// The processor sleeps, and nothing can wake it.
    Asleep,
    /// The cycle budget ran out.
    Limit,
    /// The program has made the core's clock slower, and the run's limit is a time: [`crate::RunLimit`] goes on.
    SlowerClock,
    /// The program asked for a system reset.
    Reset,
    /// A watchdog resets the chip.
    Watchdog {
        /// The watchdog's first address.
        base: u32,
        /// Why it does.
        cause: WatchdogCause,
    },
    /// The observer ended the run.
    Observer,
    /// The program printed a text at which the run was to stop, by its number.
    Output(usize),
    /// The simulator made a mistake: no figure of the run is valid.
    Internal(Box<InternalError>),
    /// An ending that this version of rtmark does not know.
    Other(String),
}

impl From<Stop> for Ending {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Limit => Self::Limit,
            Stop::Exit(status) => Self::Exit(status),
            Stop::Fault(report) => Self::Fault(report),
            Stop::Lockup(report) => Self::Lockup(report),
            Stop::Breakpoint(address) => Self::Breakpoint(address),
            Stop::Asleep => Self::Asleep,
            Stop::SlowerClock => Self::SlowerClock,
            // Triggering a watchdog is a request for a reset.
            Stop::ResetRequested | Stop::Watchdog { cause: WatchdogCause::Triggered, .. } => {
                Self::Reset
            }
            Stop::Watchdog { base, cause } => Self::Watchdog { base, cause },
            Stop::Observer => Self::Observer,
            Stop::Output(text) => Self::Output(text),
            Stop::Internal(error) => Self::Internal(error),
            other => Self::Other(format!("{other:?}")),
        }
    }
}

/// A machine with an image, ready to run.
#[derive(Debug)]
pub struct Session<'a> {
    /// The machine.
    pub machine: Machine,
    image: &'a Image,
    /// The image's file, whose debug information provides source lines.
    elf: &'a [u8],
    host: Option<&'a mut dyn SyscallHost>,
}

/// A host that performs system calls: see [`Session::with_host`].
pub trait SyscallHost: std::fmt::Debug {
    /// Performs the call with which the machine returned.
    fn serve(&mut self, machine: &mut Machine);
}

impl<T: Host + std::fmt::Debug> SyscallHost for T {
    fn serve(&mut self, machine: &mut Machine) {
        machine.serve(self);
    }
}

impl<'a> Session<'a> {
    /// Loads an image for a soc.
    ///
    /// # Errors
    /// When the image does not fit the soc's memories.
    pub fn new(soc: &Soc, image: &'a Image) -> Result<Self, LoadError> {
        let mut machine = Machine::new(soc);
        machine.load(image)?;
        Ok(Self::with(machine, image))
    }

    /// Wraps a machine that was prepared elsewhere and already holds the image.
    pub fn with(mut machine: Machine, image: &'a Image) -> Self {
        watch_main_stack(&mut machine, image);
        Self { machine, image, elf: &[], host: None }
    }

    /// Adds source lines from the debug information of the image's file.
    #[must_use]
    pub fn with_file(self, elf: &'a [u8]) -> Self {
        Self { elf, ..self }
    }

    /// Returns the clock of the run up to now.
    pub fn clock(&self) -> RunClock {
        RunClock::of(&self.machine, self.image)
    }

    /// Describes where the main stack grew beyond its end, if it did. Only on a Cortex-M, and only if a symbol
    /// says where the stack ends.
    pub fn stack_overflow(&self) -> Option<String> {
        stack_overflow(&self.machine, |address| self.place(address))
    }

    /// Returns the program's image.
    pub const fn image(&self) -> &'a Image {
        self.image
    }

    /// Lets the program use files that the host provides.
    #[must_use]
    pub fn with_host(mut self, host: &'a mut dyn SyscallHost) -> Self {
        self.machine.set_file_calls(FileCalls::Served);
        self.host = Some(host);
        self
    }

    /// Runs until something ends the run or the given number of cycles has passed since reset. `look`
    /// is called after every slice of cycles and at the end.
    pub fn run(&mut self, limit: Cycles, look: impl FnMut(&mut Machine)) -> Ending {
        self.run_by(limit, Machine::run, look)
    }

    /// Runs like [`Session::run`], with an observer that sees every instruction.
    pub fn run_observed(
        &mut self,
        limit: Cycles,
        observer: &mut impl Observer,
        look: impl FnMut(&mut Machine),
    ) -> Ending {
        self.run_by(limit, |machine, until| machine.run_observed(until, observer), look)
    }

    /// Runs like [`Session::run_observed`], with the code between landmarks executed at full speed.
    pub fn run_observed_at(
        &mut self,
        landmarks: &Landmarks,
        limit: Cycles,
        observer: &mut impl LandmarkObserver,
        look: impl FnMut(&mut Machine),
    ) -> Ending {
        let run =
            |machine: &mut Machine, until| machine.run_observed_at(landmarks, until, observer);
        self.run_by(limit, run, look)
    }

    fn run_by(
        &mut self,
        limit: Cycles,
        mut run: impl FnMut(&mut Machine, Cycles) -> Stop,
        mut look: impl FnMut(&mut Machine),
    ) -> Ending {
        loop {
            let until = self.machine.cycles().saturating_add(SLICE).min(limit);
            let stop = run(&mut self.machine, until);
            look(&mut self.machine);
            match stop {
                Stop::Limit if self.machine.cycles() < limit => {}
                Stop::HostCall if self.host.is_some() => {
                    self.host.iter_mut().for_each(|host| host.serve(&mut self.machine));
                }
                stop => return Ending::from(stop),
            }
        }
    }

    /// Formats an address with its symbol and line: `0x08000124 (main+0x4, main.c:12)`.
    pub fn place(&self, address: u32) -> String {
        match internal_error::location(address, self.image, self.elf) {
            Some(location) => format!("{address:#010x} ({location})"),
            None => format!("{address:#010x}"),
        }
    }

    /// Formats the program counter's location.
    pub fn location(&self) -> String {
        self.place(self.machine.register(Register::Pc))
    }

    /// Returns the memory that a fault's access found read-only.
    fn read_only(&self, report: &FaultReport) -> Option<&str> {
        let address = report.address.filter(|_| report.kind == FaultKind::DataAccess)?.into();
        let holds = |memory: &&Memory| memory.ranges().any(|range| range.contains(&address));
        let memory = self.machine.soc().memories.iter().find(holds)?;
        (memory.kind == MemoryKind::Flash).then_some(memory.name.as_str())
    }

    /// Returns whether an address is in RAM that no symbol of the image describes, although it has symbols.
    fn is_bare_ram(&self, address: u32) -> bool {
        let symbols = self.image.symbols();
        let holds = |memory: &&Memory| {
            memory.kind == MemoryKind::Ram
                && memory.ranges().any(|range| range.contains(&address.into()))
        };
        symbols.functions().next().is_some()
            && symbols.name_at(address).is_none()
            && self.machine.soc().memories.iter().any(|memory| holds(&memory))
    }

    /// Returns whether an address is in rtmark's own substitute for a chip's code.
    fn is_in_substitute(&self, address: u32) -> bool {
        let address = address.into();
        let holds = |memory: &&Memory| memory.ranges().any(|range| range.contains(&address));
        let memory = self.machine.soc().memories.iter().find(holds);
        memory.is_some_and(|memory| memory.contents.is_some())
    }

    /// Describes an ending, with addresses and symbols.
    pub fn describe(&self, ending: &Ending) -> String {
        let fault = |report: &FaultReport| {
            let read_only = self.read_only(report).map_or_else(String::new, |memory| {
                format!(" ({memory} can be read, so this is a store)")
            });
            match internal_error::location(report.pc, self.image, self.elf) {
                Some(location) => format!("{report}{read_only}, in {location}"),
                None if self.is_bare_ram(report.pc) => {
                    format!("{report}{read_only}, in RAM where the image has no code")
                }
                None => format!("{report}{read_only}"),
            }
        };
        match ending {
            Ending::Exit(ExitStatus(0)) => "exit: success".to_owned(),
            Ending::Exit(ExitStatus(status)) => format!("exit: failure, status {status}"),
            Ending::Reset => {
                format!("the program requested a system reset before {}", self.location())
            }
            Ending::Watchdog { base, cause } => {
                let peripherals = &self.machine.soc().peripherals;
                let name =
                    peripherals.iter().find(|it| it.base == *base).map(|it| it.name.as_str());
                let why = match cause {
                    WatchdogCause::Expired => "has not refreshed it in time",
                    WatchdogCause::RefreshedEarly => "has refreshed it before its window",
                    WatchdogCause::Triggered => "has triggered it",
                };
                let (name, location) = (name.unwrap_or_default(), self.location());
                format!("the watchdog {name} resets the chip before {location}: the program {why}")
            }
            Ending::Fault(report) => format!("fault: {}", fault(report)),
            Ending::Lockup(report) => format!("lockup: {}", fault(report)),
            Ending::Breakpoint(address) if self.is_in_substitute(*address) => {
                let caller = self.machine.register(Register::Link) & !1;
                let from = internal_error::location(caller, self.image, self.elf);
                let from = from.map_or_else(String::new, |from| format!(", from {from}"));
                format!(
                    "the program called the boot ROM, which ends the run at {address:#010x}{from}"
                )
            }
            Ending::Breakpoint(address) => {
                format!("breakpoint without a debugger at {}", self.place(*address))
            }
            Ending::Asleep => {
                format!("asleep for ever at {}: nothing can wake it", self.location())
            }
            Ending::Limit => {
                format!(
                    "still running at {} when {} had passed",
                    self.location(),
                    self.machine.cycles()
                )
            }
            Ending::Observer => format!("ended from outside at {}", self.location()),
            Ending::SlowerClock => format!("at another clock at {}", self.location()),
            Ending::Output(_) => format!("stopped at {} after its output", self.location()),
            Ending::Internal(error) => internal_error::describe(error, self.image, self.elf),
            Ending::Other(text) => text.clone(),
        }
    }
}
