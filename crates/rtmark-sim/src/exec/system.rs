//! Instructions that access the core itself (DDI 0403, B5.2).

#![expect(clippy::unnecessary_wraps, reason = "all bodies of a kind have one signature")]

use super::{ExecContext, Executing, Flow, Outcome};
use crate::arch::armm::registers::{CONTROL_FPCA, CONTROL_NPRIV, CONTROL_SFPA, CONTROL_SPSEL, Cpu};
use crate::arch::armm::trap::Trap;
use crate::isa::Slot;
use crate::state::State;

/// NOP and hints without an effect. With one core and strongly ordered memory, barriers only take time.
#[inline(always)]
pub fn nop(_: &mut Cpu, _: &Slot) {}

/// IT, where no block has decoded what follows it.
pub fn it(state: &mut State, s: &Slot) -> Outcome {
    state.cpu.it = s.imm as u8;
    state.request_attention();
    Ok(Flow::Next)
}

pub fn sev(state: &mut State, _: &Slot) -> Outcome {
    state.event = true;
    Ok(Flow::Next)
}

/// An instruction that does nothing but trap.
pub fn raise(_: &mut State, _: &Slot, trap: Trap) -> Outcome {
    Err(trap)
}

#[inline(always)]
pub fn mrs<E: Executing>(state: &mut State, s: &Slot, _: &mut E) -> Outcome {
    state.cpu.set(s.d, state.read_special(s.imm));
    Ok(Flow::Next)
}

#[inline(always)]
pub fn msr<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    let value = state.cpu.get(s.n);
    let raises_priority = state.raises_priority(s.imm, value);
    if state.write_mask_fast(s.imm, value) {
        if !raises_priority {
            return Ok(Flow::Next);
        }
        at.context().raises_priority(state);
        return Ok(at.proceed());
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    if raises_priority {
        at.context().raises_priority(state);
    }
    at.complete(state, s, |state, s| {
        let value = state.cpu.get(s.n);
        let is_mask = matches!(s.imm, 16..=18) && state.cpu.privileged();
        if is_mask && let Some(effect) = state.mask_effect(s) {
            state.write_mask(s.imm, value);
            state.record_masks(effect);
            return Ok(Flow::Next);
        }
        state.write_special(s.imm, s.aux, value);
        state.mask_written(s.size());
        Ok(Flow::Next)
    })
}

#[inline(always)]
pub fn cps<E: Executing>(state: &mut State, s: &Slot, at: &mut E) -> Outcome {
    if state.change_mask_fast(s) {
        return Ok(Flow::Next);
    }
    if E::IS_FAST {
        return Ok(Flow::SlowPath);
    }
    at.complete(state, s, |state, s| {
        if state.changes_primask(s)
            && let Some(effect) = state.mask_effect(s)
        {
            state.cpu.primask = s.aux == 1;
            state.record_masks(effect);
            return Ok(Flow::Next);
        }
        state.change_state(s);
        Ok(Flow::Next)
    })
}

impl State {
    /// Returns whether a mask may change without further checks: nothing is pending that might be taken
    /// afterwards, and masked intervals are not being measured.
    #[inline(always)]
    fn may_change_mask_fast(&self) -> bool {
        self.system.nvic.pending().is_empty() && !self.watches.masking.is_on()
    }

    /// Executes CPS of PRIMASK on the fast path; returns `false` if the slow path is needed.
    #[inline(always)]
    fn change_mask_fast(&mut self, s: &Slot) -> bool {
        let is_simple = self.changes_primask(s) && self.may_change_mask_fast();
        if is_simple {
            self.cpu.primask = s.aux == 1;
        }
        is_simple
    }

    /// Returns whether a CPS changes PRIMASK alone.
    #[inline(always)]
    const fn changes_primask(&self, s: &Slot) -> bool {
        s.imm == 2 && self.cpu.privileged()
    }

    /// Executes MSR of PRIMASK or BASEPRI on the fast path; returns `false` if the slow path is needed.
    #[inline(always)]
    fn write_mask_fast(&mut self, register: u32, value: u32) -> bool {
        matches!(register, 16..=18)
            && self.cpu.privileged()
            && self.may_change_mask_fast()
            && self.write_mask(register, value)
    }

    /// Writes PRIMASK or BASEPRI; returns whether the register is one of them.
    #[inline(always)]
    fn write_mask(&mut self, register: u32, value: u32) -> bool {
        match register {
            16 => self.cpu.primask = value & 1 == 1,
            17 | 18 if self.features.mainline => {
                let (wanted, current) = (value as u8, self.cpu.basepri);
                // BASEPRI_MAX can only make the mask more urgent. The value is compared as written (DDI
                // 0403, B5.2.3), including the bits that the register does not implement: 1 is more urgent
                // than 0x80, but no mask once written.
                if register == 17 || wanted != 0 && (current == 0 || wanted < current) {
                    self.cpu.basepri = self.system.nvic.mask_priority(wanted);
                }
            }
            _ => return false,
        }
        true
    }

    /// Returns whether an MSR gives a nonzero value to one of the registers that raise the execution
    /// priority, whether or not the value's bits are implemented or change anything. Returns `false` where
    /// BASEPRI_MAX or FAULTMASK keeps its value.
    #[inline(always)]
    fn raises_priority(&self, register: u32, value: u32) -> bool {
        matches!(register, 16..=19) && self.may_raise(register, value)
    }

    fn may_raise(&self, register: u32, value: u32) -> bool {
        let (priority, current) = (value as u8, self.cpu.basepri);
        self.cpu.privileged()
            && match register {
                16 => value & 1 == 1,
                17 => priority != 0,
                18 => priority != 0 && (current == 0 || priority < current),
                _ => value & 1 == 1 && self.above_hard_fault(),
            }
    }

    fn change_state(&mut self, s: &Slot) {
        if !self.cpu.privileged() {
            return;
        }
        let disable = s.aux == 1;
        if s.imm & 2 != 0 {
            self.cpu.primask = disable;
        }
        if s.imm & 1 != 0 && self.features.mainline && (!disable || self.above_hard_fault()) {
            self.cpu.faultmask = disable;
        }
        self.mask_written(s.size());
        self.request_attention();
    }

    /// Returns whether FAULTMASK has an effect at the current execution priority.
    fn above_hard_fault(&self) -> bool {
        self.execution_priority() > -1
    }

    fn read_special(&self, register: u32) -> u32 {
        let cpu = &self.cpu;
        match register {
            // The parts of the PSR, as selected by the low bits of the number.
            0..=7 => {
                let apsr = if register & 4 == 0 { cpu.apsr() } else { 0 };
                let ipsr = if register & 1 == 1 { u32::from(cpu.ipsr) } else { 0 };
                apsr | ipsr
            }
            _ if register != 20 && !cpu.privileged() => 0,
            8 => cpu.msp(),
            9 => cpu.psp(),
            10 => cpu.main_limit,
            11 => cpu.process_limit,
            16 => u32::from(cpu.primask),
            17 | 18 if self.features.mainline => u32::from(cpu.basepri),
            19 if self.features.mainline => u32::from(cpu.faultmask),
            20 => cpu.control,
            _ => 0,
        }
    }

    fn write_special(&mut self, register: u32, mask: u32, value: u32) {
        let privileged = self.cpu.privileged();
        match register {
            0..=3 => {
                if mask & 2 != 0 {
                    self.cpu.set_flags(value);
                    self.cpu.q = self.features.mainline && value >> 27 & 1 == 1;
                }
                if mask & 1 != 0 && self.features.dsp {
                    self.cpu.ge = (value >> 16 & 0xF) as u8;
                }
                return;
            }
            20 => return self.write_control(value),
            _ if !privileged => return,
            8 => {
                self.watches.stack.pointer_set(self.cpu.msp(), value);
                self.cpu.set_msp(value);
            }
            9 => self.cpu.set_psp(value),
            10 if self.features.v8m => self.cpu.main_limit = value & !7,
            11 if self.features.v8m => self.cpu.process_limit = value & !7,
            19 if self.features.mainline && (value & 1 == 0 || self.above_hard_fault()) => {
                self.cpu.faultmask = value & 1 == 1;
            }
            _ => {
                self.write_mask(register, value);
            }
        }
        self.request_attention();
    }

    fn write_control(&mut self, value: u32) {
        let (fp, v8m) = (self.features.fp, self.features.v8m);
        let thread = self.cpu.ipsr == 0;
        let secure_fp = if fp && v8m { CONTROL_SFPA } else { 0 };
        let writable = if self.cpu.privileged() {
            // In handler mode the main stack stays in use, but ARMv8-M records the selection.
            let stack = if thread || v8m { CONTROL_SPSEL } else { 0 };
            let user = if self.features.v6m_options { CONTROL_NPRIV } else { 0 };
            user | stack | if fp { CONTROL_FPCA } else { 0 } | secure_fp
        } else {
            secure_fp
        };
        self.cpu.switch(|cpu| cpu.control = cpu.control & !writable | value & writable);
        self.request_attention();
    }
}
