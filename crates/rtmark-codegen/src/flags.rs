//! Flags that have been set, and are computed only where something reads them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

/// The N and Z flags.
#[derive(Clone, Copy, PartialEq)]
pub enum Result {
    /// As before the function.
    Kept,
    Word(Value),
    /// The difference of two words.
    Difference(Value, Value),
    /// As they are kept in memory.
    Wide(Value),
}

/// The C flag.
#[derive(Clone, Copy, PartialEq)]
pub enum Carry {
    Kept,
    Known(bool),
    /// A bit of a word.
    Bit(Value, u8),
    /// No borrow in a difference of two words.
    NoBorrow(Value, Value),
    /// The first word, a sum, is below the second one, a term of it.
    Below(Value, Value),
    /// The upper half of a double word.
    Upper(Value),
    /// 0 or 1, in a byte.
    Byte(Value),
}

/// The V flag: bit 31 of a word.
#[derive(Clone, Copy, PartialEq)]
pub enum Overflow {
    Kept,
    /// Of the terms and the result of a sum.
    Sum(Value, Value, Value),
    /// Of minuend and subtrahend.
    Difference(Value, Value),
    Word(Value),
}

/// All flags.
#[derive(Clone, Copy, PartialEq)]
pub struct Flags {
    pub result: Result,
    pub carry: Carry,
    pub overflow: Overflow,
    /// The words that were compared, if all flags are those of their difference.
    compared: Option<(Value, Value)>,
}

/// Reads flags from memory.
pub trait Kept {
    fn result(&mut self, builder: &mut FunctionBuilder<'_>) -> Value;
    fn carry(&mut self, builder: &mut FunctionBuilder<'_>) -> Value;
    fn overflow(&mut self, builder: &mut FunctionBuilder<'_>) -> Value;
}

impl Flags {
    pub const KEPT: Self = Self::new(Result::Kept, Carry::Kept, Overflow::Kept);

    /// Returns independent flags.
    pub const fn new(result: Result, carry: Carry, overflow: Overflow) -> Self {
        Self { result, carry, overflow, compared: None }
    }

    /// Returns those of a difference.
    pub const fn of_difference(x: Value, y: Value, result: Result) -> Self {
        let (carry, overflow) = (Carry::NoBorrow(x, y), Overflow::Difference(x, y));
        Self { result, carry, overflow, compared: Some((x, y)) }
    }

    /// Returns the N and Z flags as they are kept in memory.
    pub fn wide_result(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        match self.result {
            Result::Kept => kept.result(b),
            Result::Word(word) => b.ins().uextend(types::I64, word),
            Result::Difference(x, y) => {
                let word = b.ins().isub(x, y);
                b.ins().uextend(types::I64, word)
            }
            Result::Wide(wide) => wide,
        }
    }

    /// Returns the C flag in a byte.
    pub fn carry_byte(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        match self.carry {
            Carry::Kept => kept.carry(b),
            Carry::Known(is_set) => b.ins().iconst(types::I8, i64::from(is_set)),
            Carry::Bit(word, bit) => {
                let shifted = b.ins().ushr_imm_u(word, i64::from(bit));
                let one = b.ins().band_imm_u(shifted, 1);
                b.ins().ireduce(types::I8, one)
            }
            Carry::NoBorrow(x, y) => b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, x, y),
            Carry::Below(sum, term) => b.ins().icmp(IntCC::UnsignedLessThan, sum, term),
            Carry::Upper(wide) => {
                let upper = b.ins().ushr_imm_u(wide, 32);
                b.ins().ireduce(types::I8, upper)
            }
            Carry::Byte(byte) => byte,
        }
    }

    /// Returns a word whose bit 31 is the V flag.
    pub fn overflow_word(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        match self.overflow {
            Overflow::Kept => kept.overflow(b),
            Overflow::Sum(x, y, result) => {
                let (one, other) = (b.ins().bxor(x, result), b.ins().bxor(y, result));
                b.ins().band(one, other)
            }
            Overflow::Difference(x, y) => {
                let result = b.ins().isub(x, y);
                let (one, other) = (b.ins().bxor(x, y), b.ins().bxor(x, result));
                b.ins().band(one, other)
            }
            Overflow::Word(word) => word,
        }
    }

    fn is_zero(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        match self.result {
            Result::Word(word) => b.ins().icmp_imm_u(IntCC::Equal, word, 0),
            Result::Difference(x, y) => b.ins().icmp(IntCC::Equal, x, y),
            Result::Kept | Result::Wide(_) => {
                let wide = self.wide_result(b, kept);
                let word = b.ins().ireduce(types::I32, wide);
                b.ins().icmp_imm_u(IntCC::Equal, word, 0)
            }
        }
    }

    fn is_negative(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        match self.result {
            Result::Word(word) => b.ins().icmp_imm_s(IntCC::SignedLessThan, word, 0),
            Result::Difference(x, y) => {
                let word = b.ins().isub(x, y);
                b.ins().icmp_imm_s(IntCC::SignedLessThan, word, 0)
            }
            Result::Kept | Result::Wide(_) => {
                let wide = self.wide_result(b, kept);
                b.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, wide, i64::from(i32::MAX))
            }
        }
    }

    fn overflows(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        let word = self.overflow_word(b, kept);
        b.ins().icmp_imm_s(IntCC::SignedLessThan, word, 0)
    }

    /// Returns whether a condition holds, in a byte.
    pub fn holds(&self, condition: u8, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        if let Some((x, y)) = self.compared {
            let comparison = match condition {
                0 => Some(IntCC::Equal),
                1 => Some(IntCC::NotEqual),
                2 => Some(IntCC::UnsignedGreaterThanOrEqual),
                3 => Some(IntCC::UnsignedLessThan),
                8 => Some(IntCC::UnsignedGreaterThan),
                9 => Some(IntCC::UnsignedLessThanOrEqual),
                10 => Some(IntCC::SignedGreaterThanOrEqual),
                11 => Some(IntCC::SignedLessThan),
                12 => Some(IntCC::SignedGreaterThan),
                13 => Some(IntCC::SignedLessThanOrEqual),
                _ => None,
            };
            if let Some(comparison) = comparison {
                return b.ins().icmp(comparison, x, y);
            }
        }
        let holds = match condition >> 1 {
            0 => self.is_zero(b, kept),
            1 => self.carry_byte(b, kept),
            2 => self.is_negative(b, kept),
            3 => self.overflows(b, kept),
            4 => {
                let (carry, zero) = (self.carry_byte(b, kept), self.is_zero(b, kept));
                b.ins().band_not(carry, zero)
            }
            5 => self.is_at_least(b, kept),
            6 => {
                let (at_least, zero) = (self.is_at_least(b, kept), self.is_zero(b, kept));
                b.ins().band_not(at_least, zero)
            }
            _ => return b.ins().iconst(types::I8, 1),
        };
        if condition & 1 == 0 { holds } else { b.ins().bxor_imm_u(holds, 1) }
    }

    fn is_at_least(&self, b: &mut FunctionBuilder<'_>, kept: &mut impl Kept) -> Value {
        let (negative, overflows) = (self.is_negative(b, kept), self.overflows(b, kept));
        b.ins().icmp(IntCC::Equal, negative, overflows)
    }
}
