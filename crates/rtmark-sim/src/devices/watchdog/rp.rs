//! The watchdogs of RP2040 (datasheet, 4.7) and RP2350 (datasheet, 12.9).
//!
//! Where their registers do not say what happens, nothing does: without a tick they stand still. What a debugger may
//! pause goes on.

use rtmark_units::Hertz;

use super::{EXPIRED, TRIGGERED};
use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::timer::RpChip;
use crate::devices::{ClockRatio, DeviceModel, Env};

/// Fields of CTRL.
const TRIGGER: u32 = 1 << 31;
const ENABLE: u32 = 1 << 30;
const PAUSES: u32 = 7 << 24;
/// CTRL.TIME, and LOAD.
const TIME: u32 = 0xFF_FFFF;
/// Fields of RP2040's TICK.
const TICK_RUNNING: u32 = 1 << 10;
const TICK_ENABLE: u32 = 1 << 9;
const TICK_CYCLES: u32 = 0x1FF;

#[derive(Clone, Debug)]
pub struct RpWatchdog {
    chip: RpChip,
    /// RP2040's clk_ref, which TICK divides; RP2350's tick.
    ticks: OwnTicks,
    tick: u32,
    control: u32,
    /// What its counter showed at the period `since`, in which a tick ended.
    left: u32,
    since: u64,
    scratch: [u32; 8],
    /// Its reset is one of the core as well.
    resets_core: bool,
    triggered: bool,
}

impl RpWatchdog {
    /// Creates one that has not been started, beside a core with this clock.
    pub fn new(core: Hertz, chip: RpChip) -> Self {
        Self {
            chip,
            ticks: OwnTicks::new(core),
            tick: TICK_ENABLE,
            control: PAUSES,
            left: 0,
            since: 0,
            scratch: [0; 8],
            resets_core: false,
            triggered: false,
        }
    }

    /// Returns how many periods its tick takes, unless that is off.
    fn each(&self) -> Option<u64> {
        match self.chip {
            RpChip::Rp2350 => Some(1),
            RpChip::Rp2040 if self.tick & TICK_ENABLE == 0 => None,
            RpChip::Rp2040 => Some(u64::from(self.tick & TICK_CYCLES)).filter(|each| *each > 0),
        }
    }

    /// Returns what each tick takes from its counter (RP2040-E1).
    const fn step(&self) -> u32 {
        match self.chip {
            RpChip::Rp2040 => 2,
            RpChip::Rp2350 => 1,
        }
    }

    /// Returns the period in which its counter reaches zero, if it counts.
    fn expires(&self) -> Option<u64> {
        let each = self.each().filter(|_| self.control & ENABLE != 0 && self.resets_core)?;
        Some(self.since + u64::from(self.left.div_ceil(self.step())) * each)
    }
}

impl DeviceModel for RpWatchdog {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 => self.control | self.left,
            // REASON: there has been no reset by it.
            0x04 | 0x08 => 0,
            0x0C..=0x28 => self.scratch[((offset - 0x0C) / 4) as usize],
            0x2C if self.chip == RpChip::Rp2040 => {
                let running = self.tick & TICK_ENABLE != 0;
                let each = self.each().unwrap_or(0);
                // A store from outside can be later than the access of the next instruction.
                let passed = self.ticks.at(env.now).saturating_sub(self.since);
                let count = each.saturating_sub(passed) as u32;
                self.tick | if running { TICK_RUNNING } else { 0 } | (count & TICK_CYCLES) << 11
            }
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x00 => {
                let starts = value & (TRIGGER | ENABLE) & !self.control != 0;
                env.effects.without_model |= starts && !self.resets_core;
                self.control = value & (ENABLE | PAUSES);
                self.triggered |= value & TRIGGER != 0 && self.resets_core;
            }
            0x04 => self.left = value & TIME,
            0x08 => {}
            0x0C..=0x28 => self.scratch[((offset - 0x0C) / 4) as usize] = value,
            0x2C if self.chip == RpChip::Rp2040 => {
                self.tick = value & (TICK_ENABLE | TICK_CYCLES);
                self.since = self.ticks.at(env.now);
            }
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        let expired = self.expires().is_some_and(|tick| tick <= self.ticks.at(now));
        (if expired { EXPIRED } else { 0 }) | if self.triggered { TRIGGERED } else { 0 }
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        let Some(each) = self.each() else { return };
        let ticks = self.ticks.at(now).saturating_sub(self.since) / each;
        self.since += ticks * each;
        if self.control & ENABLE != 0 {
            let taken = ticks.saturating_mul(self.step().into());
            self.left = self.left.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX));
        }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.expires().and_then(|tick| self.ticks.cycle_of(tick))
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.ticks.set_clock(now, supply.clock);
        self.resets_core = supply.permitted;
    }
}
