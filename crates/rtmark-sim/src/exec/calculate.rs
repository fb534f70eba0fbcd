//! The operations that calculate with registers (DDI 0403, A7.7).
//!
//! Those that always complete see nothing but the registers. How long a multiplication or division takes
//! depends on its operands, so these report them.

#![expect(clippy::unnecessary_wraps, reason = "all bodies of a kind have one signature")]

use super::alu::{self, shift_some};
use super::{ExecContext, Executing, Flow, Outcome};
use crate::arch::armm::registers::Cpu;
use crate::arch::armm::trap::Trap;
use crate::isa::Slot;
use crate::state::State;

/// The value of a flexible second operand, and the carry flag that its evaluation produces, if any.
type Operand = (u32, Option<bool>);

/// The second operand is an immediate, which may define the carry flag.
#[inline(always)]
pub fn immediate(_: &Cpu, s: &Slot) -> Operand {
    (s.imm, (s.aux == 1).then_some(s.imm >> 31 != 0))
}

/// The second operand is a register.
#[inline(always)]
pub fn register(cpu: &Cpu, s: &Slot) -> Operand {
    (cpu.get(s.m), None)
}

/// The second operand is a register shifted by an immediate.
#[inline(always)]
pub fn shifted(cpu: &Cpu, s: &Slot) -> Operand {
    let (value, carry) = shift_some(cpu.get(s.m), s.aux >> 8, s.aux & 0x3F, cpu.c);
    (value, Some(carry))
}

/// A bitwise operation.
#[inline(always)]
pub fn logical(
    cpu: &mut Cpu,
    s: &Slot,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    function: impl Fn(u32, u32) -> u32,
) {
    let (y, _) = operand(cpu, s);
    cpu.set(s.d, function(cpu.get(s.n), y));
}

/// A bitwise operation that sets the flags.
#[inline(always)]
pub fn logical_s(
    cpu: &mut Cpu,
    s: &Slot,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    function: impl Fn(u32, u32) -> u32,
) {
    let result = set_logical_flags(cpu, s, operand, function);
    cpu.set(s.d, result);
}

/// A bitwise operation that only sets the flags: TST and TEQ.
#[inline(always)]
pub fn test(
    cpu: &mut Cpu,
    s: &Slot,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    function: impl Fn(u32, u32) -> u32,
) {
    set_logical_flags(cpu, s, operand, function);
}

#[inline(always)]
fn set_logical_flags(
    cpu: &mut Cpu,
    s: &Slot,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    function: impl Fn(u32, u32) -> u32,
) -> u32 {
    let (y, carry) = operand(cpu, s);
    let result = function(cpu.get(s.n), y);
    cpu.set_nz(result);
    if let Some(carry) = carry {
        cpu.c = carry;
    }
    result
}

/// MOV to any register.
#[inline(always)]
pub fn mov_any(
    cpu: &mut Cpu,
    s: &Slot,
    at: &impl Executing,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
) {
    let (value, _) = operand(cpu, s);
    at.set(cpu, s.d, value);
}

/// Returns the arguments of AddWithCarry: what `terms` makes of the operands and the carry flag.
#[inline(always)]
fn terms_of(
    cpu: &Cpu,
    s: &Slot,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    terms: impl Fn(u32, u32, bool) -> (u32, u32, bool),
) -> (u32, u32, bool) {
    let (y, _) = operand(cpu, s);
    terms(cpu.get(s.n), y, cpu.c)
}

/// An addition or subtraction.
#[inline(always)]
pub fn sum(
    cpu: &mut Cpu,
    s: &Slot,
    at: &impl Executing,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    terms: impl Fn(u32, u32, bool) -> (u32, u32, bool),
) {
    let (x, y, carry) = terms_of(cpu, s, operand, terms);
    at.set(cpu, s.d, x.wrapping_add(y).wrapping_add(carry.into()));
}

/// An addition or subtraction that sets the flags.
#[inline(always)]
pub fn sum_s(
    cpu: &mut Cpu,
    s: &Slot,
    at: &impl Executing,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
    terms: impl Fn(u32, u32, bool) -> (u32, u32, bool),
) {
    let (x, y, carry) = terms_of(cpu, s, operand, terms);
    let result = cpu.add_with_flags(x, y, carry);
    at.set(cpu, s.d, result);
}

/// SUBS: a subtraction without carry takes fewer steps than AddWithCarry.
#[inline(always)]
pub fn subtract_s(
    cpu: &mut Cpu,
    s: &Slot,
    at: &impl Executing,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
) {
    let (y, _) = operand(cpu, s);
    let result = cpu.subtract_with_flags(cpu.get(s.n), y);
    at.set(cpu, s.d, result);
}

/// RSBS.
#[inline(always)]
pub fn reverse_subtract_s(
    cpu: &mut Cpu,
    s: &Slot,
    at: &impl Executing,
    operand: impl Fn(&Cpu, &Slot) -> Operand,
) {
    let (y, _) = operand(cpu, s);
    let result = cpu.subtract_with_flags(y, cpu.get(s.n));
    at.set(cpu, s.d, result);
}

/// CMP.
#[inline(always)]
pub fn compare(cpu: &mut Cpu, s: &Slot, operand: impl Fn(&Cpu, &Slot) -> Operand) {
    let (y, _) = operand(cpu, s);
    cpu.subtract_with_flags(cpu.get(s.n), y);
}

/// CMN.
#[inline(always)]
pub fn compare_negative(cpu: &mut Cpu, s: &Slot, operand: impl Fn(&Cpu, &Slot) -> Operand) {
    let (y, _) = operand(cpu, s);
    cpu.add_with_flags(cpu.get(s.n), y, false);
}

/// A shift by a register.
#[inline(always)]
pub fn shift(cpu: &mut Cpu, s: &Slot, kind: u32) {
    let amount = cpu.get(s.m) & 0xFF;
    let (result, _) = alu::shift(cpu.get(s.n), kind, amount, cpu.c);
    cpu.set(s.d, result);
}

/// A shift by a register that sets the flags.
#[inline(always)]
pub fn shift_s(cpu: &mut Cpu, s: &Slot, kind: u32) {
    let amount = cpu.get(s.m) & 0xFF;
    let (result, carry) = alu::shift(cpu.get(s.n), kind, amount, cpu.c);
    cpu.set(s.d, result);
    cpu.set_nz(result);
    cpu.c = carry;
}

/// A function of one register.
#[inline(always)]
pub fn unary(cpu: &mut Cpu, s: &Slot, function: impl Fn(u32) -> u32) {
    cpu.set(s.d, function(cpu.get(s.m)));
}

/// A function of two registers.
#[inline(always)]
pub fn binary(cpu: &mut Cpu, s: &Slot, function: impl Fn(u32, u32) -> u32) {
    cpu.set(s.d, function(cpu.get(s.n), cpu.get(s.m)));
}

/// Extends part of a register, which is first rotated.
#[inline(always)]
pub fn extend(cpu: &mut Cpu, s: &Slot, part: impl Fn(u32) -> u32) {
    cpu.set(s.d, part(cpu.get(s.m).rotate_right(s.imm)));
}

/// Extends part of a register, which is first rotated, and adds it to another register.
#[inline(always)]
pub fn extend_add(cpu: &mut Cpu, s: &Slot, part: impl Fn(u32) -> u32) {
    cpu.set(s.d, cpu.get(s.n).wrapping_add(part(cpu.get(s.m).rotate_right(s.imm))));
}

#[inline(always)]
pub fn movt(cpu: &mut Cpu, s: &Slot) {
    cpu.set(s.d, (cpu.get(s.d) & 0xFFFF) | s.imm << 16);
}

#[inline(always)]
pub fn bfi(cpu: &mut Cpu, s: &Slot) {
    insert_field(cpu, s, cpu.get(s.n) << s.imm);
}

#[inline(always)]
pub fn bfc(cpu: &mut Cpu, s: &Slot) {
    insert_field(cpu, s, 0);
}

/// Replaces the field of `aux` bits from bit `imm` on.
#[inline(always)]
fn insert_field(cpu: &mut Cpu, s: &Slot, field: u32) {
    let mask = (u32::MAX >> (32 - s.aux.min(32))) << s.imm;
    cpu.set(s.d, (cpu.get(s.d) & !mask) | (field & mask));
}

#[inline(always)]
pub fn ubfx(cpu: &mut Cpu, s: &Slot) {
    let mask = u32::MAX >> (32 - s.aux.min(32));
    cpu.set(s.d, cpu.get(s.n) >> s.imm & mask);
}

/// SBFX. A field that extends beyond bit 31 is unpredictable; this uses the bits that exist.
#[inline(always)]
pub fn sbfx(cpu: &mut Cpu, s: &Slot) {
    let width = s.aux.min(32 - s.imm);
    cpu.set(s.d, ((cpu.get(s.n) << (32 - s.imm - width)) as i32 >> (32 - width)) as u32);
}

/// SSAT and USAT.
#[inline(always)]
pub fn saturate(cpu: &mut Cpu, s: &Slot, function: impl Fn(i64, u32) -> (u32, bool)) {
    let (shifted, _) = alu::shift(cpu.get(s.n), s.aux >> 8, s.aux & 0xFF, false);
    let (result, saturated) = function((shifted as i32).into(), s.imm);
    cpu.set(s.d, result);
    cpu.q |= saturated;
}

#[inline(always)]
pub fn muls(cpu: &mut Cpu, s: &Slot) {
    let result = cpu.get(s.n).wrapping_mul(cpu.get(s.m));
    cpu.set(s.d, result);
    cpu.set_nz(result);
}

/// MLA and MLS, as a function of accumulator and product.
#[inline(always)]
pub fn multiply_accumulate(cpu: &mut Cpu, s: &Slot, function: impl Fn(u32, u32) -> u32) {
    let product = cpu.get(s.n).wrapping_mul(cpu.get(s.m));
    cpu.set(s.d, function(cpu.get(s.a), product));
}

/// UMULL and SMULL.
#[inline(always)]
pub fn multiply_long<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    product: impl Fn(u32, u32) -> u64,
) -> Outcome {
    accumulate_long(state, s, at, product, |_| 0)
}

/// UMLAL and SMLAL.
#[inline(always)]
pub fn multiply_accumulate_long<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    product: impl Fn(u32, u32) -> u64,
) -> Outcome {
    accumulate_long(state, s, at, product, |cpu| cpu.pair(s))
}

#[inline(always)]
fn accumulate_long<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    product: impl Fn(u32, u32) -> u64,
    start: impl Fn(&Cpu) -> u64,
) -> Outcome {
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    let (n, m) = (state.cpu.get(s.n), state.cpu.get(s.m));
    let sum = start(&state.cpu).wrapping_add(product(n, m));
    state.cpu.set_pair(s, sum);
    at.context().multiplied_long(state, s.op, [n, m]);
    Ok(at.proceed())
}

/// UDIV and SDIV. The divisor of `quotient` is not zero.
#[inline(always)]
pub fn divide<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    quotient: impl Fn(u32, u32) -> u32,
) -> Outcome {
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    let (n, m) = (state.cpu.get(s.n), state.cpu.get(s.m));
    if m == 0 && state.system.traps_division_by_zero() {
        return Err(Trap::DivideByZero);
    }
    state.cpu.set(s.d, if m == 0 { 0 } else { quotient(n, m) });
    at.context().divided(state, s.op, [n, m]);
    Ok(at.proceed())
}
