//! The copies of a calendar that a program reads (RM0090, "Reading the calendar").

/// The registers for time, date and subseconds.
type Shown = (u32, u32, u32);

/// The copies. They are taken at every second tick.
#[derive(Clone, Debug)]
pub struct Shadow {
    /// The tick after which copies are taken, and what they are before.
    stands_until: u64,
    before: Shown,
    /// The tick at which the program has last forgotten whether there is one.
    cleared: u64,
    /// What stays until the date is read, because the subseconds or the time have been read.
    time: Option<u32>,
    date: Option<u32>,
}

impl Shadow {
    /// Creates those of a reset, in which subseconds read as zero.
    pub const fn new(reset: (u32, u32)) -> Self {
        let before = (reset.0, reset.1, 0);
        Self { stands_until: 0, before, cleared: 0, time: None, date: None }
    }

    /// Takes no more copies after this one.
    pub const fn stop(&mut self, last: Shown) {
        self.before = last;
    }

    /// Takes copies again from a tick on.
    pub const fn go_on(&mut self, tick: u64) {
        self.stands_until = tick;
        self.unlock();
    }

    pub const fn unlock(&mut self) {
        (self.time, self.date) = (None, None);
    }

    /// Forgets whether there is a copy.
    pub const fn clear(&mut self, tick: u64) {
        self.cleared = tick;
    }

    /// Returns whether a copy has been taken since that was last forgotten.
    pub fn is_synchronized(&self, tick: u64) -> bool {
        tick & !1 > self.stands_until.max(self.cleared)
    }

    /// Returns the last copy; `shown` returns what is copied at a tick.
    pub fn content(&self, tick: u64, shown: impl Fn(u64) -> Shown) -> Shown {
        let copied = tick & !1;
        if copied > self.stands_until { shown(copied) } else { self.before }
    }

    pub fn read_subseconds(&mut self, (time, date, subseconds): Shown) -> u32 {
        self.time.get_or_insert(time);
        self.date.get_or_insert(date);
        subseconds
    }

    pub fn read_time(&mut self, (time, date, _): Shown) -> u32 {
        self.date.get_or_insert(date);
        self.time.unwrap_or(time)
    }

    pub const fn read_date(&mut self, (_, date, _): Shown) -> u32 {
        let locked = self.date;
        self.unlock();
        match locked {
            Some(date) => date,
            None => date,
        }
    }
}
