//! IO_BANK0 of RP2040 and RP2350: interrupts on levels and edges of pins (RP2040 datasheet, 2.19.3; RP2350
//! datasheet, 9.5).
//!
//! The function selection of pins (CTRL) keeps what is written and has no effect. Not modelled: the
//! interrupts for the other core and for waking up, which never occur.

use std::collections::BTreeMap;

use super::pins::{Drive, DrivenPins, Edge, Level};
use super::{ClockRatio, DeviceModel, Env};
use crate::soc::{Peripheral, Pins};

/// Four events per pin: low level, high level, falling edge and rising edge; eight pins per word.
const EDGE_LOW: u32 = 2;
const EDGE_HIGH: u32 = 3;
/// The latched events of a word: edges remain until they are written as ones, levels follow the pin.
const EDGES: u32 = 0xCCCC_CCCC;
/// The value of CTRL that connects a pin to nothing.
const NO_FUNCTION: u32 = 0x1F;
/// The number of event words on the larger chip.
const WORDS: usize = 6;

/// The layout of core 0's interrupt registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoBankLayout {
    /// The offset of INTR0.
    pub raw: u32,
    /// The number of words of each kind of register.
    pub words: u32,
}

impl IoBankLayout {
    pub const RP2040: Self = Self { raw: 0xF0, words: 4 };
    pub const RP2350: Self = Self { raw: 0x230, words: 6 };

    /// Returns the register at an offset, and which of its words.
    fn register(self, offset: u32) -> Option<(IoBankRegister, usize)> {
        let word = offset.checked_sub(self.raw)? / 4;
        let register = match word / self.words {
            0 => IoBankRegister::Raw,
            1 => IoBankRegister::Enable,
            2 => IoBankRegister::Force,
            3 => IoBankRegister::Status,
            _ => return None,
        };
        Some((register, (word % self.words) as usize))
    }

    /// Returns the reset value of a register other than these. The first words are STATUS and CTRL of each pin, which no
    /// function is selected for.
    fn reset_value(self, offset: u32) -> u32 {
        let end = self.raw.min(self.words * 64);
        if offset < end && offset % 8 == 4 { NO_FUNCTION } else { 0 }
    }
}

const fn level_of(levels: [u32; 2], pin: u8) -> bool {
    levels[(pin / 32) as usize] >> (pin % 32) & 1 == 1
}

#[derive(Clone, Copy, Debug)]
enum IoBankRegister {
    Raw,
    Enable,
    Force,
    Status,
}

#[derive(Clone, Debug)]
pub struct IoBank {
    layout: IoBankLayout,
    names: Vec<Pins>,
    /// The pins driven from outside, by number.
    driven: DrivenPins<u8>,
    /// The levels of the others.
    levels: [u32; 2],
    edges: [u32; WORDS],
    enabled: [u32; WORDS],
    forced: [u32; WORDS],
    /// Other registers that have been written.
    written: BTreeMap<u32, u32>,
    /// The cycle up to which edges have been seen.
    seen: u64,
}

impl IoBank {
    pub fn new(layout: IoBankLayout, peripheral: &Peripheral) -> Self {
        Self {
            layout,
            names: peripheral.pins.clone(),
            driven: DrivenPins::default(),
            levels: [0; 2],
            edges: [0; WORDS],
            enabled: [0; WORDS],
            forced: [0; WORDS],
            written: BTreeMap::new(),
            seen: 0,
        }
    }

    /// Records the edges that have occurred since the last look.
    fn see(&mut self, now: u64) {
        if now <= self.seen {
            return;
        }
        let mut events = Vec::new();
        for (pin, drive) in self.driven.iter() {
            for edge in drive.edges(self.seen, now) {
                let event = match edge {
                    Edge::Rising => EDGE_HIGH,
                    Edge::Falling => EDGE_LOW,
                };
                events.push((pin, event));
            }
        }
        for (pin, event) in events {
            self.latch(pin, event);
        }
        self.seen = now;
    }

    /// Takes over the levels of the pins that nothing outside drives: those of SIO's outputs and of pulls.
    pub fn follow(&mut self, levels: [u32; 2], now: u64) {
        self.see(now);
        for pin in 0..WORDS as u8 * 8 {
            let (before, after) = (level_of(self.levels, pin), level_of(levels, pin));
            if before != after && self.driven.iter().all(|(driven, _)| driven != pin) {
                self.latch(pin, if after { EDGE_HIGH } else { EDGE_LOW });
            }
        }
        self.levels = levels;
    }

    const fn latch(&mut self, pin: u8, event: u32) {
        self.edges[(pin / 8) as usize] |= 1 << (pin as u32 % 8 * 4 + event);
    }

    /// Returns the unmasked events of eight pins.
    fn raw(&self, word: usize, now: u64) -> u32 {
        let own = (0..8).map(|at| (at, level_of(self.levels, word as u8 * 8 + at)));
        let here = self.driven.iter().filter(|(pin, _)| usize::from(pin / 8) == word);
        let driven = here.map(|(pin, drive)| (pin % 8, drive.level(now) == Level::High));
        let event = |levels, (at, is_high): (u8, bool)| {
            levels & !(0b11 << (at * 4)) | if is_high { 0b10 } else { 0b01 } << (at * 4)
        };
        own.chain(driven).fold(0, event) | self.edges[word]
    }

    fn status(&self, word: usize, now: u64) -> u32 {
        self.raw(word, now) & self.enabled[word] | self.forced[word]
    }
}

impl DeviceModel for IoBank {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.see(env.now);
        let Some((register, word)) = self.layout.register(offset) else {
            let held = self.written.get(&offset).copied();
            return Some(held.unwrap_or(self.layout.reset_value(offset)));
        };
        Some(match register {
            IoBankRegister::Raw => self.raw(word, env.now),
            IoBankRegister::Enable => self.enabled[word],
            IoBankRegister::Force => self.forced[word],
            IoBankRegister::Status => self.status(word, env.now),
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.see(env.now);
        match self.layout.register(offset) {
            Some((IoBankRegister::Raw, word)) => self.edges[word] &= !(value & EDGES),
            Some((IoBankRegister::Enable, word)) => self.enabled[word] = value,
            Some((IoBankRegister::Force, word)) => self.forced[word] = value,
            Some((IoBankRegister::Status, _)) => {}
            None => {
                self.written.insert(offset, value);
            }
        }
        Some(())
    }

    fn clears_by_ones(&self, offset: u32) -> bool {
        matches!(self.layout.register(offset), Some((IoBankRegister::Raw, _)))
    }

    fn outputs(&self, now: u64) -> u32 {
        (0..WORDS).any(|word| self.status(word, now) != 0).into()
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        self.see(now);
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.driven.iter().filter_map(|(_, drive)| drive.next(self.seen)).min()
    }

    fn drive(&mut self, pin: &str, drive: &Drive) {
        if let Some(bit) = self.names.iter().find_map(|names| names.bit(pin)) {
            self.driven.drive(bit, drive);
        }
    }
}
