//! Counters that count down and reload, or stop at zero.

/// A counter that counts down.
#[derive(Clone, Copy, Debug)]
pub struct Down {
    pub running: bool,
    /// Its value in the cycle `since`.
    pub value: u32,
    pub since: u64,
    /// The value with which it continues after zero; `None` to stop there.
    pub reload: Option<u32>,
    /// Cycles per count.
    pub step: u64,
    /// Zeros before this cycle have been noted.
    seen: u64,
}

impl Down {
    pub const fn new(value: u32) -> Self {
        Self { running: false, value, since: 0, reload: None, step: 1, seen: 0 }
    }

    #[inline(never)]
    pub fn value_at(&self, now: u64) -> u32 {
        if !self.running {
            return self.value;
        }
        let counts = now.saturating_sub(self.since) / self.step;
        let value = u64::from(self.value);
        match self.reload {
            _ if counts <= value => (value - counts) as u32,
            None => 0,
            Some(reload) => reload - ((counts - value - 1) % (u64::from(reload) + 1)) as u32,
        }
    }

    /// Returns the first cycle, from `seen` on, in which it reaches zero.
    #[inline(never)]
    pub fn next_zero(&self) -> Option<u64> {
        if !self.running {
            return None;
        }
        let first = self.since + u64::from(self.value) * self.step;
        if self.value > 0 && first >= self.seen {
            return Some(first);
        }
        let period = (u64::from(self.reload?) + 1) * self.step;
        let periods = self.seen.saturating_sub(first).div_ceil(period);
        Some(first + periods.max(u64::from(self.value == 0)) * period)
    }

    /// Notes zeros up to now; returns whether there was one.
    pub fn advance(&mut self, now: u64) -> bool {
        let passed = self.next_zero().is_some_and(|zero| zero <= now);
        self.seen = self.seen.max(now + 1);
        passed
    }

    /// Changes its settings, and continues from the current value.
    pub fn change(&mut self, now: u64, change: impl FnOnce(&mut Self)) {
        (self.value, self.since) = (self.value_at(now), now);
        self.seen = now + 1;
        change(self);
    }
}
