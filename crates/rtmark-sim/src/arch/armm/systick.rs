//! SysTick, computed rather than ticked.
//!
//! It keeps the cycle at which its value was last known and computes the rest on demand (DDI 0403, B3.3),
//! so that time may advance in steps of any size.

/// The system timer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SysTick {
    enabled: bool,
    interrupt: bool,
    /// CLKSOURCE: whether it counts the core's clock.
    core_clock: bool,
    reload: u32,
    /// The counter's value in the cycle `since`.
    value: u32,
    since: u64,
    /// Zero has been reached since the control register was last read.
    count_flag: bool,
    /// Core cycles per count when the reference clock is selected.
    reference_divisor: Option<u64>,
    /// The first cycle after `since` in which the counter is zero; `u64::MAX` if it never is.
    zero: u64,
}

impl SysTick {
    pub fn new(reference_divisor: Option<u16>) -> Self {
        Self {
            enabled: false,
            interrupt: false,
            core_clock: reference_divisor.is_none(),
            reload: 0,
            value: 0,
            since: 0,
            count_flag: false,
            reference_divisor: reference_divisor.map(u64::from),
            zero: u64::MAX,
        }
    }

    fn divisor(&self) -> u64 {
        if self.core_clock { 1 } else { self.reference_divisor.unwrap_or(1) }
    }

    /// Returns the counts that have passed since the value was last known.
    fn counts(&self, now: u64) -> u64 {
        if self.enabled { now.saturating_sub(self.since) / self.divisor() } else { 0 }
    }

    fn value_at(&self, now: u64) -> u32 {
        let (counts, value) = (self.counts(now), u64::from(self.value));
        if counts <= value {
            (value - counts) as u32
        } else {
            let period = u64::from(self.reload) + 1;
            self.reload - ((counts - value - 1) % period) as u32
        }
    }

    /// Returns the next cycle in which the counter reaches zero; `u64::MAX` if it never does.
    #[inline(always)]
    pub const fn next_zero(&self) -> u64 {
        self.zero
    }

    /// Returns the cycle in which it next reaches zero, if it then raises an interrupt.
    #[inline(always)]
    pub const fn next_interrupt(&self) -> u64 {
        if self.interrupt { self.zero } else { u64::MAX }
    }

    /// Recomputes when the counter reaches zero, after any change.
    fn find_zero(&mut self) {
        let counts =
            if self.value == 0 { u64::from(self.reload) + 1 } else { u64::from(self.value) };
        let never = !self.enabled || (self.value == 0 && self.reload == 0);
        self.zero = if never { u64::MAX } else { self.since + counts * self.divisor() };
    }

    /// Passes the next zero, which is due; returns whether it raises the interrupt.
    pub fn pass_zero(&mut self, at: u64) -> bool {
        self.since = at;
        self.value = 0;
        self.count_flag = true;
        self.find_zero();
        self.interrupt
    }

    fn settle(&mut self, now: u64) {
        let counts = self.counts(now);
        self.value = self.value_at(now);
        self.since = if self.enabled { self.since + counts * self.divisor() } else { now };
    }

    /// Reads SYST_CSR, which clears COUNTFLAG.
    pub fn read_control(&mut self) -> u32 {
        let flag = std::mem::take(&mut self.count_flag);
        u32::from(self.enabled)
            | u32::from(self.interrupt) << 1
            | u32::from(self.core_clock) << 2
            | u32::from(flag) << 16
    }

    pub fn write_control(&mut self, value: u32, now: u64) {
        self.settle(now);
        self.since = now;
        self.enabled = value & 1 != 0;
        self.interrupt = value & 2 != 0;
        self.core_clock = value & 4 != 0 || self.reference_divisor.is_none();
        self.find_zero();
    }

    /// Returns whether a value for SYST_CSR starts it with a reference clock that is not known: the core's
    /// clock is counted instead.
    pub const fn lacks_clock(&self, control: u32) -> bool {
        control & 5 == 1 && self.reference_divisor.is_none()
    }

    pub const fn read_reload(&self) -> u32 {
        self.reload
    }

    pub fn write_reload(&mut self, value: u32, now: u64) {
        self.settle(now);
        self.reload = value & 0xFF_FFFF;
        self.find_zero();
    }

    pub fn read_value(&self, now: u64) -> u32 {
        self.value_at(now)
    }

    /// Any write to SYST_CVR clears the counter and COUNTFLAG.
    pub fn write_value(&mut self, now: u64) {
        self.value = 0;
        self.since = now;
        self.count_flag = false;
        self.find_zero();
    }

    /// SYST_CALIB: shows whether there is a reference clock; gives no calibration value.
    pub const fn calibration(&self) -> u32 {
        if self.reference_divisor.is_none() { 1 << 31 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systick_reloads_one_cycle_after_zero() {
        let mut timer = SysTick::new(None);
        timer.write_reload(3, 0);
        timer.write_value(0);
        timer.write_control(7, 10);
        let values: Vec<_> = (10..20).map(|now| timer.read_value(now)).collect();
        assert_eq!(values, [0, 3, 2, 1, 0, 3, 2, 1, 0, 3]);
        assert_eq!(timer.next_zero(), 14);
        assert!(timer.pass_zero(14));
        assert_eq!(timer.next_zero(), 18);
        assert_eq!(timer.read_control(), 0x1_0007);
        assert_eq!(timer.read_control(), 7);
    }

    #[test]
    fn the_reference_clock_is_slower() {
        let mut timer = SysTick::new(Some(8));
        timer.write_reload(99, 0);
        timer.write_control(3, 0);
        assert_eq!(timer.next_zero(), 800);
        assert_eq!(timer.read_value(8), 99);
    }

    #[test]
    fn stopping_keeps_the_value() {
        let mut timer = SysTick::new(None);
        timer.write_reload(9, 0);
        timer.write_control(5, 0);
        timer.write_control(4, 3);
        assert_eq!(timer.read_value(1000), 7);
        assert_eq!(timer.next_zero(), u64::MAX);
        timer.write_control(5, 1000);
        assert_eq!(timer.next_zero(), 1007);
    }

    #[test]
    fn without_a_reload_value_it_stops_at_zero() {
        // DDI 0403, B3.3.1: a reload value of zero stops the counter at the next wrap.
        let mut timer = SysTick::new(None);
        timer.write_reload(3, 0);
        timer.write_control(7, 10);
        timer.write_reload(0, 12);
        let values: Vec<_> = (12..17).map(|now| timer.read_value(now)).collect();
        assert_eq!(values, [2, 1, 0, 0, 0]);
        assert_eq!(timer.next_zero(), 14);
        assert!(timer.pass_zero(14));
        assert_eq!((timer.next_zero(), timer.read_value(100)), (u64::MAX, 0));
        // Nor does it begin: what is zero already does not become zero.
        timer.write_control(7, 100);
        assert_eq!(timer.next_zero(), u64::MAX);
        timer.write_reload(3, 200);
        assert_eq!(timer.next_zero(), 204);
    }

    #[test]
    fn control_bits_are_independent() {
        for control in 0..8 {
            let mut timer = SysTick::new(Some(8));
            timer.write_reload(9, 0);
            timer.write_control(control, 100);
            assert_eq!(timer.read_control(), control);
            let per_count = if control & 4 == 0 { 8 } else { 1 };
            let zero = if control & 1 == 0 { u64::MAX } else { 100 + 10 * per_count };
            assert_eq!(timer.next_zero(), zero, "{control:#b}");
            let interrupts = if control & 2 == 0 { u64::MAX } else { zero };
            assert_eq!(timer.next_interrupt(), interrupts, "{control:#b}");
            // Whether or not it interrupts, COUNTFLAG tells.
            if zero != u64::MAX {
                assert_eq!(timer.pass_zero(zero), control & 2 != 0, "{control:#b}");
                assert_eq!(timer.read_control(), control | 1 << 16);
            }
        }
        // Without a reference clock, CLKSOURCE is one (DDI 0403, B3.3.3).
        let mut timer = SysTick::new(None);
        timer.write_control(0, 0);
        assert_eq!(timer.read_control(), 4);
        assert_eq!((timer.calibration(), SysTick::new(Some(8)).calibration()), (1 << 31, 0));
    }

    #[test]
    fn a_write_to_the_value_clears_it_and_the_flag() {
        let mut timer = SysTick::new(Some(8));
        timer.write_reload(0xFF00_0005, 0);
        assert_eq!(timer.read_reload(), 5, "24 bits");
        timer.write_control(3, 0);
        assert!(timer.pass_zero(6 * 8));
        timer.write_value(60);
        assert_eq!(timer.read_control(), 3);
        assert_eq!((timer.read_value(67), timer.read_value(68)), (0, 5));
        assert_eq!(timer.next_zero(), 60 + 6 * 8);
    }
}
