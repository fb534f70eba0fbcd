//! Conversions between half precision and the other formats (DDI 0403, A2.5.10).

use super::{Context, Format, INEXACT, INVALID, Number, OVERFLOW, UNDERFLOW, signed};

impl<F: Format> Context<'_, F> {
    /// FPHalfToSingle, FPHalfToDouble. Half precision has an alternative format of its own (FPSCR.AHP).
    pub fn half_to_float(&mut self, half: u16) -> F::Bits {
        let negative = half >> 15 == 1;
        let fraction = u64::from(half & 0x3FF);
        let exponent = u64::from(half >> 10 & 0x1F);
        let alternative = *self.fpscr >> 26 & 1 == 1;
        let moved = fraction << (F::FRACTION - 10);
        match exponent {
            0 if fraction == 0 => Self::signed(negative, 0),
            0 => self.round(negative, fraction.into(), -24),
            31 if !alternative && fraction == 0 => Self::signed(negative, F::INFINITY),
            31 if !alternative => {
                let bits = signed::<F>(negative, F::INFINITY | moved);
                let number = Number::Nan { bits, signalling: fraction & 0x200 == 0 };
                self.nan_of(&[number]).unwrap_or(F::narrow(F::DEFAULT_NAN))
            }
            // The exponent bias of half precision is 15.
            _ => Self::signed(negative, (exponent + F::EXPONENTS / 2 - 15) << F::FRACTION | moved),
        }
    }

    /// FPSingleToHalf, FPDoubleToHalf.
    pub fn float_to_half(&mut self, x: F::Bits) -> u16 {
        let alternative = *self.fpscr >> 26 & 1 == 1;
        let number = self.unpack(x);
        let sign = (F::wide(x) >> (F::WIDTH - 16) & 0x8000) as u16;
        let (negative, magnitude, exponent) = match number {
            Number::Nan { .. } if alternative => {
                self.raise(INVALID);
                return sign;
            }
            Number::Nan { bits, .. } => {
                let quiet = self.nan_of(&[number]).map_or(bits, F::wide);
                let sign = (quiet >> (F::WIDTH - 16) & 0x8000) as u16;
                return sign | 0x7E00 | (quiet >> (F::FRACTION - 10) & 0x1FF) as u16;
            }
            Number::Infinite { .. } if alternative => {
                self.raise(INVALID);
                return sign | 0x7FFF;
            }
            Number::Infinite { .. } => return sign | 0x7C00,
            Number::Zero { .. } => return sign,
            Number::Finite { negative, mantissa, exponent } => {
                (negative, u128::from(mantissa), exponent)
            }
        };
        let bits = 128 - magnitude.leading_zeros() as i32;
        let tiny = exponent + bits - 1 < -14;
        let mut last = (exponent + bits - 11).max(-24);
        let drop = (last - exponent).min(100);
        let (mut kept, inexact) = if drop <= 0 {
            ((magnitude << -drop) as u16, false)
        } else {
            let kept = (magnitude >> drop) as u16;
            let remainder = magnitude & ((1 << drop) - 1);
            let up = self.rounds_up(negative, kept & 1 == 1, remainder, 1 << (drop - 1));
            (kept + u16::from(up), remainder != 0)
        };
        if kept == 1 << 11 {
            (kept, last) = (1 << 10, last + 1);
        }
        let biased = last + 25;
        let overflow = kept >> 10 != 0 && biased >= if alternative { 32 } else { 31 };
        if overflow && alternative {
            self.raise(INVALID);
            return sign | 0x7FFF;
        }
        if overflow {
            self.raise(OVERFLOW | INEXACT);
            let to_infinity = self.rounding.overflows_to_infinity(negative);
            return sign | if to_infinity { 0x7C00 } else { 0x7BFF };
        }
        if inexact {
            self.raise(INEXACT | if tiny { UNDERFLOW } else { 0 });
        }
        if kept >> 10 == 0 { sign | kept } else { sign | (biased as u16) << 10 | (kept & 0x3FF) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Single;
    use super::*;

    #[test]
    fn half_precision_survives_a_round_trip() {
        for half in 0..=0xFFFFu16 {
            let mut fpscr = 0;
            let mut context = Context::<Single>::new(&mut fpscr);
            let single = context.half_to_float(half);
            if !f32::from_bits(single).is_nan() {
                assert_eq!(context.float_to_half(single), half);
            }
        }
    }
}
