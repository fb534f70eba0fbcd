//! Arithmetic of FPv4-SP and FPv5, in single and double precision (DDI 0403, A2.5; DDI 0553, E1).
//!
//! Operands are unpacked, the exact result (or one with a sticky bit for everything below its last bit) is
//! formed in wide integers, and a single routine rounds it. So every rounding mode, flush-to-zero, default
//! NaN and each cumulative flag are bit-exact, and the same on every host. In the plain case, where all
//! hosts agree by IEEE 754 as well, the host's own arithmetic gives the same result faster.

mod compare;
mod convert;
mod format;
mod half;
#[cfg(test)]
mod tests;

pub use self::format::{Double, Format, Single};

use std::marker::PhantomData;

/// Cumulative exception flags of the FPSCR.
pub const INVALID: u32 = 1;
const DIVIDE_BY_ZERO: u32 = 1 << 1;
const OVERFLOW: u32 = 1 << 2;
const UNDERFLOW: u32 = 1 << 3;
pub const INEXACT: u32 = 1 << 4;
const INPUT_DENORMAL: u32 = 1 << 7;

/// The position to which sums align the highest bit of their operands: two bits above remain for a carry.
const SUM_BITS: u32 = 126;

/// How results are rounded: the FPSCR's four modes, and to nearest with ties away from zero, which only
/// instructions can select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Nearest,
    Up,
    Down,
    Zero,
    Away,
}

impl Rounding {
    /// Returns whether a result that is too large becomes infinity rather than the largest number.
    const fn overflows_to_infinity(self, negative: bool) -> bool {
        match self {
            Self::Nearest | Self::Away => true,
            Self::Up => !negative,
            Self::Down => negative,
            Self::Zero => false,
        }
    }
}

/// The floating-point status register, as seen by arithmetic on numbers of one format.
pub struct Context<'a, F = Single> {
    pub fpscr: &'a mut u32,
    pub rounding: Rounding,
    format: PhantomData<F>,
}

/// An unpacked number; finite ones are `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Nan { bits: u64, signalling: bool },
    Infinite { negative: bool },
    Zero { negative: bool },
    Finite { negative: bool, mantissa: u64, exponent: i32 },
}

impl Number {
    const fn negative<F: Format>(self) -> bool {
        match self {
            Self::Nan { bits, .. } => bits >> (F::WIDTH - 1) == 1,
            Self::Infinite { negative }
            | Self::Zero { negative }
            | Self::Finite { negative, .. } => negative,
        }
    }

    /// Returns the encoding; a number that was flushed to zero is encoded as zero.
    const fn bits<F: Format>(self) -> u64 {
        match self {
            Self::Nan { bits, .. } => bits,
            Self::Infinite { negative } => signed::<F>(negative, F::INFINITY),
            Self::Zero { negative } => signed::<F>(negative, 0),
            Self::Finite { negative, mantissa, .. } if mantissa >> F::FRACTION == 0 => {
                signed::<F>(negative, mantissa)
            }
            Self::Finite { negative, mantissa, exponent } => {
                let biased = (exponent - F::SMALLEST + 1) as u64;
                signed::<F>(negative, biased << F::FRACTION | mantissa & F::FRACTION_MASK)
            }
        }
    }
}

const fn signed<F: Format>(negative: bool, magnitude: u64) -> u64 {
    (negative as u64) << (F::WIDTH - 1) | magnitude
}

/// Shifts right; the last bit is sticky for what is shifted out.
const fn jam(value: u128, amount: u32) -> u128 {
    match amount {
        0 => value,
        1..=127 => value >> amount | (value & ((1 << amount) - 1) != 0) as u128,
        _ => (value != 0) as u128,
    }
}

/// Returns a nonzero magnitude shifted so that its highest bit is just below `bits`, and its exponent.
const fn aligned(magnitude: u128, exponent: i32, bits: u32) -> (u128, i32) {
    let shift = magnitude.leading_zeros() - (128 - bits);
    (magnitude << shift, exponent - shift as i32)
}

impl<'a, F: Format> Context<'a, F> {
    pub fn new(fpscr: &'a mut u32) -> Self {
        let rounding = match *fpscr >> 22 & 3 {
            0 => Rounding::Nearest,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::Zero,
        };
        Self { fpscr, rounding, format: PhantomData }
    }

    /// Returns this status for numbers of another format.
    fn with_format<G: Format>(&mut self) -> Context<'_, G> {
        Context { fpscr: self.fpscr, rounding: self.rounding, format: PhantomData }
    }

    fn raise(&mut self, flags: u32) {
        *self.fpscr |= flags;
    }

    fn flushes(&self) -> bool {
        *self.fpscr >> 24 & 1 == 1
    }

    fn default_nan(&self) -> bool {
        *self.fpscr >> 25 & 1 == 1
    }

    /// Returns the result of the host's arithmetic, where it is certain to be the same: rounding to
    /// nearest, normal operands, a result that cannot underflow, and nothing to flag, because inexact
    /// results have been flagged before.
    #[inline(always)]
    fn by_host<const N: usize>(
        &self,
        operands: [F::Bits; N],
        operation: impl FnOnce([F::Host; N]) -> F::Host,
    ) -> Option<F::Bits> {
        let flagged = *self.fpscr & INEXACT != 0 && self.rounding == Rounding::Nearest;
        if !flagged || !operands.iter().all(|&bits| F::is_normal(bits, 1)) {
            return None;
        }
        let result = F::from_host(operation(operands.map(F::to_host)));
        F::is_normal(result, 2).then_some(result)
    }

    #[inline(always)]
    pub fn add_fast(&self, x: F::Bits, y: F::Bits) -> Option<F::Bits> {
        self.by_host([x, y], |[x, y]| x + y)
    }

    #[inline(always)]
    pub fn subtract_fast(&self, x: F::Bits, y: F::Bits) -> Option<F::Bits> {
        self.by_host([x, y], |[x, y]| x - y)
    }

    #[inline(always)]
    pub fn multiply_fast(&self, x: F::Bits, y: F::Bits) -> Option<F::Bits> {
        self.by_host([x, y], |[x, y]| x * y)
    }

    #[inline(always)]
    pub fn divide_fast(&self, x: F::Bits, y: F::Bits) -> Option<F::Bits> {
        self.by_host([x, y], |[x, y]| x / y)
    }

    fn unpack(&mut self, bits: F::Bits) -> Number {
        let bits = F::wide(bits);
        let negative = bits >> (F::WIDTH - 1) == 1;
        let fraction = bits & F::FRACTION_MASK;
        match bits >> F::FRACTION & F::EXPONENTS {
            0 if fraction == 0 => Number::Zero { negative },
            0 if self.flushes() => {
                self.raise(INPUT_DENORMAL);
                Number::Zero { negative }
            }
            0 => Number::Finite { negative, mantissa: fraction, exponent: F::SMALLEST },
            biased if biased != F::EXPONENTS => Number::Finite {
                negative,
                mantissa: fraction | 1 << F::FRACTION,
                exponent: biased as i32 - 1 + F::SMALLEST,
            },
            _ if fraction == 0 => Number::Infinite { negative },
            _ => Number::Nan { bits, signalling: bits & F::QUIET == 0 },
        }
    }

    fn invalid(&mut self) -> F::Bits {
        self.raise(INVALID);
        F::narrow(F::DEFAULT_NAN)
    }

    fn signed(negative: bool, magnitude: u64) -> F::Bits {
        F::narrow(signed::<F>(negative, magnitude))
    }

    /// FPProcessNaNs: returns the first signalling NaN, otherwise the first quiet one.
    fn nan_of(&mut self, operands: &[Number]) -> Option<F::Bits> {
        let nans = || {
            operands.iter().filter_map(|number| match *number {
                Number::Nan { bits, signalling } => Some((bits, signalling)),
                _ => None,
            })
        };
        let (bits, signalling) = nans().find(|nan| nan.1).or_else(|| nans().next())?;
        if signalling {
            self.raise(INVALID);
        }
        Some(F::narrow(if self.default_nan() { F::DEFAULT_NAN } else { bits | F::QUIET }))
    }

    /// Returns whether a magnitude with this remainder below its last bit is rounded up.
    fn rounds_up(&self, negative: bool, odd: bool, remainder: u128, half: u128) -> bool {
        match self.rounding {
            Rounding::Nearest => remainder > half || (remainder == half && odd),
            Rounding::Up => remainder != 0 && !negative,
            Rounding::Down => remainder != 0 && negative,
            Rounding::Zero => false,
            Rounding::Away => remainder >= half,
        }
    }

    /// Rounds `magnitude * 2^exponent` (nonzero) to a number of the format.
    fn round(&mut self, negative: bool, magnitude: u128, exponent: i32) -> F::Bits {
        let bits = 128 - magnitude.leading_zeros() as i32;
        let fraction = F::FRACTION as i32;
        let tiny = exponent + bits - 1 < F::SMALLEST + fraction;
        if tiny && self.flushes() {
            self.raise(UNDERFLOW);
            return Self::signed(negative, 0);
        }
        // The exponent of the last bit kept.
        let last = (exponent + bits - 1 - fraction).max(F::SMALLEST);
        let drop = last - exponent;
        let (mut kept, inexact) = if drop <= 0 {
            ((magnitude << -drop) as u64, false)
        } else if drop > 127 {
            (u64::from(self.rounds_up(negative, false, 1, 2)), true)
        } else {
            let kept = (magnitude >> drop) as u64;
            let remainder = magnitude & ((1 << drop) - 1);
            let up = self.rounds_up(negative, kept & 1 == 1, remainder, 1 << (drop - 1));
            (kept + u64::from(up), remainder != 0)
        };
        let mut last = last;
        if kept == 2 << F::FRACTION {
            (kept, last) = (1 << F::FRACTION, last + 1);
        }
        if inexact {
            self.raise(INEXACT | if tiny { UNDERFLOW } else { 0 });
        }
        if kept >> F::FRACTION == 0 {
            return Self::signed(negative, kept);
        }
        let biased = (last - F::SMALLEST + 1) as u64;
        if biased >= F::EXPONENTS {
            self.raise(OVERFLOW | INEXACT);
            let to_infinity = self.rounding.overflows_to_infinity(negative);
            let largest = if to_infinity { F::INFINITY } else { F::INFINITY - 1 };
            return Self::signed(negative, largest);
        }
        Self::signed(negative, biased << F::FRACTION | kept & F::FRACTION_MASK)
    }

    /// Returns the exact zero that results from a sum of opposite signs, with its sign.
    fn zero_sum(&self) -> F::Bits {
        Self::signed(self.rounding == Rounding::Down, 0)
    }

    /// Adds two nonzero magnitudes with their signs and exponents, and rounds the sum.
    fn sum(&mut self, x: (bool, u128, i32), y: (bool, u128, i32)) -> F::Bits {
        let align = |(negative, magnitude, exponent)| {
            let (magnitude, exponent) = aligned(magnitude, exponent, SUM_BITS);
            (negative, magnitude, exponent)
        };
        let (x, y) = (align(x), align(y));
        let (high, low) = if x.2 >= y.2 { (x, y) } else { (y, x) };
        // The smaller number leaves a sticky bit unless it is exact. Products have at most 106 bits, so the
        // number is exact wherever the highest bits may cancel.
        let small = jam(low.1, (high.2 - low.2) as u32);
        let (large, exponent) = (high.1, high.2);
        if high.0 == low.0 {
            self.round(high.0, large + small, exponent)
        } else if large == small {
            self.zero_sum()
        } else if large > small {
            self.round(high.0, large - small, exponent)
        } else {
            self.round(low.0, small - large, exponent)
        }
    }

    pub fn add(&mut self, x: F::Bits, y: F::Bits) -> F::Bits {
        if let Some(sum) = self.add_fast(x, y) {
            return sum;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        if let Some(nan) = self.nan_of(&[a, b]) {
            return nan;
        }
        self.add_numbers(a, b)
    }

    fn add_numbers(&mut self, a: Number, b: Number) -> F::Bits {
        use Number::{Finite, Infinite, Zero};
        match (a, b) {
            (Infinite { negative: x }, Infinite { negative: y }) if x != y => self.invalid(),
            (Infinite { negative }, _) | (_, Infinite { negative }) => {
                Self::signed(negative, F::INFINITY)
            }
            (Zero { negative: x }, Zero { negative: y }) if x == y => Self::signed(x, 0),
            (Zero { .. }, Zero { .. }) => self.zero_sum(),
            (Zero { .. }, Finite { negative, mantissa, exponent })
            | (Finite { negative, mantissa, exponent }, Zero { .. }) => {
                self.round(negative, mantissa.into(), exponent)
            }
            (
                Finite { negative: n1, mantissa: m1, exponent: e1 },
                Finite { negative: n2, mantissa: m2, exponent: e2 },
            ) => self.sum((n1, m1.into(), e1), (n2, m2.into(), e2)),
            // NaNs have been handled before.
            _ => F::narrow(F::DEFAULT_NAN),
        }
    }

    pub fn subtract(&mut self, x: F::Bits, y: F::Bits) -> F::Bits {
        if let Some(difference) = self.subtract_fast(x, y) {
            return difference;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        if let Some(nan) = self.nan_of(&[a, b]) {
            return nan;
        }
        let b = match b {
            Number::Infinite { negative } => Number::Infinite { negative: !negative },
            Number::Zero { negative } => Number::Zero { negative: !negative },
            Number::Finite { negative, mantissa, exponent } => {
                Number::Finite { negative: !negative, mantissa, exponent }
            }
            nan @ Number::Nan { .. } => nan,
        };
        self.add_numbers(a, b)
    }

    pub fn multiply(&mut self, x: F::Bits, y: F::Bits) -> F::Bits {
        use Number::{Finite, Infinite, Zero};
        if let Some(product) = self.multiply_fast(x, y) {
            return product;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        if let Some(nan) = self.nan_of(&[a, b]) {
            return nan;
        }
        let negative = a.negative::<F>() != b.negative::<F>();
        match (a, b) {
            (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }) => self.invalid(),
            (Infinite { .. }, _) | (_, Infinite { .. }) => Self::signed(negative, F::INFINITY),
            (
                Finite { mantissa: m1, exponent: e1, .. },
                Finite { mantissa: m2, exponent: e2, .. },
            ) => self.round(negative, u128::from(m1) * u128::from(m2), e1 + e2),
            _ => Self::signed(negative, 0),
        }
    }

    /// Returns `addend + x * y`, rounded once.
    pub fn multiply_add(&mut self, addend: F::Bits, x: F::Bits, y: F::Bits) -> F::Bits {
        use Number::{Finite, Infinite, Nan, Zero};
        if let Some(sum) = self.by_host([addend, x, y], |[a, x, y]| F::multiply_add(a, x, y)) {
            return sum;
        }
        let (c, a, b) = (self.unpack(addend), self.unpack(x), self.unpack(y));
        let impossible =
            matches!((a, b), (Infinite { .. }, Zero { .. }) | (Zero { .. }, Infinite { .. }));
        if impossible && matches!(c, Nan { signalling: false, .. }) {
            return self.invalid();
        }
        if let Some(nan) = self.nan_of(&[c, a, b]) {
            return nan;
        }
        if impossible {
            return self.invalid();
        }
        let negative = a.negative::<F>() != b.negative::<F>();
        match (c, a, b) {
            (Infinite { negative: sign }, Infinite { .. }, _)
            | (Infinite { negative: sign }, _, Infinite { .. })
                if sign != negative =>
            {
                self.invalid()
            }
            (Infinite { negative: sign }, _, _) => Self::signed(sign, F::INFINITY),
            (_, Infinite { .. }, _) | (_, _, Infinite { .. }) => {
                Self::signed(negative, F::INFINITY)
            }
            (
                c,
                Finite { mantissa: m1, exponent: e1, .. },
                Finite { mantissa: m2, exponent: e2, .. },
            ) => {
                let product = (negative, u128::from(m1) * u128::from(m2), e1 + e2);
                match c {
                    Finite { negative, mantissa, exponent } => {
                        self.sum((negative, mantissa.into(), exponent), product)
                    }
                    _ => self.round(product.0, product.1, product.2),
                }
            }
            (Zero { negative: sign }, _, _) if sign == negative => Self::signed(sign, 0),
            (Zero { .. }, _, _) => self.zero_sum(),
            (Finite { negative, mantissa, exponent }, _, _) => {
                self.round(negative, mantissa.into(), exponent)
            }
            (Nan { .. }, _, _) => F::narrow(F::DEFAULT_NAN),
        }
    }

    pub fn divide(&mut self, x: F::Bits, y: F::Bits) -> F::Bits {
        use Number::{Finite, Infinite, Zero};
        if let Some(quotient) = self.divide_fast(x, y) {
            return quotient;
        }
        let (a, b) = (self.unpack(x), self.unpack(y));
        if let Some(nan) = self.nan_of(&[a, b]) {
            return nan;
        }
        let negative = a.negative::<F>() != b.negative::<F>();
        match (a, b) {
            (Infinite { .. }, Infinite { .. }) | (Zero { .. }, Zero { .. }) => self.invalid(),
            (Infinite { .. }, _) => Self::signed(negative, F::INFINITY),
            (Zero { .. }, _) | (_, Infinite { .. }) => Self::signed(negative, 0),
            (_, Zero { .. }) => {
                self.raise(DIVIDE_BY_ZERO);
                Self::signed(negative, F::INFINITY)
            }
            (
                Finite { mantissa: m1, exponent: e1, .. },
                Finite { mantissa: m2, exponent: e2, .. },
            ) => {
                let ((dividend, e1), divisor) = (aligned(m1.into(), e1, 127), u128::from(m2));
                let sticky = u128::from(dividend % divisor != 0);
                let quotient = (dividend / divisor) << 1 | sticky;
                self.round(negative, quotient, e1 - e2 - 1)
            }
            _ => F::narrow(F::DEFAULT_NAN),
        }
    }

    pub fn square_root(&mut self, x: F::Bits) -> F::Bits {
        if let Some(root) = self.by_host([x], |[x]| F::square_root(x)) {
            return root;
        }
        let a = self.unpack(x);
        if let Some(nan) = self.nan_of(&[a]) {
            return nan;
        }
        match a {
            Number::Zero { negative } => Self::signed(negative, 0),
            Number::Infinite { negative: false } => F::narrow(F::INFINITY),
            Number::Finite { negative: false, mantissa, exponent } => {
                let (wide, exponent) = aligned(mantissa.into(), exponent, 126);
                let odd = exponent.rem_euclid(2);
                let wide = wide << odd;
                let root = wide.isqrt();
                let sticky = u128::from(root * root != wide);
                self.round(false, root << 1 | sticky, (exponent - odd) / 2 - 1)
            }
            _ => self.invalid(),
        }
    }
}

impl Context<'_, Single> {
    /// Returns `addend + x * y`, if the host's arithmetic in twice the width gives the correct result.
    ///
    /// In that width the product is exact. Rounding the sum there does not matter unless it leaves the sum
    /// exactly halfway between two numbers.
    #[inline(always)]
    pub fn multiply_add_fast(&self, addend: u32, x: u32, y: u32) -> Option<u32> {
        const MIDDLE: u64 = 1 << 28;
        self.by_host([addend, x, y], |[a, x, y]| {
            let sum = f64::from(x) * f64::from(y) + f64::from(a);
            if sum.to_bits() % (2 * MIDDLE) == MIDDLE { f32::NAN } else { sum as f32 }
        })
    }
}
