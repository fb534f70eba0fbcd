//! The clock of a device that counts neither the core's clock nor a bus's: an oscillator of its own, or one that
//! the program selects for it.

use rtmark_units::Hertz;

use crate::soc::ClockRate;

/// Counts the periods of such a clock, at any frequency of the core.
#[derive(Clone, Debug)]
pub struct OwnTicks {
    clock: Option<ClockRate>,
    core: Hertz,
    /// The periods up to the cycle `origin`, and what has passed of the next one: a fraction with the denominator
    /// of [`Self::cycles_per`].
    ticks: u64,
    rest: u128,
    origin: u64,
}

impl OwnTicks {
    pub const fn new(core: Hertz) -> Self {
        Self { clock: None, core, ticks: 0, rest: 0, origin: 0 }
    }

    /// Returns the length of a period in cycles, as numerator and denominator.
    fn cycles_per(&self) -> Option<(u128, u128)> {
        let ClockRate { numerator, denominator } = self.clock?;
        let core = u128::from(self.core.0.max(1));
        Some((core * u128::from(denominator), u128::from(numerator)))
    }

    /// Returns the periods up to a cycle, and the rest.
    #[inline(never)]
    fn counted(&self, now: u64) -> (u64, u128) {
        let Some((long, parts)) = self.cycles_per() else { return (self.ticks, 0) };
        let passed = u128::from(now.saturating_sub(self.origin)) * parts + self.rest;
        let ticks = u64::try_from(passed / long).unwrap_or(u64::MAX);
        (self.ticks.saturating_add(ticks), passed % long)
    }

    /// Returns how many periods have ended.
    pub fn at(&self, now: u64) -> u64 {
        self.counted(now).0
    }

    /// Returns the first cycle at which so many periods have ended, unless the clock is off.
    #[inline(never)]
    pub fn cycle_of(&self, tick: u64) -> Option<u64> {
        let (long, parts) = self.cycles_per()?;
        let left = u128::from(tick.saturating_sub(self.ticks)).checked_mul(long)?;
        let cycles = left.saturating_sub(self.rest).div_ceil(parts);
        self.origin.checked_add(u64::try_from(cycles).ok()?)
    }

    /// Goes on with another clock; one that has been off begins a period.
    pub fn set_clock(&mut self, now: u64, clock: Option<ClockRate>) {
        self.change(now, clock, self.core);
    }

    /// Goes on beside a core with another clock.
    pub fn set_core(&mut self, now: u64, core: Hertz) {
        self.change(now, self.clock, core);
    }

    #[inline(never)]
    fn change(&mut self, now: u64, clock: Option<ClockRate>, core: Hertz) {
        if (clock, core) == (self.clock, self.core) {
            return;
        }
        let before = self.cycles_per().map_or(1, |(long, _)| long);
        let (ticks, rest) = self.counted(now);
        (self.clock, self.core, self.ticks, self.origin) = (clock, core, ticks, now);
        let after = self.cycles_per().map_or(1, |(long, _)| long);
        self.rest = rest * after / before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRYSTAL: Option<ClockRate> = Some(ClockRate { numerator: 32_768, denominator: 1 });

    #[test]
    fn a_second_has_as_many_ticks_whatever_the_core_does() {
        let mut ticks = OwnTicks::new(Hertz(16_000_000));
        assert_eq!((ticks.at(1_000), ticks.cycle_of(1)), (0, None), "it is off");
        ticks.set_clock(1_000, CRYSTAL);
        assert_eq!((ticks.cycle_of(1), ticks.at(1_488), ticks.at(1_489)), (Some(1_489), 0, 1));
        assert_eq!(ticks.at(1_000 + 16_000_000), 32_768);
        // A quarter of a second at 16 MHz, the rest in pieces at other frequencies, each 123 us long.
        let mut now = 1_000 + 4_000_000;
        for piece in 0..1_000_u32 {
            let core = 1_000_000 * (1 + piece % 168);
            ticks.set_core(now, Hertz(core));
            now += u64::from(core) * 123 / 1_000_000;
        }
        // 0.25 s and 0.123 s.
        assert_eq!(ticks.at(now), 373 * 32_768 / 1_000);
        ticks.set_clock(now, None);
        assert_eq!((ticks.at(now + 1_000_000), ticks.cycle_of(u64::MAX)), (12_222, None));
        ticks.set_core(now, Hertz(32_768));
        ticks.set_clock(now + 50, CRYSTAL);
        assert_eq!((ticks.at(now + 51), ticks.cycle_of(12_230)), (12_223, Some(now + 58)));
    }

    #[test]
    fn frequencies_need_not_be_whole() {
        let mut ticks = OwnTicks::new(Hertz(25_000_000));
        ticks.set_clock(0, Some(ClockRate { numerator: 25_000_000, denominator: 31 }));
        assert_eq!([30, 31, 61, 62].map(|now| ticks.at(now)), [0, 1, 1, 2]);
        assert_eq!(ticks.cycle_of(1_000_000), Some(31_000_000));
    }
}
