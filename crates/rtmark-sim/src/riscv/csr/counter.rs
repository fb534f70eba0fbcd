//! The two counters, which MCOUNTINHIBIT can stop.

/// MCYCLE. Its value is computed when it is read.
#[derive(Clone, Debug)]
pub struct CycleCounter {
    /// The value while stopped, else what is added to the cycle count.
    base: u64,
    inhibited: bool,
}

impl CycleCounter {
    /// Creates the counter after a reset in cycle 0.
    pub const fn new(inhibited: bool) -> Self {
        Self { base: 0, inhibited }
    }

    pub const fn is_inhibited(&self) -> bool {
        self.inhibited
    }

    /// Returns the value read by an instruction that leaves stage X in a cycle.
    pub const fn value(&self, cycle: u64) -> u64 {
        if self.inhibited { self.base } else { self.base.wrapping_add(cycle) }
    }

    /// Sets the value from the next cycle on.
    pub const fn set(&mut self, value: u64, cycle: u64) {
        self.base = if self.inhibited { value } else { value.wrapping_sub(cycle + 1) };
    }

    /// Stops or starts the counter from the next cycle on.
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
    /// Creates the counter after a reset.
    pub const fn new(inhibited: bool) -> Self {
        Self { value: 0, inhibited, written: false }
    }

    /// Sets the value for an instruction that writes it, which is not counted itself.
    pub const fn set(&mut self, value: u64) {
        (self.value, self.written) = (value, true);
    }

    /// Counts an instruction that has retired.
    pub const fn count(&mut self, counted: bool) {
        if counted && !self.written {
            self.value = self.value.wrapping_add(1);
        }
        self.written = false;
    }

    /// Counts several instructions that have retired.
    pub const fn count_many(&mut self, count: u64) {
        if count > 0 {
            let counts = !self.inhibited;
            self.count(counts);
            self.value = self.value.wrapping_add(if counts { count - 1 } else { 0 });
        }
    }
}
