//! Data processing, multiplication and division.

use super::{Arch, Effects, Result, UNDEFINED};
use crate::armr::control::sctlr;
use crate::armr::cpu::{Cpu, psr};
use crate::armr::isa::op::{Alu, Bits, Instruction, Multiply, Narrow, SecondOperand, Sign};
use crate::exec::shift;

/// AddWithCarry: returns the sum, its carry and its overflow.
#[inline(always)]
const fn add(x: u32, y: u32, carry: bool) -> (u32, bool, bool) {
    let sum = x as u64 + y as u64 + carry as u64;
    let result = sum as u32;
    (result, sum >> 32 != 0, ((x ^ result) & (y ^ result)) >> 31 == 1)
}

/// AddWithCarry of `x`, the complement of `y`, and 1: returns the difference, its carry and its
/// overflow.
#[inline(always)]
const fn subtract(x: u32, y: u32) -> (u32, bool, bool) {
    let (result, borrow) = x.overflowing_sub(y);
    (result, !borrow, (x as i32).overflowing_sub(y as i32).1)
}

/// Returns the result, carry and overflow of an operation on two operands, the carry flag, and the
/// shifter's carry-out.
#[inline(always)]
pub const fn results(alu: Alu, x: u32, y: u32, carry: bool, shifter: bool) -> (u32, bool, bool) {
    match alu {
        Alu::And | Alu::Tst => (x & y, shifter, false),
        Alu::Eor | Alu::Teq => (x ^ y, shifter, false),
        Alu::Orr => (x | y, shifter, false),
        Alu::Orn => (x | !y, shifter, false),
        Alu::Bic => (x & !y, shifter, false),
        Alu::Mov => (y, shifter, false),
        Alu::Mvn => (!y, shifter, false),
        Alu::Add | Alu::Cmn => add(x, y, false),
        Alu::Adc => add(x, y, carry),
        Alu::Sub | Alu::Cmp => subtract(x, y),
        Alu::Sbc => add(x, !y, carry),
        Alu::Rsb => subtract(y, x),
        Alu::Rsc => add(!x, y, carry),
    }
}

impl Cpu {
    /// Sets the flags from the result of an operation.
    #[inline(always)]
    pub const fn note(&mut self, alu: Alu, (result, carry, overflow): (u32, bool, bool)) {
        self.set_result(result, carry);
        if alu.adds() {
            self.set_overflow(overflow);
        }
    }
}

/// Returns the result of a multiplication that has one of the forms MUL, MLA and MLS, or UMULL, SMULL,
/// UMLAL and SMLAL, and the accumulator.
#[inline(always)]
pub const fn product(multiply: Multiply, n: u32, m: u32, accumulator: u64) -> u64 {
    let unsigned = n as u64 * m as u64;
    let signed = (n as i32 as i64 * m as i32 as i64) as u64;
    match multiply {
        Multiply::Mla | Multiply::Umlal => accumulator.wrapping_add(unsigned),
        Multiply::Mls => accumulator.wrapping_sub(unsigned),
        Multiply::Smull => signed,
        Multiply::Smlal => accumulator.wrapping_add(signed),
        _ => unsigned,
    }
}

/// Returns the result of an operation on bits: of the former destination, two operands, and the lowest
/// bit and the width of a field.
#[inline(always)]
pub const fn with_bits(bits: Bits, d: u32, (n, m): (u32, u32), (low, width): (u32, u8)) -> u32 {
    let up = match width {
        0 => 31,
        1..=32 => 32 - width as u32,
        _ => 0,
    };
    let mask = u32::MAX >> up;
    match bits {
        Bits::Clz => m.leading_zeros(),
        Bits::Rbit => m.reverse_bits(),
        Bits::Rev => m.swap_bytes(),
        Bits::Rev16 => m.swap_bytes().rotate_left(16),
        Bits::Revsh => (m as u16).swap_bytes() as i16 as u32,
        Bits::Insert => d & !(mask << (low & 31)) | (n & mask) << (low & 31),
        Bits::Clear => d & !(mask << (low & 31)),
        Bits::Extract(Sign::Unsigned) => n >> (low & 31) & mask,
        Bits::Extract(Sign::Signed) => ((n >> (low & 31) << up) as i32 >> up) as u32,
        Bits::Top => d & 0xFFFF | low << 16,
    }
}

/// Returns a part of a rotated register, extended and added to a start.
#[inline(always)]
pub const fn extended(narrow: Narrow, sign: Sign, start: u32, rotated: u32) -> u32 {
    match (narrow, sign) {
        (Narrow::Byte, Sign::Unsigned) => start.wrapping_add(rotated & 0xFF),
        (Narrow::Byte, Sign::Signed) => start.wrapping_add(rotated as i8 as u32),
        (Narrow::Half, Sign::Unsigned) => start.wrapping_add(rotated & 0xFFFF),
        (Narrow::Half, Sign::Signed) => start.wrapping_add(rotated as i16 as u32),
        (Narrow::Bytes, _) => {
            extended_lane(sign, start, rotated)
                | extended_lane(sign, start >> 16, rotated >> 16) << 16
        }
    }
}

/// Returns the lowest halfword of a start, to which a byte is added.
const fn extended_lane(sign: Sign, start: u32, byte: u32) -> u32 {
    let wide = match sign {
        Sign::Signed => byte as i8 as u16,
        Sign::Unsigned => byte as u8 as u16,
    };
    (start as u16).wrapping_add(wide) as u32
}

/// Returns the low or the top halfword, sign-extended.
const fn half(value: u32, top: bool) -> i64 {
    (if top { value >> 16 } else { value } as i16) as i64
}

impl Arch {
    /// Returns the second operand, and the shifter's carry-out.
    pub(super) fn second(&self, it: &Instruction, second: SecondOperand) -> (u32, bool) {
        let carry = self.cpu.carry();
        match second {
            SecondOperand::Immediate => (it.imm, carry),
            SecondOperand::ImmediateCarry => (it.imm, it.imm >> 31 == 1),
            SecondOperand::Shifted => {
                let value = self.cpu.operand(it.m);
                shift(value, it.shift.kind.into(), it.shift.amount.into(), carry)
            }
            SecondOperand::ByRegister => {
                let amount = self.cpu.operand(it.a) & 0xFF;
                shift(self.cpu.operand(it.m), it.shift.kind.into(), amount, carry)
            }
        }
    }

    pub(super) fn data(
        &mut self,
        it: &Instruction,
        alu: Alu,
        second: SecondOperand,
        inside_it: bool,
        done: &mut Effects,
    ) -> Result<()> {
        let (y, shifter) = self.second(it, second);
        let results = results(alu, self.cpu.operand(it.n), y, self.cpu.carry(), shifter);
        let sets = it.sets_flags(inside_it) || alu.compares();
        if it.d == 15 && !alu.compares() {
            if sets {
                return self.return_to(results.0, done);
            }
            self.write_pc(results.0, done);
            return Ok(());
        }
        if sets {
            self.cpu.note(alu, results);
        }
        if !alu.compares() {
            self.cpu.set(it.d, results.0);
        }
        Ok(())
    }

    /// Returns from an exception: the saved status becomes the current one.
    pub(super) fn return_to(&mut self, target: u32, done: &mut Effects) -> Result<()> {
        let status = self.cpu.saved_status().ok_or(UNDEFINED)?;
        self.return_with(status, target, done);
        Ok(())
    }

    pub(super) fn return_with(&mut self, status: u32, target: u32, done: &mut Effects) {
        // ITSTATE is part of the restored status and applies to the next instruction.
        self.cpu.set_cpsr(status);
        let it = self.cpu.it;
        let thumb = self.cpu.is_thumb();
        done.jump = Some(target & if thumb { !1 } else { !3 });
        done.returns = Some(it);
        self.cpu.event = true;
    }

    pub fn divide(&mut self, it: &Instruction, sign: Sign, done: &mut Effects) -> Result<()> {
        let (n, m) = (self.cpu.get(it.n), self.cpu.get(it.m));
        if m == 0 && self.control.sctlr & sctlr::DZ != 0 {
            return Err(UNDEFINED);
        }
        let quotient = match (m, sign) {
            (0, _) => 0,
            (_, Sign::Unsigned) => n / m,
            (_, Sign::Signed) => (n as i32).wrapping_div(m as i32) as u32,
        };
        done.quotient = Some(match sign {
            Sign::Unsigned => (n, m),
            Sign::Signed => ((n as i32).unsigned_abs(), (m as i32).unsigned_abs()),
        });
        self.cpu.set(it.d, quotient);
        Ok(())
    }

    /// Writes a truncated result, and sets Q if it is not exact.
    pub(super) fn set_wrapped(&mut self, d: u8, exact: i64) {
        self.cpu.set(d, exact as u32);
        if exact != i64::from(exact as i32) {
            self.cpu.set_bit(psr::Q, true);
        }
    }

    pub fn multiply(&mut self, it: &Instruction, multiply: Multiply, inside_it: bool) {
        use Multiply as M;
        let (n, m, a) = (self.cpu.get(it.n), self.cpu.get(it.m), self.cpu.get(it.a));
        let unsigned = u64::from(n) * u64::from(m);
        let signed = i64::from(n as i32) * i64::from(m as i32);
        let accumulator = i64::from(a as i32);
        let variant = it.imm & 1 == 1;
        let swapped = if variant { m.rotate_left(16) } else { m };
        let products = (half(n, false) * half(swapped, false), half(n, true) * half(swapped, true));
        match multiply {
            M::Mul | M::Mla | M::Mls => {
                self.cpu.set(it.d, product(multiply, n, m, a.into()) as u32);
            }
            M::Umull | M::Smull | M::Umlal | M::Smlal => {
                let result = product(multiply, n, m, self.cpu.pair(it.d, it.a));
                self.cpu.set_pair(it.d, it.a, result);
            }
            M::Umaal => {
                let high = u64::from(self.cpu.get(it.d));
                self.cpu.set_pair(it.d, it.a, unsigned + high + u64::from(a));
            }
            M::SmulXy => self.cpu.set(it.d, self.halves_product(it) as u32),
            M::SmlaXy => self.set_wrapped(it.d, self.halves_product(it) + accumulator),
            M::SmulWy => {
                self.cpu.set(it.d, ((i64::from(n as i32) * half(m, variant)) >> 16) as u32);
            }
            M::SmlaWy => {
                let product = (i64::from(n as i32) * half(m, variant)) >> 16;
                self.set_wrapped(it.d, product + accumulator);
            }
            M::SmlalXy => {
                let product = self.halves_product(it) as u64;
                self.cpu.set_pair(it.d, it.a, self.cpu.pair(it.d, it.a).wrapping_add(product));
            }
            M::Smuad => self.set_wrapped(it.d, products.0 + products.1),
            M::Smusd => self.set_wrapped(it.d, products.0 - products.1),
            M::Smlad => self.set_wrapped(it.d, products.0 + products.1 + accumulator),
            M::Smlsd => self.set_wrapped(it.d, products.0 - products.1 + accumulator),
            M::Smlald => {
                let sum = (products.0 + products.1) as u64;
                self.cpu.set_pair(it.d, it.a, self.cpu.pair(it.d, it.a).wrapping_add(sum));
            }
            M::Smlsld => {
                let sum = (products.0 - products.1) as u64;
                self.cpu.set_pair(it.d, it.a, self.cpu.pair(it.d, it.a).wrapping_add(sum));
            }
            M::Smmul | M::Smmla | M::Smmls => {
                let high = accumulator << 32;
                let exact = match multiply {
                    M::Smmul => signed,
                    M::Smmla => high.wrapping_add(signed),
                    _ => high.wrapping_sub(signed),
                };
                let rounded = exact.wrapping_add(if variant { 0x8000_0000 } else { 0 });
                self.cpu.set(it.d, (rounded >> 32) as u32);
            }
        }
        if it.sets_flags(inside_it) {
            self.set_product_flags(it, multiply);
        }
    }

    /// Returns the product of the halfwords that an encoding selects.
    fn halves_product(&self, it: &Instruction) -> i64 {
        half(self.cpu.get(it.n), it.imm & 2 != 0) * half(self.cpu.get(it.m), it.imm & 1 != 0)
    }

    fn set_product_flags(&mut self, it: &Instruction, multiply: Multiply) {
        use Multiply as M;
        let long = matches!(multiply, M::Umull | M::Smull | M::Umlal | M::Smlal);
        let value =
            if long { self.cpu.pair(it.d, it.a) } else { u64::from(self.cpu.get(it.d)) << 32 };
        self.cpu.set_long_result(value);
    }

    pub fn bits(&mut self, it: &Instruction, bits: Bits) {
        let operands = (self.cpu.get(it.n), self.cpu.get(it.m));
        let result = with_bits(bits, self.cpu.get(it.d), operands, (it.imm, it.a));
        self.cpu.set(it.d, result);
    }

    pub fn extend(&mut self, it: &Instruction, narrow: Narrow, sign: Sign) {
        let rotated = self.cpu.get(it.m).rotate_right(it.imm);
        let start = if it.n == 15 { 0 } else { self.cpu.get(it.n) };
        self.cpu.set(it.d, extended(narrow, sign, start, rotated));
    }
}
