//! GPIO of nRF52: the levels of pins, and the signal with which they wake the core (nRF52840 PS, 6.9).
//!
//! A pin has the level to which it is driven from outside, otherwise the one that GPIOTE or, to an output, OUT gives.
//! An input that nothing drives has the level of its pull resistor; without one it is low. So has an output that DRIVE
//! disconnects, whose board is taken to pull it to where OUT is if the chip does not. A pin whose input
//! buffer is disconnected, as after a reset, reads as 0 and senses nothing, also if it is an output.

use super::{DrivenByTasks, NrfPin, PORTS};
use crate::devices::pins::{Drive, DrivenPins};
use crate::devices::{ClockRatio, DeviceModel, Env, Signals};

/// The offset of port 0's first register; port 1's follow after this distance.
const FIRST: u32 = 0x500;
const APART: u32 = 0x300;
const PINS: usize = 32;
/// PIN_CNF: an output; a disconnected input; PULL and its values; SENSE and its values.
const OUTPUT: u32 = 1;
const DISCONNECTED: u32 = 1 << 1;
const PULL: u32 = 3 << 2;
const PULL_DOWN: u32 = 1 << 2;
const PULL_UP: u32 = 3 << 2;
/// DRIVE, as far as it disconnects an output: while OUT is 0 or 1.
const DISCONNECTS: u32 = 3 << 9;
const DISCONNECTS_0: u32 = 2 << 9;
const DISCONNECTS_1: u32 = 3 << 9;
const SENSE: u32 = 3 << 16;
const SENSE_HIGH: u32 = 2 << 16;
const SENSE_LOW: u32 = 3 << 16;
/// The implemented bits of PIN_CNF, and its value after a reset: the input is disconnected.
const WRITABLE: u32 = 0x0003_070F;
const AT_RESET: u32 = DISCONNECTED;

#[derive(Clone, Debug)]
struct Port {
    out: u32,
    /// PIN_CNF; DIR shows one bit of each.
    pins: [u32; PINS],
    latch: u32,
    /// DETECTMODE: the signal comes from LATCH.
    latched: bool,
    /// The pins at the level that they sense.
    detects: u32,
}

impl Default for Port {
    fn default() -> Self {
        Self { out: 0, pins: [AT_RESET; PINS], latch: 0, latched: false, detects: 0 }
    }
}

impl Port {
    /// Returns the pins in whose configuration a field has a value.
    fn pins_with(&self, field: u32, value: u32) -> u32 {
        let pins = self.pins.iter().enumerate();
        let pins_with = pins.filter(|(_, pin)| *pin & field == value);
        pins_with.fold(0, |pins, (bit, _)| pins | 1 << bit)
    }

    fn directions(&self) -> u32 {
        self.pins_with(OUTPUT, OUTPUT)
    }

    /// Returns the pins whose input buffers are connected.
    fn connected(&self) -> u32 {
        self.pins_with(DISCONNECTED, 0)
    }

    fn set_directions(&mut self, outputs: u32) {
        for (bit, pin) in self.pins.iter_mut().enumerate() {
            *pin = *pin & !OUTPUT | (outputs >> bit & 1);
        }
    }

    /// Returns the DETECT signal to GPIOTE (PS, 6.9.1).
    const fn signal(&self) -> bool {
        if self.latched { self.latch != 0 } else { self.detects != 0 }
    }
}

#[derive(Clone, Debug, Default)]
pub struct NrfGpio {
    ports: [Port; PORTS],
    /// The pins that GPIOTE drives.
    by_tasks: DrivenByTasks,
    driven: DrivenPins<NrfPin>,
    /// The cycle up to which edges have been seen.
    seen: u64,
    /// DETECT has risen since this was last queried.
    risen: bool,
}

impl NrfGpio {
    /// Returns the levels of a port's pins.
    fn levels(&self, port: usize, now: u64) -> u32 {
        let Port { out, .. } = self.ports[port];
        let pins_with = |field, value| self.ports[port].pins_with(field, value);
        let outputs = self.ports[port].directions();
        let open = out & pins_with(DISCONNECTS, DISCONNECTS_1)
            | !out & pins_with(DISCONNECTS, DISCONNECTS_0);
        let driving = outputs & !open;
        let up = pins_with(PULL, PULL_UP) & !driving;
        let down = pins_with(PULL, PULL_DOWN) & !driving;
        let own = out & outputs & !down | up;
        let tasks = self.by_tasks.pins[port];
        let inside = own & !tasks | self.by_tasks.high[port];
        let driven = self.driven.iter().filter(|(pin, _)| pin.port == port);
        driven.fold(inside, |levels, (pin, drive)| drive.in_register(levels, pin.bit, now))
    }

    /// Returns what IN holds.
    fn inputs(&self, port: usize, now: u64) -> u32 {
        self.levels(port, now) & self.ports[port].connected()
    }

    /// Updates which pins sense their level now.
    fn sense(&mut self, now: u64) {
        for at in 0..PORTS {
            let levels = self.levels(at, now);
            let port = &mut self.ports[at];
            let before = port.signal();
            let (high, low) = (port.pins_with(SENSE, SENSE_HIGH), port.pins_with(SENSE, SENSE_LOW));
            port.detects = (levels & high | !levels & low) & port.connected();
            port.latch |= port.detects;
            self.risen |= port.signal() && !before;
        }
        self.seen = now;
    }

    /// Sets the pins that GPIOTE drives from now on.
    pub fn drive_by_tasks(&mut self, by_tasks: DrivenByTasks, now: u64) {
        self.by_tasks = by_tasks;
        self.sense(now);
    }

    /// Returns whether DETECT has risen since the last call.
    pub const fn take_risen(&mut self) -> bool {
        std::mem::replace(&mut self.risen, false)
    }

    /// Returns the port, and the register in it as port 0's offset relative to [`FIRST`].
    fn register(offset: u32) -> Option<(usize, u32)> {
        let behind = offset.checked_sub(FIRST)?;
        let port = (behind / APART) as usize;
        (port < PORTS).then_some((port, behind % APART))
    }
}

impl DeviceModel for NrfGpio {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        let (at, register) = Self::register(offset)?;
        let port = &self.ports[at];
        Some(match register {
            0x04 | 0x08 | 0x0C => port.out,
            0x10 => self.inputs(at, env.now),
            0x14 | 0x18 | 0x1C => port.directions(),
            0x20 => port.latch,
            0x24 => port.latched.into(),
            0x200..0x280 => port.pins[((register - 0x200) / 4) as usize],
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, mask: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        let (at, register) = Self::register(offset)?;
        let port = &mut self.ports[at];
        let store = |held: u32| held & !mask | value & mask;
        match register {
            0x04 => port.out = store(port.out),
            0x08 => port.out |= value & mask,
            0x0C => port.out &= !(value & mask),
            0x10 => {}
            0x14 => port.set_directions(store(port.directions())),
            0x18 => port.set_directions(port.directions() | value & mask),
            0x1C => port.set_directions(port.directions() & !(value & mask)),
            0x20 => {
                // The bits of pins that still sense their level stay set; what remains raises the signal
                // again.
                port.latch = port.latch & !(value & mask) | port.detects;
                self.risen |= port.latched && port.latch != 0;
            }
            0x24 => port.latched = value & 1 == 1,
            0x200..0x280 => {
                let pin = &mut port.pins[((register - 0x200) / 4) as usize];
                *pin = store(*pin) & WRITABLE;
            }
            _ => return None,
        }
        self.sense(env.now);
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        0
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        if now > self.seen {
            self.sense(now);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let senses =
            |pin: NrfPin| self.ports[pin.port].pins[usize::from(pin.bit)] & SENSE >= SENSE_HIGH;
        let sensing = self.driven.iter().filter(|(pin, _)| senses(*pin));
        sensing.filter_map(|(_, drive)| drive.next(self.seen)).min()
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        if let Some(pin) = NrfPin::named(pin) {
            self.driven.drive(pin, drive);
        }
    }

    fn signals(&mut self) -> Signals {
        Signals { sensed: self.take_risen(), ..Signals::default() }
    }
}
