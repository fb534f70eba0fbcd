//! Peripherals: what firmware finds behind addresses that are no memory.
//!
//! A device is a value that answers reads and writes of its registers, and tells
//! two things: which interrupt outputs it drives, and the cycle in which these may
//! change without anybody touching it. Between the two nothing is done: counters
//! are computed when they are looked at, and a run without devices in use pays
//! nothing for them. Devices know neither the core nor each other; what they reach
//! beyond their registers is in [`Env`].
//!
//! Bytes that a UART sends reach the console when they are written; the time that
//! sending takes is what the firmware waits. Nothing is ever received.
mod counter;
mod nrf_clock;
mod registers;
mod sio;
mod timer;
mod transmitter;
mod uart;

use std::collections::BTreeMap;

use rtmark_units::Hertz;

use crate::bus::{Bus, Place};
use crate::exec::{Done, Trap};
use crate::machine::{Machine, NO_LINE};
use crate::nvic::FIRST_INTERRUPT;
use crate::soc::{Erase, Memory, Peripheral, PeripheralClock, PeripheralKind, Soc};
use crate::system::VENDORS;
use crate::timing::LineMemories;

use nrf_clock::NrfClock;
use registers::Registers;
use sio::Sio;
use timer::RpChip;

/// How many clocks there are to count.
const CLOCKS: usize = PeripheralClock::Apb2 as usize + 1;

/// How fast a device's clock is beside the core's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The core's clock.
    pub core: Hertz,
    /// Core cycles to one of the device's own clock.
    pub divisor: u64,
}

/// What a device reaches while it is looked after.
pub struct Env<'a> {
    /// The cycle.
    pub now: u64,
    pub pace: Pace,
    pub bus: &'a Bus,
    pub console: &'a mut Vec<u8>,
    /// The read paths of the soc's memories, in the order of the soc file.
    pub memories: &'a mut LineMemories,
    pub effects: Effects,
}

/// What a write leads to outside the device.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// New divisors of the clocks, in the order of [`PeripheralClock`].
    pub scaled: [Option<u64>; CLOCKS],
    /// A memory answers in another time.
    pub memory_changed: bool,
    /// What becomes of flash memories, by their places in the soc file.
    pub flash: Vec<(usize, FlashEffect)>,
}

/// What a write does to a flash memory.
#[derive(Clone, Debug)]
pub enum FlashEffect {
    /// Stores reach it from now on.
    Open,
    /// They do no more.
    Close,
    /// A page is erased.
    Erase { pages: Erase, which: Page },
}

/// A page of a flash memory, as the program names it.
#[derive(Clone, Copy, Debug)]
pub enum Page {
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
    Rp2040Timer(timer::Rp2040Timer),
    Sio(Sio),
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
            Device::Rp2040Timer($it) => $what,
            Device::Sio($it) => $what,
        }
    };
}

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
    fn settle(&mut self, _now: u64, _pace: Pace) {}

    /// The next cycle in which an output may rise on its own.
    fn due(&self, _pace: Pace) -> Option<u64> {
        None
    }
}

/// A device at its place.
#[derive(Clone, Debug)]
struct Attached {
    base: u32,
    size: u32,
    device: Device,
    irq: Vec<u16>,
    /// The outputs when last looked at.
    outputs: u32,
    clock: PeripheralClock,
    due: Option<u64>,
    atomic_aliases: bool,
    /// Cycles that a read and a write take more, or less on an I/O port.
    extra_cycles: [i16; 2],
}

/// The devices of a soc.
#[derive(Clone, Debug)]
pub struct Devices {
    /// In the order of their addresses.
    attached: Vec<Attached>,
    /// The earliest cycle in which one of them is due.
    next: u64,
    core: Hertz,
    divisors: [u64; CLOCKS],
    unmodelled: BTreeMap<u32, Unmodelled>,
    strictness: Strictness,
    /// The flash memories that stores reach, by their place in the soc file.
    open: Vec<usize>,
    /// Cycles for which accesses have waited for the way to a device.
    pub waited: u64,
}

/// What becomes of accesses to registers without a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They read as zero, and [`Machine::unmodelled`] tells of them.
    #[default]
    Lenient,
    /// The first one ends the run with [`FaultKind::Unmodelled`](crate::FaultKind::Unmodelled).
    Strict,
}

/// Accesses to one register without a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmodelled {
    /// Its address.
    pub address: u32,
    /// How often it was read, as zero.
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
const PERIPHERALS: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;
/// A program that walks over all addresses must not fill the host's memory.
const MOST_UNMODELLED: usize = 256;

fn device(peripheral: &Peripheral, soc: &Soc) -> Device {
    use PeripheralKind as Kind;
    let pace = Pace { core: soc.clock, divisor: 1 };
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
        Kind::NrfTimer => Device::NrfTimer(timer::NrfTimer::new(pace)),
        Kind::NrfRtc => Device::NrfRtc(timer::NrfRtc::new(pace)),
        Kind::NrfClock => Device::NrfClock(NrfClock::default()),
        Kind::Rp2040Timer => Device::Rp2040Timer(timer::Rp2040Timer::new(pace, RpChip::Rp2040)),
        Kind::Rp2350Timer => Device::Rp2040Timer(timer::Rp2040Timer::new(pace, RpChip::Rp2350)),
        Kind::Rp2040Sio => Device::Sio(Sio::default()),
    }
}

impl Devices {
    pub fn new(soc: &Soc) -> Self {
        let mut attached: Vec<_> = soc
            .peripherals
            .iter()
            .map(|peripheral| Attached {
                base: peripheral.base,
                size: peripheral.extent(),
                device: device(peripheral, soc),
                irq: peripheral.irq.clone(),
                outputs: 0,
                clock: peripheral.clock,
                due: None,
                atomic_aliases: peripheral.atomic_aliases,
                extra_cycles: [peripheral.wait_states.0, peripheral.wait_states.1]
                    .map(|extra| i16::from(extra) - i16::from(peripheral.io_port)),
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
            strictness: Strictness::default(),
            open: Vec::new(),
        }
    }

    /// Puts every device into the state after a reset, and with it the memories that
    /// registers control.
    pub fn reset(&mut self, soc: &Soc, memories: &mut LineMemories) {
        let unmodelled = std::mem::take(&mut self.unmodelled);
        *self = Self { strictness: self.strictness, unmodelled, ..Self::new(soc) };
        for attached in &self.attached {
            if let Device::Registers(registers) = &attached.device {
                registers.control_memories(memories);
            }
        }
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

    fn find(&self, address: u32) -> Option<usize> {
        let after = self.attached.partition_point(|attached| attached.base <= address);
        let at = after.checked_sub(1)?;
        (address - self.attached[at].base < self.attached[at].size).then_some(at)
    }

    fn pace(&self, at: usize) -> Pace {
        Pace { core: self.core, divisor: self.divisors[self.attached[at].clock as usize] }
    }

    fn note(&mut self, address: u32, direction: Direction) {
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

impl Machine {
    /// Registers without a model that the program has used since the machine was made,
    /// in ascending order of addresses; at most 256.
    pub fn unmodelled(&self) -> impl Iterator<Item = Unmodelled> + '_ {
        self.devices.unmodelled.values().copied()
    }

    /// Decides what becomes of accesses to registers without a model.
    pub fn set_strictness(&mut self, strictness: Strictness) {
        self.devices.strictness = strictness;
    }

    /// Notes an access to a register without a model, or refuses it.
    pub(crate) fn note_unmodelled(&mut self, address: u32, direction: Direction) -> Done {
        self.devices.note(address, direction);
        match self.devices.strictness {
            Strictness::Lenient => Ok(()),
            Strictness::Strict => {
                self.trap_value = address;
                Err(Trap::Unmodelled)
            }
        }
    }

    /// Reads the word at an address that is in no memory.
    pub(crate) fn read_peripheral(&mut self, address: u32) -> Result<u32, Trap> {
        let Some(at) = self.devices.find(address) else {
            return self.without_device(address, Direction::Read).map(|()| 0);
        };
        let now = self.reach(at, Direction::Read);
        let offset = address - self.devices.attached[at].base;
        let atomic = self.devices.attached[at].atomic_aliases;
        let offset = if atomic { offset & 0xFFF } else { offset };
        let (value, _) =
            self.with_device(at, now, |device, env| each!(device, it => it.read(offset, env)));
        self.look_at_device(at, now);
        match value {
            Some(value) => Ok(value),
            None => self.note_unmodelled(address, Direction::Read).map(|()| 0),
        }
    }

    /// Writes to an address that is in no memory; `value` and `mask` are placed within
    /// the word there.
    pub(crate) fn write_peripheral(&mut self, address: u32, value: u32, mask: u32) -> Done {
        let Some(at) = self.devices.find(address) else {
            if !self.devices.open.is_empty() && self.program_flash(address, value, mask) {
                return Ok(());
            }
            return self.without_device(address, Direction::Write);
        };
        let now = self.reach(at, Direction::Write);
        let offset = address - self.devices.attached[at].base;
        let (written, effects) = if self.devices.attached[at].atomic_aliases {
            // A narrow write comes replicated over the whole word (RP2040, 2.1.4).
            let value = if mask == u32::MAX { value } else { replicate(value, mask) };
            let (offset, operation) = (offset & 0xFFF, offset >> 12);
            self.with_device(at, now, |device, env| {
                each!(device, it => {
                    let held = if operation == 0 { 0 } else { it.read(offset, env)? };
                    let value = match operation {
                        0 => value,
                        1 => held ^ value,
                        2 => held | value,
                        _ => held & !value,
                    };
                    it.write(offset, value, u32::MAX, env)
                })
            })
        } else {
            self.with_device(
                at,
                now,
                |device, env| each!(device, it => it.write(offset, value, mask, env)),
            )
        };
        self.take_effect(&effects, now);
        self.look_at_device(at, now);
        match written {
            Some(()) => Ok(()),
            None => self.note_unmodelled(address, Direction::Write),
        }
    }

    /// Clears the bits of a word of flash that a store has as zeros, if the flash is open.
    fn program_flash(&mut self, address: u32, value: u32, mask: u32) -> bool {
        let is_open = |place: Place| self.devices.open.contains(&place.memory);
        if !self.bus.place(address).is_some_and(is_open) {
            return false;
        }
        let mut word = [0; 4];
        self.bus.peek(address, &mut word);
        let programmed = u32::from_le_bytes(word) & (value | !mask);
        self.bus.program(address, &programmed.to_le_bytes());
        self.forget_flash();
        true
    }

    /// Sets all bits of a page of flash.
    fn erase_flash(&mut self, memory: usize, pages: &Erase, which: Page) {
        let Memory { base, size, .. } = self.soc().memories[memory];
        let page = match which {
            Page::Number(number) => pages.numbered(number),
            Page::At(address) => {
                let place = self.bus.place(address).filter(|place| place.memory == memory);
                place.and_then(|place| pages.around(place.offset))
            }
        };
        let Some((begin, bytes)) = page.filter(|(begin, _)| *begin < size) else { return };
        let erased = vec![0xFF; bytes.min(size - begin) as usize];
        self.bus.program(base + begin, &erased);
        self.forget_flash();
    }

    /// What was known of code in flash holds no longer.
    fn forget_flash(&mut self) {
        self.code.forget_all();
        self.pace.forget();
        (self.line, self.line_mask) = (NO_LINE, u32::MAX);
        self.attend_soon();
    }

    /// An access where neither memory nor device is.
    fn without_device(&mut self, address: u32, direction: Direction) -> Done {
        if PERIPHERALS.contains(&address) || VENDORS[0].contains(&address.into()) {
            self.note_unmodelled(address, direction)
        } else {
            Err(self.no_answer(address))
        }
    }

    /// Takes the time that an access to a device takes; answers when it takes place.
    fn reach(&mut self, at: usize, direction: Direction) -> u64 {
        let extra = self.devices.attached[at].extra_cycles[direction as usize];
        self.cycles = self.cycles.saturating_add_signed(extra.into());
        self.devices.waited += u64::try_from(extra).unwrap_or(0);
        let now = self.data_phase();
        self.pass_time(now);
        now
    }

    fn with_device<T>(
        &mut self,
        at: usize,
        now: u64,
        act: impl FnOnce(&mut Device, &mut Env<'_>) -> T,
    ) -> (T, Effects) {
        let mut env = Env {
            now,
            pace: self.devices.pace(at),
            bus: &self.bus,
            console: &mut self.console,
            memories: &mut self.lines,
            effects: Effects::default(),
        };
        let result = act(&mut self.devices.attached[at].device, &mut env);
        (result, env.effects)
    }

    fn take_effect(&mut self, effects: &Effects, now: u64) {
        if effects.memory_changed {
            // What is known of the line that code comes from holds no longer.
            (self.line, self.line_mask) = (NO_LINE, u32::MAX);
            self.update_lead();
            self.attend_soon();
        }
        for (memory, effect) in &effects.flash {
            match effect {
                FlashEffect::Open if self.devices.open.contains(memory) => {}
                FlashEffect::Open => self.devices.open.push(*memory),
                FlashEffect::Close => self.devices.open.retain(|other| other != memory),
                FlashEffect::Erase { pages, which } => self.erase_flash(*memory, pages, *which),
            }
        }
        let divisors = self.devices.divisors;
        let wanted = [0, 1, 2].map(|clock| effects.scaled[clock].unwrap_or(divisors[clock]));
        if wanted == divisors {
            return;
        }
        // What has been counted so far was counted at the old pace.
        for at in 0..self.devices.attached.len() {
            let pace = self.devices.pace(at);
            each!(&mut self.devices.attached[at].device, it => it.settle(now, pace));
        }
        self.devices.divisors = wanted;
        for at in 0..self.devices.attached.len() {
            self.look_at_device(at, now);
        }
    }

    /// Takes over a device's outputs and its next date.
    fn look_at_device(&mut self, at: usize, now: u64) {
        let pace = self.devices.pace(at);
        let attached = &mut self.devices.attached[at];
        let (outputs, due) = each!(&mut attached.device, it => {
            it.settle(now, pace);
            (it.outputs(now), it.due(pace))
        });
        let changed = std::mem::replace(&mut attached.outputs, outputs) ^ outputs;
        // A date that has come is no date: the outputs tell what it was about.
        let due = due.filter(|due| *due > now);
        if attached.due != due {
            attached.due = due;
            let dates = self.devices.attached.iter().filter_map(|attached| attached.due);
            self.devices.next = dates.min().unwrap_or(u64::MAX);
            self.attend_soon();
        }
        if changed != 0 {
            self.drive_interrupts(at, changed, now);
        }
    }

    /// Drives the interrupts of a device's outputs that have changed.
    fn drive_interrupts(&mut self, at: usize, changed: u32, now: u64) {
        for output in 0..self.devices.attached[at].irq.len() {
            if changed >> output & 1 == 0 {
                continue;
            }
            let irq = self.devices.attached[at].irq[output];
            // Several outputs may share an interrupt.
            let high = self.devices.attached.iter().any(|attached| {
                let same = attached.irq.iter().enumerate().filter(|(_, other)| **other == irq);
                same.into_iter().any(|(output, _)| attached.outputs >> output & 1 == 1)
            });
            let exception = FIRST_INTERRUPT + irq;
            self.system.nvic.drive(exception, high);
            if high {
                self.signal(exception, now);
            }
            self.attend_soon();
        }
    }

    /// Lets every device do what is due by a cycle.
    pub(crate) fn pass_devices(&mut self, now: u64) {
        for at in 0..self.devices.attached.len() {
            if self.devices.attached[at].due.is_some_and(|due| due <= now) {
                self.look_at_device(at, now);
            }
        }
    }
}

/// A narrow value in every place of a word.
const fn replicate(value: u32, mask: u32) -> u32 {
    let narrow = value >> mask.trailing_zeros();
    if mask.count_ones() == 8 { narrow * 0x0101_0101 } else { narrow * 0x0001_0001 }
}

#[cfg(test)]
mod tests;
