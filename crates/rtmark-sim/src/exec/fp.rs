//! The floating-point extension (DDI 0403, A7.7.219 on; DDI 0553, C2.4 for FPv5): its state, transfers,
//! loads and stores. [`super::float`] has its arithmetic.

use super::{Executing, Flow, Outcome};
use crate::arch::armm::registers::{CONTROL_FPCA, CONTROL_SFPA, Cpu};
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::{Op, Slot};
use crate::state::State;

/// A transfer between the registers of the core and those of the extension.
#[inline(always)]
pub fn transfer<E: Executing>(
    state: &mut State,
    s: &Slot,
    at: &mut E,
    moves: impl Fn(&mut Cpu, &Slot),
) -> Outcome {
    if state.has_live_fp() {
        moves(&mut state.cpu, s);
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, |state, s| {
        state.prepare_fp()?;
        moves(&mut state.cpu, s);
        Ok(Flow::Next)
    })
}

#[inline(always)]
pub fn to_core(cpu: &mut Cpu, s: &Slot) {
    cpu.set(s.d, cpu.s[at(s.n)]);
}

#[inline(always)]
pub fn from_core(cpu: &mut Cpu, s: &Slot) {
    cpu.s[at(s.n)] = cpu.get(s.d);
}

#[inline(always)]
pub fn pair_to_core(cpu: &mut Cpu, s: &Slot) {
    cpu.set(s.d, cpu.s[at(s.m)]);
    cpu.set(s.a, cpu.s[at(s.m + 1)]);
}

#[inline(always)]
pub fn pair_from_core(cpu: &mut Cpu, s: &Slot) {
    cpu.s[at(s.m)] = cpu.get(s.d);
    cpu.s[at(s.m + 1)] = cpu.get(s.a);
}

/// VMRS. Register 15 stands for the flags.
#[inline(always)]
pub fn read_status(cpu: &mut Cpu, s: &Slot) {
    if s.d == 15 {
        cpu.set_flags(cpu.fpscr);
    } else {
        cpu.set(s.d, cpu.fpscr);
    }
}

/// VMSR.
#[inline(always)]
pub fn write_status(cpu: &mut Cpu, s: &Slot) {
    cpu.fpscr = cpu.get(s.d) & 0xF7C0_009F;
}

/// VLDR: on the fast path, of one word from RAM.
#[inline(always)]
pub fn load<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    if state.has_live_fp() {
        let address = state.cpu.get(s.n).wrapping_add(s.imm);
        if let Some(&[word]) = state.bus.ram_words(address, s.aux & 0xFF) {
            state.cpu.s[self::at(s.d)] = u32::from_le_bytes(word);
            return Ok(Flow::Next);
        }
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, move_words)
}

/// VLDR of a literal: on the fast path, of one word that can be read at once.
#[inline(always)]
pub fn load_literal<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    if state.has_live_fp()
        && s.aux & 0xFF == 1
        && let Some(value) = state.read_literal_fast(at, s.imm)
    {
        state.cpu.s[self::at(s.d)] = value;
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, move_words)
}

/// VSTR: on the fast path, of one word to RAM.
#[inline(always)]
pub fn store<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    if state.has_live_fp() {
        let address = state.cpu.get(s.n).wrapping_add(s.imm);
        if let Some([word]) = state.bus.ram_words_mut(address, s.aux & 0xFF) {
            *word = state.cpu.s[self::at(s.d)].to_le_bytes();
            return Ok(Flow::Next);
        }
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, move_words)
}

/// VLDR, VSTR, VLDM and VSTM in every case.
pub fn move_words(state: &mut State, s: &Slot) -> Outcome {
    state.prepare_fp()?;
    let count = s.aux & 0xFF;
    let base = state.cpu.get(s.n);
    let start = if s.op == Op::VldrLit { s.imm } else { base.wrapping_add(s.imm) };
    let stores = matches!(s.op, Op::Vstr | Op::Vstm);
    for at_word in 0..count {
        let address = start.wrapping_add(at_word * 4);
        let register = at(s.d + at_word as u8);
        if stores {
            state.write_aligned_word(address, state.cpu.s[register])?;
        } else {
            state.cpu.s[register] = state.read_aligned_word(address)?;
        }
    }
    if matches!(s.op, Op::Vldm | Op::Vstm) && s.m == 1 {
        let words = s.aux >> 8;
        let end = if s.a == 1 { start } else { base.wrapping_add(words * 4) };
        state.cpu.set_any(s.n, end);
    }
    Ok(Flow::Next)
}

/// VLSTM, which does nothing unless the Secure program has floating-point state.
pub fn leave_state(state: &mut State, s: &Slot) -> Outcome {
    if state.cpu.control & CONTROL_SFPA != 0 {
        state.check_fp()?;
        state.leave_fp_state(state.cpu.get(s.n))?;
    }
    Ok(Flow::Next)
}

/// VLLDM, which does nothing unless the Secure program has floating-point state.
pub fn take_state(state: &mut State, s: &Slot) -> Outcome {
    if state.cpu.control & CONTROL_SFPA != 0 {
        state.check_fp()?;
        state.take_fp_state(state.cpu.get(s.n))?;
    }
    Ok(Flow::Next)
}

impl State {
    /// ExecuteFPCheck: checks that access is allowed, saves pending lazy state, and creates this context's
    /// floating-point state.
    pub(super) fn prepare_fp(&mut self) -> Done {
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

    /// Returns whether no preparation is needed, which is true except for the first floating-point
    /// instruction of a program or handler.
    #[inline(always)]
    pub(crate) fn has_live_fp(&self) -> bool {
        let live = if self.features.v8m { CONTROL_FPCA | CONTROL_SFPA } else { CONTROL_FPCA };
        self.cpu.control & live == live
            && !self.system.fp.lazy_pending()
            && self.system.allows_fp(self.cpu.privileged())
    }
}

/// Returns the index of a register of the extension.
pub(super) const fn at(register: u8) -> usize {
    (register & 31) as usize
}
