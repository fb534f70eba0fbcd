//! How a calendar proceeds from the moment at which it was set, and when its alarms match.

use super::calendar::{AlarmTime, Calendar, HourFormat};

/// The dividers of the clock: 7 bits, whose counter nothing shows, then 15 bits (RM0090, RTC_PRER).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dividers(pub u32);

impl Dividers {
    /// Returns the periods of the clock for which the second counter has one value.
    const fn first(self) -> u64 {
        (self.0 >> 16 & 0x7F) as u64 + 1
    }

    /// Returns the value with which the second counter begins.
    pub const fn reload(self) -> u32 {
        self.0 & 0x7FFF
    }
}

/// A moment: so many seconds after the calendar began, with a value of the second divider's counter, which counts
/// down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    pub second: u64,
    pub subsecond: u32,
}

impl Moment {
    /// Returns whether it is not after another moment.
    pub const fn is_by(self, other: Self) -> bool {
        self.second < other.second
            || self.second == other.second && self.subsecond >= other.subsecond
    }
}

/// A calendar that counts.
#[derive(Clone, Debug)]
pub struct CalendarCourse {
    /// The tick at which it began, with this date and time.
    begin: u64,
    time: Calendar,
    dividers: Dividers,
}

impl CalendarCourse {
    pub const fn new(begin: u64, time: Calendar, dividers: Dividers) -> Self {
        Self { begin, time, dividers }
    }

    /// Returns the moment at which it begins.
    pub const fn first_moment(&self) -> Moment {
        Moment { second: 0, subsecond: self.dividers.reload() }
    }

    /// Returns the moment at a tick.
    pub const fn moment(&self, tick: u64) -> Moment {
        let counted = tick.saturating_sub(self.begin) / self.dividers.first();
        let reload = self.dividers.reload();
        let each = reload as u64 + 1;
        Moment { second: counted / each, subsecond: reload - (counted % each) as u32 }
    }

    /// Returns the tick at which a moment begins.
    pub fn tick_of(&self, moment: Moment) -> u64 {
        let reload = self.dividers.reload();
        let down = u64::from(reload.saturating_sub(moment.subsecond));
        let counted = moment.second.saturating_mul(u64::from(reload) + 1).saturating_add(down);
        self.begin.saturating_add(counted.saturating_mul(self.dividers.first()))
    }

    /// Returns the date and time of a moment.
    pub fn calendar(&self, moment: Moment) -> Calendar {
        self.time.after(moment.second)
    }

    /// Returns the next moment after one at which an alarm begins to match.
    pub fn next_match(&self, after: Moment, alarm: Alarm, format: HourFormat) -> Option<Moment> {
        let this_second = || {
            let below = after.subsecond.checked_sub(1)?;
            let subsecond = alarm.last_subsecond(below)?;
            let matches = self.calendar(after).seconds_until(alarm.time, format) == Some(0);
            matches.then_some(Moment { second: after.second, subsecond })
        };
        let later = || {
            let subsecond = alarm.first_subsecond(self.dividers.reload())?;
            let from = after.second.checked_add(1)?;
            let seconds = self.time.after(from).seconds_until(alarm.time, format)?;
            Some(Moment { second: from.checked_add(seconds)?, subsecond })
        };
        this_second().or_else(later)
    }
}

/// What an alarm is compared with (RM0090, RTC_ALRMAR and RTC_ALRMASSR).
#[derive(Clone, Copy, Debug, Default)]
pub struct Alarm {
    pub time: AlarmTime,
    pub subsecond: u32,
}

impl Alarm {
    /// Returns the bits of the second divider's counter that are compared.
    const fn compared(self) -> u32 {
        (1 << (self.subsecond >> 24 & 15)) - 1
    }

    /// Returns the largest matching value of the counter up to one.
    fn last_subsecond(self, most: u32) -> Option<u32> {
        let compared = self.compared();
        if compared == 0 {
            // It matches when the second begins.
            return None;
        }
        let wanted = self.subsecond & compared;
        let found = most & !compared | wanted;
        if found <= most { Some(found) } else { found.checked_sub(compared + 1) }
    }

    /// Returns the counter's first value in a second that matches.
    fn first_subsecond(self, reload: u32) -> Option<u32> {
        if self.compared() == 0 { Some(reload) } else { self.last_subsecond(reload) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32768 Hz divided by 128 and 256.
    const USUAL: Dividers = Dividers(0x7F_00FF);
    const NO_FIELDS: AlarmTime = AlarmTime(0x8080_8080);

    fn moments(alarm: Alarm, from: (u64, u32)) -> Vec<(u64, u32)> {
        let course = CalendarCourse::new(0, Calendar::RESET, USUAL);
        let mut at = Moment { second: from.0, subsecond: from.1 };
        let next = || {
            at = course.next_match(at, alarm, HourFormat::TwentyFour)?;
            Some((at.second, at.subsecond))
        };
        std::iter::from_fn(next).take(3).collect()
    }

    #[test]
    fn a_second_is_the_product_of_both_dividers() {
        let course = CalendarCourse::new(100, Calendar::RESET, USUAL);
        let at = |tick| {
            let Moment { second, subsecond } = course.moment(tick);
            (second, subsecond)
        };
        assert_eq!([0, 100, 227].map(at), [(0, 255); 3], "not before it has begun");
        assert_eq!([228, 100 + 32_767, 100 + 32_768].map(at), [(0, 254), (0, 0), (1, 255)]);
        for tick in [100, 228, 32_868, 1_000_036] {
            assert_eq!(course.tick_of(course.moment(tick)), tick);
        }
        let fastest = CalendarCourse::new(0, Calendar::RESET, Dividers(0));
        assert_eq!(fastest.moment(7), Moment { second: 7, subsecond: 0 });
    }

    #[test]
    fn an_alarm_without_fields_comes_each_second() {
        let alarm = Alarm { time: NO_FIELDS, subsecond: 0 };
        assert_eq!(moments(alarm, (0, 255)), [(1, 255), (2, 255), (3, 255)]);
        let minutes = Alarm { time: AlarmTime(0x8080_8000), subsecond: 0 };
        assert_eq!(moments(minutes, (0, 255)), [(60, 255), (120, 255), (180, 255)]);
    }

    #[test]
    fn the_lower_bits_of_the_subseconds_may_be_compared() {
        let bits = |bits: u32, value| Alarm { time: NO_FIELDS, subsecond: bits << 24 | value };
        assert_eq!(moments(bits(8, 100), (0, 255)), [(0, 100), (1, 100), (2, 100)]);
        assert_eq!(moments(bits(8, 100), (0, 100)), [(1, 100), (2, 100), (3, 100)]);
        assert_eq!(moments(bits(6, 10), (4, 255)), [(4, 202), (4, 138), (4, 74)]);
        assert_eq!(moments(bits(6, 10), (4, 10)), [(5, 202), (5, 138), (5, 74)]);
        // Of a value with more bits than are compared, the others do not count.
        assert_eq!(moments(bits(1, 0x7FFF), (0, 2)), [(0, 1), (1, 255), (1, 253)]);
        assert_eq!(moments(bits(15, 256), (0, 255)), [], "the counter never has that value");
    }
}
