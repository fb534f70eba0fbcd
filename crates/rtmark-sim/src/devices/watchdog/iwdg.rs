//! IWDG of STM32 (RM0394, "Independent watchdog (IWDG)").
//!
//! Another prescaler or reload value takes effect at the next refresh, and no update of a register takes time. What a
//! debugger or sleep may stop goes on.

use rtmark_units::Hertz;

use super::{EXPIRED, REFRESHED_EARLY};
use crate::devices::supplies::OwnSupply;
use crate::devices::ticks::OwnTicks;
use crate::devices::{ClockRatio, DeviceModel, Env};

/// What a program writes to KR.
const UNLOCK: u32 = 0x5555;
const REFRESH: u32 = 0xAAAA;
const START: u32 = 0xCCCC;
/// The bits of PR, of RLR and of WINR.
const PRESCALER: u32 = 7;
const RELOAD: u32 = 0xFFF;
/// PR selects one of 4, 8, up to this many periods a count.
const LONGEST: u64 = 256;

/// A run of its counter, which counts down.
#[derive(Clone, Copy, Debug)]
struct Countdown {
    /// The period of its clock in which it began.
    begin: u64,
    /// The value with which it began.
    from: u64,
    /// How many periods a count takes.
    each: u64,
}

#[derive(Clone, Debug)]
pub struct Iwdg {
    ticks: OwnTicks,
    prescaler: u32,
    reload: u32,
    window: u32,
    is_unlocked: bool,
    countdown: Option<Countdown>,
    refreshed_early: bool,
}

impl Iwdg {
    /// Creates one that has not been started, beside a core with this clock.
    pub fn new(core: Hertz) -> Self {
        Self {
            ticks: OwnTicks::new(core),
            prescaler: 0,
            reload: RELOAD,
            window: RELOAD,
            is_unlocked: false,
            countdown: None,
            refreshed_early: false,
        }
    }

    /// Lets the counter begin anew.
    fn begin(&mut self, now: u64) {
        let each = (4 << self.prescaler).min(LONGEST);
        let (begin, from) = (self.ticks.at(now), self.reload.into());
        self.countdown = Some(Countdown { begin, from, each });
    }

    fn refresh(&mut self, now: u64) {
        let Some(Countdown { begin, from, each }) = self.countdown else { return };
        let counted = self.ticks.at(now).saturating_sub(begin) / each;
        self.refreshed_early |= from.saturating_sub(counted) > self.window.into();
        self.begin(now);
    }

    /// Returns the period of its clock in which it expires.
    fn expires(&self) -> Option<u64> {
        self.countdown.map(|Countdown { begin, from, each }| begin + (from + 1) * each)
    }
}

impl DeviceModel for Iwdg {
    fn read(&mut self, offset: u32, _: &mut Env<'_>) -> Option<u32> {
        Some(match offset {
            0x04 => self.prescaler,
            0x08 => self.reload,
            // SR: nothing is being updated.
            0x00 | 0x0C => 0,
            0x10 => self.window,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, _: u32, env: &mut Env<'_>) -> Option<()> {
        let key = value & 0xFFFF;
        match offset {
            0x00 => {
                self.is_unlocked = key == UNLOCK;
                match key {
                    START if self.countdown.is_none() => self.begin(env.now),
                    REFRESH => self.refresh(env.now),
                    _ => {}
                }
            }
            0x04 if self.is_unlocked => self.prescaler = value & PRESCALER,
            0x08 if self.is_unlocked => self.reload = value & RELOAD,
            0x10 if self.is_unlocked => {
                self.window = value & RELOAD;
                if self.countdown.is_some() {
                    self.begin(env.now);
                }
            }
            0x04 | 0x08 | 0x0C | 0x10 => {}
            _ => return None,
        }
        Some(())
    }

    fn outputs(&self, now: u64) -> u32 {
        let expired = self.expires().is_some_and(|tick| tick <= self.ticks.at(now));
        (if expired { EXPIRED } else { 0 }) | if self.refreshed_early { REFRESHED_EARLY } else { 0 }
    }

    fn due(&self, _: ClockRatio) -> Option<u64> {
        self.expires().and_then(|tick| self.ticks.cycle_of(tick))
    }

    fn core_clock_changed(&mut self, now: u64, ratio: ClockRatio) {
        self.ticks.set_core(now, ratio.core);
    }

    fn supply(&mut self, now: u64, supply: OwnSupply) {
        self.ticks.set_clock(now, supply.clock);
    }
}
