//! Comparisons, minimum and maximum.

use std::cmp::Ordering;

use super::{Context, Format, INVALID, Number};

impl<F: Format> Context<'_, F> {
    /// FPCompare: returns the N, Z, C and V bits in their positions in the FPSCR.
    pub fn compare(&mut self, x: F::Bits, y: F::Bits, quiet_nan_is_invalid: bool) -> u32 {
        if let Some(flags) = Self::compare_fast(x, y) {
            return flags;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        let nan = |number| match number {
            Number::Nan { signalling, .. } => Some(signalling),
            _ => None,
        };
        if let (None, None) = (nan(a), nan(b)) {
            // Zeros are equal, whatever their sign.
            return match place::<F>(a).cmp(&place::<F>(b)) {
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

    /// Compares plain numbers; returns `None` if either is not plain.
    #[inline(always)]
    pub fn compare_fast(x: F::Bits, y: F::Bits) -> Option<u32> {
        if !is_plain::<F>(x) || !is_plain::<F>(y) {
            return None;
        }
        Some(match F::to_host(x).partial_cmp(&F::to_host(y)) {
            Some(Ordering::Less) => 0b1000 << 28,
            Some(Ordering::Greater) => 0b0010 << 28,
            // Neither is a NaN.
            Some(Ordering::Equal) | None => 0b0110 << 28,
        })
    }

    /// FPMaxNum and FPMinNum: a number takes precedence over a quiet NaN.
    pub fn extremum(&mut self, x: F::Bits, y: F::Bits, which: Ordering) -> F::Bits {
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
        // Here zeros compare by sign: the positive one is larger.
        let by_sign = |number: Number| (place::<F>(number), !number.negative::<F>());
        let order = by_sign(a).cmp(&by_sign(b));
        F::narrow(if order == which { a.bits::<F>() } else { b.bits::<F>() })
    }
}

/// Returns the rank of a number other than a NaN in the order of all numbers. Both zeros have the same
/// rank.
const fn place<F: Format>(number: Number) -> i64 {
    let magnitude = (number.bits::<F>() & !(1 << (F::WIDTH - 1))) as i64;
    if number.negative::<F>() { -magnitude } else { magnitude }
}

/// Returns whether a number is finite and cannot be flushed to zero.
#[inline(always)]
fn is_plain<F: Format>(bits: F::Bits) -> bool {
    let magnitude = F::wide(bits) & !(1 << (F::WIDTH - 1));
    magnitude == 0 || F::is_normal(bits, 1)
}
