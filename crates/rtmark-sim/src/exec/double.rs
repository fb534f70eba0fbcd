//! Double-precision floating point (DDI 0403, A7.7.219 on; DDI 0553, C2.4).
//!
//! A double register is a pair of single registers, of which operands contain the first one's number; the
//! first one holds the lower word.

use std::cmp::Ordering;

use super::fp::{at, directed, set_flags};
use crate::arch::float::{Context, Double, INEXACT, Rounding, Single};
use crate::isa::{Op, Slot};
use crate::state::State;

const SIGN: u64 = 1 << 63;

impl State {
    fn double(&self, register: u8) -> u64 {
        let word = |register| u64::from(self.cpu.s[at(register)]);
        word(register) | word(register.wrapping_add(1)) << 32
    }

    fn set_double(&mut self, register: u8, value: u64) {
        self.cpu.s[at(register)] = value as u32;
        self.cpu.s[at(register.wrapping_add(1))] = (value >> 32) as u32;
    }

    /// Executes an operation with double-precision operands or result.
    #[inline(never)]
    pub(super) fn double_arithmetic(&mut self, s: &Slot) {
        self.take_operands_time(s.op, [s.d, s.n, s.m].map(|register| self.double(register)));
        let op = s.op.in_single();
        match op {
            Op::Vcmp | Op::Vcmpe | Op::VcmpZ | Op::VcmpeZ => self.double_comparison(op, s),
            Op::VcvtFromInt
            | Op::VcvtToInt
            | Op::VcvtFixed
            | Op::VcvtHalf
            | Op::VcvtDirected
            | Op::VcvtToDouble
            | Op::VcvtFromDouble => self.double_conversion(op, s),
            _ => {
                let result = self.double_result(op, s);
                self.set_double(s.d, result);
            }
        }
    }

    fn double_result(&mut self, op: Op, s: &Slot) -> u64 {
        let (d, n, m) = (self.double(s.d), self.double(s.n), self.double(s.m));
        let mut context = Context::<Double>::new(&mut self.cpu.fpscr);
        match op {
            Op::Vadd => context.add(n, m),
            Op::Vsub => context.subtract(n, m),
            Op::Vmul => context.multiply(n, m),
            Op::Vnmul => context.multiply(n, m) ^ SIGN,
            Op::Vmla | Op::Vmls | Op::Vnmla | Op::Vnmls => {
                let product = context.multiply(n, m);
                let negates = matches!(op, Op::Vmls | Op::Vnmla);
                let product = if negates { product ^ SIGN } else { product };
                let start = if matches!(op, Op::Vnmla | Op::Vnmls) { d ^ SIGN } else { d };
                context.add(start, product)
            }
            Op::Vfma => context.multiply_add(d, n, m),
            Op::Vfms => context.multiply_add(d, n ^ SIGN, m),
            Op::Vfnma => context.multiply_add(d ^ SIGN, n ^ SIGN, m),
            Op::Vfnms => context.multiply_add(d ^ SIGN, n, m),
            Op::Vdiv => context.divide(n, m),
            Op::Vsqrt => context.square_root(m),
            Op::Vabs => m & !SIGN,
            Op::Vneg => m ^ SIGN,
            Op::VmovI => u64::from(s.imm) << 32,
            Op::Vmaxnm => context.extremum(n, m, Ordering::Greater),
            Op::Vminnm => context.extremum(n, m, Ordering::Less),
            Op::Vrint => {
                context.rounding = directed(s.aux).unwrap_or(context.rounding);
                context.round_to_integer(m, if s.aux & 7 == 6 { INEXACT } else { 0 })
            }
            Op::Vsel if self.selects_first(s) => n,
            // VSEL that selects the second operand, and VMOV.
            _ => m,
        }
    }

    fn double_comparison(&mut self, op: Op, s: &Slot) {
        let with_zero = matches!(op, Op::VcmpZ | Op::VcmpeZ);
        let right = if with_zero { 0 } else { self.double(s.m) };
        let strict = matches!(op, Op::Vcmpe | Op::VcmpeZ);
        let left = self.double(s.d);
        let flags = Context::<Double>::new(&mut self.cpu.fpscr).compare(left, right, strict);
        set_flags(&mut self.cpu.fpscr, flags);
    }

    fn double_conversion(&mut self, op: Op, s: &Slot) {
        let (single, d, m) = (self.cpu.s[at(s.m)], self.double(s.d), self.double(s.m));
        let (aux, old) = (s.aux, self.cpu.s[at(s.d)]);
        let mut context = Context::<Double>::new(&mut self.cpu.fpscr);
        let narrow = match op {
            Op::VcvtToInt => {
                if aux & 1 == 1 {
                    context.rounding = Rounding::Zero;
                }
                context.float_to_fixed(m, 32, 0, aux & 2 == 0)
            }
            Op::VcvtDirected => {
                context.rounding = directed(aux).unwrap_or(context.rounding);
                context.float_to_fixed(m, 32, 0, aux & 8 == 0)
            }
            Op::VcvtFromDouble => context.double_to_single(m),
            Op::VcvtHalf if aux & 2 != 0 => {
                let half = u32::from(context.float_to_half(m));
                if aux & 1 == 1 { old & 0xFFFF | half << 16 } else { old & 0xFFFF_0000 | half }
            }
            _ => {
                let wide = match op {
                    Op::VcvtFromInt if aux & 1 == 1 => {
                        context.fixed_to_float((single as i32).into(), 0)
                    }
                    Op::VcvtFromInt => context.fixed_to_float(single.into(), 0),
                    Op::VcvtHalf => {
                        let top = aux & 1 == 1;
                        context.half_to_float(if top { single >> 16 } else { single } as u16)
                    }
                    Op::VcvtToDouble => {
                        Context::<Single>::new(&mut self.cpu.fpscr).single_to_double(single)
                    }
                    _ => fixed(&mut context, s, d),
                };
                self.set_double(s.d, wide);
                return;
            }
        };
        self.cpu.s[at(s.d)] = narrow;
    }
}

/// VCVT between floating point and fixed point. `aux` holds direction, signedness and size. A fixed-point
/// value narrower than the register is extended to it (DDI 0403, A7.7.228).
fn fixed(context: &mut Context<'_, Double>, s: &Slot, value: u64) -> u64 {
    let (to_fixed, unsigned, wide) = (s.aux & 4 != 0, s.aux & 2 != 0, s.aux & 1 != 0);
    let bits = if wide { 32 } else { 16 };
    if to_fixed {
        context.rounding = Rounding::Zero;
        let result = context.float_to_fixed(value, bits, s.imm, unsigned);
        return if unsigned { result.into() } else { i64::from(result as i32) as u64 };
    }
    context.rounding = Rounding::Nearest;
    let value = match (wide, unsigned) {
        (true, true) => i64::from(value as u32),
        (true, false) => i64::from(value as i32),
        (false, true) => i64::from(value as u16),
        (false, false) => i64::from(value as i16),
    };
    context.fixed_to_float(value, s.imm)
}
