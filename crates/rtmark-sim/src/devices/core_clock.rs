//! The core's clock over a run, and the time that passes with it.
//!
//! Time is not simulated: it follows from the cycles, and from the frequencies that the core had. A
//! [`ClockHistory`] keeps these.

use core::time::Duration;
use std::sync::Arc;

use rtmark_units::{Cycles, Hertz, Nanoseconds};

use super::{AttachedDevice, Device, DeviceModel as _, Devices, Drive, each, find};
use crate::soc::{ClockControl, ClockTree, Soc};

/// The most changes that a history keeps apart. Of a program that changes its clock more often, later
/// times between two changes are approximate, and the others exact.
const MAX_CHANGES: usize = 1 << 16;
/// Picoseconds in a second, and in a nanosecond.
const SECOND: u128 = 1_000_000_000_000;
const NANOSECOND: u128 = 1_000;

/// A frequency of the core's clock, from some cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// The first cycle with this frequency.
    pub cycle: Cycles,
    /// The frequency.
    pub clock: Hertz,
}

/// The frequencies that the core has had, from the first cycle on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockHistory {
    /// Never empty; the first one begins at cycle 0.
    periods: Arc<Vec<Period>>,
}

/// A period with one frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    change: ClockChange,
    /// The time of its first cycle, in picoseconds since reset.
    began: u128,
}

impl Period {
    /// Returns the time of a cycle at this period's frequency, in picoseconds since reset.
    fn time_of(&self, cycle: u64) -> u128 {
        let cycles = u128::from(cycle.saturating_sub(self.change.cycle.0));
        self.began + cycles * SECOND / u128::from(self.change.clock.0.max(1))
    }
}

impl ClockHistory {
    /// Begins a history with the frequency of the first cycle.
    pub fn new(clock: Hertz) -> Self {
        let change = ClockChange { cycle: Cycles::ZERO, clock };
        Self { periods: Arc::new(vec![Period { change, began: 0 }]) }
    }

    fn last(&self) -> Period {
        let none =
            Period { change: ClockChange { cycle: Cycles::ZERO, clock: Hertz(0) }, began: 0 };
        self.periods.last().copied().unwrap_or(none)
    }

    /// Returns the frequency at the end.
    pub fn clock(&self) -> Hertz {
        self.last().change.clock
    }

    /// Lists the frequencies, each with its first cycle.
    pub fn changes(&self) -> impl ExactSizeIterator<Item = ClockChange> + '_ {
        self.periods.iter().map(|period| period.change)
    }

    /// Returns the frequency in a cycle.
    pub fn clock_at(&self, cycle: Cycles) -> Hertz {
        self.periods[self.index_at(cycle)].change.clock
    }

    /// Returns the frequency that the core had for the most cycles of a run.
    pub fn main_clock(&self, end: Cycles) -> Hertz {
        let mut cycles = std::collections::BTreeMap::new();
        for (at, period) in self.periods.iter().enumerate() {
            let next = self.periods.get(at + 1).map_or(end, |next| next.change.cycle);
            let length = next.0.saturating_sub(period.change.cycle.0);
            *cycles.entry(period.change.clock).or_insert(0) += length;
        }
        let longest = cycles.into_iter().max_by_key(|(_, cycles)| *cycles);
        longest.map_or_else(|| self.clock(), |(clock, _)| clock)
    }

    /// Returns the time from reset to a cycle, rounded to the nearest nanosecond. Beyond the last change,
    /// the last frequency counts.
    pub fn time_at(&self, cycle: Cycles) -> Nanoseconds {
        let time = (self.picoseconds_at(cycle) + NANOSECOND / 2) / NANOSECOND;
        u64::try_from(time).map_or(Nanoseconds::MAX, Nanoseconds)
    }

    /// Returns the time from reset to a cycle, rounded down to nanoseconds.
    pub fn elapsed_at(&self, cycle: Cycles) -> Duration {
        let time = self.picoseconds_at(cycle) / NANOSECOND;
        u64::try_from(time).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// Returns the first cycle that begins at or after a time since reset. Beyond the last change, the last
    /// frequency counts.
    pub fn cycle_at(&self, time: Duration) -> Cycles {
        self.cycle_at_picoseconds(time.as_nanos().saturating_mul(NANOSECOND))
    }

    /// Returns the cycle that begins at the time that a cycle would have had if the frequency had never
    /// changed.
    pub(super) fn cycle_on_first_clock(&self, cycle: Cycles) -> Cycles {
        self.cycle_at_picoseconds(self.periods[0].time_of(cycle.0))
    }

    /// Changes the frequency from a cycle on.
    fn change(&mut self, cycle: u64, clock: Hertz) {
        let period = Period {
            change: ClockChange { cycle: Cycles(cycle), clock },
            began: self.last().time_of(cycle),
        };
        let periods = Arc::make_mut(&mut self.periods);
        let replaces = periods.len() >= MAX_CHANGES
            || (periods.len() > 1
                && periods.last().is_some_and(|last| last.change.cycle.0 == cycle));
        if replaces {
            periods.pop();
        }
        periods.push(period);
    }

    /// Returns the position of the period that contains a cycle.
    fn index_at(&self, cycle: Cycles) -> usize {
        let after = self.periods.partition_point(|period| period.change.cycle <= cycle);
        after.saturating_sub(1)
    }

    fn picoseconds_at(&self, cycle: Cycles) -> u128 {
        let at = self.index_at(cycle);
        let period = self.periods[at];
        let Some(next) = self.periods.get(at + 1) else { return period.time_of(cycle.0) };
        // Where changes are no longer kept apart, the time between two is divided evenly.
        let length = u128::from((next.change.cycle - period.change.cycle).0);
        let even = (next.began - period.began) * u128::from((cycle - period.change.cycle).0)
            / length.max(1);
        period.time_of(cycle.0).min(period.began + even)
    }

    fn cycle_at_picoseconds(&self, time: u128) -> Cycles {
        let after = self.periods.partition_point(|period| period.began <= time);
        let period = self.periods[after.saturating_sub(1)];
        let cycles = ((time - period.began) * u128::from(period.change.clock.0)).div_ceil(SECOND);
        let cycles = u64::try_from(cycles).unwrap_or(u64::MAX);
        Cycles(period.change.cycle.0.saturating_add(cycles))
    }
}

/// Why the core's clock is not known: the registers select one that does not run, or that no chip of this
/// kind can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownClock {
    /// The cycle since which it is not known. Until it is known again, times are at the frequency before.
    pub since: Cycles,
    /// The clock, and the field that is the reason.
    pub reason: String,
}

/// The core's clock: what determines it, and what it has been.
#[derive(Clone, Debug)]
pub struct CoreClock {
    tree: Option<Arc<ClockTree>>,
    pub history: ClockHistory,
    pub unknown: Option<Arc<UnknownClock>>,
}

impl CoreClock {
    /// Creates the clock of a soc after a reset; `read` returns the value of the register at an address.
    pub fn new(soc: &Soc, read: impl Fn(u32) -> u32) -> Self {
        let tree = soc.clock_tree.as_ref().filter(|_| soc.clock_control == ClockControl::Registers);
        let tree = tree.map(|tree| Arc::new(tree.clone()));
        let clock = tree.as_ref().and_then(|tree| tree.core_clock(&read).ok());
        Self { tree, history: ClockHistory::new(clock.unwrap_or(soc.clock)), unknown: None }
    }

    /// Returns whether it depends on registers at these addresses.
    pub fn reads(&self, addresses: &std::ops::Range<u32>) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.registers().any(|it| addresses.contains(&it)))
    }

    /// Follows the registers after one of them was written. Returns whether the frequency has changed.
    pub fn follow(&mut self, now: u64, read: impl Fn(u32) -> u32) -> bool {
        let Some(tree) = &self.tree else { return false };
        match tree.core_clock(&read) {
            Ok(clock) => {
                self.unknown = None;
                let changed = clock != self.history.clock();
                if changed {
                    self.history.change(now, clock);
                }
                changed
            }
            Err(reason) => {
                let since = self.unknown.as_ref().map_or(Cycles(now), |before| before.since);
                self.unknown = Some(Arc::new(UnknownClock { since, reason }));
                false
            }
        }
    }
}

/// Whether runs end when the core's clock becomes slower.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlowerClock {
    /// They do.
    pub stops: bool,
    /// One has to end now.
    is_due: bool,
}

/// Returns the value of the register at an address, in a block that follows rules; elsewhere 0.
pub fn held(attached: &[AttachedDevice], address: u32) -> u32 {
    find(attached, address).map_or(0, |at| match &attached[at] {
        AttachedDevice { base, device: Device::Registers(registers), .. } => {
            registers.value(address - base)
        }
        _ => 0,
    })
}

impl Devices {
    /// Drives a pin from outside. The changes' cycles are of the clock after reset: if that changes, they keep
    /// their times.
    pub fn drive(&mut self, pin: &str, drive: Drive) {
        self.apply_drive(pin, &drive);
        self.drives.insert(pin.to_owned(), drive);
    }

    fn apply_drive(&mut self, pin: &str, drive: &Drive) {
        let drive = drive.on_clock(&self.clock.history);
        for attached in self.attached.iter_mut() {
            each!(&mut attached.device, it => it.drive(pin, &drive));
        }
    }

    /// Returns the frequencies that the core has had since reset.
    pub const fn clock_history(&self) -> &ClockHistory {
        &self.clock.history
    }

    /// Returns the frequency that a tree gives for the clock registers as they are, whether or not the core's
    /// clock follows them.
    #[inline(never)]
    pub fn selected_clock(&self, tree: &ClockTree) -> Option<Hertz> {
        tree.core_clock(&|address| held(&self.attached, address)).ok()
    }

    /// Makes runs end when the core's clock becomes slower.
    pub const fn stop_at_slower_clock(&mut self, stops: bool) {
        self.slower_clock = SlowerClock { stops, is_due: false };
    }

    /// Returns whether a run has to end because the clock has become slower; forgets it.
    pub const fn take_slower_clock(&mut self) -> bool {
        std::mem::replace(&mut self.slower_clock.is_due, false)
    }

    /// Returns why the core's clock is not known, if it is not.
    pub fn unknown_clock(&self) -> Option<&UnknownClock> {
        self.clock.unknown.as_deref()
    }

    /// Makes the core's clock follow the registers after one of them was written. Returns whether it has
    /// changed.
    pub(super) fn follow_clock_registers(&mut self, now: u64) -> bool {
        let (attached, before) = (&self.attached, self.clock.history.clock());
        if !self.clock.follow(now, |address| held(attached, address)) {
            return false;
        }
        self.slower_clock.is_due = self.slower_clock.stops && self.clock.history.clock() < before;
        for at in 0..self.attached.len() {
            let ratio = self.ratio(at);
            let attached = &mut self.attached[at];
            each!(&mut attached.device, it => it.core_clock_changed(now, ratio));
        }
        for (pin, drive) in self.drives.clone() {
            self.apply_drive(&pin, &drive);
        }
        for at in 0..self.attached.len() {
            let due = self.attached[at].next_date(self.ratio(at)).filter(|due| *due > now);
            // What is due already is still to be processed.
            let attached = &mut self.attached[at];
            attached.due = attached.due.filter(|due| *due <= now).or(due);
        }
        self.next = self.attached.iter().filter_map(|it| it.due).min().unwrap_or(u64::MAX);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> ClockHistory {
        let mut history = ClockHistory::new(Hertz(16_000_000));
        history.change(1_600, Hertz(160_000_000));
        history.change(17_600, Hertz(80_000_000));
        history
    }

    #[test]
    fn time_passes_by_the_frequency_of_each_period() {
        let history = history();
        let times = [0, 16, 1_600, 1_760, 17_600, 17_680].map(|it| history.time_at(Cycles(it)).0);
        assert_eq!(times, [0, 1_000, 100_000, 101_000, 200_000, 201_000]);
        assert_eq!(history.clock_at(Cycles(1_599)), Hertz(16_000_000));
        assert_eq!(history.clock_at(Cycles(1_600)), Hertz(160_000_000));
        assert_eq!(history.main_clock(Cycles(20_000)), Hertz(160_000_000));
        assert_eq!(history.main_clock(Cycles(100_000)), Hertz(80_000_000));
    }

    #[test]
    fn a_cycle_is_found_by_its_time() {
        let history = history();
        for cycle in [0, 1, 1_599, 1_600, 1_601, 17_599, 17_600, 17_607, 1_000_000] {
            assert_eq!(
                history.cycle_at_picoseconds(history.picoseconds_at(Cycles(cycle))),
                Cycles(cycle)
            );
        }
        assert_eq!(history.cycle_at(Duration::from_micros(101)), Cycles(1_760));
    }

    #[test]
    fn a_single_frequency_gives_the_time_that_cycles_give() {
        let clock = Hertz(168_000_000);
        let history = ClockHistory::new(clock);
        for cycle in [0, 1, 83, 84, 85, 252, 1_000_003, u64::MAX / 3_000] {
            assert_eq!(history.time_at(Cycles(cycle)), Cycles(cycle).at(clock));
            assert_eq!(
                history.cycle_at_picoseconds(history.picoseconds_at(Cycles(cycle))),
                Cycles(cycle)
            );
        }
    }

    #[test]
    fn endless_changes_take_bounded_memory_and_keep_the_time() {
        let mut history = ClockHistory::new(Hertz(1_000_000));
        for change in 1..=3 * MAX_CHANGES as u64 {
            history.change(change * 10, Hertz(if change % 2 == 0 { 1_000_000 } else { 2_000_000 }));
        }
        assert_eq!(history.changes().len(), MAX_CHANGES);
        let end = Cycles(10 * (3 * MAX_CHANGES as u64 + 1));
        let expected = 15_000 * (3 * MAX_CHANGES as u64 / 2) + 10_000;
        assert_eq!(history.time_at(end).0, expected);
        let mut times = (0..=end.0).step_by(1_234).map(|cycle| history.time_at(Cycles(cycle)));
        assert!(times.by_ref().is_sorted());
    }
}
