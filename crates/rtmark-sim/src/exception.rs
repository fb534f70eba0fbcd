//! Entering and leaving exceptions (DDI 0403, B1.5; DDI 0419, B1.5 for ARMv6-M).
//!
//! Knows what is stacked and unstacked and in which order things are decided;
//! what it costs comes from the core's timing rules.

use crate::cpu::{CONTROL_FPCA, CONTROL_SPSEL};
use crate::exec::{Done, Trap};
use crate::machine::{Machine, Sleep};
use crate::nvic::{BUS_FAULT, HARD_FAULT, Masks, NMI, SVCALL, USAGE_FAULT};
use crate::stop::{FaultKind, FaultPolicy, FaultReport, Stop};
use crate::system::FpControl;
use rtmark_units::Cycles;

/// Words of the frame that every exception stacks.
const BASIC_FRAME: u32 = 8 * 4;
/// And with the floating-point registers that a call may change.
const EXTENDED_FRAME: u32 = 26 * 4;
/// EXC_RETURN: return to thread mode, on the process stack, with a basic frame.
const TO_THREAD: u32 = 1 << 3;
const TO_PROCESS_STACK: u32 = 1 << 2;
const BASIC: u32 = 1 << 4;
const ALWAYS_SET: u32 = 0xFFFF_FFE1;
/// HFSR bits.
const VECTTBL: u32 = 1 << 1;
const FORCED: u32 = 1 << 30;

impl Machine {
    /// Takes a pending exception: stacks, looks which is most urgent by now, jumps.
    pub(crate) fn take(&mut self, exception: u16) -> Result<(), Stop> {
        let masks = self.masks();
        let return_address = self.cpu.pc;
        let Ok(exc_return) = self.stack_frame(return_address) else {
            return self.stacking_failed(return_address);
        };
        self.cycles += u64::from(self.rules.entry);
        let exception = self.late_arrival(exception, masks);
        self.begin_handler(exception, exc_return)
    }

    /// What is most urgent when the vector is fetched.
    fn late_arrival(&mut self, exception: u16, masks: Masks) -> u16 {
        self.pass_time(self.cycles - u64::from(self.rules.late_arrival));
        self.system.nvic.to_take(masks).unwrap_or(exception)
    }

    fn begin_handler(&mut self, exception: u16, exc_return: u32) -> Result<(), Stop> {
        self.system.nvic.activate(exception);
        self.watches.enter(exception);
        self.cpu.switch(|cpu| {
            cpu.ipsr = exception;
            cpu.control &= !(CONTROL_SPSEL | CONTROL_FPCA);
        });
        self.cpu.r[14] = exc_return;
        self.cpu.it = 0;
        self.exclusive = false;
        self.late_branch = false;
        self.event = true;
        self.attend_soon();
        let address = self.system.vector_table.wrapping_add(u32::from(exception) * 4);
        let Some(vector) = self.vector(address) else {
            self.system.hard_fault_status |= VECTTBL;
            return self.fault(FaultKind::InstructionAccess, Some(address), self.cpu.pc);
        };
        self.cpu.pc = vector & !1;
        if vector & 1 == 0 {
            return self.fault(FaultKind::InvalidState, None, vector);
        }
        Ok(())
    }

    /// Reads a vector, waiting for its memory.
    fn vector(&mut self, address: u32) -> Option<u32> {
        let (bytes, place) = self.bus.load::<4>(address)?;
        self.wait_for_data(place);
        Some(u32::from_le_bytes(bytes))
    }

    /// PushStack: answers the EXC_RETURN value that undoes it.
    fn stack_frame(&mut self, return_address: u32) -> Result<u32, Trap> {
        let with_fp = self.features.fp && self.cpu.control & CONTROL_FPCA != 0;
        let size = if with_fp { EXTENDED_FRAME } else { BASIC_FRAME };
        let sp = self.cpu.r[13];
        // ARMv6-M and extended frames are always aligned to eight bytes.
        let align = self.system.aligns_stack() || with_fp;
        let padding = if align { sp & 4 } else { 0 };
        let frame = (sp - padding).wrapping_sub(size);
        let xpsr = self.cpu.xpsr() & !(1 << 9) | padding << 7;
        let r = &self.cpu.r;
        let words = [r[0], r[1], r[2], r[3], r[12], r[14], return_address, xpsr];
        for (address, word) in (frame..).step_by(4).zip(words) {
            self.write_aligned_word(address, word)?;
        }
        if with_fp {
            if self.system.fp.lazy_enabled() {
                self.system.fp.address = frame + BASIC_FRAME;
                self.system.fp.control |= FpControl::LAZY_ACTIVE;
            } else {
                self.store_fp_registers(frame + BASIC_FRAME)?;
                self.cycles += u64::from(self.rules.fp_frame);
            }
        }
        let mut exc_return = ALWAYS_SET | if with_fp { 0 } else { BASIC };
        if self.cpu.ipsr == 0 {
            exc_return |= TO_THREAD;
            if self.cpu.on_process_stack() {
                exc_return |= TO_PROCESS_STACK;
            }
        }
        self.cpu.r[13] = frame;
        Ok(exc_return)
    }

    /// Loads a word of a frame without the pace of an instruction: the return's own
    /// time covers it.
    fn load_frame_word(&mut self, address: u32) -> Result<u32, Trap> {
        let paced = self.cycles;
        let word = self.read_aligned_word(address);
        self.cycles = self.cycles.max(paced);
        word
    }

    fn store_fp_registers(&mut self, to: u32) -> Done {
        for at in 0..16 {
            self.write_aligned_word(to.wrapping_add(at * 4), self.cpu.s[at as usize])?;
        }
        self.write_aligned_word(to.wrapping_add(64), self.cpu.fpscr)
    }

    /// The first floating-point instruction of a handler saves what entry left behind.
    pub(crate) fn save_lazy_fp_state(&mut self) -> Done {
        self.store_fp_registers(self.system.fp.address)?;
        self.system.fp.control &= !FpControl::LAZY_ACTIVE;
        self.cycles += u64::from(self.rules.fp_frame);
        Ok(())
    }

    /// ExceptionReturn, with `pc` the instruction that asked for it.
    pub(crate) fn return_from_exception(&mut self, exc_return: u32, pc: u32) -> Result<(), Stop> {
        let returning = self.cpu.ipsr;
        let basic = exc_return & BASIC != 0;
        let nested = self.system.nvic.active().iter().count() > 1;
        let to_thread = exc_return & TO_THREAD != 0;
        let valid = exc_return & ALWAYS_SET == ALWAYS_SET
            && exc_return & 2 == 0
            && (basic || self.features.fp)
            && (to_thread || exc_return & TO_PROCESS_STACK == 0)
            && self.system.nvic.active().contains(returning)
            && to_thread != nested;
        if !valid {
            self.system.nvic.set_active(returning, false);
            return self.fault(FaultKind::InvalidReturn, None, pc);
        }
        self.system.nvic.set_active(returning, false);
        if returning != NMI {
            self.cpu.faultmask = false;
        }
        self.exclusive = false;
        self.event = true;
        self.attend_soon();
        self.pass_time(self.cycles);
        if let Some(next) = self.system.nvic.to_take(self.masks()) {
            self.cycles += u64::from(self.rules.tail_chain);
            let next = self.late_arrival(next, self.masks());
            self.watches.returned(returning, self.cycles, self.instructions);
            return self.begin_handler(next, exc_return);
        }
        if self.unstack_frame(exc_return).is_err() {
            return self.fault(FaultKind::Stack, None, pc);
        }
        self.cycles += u64::from(self.rules.exit);
        self.watches.returned(returning, self.cycles, self.instructions);
        if to_thread && self.system.sleep_control & 2 != 0 {
            self.sleeping = Some(Sleep::Interrupt);
        }
        Ok(())
    }

    /// PopStack.
    fn unstack_frame(&mut self, exc_return: u32) -> Done {
        let on_process_stack = exc_return & TO_PROCESS_STACK != 0;
        let with_fp = exc_return & BASIC == 0;
        let frame = if on_process_stack { self.cpu.psp() } else { self.cpu.msp() };
        let mut words = [0; 8];
        for (address, word) in (frame..).step_by(4).zip(&mut words) {
            *word = self.load_frame_word(address)?;
        }
        let [r0, r1, r2, r3, r12, lr, pc, xpsr] = words;
        if with_fp {
            if self.system.fp.lazy_pending() {
                self.system.fp.control &= !FpControl::LAZY_ACTIVE;
            } else {
                let from = frame + BASIC_FRAME;
                for at in 0..16 {
                    self.cpu.s[at as usize] = self.load_frame_word(from.wrapping_add(at * 4))?;
                }
                self.cpu.fpscr = self.load_frame_word(from.wrapping_add(64))?;
                self.cycles += u64::from(self.rules.fp_frame);
            }
        }
        let size = if with_fp { EXTENDED_FRAME } else { BASIC_FRAME };
        let end = frame.wrapping_add(size) | (xpsr >> 9 & 1) << 2;
        self.cpu.switch(|cpu| {
            cpu.ipsr = (xpsr & 0x1FF) as u16;
            if exc_return & TO_THREAD != 0 {
                let stack = if on_process_stack { CONTROL_SPSEL } else { 0 };
                cpu.control = cpu.control & !CONTROL_SPSEL | stack;
                cpu.ipsr = 0;
            }
            let fpca = if with_fp { CONTROL_FPCA } else { 0 };
            cpu.control = cpu.control & !CONTROL_FPCA | fpca;
        });
        if on_process_stack {
            self.cpu.set_psp(end);
        } else {
            self.cpu.set_msp(end);
        }
        self.cpu.r[..4].copy_from_slice(&[r0, r1, r2, r3]);
        self.cpu.r[12] = r12;
        self.cpu.r[14] = lr;
        self.cpu.pc = pc & !1;
        self.cpu.restore_psr(xpsr, self.features);
        Ok(())
    }

    /// SVC, at `pc`: taken at once, or a fault where it cannot be.
    pub(crate) fn supervisor_call(&mut self, pc: u32) -> Result<(), Stop> {
        if self.system.nvic.could_take(SVCALL, self.masks()) {
            self.pend(SVCALL, self.cycles);
            return self.take(SVCALL);
        }
        self.fault(FaultKind::SupervisorCall, None, pc)
    }

    /// A fault of the instruction at `pc`, or at the target that it branched to.
    pub(crate) fn fault(
        &mut self,
        kind: FaultKind,
        address: Option<u32>,
        pc: u32,
    ) -> Result<(), Stop> {
        let report = FaultReport {
            kind,
            pc,
            lr: self.cpu.r[14],
            sp: self.cpu.r[13],
            address,
            handler: self.cpu.ipsr,
            cycle: Cycles(self.cycles),
        };
        self.cpu.pc = pc;
        let own = self.record_fault(kind, address);
        let masks = self.masks();
        let exception = if self.features.mainline
            && self.handles_fault(own)
            && self.system.nvic.could_take(own, masks)
        {
            own
        } else {
            if self.execution_priority() < 0 {
                return Err(Stop::Lockup(report));
            }
            if own != HARD_FAULT {
                self.system.hard_fault_status |= FORCED;
            }
            HARD_FAULT
        };
        if exception == HARD_FAULT && self.fault_policy == FaultPolicy::Stop {
            return Err(Stop::Fault(report));
        }
        self.pend(exception, self.cycles);
        self.take(exception)
    }

    /// A frame could not be stored: the exception becomes a fault of its own.
    fn stacking_failed(&mut self, pc: u32) -> Result<(), Stop> {
        let report = FaultReport {
            kind: FaultKind::Stack,
            pc,
            lr: self.cpu.r[14],
            sp: self.cpu.r[13],
            address: Some(self.cpu.r[13]),
            handler: self.cpu.ipsr,
            cycle: Cycles(self.cycles),
        };
        self.record_fault(FaultKind::Stack, None);
        // Entering a handler needs the stack that has just failed.
        if self.fault_policy == FaultPolicy::Stop && self.execution_priority() >= 0 {
            return Err(Stop::Fault(report));
        }
        Err(Stop::Lockup(report))
    }

    /// Sets the status registers; answers the exception that the fault belongs to.
    fn record_fault(&mut self, kind: FaultKind, address: Option<u32>) -> u16 {
        let (exception, status) = match kind {
            FaultKind::UndefinedInstruction => (USAGE_FAULT, 1 << 16),
            FaultKind::InvalidState => (USAGE_FAULT, 1 << 17),
            FaultKind::InvalidReturn => (USAGE_FAULT, 1 << 18),
            FaultKind::NoCoprocessor => (USAGE_FAULT, 1 << 19),
            FaultKind::Unaligned => (USAGE_FAULT, 1 << 24),
            FaultKind::DivideByZero => (USAGE_FAULT, 1 << 25),
            FaultKind::InstructionAccess => (BUS_FAULT, 1 << 8),
            FaultKind::DataAccess => (BUS_FAULT, 1 << 9 | 1 << 15),
            FaultKind::Stack => (BUS_FAULT, 1 << 12),
            FaultKind::SupervisorCall | FaultKind::Breakpoint => (HARD_FAULT, 0),
        };
        self.system.fault_status |= status;
        if let (FaultKind::DataAccess, Some(address)) = (kind, address) {
            self.system.bus_fault_address = address;
        }
        exception
    }
}
