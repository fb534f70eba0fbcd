//! The common parts of Nordic's peripherals: tasks, events, and the PPI that connects them.
//!
//! A task is triggered by writing 1 to a register below 0x100; an event is a register from there on
//! (nRF52840 PS, 6.1.3). Channels of the [PPI](ppi) refer to both by address.

mod clock;
mod egu;
mod gpio;
mod gpiote;
mod ppi;

pub use clock::NrfClock;
pub use egu::NrfEgu;
pub use gpio::NrfGpio;
pub use gpiote::NrfGpiote;
pub use ppi::NrfPpi;

/// The offset of event 0; each event takes a word.
pub const FIRST_EVENT: u32 = 0x100;
/// The maximum number of events of a peripheral.
pub const EVENTS: u32 = 32;

/// Returns the bit of the event with the register at an offset, which is also its bit in INTEN.
pub fn event_at(offset: u32) -> Option<u32> {
    let number = offset.checked_sub(FIRST_EVENT)? / 4;
    (offset.is_multiple_of(4) && number < EVENTS).then_some(1_u32.wrapping_shl(number))
}

/// The events of a peripheral, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Events {
    /// The contents of their registers.
    held: u32,
    /// The events that a channel of the PPI listens to.
    subscribed: u32,
    /// Those of these events that have occurred since [`Self::take`].
    fired: u32,
}

impl Events {
    /// Raises events. Channels receive them whatever their registers hold (PS, 6.1.3).
    pub const fn raise(&mut self, events: u32) {
        self.raise_separately(events, events);
    }

    /// Raises events, with separate sets for their registers and for the PPI.
    pub const fn raise_separately(&mut self, held: u32, fired: u32) {
        self.held |= held;
        self.fired |= fired & self.subscribed;
    }

    /// Returns the value that the register at an offset reads as.
    pub fn read(&self, offset: u32) -> u32 {
        event_at(offset).is_some_and(|event| self.held & event != 0).into()
    }

    /// Writes the register at an offset. This clears or sets an event, without any effect of the event
    /// other than an interrupt.
    pub fn write(&mut self, offset: u32, value: u32) {
        let event = event_at(offset).unwrap_or(0);
        self.held = if value & 1 == 1 { self.held | event } else { self.held & !event };
    }

    /// Returns the events whose registers are set.
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// Returns whether an enabled interrupt is requested.
    pub const fn interrupt(&self, enabled: u32) -> bool {
        self.held & enabled != 0
    }

    /// Returns the events whose occurrence changes something besides their registers.
    pub const fn observable(&self, interrupts: u32) -> u32 {
        interrupts & !self.held | self.subscribed
    }

    /// Returns the events that a channel of the PPI listens to.
    pub const fn subscribed(&self) -> u32 {
        self.subscribed
    }

    /// Sets the events that channels listen to from now on.
    pub const fn publish(&mut self, events: u32) {
        (self.subscribed, self.fired) = (events, self.fired & events & self.subscribed);
    }

    /// Takes the events that have occurred and that a channel listens to.
    pub const fn take(&mut self) -> u32 {
        std::mem::replace(&mut self.fired, 0)
    }
}

/// A pin, given by its port and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NrfPin {
    pub port: usize,
    pub bit: u8,
}

impl NrfPin {
    /// Parses one of Nordic's pin names: `P0.11`.
    fn named(name: &str) -> Option<Self> {
        let (port, bit) = name.strip_prefix('P')?.split_once('.')?;
        let port = port.parse().ok().filter(|port| *port < PORTS)?;
        Some(Self { port, bit: bit.parse().ok().filter(|bit| *bit < 32)? })
    }
}

/// The number of ports.
pub const PORTS: usize = 2;

/// The pins that GPIOTE drives by tasks, and their levels; one word for each port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrivenByTasks {
    pub pins: [u32; PORTS],
    pub high: [u32; PORTS],
}
