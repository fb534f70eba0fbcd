//! The state of a machine with a Cortex-R5 as its users see it: images, watches, stops, faults, the
//! console.

use rtmark_units::{Cycles, Instructions};

use super::control::AccessFault;
use super::core::{Core, Refusal, StepResult};
use super::cpu::Mode;
use super::exec::Exception;
use super::gic::{FIRST_EXTERNAL, Gic, InterruptLine, exception};
use super::timing::ENTRY;
use crate::devices::{Console, Devices};
use crate::host::{Call, Reply};
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::state::stop::{FaultKind, FaultPolicy, FaultReport, Stop};
use crate::state::{
    Blocker, Convention, CoreState, FileCalls, Irq, LoadError, MaskSite, Register, Session, Watch,
    Watches,
};

/// Exception numbers for watches, observers and reports: those of the Cortex-M exceptions with the
/// same role, faults and calls. The controller assigns the numbers of interrupts.
pub mod number {
    pub const FAULT: u16 = 3;
    pub const CALL: u16 = 11;
}

const SP: u8 = 13;
const LR: u8 = 14;

/// The machine's state.
#[derive(Clone, Debug)]
pub struct State {
    pub core: Core,
    pub session: Session,
    /// The program's entry address, with the instruction set in the lowest bit.
    begin: u32,
}

impl CoreState for State {
    fn soc(&self) -> &Soc {
        &self.session.soc
    }

    fn bus(&self) -> &Bus {
        &self.core.arch.system.bus
    }

    fn bus_mut(&mut self) -> &mut Bus {
        &mut self.core.arch.system.bus
    }

    fn devices(&self) -> &Devices {
        &self.core.arch.system.devices
    }

    fn devices_mut(&mut self) -> &mut Devices {
        &mut self.core.arch.system.devices
    }

    fn console_mut(&mut self) -> &mut Console {
        &mut self.core.arch.system.console
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

    fn code_changed(&mut self) {
        self.core.forget_code();
    }

    fn marks_changed(&mut self) {
        self.core.code.mark(self.session.marks());
    }

    /// Loads an image. The program begins at the entry address of the file, as with loaders, or if
    /// it has none, at the soc's.
    fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        self.session.program(&mut self.core.arch.system.bus, image)?;
        if image.entry() != 0 {
            self.begin = image.entry();
        }
        self.reset()
    }

    fn reset(&mut self) -> Result<(), LoadError> {
        let system = &mut self.core.arch.system;
        let mut bus = system.bus.clone();
        self.session.reset(&mut bus);
        let console = std::mem::take(&mut system.console);
        let core = Core::new(&self.session.soc, self.begin);
        let before = std::mem::replace(&mut self.core, core);
        self.core.refusal = before.refusal;
        let system = &mut self.core.arch.system;
        (system.bus, system.console) = (bus, console);
        system.devices.carry_over(before.arch.system.devices);
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
        Cycles(self.core.cycle())
    }

    fn instructions(&self) -> Instructions {
        Instructions(self.core.instructions)
    }

    fn asleep(&self) -> Cycles {
        Cycles(self.session.asleep)
    }

    /// Returns the cycles for which reads and fetches have waited for memory.
    fn waited(&self) -> Cycles {
        Cycles(self.core.pipeline.memory.waited)
    }

    /// Empties both caches.
    fn empty_caches(&mut self) {
        self.core.pipeline.memory.clear();
    }

    fn register(&self, register: Register) -> u32 {
        let cpu = &self.core.arch.cpu;
        match register.in_convention(Convention::ARM) {
            Register::R(number @ 0..15) => cpu.get(number),
            Register::R(_) | Register::Pc => cpu.pc,
            Register::Xpsr => cpu.cpsr(),
            Register::Msp => cpu.stack_pointer(Mode::Supervisor),
            Register::Psp => cpu.stack_pointer(Mode::System),
            Register::S(number) => cpu.s[number as usize & 31],
            Register::Fpscr => cpu.fpscr,
            _ => 0,
        }
    }

    fn set_register(&mut self, register: Register, value: u32) {
        let cpu = &mut self.core.arch.cpu;
        match register.in_convention(Convention::ARM) {
            Register::R(number @ 0..15) => cpu.set(number, value),
            Register::R(_) | Register::Pc => {
                let thumb = u32::from(cpu.is_thumb());
                self.core.go_to(value & !1 | thumb);
                self.session.ended = None;
            }
            Register::Xpsr => cpu.set_cpsr(value),
            Register::Msp => cpu.set_stack_pointer(Mode::Supervisor, value),
            Register::Psp => cpu.set_stack_pointer(Mode::System, value),
            Register::S(number) => cpu.s[number as usize & 31] = value,
            Register::Fpscr => cpu.fpscr = value,
            _ => {}
        }
    }

    /// Makes an interrupt pending, as an edge does.
    fn pend_interrupt(&mut self, interrupt: Irq, at: Cycles) {
        if interrupt.line() < self.session.soc.interrupts {
            self.core.arch.system.schedule(interrupt.line(), at.0);
        }
    }
}

impl State {
    pub fn new(soc: &Soc) -> Self {
        let begin = soc.vector_base();
        let mut core = Core::new(soc, begin);
        core.refusal = Refusal::Faults;
        Self { core, session: Session::new(soc), begin }
    }

    /// Returns the stop that is due before the instruction at the program counter.
    pub fn due_stop(&self) -> Option<Stop> {
        let pc = self.core.arch.cpu.pc;
        self.session.stops_at(pc).then_some(Stop::Breakpoint(pc))
    }

    /// Advances by a step that ends no later than `until`, unless a single instruction takes
    /// longer.
    ///
    /// # Errors
    /// The reason why the run ends.
    pub fn step_until(&mut self, until: u64) -> Result<StepResult, Stop> {
        if let Some(stop) = &self.session.ended {
            return Err(stop.clone());
        }
        let before = self.core.cycle();
        let returns = self.core.returns;
        let passed = self.core.step(until);
        self.record_step(passed, before, returns)
    }

    /// Executes instructions that need no recording up to a cycle, as long as nothing else is due.
    ///
    /// # Errors
    /// The reason why the run ends.
    pub fn run_ahead(&mut self, until: u64) -> Result<(), Stop> {
        let needs_recording =
            self.session.entered.is_some() || self.session.watches.masking.is_on();
        if needs_recording || self.session.ended.is_some() {
            return Ok(());
        }
        let (before, returns) = (self.core.cycle(), self.core.returns);
        match self.core.run_ahead(until) {
            Some(passed) => self.record_step(passed, before, returns).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Records the result of a step that began in cycle `before`, after `returns` exception
    /// returns.
    fn record_step(
        &mut self,
        passed: StepResult,
        before: u64,
        returns: u64,
    ) -> Result<StepResult, Stop> {
        match passed {
            StepResult::Instruction { pc, issued } | StepResult::HostCall { pc, issued } => {
                self.record_instruction(pc, issued);
                self.record_acknowledgement(issued);
            }
            StepResult::Call { pc, issued } => {
                self.record_instruction(pc, issued);
                self.record_trap(number::CALL, self.core.cycle());
            }
            StepResult::Trap(_, Some(exception)) => {
                // It became pending before it was taken.
                self.record_inputs();
                self.record_trap(exception, self.core.cycle() - ENTRY);
            }
            StepResult::Trap(_, None) => self.record_trap(number::FAULT, self.core.cycle() - ENTRY),
            StepResult::Slept => self.session.asleep += self.core.cycle() - before,
            StepResult::Refused(exception) => {
                let stop = self.refusal(exception);
                self.session.ended = Some(stop.clone());
                return Err(stop);
            }
            StepResult::Forever => return Err(Stop::Asleep),
        }
        if self.core.returns != returns {
            self.record_return();
        }
        self.record_inputs();
        if let StepResult::HostCall { .. } = passed {
            self.serve_call()?;
        }
        if self.session.watches.take_resumed() {
            return Err(Stop::Resumed);
        }
        if self.core.arch.system.devices.take_slower_clock() {
            return Err(Stop::SlowerClock);
        }
        if let Some(address) = self.core.arch.system.devices.take_refused() {
            let pc = self.core.arch.cpu.pc;
            let pc = if let StepResult::Instruction { pc, .. } = passed { pc } else { pc };
            let stop = self.fault(FaultKind::Unmodelled, pc, Some(address));
            self.session.ended = Some(stop.clone());
            return Err(stop);
        }
        match self.core.arch.system.console.take_found() {
            Some(number) => Err(Stop::Output(number)),
            None => Ok(passed),
        }
    }

    #[inline]
    fn record_instruction(&mut self, pc: u32, issued: u64) {
        if let Some(exception) = self.session.entered.take() {
            self.record_handler(exception, issued);
        }
        if self.session.is_watched(pc) {
            let mut counts = self.counts(issued);
            // The count before this instruction.
            counts.instructions -= 1;
            self.session.watches.reach(pc, counts);
            if std::mem::take(&mut self.session.watches.empty) {
                self.empty_caches();
            }
        }
        if self.session.watches.masking.is_on() && self.session.handlers.is_empty() {
            let site = MaskSite { address: pc, link: self.core.arch.cpu.get(LR) };
            let (mask, now) = (self.mask(), self.core.cycle());
            self.session.watches.masking.update(mask, now, self.session.asleep, site);
        }
        if self.core.is_asleep() && self.session.watches.want(Watch::Sleep) {
            let counts = self.counts(self.core.cycle());
            self.session.watches.note(Watch::Sleep, counts);
        }
    }

    /// Records that a handler's first instruction has issued.
    fn record_handler(&mut self, exception: u16, issued: u64) {
        let happened = Watch::Handle(exception);
        if self.session.watches.want(happened) {
            let mut counts = self.counts(issued);
            counts.instructions -= 1;
            self.session.watches.note(happened, counts);
        }
    }

    /// Returns what masks all interrupts that are signalled as IRQ.
    pub const fn mask(&self) -> Option<Blocker> {
        if self.core.masks(InterruptLine::Irq) { Some(Blocker::StatusMask) } else { None }
    }

    fn record_inputs(&mut self) {
        if self.core.arch.system.risen.is_empty() {
            return;
        }
        for (at, exception) in std::mem::take(&mut self.core.arch.system.risen) {
            let happened = Watch::Pend(exception);
            if self.session.watches.want(happened) {
                let counts = self.counts(at);
                self.session.watches.note(happened, counts);
            }
        }
    }

    /// Records the entry of a handler that began in a cycle: the program counter is at its vector.
    fn record_trap(&mut self, entered: u16, began: u64) {
        self.record_entry(entered, began);
        self.session.handlers.set_interrupted(self.last_interrupted());
    }

    fn record_entry(&mut self, entered: u16, began: u64) {
        self.session.watches.entry_began = began;
        self.session.watches.enter(entered);
        self.session.entered = Some(entered);
        self.session.handlers.enter(entered);
    }

    /// Records that the program has acknowledged an interrupt. It may differ from the one for which
    /// the exception was taken, if a more urgent one has become pending since, or be a further one.
    fn record_acknowledgement(&mut self, issued: u64) {
        let gic = self.core.arch.system.gic.as_mut();
        let Some(id) = gic.and_then(Gic::take_acknowledged) else { return };
        let exception = exception(id);
        if self.session.handlers.current() < FIRST_EXTERNAL || self.session.handlers.name(exception)
        {
            return;
        }
        let interrupted = self.session.handlers.interrupted();
        self.record_return();
        self.record_entry(exception, self.core.cycle());
        self.session.entered = None;
        self.session.handlers.name(exception);
        // The handler has left the mode that was entered, but interrupts the same code.
        if let Some(interrupted) = interrupted {
            self.session.handlers.set_interrupted(interrupted);
        }
        self.record_handler(exception, issued);
    }

    fn record_return(&mut self) {
        let Some(exception) = self.session.handlers.leave() else { return };
        self.session.watches.left += 1;
        let happened = Watch::Return(exception);
        if self.session.watches.want(happened) {
            let counts = self.counts(self.core.cycle());
            self.session.watches.note(happened, counts);
        }
        let cpu = &self.core.arch.cpu;
        let (pc, sp, handler) = (cpu.pc, cpu.get(SP), self.session.handlers.current());
        self.session.watches.returns_to(pc, sp, handler);
    }

    /// Returns the stop for an instruction at the program counter that faults.
    fn refusal(&self, exception: Exception) -> Stop {
        let cpu = &self.core.arch.cpu;
        let (kind, address) = match exception {
            Exception::Breakpoint => return Stop::Breakpoint(cpu.pc),
            Exception::Undefined { float: true } => (FaultKind::NoCoprocessor, None),
            Exception::Code { why: AccessFault::External, address } => {
                (FaultKind::InstructionAccess, Some(address))
            }
            Exception::Code { address, .. } => (FaultKind::InstructionProtection, Some(address)),
            Exception::Data { address, why, .. } => (
                match why {
                    AccessFault::Alignment => FaultKind::Unaligned,
                    AccessFault::External => FaultKind::DataAccess,
                    AccessFault::Background | AccessFault::Permission => FaultKind::DataProtection,
                },
                Some(address),
            ),
            _ => (FaultKind::UndefinedInstruction, None),
        };
        self.fault(kind, cpu.pc, address)
    }

    /// Returns the stop for a fault, with the address that it concerns.
    fn fault(&self, kind: FaultKind, pc: u32, address: Option<u32>) -> Stop {
        let cpu = &self.core.arch.cpu;
        Stop::Fault(FaultReport {
            kind,
            pc,
            core: self.session.soc.core,
            lr: cpu.get(LR),
            sp: cpu.get(SP),
            address,
            handler: self.session.handlers.current(),
            mode: Some(cpu.mode().name()),
            cycle: self.cycles(),
        })
    }

    /// Serves the host call that the last instruction has made.
    fn serve_call(&mut self) -> Result<(), Stop> {
        let cycle = self.core.cycle();
        let arch = &mut self.core.arch;
        let (operation, parameter) = (arch.cpu.get(0), arch.cpu.get(1));
        let system = &mut arch.system;
        let mut call = Call {
            operation,
            parameter,
            bus: &mut system.bus,
            console: &mut system.console,
            cycle,
            clocks: system.devices.clock_history(),
            kept: &mut self.session.calls,
            files: FileCalls::default(),
            overwritten: Vec::new(),
        };
        match call.perform() {
            Reply::Value(value) => {
                arch.cpu.set(0, value);
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
