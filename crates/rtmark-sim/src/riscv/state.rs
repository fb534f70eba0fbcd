//! The state of a machine with a RISC-V core as its users see it: images, watches, stops, faults,
//! the console.

use rtmark_units::{Cycles, Instructions};

use super::core::{Core, CycleResult, PipelineObserver, Refusal, TrapKind};
use super::csr::{Cause, Interrupt};
use super::exec::{Exception, Reason, Trap};
use super::inputs::{Drive, Input};
use super::rules::Rules;
use super::system::System;
use crate::devices::{Console, Devices};
use crate::host::Reply;
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::state::stop::{FaultKind, FaultPolicy, FaultReport, Stop};
use crate::state::{
    Blocker, Convention, CoreState, Irq, LoadError, MaskSite, Register, Session, Watch, Watches,
};

/// Exception numbers for watches, observers and reports: those of the Cortex-M exceptions with the
/// same role, which are memory and instruction faults, calls, the software interrupt, the timer,
/// and the first external interrupt.
pub mod number {
    pub const FAULT: u16 = 3;
    pub const CALL: u16 = 11;
    pub const SOFTWARE: u16 = 14;
    pub const TIMER: u16 = 15;
    pub const FIRST_EXTERNAL: u16 = 16;
}

const RA: u8 = 1;

/// The CSRs that debuggers show, by name (RISC-V privileged specification, 2.2).
const CSRS: [(&str, u16); 7] = [
    ("mstatus", 0x300),
    ("mie", 0x304),
    ("mtvec", 0x305),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mip", 0x344),
];

/// The names of the integer registers in the calling convention (RISC-V ELF psABI).
const INTEGERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Returns the registers that debuggers show: integers, the program counter, CSRs.
pub fn named_registers() -> impl Iterator<Item = (&'static str, Register)> {
    let integers = INTEGERS.into_iter().zip((0..).map(Register::R));
    let csrs = CSRS.map(|(name, number)| (name, Register::Csr(number)));
    integers.chain([("pc", Register::Pc)]).chain(csrs)
}

/// The machine's state.
#[derive(Clone, Debug)]
pub struct State {
    pub core: Core,
    pub session: Session,
    /// The program's entry point, if its file states one.
    entry: Option<u32>,
    was_asleep: bool,
    /// Whether interrupts were masked at the last check, if that is checked.
    was_masked: Option<bool>,
}

/// Returns the exception number by which watches and observers know an interrupt.
const fn number_of(input: Input) -> u16 {
    match input {
        Input::Software => number::SOFTWARE,
        Input::Timer => number::TIMER,
        Input::External(line) => number::FIRST_EXTERNAL.saturating_add(line),
    }
}

/// Records the kind of a cycle's trap.
#[derive(Default)]
struct Note(Option<TrapKind>);

impl PipelineObserver for Note {
    fn trapped(&mut self, what: TrapKind, _cycle: u64, _return_to: u32) {
        self.0 = Some(what);
    }
}

impl CoreState for State {
    fn soc(&self) -> &Soc {
        &self.session.soc
    }

    fn bus(&self) -> &Bus {
        &self.core.system.bus
    }

    fn bus_mut(&mut self) -> &mut Bus {
        &mut self.core.system.bus
    }

    fn devices(&self) -> &Devices {
        &self.core.system.devices
    }

    fn devices_mut(&mut self) -> &mut Devices {
        &mut self.core.system.devices
    }

    fn console_mut(&mut self) -> &mut Console {
        &mut self.core.system.console
    }

    fn watches(&self) -> &Watches {
        &self.session.watches
    }

    fn watches_mut(&mut self) -> &mut Watches {
        &mut self.session.watches
    }

    fn stops_mut(&mut self) -> &mut Vec<u32> {
        &mut self.session.stops
    }

    fn empty_caches(&mut self) {
        self.core.system.empty_caches();
    }

    fn code_changed(&mut self) {
        self.core.forget_code();
    }

    fn marks_changed(&mut self) {
        self.core.graph.mark(self.session.marks());
    }

    /// Loads an image. The program begins at the entry point of the file, as with loaders, or if it
    /// has none, at the core's reset address.
    fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        self.session.program(&mut self.core.system.bus, image)?;
        self.entry = Some(image.entry() & !1).filter(|&entry| entry != 0);
        self.reset()
    }

    fn reset(&mut self) -> Result<(), LoadError> {
        let soc = &self.session.soc;
        let (begin, ports) = (soc.vector_base(), self.core.system.ports);
        let core = Core::new(Rules::of(soc.core), System::new(soc), begin);
        let mut bus = self.core.system.bus.clone();
        self.session.reset(&mut bus);
        let console = std::mem::take(&mut self.core.system.console);
        let before = std::mem::replace(&mut self.core, core);
        self.core.refusal = before.refusal;
        let system = &mut self.core.system;
        (system.bus, system.console, system.ports) = (bus, console, ports);
        system.devices.carry_over(before.system.devices);
        if let Some(entry) = self.entry {
            self.core.go_to(entry);
        }
        self.was_asleep = false;
        self.marks_changed();
        Ok(())
    }

    fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.core.refusal = match policy {
            FaultPolicy::Stop => Refusal::Faults,
            FaultPolicy::Deliver => Refusal::Nothing,
        };
    }

    fn cycles(&self) -> Cycles {
        Cycles(self.core.cycle)
    }

    fn instructions(&self) -> Instructions {
        Instructions(self.core.instructions)
    }

    /// Returns the cycles for which loads and stores have waited for memories and devices. Waits of
    /// fetches are part of the instructions' cycles, and not counted separately.
    fn waited(&self) -> Cycles {
        Cycles(self.core.waited)
    }

    fn asleep(&self) -> Cycles {
        Cycles(self.session.asleep)
    }

    /// `R(0)` to `R(31)` are `x0` to `x31`.
    fn register(&self, register: Register) -> u32 {
        match register.in_convention(Convention::RISC_V) {
            Register::R(number) => self.core.hart.get(number),
            Register::Pc => self.core.hart.pc,
            Register::Csr(number) => self.core.csr(number),
            _ => 0,
        }
    }

    fn set_register(&mut self, register: Register, value: u32) {
        match register.in_convention(Convention::RISC_V) {
            Register::R(number) => self.core.hart.set(number, value),
            Register::Pc => {
                self.core.go_to(value & !1);
                self.session.ended = None;
            }
            Register::Csr(number) => self.core.set_csr(number, value),
            _ => {}
        }
        self.core.prepare_again();
    }

    /// Drives the interrupt's input high until it is served.
    fn pend_interrupt(&mut self, interrupt: Irq, at: Cycles) {
        self.drive(Input::External(interrupt.line()), Drive::UntilServed, at);
    }
}

impl State {
    pub fn new(soc: &Soc) -> Self {
        let begin = soc.vector_base();
        let mut core = Core::new(Rules::of(soc.core), System::new(soc), begin);
        core.refusal = Refusal::Faults;
        Self { core, session: Session::new(soc), entry: None, was_asleep: false, was_masked: None }
    }

    /// Drives an interrupt input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, at: Cycles) {
        self.core.inputs.drive(input, drive, at.0);
        self.core.resample_interrupts();
    }

    /// Returns the stop that is due before the instruction at the program counter.
    pub fn due_stop(&self) -> Option<Stop> {
        let pc = self.core.hart.pc;
        let here = self.session.stops_at(pc) && self.core.is_at_boundary();
        here.then_some(Stop::Breakpoint(pc))
    }

    /// Executes instructions on the fast path as long as they need no recording. None ends after
    /// cycle `until`.
    pub fn run_graph(&mut self, until: u64) {
        let masks = self.session.watches.masking.is_on()
            && self.session.handlers.is_empty()
            && self.was_masked != Some(!self.core.hart.csr.takes_interrupts());
        if !masks
            && !self.was_asleep
            && self.session.entered.is_none()
            && self.session.ended.is_none()
        {
            self.core.run_graph(until);
        }
    }

    /// Advances by one cycle, or while the core sleeps, to the cycle in which something may wake
    /// it.
    ///
    /// # Errors
    /// The reason why the run ends.
    pub fn step_until(&mut self, until: u64) -> Result<CycleResult, Stop> {
        if let Some(stop) = &self.session.ended {
            return Err(stop.clone());
        }
        let cycle = self.core.cycle;
        if let Some(next) = self.core.sleeps_until() {
            if next == u64::MAX {
                return Err(Stop::Asleep);
            }
            let next = next.min(until).max(cycle + 1);
            self.session.asleep += next - cycle;
            self.core.cycle = next;
            return Ok(CycleResult::Cycle);
        }
        let mut note = Note::default();
        let passed = match self.core.step_memoized(until, &mut note) {
            Some(passed) => passed,
            None => self.core.step_cycle(&mut note),
        };
        let cycle = self.core.cycle - 1;
        self.record_step(passed, note.0, cycle);
        if std::mem::take(&mut self.session.watches.empty) {
            self.empty_caches();
        }
        if passed == CycleResult::Refused
            && let Some(exception) = self.core.refused()
        {
            let stop = self.refusal(exception, cycle);
            self.session.ended = Some(stop.clone());
            return Err(stop);
        }
        if self.session.watches.take_resumed() {
            return Err(Stop::Resumed);
        }
        if let Some((base, cause)) = self.core.system.devices.take_watchdog_reset() {
            return Err(Stop::Watchdog { base, cause });
        }
        if self.core.system.devices.take_slower_clock() {
            return Err(Stop::SlowerClock);
        }
        if let Some(address) = self.core.system.devices.take_refused() {
            let pc = if let CycleResult::Instruction(pc) = passed { pc } else { self.core.hart.pc };
            let stop = self.fault(FaultKind::Unmodelled, pc, Some(address), cycle);
            self.session.ended = Some(stop.clone());
            return Err(stop);
        }
        match self.core.system.console.take_found() {
            Some(number) => Err(Stop::Output(number)),
            None => Ok(passed),
        }
    }

    /// Records the events of a cycle.
    fn record_step(&mut self, passed: CycleResult, trap: Option<TrapKind>, cycle: u64) {
        if let CycleResult::Instruction(pc) = passed
            && self.session.is_watched(pc)
        {
            let mut counts = self.counts(cycle);
            // The count before this instruction.
            counts.instructions -= 1;
            self.session.watches.reach(pc, counts);
        }
        if let CycleResult::Instruction(_) = passed {
            if let Some(entered) = self.session.entered.take() {
                self.note_handled(entered, cycle);
            }
            if let Some(interrupt) = self.core.take_served() {
                self.record_served(interrupt, cycle);
            }
        }
        while let Some((at, input)) = self.core.inputs.take_risen() {
            let outcome = Watch::Pend(number_of(input));
            if self.session.watches.want(outcome) {
                let counts = self.counts(at);
                self.session.watches.note(outcome, counts);
            }
        }
        let asleep = self.core.is_asleep();
        if asleep != self.was_asleep {
            self.was_asleep = asleep;
            if asleep && self.session.watches.want(Watch::Sleep) {
                let counts = self.counts(cycle);
                self.session.watches.note(Watch::Sleep, counts);
            }
        }
        self.session.asleep += u64::from(asleep);
        if let Some(trap) = trap {
            self.record_trap(trap, cycle);
        }
        if let CycleResult::Instruction(address) = passed
            && self.session.watches.masking.is_on()
            && self.session.handlers.is_empty()
        {
            let mask = (!self.core.hart.csr.takes_interrupts()).then_some(Blocker::MachineMask);
            let site = MaskSite { address, link: self.core.hart.get(RA) };
            self.was_masked = Some(mask.is_some());
            self.session.watches.masking.update(mask, cycle + 1, self.session.asleep, site);
        }
    }

    fn record_trap(&mut self, trap: TrapKind, cycle: u64) {
        let entered = match trap {
            TrapKind::Return => {
                let Some(exception) = self.session.handlers.leave() else { return };
                let external = exception.checked_sub(number::FIRST_EXTERNAL);
                if external.is_some_and(|interrupt| self.core.inputs.served(interrupt)) {
                    self.core.resample_interrupts();
                }
                self.note_return(exception, cycle);
                let (pc, sp) = (self.core.hart.pc, self.register(Register::Sp));
                let handler = self.session.handlers.current();
                self.session.watches.returns_to(pc, sp, handler);
                return;
            }
            TrapKind::Exception(code) => {
                let calls = code == Cause::MachineCall as u8 || code == Cause::UserCall as u8;
                if calls { number::CALL } else { number::FAULT }
            }
            TrapKind::Interrupt(code) if u32::from(code) == Interrupt::Software.code() => {
                number::SOFTWARE
            }
            TrapKind::Interrupt(code) if u32::from(code) == Interrupt::Timer.code() => {
                number::TIMER
            }
            TrapKind::Interrupt(_) => {
                number::FIRST_EXTERNAL + self.core.last_external_interrupt().unwrap_or(0)
            }
        };
        self.session.entered = Some(entered);
        self.enter(entered);
    }

    fn note_return(&mut self, exception: u16, cycle: u64) {
        self.session.watches.left += 1;
        if self.session.watches.want(Watch::Return(exception)) {
            let counts = self.counts(cycle);
            self.session.watches.note(Watch::Return(exception), counts);
        }
    }

    /// Records that the program has read the number of an external interrupt in MEINEXT. An
    /// interrupt without its own trap is handled from here on, as if entered from the previous
    /// handler.
    fn record_served(&mut self, interrupt: u16, cycle: u64) {
        let exception = number::FIRST_EXTERNAL + interrupt;
        if self.session.handlers.current() >= number::FIRST_EXTERNAL {
            if self.session.handlers.name(exception) {
                return;
            }
            if let Some(before) = self.session.handlers.leave() {
                self.note_return(before, cycle);
            }
            self.enter(exception);
            self.session.handlers.name(exception);
        }
        self.note_handled(exception, cycle);
    }

    /// Records that an exception's handler begins with the instruction that has just executed.
    fn note_handled(&mut self, exception: u16, cycle: u64) {
        if self.session.watches.want(Watch::Handle(exception)) {
            let mut counts = self.counts(cycle);
            counts.instructions -= 1;
            self.session.watches.note(Watch::Handle(exception), counts);
        }
    }

    fn enter(&mut self, exception: u16) {
        self.session.watches.enter(exception);
        self.session.handlers.enter(exception);
    }

    /// Returns the stop for an instruction at the program counter that faults.
    fn refusal(&self, exception: Exception, cycle: u64) -> Stop {
        let pc = self.core.hart.pc;
        let Trap::Cause(cause, reason) = exception.kind else { return Stop::Breakpoint(pc) };
        let kind = match (cause, reason) {
            (Cause::Breakpoint, _) => return Stop::Breakpoint(pc),
            (Cause::IllegalInstruction, _) if self.core.is_csr_access(pc) => {
                FaultKind::ControlRegister
            }
            (Cause::IllegalInstruction, _) => FaultKind::UndefinedInstruction,
            (Cause::InstructionFault, Reason::Protection) => FaultKind::InstructionProtection,
            (Cause::InstructionFault, Reason::Ordinary) => FaultKind::InstructionAccess,
            (Cause::LoadMisaligned | Cause::StoreMisaligned, _) => FaultKind::Unaligned,
            (_, Reason::Protection) => FaultKind::DataProtection,
            _ => FaultKind::DataAccess,
        };
        self.fault(kind, pc, exception.address, cycle)
    }

    /// Returns the stop for a fault, with the address that it concerns.
    fn fault(&self, kind: FaultKind, pc: u32, address: Option<u32>, cycle: u64) -> Stop {
        Stop::Fault(FaultReport {
            kind,
            pc,
            core: self.session.soc.core,
            lr: self.core.hart.get(RA),
            sp: self.register(Register::Sp),
            address,
            handler: self.session.handlers.current(),
            mode: Some(self.core.hart.csr.privilege.letter()),
            cycle: Cycles(cycle),
        })
    }

    /// Serves the host call that the last instruction has made, if it was one.
    ///
    /// # Errors
    /// If the program has exited.
    pub fn serve_call(&mut self) -> Result<(), Stop> {
        if !self.core.take_call() {
            return Ok(());
        }
        match super::semihosting::serve(&mut self.core, &mut self.session.calls) {
            Reply::Value(value) => {
                self.core.hart.set(super::semihosting::RESULT, value);
                self.core.prepare_again();
                Ok(())
            }
            Reply::Exit(status) => {
                self.session.ended = Some(Stop::Exit(status));
                Err(Stop::Exit(status))
            }
            Reply::Host => Ok(()),
        }
    }
}
