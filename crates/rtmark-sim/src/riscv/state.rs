//! A machine with a RISC-V core as its users know it: images, watches, stops, faults, the console.

use std::sync::Arc;

use rtmark_units::{Cycles, Instructions};

use super::core::{Core, Follow, Passed, Refusal, Trapped};
use super::csr::{Cause, Interrupt};
use super::exec::{Exception, Reason, Trap};
use super::inputs::{Drive, Input};
use super::rules::Rules;
use super::system::System;
use crate::devices::Devices;
use crate::host::{Answer, Host};
use crate::image::Image;
use crate::soc::Soc;
use crate::state::stop::{FaultKind, FaultPolicy, FaultReport, Stop};
use crate::state::{
    AfterReset, Besides, Blocker, Convention, Counts, FileCalls, Handlers, Hit, LoadError,
    MaskSite, NoMemory, Register, Watch, WatchId, Watches, program,
};

/// The exception numbers of a Cortex-M that watches, observers and reports use, given to what plays
/// the same part here: memory's and instructions' faults, calls, the software interrupt, the timer,
/// and the first external interrupt.
pub mod number {
    pub const FAULT: u16 = 3;
    pub const CALL: u16 = 11;
    pub const SOFTWARE: u16 = 14;
    pub const TIMER: u16 = 15;
    pub const FIRST_EXTERNAL: u16 = 16;
}

const RA: u8 = 1;

/// The CSRs that debuggers show, by their names (RISC-V privileged specification, 2.2).
const CSRS: [(&str, u16); 7] = [
    ("mstatus", 0x300),
    ("mie", 0x304),
    ("mtvec", 0x305),
    ("mscratch", 0x340),
    ("mepc", 0x341),
    ("mcause", 0x342),
    ("mip", 0x344),
];

/// The integer registers by what the calling convention calls them (RISC-V ELF psABI).
const INTEGERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// The registers that debuggers show: integers, the program counter, CSRs.
pub fn named_registers() -> impl Iterator<Item = (&'static str, Register)> {
    let integers = INTEGERS.into_iter().zip((0..).map(Register::R));
    let csrs = CSRS.map(|(name, number)| (name, Register::Csr(number)));
    integers.chain([("pc", Register::Pc)]).chain(csrs)
}

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
    /// The exception whose handler has been entered and has executed nothing yet.
    entered: Option<u16>,
    asleep: u64,
    was_asleep: bool,
    /// Whether interrupts were masked when that was looked at last, if it is looked at.
    was_masked: Option<bool>,
    initial: Vec<(u32, Vec<u8>)>,
    soc: Arc<Soc>,
}

/// The number that watches and observers know an interrupt by.
const fn number_of(input: Input) -> u16 {
    match input {
        Input::Software => number::SOFTWARE,
        Input::Timer => number::TIMER,
        Input::External(line) => number::FIRST_EXTERNAL.saturating_add(line),
    }
}

/// Notes what a cycle's trap was.
#[derive(Default)]
struct Note(Option<Trapped>);

impl Follow for Note {
    fn trapped(&mut self, what: Trapped, _cycle: u64, _return_to: u32) {
        self.0 = Some(what);
    }
}

impl State {
    pub fn new(soc: &Soc) -> Self {
        let begin = soc.vector_base();
        let mut core = Core::new(Rules::of(soc.core), System::new(soc), begin);
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
            was_asleep: false,
            was_masked: None,
            initial: Vec::new(),
            soc: Arc::new(soc.clone()),
        }
    }

    /// See [`Machine::load`](crate::Machine::load).
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            if program(&mut self.core.system.bus, &self.soc, segment)?
                == AfterReset::ProgrammedAgain
            {
                self.initial.push((segment.load_address, segment.bytes.clone()));
            }
        }
        self.reset()
    }

    /// See [`Machine::reset`](crate::Machine::reset).
    #[expect(clippy::unnecessary_wraps, reason = "the resets of other cores may fail")]
    pub fn reset(&mut self) -> Result<(), LoadError> {
        let begin = self.soc.vector_base();
        let ports = self.core.system.ports;
        let mut bus = self.core.system.bus.clone();
        bus.reset();
        for (address, bytes) in &self.initial {
            bus.program(*address, bytes);
        }
        let console = std::mem::take(&mut self.core.system.console);
        let core = Core::new(Rules::of(self.soc.core), System::new(&self.soc), begin);
        let before = std::mem::replace(&mut self.core, core);
        self.core.refusal = before.refusal;
        let system = &mut self.core.system;
        (system.bus, system.console, system.ports) = (bus, console, ports);
        system.devices.take_over(before.system.devices);
        self.ended = None;
        self.handlers.clear();
        self.entered = None;
        (self.asleep, self.was_asleep) = (0, false);
        self.mark();
        Ok(())
    }

    /// See [`Machine::poke`](crate::Machine::poke).
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        let written = self.core.system.bus.program(address, bytes);
        self.core.forget_code();
        if written == bytes.len() { Ok(()) } else { Err(NoMemory(address + written as u32)) }
    }

    /// See [`Machine::poke_word`](crate::Machine::poke_word).
    pub fn poke_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        self.poke(address, &value.to_le_bytes())
    }

    /// See [`Machine::peek`](crate::Machine::peek).
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let bus = &self.core.system.bus;
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
        &self.core.system.devices
    }

    pub const fn devices_mut(&mut self) -> &mut Devices {
        &mut self.core.system.devices
    }

    pub fn hits(&self) -> &[Hit] {
        &self.watches.hits
    }

    pub fn take_hits(&mut self) -> Vec<Hit> {
        std::mem::take(&mut self.watches.hits)
    }

    pub fn take_console(&mut self) -> Vec<u8> {
        self.core.system.console.take()
    }

    pub fn stop_at_output(&mut self, text: &[u8]) -> usize {
        self.core.system.console.await_text(text)
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
        Cycles(self.core.cycle)
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

    /// See [`Machine::register`](crate::Machine::register): `R(0)` to `R(31)` are `x0` to `x31`.
    pub fn register(&self, register: Register) -> u32 {
        match register.by(Convention::RISC_V) {
            Register::R(number) => self.core.hart.get(number),
            Register::Pc => self.core.hart.pc,
            Register::Csr(number) => self.core.csr(number),
            _ => 0,
        }
    }

    pub fn set_register(&mut self, register: Register, value: u32) {
        match register.by(Convention::RISC_V) {
            Register::R(number) => self.core.hart.set(number, value),
            Register::Pc => {
                self.core.go_to(value & !1);
                self.ended = None;
            }
            Register::Csr(number) => self.core.set_csr(number, value),
            _ => {}
        }
        self.core.prepare_again();
    }

    /// Makes an external interrupt pending at a cycle; its input stays high until it is served.
    pub fn pend_interrupt(&mut self, interrupt: u16, at: Cycles) {
        self.drive(Input::External(interrupt), Drive::UntilServed, at);
    }

    /// Drives an interrupt input from a cycle on.
    pub fn drive(&mut self, input: Input, drive: Drive, at: Cycles) {
        self.core.inputs.drive(input, drive, at.0);
        self.core.look_again();
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

    /// Has the core tell of each address that is watched or stops a run.
    fn mark(&mut self) {
        self.core.graph.mark([self.stops.as_slice(), &self.watched].concat());
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
        let pc = self.core.hart.pc;
        let here = !self.stops.is_empty()
            && self.core.is_between()
            && self.stops.binary_search(&pc).is_ok();
        here.then_some(Stop::Breakpoint(pc))
    }

    /// Executes instructions as long as nothing of them is to be noted, none of which ends after a cycle.
    pub fn glide(&mut self, until: u64) {
        let masks = self.watches.masking.is_on()
            && self.handlers.is_empty()
            && self.was_masked != Some(!self.core.hart.csr.takes_interrupts());
        if !masks && !self.was_asleep && self.entered.is_none() && self.ended.is_none() {
            self.core.glide(until);
        }
    }

    /// Lets a cycle pass, or, while the core sleeps, all until something may wake it.
    ///
    /// # Errors
    /// What ends a run.
    pub fn pass(&mut self, until: u64) -> Result<Passed, Stop> {
        if let Some(stop) = &self.ended {
            return Err(stop.clone());
        }
        let cycle = self.core.cycle;
        if let Some(next) = self.core.sleeps_until() {
            if next == u64::MAX {
                return Err(Stop::Asleep);
            }
            let next = next.min(until).max(cycle + 1);
            self.asleep += next - cycle;
            self.core.cycle = next;
            return Ok(Passed::Cycle);
        }
        let mut note = Note::default();
        let passed = match self.core.leap(until, &mut note) {
            Some(passed) => passed,
            None => self.core.pass(&mut note),
        };
        let cycle = self.core.cycle - 1;
        self.notice(passed, note.0, cycle);
        if passed == Passed::Refused
            && let Some(exception) = self.core.refused()
        {
            let stop = self.refusal(exception, cycle);
            self.ended = Some(stop.clone());
            return Err(stop);
        }
        match self.core.system.console.take_found() {
            Some(number) => Err(Stop::Output(number)),
            None => Ok(passed),
        }
    }

    /// Notes what has happened in a cycle.
    fn notice(&mut self, passed: Passed, trap: Option<Trapped>, cycle: u64) {
        if let Passed::Instruction(pc) = passed
            && self.watched.binary_search(&pc).is_ok()
        {
            let mut counts = self.counts(cycle);
            // As many as before it.
            counts.instructions -= 1;
            self.watches.reach(pc, counts);
        }
        if let Passed::Instruction(_) = passed {
            if let Some(entered) = self.entered.take() {
                self.note_handled(entered, cycle);
            }
            if let Some(interrupt) = self.core.take_served() {
                self.notice_served(interrupt, cycle);
            }
        }
        while let Some((at, input)) = self.core.inputs.take_risen() {
            let happened = Watch::Pend(number_of(input));
            if self.watches.want(happened) {
                let counts = self.counts(at);
                self.watches.note(happened, counts);
            }
        }
        let asleep = self.core.is_asleep();
        if asleep != self.was_asleep {
            self.was_asleep = asleep;
            if asleep && self.watches.want(Watch::Sleep) {
                let counts = self.counts(cycle);
                self.watches.note(Watch::Sleep, counts);
            }
        }
        self.asleep += u64::from(asleep);
        if let Some(trap) = trap {
            self.notice_trap(trap, cycle);
        }
        if let Passed::Instruction(address) = passed
            && self.watches.masking.is_on()
            && self.handlers.is_empty()
        {
            let mask = (!self.core.hart.csr.takes_interrupts()).then_some(Blocker::MachineMask);
            let site = MaskSite { address, link: self.core.hart.get(RA) };
            self.was_masked = Some(mask.is_some());
            self.watches.masking.look(mask, cycle + 1, self.asleep, site);
        }
    }

    fn notice_trap(&mut self, trap: Trapped, cycle: u64) {
        let entered = match trap {
            Trapped::Return => {
                let Some(exception) = self.handlers.leave() else { return };
                let external = exception.checked_sub(number::FIRST_EXTERNAL);
                if external.is_some_and(|interrupt| self.core.inputs.served(interrupt)) {
                    self.core.look_again();
                }
                self.note_return(exception, cycle);
                return;
            }
            Trapped::Exception(code) => {
                let calls = code == Cause::MachineCall as u8 || code == Cause::UserCall as u8;
                if calls { number::CALL } else { number::FAULT }
            }
            Trapped::Interrupt(code) if u32::from(code) == Interrupt::Software.code() => {
                number::SOFTWARE
            }
            Trapped::Interrupt(code) if u32::from(code) == Interrupt::Timer.code() => number::TIMER,
            Trapped::Interrupt(_) => {
                number::FIRST_EXTERNAL + self.core.external_taken().unwrap_or(0)
            }
        };
        self.entered = Some(entered);
        self.enter(entered);
    }

    fn note_return(&mut self, exception: u16, cycle: u64) {
        self.watches.left += 1;
        if self.watches.want(Watch::Return(exception)) {
            let counts = self.counts(cycle);
            self.watches.note(Watch::Return(exception), counts);
        }
    }

    /// The program has read the number of an external interrupt in MEINEXT. One for which no trap
    /// was taken is handled from here on, as if entered from the handler before it.
    fn notice_served(&mut self, interrupt: u16, cycle: u64) {
        let exception = number::FIRST_EXTERNAL + interrupt;
        if self.handlers.current() >= number::FIRST_EXTERNAL {
            if self.handlers.name(exception) {
                return;
            }
            if let Some(before) = self.handlers.leave() {
                self.note_return(before, cycle);
            }
            self.enter(exception);
            self.handlers.name(exception);
        }
        self.note_handled(exception, cycle);
    }

    /// Notes that an exception's handler begins with the instruction that has just executed.
    fn note_handled(&mut self, exception: u16, cycle: u64) {
        if self.watches.want(Watch::Handle(exception)) {
            let mut counts = self.counts(cycle);
            counts.instructions -= 1;
            self.watches.note(Watch::Handle(exception), counts);
        }
    }

    fn enter(&mut self, exception: u16) {
        self.watches.enter(exception);
        self.handlers.enter(exception);
    }

    /// What a run ends with where the instruction at the program counter fails.
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
        Stop::Fault(FaultReport {
            kind,
            pc,
            lr: self.core.hart.get(RA),
            sp: self.register(Register::Sp),
            address: exception.address,
            handler: self.handler(),
            mode: None,
            cycle: Cycles(cycle),
        })
    }

    /// Serves the call of the host that the last instruction has made, if it was one.
    ///
    /// # Errors
    /// When the program has ended itself.
    pub fn serve_call(&mut self) -> Result<(), Stop> {
        if !self.core.take_call() {
            return Ok(());
        }
        let clock = self.soc.clock;
        match super::semihosting::serve(&mut self.core, clock) {
            Answer::Value(value) => {
                self.core.hart.set(super::semihosting::RESULT, value);
                self.core.prepare_again();
                Ok(())
            }
            Answer::Exit(status) => {
                self.ended = Some(Stop::Exit(status));
                Err(Stop::Exit(status))
            }
        }
    }
}

/// What these cores have not, as far as all machines are asked for it.
#[expect(clippy::unused_self, reason = "all cores answer to the same methods")]
impl State {
    pub fn has_register(&self, register: Register) -> bool {
        match register.by(Convention::RISC_V) {
            Register::R(number) => number < 32,
            Register::Pc => true,
            Register::Csr(number) => CSRS.iter().any(|(_, known)| *known == number),
            _ => false,
        }
    }

    /// There are no caches to empty.
    pub const fn empty_caches(&self) {}

    pub const fn empty_caches_at(&self, _watch: WatchId) {}

    /// There is no ITM.
    pub const fn take_stimulus(&self, _port: u8) -> Vec<u8> {
        Vec::new()
    }

    /// Logs by defmt come by RTT, which is looked for on Cortex-M only.
    pub const fn take_defmt(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Cycles that loads and stores have waited for memories and devices. What fetches wait for is in
    /// the cycles of instructions, and not counted apart.
    pub const fn waited(&self) -> Cycles {
        Cycles(self.core.waited)
    }

    /// Abandoned instructions are not counted.
    pub const fn gave_way(&self) -> Instructions {
        Instructions(0)
    }

    /// External inputs reach the core at once.
    pub const fn way_to_core(&self) -> u64 {
        0
    }

    /// Calls about files are refused.
    pub const fn set_file_calls(&self, _calls: FileCalls) {}

    pub const fn serve(&self, _host: &impl Host) {}
}
