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

/// A counter that counts up and restarts at zero after `period` counts. It compares for equality: if the
/// period is shortened below the value, the counter first goes on to its full width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    running: bool,
    rate: Rate,
    /// The number of values that fit in it.
    full: u64,
    period: u64,
    /// The position at which it first restarts: `period`, or else `full`.
    first: u64,
    /// The position at the cycle `origin`.
    base: u64,
    origin: u64,
    /// The position up to which passed values have been noted.
    seen: u64,
}

impl Counter {
    /// Creates a counter with room for `full` values, all of which it counts.
    pub const fn new(rate: Rate, full: u64) -> Self {
        Self { running: false, rate, full, period: full, first: full, base: 0, origin: 0, seen: 0 }
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

    /// Returns the value at a position.
    const fn value_at(&self, position: u64) -> u64 {
        match position.checked_sub(self.first) {
            None => position,
            Some(beyond) => beyond % self.period,
        }
    }

    /// Returns the value that the program reads.
    pub fn value(&self, now: u64) -> u64 {
        self.value_at(self.position(now))
    }

    /// Returns the first of the positions `from`, `from + period`, ... that comes after `after`.
    const fn recurring(&self, from: u64, after: u64) -> u64 {
        match after.checked_sub(from) {
            None => from,
            Some(beyond) => after.saturating_add(self.period - beyond % self.period),
        }
    }

    /// Returns the next position after `after` at which the program would read `value`.
    fn next(&self, after: u64, value: u64) -> Option<u64> {
        if value > after && value < self.first {
            return Some(value);
        }
        (value < self.period).then(|| self.recurring(self.first.saturating_add(value), after))
    }

    /// Returns the next position after `after` at which the counter restarts because of its period.
    fn next_end(&self, after: u64) -> u64 {
        let first = if self.first == self.period { 0 } else { self.first };
        self.recurring(first.saturating_add(self.period), after)
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

    /// Returns whether the period has ended since [`Self::observe`].
    pub fn has_ended(&self, now: u64) -> bool {
        self.next_end(self.seen) <= self.position(now)
    }

    /// Returns whether it has counted at all since [`Self::observe`].
    pub fn has_counted(&self, now: u64) -> bool {
        self.position(now) > self.seen
    }

    /// Returns the cycle of the next count.
    pub fn next_count(&self) -> Option<u64> {
        self.running.then(|| self.cycle_of(self.seen.saturating_add(1)))
    }

    /// Returns the value after the next count.
    pub fn next_value(&self, now: u64) -> u64 {
        self.value_at(self.position(now).saturating_add(1))
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

    /// Returns the cycle in which the period next ends.
    pub fn cycle_of_end(&self) -> Option<u64> {
        self.running.then(|| self.cycle_of(self.next_end(self.seen)))
    }

    /// Continues from another value; everything before counts as seen.
    pub fn set(&mut self, now: u64, value: u64) {
        self.base = value % self.full;
        self.seen = self.base;
        self.origin = now;
        self.first = self.first_end();
    }

    /// Returns where the counter restarts next, from `base` on.
    const fn first_end(&self) -> u64 {
        if self.base < self.period { self.period } else { self.full }
    }

    /// Moves the origin to the present, preserving the phase of the current count.
    fn rebase(&mut self, now: u64) {
        let position = self.position(now);
        if self.running {
            self.origin = self.cycle_of(position);
        } else {
            self.origin = now;
        }
        self.base = self.value_at(position);
        self.seen = self.base;
        if position >= self.first {
            self.first = self.period;
        }
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

    /// Changes the period, and the number of values that fit in the counter.
    pub fn set_period(&mut self, now: u64, period: u64, full: u64) {
        if (period, full) != (self.period, self.full) {
            self.rebase(now);
            self.period = period.max(1);
            self.full = full.max(self.period);
            self.base %= self.full;
            self.seen = self.base;
            self.first = self.first_end();
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
        assert_eq!((counter.period(), counter.cycle_of_end()), (4, None));
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
        counter.set_period(25, 50, 100);
        assert_eq!((counter.value(29), counter.value(30)), (2, 3));
        counter.stop(35);
        assert_eq!((counter.value(99), counter.cycle_of_value(9)), (3, None));
        counter.start(100);
        assert_eq!(counter.value(110), 4);
    }

    #[test]
    fn a_counter_beyond_a_shortened_period_goes_on_to_its_full_width() {
        let mut counter = Counter::new(Rate::every(1), 256);
        counter.set_period(0, 100, 256);
        counter.start(0);
        assert_eq!([99, 100, 199].map(|now| counter.value(now)), [99, 0, 99]);
        counter.observe(250);
        counter.set_period(250, 20, 256);
        // The value is 50: 206 counts remain to 256.
        assert_eq!([250, 455, 456, 475, 476].map(|now| counter.value(now)), [50, 255, 0, 19, 0]);
        assert_eq!(counter.cycle_of_value(0), Some(456));
        assert_eq!(counter.cycle_of_value(60), Some(260));
        assert_eq!(counter.cycle_of_value(10), Some(466));
        assert_eq!(counter.cycle_of_end(), Some(476));
        assert!(!counter.has_ended(475) && counter.has_ended(476));
        counter.observe(460);
        counter.set_rate(460, Rate::every(2));
        assert_eq!((counter.value(460), counter.cycle_of_end()), (4, Some(460 + 32)));
        // A period that is longer again is reached.
        counter.set_period(462, 100, 256);
        assert_eq!(counter.cycle_of_end(), Some(462 + 2 * 95));
        assert_eq!(counter.next_value(462), 6);
        counter.set(470, 256);
        assert_eq!(counter.value(470), 0);
    }
}
