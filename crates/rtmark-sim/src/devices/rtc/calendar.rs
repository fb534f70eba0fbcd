//! The calendar of a real-time clock, and the moments at which an alarm matches it.
//!
//! Years 2000 to 2099, of which every fourth is a leap year. Nothing here knows what counts the seconds.

/// The days of the century.
const CENTURY: u64 = 36_525;
/// The days of four years, the first of which is a leap year.
const FOUR_YEARS: u32 = 1_461;
const DAY: u64 = 86_400;
/// Any day of a month, and any day of the week, comes again within so many days.
const ALL_DAYS: u32 = 62;

/// The days of a leap year before each month.
const BEFORE: [u32; 12] = [0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335];

/// How hours are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HourFormat {
    #[default]
    TwentyFour,
    /// 1 to 12, and PM.
    Twelve,
}

/// A date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Days since 1 January 2000.
    day: u32,
    /// 1 to 7; 0 if the program has set that, which the manuals forbid: then 1 is next.
    weekday: u8,
    second_of_day: u32,
}

/// Returns a number of two decimal digits.
const fn bcd(number: u32) -> u32 {
    (number / 10) << 4 | (number % 10)
}

/// Returns the number of two decimal digits, with so many bits for the first; `None` if the second is none.
fn number(value: u32, tens: u32) -> Option<u32> {
    let (ten, unit) = (value >> 4 & ((1 << tens) - 1), value & 15);
    (unit < 10 && ten < 10).then_some(10 * ten + unit)
}

const fn days_before(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4);
    let after_february = !is_leap && month > 2;
    BEFORE[month as usize - 1] - after_february as u32
}

impl Calendar {
    /// What a reset sets it to: Monday, 1 January 2000, midnight (RM0090, RTC_TR and RTC_DR).
    pub const RESET: Self = Self { day: 0, weekday: 1, second_of_day: 0 };

    /// Returns what the registers for time and date hold, unless there is no such time or date.
    pub fn of_registers(time: u32, date: u32, format: HourFormat) -> Option<Self> {
        let [second, minute] = [number(time, 3)?, number(time >> 8, 3)?];
        let hour = number(time >> 16, 2)?;
        let is_pm = time >> 22 & 1 == 1;
        let hour = match format {
            HourFormat::TwentyFour => Some(hour).filter(|hour| *hour < 24 && !is_pm),
            HourFormat::Twelve if (1..=12).contains(&hour) => {
                Some(hour % 12 + 12 * u32::from(is_pm))
            }
            HourFormat::Twelve => None,
        }?;
        let [year, month, day] = [number(date >> 16, 4)?, number(date >> 8, 1)?, number(date, 2)?];
        let days = match (month, month % 12) {
            (1..=12, 0) => 31,
            (1..=12, _) => days_before(year, month + 1) - days_before(year, month),
            _ => return None,
        };
        let fits = second < 60 && minute < 60 && (1..=days).contains(&day);
        // The first of four years is the leap year.
        let leap_days = u32::from(!year.is_multiple_of(4));
        let before = year / 4 * FOUR_YEARS + year % 4 * 365 + leap_days;
        fits.then(|| Self {
            day: before + days_before(year, month) + day - 1,
            weekday: (date >> 13 & 7) as u8,
            second_of_day: (hour * 60 + minute) * 60 + second,
        })
    }

    /// Returns the year, the month and the day of the month.
    fn date(self) -> (u32, u32, u32) {
        let (fours, rest) = (self.day / FOUR_YEARS, self.day % FOUR_YEARS);
        // A year is no longer than the first one.
        let year = rest.saturating_sub(1) / 365;
        let of_year = rest - if year == 0 { 0 } else { 365 * year + 1 };
        let year = 4 * fours + year;
        let month = (1..=12).rev().find(|month| days_before(year, *month) <= of_year).unwrap_or(1);
        (year, month, of_year - days_before(year, month) + 1)
    }

    /// Returns what the registers for time and date show.
    pub fn registers(self, format: HourFormat) -> (u32, u32) {
        let [second, minute] = [self.second_of_day % 60, self.second_of_day / 60 % 60];
        let time = shown_hour(self.second_of_day / 3_600, format) | bcd(minute) << 8 | bcd(second);
        let (year, month, day) = self.date();
        let date = bcd(year) << 16 | u32::from(self.weekday) << 13 | bcd(month) << 8 | bcd(day);
        (time, date)
    }

    /// Returns the date and time so many seconds later.
    pub fn after(self, seconds: u64) -> Self {
        let seconds = u64::from(self.second_of_day).saturating_add(seconds);
        let (days, second_of_day) = (seconds / DAY, (seconds % DAY) as u32);
        let weekday = match days {
            0 => self.weekday,
            _ => ((u64::from(self.weekday) + 6 + days % 7) % 7 + 1) as u8,
        };
        let day = ((u64::from(self.day) + days) % CENTURY) as u32;
        Self { day, weekday, second_of_day }
    }

    /// Returns the seconds until an alarm matches, 0 if it does now; `None` if it never will.
    pub fn seconds_until(self, alarm: AlarmTime, format: HourFormat) -> Option<u64> {
        let midnight = Self { second_of_day: 0, ..self };
        let today = self.second_of_day;
        (0..=ALL_DAYS).find_map(|days| {
            let begin = u64::from(days) * DAY;
            let (_, date) = midnight.after(begin).registers(format);
            let from = if days == 0 { today } else { 0 };
            let second = alarm.matches_date(date).then(|| alarm.next_of_day(from, format))??;
            Some(begin + u64::from(second) - u64::from(today))
        })
    }
}

/// Returns an hour in its place in the register for the time.
const fn shown_hour(hour: u32, format: HourFormat) -> u32 {
    match format {
        HourFormat::TwentyFour => bcd(hour) << 16,
        HourFormat::Twelve => bcd((hour + 11) % 12 + 1) << 16 | (hour / 12) << 22,
    }
}

/// When an alarm matches, as its register says it (RM0090, RTC_ALRMAR).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlarmTime(pub u32);

impl AlarmTime {
    /// Returns whether a field is compared, given the bit that masks it.
    const fn compares(self, mask: u32) -> bool {
        self.0 >> mask & 1 == 0
    }

    const fn matches_date(self, date: u32) -> bool {
        let wanted = self.0 >> 24 & 0x3F;
        let is_weekday = self.0 >> 30 & 1 == 1;
        let shown = if is_weekday { date >> 13 & 7 } else { date & 0x3F };
        // Of the day's four bits and two, only the four are the day of the week.
        let wanted = if is_weekday { wanted & 15 } else { wanted };
        !self.compares(31) || shown == wanted
    }

    /// Returns the first matching second of a day from one on.
    fn next_of_day(self, from: u32, format: HourFormat) -> Option<u32> {
        let hour_fits =
            |hour: &u32| !self.compares(23) || shown_hour(*hour, format) == self.0 & 0x7F_0000;
        let minute_fits = |minute: &u32| !self.compares(15) || bcd(*minute) == self.0 >> 8 & 0x7F;
        let second_fits = |second: &u32| !self.compares(7) || bcd(*second) == self.0 & 0x7F;
        (from / 3_600..24).filter(hour_fits).find_map(|hour| {
            let from = from.saturating_sub(hour * 3_600);
            (from / 60..60).filter(minute_fits).find_map(|minute| {
                let from = from.saturating_sub(minute * 60);
                let second = (from..60).find(second_fits)?;
                Some((hour * 60 + minute) * 60 + second)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H24: HourFormat = HourFormat::TwentyFour;
    const H12: HourFormat = HourFormat::Twelve;

    fn calendar(time: u32, date: u32) -> Calendar {
        Calendar::of_registers(time, date, H24).expect("a date and time")
    }

    /// The weekdays are those of any printed calendar.
    #[test]
    fn days_follow_each_other_as_in_a_printed_calendar() {
        let date = |year: u32, weekday: u32, month: u32, day: u32| {
            year << 16 | weekday << 13 | month << 8 | day
        };
        let pairs = [
            (date(0x23, 7, 0x12, 0x31), date(0x24, 1, 0x01, 0x01)),
            (date(0x24, 3, 0x02, 0x28), date(0x24, 4, 0x02, 0x29)),
            (date(0x24, 4, 0x02, 0x29), date(0x24, 5, 0x03, 0x01)),
            (date(0x23, 2, 0x02, 0x28), date(0x23, 3, 0x03, 0x01)),
            (date(0x25, 5, 0x02, 0x28), date(0x25, 6, 0x03, 0x01)),
            (date(0x00, 2, 0x02, 0x29), date(0x00, 3, 0x03, 0x01)),
            (date(0x24, 2, 0x04, 0x30), date(0x24, 3, 0x05, 0x01)),
            (date(0x24, 5, 0x05, 0x31), date(0x24, 6, 0x06, 0x01)),
            (date(0x24, 7, 0x06, 0x30), date(0x24, 1, 0x07, 0x01)),
            (date(0x24, 3, 0x07, 0x31), date(0x24, 4, 0x08, 0x01)),
            (date(0x24, 6, 0x08, 0x31), date(0x24, 7, 0x09, 0x01)),
            (date(0x24, 1, 0x09, 0x30), date(0x24, 2, 0x10, 0x01)),
            (date(0x24, 4, 0x10, 0x31), date(0x24, 5, 0x11, 0x01)),
            (date(0x24, 6, 0x11, 0x30), date(0x24, 7, 0x12, 0x01)),
            (date(0x99, 4, 0x12, 0x31), date(0x00, 5, 0x01, 0x01)),
        ];
        for (before, after) in pairs {
            let last = calendar(0x23_5959, before);
            assert_eq!(last.registers(H24), (0x23_5959, before));
            assert_eq!(last.after(1).registers(H24), (0, after), "{before:#x}");
        }
        // 1 March 2024, a Friday, is 8826 days after 1 January 2000, a Saturday.
        let first = calendar(0, date(0, 6, 1, 1));
        assert_eq!(first.after(8_826 * DAY).registers(H24), (0, date(0x24, 5, 0x03, 0x01)));
    }

    /// Each of the century's days, against months of which the lengths are written down.
    #[test]
    fn every_day_of_the_century_has_its_date() {
        const LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut day = Calendar::RESET;
        let mut days = 0;
        for year in 0..100 {
            for month in 1..=12 {
                let leap = u32::from(month == 2 && year % 4 == 0);
                for of_month in 1..=LENGTHS[month as usize - 1] + leap {
                    assert_eq!(day.date(), (year, month, of_month));
                    let (time, date) = day.registers(H24);
                    assert_eq!(Calendar::of_registers(time, date, H24), Some(day));
                    day = day.after(DAY);
                    days += 1;
                }
            }
        }
        assert_eq!((days, day.date()), (CENTURY, (0, 1, 1)));
    }

    #[test]
    fn twelve_hours_have_their_half() {
        let hours = [(0, 0x12_0000), (1, 0x01_0000), (11, 0x11_0000), (12, 0x52_0000)];
        for (hour, shown) in hours.into_iter().chain([(13, 0x41_0000), (23, 0x51_0000)]) {
            let time = Calendar::RESET.after(hour * 3_600);
            assert_eq!(time.registers(H12).0, shown, "{hour}");
            assert_eq!(Calendar::of_registers(shown, 0x2101, H12), Some(time));
        }
    }

    #[test]
    fn impossible_times_and_dates_are_none() {
        let times = [0x24_0000, 0x00_6000, 0x00_0060, 0x0A_0000, 0x00_0A00, 0x40_0000];
        assert!(times.iter().all(|it| Calendar::of_registers(*it, 0x2101, H24).is_none()));
        let dates = [0x2100, 0x2001, 0x3301, 0x2132, 0x25_2229, 0x2431, 0xA0_2101, 0x210A];
        assert!(dates.iter().all(|it| Calendar::of_registers(0, *it, H24).is_none()));
        for time in [0x00_0000, 0x13_0000] {
            assert_eq!(Calendar::of_registers(time, 0x2101, H12), None);
        }
    }

    #[test]
    fn alarms_match_the_fields_that_are_not_masked() {
        const ALL: u32 = 1 << 31 | 1 << 23 | 1 << 15 | 1 << 7;
        // Wednesday, 28 February 2024, 12:34:56.
        let now = calendar(0x12_3456, 0x24_6228);
        let until = |alarm: u32| now.seconds_until(AlarmTime(alarm), H24);
        assert_eq!(until(ALL), Some(0));
        assert_eq!(until(ALL & !(1 << 7) | 0x10), Some(14), "each minute");
        assert_eq!(until(ALL & !(1 << 15 | 1 << 7) | 0x3000), Some(55 * 60 + 4), "each hour");
        assert_eq!(until(1 << 31 | 0x12_3455), Some(DAY - 1), "each day");
        assert_eq!(until(0x2912_3456), Some(DAY), "the 29th");
        assert_eq!(until(0x3100_0000), Some(32 * DAY - (12 * 60 + 34) * 60 - 56), "the 31st");
        assert_eq!(until(1 << 30 | 0x0212_3456), Some(6 * DAY), "a Tuesday");
        assert_eq!(until(ALL & !(1 << 31) | 0x2900_0000), Some(DAY - (12 * 60 + 34) * 60 - 56));
        assert_eq!([until(0x3200_0000), until(1 << 31 | 0x24_0000)], [None, None]);
        let alarm = AlarmTime(1 << 31 | 0x41_0000);
        assert_eq!(now.seconds_until(alarm, H12), Some(25 * 60 + 4), "1 PM");
        assert_eq!(now.seconds_until(alarm, H24), None);
    }
}
