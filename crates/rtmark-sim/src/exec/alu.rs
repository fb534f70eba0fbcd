//! Integer arithmetic (DDI 0403, A2.2.1 and A7.7).

use crate::arch::armm::registers::Cpu;
use crate::isa::Slot;

/// The bitwise operations; the first operand is the register, the second the flexible operand.
pub mod logic {
    pub const fn and(x: u32, y: u32) -> u32 {
        x & y
    }
    pub const fn orr(x: u32, y: u32) -> u32 {
        x | y
    }
    pub const fn eor(x: u32, y: u32) -> u32 {
        x ^ y
    }
    pub const fn bic(x: u32, y: u32) -> u32 {
        x & !y
    }
    pub const fn orn(x: u32, y: u32) -> u32 {
        x | !y
    }
    pub const fn mov(_: u32, y: u32) -> u32 {
        y
    }
    pub const fn mvn(_: u32, y: u32) -> u32 {
        !y
    }
}

/// Additions and subtractions, as the operands of AddWithCarry.
pub mod arithmetic {
    pub const fn add(x: u32, y: u32, _: bool) -> (u32, u32, bool) {
        (x, y, false)
    }
    pub const fn adc(x: u32, y: u32, carry: bool) -> (u32, u32, bool) {
        (x, y, carry)
    }
    pub const fn sub(x: u32, y: u32, _: bool) -> (u32, u32, bool) {
        (x, !y, true)
    }
    pub const fn sbc(x: u32, y: u32, carry: bool) -> (u32, u32, bool) {
        (x, !y, carry)
    }
    pub const fn rsb(x: u32, y: u32, _: bool) -> (u32, u32, bool) {
        (!x, y, true)
    }
}

/// The types of shifts, as they are encoded; 4 is RRX.
pub mod kind {
    pub const LSL: u32 = 0;
    pub const LSR: u32 = 1;
    pub const ASR: u32 = 2;
    pub const ROR: u32 = 3;
}

/// Shift_C (DDI 0403, A7.4.2): returns the result and the carry. `kind` is one of [`kind`].
#[inline(always)]
pub const fn shift(value: u32, kind: u32, amount: u32, carry: bool) -> (u32, bool) {
    if amount == 0 {
        return (value, carry);
    }
    // Amounts above 33 give the same result as 33, except for rotations.
    let few = if kind == 3 {
        amount & 31
    } else if amount > 33 {
        33
    } else {
        amount
    };
    shift_some(value, kind, few, carry)
}

/// Shifts by up to 63, and by 0 only where a rotation comes full circle. Shifts by immediates meet these
/// conditions.
#[inline(always)]
pub const fn shift_some(value: u32, kind: u32, amount: u32, carry: bool) -> (u32, bool) {
    // In a value of twice the width, the bit shifted out last is next to the result.
    match kind {
        0 => {
            let wide = (value as u64) << amount;
            (wide as u32, wide >> 32 & 1 == 1)
        }
        1 => {
            let wide = (value as u64) << 32 >> amount;
            ((wide >> 32) as u32, wide >> 31 & 1 == 1)
        }
        2 => {
            let wide = (((value as u64) << 32) as i64 >> amount) as u64;
            ((wide >> 32) as u32, wide >> 31 & 1 == 1)
        }
        3 => {
            let result = value.rotate_right(amount);
            (result, result >> 31 == 1)
        }
        _ => (value >> 1 | (carry as u32) << 31, value & 1 == 1),
    }
}

/// SignedSat: returns the value clamped to `bits` bits, and whether that changed it.
pub const fn saturate_signed(value: i64, bits: u32) -> (u32, bool) {
    let (low, high) = (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1);
    if value < low {
        (low as u32, true)
    } else if value > high {
        (high as u32, true)
    } else {
        (value as u32, false)
    }
}

/// UnsignedSat: returns the value clamped to `bits` bits, and whether that changed it.
pub const fn saturate_unsigned(value: i64, bits: u32) -> (u32, bool) {
    let high = (1i64 << bits) - 1;
    if value < 0 {
        (0, true)
    } else if value > high {
        (high as u32, true)
    } else {
        (value as u32, false)
    }
}

/// Functions of one register: extensions of its low part, and exchanges of bytes.
pub mod part {
    pub const fn unsigned_byte(value: u32) -> u32 {
        value & 0xFF
    }
    pub const fn unsigned_half(value: u32) -> u32 {
        value & 0xFFFF
    }
    pub const fn signed_byte(value: u32) -> u32 {
        value as i8 as u32
    }
    pub const fn signed_half(value: u32) -> u32 {
        value as i16 as u32
    }
    /// REV16: exchanges the bytes of each halfword.
    pub const fn swap_bytes_of_halves(value: u32) -> u32 {
        value.swap_bytes().rotate_left(16)
    }
    /// REVSH: exchanges the bytes of the low halfword, and extends it.
    pub const fn swap_bytes_of_signed_half(value: u32) -> u32 {
        (value as u16).swap_bytes() as i16 as u32
    }
}

/// The 64-bit products of two words.
pub mod product {
    pub const fn unsigned(n: u32, m: u32) -> u64 {
        n as u64 * m as u64
    }
    pub const fn signed(n: u32, m: u32) -> u64 {
        (n as i32 as i64 * m as i32 as i64) as u64
    }
}

/// The quotients of two words, rounded towards zero.
pub mod quotient {
    pub const fn unsigned(n: u32, m: u32) -> u32 {
        n / m
    }
    pub const fn signed(n: u32, m: u32) -> u32 {
        (n as i32).wrapping_div(m as i32) as u32
    }
}

impl Cpu {
    /// Returns the 64-bit accumulator of the long multiplies: `d` is the high word, `a` the low word.
    pub(super) fn pair(&self, s: &Slot) -> u64 {
        u64::from(self.get(s.d)) << 32 | u64::from(self.get(s.a))
    }

    pub(super) fn set_pair(&mut self, s: &Slot, value: u64) {
        self.set(s.a, value as u32);
        self.set(s.d, (value >> 32) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_beyond_the_register_follow_the_manual() {
        assert_eq!(shift(0x8000_0001, 0, 32, false), (0, true));
        assert_eq!(shift(0x8000_0001, 0, 33, true), (0, false));
        assert_eq!(shift(0x8000_0001, 1, 32, false), (0, true));
        assert_eq!(shift(0x8000_0000, 2, 200, false), (u32::MAX, true));
        assert_eq!(shift(0x8000_0001, 3, 32, false), (0x8000_0001, true));
        assert_eq!(shift(1, 4, 1, true), (0x8000_0000, true));
        assert_eq!(shift(7, 3, 0, true), (7, true));
    }
}
