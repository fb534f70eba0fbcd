//! The clock of a UART that sends with neither the core's clock nor a bus's.

use rtmark_units::Hertz;

use crate::soc::ClockRate;

/// Such a clock; none while it is off.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendClock(pub Option<ClockRate>);

impl SendClock {
    /// Returns in how many cycles of the core so many periods end; 0 while the clock is off.
    pub fn cycles(self, periods: u64, core: Hertz) -> u64 {
        let Some(ClockRate { numerator, denominator }) = self.0 else { return 0 };
        let cycles = u128::from(periods) * u128::from(core.0) * u128::from(denominator);
        u64::try_from(cycles.div_ceil(u128::from(numerator))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_end_in_the_next_whole_cycle() {
        let clock = SendClock(Some(ClockRate { numerator: 80_000_000, denominator: 1 }));
        let cycles = [0, 1, 2, 3].map(|periods| clock.cycles(periods, Hertz(600_000_000)));
        assert_eq!(cycles, [0, 8, 15, 23]);
        let third = SendClock(Some(ClockRate { numerator: 80_000_000, denominator: 3 }));
        assert_eq!(third.cycles(2, Hertz(600_000_000)), 45);
        assert_eq!(SendClock::default().cycles(2, Hertz(600_000_000)), 0);
    }
}
