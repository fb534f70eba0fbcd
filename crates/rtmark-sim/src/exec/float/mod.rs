//! Floating-point arithmetic and conversions (DDI 0403, A7.7.219 on; DDI 0553, C2.4 for FPv5).
//!
//! Each function is defined once for both precisions. A double register is a pair of single registers, of
//! which operands contain the first one's number; the first one holds the lower word.

pub mod compute;

use self::compute::{from_half, to_half};
use super::fp::at;
use super::{Executing, Flow, Outcome};
use crate::arch::armm::registers::Cpu;
use crate::arch::float::{Context, Double, Format, Single};
use crate::isa::Slot;
use crate::state::State;

/// A format of numbers as the registers hold it.
pub trait RegisterFormat: Format {
    fn read(cpu: &Cpu, register: u8) -> Self::Bits;
    fn write(cpu: &mut Cpu, register: u8, value: Self::Bits);
    /// Reports the operands, if the time that an operation takes depends on them.
    fn report(state: &mut State, s: &Slot);

    #[inline(always)]
    fn negated(bits: Self::Bits) -> Self::Bits {
        Self::narrow(Self::wide(bits) ^ 1 << (Self::WIDTH - 1))
    }

    #[inline(always)]
    fn magnitude(bits: Self::Bits) -> Self::Bits {
        Self::narrow(Self::wide(bits) & !(1 << (Self::WIDTH - 1)))
    }
}

impl RegisterFormat for Single {
    #[inline(always)]
    fn read(cpu: &Cpu, register: u8) -> u32 {
        cpu.s[at(register)]
    }

    #[inline(always)]
    fn write(cpu: &mut Cpu, register: u8, value: u32) {
        cpu.s[at(register)] = value;
    }

    fn report(_: &mut State, _: &Slot) {}
}

impl RegisterFormat for Double {
    fn read(cpu: &Cpu, register: u8) -> u64 {
        let word = |register| u64::from(cpu.s[at(register)]);
        word(register) | word(register.wrapping_add(1)) << 32
    }

    fn write(cpu: &mut Cpu, register: u8, value: u64) {
        cpu.s[at(register)] = value as u32;
        cpu.s[at(register.wrapping_add(1))] = (value >> 32) as u32;
    }

    fn report(state: &mut State, s: &Slot) {
        state.take_operands_time(s.op, operands::<Self>(&state.cpu, s));
    }
}

/// The old value of the destination, and the two operands.
type Operands<F> = [<F as Format>::Bits; 3];

#[inline(always)]
fn operands<F: RegisterFormat>(cpu: &Cpu, s: &Slot) -> Operands<F> {
    [s.d, s.n, s.m].map(|register| F::read(cpu, register))
}

/// An operation on numbers of one precision.
pub fn arithmetic<F: RegisterFormat>(
    state: &mut State,
    s: &Slot,
    function: fn(&mut Context<'_, F>, Operands<F>, &Slot) -> F::Bits,
) -> Outcome {
    state.prepare_fp()?;
    F::report(state, s);
    calculate(&mut state.cpu, s, function);
    Ok(Flow::Next)
}

#[inline(never)]
fn calculate<F: RegisterFormat>(
    cpu: &mut Cpu,
    s: &Slot,
    function: fn(&mut Context<'_, F>, Operands<F>, &Slot) -> F::Bits,
) {
    let operands = operands::<F>(cpu, s);
    let result = function(&mut Context::new(&mut cpu.fpscr), operands, s);
    F::write(cpu, s.d, result);
}

/// An operation in single precision, with a fast form that may be unable to give the result.
#[inline(always)]
pub fn quick<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    fast: impl Fn(&Context<'_>, Operands<Single>) -> Option<u32>,
    complete: fn(&mut Context<'_>, Operands<Single>, &Slot) -> u32,
) -> Outcome {
    let is_live = state.has_live_fp();
    if is_live {
        let operands = operands::<Single>(&state.cpu, s);
        if let Some(result) = fast(&Context::new(&mut state.cpu.fpscr), operands) {
            Single::write(&mut state.cpu, s.d, result);
            return Ok(Flow::Next);
        }
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    if is_live {
        calculate::<Single>(&mut state.cpu, s, complete);
        return Ok(Flow::Next);
    }
    at.complete(state, s, |state, s| arithmetic::<Single>(state, s, complete))
}

/// An operation in single precision that cannot fail.
#[inline(always)]
pub fn simple<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    function: fn(&mut Context<'_>, Operands<Single>, &Slot) -> u32,
) -> Outcome {
    if state.has_live_fp() {
        let operands = operands::<Single>(&state.cpu, s);
        let result = function(&mut Context::new(&mut state.cpu.fpscr), operands, s);
        Single::write(&mut state.cpu, s.d, result);
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, |state, s| arithmetic::<Single>(state, s, function))
}

/// A comparison. With quiet NaNs, [`Quiet::IsInvalid`] raises a flag.
pub fn compare<F: RegisterFormat>(
    state: &mut State,
    s: &Slot,
    right: fn(&Cpu, &Slot) -> F::Bits,
    quiet_nan: Quiet,
) -> Outcome {
    state.prepare_fp()?;
    F::report(state, s);
    set_comparison::<F>(&mut state.cpu, s, right, quiet_nan);
    Ok(Flow::Next)
}

/// A comparison in single precision, fast for plain numbers.
#[inline(always)]
pub fn quick_compare<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    right: fn(&Cpu, &Slot) -> u32,
    quiet_nan: Quiet,
) -> Outcome {
    let is_live = state.has_live_fp();
    if is_live {
        let (x, y) = (Single::read(&state.cpu, s.d), right(&state.cpu, s));
        if let Some(flags) = Context::<Single>::compare_fast(x, y) {
            set_flags(&mut state.cpu.fpscr, flags);
            return Ok(Flow::Next);
        }
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    if is_live {
        set_comparison::<Single>(&mut state.cpu, s, right, quiet_nan);
        return Ok(Flow::Next);
    }
    at.complete(state, s, |state, s| compare::<Single>(state, s, right, quiet_nan))
}

/// Whether a comparison with a quiet NaN is invalid: VCMPE, as opposed to VCMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    IsValid,
    IsInvalid,
}

#[inline(never)]
fn set_comparison<F: RegisterFormat>(
    cpu: &mut Cpu,
    s: &Slot,
    right: fn(&Cpu, &Slot) -> F::Bits,
    quiet_nan: Quiet,
) {
    let (x, y) = (F::read(cpu, s.d), right(cpu, s));
    let context = &mut Context::<F>::new(&mut cpu.fpscr);
    let flags = context.compare(x, y, quiet_nan == Quiet::IsInvalid);
    set_flags(&mut cpu.fpscr, flags);
}

/// Puts the flags of a comparison into the FPSCR.
const fn set_flags(fpscr: &mut u32, flags: u32) {
    *fpscr = *fpscr & 0x0FFF_FFFF | flags;
}

/// The right side of a comparison with a register.
#[inline(always)]
pub fn operand<F: RegisterFormat>(cpu: &Cpu, s: &Slot) -> F::Bits {
    F::read(cpu, s.m)
}

/// The right side of a comparison with zero.
#[inline(always)]
pub fn zero<F: RegisterFormat>(_: &Cpu, _: &Slot) -> F::Bits {
    F::narrow(0)
}

/// VSEL.
pub fn select<F: RegisterFormat>(state: &mut State, s: &Slot) -> Outcome {
    state.prepare_fp()?;
    F::report(state, s);
    let condition = (s.aux << 2 | (s.aux >> 1 ^ s.aux & 1) << 1) as u8;
    let register = if state.cpu.condition(condition) { s.n } else { s.m };
    let value = F::read(&state.cpu, register);
    F::write(&mut state.cpu, s.d, value);
    Ok(Flow::Next)
}

/// A conversion to a word: of the operand, with the old value of the destination.
pub fn to_word<F: RegisterFormat>(
    state: &mut State,
    s: &Slot,
    function: fn(&mut Context<'_, F>, F::Bits, &Slot, u32) -> u32,
) -> Outcome {
    state.prepare_fp()?;
    F::report(state, s);
    let (operand, old) = (F::read(&state.cpu, s.m), Single::read(&state.cpu, s.d));
    let result = function(&mut Context::new(&mut state.cpu.fpscr), operand, s, old);
    Single::write(&mut state.cpu, s.d, result);
    Ok(Flow::Next)
}

/// A conversion from a word.
pub fn from_word<F: RegisterFormat>(
    state: &mut State,
    s: &Slot,
    function: fn(&mut Context<'_, F>, u32, &Slot) -> F::Bits,
) -> Outcome {
    state.prepare_fp()?;
    F::report(state, s);
    let operand = Single::read(&state.cpu, s.m);
    let result = function(&mut Context::new(&mut state.cpu.fpscr), operand, s);
    F::write(&mut state.cpu, s.d, result);
    Ok(Flow::Next)
}

/// VCVTB and VCVTT between a half-precision number, in either half of a single register, and another.
pub fn convert_half<F: RegisterFormat>(state: &mut State, s: &Slot) -> Outcome {
    if s.aux & 2 == 0 {
        from_word::<F>(state, s, from_half)
    } else {
        to_word::<F>(state, s, to_half)
    }
}
