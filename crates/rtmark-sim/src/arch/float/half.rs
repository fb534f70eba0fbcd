//! Conversions between half and single precision (DDI 0403, A2.5.10).

use super::{
    Context, DEFAULT_NAN, INEXACT, INFINITY, INVALID, Number, OVERFLOW, UNDERFLOW, signed,
};

impl Context<'_> {
    /// FPHalfToSingle. Half precision has its own alternative format (FPSCR.AHP).
    pub fn half_to_single(&mut self, half: u16) -> u32 {
        let negative = half >> 15 == 1;
        let fraction = u32::from(half & 0x3FF);
        let exponent = i32::from(half >> 10 & 0x1F);
        let alternative = *self.fpscr >> 26 & 1 == 1;
        match exponent {
            0 if fraction == 0 => signed(negative, 0),
            0 => self.round(negative, fraction.into(), -24),
            31 if !alternative && fraction == 0 => signed(negative, INFINITY),
            31 if !alternative => {
                let bits = signed(negative, INFINITY | fraction << 13);
                let number = Number::Nan { bits, signalling: fraction & 0x200 == 0 };
                self.nan_of(&[number]).unwrap_or(DEFAULT_NAN)
            }
            _ => signed(negative, ((exponent + 112) as u32) << 23 | fraction << 13),
        }
    }

    /// FPSingleToHalf.
    pub fn single_to_half(&mut self, x: u32) -> u16 {
        let alternative = *self.fpscr >> 26 & 1 == 1;
        let number = self.unpack(x);
        let sign = (x >> 16 & 0x8000) as u16;
        let (negative, magnitude, exponent) = match number {
            Number::Nan { .. } if alternative => {
                self.raise(INVALID);
                return sign;
            }
            Number::Nan { bits, .. } => {
                let quiet = self.nan_of(&[number]).unwrap_or(bits);
                return (quiet >> 16 & 0x8000) as u16 | 0x7E00 | (quiet >> 13 & 0x1FF) as u16;
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
    use super::*;

    #[test]
    fn halves_survive_the_way_there_and_back() {
        for half in 0..=0xFFFFu16 {
            let mut fpscr = 0;
            let mut context = Context::new(&mut fpscr);
            let single = context.half_to_single(half);
            if !f32::from_bits(single).is_nan() {
                assert_eq!(context.single_to_half(single), half);
            }
        }
    }
}
