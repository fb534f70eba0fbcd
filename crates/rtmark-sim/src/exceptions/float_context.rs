//! Floating-point registers on the stack: stored with a frame at once, when a handler first uses the unit,
//! or where the program requests it (DDI 0403, B1.5.7; DDI 0553, B3.19).

use crate::arch::armm::nvic::{BUS_FAULT, DEBUG_MONITOR, MEM_MANAGE, USAGE_FAULT};
use crate::arch::armm::registers::CONTROL_FPCA;
use crate::arch::armm::scs::FpControl;
use crate::arch::armm::trap::{Done, Trap};
use crate::state::State;

/// Bytes of S0 to S15, the status register and a reserved word.
const CALLER_SAVED: u32 = 18 * 4;
/// The words of them that are stored and loaded.
pub(super) const FP_WORDS: u64 = 17;
/// Bytes of S16 to S31, which are stacked too if FPCCR.TS marks them as Secure.
const CALLEE_SAVED: u32 = 16 * 4;

impl State {
    /// Returns the bytes of a frame that hold floating-point registers.
    pub(crate) const fn fp_frame_size(&self) -> u32 {
        CALLER_SAVED + if self.system.fp.covers_all() { CALLEE_SAVED } else { 0 }
    }

    pub(crate) fn store_fp_registers(&mut self, to: u32) -> Done {
        let mut words = [self.cpu.fpscr; 17];
        words[..16].copy_from_slice(&self.cpu.s[..16]);
        self.store_frame(to, &words)?;
        if self.system.fp.covers_all() {
            let callee_saved = self.cpu.s;
            self.store_frame(to.wrapping_add(CALLER_SAVED), &callee_saved[16..])?;
        }
        Ok(())
    }

    /// Loads all of the registers, or changes nothing.
    fn load_fp_registers(&mut self, from: u32) -> Done {
        let caller_saved: [u32; 17] = self.load_frame(from)?;
        if self.system.fp.covers_all() {
            let callee_saved: [u32; 16] = self.load_frame(from.wrapping_add(CALLER_SAVED))?;
            self.cpu.s[16..].copy_from_slice(&callee_saved);
        }
        self.cpu.s[..16].copy_from_slice(&caller_saved[..16]);
        self.cpu.fpscr = caller_saved[16];
        Ok(())
    }

    /// UpdateFPCCR: reserves space for the registers, and records what is needed to store them later.
    /// `too_low`: the space is below the stack's limit.
    pub(crate) fn leave_fp_registers(&mut self, place: u32, too_low: bool) {
        let (nvic, masks) = (&self.system.nvic, self.masks());
        let ready =
            |exception| nvic.enabled().contains(exception) && nvic.could_take(exception, masks);
        let flag = |holds, bit| if holds { bit } else { 0 };
        let notes = FpControl::LAZY_ACTIVE
            | flag(!self.cpu.privileged(), FpControl::USER)
            | flag(self.cpu.ipsr == 0, FpControl::THREAD)
            | flag(nvic.execution_priority(masks) > -1, FpControl::HARD_FAULT_READY)
            | flag(ready(MEM_MANAGE), FpControl::MEM_MANAGE_READY)
            | flag(ready(BUS_FAULT), FpControl::BUS_FAULT_READY)
            | flag(ready(DEBUG_MONITOR), FpControl::DEBUG_MONITOR_READY)
            | flag(self.features.v8m && ready(USAGE_FAULT), FpControl::USAGE_FAULT_READY)
            | flag(too_low, FpControl::LIMIT_VIOLATED);
        let fp = &mut self.system.fp;
        fp.control = fp.control & !FpControl::NOTES | notes;
        fp.address = place & !7;
    }

    /// Saves the registers that exception entry deferred, before a handler's first floating-point
    /// instruction.
    pub(crate) fn save_lazy_fp_state(&mut self) -> Done {
        let control = self.system.fp.control;
        let place = self.system.fp.address;
        if control & FpControl::LIMIT_VIOLATED == 0 {
            let user = control & FpControl::USER != 0;
            let stored = self.access_as(user, |machine| machine.store_fp_registers(place));
            stored.map_err(|trap| match trap {
                Trap::Forbidden => Trap::LazyForbidden,
                _ => Trap::LazyNoResponse,
            })?;
        }
        self.system.fp.control &= !FpControl::LAZY_ACTIVE;
        self.hide_fp_registers();
        self.cycles += u64::from(self.rules.fp_frame);
        Ok(())
    }

    /// Clears Secure registers once they have been stored.
    fn hide_fp_registers(&mut self) {
        if self.system.fp.covers_all() {
            (self.cpu.s, self.cpu.fpscr) = ([0; 32], 0);
        }
    }

    /// On an exception return, loads the registers that the entry stored, if it did.
    pub(crate) fn restore_fp_registers(&mut self, from: u32) -> Done {
        if self.system.fp.lazy_pending() {
            self.system.fp.control &= !FpControl::LAZY_ACTIVE;
            return Ok(());
        }
        self.move_frame(from, FP_WORDS, |it| it.load_fp_registers(from))?;
        self.cycles += u64::from(self.rules.fp_frame);
        Ok(())
    }

    /// FPCCR.CLRONRET: clears a handler's results when it returns.
    pub(crate) fn clear_fp_registers_on_return(&mut self) -> Done {
        if !self.system.fp.cleared_on_return() || self.cpu.control & CONTROL_FPCA == 0 {
            return Ok(());
        }
        if self.system.fp.lazy_pending() {
            return Err(Trap::LazyState);
        }
        self.cpu.s[..16].fill(0);
        self.cpu.fpscr = 0;
        Ok(())
    }

    /// VLSTM: hands the registers over to the called code; they are stored when it needs them.
    pub(crate) fn leave_fp_state(&mut self, address: u32) -> Done {
        if self.system.fp.lazy_pending() {
            return Err(Trap::LazyState);
        }
        if !address.is_multiple_of(8) {
            return Err(self.unaligned(address));
        }
        if self.system.fp.lazy_enabled() {
            self.leave_fp_registers(address, false);
        } else {
            self.store_fp_registers(address)?;
            self.hide_fp_registers();
        }
        self.cpu.control &= !CONTROL_FPCA;
        Ok(())
    }

    /// VLLDM: restores the registers.
    pub(crate) fn take_fp_state(&mut self, address: u32) -> Done {
        if self.system.fp.lazy_pending() {
            self.system.fp.control &= !FpControl::LAZY_ACTIVE;
        } else if address.is_multiple_of(8) {
            self.load_fp_registers(address)?;
        } else {
            return Err(self.unaligned(address));
        }
        self.cpu.control |= CONTROL_FPCA;
        Ok(())
    }
}
