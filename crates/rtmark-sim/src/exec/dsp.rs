//! The DSP extension of ARMv7E-M (DDI 0403, A7.7). The `aux` field of each slot holds the encoding's
//! variant bits.

use super::alu::{saturate_signed, saturate_unsigned, shift};
use crate::arch::armm::registers::Cpu;
use crate::isa::Slot;

/// Returns the low or the high halfword as a signed value.
const fn half(value: u32, high: bool) -> i64 {
    (if high { value >> 16 } else { value } as i16) as i64
}

/// Returns a register as a signed value.
const fn signed(value: u32) -> i64 {
    value as i32 as i64
}

/// Returns the products of the low and of the high halfwords of the operands. Bit 0 of `aux` first exchanges
/// the halfwords of the second one.
fn products(cpu: &Cpu, s: &Slot) -> (i64, i64) {
    let (n, m) = (cpu.get(s.n), cpu.get(s.m));
    let m = if s.aux & 1 == 1 { m.rotate_left(16) } else { m };
    (half(n, false) * half(m, false), half(n, true) * half(m, true))
}

/// Returns the product of the halfwords that the two variant bits select.
fn product_of_halves(cpu: &Cpu, s: &Slot) -> i64 {
    half(cpu.get(s.n), s.aux & 2 != 0) * half(cpu.get(s.m), s.aux & 1 != 0)
}

/// Returns the upper 32 of the 48 bits of the product of a word and the selected halfword.
fn product_with_half(cpu: &Cpu, s: &Slot) -> i64 {
    (signed(cpu.get(s.n)) * half(cpu.get(s.m), s.aux & 1 == 1)) >> 16
}

impl Cpu {
    /// Writes the low 32 bits of an exact result, and sets Q if the result does not fit.
    fn set_wrapped(&mut self, d: u8, exact: i64) {
        self.set(d, exact as u32);
        self.q |= exact != signed(exact as u32);
    }

    fn set_saturated(&mut self, d: u8, exact: i64) {
        let (result, saturated) = saturate_signed(exact, 32);
        self.set(d, result);
        self.q |= saturated;
    }

    /// Adds to the 64-bit accumulator.
    fn add_to_pair(&mut self, s: &Slot, value: i64) {
        let sum = self.pair(s).wrapping_add(value as u64);
        self.set_pair(s, sum);
    }
}

/// SMULxy.
#[inline(always)]
pub fn multiply_halves(cpu: &mut Cpu, s: &Slot) {
    cpu.set(s.d, product_of_halves(cpu, s) as u32);
}

/// SMLAxy.
#[inline(always)]
pub fn multiply_accumulate_halves(cpu: &mut Cpu, s: &Slot) {
    cpu.set_wrapped(s.d, product_of_halves(cpu, s) + signed(cpu.get(s.a)));
}

/// SMLALxy.
#[inline(always)]
pub fn multiply_accumulate_halves_long(cpu: &mut Cpu, s: &Slot) {
    cpu.add_to_pair(s, product_of_halves(cpu, s));
}

/// SMULWy.
#[inline(always)]
pub fn multiply_with_half(cpu: &mut Cpu, s: &Slot) {
    cpu.set(s.d, product_with_half(cpu, s) as u32);
}

/// SMLAWy.
#[inline(always)]
pub fn multiply_accumulate_with_half(cpu: &mut Cpu, s: &Slot) {
    cpu.set_wrapped(s.d, product_with_half(cpu, s) + signed(cpu.get(s.a)));
}

/// SMUAD and SMUSD.
#[inline(always)]
pub fn dual_multiply(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let (low, high) = products(cpu, s);
    cpu.set_wrapped(s.d, combine(low, high));
}

/// SMLAD and SMLSD.
#[inline(always)]
pub fn dual_multiply_accumulate(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let (low, high) = products(cpu, s);
    cpu.set_wrapped(s.d, combine(low, high) + signed(cpu.get(s.a)));
}

/// SMLALD and SMLSLD.
#[inline(always)]
pub fn dual_multiply_accumulate_long(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let (low, high) = products(cpu, s);
    cpu.add_to_pair(s, combine(low, high));
}

/// SMMUL, SMMLA and SMMLS: the high word of what `combine` makes of the accumulator, as a high word, and the
/// product. Bit 0 of `aux` rounds.
#[inline(always)]
pub fn multiply_high(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let product = signed(cpu.get(s.n)) * signed(cpu.get(s.m));
    let exact = combine(signed(cpu.get(s.a)) << 32, product);
    let rounded = exact.wrapping_add(if s.aux & 1 == 1 { 0x8000_0000 } else { 0 });
    cpu.set(s.d, (rounded >> 32) as u32);
}

#[inline(always)]
pub fn umaal(cpu: &mut Cpu, s: &Slot) {
    let product = u64::from(cpu.get(s.n)) * u64::from(cpu.get(s.m));
    let sum = product + u64::from(cpu.get(s.d)) + u64::from(cpu.get(s.a));
    cpu.set_pair(s, sum);
}

/// QADD and QSUB.
#[inline(always)]
pub fn saturating(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let exact = combine(signed(cpu.get(s.m)), signed(cpu.get(s.n)));
    cpu.set_saturated(s.d, exact);
}

/// QDADD and QDSUB.
#[inline(always)]
pub fn saturating_doubled(cpu: &mut Cpu, s: &Slot, combine: impl Fn(i64, i64) -> i64) {
    let (doubled, saturated) = saturate_signed(2 * signed(cpu.get(s.n)), 32);
    cpu.q |= saturated;
    let exact = combine(signed(cpu.get(s.m)), signed(doubled));
    cpu.set_saturated(s.d, exact);
}

/// SEL: selects each byte by its GE flag.
#[inline(always)]
pub fn sel(cpu: &mut Cpu, s: &Slot) {
    let lanes = (0..4).filter(|lane| cpu.ge >> lane & 1 == 1);
    let mask = lanes.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
    cpu.set(s.d, cpu.get(s.n) & mask | cpu.get(s.m) & !mask);
}

/// USAD8 and USADA8: adds the absolute differences of the bytes to a start.
#[inline(always)]
pub fn absolute_differences(cpu: &mut Cpu, s: &Slot, start: impl Fn(&Cpu, &Slot) -> u32) {
    let (n, m) = (cpu.get(s.n).to_le_bytes(), cpu.get(s.m).to_le_bytes());
    let add = |sum: u32, (x, y): (u8, u8)| sum.wrapping_add(x.abs_diff(y).into());
    cpu.set(s.d, n.into_iter().zip(m).fold(start(cpu, s), add));
}

/// PKHBT and PKHTB: packs a halfword of the first and one of the shifted second operand.
#[inline(always)]
pub fn pack_halves(cpu: &mut Cpu, s: &Slot, pack: impl Fn(u32, u32) -> u32) {
    let (operand, _) = shift(cpu.get(s.m), s.aux >> 8, s.aux & 0xFF, false);
    cpu.set(s.d, pack(cpu.get(s.n), operand));
}

/// The operand to which an operation adds: none.
pub const fn nothing(_: &Cpu, _: &Slot) -> u32 {
    0
}

/// The operand to which an operation adds: the first one.
pub const fn first(cpu: &Cpu, s: &Slot) -> u32 {
    cpu.get(s.n)
}

/// The operand to which an operation adds: the accumulator.
pub const fn accumulator(cpu: &Cpu, s: &Slot) -> u32 {
    cpu.get(s.a)
}

/// SXTB16, UXTB16, SXTAB16 and UXTAB16: adds two extended bytes to the halfwords of a start.
#[inline(always)]
pub fn extend_halves(
    cpu: &mut Cpu,
    s: &Slot,
    start: impl Fn(&Cpu, &Slot) -> u32,
    part: impl Fn(u32) -> u32,
) {
    let (start, rotated) = (start(cpu, s), cpu.get(s.m).rotate_right(s.imm));
    let lane = |shift: u32| {
        let sum = ((start >> shift) as u16).wrapping_add(part(rotated >> shift) as u16);
        u32::from(sum) << shift
    };
    cpu.set(s.d, lane(0) | lane(16));
}

/// SSAT16 and USAT16.
#[inline(always)]
pub fn saturate_halves(cpu: &mut Cpu, s: &Slot, function: impl Fn(i64, u32) -> (u32, bool)) {
    let mut result = 0;
    for (high, shift) in [(false, 0), (true, 16)] {
        let (value, saturated) = function(half(cpu.get(s.n), high), s.imm);
        result |= (value & 0xFFFF) << shift;
        cpu.q |= saturated;
    }
    cpu.set(s.d, result);
}

/// Parallel addition and subtraction. `aux` holds three bits of operation and one of signedness; `imm` holds
/// the kind (plain, saturating, halving).
#[inline(always)]
pub fn parallel(cpu: &mut Cpu, s: &Slot) {
    let unsigned = s.aux & 1 == 1;
    let operation = s.aux >> 1;
    let width = if operation & 3 == 0 { 8 } else { 16 };
    // ASX (2) and SAX (6) exchange the lanes of the second operand.
    let crossed = operation & 3 == 2;
    let (n, m) = (cpu.get(s.n), cpu.get(s.m));
    let m = if crossed { m.rotate_left(16) } else { m };
    let lanes = 32 / width;
    let lane_mask = (1u32 << width) - 1;
    let (mut result, mut ge) = (0, 0u8);
    for lane in 0..lanes {
        let at = lane * width;
        let take = |value: u32| {
            let bits = value >> at & lane_mask;
            if unsigned {
                i64::from(bits)
            } else {
                i64::from((bits << (32 - width)) as i32 >> (32 - width))
            }
        };
        let (x, y) = (take(n), take(m));
        let subtracts = match operation {
            0 | 1 => false,
            4 | 5 => true,
            2 => lane == 0,
            _ => lane == 1,
        };
        let sum = if subtracts { x - y } else { x + y };
        let value = match s.imm {
            0 => sum as u32,
            1 if unsigned => saturate_unsigned(sum, width).0,
            1 => saturate_signed(sum, width).0,
            _ => (sum >> 1) as u32,
        };
        result |= (value & lane_mask) << at;
        let flag = if unsigned && !subtracts { sum > i64::from(lane_mask) } else { sum >= 0 };
        let lane_flags = if width == 8 { 1 } else { 3 };
        if flag {
            ge |= lane_flags << (at / 8);
        }
    }
    cpu.set(s.d, result);
    if s.imm == 0 {
        cpu.ge = ge;
    }
}

/// PKHBT: the low halfword of the first operand, below the high one of the second.
pub const fn bottom_top(n: u32, m: u32) -> u32 {
    m & 0xFFFF_0000 | n & 0xFFFF
}

/// PKHTB: the low halfword of the second operand, below the high one of the first.
pub const fn top_bottom(n: u32, m: u32) -> u32 {
    n & 0xFFFF_0000 | m & 0xFFFF
}

/// SMMUL: the product, without the accumulator.
pub const fn product_only(_: i64, product: i64) -> i64 {
    product
}
