//! Times as users write them.

/// The units of a time, and their picoseconds.
const UNITS: [(&str, u128); 5] = [
    ("ns", 1_000),
    ("us", 1_000_000),
    ("\u{b5}s", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
];
/// The most digits before the decimal point, and behind it.
const MOST_DIGITS: usize = 24;
const MOST_DECIMALS: usize = 9;

/// Parses a time with its unit, such as `120us`, `1.5 ms` or `1_000ns`, and returns it in picoseconds; what is less
/// than one is cut off. Every option and file that takes a time reads it in this way.
///
/// ```
/// assert_eq!(rtmark_units::picoseconds("1.5ms"), Some(1_500_000_000));
/// assert_eq!(rtmark_units::picoseconds("1.5"), None);
/// ```
pub fn picoseconds(text: &str) -> Option<u128> {
    let text = text.trim();
    let is_unit = |c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_');
    let (number, unit) = text.split_at(text.find(is_unit)?);
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim())?.1;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str, most: usize| {
        let digits = part.replace('_', "");
        (1..=most).contains(&digits.len()).then_some(digits)
    };
    let (whole, decimals) = (digits(whole, MOST_DIGITS)?, digits(decimals, MOST_DECIMALS)?);
    let part = decimals.parse::<u128>().ok()? * scale / 10_u128.pow(decimals.len() as u32);
    Some(whole.parse::<u128>().ok()? * scale + part)
}

#[cfg(test)]
mod tests {
    use super::picoseconds;

    #[test]
    fn times_are_read_with_unit_and_decimals() {
        for (text, expected) in [
            ("800ns", 800_000),
            (" 1_000 us ", 1_000_000_000),
            ("2\u{b5}s", 2_000_000),
            ("1.5s", 1_500_000_000_000),
            ("0.000000001s", 1_000),
            ("0.123456789ns", 123),
            ("999999999999999999999999s", 999_999_999_999_999_999_999_999_000_000_000_000),
        ] {
            assert_eq!(picoseconds(text), Some(expected), "{text}");
        }
        for bad in [
            "",
            "s",
            "_s",
            "5",
            "1.s",
            ".5s",
            "1..5s",
            "1.5.0s",
            "-1s",
            "0x10s",
            "1h",
            "1,5s",
            "1e3s",
            "1.0000000001s",
            "9999999999999999999999999s",
        ] {
            assert_eq!(picoseconds(bad), None, "{bad}");
        }
    }
}
