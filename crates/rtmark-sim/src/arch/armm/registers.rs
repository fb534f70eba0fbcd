//! The registers of a core, including its flags.
//!
//! This module knows the register file, the special registers and the evaluation of conditions; it knows
//! neither memory nor exceptions nor time.

use crate::isa::Features;

/// ITAdvance (DDI 0403, A7.3.3): returns ITSTATE after an instruction in an IT block.
pub const fn after_it(it: u8) -> u8 {
    if it & 7 == 0 { 0 } else { it & 0xE0 | it << 1 & 0x1F }
}

/// Returns whether a value of ITSTATE is EPSR.ICI.
pub const fn is_ici(it: u8) -> bool {
    it != 0 && it & 0xF == 0
}

/// The register number of the stack pointer.
pub const SP: usize = 13;

/// CONTROL: thread mode is unprivileged.
pub const CONTROL_NPRIV: u32 = 1;
/// CONTROL: thread mode uses the process stack.
pub const CONTROL_SPSEL: u32 = 2;
/// CONTROL: floating-point state is active.
pub const CONTROL_FPCA: u32 = 4;
/// CONTROL: the floating-point state is the Secure program's (ARMv8-M).
pub const CONTROL_SFPA: u32 = 8;

/// The bits that a write to each register keeps: the stack pointer is always word-aligned.
const WRITABLE: [u32; 16] = {
    let mut mask = [u32::MAX; 16];
    mask[SP] = !3;
    mask
};

/// For each condition, the flags with which it holds: one bit for each combination of N, Z, C and V.
const HOLDS: [u16; 16] = {
    let mut holds = [0; 16];
    let mut cpu = Cpu::new();
    let mut flags = 0;
    while flags < 16 {
        cpu.set_flags(flags << 28);
        let mut condition = 0;
        while condition < 16 {
            holds[condition] |= (cpu.condition(condition as u8) as u16) << flags;
            condition += 1;
        }
        flags += 1;
    }
    holds
};

/// The state of a core's registers.
///
/// What instructions read and write most comes first: native code reaches it with a short offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Cpu {
    /// R0 to R12, the current stack pointer and the link register. The last entry is unused, because the
    /// decoder resolves every use of the program counter.
    pub r: [u32; 16],
    /// The N and Z flags, usually the latest result. Z is set if the lower half is zero; N is set if bit 31
    /// or the upper half is nonzero.
    pub nz: u64,
    pub c: bool,
    /// Bit 31 is the V flag.
    pub v: u32,
    /// The address of the current instruction; while one executes, that of the next.
    pub pc: u32,
    /// The stack pointer that is not in use.
    pub other_sp: u32,
    /// The limits of the stack pointers (ARMv8-M; otherwise zero).
    pub main_limit: u32,
    pub process_limit: u32,
    pub q: bool,
    /// The GE flags of the DSP extension, one bit per byte lane.
    pub ge: u8,
    /// EPSR.T is clear, so the next instruction faults.
    pub arm: bool,
    /// ITSTATE: zero outside IT blocks. While an instruction is suspended, the lower half is zero and the
    /// upper half is EPSR.ICI (DDI 0403, B1.4.2).
    pub it: u8,
    /// The exception being handled; 0 in thread mode.
    pub ipsr: u16,
    pub primask: bool,
    pub faultmask: bool,
    pub basepri: u8,
    pub control: u32,
    /// S0 to S31.
    pub s: [u32; 32],
    pub fpscr: u32,
}

impl Cpu {
    pub const fn new() -> Self {
        Self {
            r: [0; 16],
            pc: 0,
            other_sp: 0,
            main_limit: 0,
            process_limit: 0,
            nz: 1,
            c: false,
            v: 0,
            q: false,
            ge: 0,
            arm: false,
            it: 0,
            ipsr: 0,
            primask: false,
            faultmask: false,
            basepri: 0,
            control: 0,
            s: [0; 32],
            fpscr: 0,
        }
    }

    #[inline(always)]
    pub const fn get(&self, register: u8) -> u32 {
        self.r[(register & 15) as usize]
    }

    /// Writes a register that cannot be the stack pointer in this encoding.
    #[inline(always)]
    pub const fn set(&mut self, register: u8, value: u32) {
        self.r[(register & 15) as usize] = value;
    }

    /// Writes any register except the program counter.
    #[inline(always)]
    pub const fn set_any(&mut self, register: u8, value: u32) {
        let at = (register & 15) as usize;
        self.r[at] = value & WRITABLE[at];
    }

    #[inline(always)]
    pub const fn set_nz(&mut self, result: u32) {
        self.nz = result as u64;
    }

    /// AddWithCarry (DDI 0403, A2.2.1), setting all four flags.
    #[inline(always)]
    pub const fn add_with_flags(&mut self, x: u32, y: u32, carry: bool) -> u32 {
        let wide = x as u64 + y as u64 + carry as u64;
        let result = wide as u32;
        self.set_nz(result);
        self.c = wide >> 32 != 0;
        self.v = (x ^ result) & (y ^ result);
        result
    }

    /// AddWithCarry of `x`, the complement of `y`, and 1: a subtraction that sets all four flags.
    #[inline(always)]
    pub const fn subtract_with_flags(&mut self, x: u32, y: u32) -> u32 {
        let result = x.wrapping_sub(y);
        self.set_nz(result);
        self.c = x >= y;
        self.v = (x ^ y) & (x ^ result);
        result
    }

    /// Returns whether a condition known at compile time holds.
    #[inline(always)]
    pub const fn holds(&self, condition: u8) -> bool {
        match condition {
            0 => self.is_zero(),
            1 => !self.is_zero(),
            2 => self.c,
            3 => !self.c,
            _ => self.condition(condition),
        }
    }

    /// Returns whether a condition holds (DDI 0403, A7.3).
    #[inline(always)]
    pub const fn condition(&self, condition: u8) -> bool {
        let (negative, zero, overflow) = (self.is_negative(), self.is_zero(), self.v >> 31 != 0);
        let holds = match condition >> 1 {
            0 => zero,
            1 => self.c,
            2 => negative,
            3 => overflow,
            4 => self.c && !zero,
            5 => negative == overflow,
            6 => negative == overflow && !zero,
            _ => return true,
        };
        holds != (condition & 1 == 1)
    }

    /// Returns whether the condition of an ITSTATE holds. It is not known at compile time, so a table
    /// lookup is faster.
    #[inline(always)]
    pub const fn condition_of(&self, it: u8) -> bool {
        HOLDS[(it >> 4) as usize] >> (self.apsr() >> 28) & 1 == 1
    }

    #[inline(always)]
    pub const fn is_zero(&self) -> bool {
        self.nz as u32 == 0
    }

    #[inline(always)]
    const fn is_negative(&self) -> bool {
        self.nz > i32::MAX as u64
    }

    /// Returns the flags as APSR shows them.
    pub const fn apsr(&self) -> u32 {
        (self.is_negative() as u32) << 31
            | (self.is_zero() as u32) << 30
            | (self.c as u32) << 29
            | (self.v >> 31) << 28
            | (self.q as u32) << 27
            | (self.ge as u32) << 16
    }

    pub const fn set_flags(&mut self, apsr: u32) {
        let (negative, zero) = (apsr >> 31, apsr >> 30 & 1);
        self.nz = (negative as u64) << 32 | (zero ^ 1) as u64;
        self.c = apsr >> 29 & 1 == 1;
        self.v = apsr << 3;
    }

    /// Returns the complete program status register: flags, ITSTATE, Thumb bit and exception number.
    pub const fn xpsr(&self) -> u32 {
        let it = self.it as u32;
        self.apsr() | (it & 3) << 25 | (it >> 2) << 10 | (!self.arm as u32) << 24 | self.ipsr as u32
    }

    /// Restores flags and ITSTATE, but not the exception number, from a stacked status register.
    pub fn restore_psr(&mut self, xpsr: u32, features: Features) {
        self.set_flags(xpsr);
        self.arm = xpsr >> 24 & 1 == 0;
        if features.mainline {
            self.q = xpsr >> 27 & 1 == 1;
            self.it = ((xpsr >> 25 & 3) | (xpsr >> 10 & 0x3F) << 2) as u8;
        }
        if features.dsp {
            self.ge = (xpsr >> 16 & 0xF) as u8;
        }
    }

    /// Returns whether the process stack pointer is in use.
    pub const fn on_process_stack(&self) -> bool {
        self.ipsr == 0 && self.control & CONTROL_SPSEL != 0
    }

    /// Returns whether the core may access system registers.
    pub const fn privileged(&self) -> bool {
        self.ipsr != 0 || self.control & CONTROL_NPRIV == 0
    }

    pub const fn msp(&self) -> u32 {
        if self.on_process_stack() { self.other_sp } else { self.r[SP] }
    }

    pub const fn psp(&self) -> u32 {
        if self.on_process_stack() { self.r[SP] } else { self.other_sp }
    }

    /// Returns the limit of the stack pointer that is in use.
    pub const fn stack_limit(&self) -> u32 {
        if self.on_process_stack() { self.process_limit } else { self.main_limit }
    }

    pub const fn set_msp(&mut self, value: u32) {
        if self.on_process_stack() { self.other_sp = value & !3 } else { self.r[SP] = value & !3 }
    }

    pub const fn set_psp(&mut self, value: u32) {
        if self.on_process_stack() { self.r[SP] = value & !3 } else { self.other_sp = value & !3 }
    }

    /// Changes mode or stack selection, preserving each stack pointer's value.
    pub fn switch(&mut self, change: impl FnOnce(&mut Self)) {
        let (msp, psp) = (self.msp(), self.psp());
        change(self);
        self.set_msp(msp);
        self.set_psp(psp);
    }

    /// Returns the value of EPSR.ICI, if the next instruction is to be continued.
    pub const fn ici(&self) -> Option<u8> {
        if is_ici(self.it) { Some(self.it >> 4) } else { None }
    }

    /// Advances to the next instruction of an IT block.
    pub const fn advance_it(&mut self) {
        self.it = after_it(self.it);
    }
}
