//! CLOCK and POWER of nRF51 and nRF52 (nRF52840 PS, 5.3 and 5.4): oscillators that run as soon as they are
//! started. The other registers keep what is written.

use std::collections::BTreeMap;

use super::Events;
use crate::devices::{DeviceModel, Env, Signals};

const HIGH: usize = 0;
const LOW: usize = 1;
/// HFCLKSTAT and LFCLKSTAT: the clock is running.
const STATE: u32 = 1 << 16;
/// HFCLKSTAT: its source is the crystal.
const CRYSTAL: u32 = 1;
const RESET_REASON: u32 = 0x400;
const LOW_SOURCE: u32 = 0x518;

#[derive(Clone, Debug, Default)]
pub struct NrfClock {
    events: Events,
    interrupts: u32,
    running: [bool; 2],
    /// LFCLKSRCCOPY: the source with which the low-frequency clock was last started.
    low_source: u32,
    kept: BTreeMap<u32, u32>,
}

impl NrfClock {
    fn kept(&self, offset: u32) -> u32 {
        self.kept.get(&offset).copied().unwrap_or(0)
    }

    /// Performs a task; an oscillator's event occurs at once.
    fn task(&mut self, offset: u32) {
        match offset {
            0x000 => {
                self.running[HIGH] = true;
                self.events.raise(1);
            }
            0x004 => self.running[HIGH] = false,
            0x008 => {
                self.running[LOW] = true;
                self.low_source = self.kept(LOW_SOURCE) & 3;
                self.events.raise(1 << 1);
            }
            0x00C => self.running[LOW] = false,
            // Calibration and its timer.
            0x010 => self.events.raise(1 << 3),
            0x014 => self.events.raise(1 << 4),
            _ => {}
        }
    }
}

impl DeviceModel for NrfClock {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x000..=0x0FC => 0,
            0x100..=0x17C => self.events.read(offset),
            0x304 | 0x308 => self.interrupts,
            0x408 => u32::from(self.running[HIGH]),
            // The internal oscillator is always running.
            0x40C if self.running[HIGH] => STATE | CRYSTAL,
            0x40C => STATE,
            0x414 => u32::from(self.running[LOW]),
            0x418 if self.running[LOW] => STATE | self.low_source,
            0x418 => 0,
            0x41C => self.low_source,
            _ => self.kept(offset),
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, _: &mut Env<'_>) -> Option<()> {
        match offset {
            0x000..=0x0FC => {
                if value & 1 == 1 {
                    self.task(offset);
                }
            }
            0x100..=0x17C => self.events.write(offset, value),
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            // Writing ones clears it.
            RESET_REASON => {}
            _ => _ = self.kept.insert(offset, value),
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn has_end(&self, offset: u32) -> bool {
        // Tasks of the oscillators, of calibration and of the sub-power modes; the events of the first two.
        matches!(offset, 0x000..=0x018 | 0x078 | 0x07C | 0x100 | 0x104 | 0x10C | 0x110)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }
}
