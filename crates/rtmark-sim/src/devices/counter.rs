//! Counters that are computed rather than ticked, for all kinds of timers.
//!
//! A counter keeps the cycle at which it had a certain position, and computes everything else. Positions
//! only grow; the program reads the position within the period. So both "has it passed 5 since the last
//! look?" and "when will it?" are simple arithmetic.

/// A number of counts in a number of core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub counts: u64,
    pub cycles: u64,
}

impl Rate {
    /// Returns the rate of one count in every `cycles` cycles.
    pub const fn every(cycles: u64) -> Self {
        Self { counts: 1, cycles }
    }
}

/// A counter that counts up and restarts at zero after `period` counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    running: bool,
    rate: Rate,
    period: u64,
    /// The position at the cycle `origin`.
    base: u64,
    origin: u64,
    /// The position up to which passed values have been noted.
    seen: u64,
}

impl Counter {
    pub const fn new(rate: Rate, period: u64) -> Self {
        Self { running: false, rate, period, base: 0, origin: 0, seen: 0 }
    }

    pub const fn is_running(&self) -> bool {
        self.running
    }

    pub const fn period(&self) -> u64 {
        self.period
    }

    fn position(&self, now: u64) -> u64 {
        if !self.running {
            return self.base;
        }
        let Rate { counts, cycles } = self.rate;
        let counted =
            u128::from(now.saturating_sub(self.origin)) * u128::from(counts) / u128::from(cycles);
        self.base.saturating_add(counted as u64)
    }

    /// Returns the value that the program reads.
    pub fn value(&self, now: u64) -> u64 {
        self.position(now) % self.period
    }

    /// Returns the next position after `after` at which the program would read `value`.
    fn next(&self, after: u64, value: u64) -> Option<u64> {
        let distance = (value + self.period - after % self.period) % self.period;
        let distance = if distance == 0 { self.period } else { distance };
        (value < self.period).then(|| after.saturating_add(distance))
    }

    /// Returns the cycle in which a position is reached.
    fn cycle_of(&self, position: u64) -> u64 {
        let Rate { counts, cycles } = self.rate;
        let counted = u128::from(position.saturating_sub(self.base));
        let after = (counted * u128::from(cycles)).div_ceil(u128::from(counts));
        self.origin.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }

    /// Returns whether a value has been reached since [`Self::observe`].
    pub fn has_passed(&self, now: u64, value: u64) -> bool {
        self.next(self.seen, value).is_some_and(|next| next <= self.position(now))
    }

    /// Returns whether it has counted at all since [`Self::observe`].
    pub fn has_counted(&self, now: u64) -> bool {
        self.position(now) > self.seen
    }

    /// Returns the cycle of the next count.
    pub fn next_count(&self) -> Option<u64> {
        self.running.then(|| self.cycle_of(self.seen.saturating_add(1)))
    }

    /// Marks everything up to now as seen.
    pub fn observe(&mut self, now: u64) {
        self.seen = self.position(now);
    }

    /// Returns the cycle in which a value is reached that has not been reached since [`Self::observe`].
    pub fn cycle_of_value(&self, value: u64) -> Option<u64> {
        let next = self.next(self.seen, value).filter(|_| self.running)?;
        Some(self.cycle_of(next))
    }

    /// Continues from another value; everything before counts as seen.
    pub fn set(&mut self, now: u64, value: u64) {
        self.base = value % self.period;
        self.seen = self.base;
        self.origin = now;
    }

    /// Moves the origin to the present, preserving the phase of the current count.
    fn rebase(&mut self, now: u64) {
        let position = self.position(now);
        if self.running {
            self.origin = self.cycle_of(position);
        } else {
            self.origin = now;
        }
        self.base = position % self.period;
        self.seen = self.base;
    }

    pub fn start(&mut self, now: u64) {
        if !self.running {
            self.rebase(now);
            self.running = true;
        }
    }

    pub fn stop(&mut self, now: u64) {
        self.rebase(now);
        self.running = false;
    }

    pub fn set_period(&mut self, now: u64, period: u64) {
        if period != self.period {
            self.rebase(now);
            self.period = period.max(1);
        }
    }

    pub fn set_rate(&mut self, now: u64, rate: Rate) {
        if rate != self.rate {
            self.rebase(now);
            self.rate = rate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_wraps_around() {
        let mut counter = Counter::new(Rate::every(10), 4);
        counter.start(100);
        let values: Vec<_> = (100..160).step_by(10).map(|now| counter.value(now)).collect();
        assert_eq!(values, [0, 1, 2, 3, 0, 1]);
        assert_eq!(counter.value(119), 1);
        assert_eq!([counter.cycle_of_value(0), counter.cycle_of_value(3)], [Some(140), Some(130)]);
        assert_eq!(counter.cycle_of_value(4), None, "it never gets there");
        assert!(!counter.has_passed(129, 3) && counter.has_passed(130, 3));
        counter.observe(130);
        assert!(!counter.has_passed(169, 3) && counter.has_passed(170, 3));
        assert_eq!(counter.cycle_of_value(3), Some(170));
    }

    #[test]
    fn rates_need_not_be_integers() {
        let mut counter = Counter::new(Rate { counts: 3, cycles: 10 }, 1 << 24);
        counter.start(0);
        assert_eq!([3, 4, 6, 7, 10].map(|now| counter.value(now)), [0, 1, 1, 2, 3]);
        assert_eq!(counter.cycle_of_value(2), Some(7));
    }

    #[test]
    fn rate_changes_keep_the_phase() {
        let mut counter = Counter::new(Rate::every(10), 100);
        counter.start(0);
        counter.set_period(25, 50);
        assert_eq!((counter.value(29), counter.value(30)), (2, 3));
        counter.stop(35);
        assert_eq!((counter.value(99), counter.cycle_of_value(9)), (3, None));
        counter.start(100);
        assert_eq!(counter.value(110), 4);
    }
}
