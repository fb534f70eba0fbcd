//! Numbers formatted for people.

/// Returns how many digits after the point a number needs.
fn digits(value: f64) -> usize {
    match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    }
}

/// Formats a number with the digits it needs, thousands grouped.
pub fn number(value: f64) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    fixed(value, if whole { 0 } else { digits(value) })
}

/// Formats a number with a fixed number of digits after the point, thousands grouped.
pub fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut grouped = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        // Four digits are readable without grouping.
        if at > 0 && whole.len() > 4 && (whole.len() - at).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    if !fraction.is_empty() {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// Formats a ratio, such as `1.5×`.
pub fn times(value: f64) -> String {
    format!("{}×", fixed(value, digits(value).max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_need() {
        let shown = |value| number(value).replace('\u{202f}', " ");
        assert_eq!(shown(3198.0), "3198");
        assert_eq!(shown(1_234_567.2), "1 234 567");
        assert_eq!(shown(-12_345.0), "-12 345");
        assert_eq!(shown(390.24), "390");
        assert_eq!(shown(42.55), "42.5");
        assert_eq!(shown(1.564), "1.56");
        assert_eq!(shown(7.0), "7");
        assert_eq!(times(1.0), "1.00×");
        assert_eq!(times(23.31), "23.3×");
    }
}
