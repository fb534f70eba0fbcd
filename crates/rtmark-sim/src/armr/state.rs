//! A machine with a Cortex-R5 as its users know it: images, watches, stops, faults, the console.

use std::sync::Arc;

use rtmark_units::{Cycles, Instructions};

use super::control::Denied;
use super::core::{Core, Passed, Refusal};
use super::cpu::Mode;
use super::exec::Exception;
use super::gic::{FIRST_EXTERNAL, Gic, InterruptLine, exception};
use crate::devices::Devices;
use crate::host::{Answer, Around, Host};
use crate::image::Image;
use crate::soc::Soc;
use crate::state::stop::{FaultKind, FaultPolicy, FaultReport, Stop};
use crate::state::{
    AfterReset, Besides, Blocker, Convention, Counts, FileCalls, Handlers, Hit, LoadError,
    MaskSite, NoMemory, Register, Watch, WatchId, Watches, program,
};

/// The exception numbers of a Cortex-M that watches, observers and reports use, given to what plays
/// the same part here: faults and calls. Those of interrupts are the controller's business.
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
    pub watches: Watches,
    /// Addresses that are watched, in ascending order.
    watched: Vec<u32>,
    /// Addresses at which runs stop, in ascending order.
    stops: Vec<u32>,
    /// What ended the run for good.
    ended: Option<Stop>,
    handlers: Handlers,
    /// The exception whose handler's first instruction comes next.
    entered: Option<u16>,
    asleep: u64,
    /// Where the program begins, with the set in the lowest bit.
    begin: u32,
    initial: Vec<(u32, Vec<u8>)>,
    soc: Arc<Soc>,
}

impl State {
    pub fn new(soc: &Soc) -> Self {
        let begin = soc.vector_base();
        let mut core = Core::new(soc, begin);
        core.refusal = Refusal::Faults;
        Self {
            core,
            watches: Watches::default(),
            watched: Vec::new(),
            stops: Vec::new(),
            ended: None,
            handlers: Handlers::default(),
            entered: None,
            asleep: 0,
            begin,
            initial: Vec::new(),
            soc: Arc::new(soc.clone()),
        }
    }

    /// See [`Machine::load`](crate::Machine::load). The program begins where the file says, as
    /// loaders have it; a file that does not say it begins where the soc's does.
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            if program(&mut self.core.arch.system.bus, &self.soc, segment)?
                == AfterReset::ProgrammedAgain
            {
                self.initial.push((segment.load_address, segment.bytes.clone()));
            }
        }
        if image.entry() != 0 {
            self.begin = image.entry();
        }
        self.reset()
    }

    /// See [`Machine::reset`](crate::Machine::reset).
    #[expect(clippy::unnecessary_wraps, reason = "the resets of other cores may fail")]
    pub fn reset(&mut self) -> Result<(), LoadError> {
        let system = &mut self.core.arch.system;
        let mut bus = system.bus.clone();
        bus.reset();
        for (address, bytes) in &self.initial {
            bus.program(*address, bytes);
        }
        let console = std::mem::take(&mut system.console);
        let core = Core::new(&self.soc, self.begin);
        let before = std::mem::replace(&mut self.core, core);
        self.core.refusal = before.refusal;
        let system = &mut self.core.arch.system;
        (system.bus, system.console) = (bus, console);
        system.devices.take_over(before.arch.system.devices);
        self.ended = None;
        self.handlers.clear();
        self.entered = None;
        self.asleep = 0;
        self.mark();
        Ok(())
    }

    /// Tells the core at which instructions something is to be noted or a run stops.
    fn mark(&mut self) {
        self.core.code.mark([&self.watched[..], &self.stops].concat());
    }

    /// See [`Machine::poke`](crate::Machine::poke).
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        let written = self.core.arch.system.bus.program(address, bytes);
        self.core.forget_code();
        if written == bytes.len() { Ok(()) } else { Err(NoMemory(address + written as u32)) }
    }

    /// See [`Machine::poke_word`](crate::Machine::poke_word).
    pub fn poke_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        self.poke(address, &value.to_le_bytes())
    }

    /// See [`Machine::peek`](crate::Machine::peek).
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let bus = &self.core.arch.system.bus;
        let mut bytes = vec![0; length.min(bus.peek_len(address))];
        bus.peek(address, &mut bytes);
        bytes
    }

    /// See [`Machine::watch`](crate::Machine::watch).
    pub fn watch(&mut self, watch: Watch) -> WatchId {
        let id = self.watches.add(watch);
        self.watched = self.watches.addresses();
        self.mark();
        id
    }

    pub const fn devices(&self) -> &Devices {
        &self.core.arch.system.devices
    }

    pub const fn devices_mut(&mut self) -> &mut Devices {
        &mut self.core.arch.system.devices
    }

    pub fn hits(&self) -> &[Hit] {
        &self.watches.hits
    }

    pub fn take_hits(&mut self) -> Vec<Hit> {
        std::mem::take(&mut self.watches.hits)
    }

    pub fn take_console(&mut self) -> Vec<u8> {
        self.core.arch.system.console.take()
    }

    pub fn stop_at_output(&mut self, text: &[u8]) -> usize {
        self.core.arch.system.console.await_text(text)
    }

    pub fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.core.refusal = match policy {
            FaultPolicy::Stop => Refusal::Faults,
            FaultPolicy::Deliver => Refusal::Nothing,
        };
    }

    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    pub fn cycles(&self) -> Cycles {
        Cycles(self.core.cycle())
    }

    pub fn instructions(&self) -> Instructions {
        Instructions(self.core.instructions)
    }

    pub fn besides(&self) -> Besides {
        Besides {
            waited: self.waited(),
            asleep: Cycles(self.asleep),
            exceptions: self.watches.taken,
        }
    }

    /// Cycles that reads and fetches have waited for memory.
    pub const fn waited(&self) -> Cycles {
        Cycles(self.core.pipeline.memory.waited)
    }

    /// Empties both caches.
    pub fn empty_caches(&mut self) {
        self.core.pipeline.memory.clear();
    }

    pub fn empty_caches_at(&mut self, watch: WatchId) {
        self.watches.empties.push(watch);
    }

    /// See [`Machine::register`](crate::Machine::register).
    pub fn register(&self, register: Register) -> u32 {
        let cpu = &self.core.arch.cpu;
        match register.by(Convention::ARM) {
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

    pub fn set_register(&mut self, register: Register, value: u32) {
        let cpu = &mut self.core.arch.cpu;
        match register.by(Convention::ARM) {
            Register::R(number @ 0..15) => cpu.set(number, value),
            Register::R(_) | Register::Pc => {
                let thumb = u32::from(cpu.is_thumb());
                self.core.go_to(value & !1 | thumb);
                self.ended = None;
            }
            Register::Xpsr => cpu.set_cpsr(value),
            Register::Msp => cpu.set_stack_pointer(Mode::Supervisor, value),
            Register::Psp => cpu.set_stack_pointer(Mode::System, value),
            Register::S(number) => cpu.s[number as usize & 31] = value,
            Register::Fpscr => cpu.fpscr = value,
            _ => {}
        }
    }

    /// Makes an interrupt of a peripheral pending at a cycle, as an edge does.
    pub fn pend_interrupt(&mut self, interrupt: u16, at: Cycles) {
        if interrupt < self.soc.interrupts {
            self.core.arch.system.schedule(interrupt, at.0);
        }
    }

    pub fn stop_before(&mut self, address: u32) {
        if let Err(at) = self.stops.binary_search(&address) {
            self.stops.insert(at, address);
            self.mark();
        }
    }

    pub fn go_through(&mut self, address: u32) {
        if let Ok(at) = self.stops.binary_search(&address) {
            self.stops.remove(at);
            self.mark();
        }
    }

    pub const fn taken(&self) -> u64 {
        self.watches.taken
    }

    pub const fn left(&self) -> u64 {
        self.watches.left
    }

    /// The number of the exception whose handler executes, 0 outside of handlers.
    pub fn handler(&self) -> u16 {
        self.handlers.current()
    }

    /// The number of the exception whose handler the newest one has interrupted, 0 if none.
    pub fn handler_before(&self) -> u16 {
        self.handlers.before()
    }

    /// Whether the handler of an exception has been entered and not left.
    pub fn is_handling(&self, exception: u16) -> bool {
        self.handlers.contains(exception)
    }

    fn counts(&self, cycle: u64) -> Counts {
        Counts { cycle, instructions: self.core.instructions, besides: self.besides() }
    }

    /// Whether a run stops before the instruction at the program counter.
    pub fn stops_here(&self) -> Option<Stop> {
        let pc = self.core.arch.cpu.pc;
        let here = !self.stops.is_empty() && self.stops.binary_search(&pc).is_ok();
        here.then_some(Stop::Breakpoint(pc))
    }

    /// Makes a step that ends no later than `until`, unless an instruction takes longer.
    ///
    /// # Errors
    /// What ends a run.
    pub fn pass(&mut self, until: u64) -> Result<Passed, Stop> {
        if let Some(stop) = &self.ended {
            return Err(stop.clone());
        }
        let before = self.core.cycle();
        let returns = self.core.returns;
        let passed = self.core.step(until);
        self.notice(passed, before, returns)
    }

    /// Lets instructions execute of which nothing is to be noted, as long as nothing but them is
    /// due, up to a cycle.
    ///
    /// # Errors
    /// What ends a run.
    pub fn leap(&mut self, until: u64) -> Result<(), Stop> {
        let notes_each = self.entered.is_some() || self.watches.masking.is_on();
        if notes_each || self.ended.is_some() {
            return Ok(());
        }
        let (before, returns) = (self.core.cycle(), self.core.returns);
        match self.core.leap(until) {
            Some(passed) => self.notice(passed, before, returns).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Notes what a step has led to, which began in a cycle and after so many returns.
    fn notice(&mut self, passed: Passed, before: u64, returns: u64) -> Result<Passed, Stop> {
        match passed {
            Passed::Instruction { pc, issued } | Passed::HostCall { pc, issued } => {
                self.notice_instruction(pc, issued);
                self.notice_acknowledgement(issued);
            }
            Passed::Call { pc, issued } => {
                self.notice_instruction(pc, issued);
                self.notice_trap(number::CALL);
            }
            Passed::Trap(_, Some(exception)) => {
                // It has become pending before it is taken.
                self.notice_inputs();
                self.notice_trap(exception);
            }
            Passed::Trap(_, None) => self.notice_trap(number::FAULT),
            Passed::Slept => self.asleep += self.core.cycle() - before,
            Passed::Refused(exception) => {
                let stop = self.refusal(exception);
                self.ended = Some(stop.clone());
                return Err(stop);
            }
            Passed::Forever => return Err(Stop::Asleep),
        }
        if self.core.returns != returns {
            self.notice_return();
        }
        self.notice_inputs();
        if let Passed::HostCall { .. } = passed {
            self.serve_call()?;
        }
        match self.core.arch.system.console.take_found() {
            Some(number) => Err(Stop::Output(number)),
            None => Ok(passed),
        }
    }

    #[inline]
    fn notice_instruction(&mut self, pc: u32, issued: u64) {
        if let Some(exception) = self.entered.take() {
            self.notice_handler(exception, issued);
        }
        if !self.watched.is_empty() && self.watched.binary_search(&pc).is_ok() {
            let mut counts = self.counts(issued);
            // As many as before it.
            counts.instructions -= 1;
            self.watches.reach(pc, counts);
            if std::mem::take(&mut self.watches.empty) {
                self.empty_caches();
            }
        }
        if self.watches.masking.is_on() && self.handlers.is_empty() {
            let site = MaskSite { address: pc, link: self.core.arch.cpu.get(LR) };
            let (mask, now) = (self.mask(), self.core.cycle());
            self.watches.masking.look(mask, now, self.asleep, site);
        }
        if self.core.is_asleep() && self.watches.want(Watch::Sleep) {
            let counts = self.counts(self.core.cycle());
            self.watches.note(Watch::Sleep, counts);
        }
    }

    /// A handler's first instruction has issued.
    fn notice_handler(&mut self, exception: u16, issued: u64) {
        let happened = Watch::Handle(exception);
        if self.watches.want(happened) {
            let mut counts = self.counts(issued);
            counts.instructions -= 1;
            self.watches.note(happened, counts);
        }
    }

    /// What holds all interrupts back that come as IRQ.
    pub const fn mask(&self) -> Option<Blocker> {
        if self.core.masks(InterruptLine::Irq) { Some(Blocker::StatusMask) } else { None }
    }

    fn notice_inputs(&mut self) {
        if self.core.arch.system.risen.is_empty() {
            return;
        }
        for (at, exception) in std::mem::take(&mut self.core.arch.system.risen) {
            let happened = Watch::Pend(exception);
            if self.watches.want(happened) {
                let counts = self.counts(at);
                self.watches.note(happened, counts);
            }
        }
    }

    fn notice_trap(&mut self, entered: u16) {
        self.watches.enter(entered);
        self.entered = Some(entered);
        self.handlers.enter(entered);
    }

    /// The program has asked the interrupt controller which interrupt it handles: another one than
    /// that which it was interrupted for, if a more urgent one has come since, or the next one.
    fn notice_acknowledgement(&mut self, issued: u64) {
        let gic = self.core.arch.system.gic.as_mut();
        let Some(id) = gic.and_then(Gic::take_acknowledged) else { return };
        let exception = exception(id);
        if self.handlers.current() < FIRST_EXTERNAL || self.handlers.name(exception) {
            return;
        }
        self.notice_return();
        self.notice_trap(exception);
        self.entered = None;
        self.handlers.name(exception);
        self.notice_handler(exception, issued);
    }

    fn notice_return(&mut self) {
        let Some(exception) = self.handlers.leave() else { return };
        self.watches.left += 1;
        let happened = Watch::Return(exception);
        if self.watches.want(happened) {
            let counts = self.counts(self.core.cycle());
            self.watches.note(happened, counts);
        }
    }

    /// What a run ends with where the instruction at the program counter fails.
    fn refusal(&self, exception: Exception) -> Stop {
        let cpu = &self.core.arch.cpu;
        let (kind, address) = match exception {
            Exception::Breakpoint => return Stop::Breakpoint(cpu.pc),
            Exception::Undefined { float: true } => (FaultKind::NoCoprocessor, None),
            Exception::Code { why: Denied::External, address } => {
                (FaultKind::InstructionAccess, Some(address))
            }
            Exception::Code { address, .. } => (FaultKind::InstructionProtection, Some(address)),
            Exception::Data { address, why, .. } => (
                match why {
                    Denied::Alignment => FaultKind::Unaligned,
                    Denied::External => FaultKind::DataAccess,
                    Denied::Background | Denied::Permission => FaultKind::DataProtection,
                },
                Some(address),
            ),
            _ => (FaultKind::UndefinedInstruction, None),
        };
        Stop::Fault(FaultReport {
            kind,
            pc: cpu.pc,
            lr: cpu.get(LR),
            sp: cpu.get(SP),
            address,
            handler: self.handler(),
            mode: Some(cpu.mode().name()),
            cycle: self.cycles(),
        })
    }

    /// Serves the call of the host that the last instruction has made.
    fn serve_call(&mut self) -> Result<(), Stop> {
        let (clock, cycle) = (self.soc.clock, self.core.cycle());
        let arch = &mut self.core.arch;
        let (operation, parameter) = (arch.cpu.get(0), arch.cpu.get(1));
        let (bus, console) = (&mut arch.system.bus, &mut arch.system.console);
        let answer = Around { bus, console, cycle, clock }.serve(operation, parameter);
        match answer {
            Answer::Value(value) => {
                arch.cpu.set(0, value);
                Ok(())
            }
            Answer::Exit(status) => {
                self.ended = Some(Stop::Exit(status));
                Err(Stop::Exit(status))
            }
        }
    }
}

/// What a Cortex-R5 has not, as far as all machines are asked for it.
#[expect(clippy::unused_self, reason = "all cores answer to the same methods")]
impl State {
    pub const fn has_register(&self, register: Register) -> bool {
        matches!(
            register.by(Convention::ARM),
            Register::R(0..15)
                | Register::Pc
                | Register::Xpsr
                | Register::S(0..32)
                | Register::Fpscr
        )
    }

    /// There is no ITM.
    pub const fn take_stimulus(&self, _port: u8) -> Vec<u8> {
        Vec::new()
    }

    /// Logs by defmt come by RTT, which is looked for on Cortex-M only.
    pub const fn take_defmt(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Abandoned instructions are not counted.
    pub const fn gave_way(&self) -> Instructions {
        Instructions(0)
    }

    /// What becomes pending reaches the core at once; what its way takes is in the entry.
    pub const fn way_to_core(&self) -> u64 {
        0
    }

    /// Calls about files are refused.
    pub const fn set_file_calls(&self, _calls: FileCalls) {}

    pub const fn serve(&self, _host: &impl Host) {}
}
