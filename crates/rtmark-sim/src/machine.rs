//! The machine: a soc that runs an image.
//!
//! A [`Machine`] is a value. It does nothing on its own, reads no clock and no
//! file, and a clone runs on exactly as the original would. [`Machine::run`]
//! executes until something worth telling happens, the [`Stop`].

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rtmark_units::{Cycles, Hertz, Instructions};

use crate::bus::{Bus, Place};
use crate::code::{Code, Decoder, PAGE_BYTES, PAGE_SLOTS, Page};
use crate::cpu::{Cpu, Features};
use crate::exec::{Outcome, Trap};
use crate::image::Image;
use crate::isa::{Op, Slot};
use crate::nvic::Masks;
use crate::semihosting::Reply;
use crate::soc::{CoreKind, Soc};
use crate::system::System;
use crate::timing::{LineMemory, Rules};
use crate::watch::{Hit, Watch, WatchId, Watches};

/// Addresses of devices: what is not modelled there reads as zero.
const PERIPHERALS: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;

/// The operand of BKPT that asks for semihosting.
const SEMIHOSTING: u32 = 0xAB;

/// How a program ended: the status it gave by semihosting, 0 for success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus(pub u32);

/// What a fault was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An encoding that is no instruction of this core.
    UndefinedInstruction,
    /// A floating-point instruction while the FPU is absent or off.
    NoCoprocessor,
    /// A branch to an even address: Arm state, which these cores lack.
    InvalidState,
    /// Code was fetched from where there is no memory.
    InstructionAccess,
    /// Nothing answers a load or store.
    DataAccess,
    /// A load or store at an address that is not aligned as it must be.
    Unaligned,
    /// A division by zero, with the trap for it enabled.
    DivideByZero,
    /// Registers could not be saved on or restored from the stack.
    Stack,
    /// An exception return that does not fit the state.
    InvalidReturn,
    /// SVC where its exception cannot be taken.
    SupervisorCall,
    /// A breakpoint instruction without a debugger.
    Breakpoint,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UndefinedInstruction => "undefined instruction",
            Self::NoCoprocessor => "floating-point instruction while the FPU is absent or disabled",
            Self::InvalidState => "branch to an even address (Arm state, which Cortex-M lacks)",
            Self::InstructionAccess => "instruction fetch where there is no memory",
            Self::DataAccess => "load or store where nothing answers",
            Self::Unaligned => "unaligned load or store",
            Self::DivideByZero => "division by zero",
            Self::Stack => "stack access failed during exception entry or return",
            Self::InvalidReturn => "invalid exception return",
            Self::SupervisorCall => "SVC where its exception cannot be taken",
            Self::Breakpoint => "breakpoint instruction without a debugger",
        })
    }
}

/// A fault with the place and state in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// What it was.
    pub kind: FaultKind,
    /// The instruction that caused it.
    pub pc: u32,
    /// The link register then.
    pub lr: u32,
    /// The stack pointer then.
    pub sp: u32,
    /// The address that was accessed, if the fault is about one.
    pub address: Option<u32>,
    /// The exception whose handler was running; 0 in thread mode.
    pub handler: u16,
    /// When it happened.
    pub cycle: Cycles,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at pc {:#010x}", self.kind, self.pc)?;
        if let Some(address) = self.address {
            write!(f, ", address {address:#010x}")?;
        }
        write!(f, " (lr {:#010x}, sp {:#010x}, ", self.lr, self.sp)?;
        match self.handler {
            0 => write!(f, "thread mode")?,
            exception => write!(f, "handling exception {exception}")?,
        }
        write!(f, ", cycle {})", self.cycle.0)
    }
}

/// Why [`Machine::run`] came back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The cycle count that it was to run to is reached.
    Limit,
    /// The program ended itself by semihosting.
    Exit(ExitStatus),
    /// A fault that would enter HardFault, under [`FaultPolicy::Stop`].
    Fault(FaultReport),
    /// A fault while handling HardFault or NMI: the core has stopped for good.
    Lockup(FaultReport),
    /// A breakpoint instruction, at this address, that is not a semihosting call.
    Breakpoint(u32),
    /// The core sleeps and nothing can wake it.
    Asleep,
    /// The program asked for a system reset; [`Machine::reset`] performs it.
    ResetRequested,
}

/// What happens when a fault would enter HardFault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPolicy {
    /// The run stops before the handler, with the faulting state in view.
    #[default]
    Stop,
    /// The program's own HardFault handler runs, as on the chip.
    Deliver,
}

/// Why an image was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A segment lies where the soc has no memory.
    #[error(
        "{size} bytes at {address:#010x} do not fit {soc}: its memories are {memories}; \
         check the linker script or choose another soc"
    )]
    DoesNotFit {
        /// Where the segment begins.
        address: u32,
        /// Its size in bytes.
        size: u32,
        /// The soc's name.
        soc: String,
        /// Its memories as text.
        memories: String,
    },
    /// The vector table has no usable first entries.
    #[error(
        "no vector table at {address:#010x}: stack pointer {sp:#010x}, reset vector {reset:#010x}; \
         is the image linked for this soc?"
    )]
    NoVectors {
        /// Where the table was looked for.
        address: u32,
        /// Its first word.
        sp: u32,
        /// Its second word.
        reset: u32,
    },
}

/// An address that no memory backs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory at {0:#010x}")]
pub struct NoMemory(pub u32);

/// A register, to be read by [`Machine::register`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Register {
    /// R0 to R14, by number; 13 is the current stack pointer.
    R(u8),
    /// The address of the next instruction.
    Pc,
    /// Flags, Thumb bit, ITSTATE and exception number.
    Xpsr,
    /// The main stack pointer.
    Msp,
    /// The process stack pointer.
    Psp,
    /// PRIMASK, 0 or 1.
    Primask,
    /// BASEPRI.
    Basepri,
    /// CONTROL.
    Control,
    /// S0 to S31, by number.
    S(u8),
    /// FPSCR.
    Fpscr,
}

/// A simulated soc.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rtmark_sim::{Cycles, Machine, Soc, Stop};
///
/// let soc = Soc::from_toml(include_str!("../../../socs/stm32c031.toml"))?;
/// let mut machine = Machine::new(&soc);
/// // A stack pointer, a reset vector, and `b .` to jump to.
/// machine.poke(0x0800_0000, &[0x00, 0x10, 0x00, 0x20, 0x09, 0x00, 0x00, 0x08, 0xFE, 0xE7])?;
/// machine.reset()?;
/// let mut twin = machine.clone();
/// assert_eq!(machine.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(twin.run(Cycles(1_000)), Stop::Limit);
/// assert_eq!(machine.instructions(), twin.instructions());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) cpu: Cpu,
    pub(crate) bus: Bus,
    pub(crate) code: Code,
    pub(crate) rules: &'static Rules,
    pub(crate) features: Features,
    pub(crate) system: System,
    /// Cycles since reset, up to the instruction that executes.
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    /// When the next look at anything but instructions is due.
    deadline: u64,
    limit: u64,
    /// The instruction count at which a load finds one right before it.
    paired: u64,
    /// Addresses of the line that code is fetched from: `pc & line_mask == line`.
    line: u32,
    line_mask: u32,
    lines: Vec<LineMemory>,
    pub(crate) exclusive: bool,
    /// The event register of WFE and SEV.
    pub(crate) event: bool,
    pub(crate) sleeping: Option<Sleep>,
    pub(crate) reset_requested: bool,
    /// What a trap is about: the address of an access, or an EXC_RETURN value.
    pub(crate) trap_value: u32,
    pub(crate) console: Vec<u8>,
    pub(crate) clock: Hertz,
    pub(crate) fault_policy: FaultPolicy,
    pub(crate) watches: Watches,
    unmodelled: BTreeSet<u32>,
    /// Bytes that the image puts into RAM, for [`Machine::reset`].
    initial_ram: Vec<(u32, Vec<u8>)>,
    soc: Arc<Soc>,
}

/// What a sleeping core waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    Interrupt,
    Event,
}

impl Machine {
    /// A machine with empty memories.
    pub fn new(soc: &Soc) -> Self {
        let features = match soc.core {
            CoreKind::CortexM0Plus => Features { mainline: false, dsp: false, fp: false },
            CoreKind::CortexM4F => Features { mainline: true, dsp: true, fp: true },
        };
        let rules = Rules::of(soc.core);
        let decoder = Decoder {
            rules,
            dsp: features.dsp,
            fp: features.fp,
            mainline: features.mainline,
            watched: Vec::new(),
        };
        Self {
            cpu: Cpu::new(),
            bus: Bus::new(soc),
            code: Code::new(soc, decoder),
            rules,
            features,
            system: System::new(soc, features),
            cycles: 0,
            instructions: 0,
            deadline: 0,
            limit: 0,
            paired: u64::MAX,
            line: 1,
            line_mask: u32::MAX,
            lines: soc.memories.iter().map(|memory| LineMemory::new(memory.timing)).collect(),
            exclusive: false,
            event: false,
            sleeping: None,
            reset_requested: false,
            trap_value: 0,
            console: Vec::new(),
            clock: soc.clock,
            fault_policy: FaultPolicy::default(),
            watches: Watches::default(),
            unmodelled: BTreeSet::new(),
            initial_ram: Vec::new(),
            soc: Arc::new(soc.clone()),
        }
    }

    /// Programs an image into the memories and resets.
    ///
    /// # Errors
    /// When a segment lies outside the soc's memories, or there is no vector
    /// table where the soc looks for it.
    pub fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            let (address, size) = (segment.load_address, segment.bytes.len() as u32);
            let end_of_memory = segment.address.wrapping_add(segment.memory_size.max(1) - 1);
            let loaded = size == 0 || self.bus.peek_len(address) >= segment.bytes.len();
            let runs = self.bus.place(segment.address).is_some()
                && self.bus.place(end_of_memory).is_some();
            if !loaded || !runs {
                return Err(LoadError::DoesNotFit {
                    address: if loaded { segment.address } else { address },
                    size: segment.memory_size,
                    soc: self.soc.name.clone(),
                    memories: self.soc.memory_map(),
                });
            }
            self.bus.program(address, &segment.bytes);
            if self.bus.place(address).is_some_and(|place| self.bus.is_writable(place.memory)) {
                self.initial_ram.push((address, segment.bytes.clone()));
            }
        }
        self.code.forget_all();
        self.reset()
    }

    /// Writes memory as a debugger or programmer would, flash included.
    ///
    /// # Errors
    /// When the bytes do not all lie in one memory.
    pub fn poke(&mut self, address: u32, bytes: &[u8]) -> Result<(), NoMemory> {
        let written = self.bus.program(address, bytes);
        self.code.forget_all();
        if written == bytes.len() { Ok(()) } else { Err(NoMemory(address + written as u32)) }
    }

    /// Writes a word as a debugger or programmer would.
    ///
    /// # Errors
    /// When there is no memory at the address.
    pub fn poke_word(&mut self, address: u32, value: u32) -> Result<(), NoMemory> {
        self.poke(address, &value.to_le_bytes())
    }

    /// Reads memory without any effect; answers fewer bytes where memory ends.
    pub fn peek(&self, address: u32, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length.min(self.bus.peek_len(address))];
        self.bus.peek(address, &mut bytes);
        bytes
    }

    /// Resets the core and fills RAM with its reset value; the watches stay.
    ///
    /// # Errors
    /// When the vector table's stack pointer and reset vector cannot be used.
    pub fn reset(&mut self) -> Result<(), LoadError> {
        self.bus.reset();
        for (address, bytes) in &self.initial_ram {
            self.bus.program(*address, bytes);
        }
        self.code.forget_own();
        self.cpu = Cpu::new();
        self.system = System::new(&self.soc, self.features);
        for memory in &mut self.lines {
            memory.reset();
        }
        (self.line, self.line_mask) = (1, u32::MAX);
        (self.cycles, self.instructions, self.deadline, self.paired) = (0, 0, 0, u64::MAX);
        (self.exclusive, self.event, self.reset_requested) = (false, false, false);
        self.sleeping = None;
        let word = |bus: &Bus, address| {
            let mut bytes = [0; 4];
            bus.peek(address, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        let address = self.soc.vector_base();
        let (sp, reset) = (word(&self.bus, address), word(&self.bus, address.wrapping_add(4)));
        if reset & 1 == 0 || self.bus.place(reset & !1).is_none() {
            return Err(LoadError::NoVectors { address, sp, reset });
        }
        self.cpu.r[13] = sp & !3;
        self.cpu.r[14] = u32::MAX;
        self.cpu.pc = reset & !1;
        Ok(())
    }

    /// Notes every occurrence of something from now on.
    pub fn watch(&mut self, watch: Watch) -> WatchId {
        let id = self.watches.add(watch);
        if let Watch::Execute(_) = watch {
            self.code.decoder.watched = self.watches.addresses();
            self.code.forget_all();
        }
        id
    }

    /// What has been noted since the last call, in order.
    pub fn take_hits(&mut self) -> Vec<Hit> {
        std::mem::take(&mut self.watches.hits)
    }

    /// What the program has printed since the last call.
    pub fn take_console(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.console)
    }

    /// Addresses without a model that the program has used, in ascending order.
    pub fn unmodelled(&self) -> impl Iterator<Item = u32> + '_ {
        self.unmodelled.iter().copied()
    }

    /// Decides what happens when a fault would enter HardFault.
    pub fn set_fault_policy(&mut self, policy: FaultPolicy) {
        self.fault_policy = policy;
    }

    /// Cycles since reset.
    pub fn cycles(&self) -> Cycles {
        Cycles(self.cycles)
    }

    /// Instructions executed since reset.
    pub fn instructions(&self) -> Instructions {
        Instructions(self.instructions)
    }

    /// The value of a register.
    pub fn register(&self, register: Register) -> u32 {
        let cpu = &self.cpu;
        match register {
            Register::R(number) => cpu.get(number),
            Register::Pc => cpu.pc,
            Register::Xpsr => cpu.xpsr(),
            Register::Msp => cpu.msp(),
            Register::Psp => cpu.psp(),
            Register::Primask => u32::from(cpu.primask),
            Register::Basepri => u32::from(cpu.basepri),
            Register::Control => cpu.control,
            Register::S(number) => cpu.s[usize::from(number & 31)],
            Register::Fpscr => cpu.fpscr,
        }
    }

    /// Makes an external interrupt pending now, as a device would.
    pub fn pend_interrupt(&mut self, interrupt: u16) {
        self.pend(crate::nvic::FIRST_INTERRUPT.saturating_add(interrupt), self.cycles);
        self.deadline = 0;
    }

    /// Runs until the cycle count reaches `until` or something else ends the run.
    ///
    /// The count may pass `until` by what the last instruction or exception took.
    pub fn run(&mut self, until: Cycles) -> Stop {
        self.limit = until.0;
        self.deadline = 0;
        // Held apart from the machine, so that slots can be borrowed while it changes.
        let flash = self.code.flash();
        loop {
            if self.cycles >= self.deadline
                && let Some(stop) = self.attend()
            {
                return stop;
            }
            let step = match flash.page(self.cpu.pc) {
                Some(page) => self.run_in_page(page),
                None => self.step_slowly(),
            };
            if let Err(stop) = step {
                return stop;
            }
        }
    }

    /// Executes from one page until the program leaves it or something else is due.
    #[inline(always)]
    fn run_in_page(&mut self, page: &Page) -> Result<(), Stop> {
        let base = self.cpu.pc & !(PAGE_BYTES - 1);
        while self.cycles < self.deadline {
            let pc = self.cpu.pc;
            let offset = pc.wrapping_sub(base);
            if offset >= PAGE_BYTES {
                break;
            }
            let slot = &page[(offset / 2) as usize % PAGE_SLOTS];
            self.fetch(pc, slot.size);
            self.cpu.pc = pc.wrapping_add(u32::from(slot.size));
            match self.execute(slot) {
                Ok(()) => {
                    self.cycles += u64::from(slot.cost);
                    self.instructions += 1;
                }
                Err(trap) => self.end_trapped(trap, pc, *slot)?,
            }
        }
        Ok(())
    }

    /// Executes one instruction that is not decoded yet, or lies in RAM.
    #[inline(never)]
    fn step_slowly(&mut self) -> Result<(), Stop> {
        let pc = self.cpu.pc;
        let Some(slot) = self.code.slot(&mut self.bus, pc) else {
            return self.fetch_fault(pc);
        };
        self.fetch(pc, slot.size);
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size));
        self.finish(pc, &slot)
    }

    /// Executes the next instruction of an IT block, or passes over it.
    fn step_in_it_block(&mut self) -> Result<(), Stop> {
        let pc = self.cpu.pc;
        let Some(slot) = self.code.slot(&mut self.bus, pc) else {
            return self.fetch_fault(pc);
        };
        self.fetch(pc, slot.size);
        let slot = if slot.op == Op::Watch { self.pass_watch(pc) } else { slot };
        let condition = self.cpu.it >> 4;
        self.cpu.advance_it();
        self.cpu.pc = pc.wrapping_add(u32::from(slot.size));
        if !self.cpu.condition(condition) {
            self.cycles += 1;
            self.instructions += 1;
            return Ok(());
        }
        let op = if slot.size == 2 { slot.op.inside_it() } else { slot.op };
        self.finish(pc, &Slot { op, ..slot })
    }

    /// Executes a slot away from the hot path.
    #[inline(never)]
    fn finish(&mut self, pc: u32, slot: &Slot) -> Result<(), Stop> {
        match self.execute(slot) {
            Ok(()) => {
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                Ok(())
            }
            Err(trap) => self.end_trapped(trap, pc, *slot),
        }
    }

    /// Notes that a watched address is reached; answers the real instruction there.
    fn pass_watch(&mut self, pc: u32) -> Slot {
        self.watches.reach(pc, self.cycles, self.instructions);
        self.code.decoder.decode(&self.bus, pc).unwrap_or(Slot::undefined(2))
    }

    /// Ends an instruction that did not simply complete.
    #[inline(never)]
    fn end_trapped(&mut self, trap: Trap, pc: u32, slot: Slot) -> Result<(), Stop> {
        match trap {
            Trap::Watched => {
                let slot = self.pass_watch(pc);
                return self.finish(pc, &slot);
            }
            Trap::Breakpoint if slot.imm == SEMIHOSTING => {
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                return match self.semihosting() {
                    Reply::Value(value) => {
                        self.cpu.r[0] = value;
                        Ok(())
                    }
                    Reply::Exit(status) => Err(Stop::Exit(status)),
                };
            }
            Trap::WaitForInterrupt | Trap::WaitForEvent => {
                let event = trap == Trap::WaitForEvent;
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                if event && std::mem::take(&mut self.event) {
                    return Ok(());
                }
                self.sleeping = Some(if event { Sleep::Event } else { Sleep::Interrupt });
                self.deadline = 0;
                return Ok(());
            }
            Trap::ExceptionReturn => {
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                return self.return_from_exception(self.trap_value, pc);
            }
            Trap::InvalidState => {
                // The branch itself completes; its target is what faults.
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                let target = self.cpu.pc;
                return self.fault(FaultKind::InvalidState, None, target);
            }
            Trap::SupervisorCall => {
                self.cycles += u64::from(slot.cost);
                self.instructions += 1;
                return self.supervisor_call(pc);
            }
            _ => {}
        }
        let (kind, address) = match trap {
            Trap::NoCoprocessor => (FaultKind::NoCoprocessor, None),
            Trap::DivideByZero => (FaultKind::DivideByZero, None),
            Trap::NoAnswer => (FaultKind::DataAccess, Some(self.trap_value)),
            Trap::Unaligned => (FaultKind::Unaligned, Some(self.trap_value)),
            Trap::Breakpoint if self.fault_policy == FaultPolicy::Stop => {
                self.cpu.pc = pc;
                return Err(Stop::Breakpoint(pc));
            }
            Trap::Breakpoint => (FaultKind::Breakpoint, None),
            _ => (FaultKind::UndefinedInstruction, None),
        };
        self.cycles += u64::from(slot.cost);
        self.fault(kind, address, pc)
    }

    fn fetch_fault(&mut self, pc: u32) -> Result<(), Stop> {
        self.cycles += 1;
        self.fault(FaultKind::InstructionAccess, Some(pc), pc)
    }

    /// Looks after everything that is not an instruction, at an instruction's boundary.
    #[inline(never)]
    fn attend(&mut self) -> Option<Stop> {
        loop {
            self.pass_timers(self.cycles);
            if self.reset_requested {
                self.reset_requested = false;
                return Some(Stop::ResetRequested);
            }
            if self.cycles >= self.limit {
                return Some(Stop::Limit);
            }
            if let Some(sleep) = self.sleeping {
                if self.wakes(sleep) {
                    self.sleeping = None;
                } else if let Some(at) = self.next_wake() {
                    self.cycles = at.min(self.limit).max(self.cycles);
                } else {
                    return Some(Stop::Asleep);
                }
                continue;
            }
            if let Some(exception) = self.system.nvic.to_take(self.masks()) {
                if let Err(stop) = self.take(exception) {
                    return Some(stop);
                }
                continue;
            }
            if self.cpu.it == 0 {
                break;
            }
            if let Err(stop) = self.step_in_it_block() {
                return Some(stop);
            }
        }
        self.deadline = self.system.systick.next_zero().unwrap_or(u64::MAX).min(self.limit);
        None
    }

    /// Lets SysTick reach every zero that is due by `now`.
    pub(crate) fn pass_timers(&mut self, now: u64) {
        while let Some(at) = self.system.systick.next_zero().filter(|&at| at <= now) {
            if self.system.systick.pass_zero(at) {
                self.pend(crate::nvic::SYSTICK, at);
            }
        }
    }

    /// When a sleeping core could next be woken by a clock of its own.
    fn next_wake(&self) -> Option<u64> {
        let systick = &self.system.systick;
        systick.is_armed().then(|| systick.next_zero()).flatten()
    }

    fn wakes(&mut self, sleep: Sleep) -> bool {
        // PRIMASK holds the handler back, not the wake-up (DDI 0403, B1.5.19).
        let masks = Masks { primask: false, ..self.masks() };
        if self.system.nvic.to_take(masks).is_some() {
            return true;
        }
        match sleep {
            Sleep::Interrupt => false,
            Sleep::Event => {
                let on_pend = self.system.sleep_control & 0x10 != 0;
                std::mem::take(&mut self.event)
                    || (on_pend && !self.system.nvic.pending().is_empty())
            }
        }
    }

    pub(crate) fn masks(&self) -> Masks {
        Masks {
            primask: self.cpu.primask,
            faultmask: self.cpu.faultmask,
            basepri: self.cpu.basepri,
        }
    }

    pub(crate) fn execution_priority(&self) -> i16 {
        self.system.nvic.execution_priority(self.masks())
    }

    /// Has the machine look around before the next instruction.
    #[inline(always)]
    pub(crate) fn attend_soon(&mut self) {
        self.deadline = 0;
    }

    /// The cycle in which the executing instruction's data access takes place.
    #[inline(always)]
    pub(crate) fn data_phase(&self) -> u64 {
        self.cycles + 1
    }

    /// Pends an exception by the instruction that executes, at its end.
    pub(crate) fn pend_soon(&mut self, exception: u16) {
        self.pend(exception, self.cycles + 2);
        self.deadline = 0;
    }

    /// Makes an exception pending at a cycle.
    pub(crate) fn pend(&mut self, exception: u16, at: u64) {
        if self.system.nvic.pend(exception, true) {
            self.watches.pend(exception, at, self.instructions);
        }
    }

    /// Pays for a load or store: nothing if it overlaps with one right before it.
    #[inline(always)]
    pub(crate) fn pace_memory(&mut self) {
        if self.paired == self.instructions {
            self.cycles -= u64::from(self.rules.load_pairing);
        }
        self.paired = self.instructions + 1;
    }

    /// Waits for a memory that takes longer than the core to answer a data access.
    #[inline(always)]
    pub(crate) fn wait_for_data(&mut self, place: Place) {
        self.cycles += self.lines[place.memory].read(place.offset);
    }

    /// Waits for code, if the instruction begins or ends in another line than the last one.
    #[inline(always)]
    fn fetch(&mut self, pc: u32, size: u8) {
        let last = pc.wrapping_add(u32::from(size) - 2);
        if ((pc ^ self.line) | (last ^ self.line)) & self.line_mask != 0 {
            self.fetch_lines(pc, last);
        }
    }

    #[inline(never)]
    fn fetch_lines(&mut self, pc: u32, last: u32) {
        for address in [pc, last] {
            if (address ^ self.line) & self.line_mask == 0 {
                continue;
            }
            let Some(place) = self.bus.code_place(address) else { return };
            let memory = &mut self.lines[place.memory];
            // Where nothing ever waits, a larger step saves asking again.
            self.line_mask = if memory.is_immediate() { !0x3FF } else { memory.line_mask() };
            self.line = address;
            self.cycles += memory.fetch(place.offset, self.cycles);
        }
    }

    #[inline(never)]
    pub(crate) fn forget_overwritten_code(&mut self, address: u32) {
        self.bus.code_writes.dirty = false;
        self.code.forget(address);
    }

    /// A device that is not modelled reads as zero.
    pub(crate) fn read_peripheral(&mut self, address: u32) -> Result<u32, Trap> {
        self.write_peripheral(address).map(|()| 0)
    }

    pub(crate) fn write_peripheral(&mut self, address: u32) -> Outcome {
        if !PERIPHERALS.contains(&address) {
            return Err(self.no_answer(address));
        }
        self.note_unmodelled(address & !3);
        Ok(())
    }

    pub(crate) fn note_unmodelled(&mut self, address: u32) {
        // A program that walks over all addresses must not fill the host's memory.
        if self.unmodelled.len() < 256 {
            self.unmodelled.insert(address);
        }
    }
}
