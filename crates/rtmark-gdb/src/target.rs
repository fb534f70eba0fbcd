//! The machine as a GDB target.

use std::ops::ControlFlow;

use gdbstub::common::Signal;
use gdbstub::stub::SingleThreadStopReason;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadResume, SingleThreadResumeOps, SingleThreadSingleStep,
    SingleThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps, outputln};
use gdbstub::target::ext::target_description_xml_override::{
    TargetDescriptionXmlOverride, TargetDescriptionXmlOverrideOps,
};
use gdbstub::target::{Target, TargetError, TargetResult};
use rtmark_sim::{Cycles, Machine, Observer, Register, Stop};

use crate::SessionObserver;
use crate::history::{Change, History, Hit, Moment};
use crate::registers::{self, Core, Values};
use crate::stops::{Stops, Watchpoint};

/// GDB's last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Continue,
    Step,
    ReverseContinue,
    ReverseStep,
}

/// Cycles between two checks of the connection, each with a copy for the history.
const SLICE: u64 = 5_000_000;

pub type TargetStopReason = SingleThreadStopReason<u32>;

/// A machine under a debugger.
pub struct DebugTarget<'a> {
    pub machine: Machine,
    /// Why the run last returned, if not for the debugger.
    pub stop: Option<Stop>,
    limit: Cycles,
    /// Returns the limit by what is known when it is reached.
    later_limit: &'a dyn Fn(&Machine) -> Cycles,
    stops: Stops,
    history: History,
    mode: Mode,
    /// Whether a breakpoint at the current instruction has already been reported.
    leaves: bool,
    /// Receives the program's output, once.
    pub observer: &'a mut dyn SessionObserver,
    /// The moment up to which output has been reported.
    printed: Moment,
}

impl From<Hit> for TargetStopReason {
    fn from(hit: Hit) -> Self {
        match hit {
            Hit::Breakpoint => Self::SwBreak(()),
            Hit::Watch(Watchpoint { kind, address: addr, .. }) => {
                Self::Watch { tid: (), kind, addr }
            }
        }
    }
}

/// Looks for stops while a program runs forwards.
struct StopFinder<'a> {
    stops: &'a Stops,
    /// The instruction at which it begins, which does not stop again.
    first: u64,
    is_step: bool,
    /// Where to end without a reason.
    pause: Option<Moment>,
    reason: Option<TargetStopReason>,
}

impl Observer for StopFinder<'_> {
    fn before(&mut self, machine: &Machine) -> ControlFlow<()> {
        if self.pause.is_some_and(|pause| Moment::of(machine) >= pause) {
            return ControlFlow::Break(());
        }
        let count = machine.instructions().0;
        if count > self.first {
            // GDB steps over the access itself, as on Arm chips.
            if let Some(watch) = self.stops.watched(machine) {
                self.reason = Some(Hit::Watch(watch).into());
            } else if self.stops.is_breakpoint(machine.register(Register::Pc)) {
                self.reason = Some(Hit::Breakpoint.into());
            } else if self.is_step {
                self.reason = Some(TargetStopReason::DoneStep);
            }
        }
        if self.reason.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<'a> DebugTarget<'a> {
    pub fn new(
        machine: Machine,
        later_limit: &'a dyn Fn(&Machine) -> Cycles,
        observer: &'a mut dyn SessionObserver,
    ) -> Self {
        let limit = later_limit(&machine);
        let (printed, history) = (Moment::of(&machine), History::new(&machine));
        let (stop, stops, mode) = (None, Stops::default(), Mode::Step);
        Self {
            machine,
            stop,
            limit,
            later_limit,
            stops,
            history,
            mode,
            leaves: true,
            observer,
            printed,
        }
    }

    /// Performs a part of the last request; returns the reason once it is done.
    pub fn advance(&mut self) -> Option<TargetStopReason> {
        self.stop = None;
        let reason = match self.mode {
            Mode::Continue => self.run_forward(false),
            Mode::Step => self.run_forward(true),
            Mode::ReverseStep => {
                let count = self.machine.instructions().0;
                match count.checked_sub(1).and_then(|count| self.history.at(count)) {
                    Some(machine) => {
                        self.machine = machine;
                        Some(TargetStopReason::DoneStep)
                    }
                    None => Some(BEGINNING),
                }
            }
            Mode::ReverseContinue => {
                let (hit, machine) = self.history.last_stop_before(&self.machine, &self.stops);
                self.machine = machine;
                Some(hit.map_or(BEGINNING, TargetStopReason::from))
            }
        };
        let console = self.machine.take_console();
        // Repeated parts of a run print nothing new.
        let now = Moment::of(&self.machine);
        if now > self.printed {
            self.printed = now;
            if !console.is_empty() {
                self.observer.printed(console);
            }
        }
        reason
    }

    /// Returns the next moment at which a forward run pauses, where it goes through a known future: for a
    /// change, or at the end of what has been printed.
    fn next_pause(&self) -> Option<Moment> {
        let printed = Some(self.printed).filter(|printed| *printed > Moment::of(&self.machine));
        self.history.next_change(&self.machine).into_iter().chain(printed).min()
    }

    /// Leaves the past: runs on through the known future to the latest moment that was seen, and prints nothing
    /// again. Returns what ends the run there, if anything does.
    pub fn return_to_present(&mut self) -> Option<Stop> {
        let stop = self.history.advance(&mut self.machine, self.printed);
        self.machine.take_console();
        stop
    }

    fn run_forward(&mut self, is_step: bool) -> Option<TargetStopReason> {
        let now = self.machine.cycles();
        let pause = self.next_pause();
        // Of several instructions in one cycle, only an observer can tell which one is next.
        let later = pause.map(|pause| pause.cycles).filter(|cycles| *cycles > now);
        let until = now.saturating_add(Cycles(SLICE)).min(self.limit);
        let until = until.min(later.unwrap_or(until));
        let leaves = std::mem::take(&mut self.leaves);
        let first = self.machine.instructions().0.wrapping_sub(u64::from(!leaves));
        let stops = &self.stops;
        let mut forwards = StopFinder { stops, first, is_step, pause, reason: None };
        // One instruction steps off a breakpoint; without watchpoints the rest runs at full speed.
        let fast =
            !is_step && self.stops.watchpoints.is_empty() && pause.is_some() == later.is_some();
        let (mut stop, mut reason);
        if fast && !leaves {
            (stop, reason) = (run_fast(&mut self.machine, &self.stops, until), None);
        } else {
            forwards.is_step |= fast;
            stop = self.machine.run_observed(until, &mut forwards);
            reason = forwards.reason;
            if fast && stop == Stop::Observer && reason == Some(TargetStopReason::DoneStep) {
                (stop, reason) = (run_fast(&mut self.machine, &self.stops, until), None);
            }
        }
        if let Some(pause) = pause.filter(|pause| Moment::of(&self.machine) >= *pause) {
            self.history.repeat_changes(&mut self.machine, pause);
        }
        self.ended(stop, reason)
    }

    /// Makes a change that GDB asks for. What happened after the present once has not been printed in the
    /// new future.
    fn change(&mut self, change: Change) -> TargetResult<(), Self> {
        let changed = self.history.change(&mut self.machine, change);
        changed.map_err(|_| TargetError::NonFatal)?;
        self.printed = Moment::of(&self.machine);
        Ok(())
    }

    /// Translates why a forward run returned into GDB's terms; returns nothing if it is to continue.
    fn ended(&mut self, stop: Stop, reason: Option<TargetStopReason>) -> Option<TargetStopReason> {
        if stop == Stop::Limit && self.machine.cycles() >= self.limit {
            self.limit = (self.later_limit)(&self.machine);
        }
        match stop {
            Stop::Observer => reason,
            Stop::Limit if self.machine.cycles() < self.limit => {
                self.history.save(&self.machine);
                None
            }
            Stop::Breakpoint(address) if self.stops.is_breakpoint(address) => {
                Some(Hit::Breakpoint.into())
            }
            stop => {
                let reason = match &stop {
                    Stop::Exit(status) => TargetStopReason::Exited(status.0 as u8),
                    Stop::Fault(_) => TargetStopReason::Signal(Signal::SIGSEGV),
                    Stop::Lockup(_) | Stop::Internal(_) => {
                        TargetStopReason::Signal(Signal::SIGABRT)
                    }
                    Stop::Limit => TargetStopReason::Signal(Signal::SIGXCPU),
                    Stop::Asleep => TargetStopReason::Signal(Signal::SIGSTOP),
                    _ => TargetStopReason::Signal(Signal::SIGTRAP),
                };
                self.stop = Some(stop);
                Some(reason)
            }
        }
    }
}

/// Runs with breakpoints in place of instructions, which costs no time.
fn run_fast(machine: &mut Machine, stops: &Stops, until: Cycles) -> Stop {
    for address in stops.breakpoints() {
        machine.stop_before(*address);
    }
    let stop = machine.run(until);
    for address in stops.breakpoints() {
        machine.remove_stop(*address);
    }
    stop
}

const BEGINNING: TargetStopReason =
    TargetStopReason::ReplayLog { tid: None, pos: ReplayLogPosition::Begin };

/// The error type of the target, which never fails permanently.
#[derive(Debug, thiserror::Error)]
pub enum Never {}

impl Target for DebugTarget<'_> {
    type Arch = Core;
    type Error = Never;

    fn base_ops(&mut self) -> BaseOps<'_, Core, Never> {
        BaseOps::SingleThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn support_target_description_xml_override(
        &mut self,
    ) -> Option<TargetDescriptionXmlOverrideOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadBase for DebugTarget<'_> {
    fn read_registers(&mut self, values: &mut Values) -> TargetResult<(), Self> {
        let machine = &self.machine;
        values.0 = registers::all(machine).into_iter().map(|r| machine.register(r)).collect();
        Ok(())
    }

    fn write_registers(&mut self, values: &Values) -> TargetResult<(), Self> {
        let all = registers::all(&self.machine);
        if all.len() != values.0.len() {
            return Err(TargetError::NonFatal);
        }
        // Stack pointers have several names, so only changes are written.
        let all = all.into_iter().zip(values.0.iter().copied());
        let changed: Vec<_> =
            all.filter(|(register, value)| self.machine.register(*register) != *value).collect();
        if changed.is_empty() { Ok(()) } else { self.change(Change::Registers(changed)) }
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8]) -> TargetResult<usize, Self> {
        let bytes = self.machine.peek(start, data.len());
        data[..bytes.len()].copy_from_slice(&bytes);
        if bytes.is_empty() { Err(TargetError::NonFatal) } else { Ok(bytes.len()) }
    }

    fn write_addrs(&mut self, start: u32, data: &[u8]) -> TargetResult<(), Self> {
        self.change(Change::Memory(start, data.to_vec()))
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadResume for DebugTarget<'_> {
    fn resume(&mut self, _signal: Option<Signal>) -> Result<(), Never> {
        (self.mode, self.leaves) = (Mode::Continue, true);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, (), Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, (), Self>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for DebugTarget<'_> {
    fn step(&mut self, _signal: Option<Signal>) -> Result<(), Never> {
        (self.mode, self.leaves) = (Mode::Step, true);
        Ok(())
    }
}

impl ReverseStep<()> for DebugTarget<'_> {
    fn reverse_step(&mut self, _tid: ()) -> Result<(), Never> {
        self.mode = Mode::ReverseStep;
        Ok(())
    }
}

impl ReverseCont<()> for DebugTarget<'_> {
    fn reverse_cont(&mut self) -> Result<(), Never> {
        self.mode = Mode::ReverseContinue;
        Ok(())
    }
}

impl Breakpoints for DebugTarget<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for DebugTarget<'_> {
    fn add_sw_breakpoint(&mut self, address: u32, _kind: usize) -> TargetResult<bool, Self> {
        let there = self.machine.peek(address, 2).len() == 2;
        if there {
            self.stops.add(address & !1);
        }
        Ok(there)
    }

    fn remove_sw_breakpoint(&mut self, address: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(self.stops.remove(address & !1))
    }
}

impl HwBreakpoint for DebugTarget<'_> {
    fn add_hw_breakpoint(&mut self, address: u32, kind: usize) -> TargetResult<bool, Self> {
        self.add_sw_breakpoint(address, kind)
    }

    fn remove_hw_breakpoint(&mut self, address: u32, kind: usize) -> TargetResult<bool, Self> {
        self.remove_sw_breakpoint(address, kind)
    }
}

impl HwWatchpoint for DebugTarget<'_> {
    fn add_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watch = Watchpoint { address, length, kind };
        if length > 0 && !self.stops.watchpoints.contains(&watch) {
            self.stops.watchpoints.push(watch);
        }
        Ok(length > 0)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u32,
        length: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watch = Watchpoint { address, length, kind };
        let found = self.stops.watchpoints.iter().position(|known| *known == watch);
        found.map(|at| self.stops.watchpoints.remove(at));
        Ok(found.is_some())
    }
}

impl MonitorCmd for DebugTarget<'_> {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), Never> {
        let machine = &self.machine;
        match command.trim_ascii() {
            b"cycles" => outputln!(out, "{}", machine.cycles().0),
            b"instructions" => outputln!(out, "{}", machine.instructions().0),
            b"exceptions" => outputln!(out, "{}", machine.exceptions_taken()),
            b"stop" => match &self.stop {
                Some(Stop::Fault(report) | Stop::Lockup(report)) => outputln!(out, "{report}"),
                Some(Stop::Internal(error)) => outputln!(out, "internal error: {error}"),
                Some(stop) => outputln!(out, "{stop:?}"),
                None => outputln!(out, "stopped by the debugger"),
            },
            _ => {
                outputln!(out, "monitor cycles        cycles since reset");
                outputln!(out, "monitor instructions  instructions since reset");
                outputln!(out, "monitor exceptions    handlers entered since reset");
                outputln!(out, "monitor stop          why the program has stopped");
            }
        }
        Ok(())
    }
}

impl TargetDescriptionXmlOverride for DebugTarget<'_> {
    fn target_description_xml(
        &self,
        annex: &[u8],
        offset: u64,
        length: usize,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        if annex != b"target.xml" {
            return Err(TargetError::NonFatal);
        }
        let xml = registers::description(&self.machine);
        let rest = xml.as_bytes().get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(length).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}
