//! The formats of floating-point numbers: single and double precision (IEEE 754 binary32, binary64).

use std::ops::{Add, Div, Mul, Sub};

/// A floating-point format. Constants are numbers of bits, or encodings.
pub trait Format {
    /// The encoding of a number.
    type Bits: Copy;
    /// The host's type for numbers of this format.
    type Host: Copy
        + Add<Output = Self::Host>
        + Sub<Output = Self::Host>
        + Mul<Output = Self::Host>
        + Div<Output = Self::Host>
        + PartialOrd;

    const WIDTH: u32;
    /// Bits of the fraction.
    const FRACTION: u32;
    const FRACTION_MASK: u64 = (1 << Self::FRACTION) - 1;
    /// The exponent field with all bits set.
    const EXPONENTS: u64 = (1 << (Self::WIDTH - 1 - Self::FRACTION)) - 1;
    /// The exponent of the least significant bit of the smallest number.
    const SMALLEST: i32 = 2 - (Self::EXPONENTS / 2) as i32 - 1 - Self::FRACTION as i32;
    const INFINITY: u64 = Self::EXPONENTS << Self::FRACTION;
    const QUIET: u64 = 1 << (Self::FRACTION - 1);
    const DEFAULT_NAN: u64 = Self::INFINITY | Self::QUIET;

    fn wide(bits: Self::Bits) -> u64;
    fn narrow(bits: u64) -> Self::Bits;
    fn to_host(bits: Self::Bits) -> Self::Host;
    fn from_host(number: Self::Host) -> Self::Bits;
    /// Returns `addend + x * y`, rounded once.
    fn multiply_add(addend: Self::Host, x: Self::Host, y: Self::Host) -> Self::Host;
    fn square_root(x: Self::Host) -> Self::Host;

    /// Returns whether a number is normal (not zero, denormal, infinite or a NaN) and its exponent field is
    /// at least `least`.
    #[inline(always)]
    fn is_normal(bits: Self::Bits, least: u64) -> bool {
        let exponent = Self::wide(bits) >> Self::FRACTION & Self::EXPONENTS;
        exponent >= least && exponent < Self::EXPONENTS
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Single {}

#[derive(Clone, Copy, Debug)]
pub enum Double {}

macro_rules! format {
    ($format:ident, $bits:ident, $host:ident, $fraction:literal) => {
        impl Format for $format {
            type Bits = $bits;
            type Host = $host;

            const WIDTH: u32 = $bits::BITS;
            const FRACTION: u32 = $fraction;

            #[inline(always)]
            fn wide(bits: $bits) -> u64 {
                bits.into()
            }

            #[inline(always)]
            fn narrow(bits: u64) -> $bits {
                bits as $bits
            }

            #[inline(always)]
            fn to_host(bits: $bits) -> $host {
                $host::from_bits(bits)
            }

            #[inline(always)]
            fn from_host(number: $host) -> $bits {
                number.to_bits()
            }

            fn multiply_add(addend: $host, x: $host, y: $host) -> $host {
                x.mul_add(y, addend)
            }

            fn square_root(x: $host) -> $host {
                x.sqrt()
            }
        }
    };
}

format!(Single, u32, f32, 23);
format!(Double, u64, f64, 52);
