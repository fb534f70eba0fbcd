//! Pins driven from outside the chip.

use std::collections::BTreeMap;
use std::sync::Arc;

use rtmark_units::Cycles;

use super::ClockHistory;

/// The level to which a pin is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Reads as 0.
    Low,
    /// Reads as 1.
    High,
}

/// The level of a driven pin from some cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinChange {
    /// The first cycle in which it has the level.
    pub cycle: u64,
    /// The level.
    pub level: Level,
}

/// A change from one level to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    Rising,
    Falling,
}

/// The levels to which a pin is driven over a run: low until the first change.
#[derive(Clone, Debug)]
pub struct Drive {
    /// In order of cycle; each differs in level from the one before.
    changes: Arc<[PinChange]>,
}

impl Drive {
    /// Creates a drive from changes; of several changes in one cycle, the last one counts.
    pub fn new(changes: &[PinChange]) -> Self {
        let mut sorted = changes.to_vec();
        sorted.sort_by_key(|change| change.cycle);
        let mut changes: Vec<PinChange> = Vec::new();
        for change in sorted {
            if changes.last().is_some_and(|last| last.cycle == change.cycle) {
                changes.pop();
            }
            if changes.last().map_or(Level::Low, |last| last.level) != change.level {
                changes.push(change);
            }
        }
        Self { changes: changes.into() }
    }

    /// Returns the drive whose changes, given in cycles of the clock after reset, have the same times on a
    /// clock that has changed.
    pub fn on_clock(&self, clock: &ClockHistory) -> Self {
        if clock.changes().len() == 1 {
            return self.clone();
        }
        let at = |change: &PinChange| clock.cycle_on_first_clock(Cycles(change.cycle)).0;
        let changes = self.changes.iter().map(|it| PinChange { cycle: at(it), ..*it });
        Self::new(&changes.collect::<Vec<_>>())
    }

    /// Returns the level in a cycle.
    pub fn level(&self, now: u64) -> Level {
        let after = self.changes.partition_point(|change| change.cycle <= now);
        after.checked_sub(1).map_or(Level::Low, |at| self.changes[at].level)
    }

    /// Returns a register's value with the pin's level as one of its bits.
    pub fn in_register(&self, value: u32, bit: u8, now: u64) -> u32 {
        let high = u32::from(self.level(now) == Level::High);
        value & !(1 << bit) | high << bit
    }

    /// Returns the edges after one cycle, up to and including another.
    pub fn edges(&self, after: u64, to: u64) -> impl Iterator<Item = Edge> + '_ {
        let begin = self.changes.partition_point(|change| change.cycle <= after);
        let changes = self.changes[begin..].iter().take_while(move |change| change.cycle <= to);
        changes.map(|change| match change.level {
            Level::High => Edge::Rising,
            Level::Low => Edge::Falling,
        })
    }

    /// Returns the cycle of the first edge after a cycle.
    pub fn next(&self, after: u64) -> Option<u64> {
        let at = self.changes.partition_point(|change| change.cycle <= after);
        self.changes.get(at).map(|change| change.cycle)
    }
}

/// The pins of one device that are driven from outside, each with the device's own key for it: a bit of a
/// register, or a port and a line.
#[derive(Clone, Debug)]
pub struct DrivenPins<K> {
    drives: BTreeMap<K, Drive>,
}

impl<K> Default for DrivenPins<K> {
    fn default() -> Self {
        Self { drives: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> DrivenPins<K> {
    /// Drives a pin, replacing what drove it before.
    pub fn drive(&mut self, pin: K, drive: &Drive) {
        self.drives.insert(pin, drive.clone());
    }

    /// Returns the pins, with what drives each of them.
    pub fn iter(&self) -> impl Iterator<Item = (K, &Drive)> {
        self.drives.iter().map(|(pin, drive)| (*pin, drive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(changes: &[(u64, u8)]) -> Drive {
        let level = |level| if level == 0 { Level::Low } else { Level::High };
        let changes = changes.iter().map(|&(cycle, to)| PinChange { cycle, level: level(to) });
        Drive::new(&changes.collect::<Vec<_>>())
    }

    #[test]
    fn pins_are_low_until_driven_high() {
        let pin = drive(&[(10, 1), (20, 0)]);
        let levels = [9, 10, 19, 20].map(|now| pin.level(now));
        assert_eq!(levels, [Level::Low, Level::High, Level::High, Level::Low]);
        assert_eq!((pin.next(0), pin.next(10), pin.next(20)), (Some(10), Some(20), None));
    }

    #[test]
    fn edges_are_level_changes() {
        let pin = drive(&[(30, 1), (5, 0), (40, 1), (50, 0), (50, 1), (60, 0)]);
        let edges = |after, to| pin.edges(after, to).collect::<Vec<_>>();
        assert_eq!(edges(0, 59), [Edge::Rising], "none at 5, 40 and 50");
        assert_eq!(edges(29, 30), [Edge::Rising]);
        assert_eq!(edges(30, 60), [Edge::Falling]);
        assert_eq!(edges(60, u64::MAX), []);
    }

    #[test]
    fn the_last_drive_of_a_pin_wins() {
        let mut pins = DrivenPins::default();
        pins.drive(3_u8, &drive(&[(10, 1)]));
        pins.drive(1, &drive(&[(20, 1)]));
        pins.drive(3, &drive(&[(30, 1)]));
        let next: Vec<_> = pins.iter().map(|(pin, drive)| (pin, drive.next(0))).collect();
        assert_eq!(next, [(1, Some(20)), (3, Some(30))]);
    }
}
