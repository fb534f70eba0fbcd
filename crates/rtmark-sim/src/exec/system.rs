//! Instructions that speak to the core itself (DDI 0403, B5.2).

use crate::arch::armm::registers::{CONTROL_FPCA, CONTROL_NPRIV, CONTROL_SFPA, CONTROL_SPSEL};
use crate::arch::armm::trap::{Done, Trap};
use crate::isa::{Op, Slot};
use crate::state::State;

impl State {
    pub(super) fn execute_system(&mut self, s: &Slot) -> Done {
        match s.op {
            Op::It => {
                self.cpu.it = s.imm as u8;
                self.attend_soon();
            }
            Op::Wfi => return Err(Trap::WaitForInterrupt),
            Op::Wfe => return Err(Trap::WaitForEvent),
            Op::Sev => self.event = true,
            Op::Svc => return Err(Trap::SupervisorCall),
            Op::Bkpt => return Err(Trap::Breakpoint),
            Op::Cps => self.change_state(s),
            Op::Msr => {
                self.write_special(s.imm, s.aux, self.cpu.get(s.n));
                self.mask_written(s.size());
            }
            _ => return Err(Trap::Undefined),
        }
        Ok(())
    }

    /// Whether a mask may change without a look at what that does: nothing is pending that
    /// might be taken then, and nobody asked for how long interrupts are masked.
    #[inline(always)]
    fn masks_nothing(&self) -> bool {
        self.system.nvic.pending().is_empty() && !self.watches.masking.is_on()
    }

    /// CPS of PRIMASK, if it is that simple; answers whether it is.
    #[inline(always)]
    pub(super) fn change_mask_at_once(&mut self, s: &Slot) -> bool {
        let is_simple = s.imm == 2 && self.cpu.privileged() && self.masks_nothing();
        if is_simple {
            self.cpu.primask = s.aux == 1;
        }
        is_simple
    }

    /// MSR of PRIMASK or BASEPRI, likewise.
    #[inline(always)]
    pub(super) fn write_mask_at_once(&mut self, register: u32, value: u32) -> bool {
        matches!(register, 16..=18)
            && self.cpu.privileged()
            && self.masks_nothing()
            && self.write_mask(register, value)
    }

    /// Writes PRIMASK or BASEPRI; answers whether it is one of them.
    #[inline(always)]
    fn write_mask(&mut self, register: u32, value: u32) -> bool {
        match register {
            16 => self.cpu.primask = value & 1 == 1,
            17 | 18 if self.features.mainline => {
                let (wanted, current) = (value as u8, self.cpu.basepri);
                // BASEPRI_MAX only becomes more urgent. What is compared is the value as it is
                // written (DDI 0403, B5.2.3), with the bits that the register does not keep: 1
                // is more urgent than 0x80, and no mask once it is written.
                if register == 17 || wanted != 0 && (current == 0 || wanted < current) {
                    self.cpu.basepri = self.system.nvic.mask_priority(wanted);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether an MSR gives one of the registers that raise the execution priority a value that
    /// is not zero, whether or not the value's bits exist or are news; not so where BASEPRI_MAX and
    /// FAULTMASK stay.
    #[inline(always)]
    pub(super) fn raises_priority(&self, register: u32, value: u32) -> bool {
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
        self.attend_soon();
    }

    /// Whether the execution priority leaves room for FAULTMASK to matter.
    fn above_hard_fault(&self) -> bool {
        self.execution_priority() > -1
    }

    pub(super) fn read_special(&self, register: u32) -> u32 {
        let cpu = &self.cpu;
        match register {
            // The PSR's parts, as the low bits of the number select them.
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
            8 => self.cpu.set_msp(value),
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
        self.attend_soon();
    }

    fn write_control(&mut self, value: u32) {
        let (fp, v8m) = (self.features.fp, self.features.v8m);
        let thread = self.cpu.ipsr == 0;
        let secure_fp = if fp && v8m { CONTROL_SFPA } else { 0 };
        let writable = if self.cpu.privileged() {
            // In handler mode the stack stays the main one, but ARMv8-M notes the choice.
            let stack = if thread || v8m { CONTROL_SPSEL } else { 0 };
            CONTROL_NPRIV | stack | if fp { CONTROL_FPCA } else { 0 } | secure_fp
        } else {
            secure_fp
        };
        self.cpu.switch(|cpu| cpu.control = cpu.control & !writable | value & writable);
        self.attend_soon();
    }
}
