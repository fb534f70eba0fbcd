//! Conversions between floating-point numbers, integers and fixed-point numbers.

use super::{Context, Double, Format, INEXACT, INVALID, Number, Single, signed};

impl<F: Format> Context<'_, F> {
    /// FPRoundInt: rounds to an integer in floating-point format. `exactness` is the flag to raise if the
    /// number was not an integer.
    pub fn round_to_integer(&mut self, x: F::Bits, exactness: u32) -> F::Bits {
        let number = self.unpack(x);
        if let Some(nan) = self.nan_of(&[number]) {
            return nan;
        }
        let Number::Finite { negative, mantissa, exponent } = number else {
            return F::narrow(number.bits::<F>());
        };
        if exponent >= 0 {
            return x;
        }
        let drop = exponent.unsigned_abs();
        let magnitude = u128::from(mantissa);
        let (whole, remainder) =
            (magnitude >> drop.min(127), magnitude & ((1 << drop.min(127)) - 1));
        // What is dropped beyond the mantissa's width is less than one half.
        let half = 1u128 << (drop - 1).min(126);
        let up = self.rounds_up(negative, whole & 1 == 1, remainder, half);
        if remainder != 0 {
            self.raise(exactness);
        }
        let whole = whole + u128::from(up);
        if whole == 0 { Self::signed(negative, 0) } else { self.round(negative, whole, 0) }
    }

    /// FPToFixed: converts to an integer of `bits` bits, `fraction` of them below the point.
    pub fn float_to_fixed(&mut self, x: F::Bits, bits: u32, fraction: u32, unsigned: bool) -> u32 {
        let (low, high) = if unsigned {
            (0, (1i128 << bits) - 1)
        } else {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        };
        let (negative, magnitude, exponent) = match self.unpack(x) {
            Number::Nan { .. } => {
                self.raise(INVALID);
                return 0;
            }
            Number::Zero { .. } => return 0,
            Number::Infinite { negative } => (negative, 1u128, 100),
            Number::Finite { negative, mantissa, exponent } => {
                (negative, u128::from(mantissa), exponent + fraction as i32)
            }
        };
        let (whole, inexact) = if exponent >= 0 {
            (magnitude << exponent.min(70), false)
        } else {
            let drop = exponent.unsigned_abs().min(100);
            let whole = magnitude >> drop;
            let remainder = magnitude & ((1 << drop) - 1);
            let up = self.rounds_up(negative, whole & 1 == 1, remainder, 1 << (drop - 1));
            (whole + u128::from(up), remainder != 0)
        };
        let value = if negative { -(whole as i128) } else { whole as i128 };
        let clamped = value.clamp(low, high);
        if clamped != value {
            self.raise(INVALID);
        } else if inexact {
            self.raise(INEXACT);
        }
        clamped as u32
    }

    /// FixedToFP: converts from a 32-bit integer that is already extended, with `fraction` bits below the
    /// point.
    pub fn fixed_to_float(&mut self, value: i64, fraction: u32) -> F::Bits {
        if value == 0 {
            return F::narrow(0);
        }
        self.round(value < 0, value.unsigned_abs().into(), -(fraction as i32))
    }
}

impl Context<'_, Single> {
    /// FPSingleToDouble; always exact.
    pub fn single_to_double(&mut self, x: u32) -> u64 {
        let number = self.unpack(x);
        let mut double = self.with_format::<Double>();
        match number {
            Number::Nan { bits, .. } => {
                // The sign and the highest bits of the fraction are preserved.
                let bits = signed::<Double>(
                    bits >> 31 == 1,
                    Double::INFINITY | (bits & Single::FRACTION_MASK) << 29,
                );
                let nan = Number::Nan { bits, signalling: bits & Double::QUIET == 0 };
                double.nan_of(&[nan]).unwrap_or(bits)
            }
            Number::Infinite { negative } => signed::<Double>(negative, Double::INFINITY),
            Number::Zero { negative } => signed::<Double>(negative, 0),
            Number::Finite { negative, mantissa, exponent } => {
                double.round(negative, mantissa.into(), exponent)
            }
        }
    }
}

impl Context<'_, Double> {
    /// FPDoubleToSingle.
    pub fn double_to_single(&mut self, x: u64) -> u32 {
        let number = self.unpack(x);
        let mut single = self.with_format::<Single>();
        match number {
            Number::Nan { bits, signalling } => {
                let fraction = bits >> 29 & Single::FRACTION_MASK;
                let bits =
                    signed::<Single>(bits >> 63 == 1, Single::INFINITY | Single::QUIET | fraction);
                single.nan_of(&[Number::Nan { bits, signalling }]).unwrap_or(bits as u32)
            }
            Number::Infinite { negative } => signed::<Single>(negative, Single::INFINITY) as u32,
            Number::Zero { negative } => signed::<Single>(negative, 0) as u32,
            Number::Finite { negative, mantissa, exponent } => {
                single.round(negative, mantissa.into(), exponent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_saturate_and_set_invalid() {
        let mut fpscr = 0;
        let mut context = Context::<Single>::new(&mut fpscr);
        assert_eq!(context.float_to_fixed(3e9f32.to_bits(), 32, 0, false), 0x7FFF_FFFF);
        assert_eq!(context.float_to_fixed((-1f32).to_bits(), 32, 0, true), 0);
        assert_eq!(context.float_to_fixed(2.5f32.to_bits(), 32, 0, false), 2);
        assert_eq!(context.float_to_fixed(1.25f32.to_bits(), 16, 8, false), 0x140);
        assert_eq!(context.fixed_to_float(-3, 1), (-1.5f32).to_bits());
        assert_eq!(fpscr & INVALID, INVALID);
    }
}
