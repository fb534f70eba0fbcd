//! The two counters, which rest while MCOUNTINHIBIT says so.

/// MCYCLE: computed when it is looked at.
#[derive(Clone, Debug)]
pub struct CycleCounter {
    /// The value while it rests; else what is to be added to the cycle.
    base: u64,
    inhibited: bool,
}

impl CycleCounter {
    /// After a reset in cycle 0.
    pub const fn new(inhibited: bool) -> Self {
        Self { base: 0, inhibited }
    }

    pub const fn is_inhibited(&self) -> bool {
        self.inhibited
    }

    /// What an instruction reads that leaves stage X in a cycle.
    pub const fn value(&self, cycle: u64) -> u64 {
        if self.inhibited { self.base } else { self.base.wrapping_add(cycle) }
    }

    /// Sets the value from the cycle after this one on.
    pub const fn set(&mut self, value: u64, cycle: u64) {
        self.base = if self.inhibited { value } else { value.wrapping_sub(cycle + 1) };
    }

    /// Lets it rest or run from the cycle after this one on.
    pub const fn inhibit(&mut self, inhibited: bool, cycle: u64) {
        let value = if self.inhibited { self.base } else { self.value(cycle + 1) };
        self.inhibited = inhibited;
        self.set(value, cycle);
    }
}

/// MINSTRET.
#[derive(Clone, Debug)]
pub struct RetiredCounter {
    pub value: u64,
    pub inhibited: bool,
    written: bool,
}

impl RetiredCounter {
    /// After a reset.
    pub const fn new(inhibited: bool) -> Self {
        Self { value: 0, inhibited, written: false }
    }

    /// An instruction writes it, and is not counted itself.
    pub const fn set(&mut self, value: u64) {
        (self.value, self.written) = (value, true);
    }

    /// An instruction has retired.
    pub const fn count(&mut self, counted: bool) {
        if counted && !self.written {
            self.value = self.value.wrapping_add(1);
        }
        self.written = false;
    }

    /// So many instructions have retired.
    pub const fn count_many(&mut self, count: u64) {
        if count > 0 {
            let counts = !self.inhibited;
            self.count(counts);
            self.value = self.value.wrapping_add(if counts { count - 1 } else { 0 });
        }
    }
}
