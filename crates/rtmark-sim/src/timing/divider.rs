//! Dividers: how long a division takes beyond its least time.

/// A divider whose time depends on the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divider {
    /// No cycles when an operand is zero, one when the dividend has fewer binary digits than the divisor, else three
    /// and one for each four digits by which it has more. A negative divisor that is a power of two counts as one digit
    /// less; and so does the dividend 0x8000_0000 with any other negative divisor. Measured on a CC2650 and an
    /// STM32F100.
    FourDigitsACycle,
}

impl Divider {
    /// Returns the cycles beyond the least time.
    pub fn extra_cycles(self, dividend: u32, divisor: u32, signed: bool) -> u8 {
        let Self::FourDigitsACycle = self;
        if dividend == 0 || divisor == 0 {
            return 0;
        }
        let magnitude = |value: u32| if signed { (value as i32).unsigned_abs() } else { value };
        let (n, m) = (magnitude(dividend), magnitude(divisor));
        let mut digits = m.leading_zeros() as i32 - n.leading_zeros() as i32;
        if signed && divisor >> 31 == 1 {
            match (m.is_power_of_two(), n == 1 << 31) {
                (true, false) => digits += 1,
                (false, true) => digits -= 1,
                _ => {}
            }
        }
        if digits < 0 { 1 } else { 3 + (digits / 4) as u8 }
    }

    /// Returns by how many binary digits more than the divisor the dividend has if a division takes so many cycles
    /// beyond the least time, as the least number of digits and the count of possible ones, for operands that are
    /// neither zero nor negative. Returns `None` if it never takes so many.
    pub const fn digits_for(self, extra_cycles: u8) -> Option<(i32, u32)> {
        let Self::FourDigitsACycle = self;
        match extra_cycles {
            1 => Some((-31, 31)),
            3..=10 => Some((4 * (extra_cycles as i32 - 3), 4)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_say_how_long_a_division_takes() {
        for (n, m) in (0..32).flat_map(|n| (0..32).map(move |m| (n, m))) {
            // The least and the greatest numbers of so many digits.
            for (n, m) in [(1 << n, 1 << m), (u32::MAX >> n, 1 << m), (1 << n, u32::MAX >> m)] {
                let digits = u32::ilog2(n).cast_signed() - u32::ilog2(m).cast_signed();
                let cycles = Divider::FourDigitsACycle.extra_cycles(n, m, false);
                let found: Vec<u8> = (0..16)
                    .filter(|&extra| {
                        let range = Divider::FourDigitsACycle.digits_for(extra);
                        range.is_some_and(|(least, count)| {
                            (least..least + count.cast_signed()).contains(&digits)
                        })
                    })
                    .collect();
                assert_eq!(found, [cycles], "{n} / {m}");
                if n.max(m) < 1 << 31 {
                    assert_eq!(Divider::FourDigitsACycle.extra_cycles(n, m, true), cycles);
                }
            }
        }
    }
}
