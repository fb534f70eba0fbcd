//! The timer of RP2040 (datasheet, 4.6) and RP2350 (datasheet, 12.8): 64 bits of microseconds and four
//! alarms. It runs whether or not the watchdog's tick has been started.

use super::earlier;
use crate::devices::counter::{Counter, Rate};
use crate::devices::{ClockRatio, DeviceModel, Env};

const MICROSECONDS: u64 = 1_000_000;

/// The chip whose register layout it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chip {
    Rp2040,
    /// With two additional registers, LOCKED and SOURCE, before those of the interrupts.
    Rp2350,
}

impl Chip {
    /// Returns the offset at which RP2040 has the register.
    const fn offset(self, offset: u32) -> Option<u32> {
        match (self, offset) {
            (Self::Rp2350, 0x34 | 0x38) => None,
            (Self::Rp2350, 0x3C..) => Some(offset - 8),
            _ => Some(offset),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Rp2040Timer {
    chip: Chip,
    /// The lower half of the time, with which alarms are compared.
    low: Counter,
    /// The upper half: how often the lower half has wrapped.
    high: u32,
    /// The upper half latched by a read of TIMELR, and the lower half latched by a write of TIMELW.
    latched_high: u32,
    latched_low: u32,
    alarms: [u32; 4],
    armed: u32,
    raw: u32,
    enabled: u32,
    forced: u32,
    debug_pause: u32,
    paused: bool,
}

/// Returns the rate of a microsecond.
const fn microseconds(ratio: ClockRatio) -> Rate {
    Rate { counts: MICROSECONDS, cycles: ratio.core.0 as u64 }
}

impl Rp2040Timer {
    pub fn new(ratio: ClockRatio, chip: Chip) -> Self {
        let mut low = Counter::new(microseconds(ratio), 1 << 32);
        low.start(0);
        Self {
            chip,
            low,
            high: 0,
            latched_high: 0,
            latched_low: 0,
            alarms: [0; 4],
            armed: 0,
            raw: 0,
            enabled: 0,
            forced: 0,
            debug_pause: 7,
            paused: false,
        }
    }
}

impl DeviceModel for Rp2040Timer {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        let low = self.low.value(env.now) as u32;
        Some(match self.chip.offset(offset)? {
            0x00 | 0x04 => 0,
            0x08 => self.latched_high,
            0x0C => {
                self.latched_high = self.high;
                low
            }
            0x10..=0x1C => self.alarms[((offset - 0x10) / 4) as usize],
            0x20 => self.armed,
            0x24 => self.high,
            0x28 => low,
            0x2C => self.debug_pause,
            0x30 => u32::from(self.paused),
            0x34 => self.raw,
            0x38 => self.enabled,
            0x3C => self.forced,
            0x40 => self.raw & self.enabled | self.forced,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match self.chip.offset(offset)? {
            0x00 => {
                self.high = value;
                self.low.set(env.now, self.latched_low.into());
            }
            0x04 => self.latched_low = value,
            0x10..=0x1C => {
                let alarm = (offset - 0x10) / 4;
                self.alarms[alarm as usize] = value;
                self.armed |= 1 << alarm;
            }
            0x20 => self.armed &= !value,
            0x2C => self.debug_pause = value & 7,
            0x30 => {
                self.paused = value & 1 == 1;
                if self.paused {
                    self.low.stop(env.now);
                } else {
                    self.low.start(env.now);
                }
            }
            0x34 => self.raw &= !value,
            0x38 => self.enabled = value & 15,
            0x3C => self.forced = value & 15,
            _ => return None,
        }
        Some(())
    }

    /// ARMED and INTR.
    fn clears_by_ones(&self, offset: u32) -> bool {
        matches!(self.chip.offset(offset), Some(0x20 | 0x34))
    }

    /// Returns the interrupts of the four alarms.
    fn outputs(&self, _: u64) -> u32 {
        self.raw & self.enabled | self.forced
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        for (at, alarm) in self.alarms.iter().enumerate() {
            if self.armed >> at & 1 == 1 && self.low.has_passed(now, (*alarm).into()) {
                self.armed &= !(1 << at);
                self.raw |= 1 << at;
            }
        }
        if self.low.has_passed(now, 0) {
            self.high = self.high.wrapping_add(1);
        }
        self.low.observe(now);
    }

    fn begin(&mut self, now: u64, _: ClockRatio) {
        self.low.set(now, 0);
        self.high = 0;
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.settle(now, ratio);
        self.low.set_rate(now, microseconds(ratio));
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        // The upper half counts the wraps of the lower half, none of which may be missed.
        let mut due = self.low.cycle_of_value(0);
        for (at, alarm) in self.alarms.iter().enumerate() {
            if self.armed & self.enabled & !self.raw & 1 << at != 0 {
                due = earlier(due, self.low.cycle_of_value((*alarm).into()));
            }
        }
        due
    }
}
