//! The double-precision coprocessor (RP2350 datasheet, 3.6.2).
//!
//! It unpacks numbers, adds, compares, rounds and packs; the core multiplies mantissas itself, and refines
//! quotients and roots from estimates that the coprocessor gives. Denormal numbers are zero, as operands and as
//! results. How close the first estimates are is not published: here they have twelve bits, which are enough for
//! a quotient or root to be exact after the steps that follow.

use super::{Answer, CoprocessorForm, CoprocessorInstruction};

/// What the results are read as, by the order of their instructions.
const SUM: u8 = 0;
const DIFFERENCE: u8 = 1;
const PRODUCT: u8 = 2;
const QUOTIENT: u8 = 3;
const ROOT: u8 = 4;
const NUMBER: u8 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Class {
    #[default]
    Zero,
    Finite,
    Infinite,
    Nan,
}

impl Class {
    const ALL: [Self; 4] = [Self::Zero, Self::Finite, Self::Infinite, Self::Nan];
}

/// A number, unpacked: its mantissa over 2^62, times 2 to its exponent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number {
    class: Class,
    negative: bool,
    exponent: i16,
    mantissa: u64,
}

impl Number {
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7FF) as i16, bits & ((1 << 52) - 1));
        let class = match (biased, fraction) {
            (0, _) => Class::Zero,
            (0x7FF, 0) => Class::Infinite,
            (0x7FF, _) => Class::Nan,
            _ => Class::Finite,
        };
        let mantissa = if class == Class::Finite { (1 << 52 | fraction) << 10 } else { 0 };
        Self { class, negative: bits >> 63 == 1, exponent: biased - 1023, mantissa }
    }

    /// Unpacks a number of single precision.
    fn of_single(bits: u32) -> Self {
        let value = f32::from_bits(bits);
        Self::of(if value.is_subnormal() {
            f64::from(0.0_f32.copysign(value))
        } else {
            value.into()
        })
    }

    /// Packs it, if its mantissa is as it was unpacked.
    fn value(&self) -> f64 {
        let magnitude = match self.class {
            Class::Zero => 0.0,
            Class::Infinite => f64::INFINITY,
            Class::Nan => return f64::NAN,
            Class::Finite => {
                let biased = (i32::from(self.exponent) + 1023) as u64;
                f64::from_bits(biased << 52 | self.mantissa >> 10 & ((1 << 52) - 1))
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Returns one with the sign, or what stands for the class: what special results follow from.
    fn representative(&self) -> f64 {
        let finite = if self.negative { -1.0 } else { 1.0 };
        if self.class == Class::Finite { finite } else { self.value() }
    }
}

/// The precision of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
}

impl Precision {
    /// Returns the number of bits of a mantissa, and the greatest exponent.
    const fn limits(self) -> (u32, i32) {
        match self {
            Self::Single => (24, 127),
            Self::Double => (53, 1023),
        }
    }

    /// Rounds to nearest, ties to even, and packs: `mantissa` over 2 to the `point`, times 2 to the `exponent`.
    fn round(self, negative: bool, mantissa: u64, point: u32, exponent: i32) -> f64 {
        let (bits, greatest) = self.limits();
        let sign = if negative { -1.0 } else { 1.0 };
        if mantissa == 0 {
            return 0.0 * sign;
        }
        let top = mantissa.ilog2();
        let dropped = (top + 1).saturating_sub(bits);
        let (kept, rest) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1));
        let half = if dropped == 0 { 0 } else { 1 << (dropped - 1) };
        let up = dropped > 0 && (rest > half || rest == half && kept & 1 == 1);
        let kept = kept + u64::from(up);
        let carried = kept.ilog2() + dropped;
        let exponent = exponent + carried as i32 - point as i32;
        if exponent > greatest {
            return f64::INFINITY * sign;
        }
        if exponent < 1 - greatest {
            return 0.0 * sign;
        }
        let fraction = kept << kept.leading_zeros() << 1 >> 12;
        let biased = (exponent + 1023) as u64;
        f64::from_bits(biased << 52 | fraction) * sign
    }
}

/// How a number becomes an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rounding {
    #[default]
    TowardsZero,
    Nearest,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DoubleUnit {
    x: Number,
    y: Number,
    /// The bit of X's mantissa that stands for one, if the core has written that mantissa.
    point: Option<u8>,
    /// X's mantissa holds no more than whether bits have been lost.
    is_sticky: bool,
    rounding: Rounding,
    /// A calculation has begun, and its result has not been read.
    engaged: bool,
}

/// Returns the double that two words are, the lower first.
const fn join((low, high): (u32, u32)) -> u64 {
    (high as u64) << 32 | low as u64
}

/// Returns an estimate from which the core calculates on: twelve bits of it, a bit below.
const fn estimate(exact: u64) -> u32 {
    let unit = 1 << 19;
    ((exact & !(unit - 1)) - unit) as u32
}

impl DoubleUnit {
    /// Executes an instruction; `values` are those of the core's registers.
    pub fn execute(&mut self, instruction: CoprocessorInstruction, values: (u32, u32)) -> Answer {
        let CoprocessorInstruction { opcode, m, second, .. } = instruction;
        match instruction.form {
            CoprocessorForm::Process { extra } => self.process(opcode, m, extra),
            CoprocessorForm::WritePair { .. } => self.write(opcode, m, values),
            CoprocessorForm::Read { n: 0, extra, .. } if opcode == 0 => {
                let answer = self.read_word(m, extra);
                self.engaged &= second;
                answer.map_or(Answer::Unknown, Answer::Word)
            }
            CoprocessorForm::ReadPair { .. } => {
                let answer = self.read_pair(opcode, m);
                self.engaged &= second;
                answer.map_or(Answer::Unknown, Answer::pair)
            }
            CoprocessorForm::Read { .. } | CoprocessorForm::Write { .. } => Answer::Unknown,
        }
    }

    fn process(&mut self, opcode: u8, m: u8, extra: u8) -> Answer {
        match (opcode, m, extra) {
            (0, 0, 0) => *self = Self::default(),
            // ADD0, ADD1 and SUB1, NRDF and NRDD: the result is calculated when it is read.
            (0 | 1, 1, 0) | (1, 1, 1) | (8, 2 | 0, 1) => {}
            // SQR0: an odd exponent becomes even.
            (2, 1, 0) => {
                if self.x.exponent & 1 != 0 {
                    self.x.exponent -= 1;
                    self.x.mantissa <<= 1;
                }
            }
            // NTDC and NRDC.
            (8, 0, 2) => self.rounding = Rounding::TowardsZero,
            (8, 0, 3) => self.rounding = Rounding::Nearest,
            _ => return Answer::Unknown,
        }
        Answer::Done
    }

    fn write(&mut self, opcode: u8, m: u8, values: (u32, u32)) -> Answer {
        let word = join(values);
        let double = || Number::of(f64::from_bits(word));
        let integer = |value: f64| (Number::of(value), Number::default());
        self.engaged = true;
        // Numbers, then mantissas with the bit that stands for one.
        match (opcode, m) {
            (0, 0) => self.x.mantissa = word,
            (0, 1) => self.y.mantissa = word,
            (0, 2) => self.restore(word),
            (1 | 8, 0) => (self.x, self.point) = (double(), None),
            (1, 1) => self.y = double(),
            (1, 2) => {
                self.x = Number::of_single(values.0);
                self.y = Number::of_single(values.1);
                self.point = None;
            }
            (9, 2) => (self.x, self.point) = (Number::of_single(values.0), None),
            (6, 0) => {
                (self.x, self.y) = integer(values.0.into());
                self.point = None;
            }
            (7, 0) => {
                (self.x, self.y) = integer((values.0 as i32).into());
                self.point = None;
            }
            (2, 0) => {
                self.x.mantissa = u64::from(word != 0);
                (self.is_sticky, self.point) = (true, Some(60));
            }
            (3, 0) => {
                let lost = if self.is_sticky { self.x.mantissa } else { 0 };
                self.write_mantissa(word | lost, 60);
            }
            (4, 0) => self.write_mantissa(word, 57),
            (5 | 10, 0) => self.write_mantissa(word, 60),
            (11 | 12, 0) => self.write_mantissa(word, 61),
            _ => return Answer::Unknown,
        }
        Answer::Done
    }

    const fn write_mantissa(&mut self, mantissa: u64, point: u8) {
        self.x.mantissa = mantissa;
        (self.is_sticky, self.point) = (false, Some(point));
    }

    fn read_word(&self, m: u8, extra: u8) -> Option<u32> {
        match (m, extra) {
            (0, 1) => Some(self.comparison()),
            (2, result) => Some((self.result(result, Precision::Single)? as f32).to_bits()),
            (3, 0) => Some(self.integer()? as i32 as u32),
            (3, 1) => Some(self.integer()? as u32),
            _ => None,
        }
    }

    fn read_pair(&self, opcode: u8, m: u8) -> Option<u64> {
        let (x, y) = (self.x.mantissa, self.y.mantissa);
        let upper = |mantissa: u64| mantissa >> 32;
        match (opcode, m) {
            (0, 8) => Some(x),
            (0, 9) => Some(y),
            (0, 10) => Some(self.saved()),
            (_, 4) => Some(x >> opcode),
            (_, 5) => Some(y >> opcode),
            (1, 1) => Some(upper(y) << 32 | upper(x)),
            // 2^31 divided by Y, and Y's mantissa, of which bit 31 is one.
            (2, 1) => {
                let divisor = upper(y << 1).max(1 << 31);
                Some(divisor << 32 | u64::from(estimate((1 << 62) / divisor)))
            }
            // 2^31 divided by the root of X, and X's mantissa, of which bit 30 is one.
            (4, 1) => {
                let number = upper(x).max(1 << 30);
                let root = (number << 30).isqrt();
                Some(number << 32 | u64::from(estimate((1 << 61) / root)))
            }
            (1 | 3 | 5 | 7 | 9 | 11, 0) => {
                Some(self.result(opcode / 2, Precision::Double)?.to_bits())
            }
            _ => None,
        }
    }

    /// Returns the flags of a comparison of X with Y, which have no bit for "less"; bit 31 is one while a
    /// calculation goes on.
    fn comparison(&self) -> u32 {
        use std::cmp::Ordering;
        let flags = match self.x.value().partial_cmp(&self.y.value()) {
            Some(Ordering::Equal) => 0b0110,
            Some(Ordering::Greater) => 0b0010,
            Some(Ordering::Less) => 0,
            None => 0b0001,
        };
        (flags | u32::from(self.engaged) << 3) << 28
    }

    /// Returns X as an integer, as far as a register of either kind holds it.
    fn integer(&self) -> Option<f64> {
        if self.point.is_some() || self.x.class == Class::Nan {
            return None;
        }
        let value = self.x.value();
        Some(match self.rounding {
            Rounding::TowardsZero => value.trunc(),
            Rounding::Nearest => value.round_ties_even(),
        })
    }

    /// Returns a result, rounded; `None` if what leads to it is not known.
    fn result(&self, result: u8, precision: Precision) -> Option<f64> {
        let (x, y) = (&self.x, &self.y);
        let plain = |value: f64| {
            let fits = matches!(result, SUM | DIFFERENCE | NUMBER) && self.point.is_none();
            fits.then(|| flushed(value, precision))
        };
        let (negative, special, exponent) = match result {
            SUM => return plain(x.value() + y.value()),
            DIFFERENCE => return plain(x.value() - y.value()),
            NUMBER => return plain(x.value()),
            PRODUCT => {
                let special = x.representative() * y.representative();
                (x.negative != y.negative, special, x.exponent + y.exponent)
            }
            QUOTIENT => {
                let special = x.representative() / y.representative();
                (x.negative != y.negative, special, x.exponent - y.exponent)
            }
            ROOT => (false, x.representative().sqrt(), x.exponent / 2),
            _ => return None,
        };
        let is_finite = |number: &Number| number.class == Class::Finite;
        let finite = is_finite(x) && (result == ROOT || is_finite(y)) && !special.is_nan();
        if !finite {
            return Some(flushed(special, precision));
        }
        let point = self.point.filter(|_| !self.is_sticky)?;
        Some(precision.round(negative, x.mantissa, point.into(), exponent.into()))
    }

    /// Returns everything but the mantissas as a doubleword, to be restored from.
    fn saved(&self) -> u64 {
        let number = |number: &Number| {
            let class = number.class as u64;
            u64::from(number.exponent as u16) | class << 16 | u64::from(number.negative) << 18
        };
        let point = self.point.map_or(0, |point| u64::from(point) + 1);
        let nearest = u64::from(self.rounding == Rounding::Nearest);
        number(&self.x)
            | number(&self.y) << 19
            | point << 38
            | u64::from(self.is_sticky) << 45
            | nearest << 46
    }

    fn restore(&mut self, saved: u64) {
        let number = |number: &mut Number, saved: u64| {
            number.exponent = saved as i16;
            number.class = Class::ALL[(saved >> 16 & 3) as usize];
            number.negative = saved >> 18 & 1 == 1;
        };
        number(&mut self.x, saved);
        number(&mut self.y, saved >> 19);
        self.point = ((saved >> 38 & 0x7F) as u8).checked_sub(1);
        self.is_sticky = saved >> 45 & 1 == 1;
        self.rounding =
            if saved >> 46 & 1 == 1 { Rounding::Nearest } else { Rounding::TowardsZero };
    }
}

/// Returns a number in some precision, with zero for denormal ones and the one NaN.
fn flushed(value: f64, precision: Precision) -> f64 {
    let value = if precision == Precision::Single { f64::from(value as f32) } else { value };
    let least = f64::from_bits(((1024 - precision.limits().1) as u64) << 52);
    if value.is_nan() {
        f64::from_bits(0x7FF8 << 48)
    } else if value.abs() < least {
        0.0_f64.copysign(value)
    } else {
        value
    }
}

#[cfg(test)]
mod tests;
