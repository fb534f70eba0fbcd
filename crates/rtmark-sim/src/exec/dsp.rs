//! The DSP extension of ARMv7E-M (DDI 0403, A7.7). The `aux` field of each slot holds the encoding's
//! variant bits.

use super::alu::{saturate_signed, saturate_unsigned, shift};
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::{Op, Slot};
use crate::state::State;

/// Returns the low or the high halfword as a signed value.
const fn half(value: u32, high: bool) -> i64 {
    (if high { value >> 16 } else { value } as i16) as i64
}

/// Returns the products of the low and of the high halfwords; `swap` first exchanges the halfwords of `m`.
const fn products(n: u32, m: u32, swap: bool) -> (i64, i64) {
    let m = if swap { m.rotate_left(16) } else { m };
    (half(n, false) * half(m, false), half(n, true) * half(m, true))
}

impl State {
    /// Writes the low 32 bits of an exact result, and sets Q if the result does not fit.
    fn set_wrapped(&mut self, d: u8, exact: i64) {
        self.cpu.set(d, exact as u32);
        self.cpu.q |= exact != i64::from(exact as i32);
    }

    fn set_saturated(&mut self, d: u8, exact: i64) {
        let (result, saturated) = saturate_signed(exact, 32);
        self.cpu.set(d, result);
        self.cpu.q |= saturated;
    }

    /// SMULxy and SMLAxy, which compilers use.
    #[inline(always)]
    pub(super) fn multiply_halves(&mut self, op: Op, s: &Slot) {
        let (n, m) = (self.cpu.get(s.n), self.cpu.get(s.m));
        let product = half(n, s.aux & 2 != 0) * half(m, s.aux & 1 != 0);
        if op == Op::Smulxy {
            self.cpu.set(s.d, product as u32);
        } else {
            self.set_wrapped(s.d, product + i64::from(self.cpu.get(s.a) as i32));
        }
    }

    #[inline(never)]
    #[expect(clippy::too_many_lines, reason = "a table: an arm an operation")]
    pub(super) fn execute_dsp(&mut self, s: &Slot) -> Done {
        let (n, m, a) = (self.cpu.get(s.n), self.cpu.get(s.m), self.cpu.get(s.a));
        let (signed_n, signed_m) = (i64::from(n as i32), i64::from(m as i32));
        let accumulator = i64::from(a as i32);
        let low_variant = s.aux & 1 == 1;
        match s.op {
            Op::Parallel => self.parallel(s, n, m),
            Op::Sel => {
                let lanes = (0..4).filter(|lane| self.cpu.ge >> lane & 1 == 1);
                let mask = lanes.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
                self.cpu.set(s.d, n & mask | m & !mask);
            }
            Op::Usad8 | Op::Usada8 => {
                let start = if s.op == Op::Usada8 { a } else { 0 };
                let sum = n.to_le_bytes().into_iter().zip(m.to_le_bytes());
                let sum = sum.fold(start, |sum, (x, y)| sum.wrapping_add(x.abs_diff(y).into()));
                self.cpu.set(s.d, sum);
            }
            Op::Pkhbt | Op::Pkhtb => {
                let (operand, _) = shift(m, s.aux >> 8, s.aux & 0xFF, false);
                let result = if s.op == Op::Pkhbt {
                    operand & 0xFFFF_0000 | n & 0xFFFF
                } else {
                    n & 0xFFFF_0000 | operand & 0xFFFF
                };
                self.cpu.set(s.d, result);
            }
            Op::Qadd => self.set_saturated(s.d, signed_m + signed_n),
            Op::Qsub => self.set_saturated(s.d, signed_m - signed_n),
            Op::Qdadd | Op::Qdsub => {
                let (doubled, saturated) = saturate_signed(2 * signed_n, 32);
                self.cpu.q |= saturated;
                let doubled = i64::from(doubled as i32);
                let sum = if s.op == Op::Qdadd { signed_m + doubled } else { signed_m - doubled };
                self.set_saturated(s.d, sum);
            }
            Op::Sxtb16 | Op::Uxtb16 | Op::Sxtab16 | Op::Uxtab16 => {
                let start = if matches!(s.op, Op::Sxtab16 | Op::Uxtab16) { n } else { 0 };
                let rotated = m.rotate_right(s.imm);
                let lane = |shift: u32| {
                    let byte = (rotated >> shift) as u8;
                    let byte = if matches!(s.op, Op::Sxtb16 | Op::Sxtab16) {
                        byte as i8 as u16
                    } else {
                        u16::from(byte)
                    };
                    u32::from(((start >> shift) as u16).wrapping_add(byte)) << shift
                };
                self.cpu.set(s.d, lane(0) | lane(16));
            }
            Op::Ssat16 | Op::Usat16 => {
                let mut result = 0;
                for high in [false, true] {
                    let (value, saturated) = if s.op == Op::Ssat16 {
                        saturate_signed(half(n, high), s.imm)
                    } else {
                        saturate_unsigned(half(n, high), s.imm)
                    };
                    result |= (value & 0xFFFF) << if high { 16 } else { 0 };
                    self.cpu.q |= saturated;
                }
                self.cpu.set(s.d, result);
            }
            Op::Smulwy | Op::Smlawy => {
                let product = (signed_n * half(m, low_variant)) >> 16;
                if s.op == Op::Smulwy {
                    self.cpu.set(s.d, product as u32);
                } else {
                    self.set_wrapped(s.d, product + accumulator);
                }
            }
            Op::Smlalxy => {
                let product = half(n, s.aux & 2 != 0) * half(m, low_variant);
                let sum = self.cpu.pair(s).wrapping_add(product as u64);
                self.cpu.set_pair(s, sum);
            }
            Op::Smuad | Op::Smlad => {
                let (low, high) = products(n, m, low_variant);
                let start = if s.op == Op::Smlad { accumulator } else { 0 };
                self.set_wrapped(s.d, low + high + start);
            }
            Op::Smusd | Op::Smlsd => {
                let (low, high) = products(n, m, low_variant);
                let start = if s.op == Op::Smlsd { accumulator } else { 0 };
                self.set_wrapped(s.d, low - high + start);
            }
            Op::Smlald | Op::Smlsld => {
                let (low, high) = products(n, m, low_variant);
                let sum = if s.op == Op::Smlald { low + high } else { low - high };
                let sum = self.cpu.pair(s).wrapping_add(sum as u64);
                self.cpu.set_pair(s, sum);
            }
            Op::Smmul | Op::Smmla | Op::Smmls => {
                let product = signed_n * signed_m;
                let high = accumulator << 32;
                let exact = match s.op {
                    Op::Smmul => product,
                    Op::Smmla => high.wrapping_add(product),
                    _ => high.wrapping_sub(product),
                };
                let rounded = exact.wrapping_add(if low_variant { 0x8000_0000 } else { 0 });
                self.cpu.set(s.d, (rounded >> 32) as u32);
            }
            Op::Umaal => {
                let product = u64::from(n) * u64::from(m);
                let (high, low) = (self.cpu.get(s.d), a);
                self.cpu.set_pair(s, product + u64::from(high) + u64::from(low));
            }
            _ => return Err(Trap::Undefined),
        }
        Ok(())
    }

    /// Parallel addition and subtraction. `aux` holds three bits of operation and one of signedness; `imm`
    /// holds the kind (plain, saturating, halving).
    fn parallel(&mut self, s: &Slot, n: u32, m: u32) {
        let unsigned = s.aux & 1 == 1;
        let operation = s.aux >> 1;
        let width = if operation & 3 == 0 { 8 } else { 16 };
        // ASX (2) and SAX (6) exchange the lanes of the second operand.
        let crossed = operation & 3 == 2;
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
        self.cpu.set(s.d, result);
        if s.imm == 0 {
            self.cpu.ge = ge;
        }
    }
}
