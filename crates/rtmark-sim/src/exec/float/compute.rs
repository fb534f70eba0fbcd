//! What floating-point operations compute.

use std::cmp::Ordering;

use super::{Operands, RegisterFormat};
use crate::arch::float::{Context, Double, INEXACT, Rounding, Single};
use crate::isa::Slot;

/// Functions of the old value of the destination and of two operands.
macro_rules! arithmetic {
    ($($(#[$doc:meta])* $name:ident |$context:pat_param, $operands:pat_param, $slot:pat_param| $result:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<F: RegisterFormat>(
            $context: &mut Context<'_, F>,
            $operands: Operands<F>,
            $slot: &Slot,
        ) -> F::Bits {
            $result
        })*
    };
}

arithmetic! {
    add |to, [_, n, m], _| to.add(n, m);
    subtract |to, [_, n, m], _| to.subtract(n, m);
    multiply |to, [_, n, m], _| to.multiply(n, m);
    multiply_negated |to, [_, n, m], _| F::negated(to.multiply(n, m));
    divide |to, [_, n, m], _| to.divide(n, m);
    square_root |to, [_, _, m], _| to.square_root(m);

    /// VMLA: the product is rounded, then the sum.
    multiply_then_add |to, [d, n, m], _| {
        let product = to.multiply(n, m);
        to.add(d, product)
    };
    /// VMLS.
    multiply_then_subtract |to, [d, n, m], _| {
        let product = F::negated(to.multiply(n, m));
        to.add(d, product)
    };
    /// VNMLA.
    negated_multiply_then_add |to, [d, n, m], _| {
        let product = F::negated(to.multiply(n, m));
        to.add(F::negated(d), product)
    };
    /// VNMLS.
    negated_multiply_then_subtract |to, [d, n, m], _| {
        let product = to.multiply(n, m);
        to.add(F::negated(d), product)
    };

    /// VFMA: the exact sum is rounded.
    fused_add |to, [d, n, m], _| to.multiply_add(d, n, m);
    /// VFMS.
    fused_subtract |to, [d, n, m], _| to.multiply_add(d, F::negated(n), m);
    /// VFNMA.
    negated_fused_add |to, [d, n, m], _| to.multiply_add(F::negated(d), F::negated(n), m);
    /// VFNMS.
    negated_fused_subtract |to, [d, n, m], _| to.multiply_add(F::negated(d), n, m);

    absolute |_, [_, _, m], _| F::magnitude(m);
    negate |_, [_, _, m], _| F::negated(m);
    copy |_, [_, _, m], _| m;
    /// VMOV of an immediate, which has the upper 32 bits of the number.
    constant |_, _, s| F::narrow(u64::from(s.imm) << (F::WIDTH - 32));
    maximum |to, [_, n, m], _| to.extremum(n, m, Ordering::Greater);
    minimum |to, [_, n, m], _| to.extremum(n, m, Ordering::Less);
    /// VRINT, in all rounding modes.
    round |to, [_, _, m], s| {
        to.rounding = directed(s.aux).unwrap_or(to.rounding);
        to.round_to_integer(m, if s.aux & 7 == 6 { INEXACT } else { 0 })
    };
    fixed_point |to, [d, _, _], s| convert_fixed(to, d, s);
}

/// VCVT between floating point and fixed point. `aux` holds direction, signedness and size. A fixed-point
/// value narrower than the register is extended to it (DDI 0403, A7.7.228).
fn convert_fixed<F: RegisterFormat>(
    context: &mut Context<'_, F>,
    value: F::Bits,
    s: &Slot,
) -> F::Bits {
    let (to_fixed, unsigned, wide) = (s.aux & 4 != 0, s.aux & 2 != 0, s.aux & 1 != 0);
    if to_fixed {
        context.rounding = Rounding::Zero;
        let bits = if wide { 32 } else { 16 };
        let result = context.float_to_fixed(value, bits, s.imm, unsigned);
        return F::narrow(if unsigned { result.into() } else { i64::from(result as i32) as u64 });
    }
    context.rounding = Rounding::Nearest;
    let word = F::wide(value) as u32;
    let value = match (wide, unsigned) {
        (true, true) => i64::from(word),
        (true, false) => i64::from(word as i32),
        (false, true) => i64::from(word as u16),
        (false, false) => i64::from(word as i16),
    };
    context.fixed_to_float(value, s.imm)
}

/// VCVT from an integer, which is signed if `aux` is 1.
pub fn from_integer<F: RegisterFormat>(
    context: &mut Context<'_, F>,
    word: u32,
    s: &Slot,
) -> F::Bits {
    let value = if s.aux & 1 == 1 { i64::from(word as i32) } else { i64::from(word) };
    context.fixed_to_float(value, 0)
}

/// VCVT and VCVTR to an integer. Bit 0 of `aux` rounds towards zero; bit 1 is set for a signed result.
pub fn to_integer<F: RegisterFormat>(
    context: &mut Context<'_, F>,
    value: F::Bits,
    s: &Slot,
    _: u32,
) -> u32 {
    if s.aux & 1 == 1 {
        context.rounding = Rounding::Zero;
    }
    context.float_to_fixed(value, 32, 0, s.aux & 2 == 0)
}

/// VCVTA, VCVTN, VCVTP and VCVTM to an integer. Bit 3 of `aux` is set for a signed result.
pub fn to_integer_directed<F: RegisterFormat>(
    context: &mut Context<'_, F>,
    value: F::Bits,
    s: &Slot,
    _: u32,
) -> u32 {
    context.rounding = directed(s.aux).unwrap_or(context.rounding);
    context.float_to_fixed(value, 32, 0, s.aux & 8 == 0)
}

/// VCVTB and VCVTT from half precision. Bit 0 of `aux` selects the upper half.
pub fn from_half<F: RegisterFormat>(context: &mut Context<'_, F>, word: u32, s: &Slot) -> F::Bits {
    context.half_to_float(if s.aux & 1 == 1 { word >> 16 } else { word } as u16)
}

/// VCVTB and VCVTT to half precision, which leave the other half as it was.
pub fn to_half<F: RegisterFormat>(
    context: &mut Context<'_, F>,
    value: F::Bits,
    s: &Slot,
    old: u32,
) -> u32 {
    let half = u32::from(context.float_to_half(value));
    if s.aux & 1 == 1 { old & 0xFFFF | half << 16 } else { old & 0xFFFF_0000 | half }
}

pub fn single_to_double(context: &mut Context<'_, Double>, word: u32, _: &Slot) -> u64 {
    Context::<Single>::new(context.fpscr).single_to_double(word)
}

pub fn double_to_single(context: &mut Context<'_, Double>, value: u64, _: &Slot, _: u32) -> u32 {
    context.double_to_single(value)
}

/// Returns the rounding mode that an instruction encodes in the low bits of `aux`, if it does not use the
/// FPSCR's.
const fn directed(aux: u32) -> Option<Rounding> {
    match aux & 7 {
        0 => Some(Rounding::Away),
        1 => Some(Rounding::Nearest),
        2 => Some(Rounding::Up),
        3 => Some(Rounding::Down),
        4 => Some(Rounding::Zero),
        _ => None,
    }
}

/// Fast forms of functions in single precision, which return `None` where they are not certain of the result.
macro_rules! fast {
    ($($name:ident |$context:pat_param, $operands:pat_param| $result:expr;)*) => {
        $(#[inline(always)]
        pub fn $name($context: &Context<'_>, $operands: Operands<Single>) -> Option<u32> {
            $result
        })*
    };
}

fast! {
    fast_add |to, [_, n, m]| to.add_fast(n, m);
    fast_subtract |to, [_, n, m]| to.subtract_fast(n, m);
    fast_multiply |to, [_, n, m]| to.multiply_fast(n, m);
    fast_divide |to, [_, n, m]| to.divide_fast(n, m);
    fast_multiply_then_add |to, [d, n, m]| to.add_fast(d, to.multiply_fast(n, m)?);
    fast_multiply_then_subtract |to, [d, n, m]| {
        to.add_fast(d, Single::negated(to.multiply_fast(n, m)?))
    };
    fast_fused_add |to, [d, n, m]| to.multiply_add_fast(d, n, m);
    fast_fused_subtract |to, [d, n, m]| to.multiply_add_fast(d, Single::negated(n), m);
    never |_, _| None;
}
