//! A core of a made-up architecture: a dozen instructions of one, two or six bytes, four registers, and one
//! handler for all interrupts.
//!
//! It shares no code with the real cores. A machine's parts know nothing of it except what it reports here,
//! so what works with it works with any core.

mod core;
mod op;

use std::collections::BTreeSet;
use std::sync::Arc;

use rtmark_units::{Cycles, Instructions};

pub use self::core::ToyCore;
pub use self::op::Toy;

use crate::debug::Advance;
use crate::devices::{AttachedDevice, Console, DeviceContext, Devices, Env};
use crate::image::Image;
use crate::memory::Bus;
use crate::soc::Soc;
use crate::state::stop::{FaultPolicy, Stop};
use crate::state::{Blocker, Convention, CoreState, Irq, LoadError, Register, Watch, Watches};
use crate::timing::{LineMemories, LineMemory};

/// The address of the handler, after the first instruction.
pub const HANDLER: u32 = 0x40;
/// Cycles from the boundary at which an interrupt is taken to the first instruction of its handler.
pub const ENTRY: u64 = 4;
/// The exception number of interrupt 0.
const FIRST: u16 = 16;
/// The number of registers: four general ones, the stack pointer and the link register.
const REGISTERS: usize = 6;
const CONVENTION: Convention = Convention { sp: 4, link: 5, first_argument: 0, arguments: 2 };

/// The toy core together with its system.
#[derive(Clone, Debug)]
pub struct ToyState {
    soc: Arc<Soc>,
    bus: Bus,
    devices: Devices,
    console: Console,
    lines: LineMemories,
    pub watches: Watches,
    stops: Vec<u32>,
    registers: [u32; REGISTERS],
    pc: u32,
    masked: bool,
    asleep: bool,
    /// The interrupt whose handler is executing, and the address to which it returns.
    handler: Option<(u16, u32)>,
    /// The handler's first instruction has not executed yet.
    entered: bool,
    armed: u32,
    pending: u32,
    /// The interrupts that will become pending, with their cycles.
    coming: BTreeSet<(u64, u16)>,
    cycles: u64,
    instructions: u64,
    slept: u64,
    waited: u64,
}

impl ToyState {
    fn new(soc: &Soc) -> Self {
        let lines = soc.memories.iter().map(|memory| LineMemory::new(memory.timing));
        Self {
            soc: Arc::new(soc.clone()),
            bus: Bus::new(soc, |_| false),
            devices: Devices::new(soc),
            console: Console::default(),
            lines: LineMemories::new(lines.collect()),
            watches: Watches::default(),
            stops: Vec::new(),
            registers: [0; REGISTERS],
            pc: soc.vector_base(),
            masked: false,
            asleep: false,
            handler: None,
            entered: false,
            armed: 0,
            pending: 0,
            coming: BTreeSet::new(),
            cycles: 0,
            instructions: 0,
            slept: 0,
            waited: 0,
        }
    }

    fn note(&mut self, happened: Watch) {
        let counts = self.counts(self.cycles);
        self.watches.note(happened, counts);
    }

    /// Updates the state for everything that is due by now.
    fn pass_time(&mut self) {
        while let Some(&(at, interrupt)) = self.coming.first().filter(|(at, _)| *at <= self.cycles)
        {
            self.coming.pop_first();
            self.pending |= 1 << interrupt;
            let counts = self.counts(at);
            self.watches.note(Watch::Pend(FIRST + interrupt), counts);
        }
        for at in 0..self.devices.attached.len() {
            if self.devices.attached[at].due.is_some_and(|due| due <= self.cycles) {
                self.devices.update_outputs(at, self.cycles);
            }
        }
    }

    fn with_device<T>(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut AttachedDevice, &mut Env<'_>) -> T,
    ) -> T {
        let (bus, console, memories) = (&self.bus, &mut self.console, &mut self.lines);
        let around = DeviceContext { bus, console, memories };
        let (result, _) = self.devices.with_device(at, self.cycles, around, act);
        self.devices.update_outputs(at, self.cycles);
        result
    }

    /// Returns the interrupts that are pending or requested by devices.
    fn wanted(&self) -> u32 {
        let high = self.devices.attached.iter().flat_map(|attached| {
            let outputs = attached.irq.iter().enumerate();
            outputs.filter(|(at, _)| attached.outputs >> at & 1 == 1).map(|(_, irq)| *irq)
        });
        self.armed & high.fold(self.pending, |wanted, irq| wanted | 1 << irq)
    }

    fn blocker(&self) -> Option<Blocker> {
        let active = self.handler.map(|(interrupt, _)| Blocker::Active(FIRST + interrupt));
        active.or_else(|| self.masked.then_some(Blocker::MachineMask))
    }

    fn read(&mut self, address: u32) -> Option<u32> {
        if let Some((bytes, place)) = self.bus.load(address) {
            let waits = self.lines[place.memory].read(place.offset, self.cycles);
            self.cycles += waits;
            self.waited += waits;
            return Some(u32::from_le_bytes(bytes));
        }
        let at = self.devices.find(address)?;
        let offset = address - self.devices.attached[at].base;
        self.with_device(at, |device, env| device.read(offset, env))
    }

    fn write(&mut self, address: u32, value: u32) -> Option<()> {
        if self.bus.store(address, value.to_le_bytes()).is_some() {
            return Some(());
        }
        let at = self.devices.find(address)?;
        let offset = address - self.devices.attached[at].base;
        self.with_device(at, |device, env| device.write(offset, value, u32::MAX, env))
    }

    fn fetch(&self, address: u32) -> Option<Toy> {
        let mut bytes = [0; 6];
        self.bus.peek(address, &mut bytes);
        Toy::decode(bytes)
    }

    fn execute(&mut self, it: Toy) -> Result<(), Stop> {
        let place = self.bus.place(self.pc).map(|place| (place.memory, place.offset));
        let waits =
            place.map_or(0, |(memory, offset)| self.lines[memory].read(offset, self.cycles));
        self.waited += waits;
        self.cycles += waits;
        let stuck = Stop::Breakpoint(self.pc);
        let mut next = self.pc + it.size();
        let r = |number: u8| usize::from(number) % REGISTERS;
        let mut cycles = 1;
        match it {
            Toy::Nop => {}
            Toy::Set(a, value) => self.registers[r(a)] = value,
            Toy::Add(a, b) => {
                self.registers[r(a)] = self.registers[r(a)].wrapping_add(self.registers[r(b)]);
            }
            Toy::Multiply(a, b) => {
                self.registers[r(a)] = self.registers[r(a)].wrapping_mul(self.registers[r(b)]);
                cycles = 5;
            }
            Toy::Load(a, b) => {
                self.registers[r(a)] = self.read(self.registers[r(b)]).ok_or(stuck)?;
                cycles = 2;
            }
            Toy::Store(a, b) => {
                self.write(self.registers[r(b)], self.registers[r(a)]).ok_or(stuck)?;
            }
            Toy::Branch(a, by) => {
                if self.registers[r(a)] != 0 {
                    next = next.wrapping_add_signed(by.into());
                    cycles = 2;
                }
            }
            Toy::Return => {
                let Some((interrupt, to)) = self.handler.take() else { return Err(stuck) };
                (next, cycles) = (to, 3);
                self.watches.left += 1;
                self.cycles += cycles;
                self.note(Watch::Return(FIRST + interrupt));
                self.watches.returns_to(to, self.register(Register::Sp), 0);
                self.cycles -= cycles;
            }
            Toy::Mask => self.masked = true,
            Toy::Unmask => self.masked = false,
            Toy::Sleep => self.asleep = true,
            Toy::Break => return Err(stuck),
        }
        self.pc = next;
        self.cycles += cycles;
        self.instructions += 1;
        Ok(())
    }

    /// Enters the handler of the first wanted interrupt.
    fn enter(&mut self, wanted: u32) {
        let interrupt = wanted.trailing_zeros() as u16;
        self.pending &= !(1 << interrupt);
        self.handler = Some((interrupt, self.pc));
        self.entered = true;
        self.pc = self.soc.vector_base() + HANDLER;
        self.cycles += ENTRY;
        self.watches.enter(FIRST + interrupt);
    }

    /// Handles what is due at a boundary before an instruction can execute.
    fn handle_due_events(&mut self, until: u64) -> Result<Option<Advance>, Stop> {
        self.pass_time();
        if self.watches.take_resumed() {
            return Err(Stop::Resumed);
        }
        if self.cycles >= until {
            return Err(Stop::Limit);
        }
        let wanted = self.wanted();
        if wanted != 0 && self.asleep {
            self.asleep = false;
            return Ok(Some(Advance::Other));
        }
        if wanted != 0 && self.blocker().is_none() {
            self.enter(wanted);
            return Ok(Some(Advance::Other));
        }
        if self.asleep {
            let coming = self.coming.first().map_or(u64::MAX, |(at, _)| *at);
            let next = coming.min(self.devices.next);
            if next == u64::MAX {
                return Err(Stop::Asleep);
            }
            let next = next.min(until);
            self.slept += next - self.cycles;
            self.cycles = next;
            return Ok(Some(Advance::Other));
        }
        if self.stops.contains(&self.pc) { Err(Stop::Breakpoint(self.pc)) } else { Ok(None) }
    }

    /// Executes an instruction, and records the watches that it hits.
    fn step(&mut self) -> Result<Toy, Stop> {
        let it = self.fetch(self.pc).ok_or(Stop::Breakpoint(self.pc))?;
        let counts = self.counts(self.cycles);
        self.watches.reach(self.pc, counts);
        if std::mem::take(&mut self.entered)
            && let Some((interrupt, _)) = self.handler
        {
            self.note(Watch::Handle(FIRST + interrupt));
        }
        self.execute(it).map(|()| it)
    }
}

impl CoreState for ToyState {
    fn soc(&self) -> &Soc {
        &self.soc
    }

    fn bus(&self) -> &Bus {
        &self.bus
    }

    fn bus_mut(&mut self) -> &mut Bus {
        &mut self.bus
    }

    fn devices(&self) -> &Devices {
        &self.devices
    }

    fn devices_mut(&mut self) -> &mut Devices {
        &mut self.devices
    }

    fn console_mut(&mut self) -> &mut Console {
        &mut self.console
    }

    fn watches(&self) -> &Watches {
        &self.watches
    }

    fn watches_mut(&mut self) -> &mut Watches {
        &mut self.watches
    }

    fn stops_mut(&mut self) -> &mut Vec<u32> {
        &mut self.stops
    }

    fn code_changed(&mut self) {}

    fn marks_changed(&mut self) {}

    fn load(&mut self, image: &Image) -> Result<(), LoadError> {
        for segment in image.segments() {
            self.bus.program(segment.load_address, &segment.bytes);
        }
        self.reset()
    }

    fn reset(&mut self) -> Result<(), LoadError> {
        let mut bus = self.bus.clone();
        bus.reset();
        let watches = std::mem::take(&mut self.watches);
        *self = Self { bus, watches, ..Self::new(&self.soc) };
        Ok(())
    }

    fn set_fault_policy(&mut self, _policy: FaultPolicy) {}

    fn register(&self, register: Register) -> u32 {
        match register.in_convention(CONVENTION) {
            Register::R(number) => self.registers.get(usize::from(number)).copied().unwrap_or(0),
            Register::Pc => self.pc,
            _ => 0,
        }
    }

    fn set_register(&mut self, register: Register, value: u32) {
        match register.in_convention(CONVENTION) {
            Register::R(number) if usize::from(number) < REGISTERS => {
                self.registers[usize::from(number)] = value;
            }
            Register::Pc => self.pc = value,
            _ => {}
        }
    }

    fn pend_interrupt(&mut self, interrupt: Irq, at: Cycles) {
        self.coming.insert((at.0.max(self.cycles), interrupt.line()));
    }

    fn cycles(&self) -> Cycles {
        Cycles(self.cycles)
    }

    fn instructions(&self) -> Instructions {
        Instructions(self.instructions)
    }

    fn waited(&self) -> Cycles {
        Cycles(self.waited)
    }

    fn asleep(&self) -> Cycles {
        Cycles(self.slept)
    }
}
