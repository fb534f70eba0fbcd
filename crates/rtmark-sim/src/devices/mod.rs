//! Peripherals: what firmware finds behind addresses that are no memory.
//!
//! A device is a value that answers reads and writes of its registers, and tells
//! two things: which interrupt outputs it drives, and the cycle in which these may
//! change without anybody touching it. Between the two nothing is done: counters
//! are computed when they are looked at, and a run without devices in use pays
//! nothing for them. Devices know neither the core nor each other; what they reach
//! beyond their registers is in [`Env`], and what others are to hear of in [`Signals`].
//!
//! Bytes that a UART sends reach the console when they are written; the time that
//! sending takes is what the firmware waits. It receives what was put on its line.
mod access;
mod console;
mod counter;
mod exti;
mod io_bank;
mod nrf;
mod pins;
mod polls;
mod receiver;
mod registers;
mod sio;
mod timer;
mod transmitter;
mod uart;
mod wires;

use std::collections::BTreeMap;

use rtmark_units::Hertz;

use crate::memory::Bus;
use crate::soc::{Erase, Peripheral, PeripheralClock, PeripheralKind, SlowRead, Soc};
use crate::timing::LineMemories;

pub use access::Surroundings;
pub use console::Console;
use exti::{Exti, ExtiLayout};
use io_bank::{IoBank, IoBankLayout};
use nrf::{NrfClock, NrfEgu, NrfGpio, NrfGpiote, NrfPpi};
pub use pins::{Drive, Level, PinChange};
use polls::Polls;
use receiver::Receiver;
use registers::Registers;
use sio::Sio;
use timer::RpChip;
pub use wires::Signals;

/// How many clocks there are to count.
const CLOCKS: usize = PeripheralClock::Apb2 as usize + 1;

/// How fast a device's clock is beside the core's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRatio {
    /// The core's clock.
    pub core: Hertz,
    /// Core cycles to one of the device's own clock.
    pub divisor: u64,
}

/// What a device reaches while it is looked after.
pub struct Env<'a> {
    /// The cycle.
    pub now: u64,
    pub ratio: ClockRatio,
    pub bus: &'a Bus,
    pub console: &'a mut Console,
    /// The read paths of the soc's memories, in the order of the soc file.
    pub memories: &'a mut LineMemories,
    pub effects: Effects,
}

/// What a look at a device has shown.
#[derive(Clone, Copy, Debug)]
pub struct Looked {
    /// The outputs that are not what they were, a bit each.
    pub changed: u32,
    /// It is due in another cycle than before.
    pub rescheduled: bool,
}

/// What a write leads to outside the device.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// New divisors of the clocks, in the order of [`PeripheralClock`].
    pub scaled: [Option<u64>; CLOCKS],
    /// A memory answers in another time.
    pub memory_changed: bool,
    /// Something was started that has no model.
    pub without_model: bool,
    /// What becomes of flash memories, by their places in the soc file.
    pub flash: Vec<(usize, FlashEffect)>,
    /// Lines of EXTI and the ports that they come from now.
    pub routed: Vec<(u8, u8)>,
    /// The PPI connects otherwise than before, and these of its channels anew.
    pub connected: Option<u32>,
}

/// What a write does to a flash memory.
#[derive(Clone, Debug)]
pub enum FlashEffect {
    /// Stores reach it from now on.
    Open,
    /// They do no more.
    Close,
    /// A page is erased.
    Erase { pages: Erase, which: FlashPage },
}

/// A page of a flash memory, as the program names it.
#[derive(Clone, Copy, Debug)]
pub enum FlashPage {
    Number(u32),
    /// By an address in it.
    At(u32),
}

/// Every kind of device.
#[derive(Clone, Debug)]
enum Device {
    Registers(Registers),
    Pl011(uart::Pl011),
    CmsdkUart(uart::Cmsdk),
    Stm32Usart(uart::Stm32),
    NrfUarte(uart::NrfUarte),
    CmsdkTimer(timer::CmsdkTimer),
    CmsdkDualTimer(timer::CmsdkDualTimer),
    Stm32Timer(timer::Stm32Timer),
    NrfTimer(timer::NrfTimer),
    NrfRtc(timer::NrfRtc),
    NrfClock(NrfClock),
    NrfEgu(NrfEgu),
    NrfGpio(NrfGpio),
    NrfGpiote(NrfGpiote),
    NrfPpi(NrfPpi),
    Rp2040Timer(timer::Rp2040Timer),
    Sio(Sio),
    Exti(Exti),
    IoBank(IoBank),
    CadenceUart(uart::Cadence),
    CadenceTtc(timer::CadenceTtc),
}

macro_rules! each {
    ($device:expr, $it:ident => $what:expr) => {
        match $device {
            Device::Registers($it) => $what,
            Device::Pl011($it) => $what,
            Device::CmsdkUart($it) => $what,
            Device::Stm32Usart($it) => $what,
            Device::NrfUarte($it) => $what,
            Device::CmsdkTimer($it) => $what,
            Device::CmsdkDualTimer($it) => $what,
            Device::Stm32Timer($it) => $what,
            Device::NrfTimer($it) => $what,
            Device::NrfRtc($it) => $what,
            Device::NrfClock($it) => $what,
            Device::NrfEgu($it) => $what,
            Device::NrfGpio($it) => $what,
            Device::NrfGpiote($it) => $what,
            Device::NrfPpi($it) => $what,
            Device::Rp2040Timer($it) => $what,
            Device::Sio($it) => $what,
            Device::Exti($it) => $what,
            Device::IoBank($it) => $what,
            Device::CadenceUart($it) => $what,
            Device::CadenceTtc($it) => $what,
        }
    };
}

use each;

/// What each kind of device does.
trait Registered {
    /// Reads the register at an offset, or `None` where there is no model of it.
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32>;

    /// Writes a register; `None` where there is no model of it. Narrow writes come with
    /// zeros around them, and `mask` tells which bits were meant.
    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()>;

    /// Its interrupt outputs, one a bit, in the order that the soc file has them.
    fn outputs(&self, now: u64) -> u32;

    /// Takes note of everything that has happened up to now.
    fn settle(&mut self, _now: u64, _ratio: ClockRatio) {}

    /// The next cycle in which an output may rise on its own.
    fn due(&self, _ratio: ClockRatio) -> Option<u64> {
        None
    }

    /// Something outside drives a pin, which may be one of this device's.
    fn drive(&mut self, _pin: &str, _drive: &Drive) {}

    /// Whether the PPI can connect the register at an offset: a task, or an event that comes.
    fn has_end(&self, _offset: u32) -> bool {
        false
    }

    /// The PPI listens to these events from now on, a bit each.
    fn publish(&mut self, _events: u32) {}

    /// What it has done that others are to hear of, since this was last asked.
    fn signals(&mut self) -> Signals {
        Signals::default()
    }
}

/// What has a line on which bytes arrive.
trait Receives {
    fn receiver(&mut self) -> &mut Receiver;
}

/// A device at its place.
#[derive(Clone, Debug)]
pub struct Attached {
    pub base: u32,
    size: u32,
    device: Device,
    /// The interrupts of its outputs.
    pub irq: Vec<u16>,
    /// The outputs when last looked at.
    pub outputs: u32,
    clock: PeripheralClock,
    /// The next cycle in which an output may rise on its own.
    pub due: Option<u64>,
    /// The events that the PPI listens to, a bit each.
    heard: u32,
    pub atomic_aliases: bool,
    /// Cycles that a read and a write take more, or less on an I/O port.
    extra_cycles: [i16; 2],
    slow_read: Option<SlowRead>,
}

impl Attached {
    /// Cycles that an access takes more than one of memory that never waits, or less.
    pub fn extra_cycles(&self, address: u32, direction: Direction) -> i16 {
        let extra = self.extra_cycles[direction as usize];
        let is_slow = |slow: &SlowRead| {
            direction == Direction::Read && address.wrapping_sub(self.base) == slow.offset
        };
        let slow = self.slow_read.filter(is_slow).map_or(0, |slow| slow.cycles);
        extra + i16::from(slow)
    }

    /// The receiving side of a UART.
    fn receiver(&mut self) -> Option<&mut Receiver> {
        match &mut self.device {
            Device::Pl011(uart) => Some(uart.receiver()),
            Device::CmsdkUart(uart) => Some(uart.receiver()),
            Device::Stm32Usart(uart) => Some(uart.receiver()),
            Device::NrfUarte(uart) => Some(uart.receiver()),
            _ => None,
        }
    }

    /// Reads the register at an offset, or `None` where there is no model of it.
    pub fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        each!(&mut self.device, it => it.read(offset, env))
    }

    /// Writes the bits of a register that `mask` tells; `None` where there is no model of it.
    pub fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        each!(&mut self.device, it => it.write(offset, value, mask, env))
    }

    /// Takes note of everything that has happened up to now.
    pub fn settle(&mut self, now: u64, ratio: ClockRatio) {
        each!(&mut self.device, it => it.settle(now, ratio));
    }

    /// The next cycle in which an output may rise on its own.
    fn next_date(&self, ratio: ClockRatio) -> Option<u64> {
        each!(&self.device, it => it.due(ratio))
    }

    /// The interrupt outputs now, and the next cycle in which one may rise on its own.
    pub fn look(&mut self, now: u64, ratio: ClockRatio) -> (u32, Option<u64>) {
        each!(&mut self.device, it => {
            it.settle(now, ratio);
            (it.outputs(now), it.due(ratio))
        })
    }
}

/// The devices of a soc.
#[derive(Clone, Debug)]
pub struct Devices {
    /// In the order of their addresses.
    pub attached: Vec<Attached>,
    /// The earliest cycle in which one of them is due.
    pub next: u64,
    core: Hertz,
    pub divisors: [u64; CLOCKS],
    pub unmodelled: BTreeMap<u32, Unmodelled>,
    /// Registers that only keep what is written, and are read again and again.
    polls: Polls,
    pub strictness: Strictness,
    /// The register without a model that the program has used although none is let through.
    refused: Option<u32>,
    /// The flash memories that stores reach, by their place in the soc file.
    pub open: Vec<usize>,
    /// Cycles for which accesses have waited for the way to a device.
    pub waited: u64,
    /// The pins that something outside drives.
    drives: BTreeMap<String, Drive>,
}

/// What becomes of accesses to registers without a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They read as zero, and [`Machine::unmodelled`](crate::Machine::unmodelled) tells of them.
    #[default]
    Lenient,
    /// The first one ends the run with [`FaultKind::Unmodelled`](crate::FaultKind::Unmodelled).
    Strict,
}

/// Accesses to one register without a model: one that nothing is known of, or one that keeps what is
/// written, while the program waits for it to change, or has started something by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmodelled {
    /// Its address.
    pub address: u32,
    /// How often it was read: as zero, or as what was kept.
    pub reads: u64,
    /// How often it was written, to no effect.
    pub writes: u64,
}

/// Which way an access goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// Addresses of devices: what is not modelled there reads as zero.
pub const PERIPHERALS: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;
/// A program that walks over all addresses must not fill the host's memory.
const MOST_UNMODELLED: usize = 256;

fn device(peripheral: &Peripheral, soc: &Soc) -> Device {
    use PeripheralKind as Kind;
    let ratio = ClockRatio { core: soc.clock, divisor: 1 };
    match peripheral.kind {
        Kind::Registers => Device::Registers(Registers::new(peripheral, soc)),
        Kind::Pl011 => Device::Pl011(uart::Pl011::new(peripheral.fifo.unwrap_or(32))),
        Kind::CmsdkUart => Device::CmsdkUart(uart::Cmsdk::default()),
        Kind::CmsdkTimer => Device::CmsdkTimer(timer::CmsdkTimer::default()),
        Kind::CmsdkDualTimer => Device::CmsdkDualTimer(timer::CmsdkDualTimer::default()),
        Kind::Stm32UsartV1 => Device::Stm32Usart(uart::Stm32::new(uart::Stm32Layout::V1)),
        Kind::Stm32UsartV2 => Device::Stm32Usart(uart::Stm32::new(uart::Stm32Layout::V2)),
        Kind::Stm32Timer => {
            let bits = peripheral.counter_bits.unwrap_or(16);
            let apart = peripheral.irq.len() > 1;
            let wiring =
                if apart { timer::Stm32Wiring::Apart } else { timer::Stm32Wiring::Together };
            Device::Stm32Timer(timer::Stm32Timer::new(bits, wiring))
        }
        Kind::NrfUarte => Device::NrfUarte(uart::NrfUarte::default()),
        Kind::NrfUart => Device::NrfUarte(uart::NrfUarte::without_dma()),
        Kind::NrfTimer => Device::NrfTimer(timer::NrfTimer::new(ratio)),
        Kind::NrfRtc => Device::NrfRtc(timer::NrfRtc::new(ratio)),
        Kind::NrfClock => Device::NrfClock(NrfClock::default()),
        Kind::NrfEgu => Device::NrfEgu(NrfEgu::default()),
        Kind::NrfGpio => Device::NrfGpio(NrfGpio::default()),
        Kind::NrfGpiote => Device::NrfGpiote(NrfGpiote::default()),
        Kind::NrfPpi => Device::NrfPpi(NrfPpi::new(ratio)),
        Kind::Rp2040Timer => Device::Rp2040Timer(timer::Rp2040Timer::new(ratio, RpChip::Rp2040)),
        Kind::Rp2350Timer => Device::Rp2040Timer(timer::Rp2040Timer::new(ratio, RpChip::Rp2350)),
        Kind::Rp2040Sio => Device::Sio(Sio::new(peripheral)),
        Kind::Rp2040IoBank => Device::IoBank(IoBank::new(IoBankLayout::RP2040, peripheral)),
        Kind::Rp2350IoBank => Device::IoBank(IoBank::new(IoBankLayout::RP2350, peripheral)),
        Kind::Stm32ExtiV1 => Device::Exti(Exti::new(ExtiLayout::V1)),
        Kind::Stm32ExtiV2 => Device::Exti(Exti::new(ExtiLayout::V2)),
        Kind::CadenceUart => Device::CadenceUart(uart::Cadence::default()),
        Kind::CadenceTtc => Device::CadenceTtc(timer::CadenceTtc::new(ratio)),
        // The core has it; what is left is nothing.
        Kind::RiscvClint | Kind::Rp2350RiscvTimer | Kind::Pl390 => {
            Device::Registers(Registers::new(peripheral, soc))
        }
    }
}

impl Devices {
    pub fn new(soc: &Soc) -> Self {
        let mut attached: Vec<_> = soc
            .peripherals
            .iter()
            .filter(|peripheral| !peripheral.kind.is_of_the_core())
            .map(|peripheral| Attached {
                base: peripheral.base,
                size: peripheral.extent(),
                device: device(peripheral, soc),
                irq: peripheral.irq.clone(),
                outputs: 0,
                clock: peripheral.clock,
                due: None,
                heard: 0,
                atomic_aliases: peripheral.atomic_aliases,
                extra_cycles: [peripheral.wait_states.0, peripheral.wait_states.1]
                    .map(|extra| i16::from(extra) - i16::from(peripheral.io_port)),
                slow_read: peripheral.slow_read,
            })
            .collect();
        attached.sort_by_key(|attached| attached.base);
        Self {
            attached,
            next: u64::MAX,
            core: soc.clock,
            waited: 0,
            divisors: [1; CLOCKS],
            unmodelled: BTreeMap::new(),
            polls: Polls::default(),
            strictness: Strictness::default(),
            refused: None,
            open: Vec::new(),
            drives: BTreeMap::new(),
        }
    }

    /// Puts every device into the state after a reset, and with it the memories that
    /// registers control.
    pub fn reset(&mut self, soc: &Soc, memories: &mut LineMemories) {
        let before = std::mem::replace(self, Self::new(soc));
        self.take_over(before);
        for attached in &self.attached {
            if let Device::Registers(registers) = &attached.device {
                registers.control_memories(memories);
            }
        }
    }

    /// Takes over from the devices of the same soc what a reset leaves alone.
    pub fn take_over(&mut self, mut before: Self) {
        for (attached, before) in self.attached.iter_mut().zip(&mut before.attached) {
            if let (Some(receiver), Some(before)) = (attached.receiver(), before.receiver()) {
                receiver.connect(before.left(), 0);
            }
        }
        (self.unmodelled, self.strictness) = (before.unmodelled, before.strictness);
        for (pin, drive) in before.drives {
            self.drive(&pin, drive);
        }
    }

    /// Drives a pin from outside.
    pub fn drive(&mut self, pin: &str, drive: Drive) {
        for attached in &mut self.attached {
            each!(&mut attached.device, it => it.drive(pin, &drive));
        }
        self.drives.insert(pin.to_owned(), drive);
    }

    /// Has lines of EXTI come from other ports. Answers the places of the devices concerned.
    pub fn route(&mut self, routed: &[(u8, u8)], now: u64) -> Vec<usize> {
        let attached = self.attached.iter_mut().enumerate();
        let extis = attached.filter_map(|(at, attached)| match &mut attached.device {
            Device::Exti(exti) => Some((at, exti)),
            _ => None,
        });
        let changed = extis.map(|(at, exti)| {
            for &(line, port) in routed {
                exti.route(line, port, now);
            }
            at
        });
        changed.collect()
    }

    /// Puts bytes on the lines of the UARTs at these addresses.
    pub fn connect(&mut self, bases: &[u32], bytes: &[u8], now: u64) {
        for at in 0..self.attached.len() {
            let ratio = self.ratio(at);
            let attached = &mut self.attached[at];
            if !bases.contains(&attached.base) {
                continue;
            }
            if let Some(receiver) = attached.receiver() {
                receiver.connect(bytes, now);
                attached.due = attached.next_date(ratio);
            }
        }
        self.next = self.attached.iter().filter_map(|it| it.due).min().unwrap_or(u64::MAX);
    }

    /// How many bytes no UART has read of those that were put on the line at an address.
    pub fn unread(&mut self, base: u32) -> Option<usize> {
        let attached = self.attached.iter_mut().find(|attached| attached.base == base)?;
        attached.receiver().map(|receiver| receiver.left().len())
    }

    /// Whether so many bytes from an address on lie in one block of nonvolatile registers.
    pub fn takes_image(&self, address: u32, length: usize) -> bool {
        self.find(address).is_some_and(|at| {
            let Attached { base, size, device, .. } = &self.attached[at];
            let left = u64::from(base + size - address);
            matches!(device, Device::Registers(it) if it.is_nonvolatile()) && length as u64 <= left
        })
    }

    /// Puts bytes into nonvolatile registers, as a programmer does.
    pub fn program(&mut self, address: u32, bytes: &[u8]) {
        let Some(at) = self.find(address) else { return };
        let Attached { base, device, .. } = &mut self.attached[at];
        if let Device::Registers(registers) = device {
            for (offset, byte) in (address - *base..).zip(bytes) {
                registers.program(offset, *byte);
            }
        }
    }

    /// The earliest cycle in which a device does something on its own.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    pub fn find(&self, address: u32) -> Option<usize> {
        let after = self.attached.partition_point(|attached| attached.base <= address);
        let at = after.checked_sub(1)?;
        (address - self.attached[at].base < self.attached[at].size).then_some(at)
    }

    pub fn ratio(&self, at: usize) -> ClockRatio {
        ClockRatio { core: self.core, divisor: self.divisors[self.attached[at].clock as usize] }
    }

    /// Takes over a device's outputs and its next date.
    pub fn look_at(&mut self, at: usize, now: u64) -> Looked {
        let ratio = self.ratio(at);
        let attached = &mut self.attached[at];
        let (outputs, due) = attached.look(now, ratio);
        let changed = std::mem::replace(&mut attached.outputs, outputs) ^ outputs;
        // A date that has come is no date: the outputs tell what it was about.
        let due = due.filter(|due| *due > now);
        let rescheduled = std::mem::replace(&mut attached.due, due) != due;
        if rescheduled {
            let dates = self.attached.iter().filter_map(|attached| attached.due);
            self.next = dates.min().unwrap_or(u64::MAX);
        }
        Looked { changed, rescheduled }
    }

    /// Whether a program waits for a register to change that never does by itself, which it has just
    /// read; `at` is its device's place.
    pub fn is_polled(&mut self, at: usize, address: u32, value: u32, now: u64) -> bool {
        match &self.attached[at].device {
            Device::Registers(registers)
                if registers.may_only_keep(address - self.attached[at].base) =>
            {
                self.polls.read(address, value, now)
            }
            _ => false,
        }
    }

    /// A register of a device was written: what others of it hold may be another value now.
    pub fn written(&mut self, at: usize) {
        let Attached { base, size, .. } = self.attached[at];
        self.polls.forget(base, size);
    }

    pub fn note(&mut self, address: u32, direction: Direction) {
        if self.unmodelled.len() >= MOST_UNMODELLED && !self.unmodelled.contains_key(&address) {
            return;
        }
        let entry = self.unmodelled.entry(address).or_default();
        entry.address = address;
        match direction {
            Direction::Read => entry.reads += 1,
            Direction::Write => entry.writes += 1,
        }
    }
}
