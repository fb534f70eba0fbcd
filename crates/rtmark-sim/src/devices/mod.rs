//! Peripherals: what firmware finds at addresses that are not memory.
//!
//! A device is a value that answers reads and writes of its registers, and reports two things: the
//! interrupt outputs that it drives, and the cycle in which these may next change by themselves. Nothing
//! happens in between: counters are computed when they are read, and a run that uses no devices pays
//! nothing for them. Devices know neither the core nor each other; what they can reach besides their
//! registers is in [`Env`], and what they signal to others in [`Signals`].
//!
//! Bytes that a UART sends reach the console when they are written; the firmware still waits for as long as
//! sending takes. A UART receives the bytes that were put on its line.

mod access;
mod console;
mod copy_on_write;
mod core_clock;
mod counter;
mod crc;
mod device;
mod dma;
mod effects;
mod exti;
mod flash;
mod io_bank;
mod memory_waits;
mod nrf;
mod pins;
mod polls;
mod receiver;
mod registers;
mod resets;
mod rtc;
mod sio;
mod spi;
mod supplies;
mod ticks;
mod timer;
mod transmitter;
mod uart;
mod unmodelled;
mod watchdog;
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rtmark_units::Hertz;

use crate::memory::Bus;
use crate::soc::{ClockCondition, PeripheralClock, SlowRead, Soc, UnmodelledBlock};
use crate::timing::LineMemories;

pub use access::DeviceContext;
pub use console::Console;
use copy_on_write::CopyOnWrite;
pub use core_clock::{ClockChange, ClockHistory, UnknownClock};
use core_clock::{CoreClock, SlowerClock, held};
use device::{Device, each};
pub use dma::DmaStore;
pub use effects::{Effects, FlashEffect, FlashPage};
use memory_waits::MemoryWaits;
pub use pins::{Drive, Level, PinChange};
use polls::Polls;
use receiver::Receiver;
use resets::{ResetLine, connect_resets};
use supplies::{OwnSupply, Supplies};
pub use timer::MachineTimer;
pub use transmitter::SendFault;
use transmitter::Transmitter;
pub use unmodelled::{Strictness, Unmodelled};
pub use watchdog::WatchdogCause;
use wires::OutputEdges;
pub use wires::Signals;

/// The number of clocks that a device can count.
const CLOCKS: usize = PeripheralClock::Apb4 as usize + 1;

/// The frequency of a device's clock relative to the core's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockRatio {
    /// The core's clock.
    pub core: Hertz,
    /// Core cycles per cycle of the device's own clock.
    pub divisor: u64,
    /// Core cycles per cycle of that clock as STM32's timers get it: twice as fast if the bus is slower than
    /// its source (RM0090, 7.2; RM0433, RCC_CFGR, with TIMPRE = 0).
    pub timer: u64,
}

impl ClockRatio {
    /// Returns the ratio of a device that counts the core's clock.
    pub const fn undivided(core: Hertz) -> Self {
        Self { core, divisor: 1, timer: 1 }
    }
}

/// What a device can reach while it handles an access or an event.
pub struct Env<'a> {
    /// The current cycle.
    pub now: u64,
    pub ratio: ClockRatio,
    pub bus: &'a Bus,
    pub console: &'a mut Console,
    /// The read paths of the soc's memories, in the order of the soc file.
    pub memories: &'a mut LineMemories,
    pub effects: Effects,
}

/// What has changed at a device since the last look.
#[derive(Clone, Copy, Debug)]
pub struct OutputChanges {
    /// The outputs that have changed, one bit each.
    pub changed: u32,
    /// The device is due in a different cycle than before.
    pub rescheduled: bool,
    /// Its DMA requests have changed.
    pub requests_changed: bool,
}

/// The interface that each kind of device implements.
trait DeviceModel {
    /// Reads the register at an offset; returns `None` if it has no model.
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32>;

    /// Writes a register; returns `None` if it has no model. The value of a narrow write is padded with
    /// zeros, and `mask` selects the bits that are written.
    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()>;

    /// Returns whether ones written to the register at an offset clear its bits.
    fn clears_by_ones(&self, _offset: u32) -> bool {
        false
    }

    /// Returns its interrupt outputs, one per bit, in the order of the soc file's `irq`.
    fn outputs(&self, now: u64) -> u32;

    /// Updates its state for everything that has happened up to now.
    fn settle(&mut self, _now: u64, _ratio: ClockRatio) {}

    /// Called on a new device, to begin with in this cycle.
    fn begin(&mut self, now: u64, ratio: ClockRatio) {
        self.settle(now, ratio);
    }

    /// Returns the next cycle in which an output may rise by itself.
    fn due(&self, _ratio: ClockRatio) -> Option<u64> {
        None
    }

    /// Called when the core's clock has changed: counts that are fixed in real time take other cycles from
    /// now on.
    fn core_clock_changed(&mut self, _now: u64, _ratio: ClockRatio) {}

    /// Called when its own clock may have changed, or whether the program may write what is guarded.
    fn supply(&mut self, _now: u64, _supply: OwnSupply) {}

    /// Drives a pin from outside; the pin may belong to another device.
    fn drive(&mut self, _pin: &str, _drive: &Drive) {}

    /// Returns whether the PPI can connect the register at an offset: a task, or an event that can occur.
    fn has_end(&self, _offset: u32) -> bool {
        false
    }

    /// Sets the events that the PPI listens to, one per bit.
    fn publish(&mut self, _events: u32) {}

    /// Takes its signals to other devices since the last call.
    fn signals(&mut self) -> Signals {
        Signals::default()
    }
}

/// A device with a line on which bytes arrive.
trait ReceivesBytes {
    /// Returns its receiving and its sending side.
    fn sides(&mut self) -> (&mut Receiver, &Transmitter);
}

/// A device at its address.
#[derive(Clone, Debug)]
pub struct AttachedDevice {
    pub base: u32,
    size: u32,
    device: Device,
    /// The interrupts of its outputs.
    pub irq: Vec<u16>,
    /// The outputs at the last look.
    pub outputs: u32,
    clock: PeripheralClock,
    /// The next cycle in which an output may rise by itself.
    pub due: Option<u64>,
    /// The events that the PPI listens to, one per bit.
    heard: u32,
    /// The DMA requests at the last look, one per bit.
    requests: u32,
    pub atomic_aliases: bool,
    /// Additional cycles of a read and of a write; negative on an I/O port.
    extra_cycles: [i16; 2],
    slow_read: Option<SlowRead>,
    /// The core's clock depends on its registers.
    sets_clock: bool,
    /// How long memories take depends on its registers.
    sets_waits: bool,
    /// What must hold so that it responds; `None` if it is known whether the program has enabled it first.
    enabled_by: Option<Arc<ClockCondition>>,
    /// The program has read or written something else than zero: what does not respond reads as zero, and zeros are
    /// usually written where they are already.
    nonzero: bool,
    reset_line: Option<ResetLine>,
    /// Its registers reset others.
    resets_others: bool,
    /// Another device's own clock, or whether that can be written, depends on its registers; or it is such a device.
    supplies_others: bool,
}

/// The devices of a soc.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Sorted by address.
    pub attached: CopyOnWrite<Vec<AttachedDevice>>,
    /// The earliest cycle in which one of them is due.
    pub next: u64,
    clock: CoreClock,
    waits: MemoryWaits,
    slower_clock: SlowerClock,
    supplies: Supplies,
    /// The watchdog that resets the chip, by its base.
    watchdog: Option<(u32, WatchdogCause)>,
    pub divisors: [u64; CLOCKS],
    pub unmodelled: BTreeMap<u32, Unmodelled>,
    /// The peripherals without a model that the soc file names.
    unmodelled_blocks: Arc<[UnmodelledBlock]>,
    /// Bytes that a chip would not have sent, by the UART's base.
    pub send_faults: BTreeMap<(u32, SendFault), u64>,
    /// The bases of peripherals that the program has reached before it had enabled them.
    pub not_enabled: BTreeSet<u32>,
    /// Registers that only keep what is written, and that the program reads repeatedly.
    polls: Polls,
    /// The register of such pins that the program has polled last.
    pub polled_pins: Option<u32>,
    /// The base of the UART without input that the program has polled last.
    pub polled_uart: Option<u32>,
    pub strictness: Strictness,
    /// The register without a model that the program has used under strict checking.
    refused: Option<u32>,
    /// The flash memories that accept stores, by their number in the soc file.
    pub open: Vec<usize>,
    /// Transfers of DMA controllers.
    pub transfers: u64,
    /// Cycles for which accesses have waited on their way to a device.
    pub waited: u64,
    /// The pins driven from outside.
    drives: BTreeMap<String, Drive>,
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// The address range of devices: unmodelled addresses in it read as zero.
pub const PERIPHERALS: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;

/// Returns the position of the device at an address.
fn find(attached: &[AttachedDevice], address: u32) -> Option<usize> {
    let after = attached.partition_point(|attached| attached.base <= address);
    let at = after.checked_sub(1)?;
    (address - attached[at].base < attached[at].size).then_some(at)
}

impl Devices {
    pub fn new(soc: &Soc) -> Self {
        let mut attached = Vec::new();
        for peripheral in soc.peripherals.iter().filter(|it| !it.kind.is_part_of(soc.core)) {
            let at = attached.partition_point(|it: &AttachedDevice| it.base <= peripheral.base);
            attached.insert(
                at,
                AttachedDevice {
                    base: peripheral.base,
                    size: peripheral.extent(),
                    device: Device::of(peripheral, soc),
                    irq: peripheral.all_interrupts().collect(),
                    outputs: 0,
                    clock: peripheral.clock,
                    due: None,
                    heard: 0,
                    requests: 0,
                    atomic_aliases: peripheral.atomic_aliases,
                    extra_cycles: [peripheral.wait_states.0, peripheral.wait_states.1]
                        .map(|extra| i16::from(extra) - i16::from(peripheral.io_port)),
                    slow_read: peripheral.slow_read,
                    sets_clock: false,
                    sets_waits: false,
                    enabled_by: peripheral.enabled_by.clone().map(Arc::new),
                    nonzero: false,
                    reset_line: None,
                    resets_others: false,
                    supplies_others: false,
                },
            );
        }
        let clock = CoreClock::new(soc, |address| held(&attached, address));
        let waits = MemoryWaits::of(soc);
        for attached in &mut attached {
            let addresses = attached.base..attached.base + attached.size;
            attached.sets_clock = clock.reads(&addresses);
            attached.sets_waits = waits.read(&addresses);
            let ratio = ClockRatio::undivided(clock.history.clock());
            each!(&mut attached.device, it => it.core_clock_changed(0, ratio));
        }
        connect_resets(&mut attached, soc);
        let supplies = Supplies::of(soc, &mut attached);
        let mut devices = Self {
            attached: attached.into(),
            next: u64::MAX,
            clock,
            waits,
            slower_clock: SlowerClock::default(),
            supplies,
            watchdog: None,
            transfers: 0,
            waited: 0,
            divisors: [1; CLOCKS],
            unmodelled: BTreeMap::new(),
            unmodelled_blocks: soc.unmodelled.values().copied().collect(),
            send_faults: BTreeMap::new(),
            not_enabled: BTreeSet::new(),
            polls: Polls::default(),
            polled_pins: None,
            polled_uart: None,
            strictness: Strictness::default(),
            refused: None,
            open: Vec::new(),
            drives: BTreeMap::new(),
        };
        devices.follow_supply_registers(0, &mut Effects::default());
        devices
    }

    /// Puts every device into its reset state, and likewise the memories that registers control.
    pub fn reset(&mut self, soc: &Soc, memories: &mut LineMemories) {
        let before = std::mem::replace(self, Self::new(soc));
        self.carry_over(before);
        for attached in self.attached.iter() {
            if let Device::Registers(registers) = &attached.device {
                registers.control_memories(memories);
            }
        }
        self.waits.set(|address| held(&self.attached, address), memories);
    }

    /// Takes over from the devices of the same soc what a reset preserves.
    pub fn carry_over(&mut self, mut before: Self) {
        for (attached, before) in self.attached.iter_mut().zip(before.attached.iter_mut()) {
            attached.device.take_line(&mut before.device, 0);
        }
        (self.unmodelled, self.strictness) = (before.unmodelled, before.strictness);
        (self.send_faults, self.not_enabled) = (before.send_faults, before.not_enabled);
        self.slower_clock.stops = before.slower_clock.stops;
        for (pin, drive) in before.drives {
            self.drive(&pin, drive);
        }
    }

    /// Pulls a pin of an SIO up, or not.
    fn pull(&mut self, pin: u8, up: bool, effects: &mut Effects) {
        for (at, attached) in self.attached.iter_mut().enumerate() {
            if let Device::Sio(sio) = &mut attached.device {
                sio.pull(pin, up);
                effects.affected.push(at);
            }
        }
    }

    /// Connects lines of EXTI to other ports. Returns the positions of the devices concerned.
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
            if let Some(receiver) = attached.device.receiver() {
                receiver.connect(bytes, now);
                attached.due = attached.next_date(ratio);
            }
        }
        self.next = self.attached.iter().filter_map(|it| it.due).min().unwrap_or(u64::MAX);
    }

    /// Returns how many of the bytes put on the line of the UART at an address have not been read.
    pub fn unread_bytes(&mut self, base: u32) -> Option<usize> {
        let attached = self.attached.iter_mut().find(|attached| attached.base == base)?;
        attached.device.receiver().map(|receiver| receiver.remaining().len())
    }

    /// Returns whether this many bytes from an address on are in one block of nonvolatile registers.
    pub fn takes_image(&self, address: u32, length: usize) -> bool {
        self.find(address).is_some_and(|at| {
            let AttachedDevice { base, size, device, .. } = &self.attached[at];
            let left = u64::from(base + size - address);
            matches!(device, Device::Registers(it) if it.is_nonvolatile()) && length as u64 <= left
        })
    }

    /// Writes bytes to nonvolatile registers, as a programmer does.
    pub fn program(&mut self, address: u32, bytes: &[u8]) {
        let Some(at) = self.find(address) else { return };
        let AttachedDevice { base, device, .. } = &mut self.attached[at];
        if let Device::Registers(registers) = device {
            for (offset, byte) in (address - *base..).zip(bytes) {
                registers.program(offset, *byte);
            }
        }
    }

    /// Returns whether a watchdog resets the chip.
    pub const fn has_watchdog_reset(&self) -> bool {
        self.watchdog.is_some()
    }

    /// Takes the watchdog that resets the chip, by its base, and why it does.
    pub const fn take_watchdog_reset(&mut self) -> Option<(u32, WatchdogCause)> {
        self.watchdog.take()
    }

    /// Returns the earliest cycle in which a device does something by itself.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    pub fn find(&self, address: u32) -> Option<usize> {
        find(&self.attached, address)
    }

    pub fn ratio(&self, at: usize) -> ClockRatio {
        let clock = self.attached[at].clock;
        // The source of all buses, and what the device's own divides it by.
        let (source, own) = match clock {
            PeripheralClock::Core => (1, 1),
            PeripheralClock::Ahb => (self.divisors[clock as usize], 1),
            PeripheralClock::Apb1 | PeripheralClock::Apb2 | PeripheralClock::Apb4 => {
                (self.divisors[PeripheralClock::Ahb as usize], self.divisors[clock as usize])
            }
        };
        ClockRatio {
            core: self.clock.history.clock(),
            divisor: source * own,
            timer: source * (own / 2).max(1),
        }
    }

    /// Takes over a device's outputs and the cycle in which it is next due.
    pub fn update_outputs(&mut self, at: usize, now: u64) -> OutputChanges {
        self.arbitrate(at, now);
        let ratio = self.ratio(at);
        let attached = &mut self.attached[at];
        let (outputs, due) = attached.outputs_and_due(now, ratio);
        let requests = attached.device.requests(now);
        let requests_changed = std::mem::replace(&mut attached.requests, requests) != requests;
        let changed = std::mem::replace(&mut attached.outputs, outputs) ^ outputs;
        if let Some(cause) = WatchdogCause::of(outputs) {
            self.watchdog = Some((attached.base, cause));
        }
        // A due cycle that has been reached is dropped: the outputs already show its effect, but for what reaches other
        // devices and memory, which is still to come.
        let acts = attached.device.acts_when_due();
        let due = due.filter(|due| *due > now || acts);
        let rescheduled = std::mem::replace(&mut attached.due, due) != due;
        if rescheduled {
            let dates = self.attached.iter().filter_map(|attached| attached.due);
            self.next = dates.min().unwrap_or(u64::MAX);
        }
        OutputChanges { changed, rescheduled, requests_changed }
    }

    /// Returns whether the program polls a register that never changes by itself and that it has just read;
    /// `at` is the position of its device.
    pub fn is_polled(&mut self, at: usize, address: u32, value: u32, now: u64) -> bool {
        let AttachedDevice { base, ref mut device, .. } = self.attached[at];
        match device {
            Device::Registers(registers) if registers.is_storage_only(address - base) => {
                let is_polled = self.polls.read(address, value, now);
                // That has a model: nobody drives the pins.
                let shows_pins = registers.shows_pins(address - base);
                if is_polled && shows_pins {
                    self.polled_pins = Some(address);
                }
                is_polled && !shows_pins
            }
            device => {
                if device.awaits_bytes(now) && self.polls.read(address, value, now) {
                    self.polled_uart = Some(base);
                }
                false
            }
        }
    }

    /// Called when a register of a device was written, because other registers may have changed with it.
    pub fn note_written(&mut self, at: usize) {
        let AttachedDevice { base, size, .. } = self.attached[at];
        self.polls.forget(base, size);
    }
}
