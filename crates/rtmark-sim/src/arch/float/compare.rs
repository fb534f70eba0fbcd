//! Comparisons, and the larger or smaller of two numbers.

use std::cmp::Ordering;

use super::{Context, INVALID, Number};

impl Context<'_> {
    /// FPCompare: the N, Z, C and V bits as the FPSCR holds them.
    pub fn compare(&mut self, x: u32, y: u32, quiet_nan_is_invalid: bool) -> u32 {
        if let Some(flags) = Self::compare_at_once(x, y) {
            return flags;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        let nan = |number| match number {
            Number::Nan { signalling, .. } => Some(signalling),
            _ => None,
        };
        if let (None, None) = (nan(a), nan(b)) {
            // Zeros are equal, whatever their sign.
            let (x, y) = (a.value() + 0.0, b.value() + 0.0);
            return match x.total_cmp(&y) {
                Ordering::Equal => 0b0110 << 28,
                Ordering::Less => 0b1000 << 28,
                Ordering::Greater => 0b0010 << 28,
            };
        }
        if quiet_nan_is_invalid || nan(a) == Some(true) || nan(b) == Some(true) {
            self.raise(INVALID);
        }
        0b0011 << 28
    }

    /// Compares plain numbers; `None` where either is none.
    #[inline(always)]
    pub fn compare_at_once(x: u32, y: u32) -> Option<u32> {
        if !is_plain(x) || !is_plain(y) {
            return None;
        }
        Some(match f32::from_bits(x).partial_cmp(&f32::from_bits(y)) {
            Some(Ordering::Less) => 0b1000 << 28,
            Some(Ordering::Greater) => 0b0010 << 28,
            // Neither is a NaN.
            Some(Ordering::Equal) | None => 0b0110 << 28,
        })
    }

    /// FPMaxNum and FPMinNum: a quiet NaN gives way to a number.
    pub fn extremum(&mut self, x: u32, y: u32, which: Ordering) -> u32 {
        let (a, b) = (self.unpack(x), self.unpack(y));
        let quiet = |number| matches!(number, Number::Nan { signalling: false, .. });
        let (a, b) = match (quiet(a), quiet(b)) {
            (true, false) => (b, b),
            (false, true) => (a, a),
            _ => (a, b),
        };
        if let Some(nan) = self.nan_of(&[a, b]) {
            return nan;
        }
        // Zeros compare by their sign here: the larger one is positive.
        let order = a.value().total_cmp(&b.value());
        if order == which { a.bits() } else { b.bits() }
    }
}

/// Whether a number is neither infinite, nor none, nor may be flushed to zero.
const fn is_plain(bits: u32) -> bool {
    let exponent = bits >> 23 & 0xFF;
    (exponent != 0 && exponent != 0xFF) || bits << 1 == 0
}
