//! The course of a timer's counter: up, down or both in turn, one leg after the other.
//!
//! A leg leads from some value to the count at which the counter overflows, underflows or wraps around at its
//! full width. Within a leg everything is computed; what happens at its end is up to the timer.

/// How the counter goes through its values (CR1.CMS and, in edge-aligned mode, CR1.DIR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// From 0 to the reload value and again from 0, or down.
    Edge,
    /// From 0 to the reload value and back (RM0090, 17.3.2: from 0 to ARR - 1, then from ARR to 1).
    Centre,
}

/// How a leg ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Overflow,
    Underflow,
    /// At the counter's full width, which it reaches if it was beyond the reload value: it compares for
    /// equality. This is no overflow.
    Wrap,
}

/// What remains of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The number of counts, at least 1; the last one is the end.
    pub counts: u64,
    pub end: End,
}

/// A counter on its way.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    pub running: bool,
    pub alignment: Alignment,
    /// Counts down.
    pub down: bool,
    /// The largest value that fits.
    most: u32,
    pub reload: u32,
    /// Cycles per count.
    step: u64,
    /// The value since the cycle `origin`.
    value: u32,
    origin: u64,
}

impl Course {
    pub const fn new(most: u32) -> Self {
        Self {
            running: false,
            alignment: Alignment::Edge,
            down: false,
            most,
            reload: most,
            step: 1,
            value: 0,
            origin: 0,
        }
    }

    /// Returns the value since the last leg or look.
    pub const fn value(&self) -> u32 {
        self.value
    }

    /// Returns the cycle since which it has the value.
    pub const fn origin(&self) -> u64 {
        self.origin
    }

    /// Returns the counts since the cycle `origin`.
    pub const fn counts_until(&self, now: u64) -> u64 {
        if self.running { now.saturating_sub(self.origin) / self.step } else { 0 }
    }

    pub fn leg(&self) -> Leg {
        let [value, reload, most] = [self.value, self.reload, self.most].map(u64::from);
        let (counts, end) = match (self.alignment, self.down) {
            (Alignment::Edge, false) if value <= reload => (reload - value + 1, End::Overflow),
            (Alignment::Centre, false) if value < reload => (reload - value, End::Overflow),
            (_, false) => (most - value + 1, End::Wrap),
            (Alignment::Edge, true) => (value + 1, End::Underflow),
            (Alignment::Centre, true) => (value.max(1), End::Underflow),
        };
        Leg { counts, end }
    }

    /// Returns after how many counts it has a value, if that is before the end of the leg.
    pub fn counts_to(&self, value: u32, leg: Leg) -> Option<u64> {
        let counts =
            if self.down { self.value.checked_sub(value) } else { value.checked_sub(self.value) };
        counts.map(u64::from).filter(|counts| (1..leg.counts).contains(counts))
    }

    /// Returns the cycle of a count, from now on.
    pub const fn cycle_of(&self, counts: u64) -> u64 {
        self.origin.saturating_add(counts.saturating_mul(self.step))
    }

    /// Goes on within a leg.
    pub const fn advance(&mut self, counts: u64) {
        self.origin = self.cycle_of(counts);
        if self.down {
            self.value = self.value.wrapping_sub(counts as u32);
        } else {
            self.value = self.value.wrapping_add(counts as u32);
        }
    }

    /// Ends a leg, and begins the next one.
    pub fn turn(&mut self, Leg { counts, end }: Leg) {
        self.origin = self.cycle_of(counts);
        match (end, self.alignment) {
            (End::Overflow, Alignment::Centre) => (self.value, self.down) = (self.reload, true),
            (End::Underflow, Alignment::Edge) => self.value = self.reload,
            _ => self.value = 0,
        }
        self.face();
    }

    /// Returns the counts of a whole round, and the number of legs in it.
    pub fn round(&self) -> (u64, u64) {
        match self.alignment {
            Alignment::Edge => (u64::from(self.reload) + 1, 1),
            Alignment::Centre => (2 * u64::from(self.reload), 2),
        }
    }

    /// Goes through whole rounds, after which everything is as before.
    pub fn skip(&mut self, rounds: u64) {
        self.origin = self.cycle_of(rounds.saturating_mul(self.round().0));
    }

    /// Continues from another value. Between 0 and the reload value, the direction remains (RM0090, 17.3.10,
    /// hints on using center-aligned mode).
    pub fn set(&mut self, now: u64, value: u32) {
        (self.value, self.origin) = (value & self.most, now);
        if self.alignment == Alignment::Centre && self.value == self.reload {
            self.down = true;
        }
        self.face();
    }

    /// Begins again, as an update by software makes it.
    pub fn restart(&mut self, now: u64) {
        self.down &= self.alignment == Alignment::Edge;
        (self.value, self.origin) = (if self.down { self.reload } else { 0 }, now);
    }

    /// Turns upwards at zero.
    pub fn face(&mut self) {
        if self.alignment == Alignment::Centre && self.value == 0 {
            self.down = false;
        }
    }

    /// Starts or stops. A counter whose reload value is zero does not count (RM0090, 17.4.12).
    pub const fn run(&mut self, now: u64, enabled: bool) {
        let runs = enabled && self.reload > 0;
        if runs != self.running {
            (self.running, self.origin) = (runs, now);
        }
    }

    /// Changes the length of a count. The present one began when it began.
    pub const fn set_step(&mut self, step: u64) {
        self.step = step;
    }
}
