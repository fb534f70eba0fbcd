//! CLOCK and POWER of nRF51 and nRF52 (nRF52840 PS, 5.3 and 5.4): oscillators that run as soon as they are
//! started, calibration that has ended as soon as it begins, and its timer. System OFF has no model. The other
//! registers keep what is written.

use std::collections::BTreeMap;

use super::Events;
use crate::devices::{ClockRatio, DeviceModel, Env, Signals};

const HIGH: usize = 0;
const LOW: usize = 1;
/// HFCLKSTAT and LFCLKSTAT: the clock is running.
const STATE: u32 = 1 << 16;
/// HFCLKSTAT: its source is the crystal.
const CRYSTAL: u32 = 1;
const RESET_REASON: u32 = 0x400;
const SYSTEM_OFF: u32 = 0x500;
const LOW_SOURCE: u32 = 0x518;
/// CTIV: the period of the calibration timer in quarters of a second.
const CALIBRATION_PERIOD: u32 = 0x538;
/// The events CTTO, CTSTARTED and CTSTOPPED.
const TIMED_OUT: u32 = 1 << 4;
const TIMER_STARTED: u32 = 1 << 10;
const TIMER_STOPPED: u32 = 1 << 11;

/// Returns what a register that keeps what is written holds after a reset: the RAM is on (RAMON, RAMONB, and
/// POWER of each block of nRF52).
const fn at_reset(offset: u32) -> u32 {
    match offset {
        0x524 | 0x554 => 3,
        0x900..0xA00 if offset & 0xF == 0 => 0xFFFF,
        _ => 0,
    }
}

#[derive(Clone, Debug, Default)]
pub struct NrfClock {
    events: Events,
    interrupts: u32,
    running: [bool; 2],
    /// LFCLKSRCCOPY: the source with which the low-frequency clock was last started.
    low_source: u32,
    /// The cycle in which the calibration timer times out.
    times_out_at: Option<u64>,
    kept: BTreeMap<u32, u32>,
}

impl NrfClock {
    fn kept(&self, offset: u32) -> u32 {
        self.kept.get(&offset).copied().unwrap_or(at_reset(offset))
    }

    /// Performs a task; an oscillator's event occurs at once, and so does the end of a calibration.
    fn task(&mut self, offset: u32, env: &Env<'_>) {
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
            0x010 => self.events.raise(1 << 3),
            0x014 => {
                let quarters = u64::from(self.kept(CALIBRATION_PERIOD) & 0x7F);
                let cycles = (quarters * u64::from(env.ratio.core.0) / 4).max(1);
                self.times_out_at = Some(env.now.saturating_add(cycles));
                self.events.raise(TIMER_STARTED);
            }
            0x018 => {
                self.times_out_at = None;
                self.events.raise(TIMER_STOPPED);
            }
            _ => {}
        }
    }
}

impl DeviceModel for NrfClock {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
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
            // POWERSET and POWERCLR of a block of RAM read as its POWER.
            0x900..0xA00 if matches!(offset & 0xF, 4 | 8) => self.kept(offset & !0xF),
            _ => self.kept(offset),
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x000..=0x0FC => {
                if value & 1 == 1 {
                    self.task(offset, env);
                }
            }
            0x100..=0x17C => self.events.write(offset, value),
            0x304 => self.interrupts |= value,
            0x308 => self.interrupts &= !value,
            // Writing ones clears it.
            RESET_REASON => {}
            // The program goes on instead of being off.
            SYSTEM_OFF => env.effects.without_model |= value & 1 == 1,
            0x900..0xA00 if matches!(offset & 0xF, 4 | 8) => {
                let (block, held) = (offset & !0xF, self.kept(offset & !0xF));
                let power = if offset & 0xF == 4 { held | value } else { held & !value };
                self.kept.insert(block, power);
            }
            _ => _ = self.kept.insert(offset, value),
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        self.events.interrupt(self.interrupts).into()
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        if self.times_out_at.is_some_and(|at| at <= now) {
            self.times_out_at = None;
            self.events.raise(TIMED_OUT);
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        let awaited = self.events.observable(self.interrupts) & TIMED_OUT != 0;
        self.times_out_at.filter(|_| awaited)
    }

    fn has_end(&self, offset: u32) -> bool {
        // Tasks of the oscillators, of calibration and of the sub-power modes; the events of the first two.
        let tasks = matches!(offset, 0x000..=0x018 | 0x078 | 0x07C);
        tasks || matches!(offset, 0x100 | 0x104 | 0x10C | 0x110 | 0x128 | 0x12C)
    }

    fn publish(&mut self, events: u32) {
        self.events.publish(events);
    }

    fn signals(&mut self) -> Signals {
        Signals::of(self.events.take())
    }
}
