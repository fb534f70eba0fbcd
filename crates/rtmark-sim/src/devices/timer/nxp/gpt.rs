//! GPT of i.MX RT (IMXRT1060RM, chapter "General Purpose Timer"): a counter that counts up, with three compare registers.
//!
//! Both of its clocks from the bus are PERCLK_CLK_ROOT, as NXP's drivers take them to be. Captures, outputs, the clock
//! of 32 kHz and the one from outside have no model.

use rtmark_units::Hertz;

use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env};
use crate::soc::ClockRate;

/// CR.
const ENABLE: u32 = 1;
const BEGINS_WITH_ZERO: u32 = 1 << 1;
const FREE_RUN: u32 = 1 << 9;
const CRYSTAL_ENABLE: u32 = 1 << 10;
const SOFTWARE_RESET: u32 = 1 << 15;
/// What a software reset preserves: EN, ENMOD and what goes on in low-power modes.
const KEPT: u32 = 0x3F;
/// Captures and outputs, without a model.
const PINS: u32 = 0xFFFF_0000;
/// The crystal's frequency, which no register changes.
const CRYSTAL: u32 = 24_000_000;
/// SR and IR: OF1 to OF3, and ROV; the inputs' flags are never set.
const COMPARES: usize = 3;
const ROLLOVER: u32 = 1 << 5;
const FLAGS: u32 = 0x3F;

#[derive(Clone, Debug)]
pub struct NxpGpt {
    ticks: OwnTicks,
    /// PERCLK_CLK_ROOT.
    bus_clock: Option<ClockRate>,
    control: u32,
    prescaler: u32,
    flags: u32,
    interrupts: u32,
    compare: [u32; COMPARES],
    /// The count in the period `begin` of its clock, since when it has counted on: without a limit, see `modulus`.
    base: u64,
    begin: u64,
    /// The count up to which its flags are set.
    settled: u64,
}

impl NxpGpt {
    /// Creates one that is off, beside a core with this clock.
    pub fn new(core: Hertz) -> Self {
        Self {
            ticks: OwnTicks::new(core),
            bus_clock: None,
            control: 0,
            prescaler: 0,
            flags: 0,
            interrupts: 0,
            compare: [u32::MAX; COMPARES],
            base: 0,
            begin: 0,
            settled: 0,
        }
    }

    /// Returns how many periods of its clock a count takes.
    const fn each(&self) -> u64 {
        (self.prescaler & 0xFFF) as u64 + 1
    }

    /// Returns the number of values that the counter goes through before it begins with zero.
    fn modulus(&self) -> u64 {
        if self.control & FREE_RUN != 0 { 1 << 32 } else { u64::from(self.compare[0]) + 1 }
    }

    fn count(&self, now: u64) -> u64 {
        if self.control & ENABLE == 0 {
            return self.base;
        }
        self.base + self.ticks.at(now).saturating_sub(self.begin) / self.each()
    }

    /// Lets it go on with a count from now on.
    fn set_count(&mut self, count: u64, now: u64) {
        (self.base, self.begin, self.settled) = (count, self.ticks.at(now), count);
    }

    /// Goes on with the clock that CR and PR select. Returns whether that has a model.
    fn select_clock(&mut self, now: u64) -> bool {
        let source = self.control >> 6 & 7;
        let clock = match source {
            1 | 2 => self.bus_clock,
            5 if self.control & CRYSTAL_ENABLE != 0 => {
                let denominator = (self.prescaler >> 12 & 0xF) + 1;
                Some(ClockRate { numerator: CRYSTAL, denominator })
            }
            _ => None,
        };
        self.ticks.set_clock(now, clock);
        !matches!(source, 3 | 4)
    }

    fn set_control(&mut self, value: u32, env: &mut Env<'_>) {
        if value & SOFTWARE_RESET != 0 {
            let (ticks, bus_clock) = (self.ticks.clone(), self.bus_clock);
            *self = Self { ticks, bus_clock, control: value & KEPT, ..Self::new(env.ratio.core) };
            self.set_count(0, env.now);
        } else {
            let starts = value & ENABLE & !self.control != 0;
            let count = self.count(env.now) % self.modulus();
            self.control = value;
            let begins = starts && value & BEGINS_WITH_ZERO != 0;
            self.set_count(if begins { 0 } else { count }, env.now);
        }
        let has_model = self.select_clock(env.now);
        env.effects.without_model |= value & PINS != 0 || !has_model;
    }

    /// Returns the values at which the counter sets flags, with these.
    fn marks(&self) -> impl Iterator<Item = (u64, u32)> + use<> {
        let modulus = self.modulus();
        let compares = self.compare.map(u64::from).into_iter().enumerate();
        let rollover = (self.control & FREE_RUN != 0).then_some((0, ROLLOVER));
        let marks = compares.map(|(at, value)| (value, 1 << at)).chain(rollover);
        marks.filter(move |(value, _)| *value < modulus)
    }
}

impl DeviceModel for NxpGpt {
    fn read(&mut self, offset: u32, env: &mut Env<'_>) -> Option<u32> {
        self.settle(env.now, env.ratio);
        Some(match offset {
            0x00 => self.control,
            0x04 => self.prescaler,
            0x08 => self.flags,
            0x0C => self.interrupts,
            0x10..=0x18 => self.compare[(offset - 0x10) as usize / 4],
            0x1C | 0x20 => 0,
            0x24 => (self.count(env.now) % self.modulus()) as u32,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        self.settle(env.now, env.ratio);
        match offset {
            0x00 => self.set_control(value, env),
            0x04 => {
                let count = self.count(env.now);
                self.prescaler = value & 0xFFFF;
                self.set_count(count, env.now);
                self.select_clock(env.now);
            }
            0x08 => self.flags &= !value,
            0x0C => self.interrupts = value & FLAGS,
            0x10..=0x18 => {
                let at = (offset - 0x10) as usize / 4;
                self.compare[at] = value;
                // A counter that restarts does so as well when OCR1 is written.
                if at == 0 && self.control & FREE_RUN == 0 {
                    self.set_count(0, env.now);
                }
            }
            0x1C | 0x20 | 0x24 => {}
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, _: u64) -> u32 {
        u32::from(self.flags & self.interrupts != 0)
    }

    fn settle(&mut self, now: u64, _: ClockRatio) {
        let (count, modulus) = (self.count(now), self.modulus());
        for (value, flag) in self.marks() {
            let passed = |count: u64| (count + modulus - value) / modulus;
            if passed(count) > passed(self.settled) {
                self.flags |= flag;
            }
        }
        self.settled = count;
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        if self.control & ENABLE == 0 {
            return None;
        }
        let modulus = self.modulus();
        let wanted = self.marks().filter(|(_, flag)| flag & self.interrupts & !self.flags != 0);
        // At least one count from here.
        let counts = wanted.map(|(value, _)| {
            self.settled + 1 + (value + modulus - (self.settled + 1) % modulus) % modulus
        });
        let tick = self.begin + (counts.min()? - self.base) * self.each();
        self.ticks.cycle_of(tick)
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.bus_clock = supply.clock;
        self.select_clock(now);
    }
}
