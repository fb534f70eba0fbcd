//! Operations on registers alone.
//!
//! Sources: the RISC-V Instruction Set Manual, volume I; bit-manipulation, 1.0; scalar
//! cryptography, 1.0 (Zbkb); Hazard3's documentation, "Xh3bextm".

use super::super::isa::op::{Alu, Condition, Divide};

/// Interleaves the two halves of a word: bit `i` of the lower half becomes bit `2i`.
fn zip(a: u32) -> u32 {
    (0..16).fold(0, |word, bit| {
        word | (a >> bit & 1) << (2 * bit) | (a >> (bit + 16) & 1) << (2 * bit + 1)
    })
}

fn unzip(a: u32) -> u32 {
    (0..16).fold(0, |word, bit| {
        word | (a >> (2 * bit) & 1) << bit | (a >> (2 * bit + 1) & 1) << (bit + 16)
    })
}

/// Returns the result of any operation on two operands; not inlined.
#[inline(never)]
pub fn any(operation: Alu, a: u32, b: u32) -> u32 {
    alu(operation, a, b)
}

/// Returns the result of an operation on two operands. Inlined, so that a constant operation leaves
/// no dispatch.
#[inline(always)]
pub fn alu(operation: Alu, a: u32, b: u32) -> u32 {
    let (signed_a, signed_b) = (a as i32, b as i32);
    let bit = 1_u32 << (b & 31);
    let each_byte = |change: fn(u8) -> u8| u32::from_le_bytes(a.to_le_bytes().map(change));
    match operation {
        Alu::Add => a.wrapping_add(b),
        Alu::Sub => a.wrapping_sub(b),
        Alu::ShiftLeft => a << (b & 31),
        Alu::ShiftRight => a >> (b & 31),
        Alu::ShiftRightArithmetic => (signed_a >> (b & 31)) as u32,
        Alu::Less => u32::from(signed_a < signed_b),
        Alu::LessUnsigned => u32::from(a < b),
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Second => b,
        Alu::Multiply => a.wrapping_mul(b),
        Alu::MultiplyHigh => ((i64::from(signed_a) * i64::from(signed_b)) >> 32) as u32,
        Alu::MultiplyHighSignedUnsigned => ((i64::from(signed_a) * i64::from(b)) >> 32) as u32,
        Alu::MultiplyHighUnsigned => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Alu::ShiftAdd(by) => (a << by).wrapping_add(b),
        Alu::AndNot => a & !b,
        Alu::OrNot => a | !b,
        Alu::XorNot => !(a ^ b),
        Alu::LeadingZeros => a.leading_zeros(),
        Alu::TrailingZeros => a.trailing_zeros(),
        Alu::Population => a.count_ones(),
        Alu::Max => signed_a.max(signed_b) as u32,
        Alu::MaxUnsigned => a.max(b),
        Alu::Min => signed_a.min(signed_b) as u32,
        Alu::MinUnsigned => a.min(b),
        Alu::OrCombine => each_byte(|byte| if byte == 0 { 0 } else { 0xFF }),
        Alu::ReverseBytes => a.swap_bytes(),
        Alu::RotateLeft => a.rotate_left(b & 31),
        Alu::RotateRight => a.rotate_right(b & 31),
        Alu::SignExtendByte => a as i8 as u32,
        Alu::SignExtendHalf => a as i16 as u32,
        Alu::ZeroExtendHalf => a & 0xFFFF,
        Alu::BitClear => a & !bit,
        Alu::BitExtract => a >> (b & 31) & 1,
        Alu::BitInvert => a ^ bit,
        Alu::BitSet => a | bit,
        Alu::Pack => a & 0xFFFF | b << 16,
        Alu::PackHigh => a & 0xFF | (b & 0xFF) << 8,
        Alu::ReverseBits => each_byte(u8::reverse_bits),
        Alu::Zip => zip(a),
        Alu::Unzip => unzip(a),
        Alu::ExtractBits(size) => a >> (b & 31) & (0xFF >> (8 - size)),
    }
}

/// Returns whether a branch is taken.
#[inline(always)]
pub const fn holds(condition: Condition, a: u32, b: u32) -> bool {
    match condition {
        Condition::Equal => a == b,
        Condition::NotEqual => a != b,
        Condition::Less => (a as i32) < b as i32,
        Condition::GreaterEqual => a as i32 >= b as i32,
        Condition::LessUnsigned => a < b,
        Condition::GreaterEqualUnsigned => a >= b,
    }
}

/// Returns a quotient or remainder. Division by zero gives all ones and the dividend; the one
/// signed overflow gives the dividend and zero (volume I, M).
pub const fn divide(operation: Divide, a: u32, b: u32) -> u32 {
    let (signed_a, signed_b) = (a as i32, b as i32);
    match operation {
        Divide::Quotient if b == 0 => u32::MAX,
        Divide::Quotient => signed_a.wrapping_div(signed_b) as u32,
        Divide::QuotientUnsigned => match a.checked_div(b) {
            Some(quotient) => quotient,
            None => u32::MAX,
        },
        Divide::Remainder if b == 0 => a,
        Divide::Remainder => signed_a.wrapping_rem(signed_b) as u32,
        Divide::RemainderUnsigned => match a.checked_rem(b) {
            Some(remainder) => remainder,
            None => a,
        },
    }
}
