//! The registers of each mode, and the program status registers (DDI 0406, B1.3).

/// Bits of a program status register.
pub mod psr {
    pub const N: u32 = 1 << 31;
    pub const Z: u32 = 1 << 30;
    pub const C: u32 = 1 << 29;
    pub const V: u32 = 1 << 28;
    pub const FLAGS: u32 = N | Z | C | V;
    pub const Q: u32 = 1 << 27;
    /// Both parts of ITSTATE.
    pub const IT: u32 = 0x0600_FC00;
    pub const JAZELLE: u32 = 1 << 24;
    pub const GE: u32 = 0xF << 16;
    /// Data accesses are big-endian.
    pub const E: u32 = 1 << 9;
    /// Masks of asynchronous aborts, IRQ and FIQ.
    pub const A: u32 = 1 << 8;
    pub const I: u32 = 1 << 7;
    pub const F: u32 = 1 << 6;
    /// Executes T32.
    pub const T: u32 = 1 << 5;
    pub const MODE: u32 = 0x1F;
}

/// The processor modes, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    User = 0x10,
    Fiq = 0x11,
    Irq = 0x12,
    Supervisor = 0x13,
    Abort = 0x17,
    Undefined = 0x1B,
    System = 0x1F,
}

impl Mode {
    /// Returns the mode with a number, or `None` if the core has no such mode.
    pub const fn of(number: u32) -> Option<Self> {
        Some(match number & psr::MODE {
            0x10 => Self::User,
            0x11 => Self::Fiq,
            0x12 => Self::Irq,
            0x13 => Self::Supervisor,
            0x17 => Self::Abort,
            0x1B => Self::Undefined,
            0x1F => Self::System,
            _ => return None,
        })
    }

    /// Returns its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Fiq => "FIQ",
            Self::Irq => "IRQ",
            Self::Supervisor => "supervisor",
            Self::Abort => "abort",
            Self::Undefined => "undefined",
            Self::System => "system",
        }
    }

    /// Returns the index of its banked stack pointer and link register.
    const fn bank(self) -> usize {
        match self {
            Self::User | Self::System => 0,
            Self::Fiq => 1,
            Self::Irq => 2,
            Self::Supervisor => 3,
            Self::Abort => 4,
            Self::Undefined => 5,
        }
    }

    /// Returns whether it has a saved program status register.
    pub const fn has_saved_status(self) -> bool {
        self.bank() != 0
    }
}

/// The condition flags, in the form in which results give them.
#[derive(Clone, Copy, Debug)]
struct Flags {
    /// N is its sign, and Z is set if its lower half is 0.
    result: i64,
    carry: bool,
    overflow: bool,
}

impl Flags {
    /// Returns the flags in the upper four bits of a word.
    const fn of(word: u32) -> Self {
        let sign = if word & psr::N != 0 { i64::MIN } else { 0 };
        let result = sign | (word & psr::Z == 0) as i64;
        Self { result, carry: word & psr::C != 0, overflow: word & psr::V != 0 }
    }

    /// Returns them in the upper four bits of a word.
    const fn word(self) -> u32 {
        let n = if self.negative() { psr::N } else { 0 };
        let z = if self.zero() { psr::Z } else { 0 };
        let c = if self.carry { psr::C } else { 0 };
        let v = if self.overflow { psr::V } else { 0 };
        n | z | c | v
    }

    #[inline(always)]
    const fn negative(self) -> bool {
        self.result < 0
    }

    #[inline(always)]
    const fn zero(self) -> bool {
        self.result as u32 == 0
    }

    /// Returns whether a condition holds (DDI 0406, A8.3). Condition 14 is "always"; 15 denotes
    /// encodings without a condition.
    #[inline(always)]
    const fn hold(self, condition: u8) -> bool {
        let base = match condition >> 1 & 7 {
            0 => self.zero(),
            1 => self.carry,
            2 => self.negative(),
            3 => self.overflow,
            4 => self.carry && !self.zero(),
            5 => self.negative() == self.overflow,
            6 => self.negative() == self.overflow && !self.zero(),
            _ => return true,
        };
        base != (condition & 1 == 1)
    }
}

/// A mode's banked registers while another mode is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Banked {
    sp: u32,
    lr: u32,
    saved: u32,
}

/// The register state.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// R0 to R14 of the current mode; the last element is unused.
    r: [u32; 16],
    /// The address of the current or next instruction.
    pub pc: u32,
    /// CPSR without ITSTATE and condition flags.
    cpsr: u32,
    flags: Flags,
    /// ITSTATE.
    pub it: u8,
    banks: [Banked; 6],
    /// The inactive R8 to R12: those of FIQ mode, or those of all other modes while FIQ mode is
    /// active.
    others: [u32; 5],
    /// S0 to S31.
    pub s: [u32; 32],
    pub fpscr: u32,
    /// FPEXC.EN.
    pub float_enabled: bool,
    /// The address that an exclusive load has tagged.
    pub exclusive: Option<u32>,
    /// The event register, which WFE looks at (DDI 0406, B1.8.13).
    pub event: bool,
}

/// Advances ITSTATE: ITAdvance (DDI 0406, A2.5.2).
pub const fn after_it(it: u8) -> u8 {
    if it & 7 == 0 { 0 } else { it & 0xE0 | it << 1 & 0x1F }
}

impl Cpu {
    /// Creates the state after a reset, about to execute at an address: supervisor mode with
    /// interrupts masked.
    pub const fn new(pc: u32) -> Self {
        let none = Banked { sp: 0, lr: 0, saved: 0 };
        Self {
            r: [0; 16],
            pc: pc & !1,
            cpsr: Mode::Supervisor as u32
                | psr::A
                | psr::I
                | psr::F
                | if pc & 1 == 1 { psr::T } else { 0 },
            flags: Flags::of(0),
            it: 0,
            banks: [none; 6],
            others: [0; 5],
            s: [0; 32],
            fpscr: 0,
            float_enabled: false,
            exclusive: None,
            event: false,
        }
    }

    /// Returns one of R0 to R14.
    #[inline]
    pub const fn get(&self, register: u8) -> u32 {
        self.r[register as usize & 15]
    }

    #[inline]
    pub const fn set(&mut self, register: u8, value: u32) {
        self.r[register as usize & 15] = value;
    }

    /// Returns a 64-bit value in two registers.
    #[inline(always)]
    pub const fn pair(&self, high: u8, low: u8) -> u64 {
        (self.get(high) as u64) << 32 | self.get(low) as u64
    }

    #[inline(always)]
    pub const fn set_pair(&mut self, high: u8, low: u8, value: u64) {
        self.set(low, value as u32);
        self.set(high, (value >> 32) as u32);
    }

    /// Returns a register as an operand: R15 is two instructions ahead.
    #[inline]
    pub const fn operand(&self, register: u8) -> u32 {
        if register == 15 {
            self.pc.wrapping_add(if self.is_thumb() { 4 } else { 8 })
        } else {
            self.get(register)
        }
    }

    #[inline]
    pub const fn is_thumb(&self) -> bool {
        self.cpsr & psr::T != 0
    }

    pub const fn set_thumb(&mut self, thumb: bool) {
        self.set_bit(psr::T, thumb);
    }

    /// Sets a bit other than those of the condition flags and ITSTATE.
    #[inline]
    pub const fn set_bit(&mut self, bit: u32, value: bool) {
        self.cpsr = if value { self.cpsr | bit } else { self.cpsr & !bit };
    }

    /// Returns a bit other than those of the condition flags and ITSTATE.
    #[inline]
    pub const fn bit(&self, bit: u32) -> bool {
        self.cpsr & bit != 0
    }

    #[inline]
    pub const fn carry(&self) -> bool {
        self.flags.carry
    }

    /// Sets N and Z from a result, and C.
    #[inline(always)]
    pub const fn set_result(&mut self, result: u32, carry: bool) {
        self.flags.result = result as i32 as i64;
        self.flags.carry = carry;
    }

    #[inline(always)]
    pub const fn set_overflow(&mut self, overflow: bool) {
        self.flags.overflow = overflow;
    }

    /// Sets N and Z from a result of 64 bits.
    pub const fn set_long_result(&mut self, result: u64) {
        let sign = result as i64 & i64::MIN;
        self.flags.result = sign | (result != 0) as i64;
    }

    /// Sets N, Z, C and V from the upper four bits of a word.
    pub const fn set_flags(&mut self, flags: u32) {
        self.flags = Flags::of(flags);
    }

    pub const fn ge(&self) -> u32 {
        self.cpsr >> 16 & 0xF
    }

    pub const fn set_ge(&mut self, ge: u32) {
        self.cpsr = self.cpsr & !psr::GE | (ge & 0xF) << 16;
    }

    /// Returns whether a condition holds.
    #[inline(always)]
    pub const fn holds(&self, condition: u8) -> bool {
        self.flags.hold(condition)
    }

    /// Returns the condition that the IT block imposes on the next instruction, if it is in one.
    #[inline]
    pub const fn block_condition(&self) -> Option<u8> {
        if self.it == 0 { None } else { Some(self.it >> 4) }
    }

    pub const fn advance_it(&mut self) {
        self.it = after_it(self.it);
    }

    /// Returns the mode. CPSR always holds a valid one.
    pub const fn mode(&self) -> Mode {
        match Mode::of(self.cpsr) {
            Some(mode) => mode,
            None => Mode::System,
        }
    }

    pub const fn is_privileged(&self) -> bool {
        self.cpsr & psr::MODE != Mode::User as u32
    }

    /// Returns the complete CPSR.
    pub const fn cpsr(&self) -> u32 {
        let it = self.it as u32;
        self.cpsr | self.flags.word() | (it & 3) << 25 | (it >> 2) << 10
    }

    /// Writes the complete CPSR, as an exception return does. An invalid mode leaves the mode
    /// unchanged.
    pub fn set_cpsr(&mut self, value: u32) {
        self.it = ((value >> 25 & 3) | (value >> 10 & 0x3F) << 2) as u8;
        self.change_mode(value);
        let mode = self.cpsr & psr::MODE;
        self.set_flags(value);
        let others = psr::FLAGS | psr::IT | psr::JAZELLE | 0x00F0_0000 | psr::MODE;
        self.cpsr = value & !others | mode;
    }

    /// Writes the fields of CPSR that a mask selects, as MSR does. Execution state does not change.
    pub fn write_cpsr(&mut self, value: u32, mask: u32) {
        let execution = psr::IT | psr::JAZELLE | psr::T | 0x00F0_0000;
        let mask = mask & !execution;
        if mask & psr::MODE != 0 {
            self.change_mode(value);
        }
        self.set_flags(self.flags.word() & !mask | value & mask);
        let mask = mask & !(psr::MODE | psr::FLAGS);
        self.cpsr = self.cpsr & !mask | value & mask;
    }

    fn change_mode(&mut self, status: u32) {
        let Some(new) = Mode::of(status) else { return };
        let old = self.mode();
        let (from, to) = (old.bank(), new.bank());
        if from != to {
            (self.banks[from].sp, self.banks[from].lr) = (self.r[13], self.r[14]);
            (self.r[13], self.r[14]) = (self.banks[to].sp, self.banks[to].lr);
            if (old == Mode::Fiq) != (new == Mode::Fiq) {
                self.r[8..13].swap_with_slice(&mut self.others);
            }
        }
        self.cpsr = self.cpsr & !psr::MODE | new as u32;
    }

    /// Returns the SPSR of the current mode, or `None` if it has none.
    pub const fn saved_status(&self) -> Option<u32> {
        let mode = self.mode();
        if mode.has_saved_status() { Some(self.banks[mode.bank()].saved) } else { None }
    }

    pub const fn set_saved_status(&mut self, value: u32) {
        self.banks[self.mode().bank()].saved = value;
    }

    /// Returns a register of user mode.
    pub const fn user_register(&self, register: u8) -> u32 {
        let mode = self.mode();
        match register {
            13 if mode.bank() != 0 => self.banks[0].sp,
            14 if mode.bank() != 0 => self.banks[0].lr,
            8..=12 if matches!(mode, Mode::Fiq) => self.others[register as usize - 8],
            _ => self.get(register),
        }
    }

    pub const fn set_user_register(&mut self, register: u8, value: u32) {
        let mode = self.mode();
        match register {
            13 if mode.bank() != 0 => self.banks[0].sp = value,
            14 if mode.bank() != 0 => self.banks[0].lr = value,
            8..=12 if matches!(mode, Mode::Fiq) => self.others[register as usize - 8] = value,
            _ => self.set(register, value),
        }
    }

    /// Returns the stack pointer of a mode.
    pub const fn stack_pointer(&self, mode: Mode) -> u32 {
        if mode.bank() == self.mode().bank() { self.r[13] } else { self.banks[mode.bank()].sp }
    }

    pub const fn set_stack_pointer(&mut self, mode: Mode, value: u32) {
        if mode.bank() == self.mode().bank() {
            self.r[13] = value;
        } else {
            self.banks[mode.bank()].sp = value;
        }
    }

    /// Enters the mode of an exception; saves the status and the return address.
    pub fn enter(&mut self, mode: Mode, return_to: u32) {
        let status = self.cpsr();
        self.it = 0;
        self.change_mode(mode as u32);
        self.set_saved_status(status);
        self.r[14] = return_to;
        self.cpsr &= !psr::JAZELLE;
        self.exclusive = None;
    }

    /// Returns one of D0 to D15, by the number of the first of its two single registers.
    pub const fn double(&self, first: u8) -> u64 {
        let low = self.s[first as usize & 31] as u64;
        low | (self.s[(first as usize + 1) & 31] as u64) << 32
    }

    pub const fn set_double(&mut self, first: u8, value: u64) {
        self.s[first as usize & 31] = value as u32;
        self.s[(first as usize + 1) & 31] = (value >> 32) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_match_the_manual() {
        let mut cpu = Cpu::new(0);
        let holding = |cpu: &Cpu| (0..15).filter(|at| cpu.holds(*at)).collect::<Vec<_>>();
        cpu.set_flags(0);
        assert_eq!(holding(&cpu), [1, 3, 5, 7, 9, 10, 12, 14]);
        cpu.set_flags(psr::Z | psr::C);
        assert_eq!(holding(&cpu), [0, 2, 5, 7, 9, 10, 13, 14]);
        cpu.set_flags(psr::N);
        assert_eq!(holding(&cpu), [1, 3, 4, 7, 9, 11, 13, 14]);
        cpu.set_flags(psr::C | psr::V);
        assert_eq!(holding(&cpu), [1, 2, 5, 6, 8, 11, 13, 14]);
    }

    #[test]
    fn status_registers_hold_any_flags() {
        let mut cpu = Cpu::new(0);
        for flags in (0..16).map(|flags| flags << 28) {
            cpu.set_flags(flags);
            assert_eq!(cpu.cpsr() & psr::FLAGS, flags);
            cpu.write_cpsr(!flags, psr::N | psr::V);
            assert_eq!(cpu.cpsr() & psr::FLAGS, flags ^ (psr::N | psr::V));
        }
    }

    #[test]
    fn modes_have_banked_registers() {
        let mut cpu = Cpu::new(0);
        for (mode, sp) in [(Mode::Supervisor, 1), (Mode::Fiq, 2), (Mode::System, 3)] {
            cpu.write_cpsr(mode as u32, psr::MODE);
            cpu.set(13, sp);
            cpu.set(8, 10 * sp);
        }
        assert_eq!((cpu.get(13), cpu.get(8)), (3, 30));
        cpu.write_cpsr(Mode::Fiq as u32, psr::MODE);
        assert_eq!((cpu.get(13), cpu.get(8), cpu.user_register(8)), (2, 20, 30));
        cpu.enter(Mode::Irq, 0x1234);
        assert_eq!((cpu.get(14), cpu.get(8), cpu.user_register(13)), (0x1234, 30, 3));
        assert_eq!(cpu.saved_status().map(|status| status & psr::MODE), Some(Mode::Fiq as u32));
    }
}
