//! VFPv3-D16 (DDI 0406, A8.8 and A2.6), computed by `arch::float`.

use super::{Arch, Effects, Exception, Result, UNDEFINED};
use crate::arch::float::{Context, Double, Rounding, Single};
use crate::armr::isa::DOUBLES;
use crate::armr::isa::op::Instruction;
use crate::isa::{Group, Op};

const SIGN: u32 = 1 << 31;
const SIGN_DOUBLE: u64 = 1 << 63;
const FPSCR_WRITABLE: u32 = 0xF7F7_009F;

/// The values of a Cortex-R5 with double precision (DDI 0460, 12.3).
const FPSID: u32 = 0x4102_3154;
const MVFR0: u32 = 0x1011_0221;
const MVFR1: u32 = 0x0000_0011;

impl Arch {
    pub(super) fn float(
        &mut self,
        it: &Instruction,
        op: Op,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let privileged = self.cpu.is_privileged();
        let off = Exception::Undefined { float: true };
        if !self.control.allows_float(privileged) {
            return Err(off);
        }
        // The unit's registers other than FPSCR are accessible while it is off.
        if matches!(op, Op::Vmrs | Op::Vmsr) && it.n != 1 {
            return if privileged { self.unit_register(it, op) } else { Err(off) };
        }
        if !self.cpu.float_enabled {
            return Err(off);
        }
        match op.group() {
            Group::FloatMemory => return self.float_memory(it, op, cycle, done),
            Group::FloatTransfer => self.float_transfer(it, op),
            Group::Double | Group::DoubleMultiplyAdd | Group::DoubleDivide => {
                self.double_arithmetic(it, op);
            }
            _ => self.single_arithmetic(it, op),
        }
        Ok(())
    }

    fn unit_register(&mut self, it: &Instruction, op: Op) -> Result<()> {
        if op == Op::Vmsr {
            match it.n {
                0 => {}
                8 => self.cpu.float_enabled = self.cpu.get(it.d) >> 30 & 1 == 1,
                _ => return Err(UNDEFINED),
            }
            return Ok(());
        }
        let value = match it.n {
            0 => FPSID,
            6 => MVFR1,
            7 => MVFR0,
            8 => u32::from(self.cpu.float_enabled) << 30,
            _ => return Err(UNDEFINED),
        };
        self.cpu.set(it.d, value);
        Ok(())
    }

    fn single(&self, register: u8) -> u32 {
        self.cpu.s[register as usize & 31]
    }

    fn set_single(&mut self, register: u8, value: u32) {
        self.cpu.s[register as usize & 31] = value;
    }

    fn float_transfer(&mut self, it: &Instruction, op: Op) {
        let next = it.m.wrapping_add(1);
        match op {
            Op::VmovToCore => self.cpu.set(it.d, self.single(it.n)),
            Op::VmovFromCore => self.set_single(it.n, self.cpu.get(it.d)),
            Op::VmovPairToCore => {
                self.cpu.set(it.d, self.single(it.m));
                self.cpu.set(it.a, self.single(next));
            }
            Op::VmovPairFromCore => {
                self.set_single(it.m, self.cpu.get(it.d));
                self.set_single(next, self.cpu.get(it.a));
            }
            Op::Vmrs if it.d == 15 => self.cpu.set_flags(self.cpu.fpscr),
            Op::Vmrs => self.cpu.set(it.d, self.cpu.fpscr),
            Op::Vmsr => self.cpu.fpscr = self.cpu.get(it.d) & FPSCR_WRITABLE,
            _ => {}
        }
    }

    fn float_memory(
        &mut self,
        it: &Instruction,
        op: Op,
        cycle: u64,
        done: &mut Effects,
    ) -> Result<()> {
        let count = (it.aux & 0xFF) as usize;
        let writes = matches!(op, Op::Vstr | Op::Vstm);
        let base = if it.n == 15 { self.cpu.operand(15) & !3 } else { self.cpu.get(it.n) };
        let start = base.wrapping_add(it.imm);
        let mut words = [0; 32];
        let words = &mut words[..count.min(32)];
        let first = it.d as usize & 31;
        let swaps = usize::from(it.aux & DOUBLES != 0 && self.is_big());
        let register = |at: usize| (first + (at ^ swaps)) & 31;
        for (at, word) in words.iter_mut().enumerate() {
            *word = self.cpu.s[register(at)];
        }
        self.words(start, words, writes, cycle, done)?;
        if !writes {
            for (at, word) in words.iter().enumerate() {
                self.cpu.s[register(at)] = *word;
            }
        }
        if matches!(op, Op::Vldm | Op::Vstm) && it.m == 1 {
            let end = if it.a == 1 { start } else { base.wrapping_add((it.aux >> 8 & 0xFF) * 4) };
            self.cpu.set(it.n, end);
        }
        Ok(())
    }

    fn single_arithmetic(&mut self, it: &Instruction, op: Op) {
        let (d, n, m) = (self.single(it.d), self.single(it.n), self.single(it.m));
        let mut context = Context::<Single>::new(&mut self.cpu.fpscr);
        let result = match op {
            Op::Vadd => context.add(n, m),
            Op::Vsub => context.subtract(n, m),
            Op::Vmul => context.multiply(n, m),
            Op::Vnmul => context.multiply(n, m) ^ SIGN,
            Op::Vmla | Op::Vmls | Op::Vnmla | Op::Vnmls => {
                let product = context.multiply(n, m);
                let negates = matches!(op, Op::Vmls | Op::Vnmla);
                let start = if matches!(op, Op::Vnmla | Op::Vnmls) { d ^ SIGN } else { d };
                context.add(start, if negates { product ^ SIGN } else { product })
            }
            Op::Vdiv => context.divide(n, m),
            Op::Vsqrt => context.square_root(m),
            Op::Vabs => m & !SIGN,
            Op::Vneg => m ^ SIGN,
            Op::VmovR => m,
            Op::VmovI => it.imm,
            Op::Vcmp | Op::Vcmpe | Op::VcmpZ | Op::VcmpeZ => {
                let right = if matches!(op, Op::VcmpZ | Op::VcmpeZ) { 0 } else { m };
                let flags = context.compare(d, right, matches!(op, Op::Vcmpe | Op::VcmpeZ));
                self.cpu.fpscr = self.cpu.fpscr & 0x0FFF_FFFF | flags;
                return;
            }
            Op::VcvtFromInt if it.aux & 1 == 1 => context.fixed_to_float((m as i32).into(), 0),
            Op::VcvtFromInt => context.fixed_to_float(m.into(), 0),
            Op::VcvtToInt => {
                if it.aux & 1 == 1 {
                    context.rounding = Rounding::Zero;
                }
                context.float_to_fixed(m, 32, 0, it.aux & 2 == 0)
            }
            Op::VcvtFixed if it.aux & 4 != 0 => {
                context.rounding = Rounding::Zero;
                context.float_to_fixed(d, fixed_bits(it.aux), it.imm, it.aux & 2 != 0)
            }
            Op::VcvtFixed => {
                context.rounding = Rounding::Nearest;
                context.fixed_to_float(fixed_value(it.aux, d), it.imm)
            }
            _ => return,
        };
        self.set_single(it.d, result);
    }

    fn double_arithmetic(&mut self, it: &Instruction, op: Op) {
        match op {
            Op::VcmpD | Op::VcmpeD | Op::VcmpZD | Op::VcmpeZD => {
                let with_zero = matches!(op, Op::VcmpZD | Op::VcmpeZD);
                let right = if with_zero { 0 } else { self.cpu.double(it.m) };
                let (left, strict) =
                    (self.cpu.double(it.d), matches!(op, Op::VcmpeD | Op::VcmpeZD));
                let mut context = Context::<Double>::new(&mut self.cpu.fpscr);
                let flags = context.compare(left, right, strict);
                self.cpu.fpscr = self.cpu.fpscr & 0x0FFF_FFFF | flags;
            }
            Op::VcvtToIntD | Op::VcvtFromDouble => {
                let m = self.cpu.double(it.m);
                let mut context = Context::<Double>::new(&mut self.cpu.fpscr);
                let result = if op == Op::VcvtFromDouble {
                    context.double_to_single(m)
                } else {
                    if it.aux & 1 == 1 {
                        context.rounding = Rounding::Zero;
                    }
                    context.float_to_fixed(m, 32, 0, it.aux & 2 == 0)
                };
                self.set_single(it.d, result);
            }
            _ => {
                let result = self.double_result(it, op);
                self.cpu.set_double(it.d, result);
            }
        }
    }

    fn double_result(&mut self, it: &Instruction, op: Op) -> u64 {
        let single = self.single(it.m);
        let (d, n, m) = (self.cpu.double(it.d), self.cpu.double(it.n), self.cpu.double(it.m));
        if op == Op::VcvtToDouble {
            return Context::<Single>::new(&mut self.cpu.fpscr).single_to_double(single);
        }
        let mut context = Context::<Double>::new(&mut self.cpu.fpscr);
        match op {
            Op::VaddD => context.add(n, m),
            Op::VsubD => context.subtract(n, m),
            Op::VmulD => context.multiply(n, m),
            Op::VnmulD => context.multiply(n, m) ^ SIGN_DOUBLE,
            Op::VmlaD | Op::VmlsD | Op::VnmlaD | Op::VnmlsD => {
                let product = context.multiply(n, m);
                let negates = matches!(op, Op::VmlsD | Op::VnmlaD);
                let start = if matches!(op, Op::VnmlaD | Op::VnmlsD) { d ^ SIGN_DOUBLE } else { d };
                context.add(start, if negates { product ^ SIGN_DOUBLE } else { product })
            }
            Op::VdivD => context.divide(n, m),
            Op::VsqrtD => context.square_root(m),
            Op::VabsD => m & !SIGN_DOUBLE,
            Op::VnegD => m ^ SIGN_DOUBLE,
            Op::VmovID => u64::from(it.imm) << 32,
            Op::VcvtFromIntD if it.aux & 1 == 1 => {
                context.fixed_to_float((single as i32).into(), 0)
            }
            Op::VcvtFromIntD => context.fixed_to_float(single.into(), 0),
            Op::VcvtFixedD if it.aux & 4 != 0 => {
                context.rounding = Rounding::Zero;
                let unsigned = it.aux & 2 != 0;
                let result = context.float_to_fixed(d, fixed_bits(it.aux), it.imm, unsigned);
                if unsigned { result.into() } else { i64::from(result as i32) as u64 }
            }
            Op::VcvtFixedD => {
                context.rounding = Rounding::Nearest;
                context.fixed_to_float(fixed_value(it.aux, d as u32), it.imm)
            }
            // VMOV.
            _ => m,
        }
    }
}

/// Returns the size of a fixed-point operand. In `aux`, conversions hold direction, signedness and
/// size.
const fn fixed_bits(aux: u32) -> u32 {
    if aux & 1 == 1 { 32 } else { 16 }
}

const fn fixed_value(aux: u32, value: u32) -> i64 {
    match (aux & 1 != 0, aux & 2 != 0) {
        (true, true) => value as i64,
        (true, false) => value as i32 as i64,
        (false, true) => value as u16 as i64,
        (false, false) => value as i16 as i64,
    }
}
