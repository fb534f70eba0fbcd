//! Integer arithmetic (DDI 0403, A2.2.1 and A7.7).

use super::ExecContext;
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::{Op, Slot};
use crate::state::State;

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

/// Shift_C (DDI 0403, A7.4.2): returns the result and the carry. `kind`: 0 LSL, 1 LSR, 2 ASR, 3 ROR, 4 RRX.
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

impl State {
    #[inline(always)]
    pub(super) fn multiply_long(&mut self, s: &Slot, at: &mut impl ExecContext) {
        let (n, m) = (self.cpu.get(s.n), self.cpu.get(s.m));
        let product = if matches!(s.op, Op::Umull | Op::Umlal) {
            u64::from(n) * u64::from(m)
        } else {
            (i64::from(n as i32) * i64::from(m as i32)) as u64
        };
        let accumulates = matches!(s.op, Op::Umlal | Op::Smlal);
        let start = if accumulates { self.cpu.pair(s) } else { 0 };
        self.cpu.set_pair(s, start.wrapping_add(product));
        at.multiplied_long(self, s.op, [n, m]);
    }

    #[inline(always)]
    pub(super) fn divide(&mut self, s: &Slot, at: &mut impl ExecContext) -> Done {
        let (n, m) = (self.cpu.get(s.n), self.cpu.get(s.m));
        let quotient = match (m, s.op) {
            (0, _) if self.system.traps_division_by_zero() => return Err(Trap::DivideByZero),
            (0, _) => 0,
            (_, Op::Udiv) => n / m,
            _ => (n as i32).wrapping_div(m as i32) as u32,
        };
        self.cpu.set(s.d, quotient);
        at.divided(self, s.op, [n, m]);
        Ok(())
    }

    pub(super) fn execute_integer(&mut self, s: &Slot) -> Done {
        let cpu = &mut self.cpu;
        let (n, m) = (cpu.get(s.n), cpu.get(s.m));
        match s.op {
            Op::Bfi | Op::Bfc => {
                let mask = (u32::MAX >> (32 - s.aux.min(32))) << s.imm;
                let field = if s.op == Op::Bfc { 0 } else { n << s.imm };
                cpu.set(s.d, (cpu.get(s.d) & !mask) | (field & mask));
            }
            Op::Sbfx => {
                // A field that extends beyond bit 31 is unpredictable; use the bits that exist.
                let width = s.aux.min(32 - s.imm);
                cpu.set(s.d, ((n << (32 - s.imm - width)) as i32 >> (32 - width)) as u32);
            }
            Op::Clz => cpu.set(s.d, m.leading_zeros()),
            Op::Rbit => cpu.set(s.d, m.reverse_bits()),
            Op::Rev => cpu.set(s.d, m.swap_bytes()),
            Op::Rev16 => cpu.set(s.d, m.swap_bytes().rotate_left(16)),
            Op::Revsh => cpu.set(s.d, (m as u16).swap_bytes() as i16 as u32),
            Op::Sxtab => cpu.set(s.d, n.wrapping_add(m.rotate_right(s.imm) as i8 as u32)),
            Op::Sxtah => cpu.set(s.d, n.wrapping_add(m.rotate_right(s.imm) as i16 as u32)),
            Op::Uxtab => cpu.set(s.d, n.wrapping_add(m.rotate_right(s.imm) & 0xFF)),
            Op::Uxtah => cpu.set(s.d, n.wrapping_add(m.rotate_right(s.imm) & 0xFFFF)),
            Op::Ssat | Op::Usat => {
                let (shifted, _) = shift(n, s.aux >> 8, s.aux & 0xFF, false);
                let value = i64::from(shifted as i32);
                let (result, saturated) = if s.op == Op::Ssat {
                    saturate_signed(value, s.imm)
                } else {
                    saturate_unsigned(value, s.imm)
                };
                cpu.set(s.d, result);
                cpu.q |= saturated;
            }
            _ => return Err(Trap::Undefined),
        }
        Ok(())
    }
}

impl crate::arch::armm::registers::Cpu {
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
