//! The wake-up timer of a real-time clock (RM0090, "Periodic auto-wakeup").

use super::course::{CalendarCourse, Moment};

/// What it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// So many periods of the clock make a count.
    Ticks(u64),
    /// The calendar's seconds.
    Seconds,
}

/// A timer that runs.
#[derive(Clone, Debug)]
pub struct WakeupTimer {
    counted: Counted,
    /// The tick at which it began.
    begin: u64,
    /// The counts that have been seen.
    seen: u64,
    /// The counts that remain to the next wake-up.
    left: u64,
    /// The counts between two wake-ups.
    period: u64,
}

impl WakeupTimer {
    /// Starts it at a tick, with the registers that configure it.
    pub fn start(tick: u64, course: Option<&CalendarCourse>, clock: u32, reload: u32) -> Self {
        let counted = match clock & 7 {
            fast @ 0..4 => Counted::Ticks(16 >> fast),
            _ => Counted::Seconds,
        };
        let further = if clock & 6 == 6 { 0x1_0000 } else { 0 };
        let period = u64::from(reload & 0xFFFF) + 1 + further;
        let mut timer = Self { counted, begin: tick, seen: 0, left: period, period };
        timer.seen = timer.counts(tick, course).unwrap_or(0);
        timer
    }

    /// Returns the counts up to a tick; `None` while the calendar stands still.
    fn counts(&self, tick: u64, course: Option<&CalendarCourse>) -> Option<u64> {
        match self.counted {
            Counted::Ticks(each) => Some(tick.saturating_sub(self.begin) / each),
            Counted::Seconds => Some(course?.moment(tick).second),
        }
    }

    /// Counts up to a tick; returns whether it has run down.
    pub fn count(&mut self, tick: u64, course: Option<&CalendarCourse>) -> bool {
        let Some(counts) = self.counts(tick, course) else { return false };
        let new = counts.saturating_sub(self.seen);
        self.seen = counts;
        match new.checked_sub(self.left) {
            None => {
                self.left -= new;
                false
            }
            Some(beyond) => {
                self.left = self.period - beyond % self.period;
                true
            }
        }
    }

    /// Goes on with a calendar that has begun again.
    pub const fn begin_again(&mut self) {
        if matches!(self.counted, Counted::Seconds) {
            self.seen = 0;
        }
    }

    /// Returns the tick at which it runs down.
    pub fn due(&self, course: Option<&CalendarCourse>) -> Option<u64> {
        let counts = self.seen.saturating_add(self.left);
        match self.counted {
            Counted::Ticks(each) => Some(self.begin.saturating_add(counts.saturating_mul(each))),
            Counted::Seconds => {
                let course = course?;
                let Moment { subsecond, .. } = course.first_moment();
                Some(course.tick_of(Moment { second: counts, subsecond }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::calendar::Calendar;
    use super::super::course::Dividers;
    use super::*;

    /// The ticks at which a timer started at tick 10 runs down, looked at each tick or as it says.
    fn wakeups(clock: u32, reload: u32) -> Vec<u64> {
        let course = CalendarCourse::new(4, Calendar::RESET, Dividers(0x7F_00FF));
        let course = Some(&course);
        let mut timer = WakeupTimer::start(10, course, clock, reload);
        let mut rare = timer.clone();
        let next = || {
            let due = rare.due(course)?;
            assert!(rare.count(due, course));
            Some(due)
        };
        let found: Vec<_> = std::iter::from_fn(next).take(3).collect();
        if found[2] < 1_000_000 {
            let each: Vec<_> = (10..=found[2]).filter(|tick| timer.count(*tick, course)).collect();
            assert_eq!(found, each);
        }
        found
    }

    #[test]
    fn it_runs_down_after_one_count_more_than_its_register_says() {
        assert_eq!(wakeups(0b000, 0), [26, 42, 58]);
        assert_eq!(wakeups(0b011, 9), [30, 50, 70]);
        assert_eq!(wakeups(0b010, 2_047), [10 + 8_192, 10 + 16_384, 10 + 24_576]);
        assert_eq!(wakeups(0b001, 0xFFFF), [1, 2, 3].map(|it| 10 + it * 8 * 65_536));
        // The first second ends a little earlier than one after the start.
        assert_eq!(wakeups(0b100, 0), [1, 2, 3].map(|it| 4 + it * 32_768));
        assert_eq!(wakeups(0b101, 9), [10, 20, 30].map(|it| 4 + it * 32_768));
        assert_eq!(wakeups(0b110, 0), [1, 2, 3].map(|it| 4 + it * 65_537 * 32_768));
        assert_eq!(wakeups(0b111, 1), [1, 2, 3].map(|it| 4 + it * 65_538 * 32_768));
    }

    #[test]
    fn a_look_that_comes_late_misses_no_phase() {
        let mut timer = WakeupTimer::start(0, None, 0b011, 9);
        assert!(timer.count(95, None));
        assert_eq!(timer.due(None), Some(100));
        let mut timer = WakeupTimer::start(0, None, 0b100, 9);
        assert!(!timer.count(1_000_000, None));
        assert_eq!(timer.due(None), None);
    }
}
