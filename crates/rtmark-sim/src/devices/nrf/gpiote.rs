//! GPIOTE of nRF51 and nRF52: events on edges of pins, and pins driven by tasks (nRF52840 PS, 6.10).
//!
//! Only pins driven from outside have edges; a pin that the program drives itself has none.

use super::{DrivenByTasks, Events, FIRST_EVENT, NrfPin};
use crate::devices::pins::{Drive, DrivenPins, Edge};
use crate::devices::{ClockRatio, DeviceModel, Env, Signals};
use crate::soc::Peripheral;

/// The maximum number of channels. nRF51's GPIOTE has four, and no tasks SET and CLR.
const CHANNELS: usize = 8;
/// The offsets of OUT, SET and CLR of channel 0.
const OUT: u32 = 0x000;
const SET: u32 = 0x030;
const CLEAR: u32 = 0x060;
const CONFIG: u32 = 0x510;
/// The event of pins that GPIO senses.
const PORT: u32 = 1 << 31;
/// The implemented bits of CONFIG.
const WRITABLE: u32 = 0x0013_3F03;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Disabled,
    Event,
    Task,
}

/// The contents of CONFIG.
#[derive(Clone, Copy, Debug, Default)]
struct Config(u32);

impl Config {
    const fn mode(self) -> Mode {
        match self.0 & 3 {
            1 => Mode::Event,
            3 => Mode::Task,
            _ => Mode::Disabled,
        }
    }

    const fn pin(self) -> NrfPin {
        NrfPin { port: (self.0 >> 13 & 1) as usize, bit: (self.0 >> 8 & 31) as u8 }
    }

    /// Returns whether an edge raises the event.
    const fn senses(self, edge: Edge) -> bool {
        self.0 >> 16 & 1 == 1 && matches!(edge, Edge::Rising)
            || self.0 >> 17 & 1 == 1 && matches!(edge, Edge::Falling)
    }

    /// Returns the level after the task OUT.
    const fn out(self, level: bool) -> bool {
        match self.0 >> 16 & 3 {
            1 => true,
            2 => false,
            3 => !level,
            _ => level,
        }
    }

    const fn initial(self) -> bool {
        self.0 >> 20 & 1 == 1
    }
}

#[derive(Clone, Debug)]
pub struct NrfGpiote {
    /// The number of its channels.
    count: usize,
    events: Events,
    interrupts: u32,
    channels: [Config; CHANNELS],
    /// The levels to which the pins of channels in task mode are driven.
    levels: [bool; CHANNELS],
    driven: DrivenPins<NrfPin>,
    /// The cycle up to which edges have been seen.
    seen: u64,
    /// The pins driven by tasks as last signalled to GPIO.
    reported: DrivenByTasks,
}

/// Returns the channel of a register, given the offset of channel 0's.
fn channel(offset: u32, first: u32) -> Option<usize> {
    let word = (offset.checked_sub(first)? / 4) as usize;
    (word < CHANNELS).then_some(word)
}

impl NrfGpiote {
    pub fn new(peripheral: &Peripheral) -> Self {
        Self {
            count: peripheral.channel_count(),
            events: Events::default(),
            interrupts: 0,
            channels: [Config::default(); CHANNELS],
            levels: [false; CHANNELS],
            driven: DrivenPins::default(),
            seen: 0,
            reported: DrivenByTasks::default(),
        }
    }

    /// Returns whether there is a register at an offset.
    fn has(&self, offset: u32) -> bool {
        let has_all = self.count == CHANNELS;
        let within = |first| channel(offset, first).is_none_or(|at| at < self.count);
        let tasks = [SET, CLEAR].into_iter().all(|first| channel(offset, first).is_none());
        (has_all || tasks) && [OUT, FIRST_EVENT, CONFIG].into_iter().all(within)
    }

    /// Returns the bits of INTEN: the channels and PORT.
    const fn interrupts(&self) -> u32 {
        PORT | ((1 << self.count) - 1)
    }

    /// Returns the channels that react to a pin's edges, with what drives that pin.
    fn sensing_channels(&self) -> impl Iterator<Item = (usize, Config, &Drive)> {
        self.driven.iter().flat_map(|(pin, drive)| {
            let channels = self.channels.iter().copied().enumerate();
            let hear = channels
                .filter(move |(_, config)| config.mode() == Mode::Event && config.pin() == pin);
            hear.map(move |(channel, config)| (channel, config, drive))
        })
    }

    /// Raises the events of edges that have occurred since the last look.
    fn see(&mut self, now: u64) {
        if now <= self.seen {
            return;
        }
        let mut events = 0;
        for (channel, config, drive) in self.sensing_channels() {
            if drive.edges(self.seen, now).any(|edge| config.senses(edge)) {
                events |= 1 << channel;
            }
        }
        self.events.raise(events);
        self.seen = now;
    }

    /// Handles the rising DETECT signal of a port.
    pub const fn handle_detect(&mut self) {
        self.events.raise(PORT);
    }

    fn task(&mut self, offset: u32) {
        for first in [OUT, SET, CLEAR] {
            if let Some(at) = channel(offset, first)
                && self.channels[at].mode() == Mode::Task
            {
                self.levels[at] = match first {
                    OUT => self.channels[at].out(self.levels[at]),
                    other => other == SET,
                };
            }
        }
    }

    fn is_task(offset: u32) -> bool {
        [OUT, SET, CLEAR].into_iter().any(|first| channel(offset, first).is_some())
    }

    /// Returns whether one task overrides another that is triggered in the same cycle: SET has priority
    /// over CLR, and CLR over OUT (PS, 6.10.1).
    pub fn overrides(one: u32, other: u32) -> bool {
        let same = |first, second| {
            channel(one, first).is_some_and(|at| Some(at) == channel(other, second))
        };
        same(OUT, CLEAR) || same(OUT, SET) || same(CLEAR, SET)
    }

    fn driven_by_tasks(&self) -> DrivenByTasks {
        let mut driven = DrivenByTasks::default();
        for (config, level) in self.channels.iter().zip(self.levels) {
            let NrfPin { port, bit } = config.pin();
            if config.mode() == Mode::Task {
                driven.pins[port] |= 1 << bit;
                driven.high[port] |= u32::from(level) << bit;
            }
        }
        driven
    }
}

impl DeviceModel for NrfGpiote {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.see(env.now);
        Some(match offset {
            _ if !self.has(offset) => return None,
            _ if Self::is_task(offset) => 0,
            0x100..=0x11C | 0x17C => self.events.read(offset),
            0x304 | 0x308 => self.interrupts,
            _ => self.channels[channel(offset, CONFIG)?].0,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.see(env.now);
        match offset {
            _ if !self.has(offset) => return None,
            _ if Self::is_task(offset) => {
                if value & 1 == 1 {
                    self.task(offset);
                }
            }
            0x100..=0x11C | 0x17C => self.events.write(offset, value),
            0x304 => self.interrupts |= value & self.interrupts(),
            0x308 => self.interrupts &= !value,
            _ => {
                let at = channel(offset, CONFIG)?;
                self.channels[at] = Config(value & WRITABLE);
                self.levels[at] = self.channels[at].initial();
            }
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.see(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.sensing_channels().filter_map(|(_, _, drive)| drive.next(self.seen)).min()
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        if let Some(pin) = NrfPin::named(pin) {
            self.driven.drive(pin, drive);
        }
    }

    fn has_end(&self, offset: u32) -> bool {
        self.has(offset) && (Self::is_task(offset) || matches!(offset, 0x100..=0x11C | 0x17C))
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        let driven = self.driven_by_tasks();
        let has_changed = std::mem::replace(&mut self.reported, driven) != driven;
        Signals { driven: has_changed.then_some(driven), ..Signals::of(self.events.take()) }
    }
}
