//! The floating-point extension (DDI 0403, A7.7.219 on; DDI 0553, C2.4 for FPv5).

use std::cmp::Ordering;

use super::Executing;
use crate::arch::armm::registers::{CONTROL_FPCA, CONTROL_SFPA};
use crate::arch::armm::trap::{Done, Trap};
use crate::arch::float::{Context, INEXACT, Rounding, Single};
use crate::isa::{Group, Op, Slot};
use crate::state::State;

const SIGN: u32 = 1 << 31;

impl State {
    #[inline(never)]
    pub(super) fn execute_fp(&mut self, s: &Slot) -> Done {
        if s.op.group() == Group::FloatState {
            return self.fp_state(s);
        }
        self.prepare_fp()?;
        match s.op.group() {
            Group::FloatMemory => self.fp_memory(s),
            Group::FloatTransfer => {
                self.fp_transfer(s.op, s);
                Ok(())
            }
            Group::Double | Group::DoubleMultiplyAdd | Group::DoubleDivide => {
                self.double_arithmetic(s);
                Ok(())
            }
            _ => {
                self.fp_arithmetic(s);
                Ok(())
            }
        }
    }

    /// ExecuteFPCheck: checks that access is allowed, saves pending lazy state, and creates this context's
    /// floating-point state.
    fn prepare_fp(&mut self) -> Done {
        self.check_fp()?;
        if self.system.fp.lazy_pending() {
            self.save_lazy_fp_state()?;
        }
        let live = if self.features.v8m { CONTROL_FPCA | CONTROL_SFPA } else { CONTROL_FPCA };
        if self.system.fp.automatic() && self.cpu.control & live != live {
            self.cpu.fpscr = self.system.fp.default_status;
            self.cpu.control |= live;
        }
        Ok(())
    }

    fn check_fp(&self) -> Done {
        let allowed = self.features.fp && self.system.allows_fp(self.cpu.privileged());
        if allowed { Ok(()) } else { Err(Trap::NoCoprocessor) }
    }

    /// VLSTM and VLLDM: these do nothing unless the Secure program has floating-point state.
    fn fp_state(&mut self, s: &Slot) -> Done {
        if self.cpu.control & CONTROL_SFPA == 0 {
            return Ok(());
        }
        self.check_fp()?;
        let address = self.cpu.get(s.n);
        if s.op == Op::Vlstm { self.leave_fp_state(address) } else { self.take_fp_state(address) }
    }

    /// Returns whether no preparation is needed, which is true except for the first floating-point
    /// instruction of a program or handler.
    #[inline(always)]
    pub(crate) fn has_live_fp(&self) -> bool {
        let live = if self.features.v8m { CONTROL_FPCA | CONTROL_SFPA } else { CONTROL_FPCA };
        self.cpu.control & live == live
            && !self.system.fp.lazy_pending()
            && self.system.allows_fp(self.cpu.privileged())
    }

    /// VLDR of one word from RAM; returns whether the word was in RAM.
    #[inline(always)]
    pub(super) fn load_float(&mut self, s: &Slot, address: u32) -> bool {
        match self.bus.ram_words(address, s.aux & 0xFF) {
            Some(&[word]) => {
                self.cpu.s[at(s.d)] = u32::from_le_bytes(word);
                true
            }
            _ => false,
        }
    }

    /// VLDR of one literal; returns whether it could be read at once.
    #[inline(always)]
    pub(super) fn load_float_literal<'a>(
        &mut self,
        turn: &mut impl Executing<'a>,
        s: &Slot,
    ) -> bool {
        if s.aux & 0xFF != 1 {
            return false;
        }
        let value = self.read_literal_fast(turn, s.imm);
        if let Some(value) = value {
            self.cpu.s[at(s.d)] = value;
        }
        value.is_some()
    }

    /// VSTR of one word to RAM; returns whether the address was in RAM.
    #[inline(always)]
    pub(super) fn store_float(&mut self, s: &Slot, address: u32) -> bool {
        match self.bus.ram_words_mut(address, s.aux & 0xFF) {
            Some([word]) => {
                *word = self.cpu.s[at(s.d)].to_le_bytes();
                true
            }
            _ => false,
        }
    }

    /// Executes arithmetic whose result a quick computation provides; returns whether it did.
    #[inline(always)]
    pub(super) fn fp_fast(&mut self, op: Op, s: &Slot) -> bool {
        let registers = &self.cpu.s;
        let (d, n, m) = (registers[at(s.d)], registers[at(s.n)], registers[at(s.m)]);
        let context = Context::<Single>::new(&mut self.cpu.fpscr);
        let result = match op {
            Op::Vadd => context.add_fast(n, m),
            Op::Vsub => context.subtract_fast(n, m),
            Op::Vmul => context.multiply_fast(n, m),
            Op::Vdiv => context.divide_fast(n, m),
            Op::Vfma => context.multiply_add_fast(d, n, m),
            Op::Vfms => context.multiply_add_fast(d, n ^ SIGN, m),
            Op::Vabs => Some(m & !SIGN),
            Op::Vneg => Some(m ^ SIGN),
            Op::VmovR => Some(m),
            Op::VmovI => Some(s.imm),
            Op::Vcmp | Op::Vcmpe | Op::VcmpZ | Op::VcmpeZ => {
                let right = if matches!(op, Op::VcmpZ | Op::VcmpeZ) { 0 } else { m };
                let Some(flags) = Context::<Single>::compare_fast(d, right) else {
                    return false;
                };
                set_flags(&mut self.cpu.fpscr, flags);
                return true;
            }
            _ => None,
        };
        let Some(result) = result else { return false };
        self.cpu.s[at(s.d)] = result;
        true
    }

    #[inline(never)]
    pub(super) fn fp_arithmetic(&mut self, s: &Slot) {
        let registers = &self.cpu.s;
        let (d, n, m) = (registers[at(s.d)], registers[at(s.n)], registers[at(s.m)]);
        let selects_first = s.op == Op::Vsel && self.selects_first(s);
        let mut context = Context::<Single>::new(&mut self.cpu.fpscr);
        let result = match s.op {
            Op::Vadd => context.add(n, m),
            Op::Vsub => context.subtract(n, m),
            Op::Vmul => context.multiply(n, m),
            Op::Vnmul => context.multiply(n, m) ^ SIGN,
            Op::Vmla | Op::Vmls | Op::Vnmla | Op::Vnmls => {
                let product = context.multiply(n, m);
                let product =
                    if matches!(s.op, Op::Vmls | Op::Vnmla) { product ^ SIGN } else { product };
                let start = if matches!(s.op, Op::Vnmla | Op::Vnmls) { d ^ SIGN } else { d };
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
            Op::VmovR => m,
            Op::VmovI => s.imm,
            Op::Vcmp | Op::Vcmpe | Op::VcmpZ | Op::VcmpeZ => {
                let right = if matches!(s.op, Op::VcmpZ | Op::VcmpeZ) { 0 } else { m };
                let strict = matches!(s.op, Op::Vcmpe | Op::VcmpeZ);
                let flags = context.compare(d, right, strict);
                set_flags(&mut self.cpu.fpscr, flags);
                return;
            }
            Op::VcvtFromInt => {
                let value = if s.aux & 1 == 1 { i64::from(m as i32) } else { i64::from(m) };
                context.fixed_to_float(value, 0)
            }
            Op::VcvtToInt => {
                if s.aux & 1 == 1 {
                    context.rounding = Rounding::Zero;
                }
                context.float_to_fixed(m, 32, 0, s.aux & 2 == 0)
            }
            Op::VcvtFixed => fixed(&mut context, s, d),
            Op::Vsel => {
                if selects_first {
                    n
                } else {
                    m
                }
            }
            Op::Vmaxnm => context.extremum(n, m, Ordering::Greater),
            Op::Vminnm => context.extremum(n, m, Ordering::Less),
            Op::Vrint => {
                context.rounding = directed(s.aux).unwrap_or(context.rounding);
                context.round_to_integer(m, if s.aux & 7 == 6 { INEXACT } else { 0 })
            }
            Op::VcvtDirected => {
                context.rounding = directed(s.aux).unwrap_or(context.rounding);
                context.float_to_fixed(m, 32, 0, s.aux & 8 == 0)
            }
            Op::VcvtHalf => {
                let top = s.aux & 1 == 1;
                if s.aux & 2 == 0 {
                    context.half_to_float(if top { m >> 16 } else { m } as u16)
                } else {
                    let half = u32::from(context.float_to_half(m));
                    if top { d & 0xFFFF | half << 16 } else { d & 0xFFFF_0000 | half }
                }
            }
            _ => return,
        };
        self.cpu.s[at(s.d)] = result;
    }

    /// Returns whether VSEL's condition holds.
    pub(super) fn selects_first(&self, s: &Slot) -> bool {
        self.cpu.condition((s.aux << 2 | (s.aux >> 1 ^ s.aux & 1) << 1) as u8)
    }

    #[inline(always)]
    pub(super) fn fp_transfer(&mut self, op: Op, s: &Slot) {
        let cpu = &mut self.cpu;
        match op {
            Op::VmovToCore => cpu.set(s.d, cpu.s[at(s.n)]),
            Op::VmovFromCore => cpu.s[at(s.n)] = cpu.get(s.d),
            Op::VmovPairToCore => {
                cpu.set(s.d, cpu.s[at(s.m)]);
                cpu.set(s.a, cpu.s[at(s.m + 1)]);
            }
            Op::VmovPairFromCore => {
                cpu.s[at(s.m)] = cpu.get(s.d);
                cpu.s[at(s.m + 1)] = cpu.get(s.a);
            }
            Op::Vmrs if s.d == 15 => cpu.set_flags(cpu.fpscr),
            Op::Vmrs => cpu.set(s.d, cpu.fpscr),
            Op::Vmsr => cpu.fpscr = cpu.get(s.d) & 0xF7C0_009F,
            _ => {}
        }
    }

    fn fp_memory(&mut self, s: &Slot) -> Done {
        let count = s.aux & 0xFF;
        let base = self.cpu.get(s.n);
        let start = if s.op == Op::VldrLit { s.imm } else { base.wrapping_add(s.imm) };
        let stores = matches!(s.op, Op::Vstr | Op::Vstm);
        for at_word in 0..count {
            let address = start.wrapping_add(at_word * 4);
            let register = at(s.d + at_word as u8);
            if stores {
                self.write_aligned_word(address, self.cpu.s[register])?;
            } else {
                self.cpu.s[register] = self.read_aligned_word(address)?;
            }
        }
        if matches!(s.op, Op::Vldm | Op::Vstm) && s.m == 1 {
            let words = s.aux >> 8;
            let end = if s.a == 1 { start } else { base.wrapping_add(words * 4) };
            self.cpu.set_any(s.n, end);
        }
        Ok(())
    }
}

/// Returns the rounding mode that an instruction encodes in the low bits of `aux`, if it does not use the
/// FPSCR's.
pub(super) const fn directed(aux: u32) -> Option<Rounding> {
    match aux & 7 {
        0 => Some(Rounding::Away),
        1 => Some(Rounding::Nearest),
        2 => Some(Rounding::Up),
        3 => Some(Rounding::Down),
        4 => Some(Rounding::Zero),
        _ => None,
    }
}

/// Puts the flags of a comparison into the FPSCR.
pub(super) const fn set_flags(fpscr: &mut u32, flags: u32) {
    *fpscr = *fpscr & 0x0FFF_FFFF | flags;
}

pub(super) const fn at(register: u8) -> usize {
    (register & 31) as usize
}

/// VCVT between floating point and fixed point. `aux` holds direction, signedness and size.
fn fixed(context: &mut Context<'_>, s: &Slot, value: u32) -> u32 {
    let (to_fixed, unsigned, wide) = (s.aux & 4 != 0, s.aux & 2 != 0, s.aux & 1 != 0);
    if to_fixed {
        context.rounding = Rounding::Zero;
        let bits = if wide { 32 } else { 16 };
        let result = context.float_to_fixed(value, bits, s.imm, unsigned);
        return result;
    }
    context.rounding = Rounding::Nearest;
    let value = match (wide, unsigned) {
        (true, true) => i64::from(value),
        (true, false) => i64::from(value as i32),
        (false, true) => i64::from(value as u16),
        (false, false) => i64::from(value as i16),
    };
    context.fixed_to_float(value, s.imm)
}
