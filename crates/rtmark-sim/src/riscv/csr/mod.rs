//! Control and status registers: privilege, traps, counters, and the units that they control.
//!
//! Sources: the RISC-V privileged specification, 1.12; Hazard3's documentation, "CSRs" (RP2350
//! datasheet, 3.8.9), whose text defines which exist; the Ibex Reference Guide, "Control and Status
//! Registers". Registers are read and written by number, without knowledge of instructions.

mod counter;
mod ibex;
pub mod irq;
pub mod pmp;
mod trigger;

use super::isa::op::CsrWrite;
use super::rules::{Interrupts, RegisterSet, Registers, Rules};
use super::timing::SleepDepth;
use counter::{CycleCounter, RetiredCounter};
use irq::Controller;
use pmp::Pmp;
use trigger::Triggers;

/// A privilege mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Privilege {
    User,
    Machine,
}

impl Privilege {
    /// Returns the letter by which the privileged specification abbreviates it (1.2).
    pub const fn letter(self) -> &'static str {
        match self {
            Self::User => "U",
            Self::Machine => "M",
        }
    }
}

/// The causes of exceptions, by their MCAUSE codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    InstructionFault = 1,
    IllegalInstruction = 2,
    Breakpoint = 3,
    LoadMisaligned = 4,
    LoadFault = 5,
    StoreMisaligned = 6,
    StoreFault = 7,
    UserCall = 8,
    MachineCall = 11,
}

/// The interrupts. [`Csrs::wanted`] ranks those that are pending together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupt {
    Software,
    Timer,
    External,
    /// One with its own line to the core, by the line's number, 0 to 14.
    Fast(u8),
}

/// The number of fast interrupt lines, on a core that has them. The line after them is the external
/// one.
const FAST: u8 = 15;
const FAST_LINES: u64 = (1 << FAST) - 1;
/// The code of the first fast interrupt: codes from 16 on are platform-defined (privileged
/// specification, 3.1.9).
const FIRST_FAST: u32 = 16;

impl Interrupt {
    /// Returns its code in MCAUSE, which is its bit in MIP and MIE.
    pub const fn code(self) -> u32 {
        match self {
            Self::Software => 3,
            Self::Timer => 7,
            Self::External => 11,
            Self::Fast(line) => FIRST_FAST + line as u32,
        }
    }

    /// Returns whether it comes from outside the core and its timer.
    pub const fn is_external(self) -> bool {
        matches!(self, Self::External | Self::Fast(_))
    }

    /// Returns the interrupt of a line, on a core whose interrupts have their own lines.
    const fn of_line(line: u16) -> Self {
        if line < FAST as u16 { Self::Fast(line as u8) } else { Self::External }
    }
}

/// The interrupt inputs that the core sees in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub software: bool,
    pub timer: bool,
    /// One bit for each external interrupt.
    pub external: u64,
}

const MSTATUS: u16 = 0x300;
const MISA: u16 = 0x301;
const MIE: u16 = 0x304;
const MTVEC: u16 = 0x305;
const MCOUNTEREN: u16 = 0x306;
const MENVCFG: u16 = 0x30A;
const MSTATUSH: u16 = 0x310;
const MENVCFGH: u16 = 0x31A;
const MCOUNTINHIBIT: u16 = 0x320;
const MSCRATCH: u16 = 0x340;
const MEPC: u16 = 0x341;
const MCAUSE: u16 = 0x342;
const MTVAL: u16 = 0x343;
const MIP: u16 = 0x344;
const TSELECT: u16 = 0x7A0;
const TDATA1: u16 = 0x7A1;
const TDATA2: u16 = 0x7A2;
const TINFO: u16 = 0x7A4;
const TCONTROL: u16 = 0x7A5;
const MCYCLE: u16 = 0xB00;
const MINSTRET: u16 = 0xB02;
const MCYCLEH: u16 = 0xB80;
const MINSTRETH: u16 = 0xB82;
const MSLEEP: u16 = 0xBF0;
const CYCLE: u16 = 0xC00;
const INSTRET: u16 = 0xC02;
const CYCLEH: u16 = 0xC80;
const INSTRETH: u16 = 0xC82;
const MVENDORID: u16 = 0xF11;
const MARCHID: u16 = 0xF12;
const MIMPID: u16 = 0xF13;
const MCONFIGPTR: u16 = 0xF15;

/// The registers.
#[derive(Clone, Debug)]
pub struct Csrs {
    rules: &'static Registers,
    interrupts: Interrupts,
    pub privilege: Privilege,
    /// The fields of MSTATUS.
    enabled: bool,
    was_enabled: bool,
    before: Privilege,
    /// Whether loads and stores use the privilege in `before` (MPRV).
    modified: bool,
    user_sleep_traps: bool,
    mie: u32,
    mtvec: u32,
    mscratch: u32,
    pub mepc: u32,
    mcause: u32,
    mtval: u32,
    /// CPUCTRLSTS of an Ibex.
    status: u32,
    mcounteren: u32,
    cycle: CycleCounter,
    retired: RetiredCounter,
    msleep: u32,
    pub pmp: Pmp,
    triggers: Triggers,
    pub controller: Controller,
}

impl Csrs {
    /// Creates the state after a reset, with this MTVEC.
    pub fn new(rules: &'static Rules, mtvec: u32) -> Self {
        let Rules { registers, interrupts, .. } = rules;
        let (changed, set) = registers.mtvec;
        let mut csrs = Self {
            rules: registers,
            interrupts: *interrupts,
            privilege: Privilege::Machine,
            enabled: false,
            was_enabled: false,
            before: Privilege::Machine,
            modified: false,
            user_sleep_traps: false,
            mie: 0,
            mtvec: mtvec & changed | set,
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mtval: 0,
            status: 0,
            mcounteren: 0,
            cycle: CycleCounter::new(registers.mcountinhibit & 1 != 0),
            retired: RetiredCounter::new(registers.mcountinhibit & 4 != 0),
            msleep: 0,
            pmp: match registers.set {
                RegisterSet::Hazard3 => Pmp::default(),
                RegisterSet::Ibex => Pmp::absent(),
            },
            triggers: Triggers::default(),
            controller: Controller::default(),
        };
        csrs.set_mstatus(registers.mstatus);
        csrs
    }

    /// Returns whether an instruction may access a register.
    pub fn is_legal(&self, number: u16, writes: bool) -> bool {
        let machine = self.privilege == Privilege::Machine;
        if self.rules.set == RegisterSet::Ibex {
            return ibex::has(number, machine, writes);
        }
        match number {
            CYCLE | CYCLEH | INSTRET | INSTRETH => {
                let bit = if matches!(number, CYCLE | CYCLEH) { 0 } else { 2 };
                !writes && (machine || self.mcounteren >> bit & 1 == 1)
            }
            MVENDORID..=MCONFIGPTR => machine && !writes,
            MSTATUS | MISA | MIE..=MCOUNTEREN | MENVCFG | MSTATUSH | MENVCFGH | MCOUNTINHIBIT
            | 0x323..=0x33F // mhpmevent
            | MSCRATCH..=MIP
            | pmp::PMPCFG0..=0x3A3
            | pmp::PMPADDR0..=0x3BF
            | TSELECT..=TDATA2
            | TINFO
            | TCONTROL
            | MCYCLE
            | MINSTRET..=0xB1F // mhpmcounter
            | MCYCLEH
            | MINSTRETH..=0xB9F
            | pmp::PMPCFGM0
            | irq::MEIEA..=irq::MEICONTEXT
            | MSLEEP => machine,
            _ => false,
        }
    }

    fn set_mstatus(&mut self, value: u32) {
        self.enabled = value >> 3 & 1 == 1;
        self.was_enabled = value >> 7 & 1 == 1;
        let machine = match self.rules.set {
            RegisterSet::Hazard3 => value >> 12 & 1 == 1,
            // Any mode but this one is user mode.
            RegisterSet::Ibex => value >> 11 & 3 == 3,
        };
        self.before = if machine { Privilege::Machine } else { Privilege::User };
        self.modified = value >> 17 & 1 == 1;
        self.user_sleep_traps = value >> 21 & 1 == 1;
    }

    fn mstatus(&self) -> u32 {
        let twice = if self.before == Privilege::Machine { 3 } else { 0 };
        u32::from(self.user_sleep_traps) << 21
            | u32::from(self.modified) << 17
            | twice << 11
            | u32::from(self.was_enabled) << 7
            | u32::from(self.enabled) << 3
    }

    /// Returns MIP: all pending interrupts, enabled or not.
    pub fn pending(&self, lines: &Lines) -> u32 {
        let bit = |pending: bool, interrupt: Interrupt| u32::from(pending) << interrupt.code();
        let (fast, external) = match self.interrupts {
            Interrupts::Xh3irq => (0, self.controller.is_pending(lines.external)),
            Interrupts::Lines => {
                ((lines.external & FAST_LINES) as u32, lines.external >> FAST & 1 == 1)
            }
        };
        fast << FIRST_FAST
            | bit(external, Interrupt::External)
            | bit(lines.timer, Interrupt::Timer)
            | bit(lines.software, Interrupt::Software)
    }

    /// Returns the most urgent interrupt that is pending and enabled, whether masked by MSTATUS or
    /// not (privileged specification, 3.1.9; fast interrupts come first, the lowest number before
    /// the others: Ibex Reference Guide, "Exceptions and Interrupts").
    pub fn wanted(&self, lines: &Lines) -> Option<Interrupt> {
        if self.mie == 0 {
            return None;
        }
        let wanted = self.pending(lines) & self.mie;
        if wanted >> FIRST_FAST != 0 {
            return Some(Interrupt::Fast((wanted >> FIRST_FAST).trailing_zeros() as u8));
        }
        [Interrupt::External, Interrupt::Software, Interrupt::Timer]
            .into_iter()
            .find(|interrupt| wanted >> interrupt.code() & 1 == 1)
    }

    /// Returns the number of the external interrupt for which an interrupt taken now would be
    /// entered.
    pub fn taken_line(&self, interrupt: Interrupt, lines: &Lines) -> Option<u16> {
        match (self.interrupts, interrupt) {
            (Interrupts::Xh3irq, _) => self.controller.taken(lines.external),
            (Interrupts::Lines, Interrupt::Fast(line)) => Some(u16::from(line)),
            (Interrupts::Lines, Interrupt::External) => Some(u16::from(FAST)),
            (Interrupts::Lines, Interrupt::Software | Interrupt::Timer) => None,
        }
    }

    /// Returns the external interrupt that would be taken before `interrupt` if that became pending
    /// now.
    pub fn preceding_interrupt(&self, interrupt: u16, lines: &Lines) -> Option<u16> {
        match self.interrupts {
            Interrupts::Xh3irq => self.controller.preceding_interrupt(interrupt, lines.external),
            Interrupts::Lines => {
                let external = lines.external | 1 << interrupt.min(63);
                let all = Lines { external, ..*lines };
                let first = self.wanted(&all).and_then(|first| self.taken_line(first, &all));
                first.filter(|first| *first != interrupt)
            }
        }
    }

    /// Returns whether MSTATUS.MIE lets interrupts through. Hazard3 checks it in user mode too,
    /// unlike the specification (RTL at commit 86fc4e3f).
    pub const fn takes_interrupts(&self) -> bool {
        self.enabled
            || matches!(self.privilege, Privilege::User)
                && matches!(self.rules.set, RegisterSet::Ibex)
    }

    /// Returns the value of a register in a cycle; `operand` is what the instruction writes, which
    /// selects the window of an array.
    pub fn read(&self, number: u16, operand: u32, lines: &Lines, cycle: u64) -> u32 {
        match number {
            MSTATUS => self.mstatus(),
            MISA => self.rules.misa,
            MIE => self.mie,
            MTVEC => self.mtvec,
            MCOUNTEREN => self.mcounteren,
            MCOUNTINHIBIT => {
                u32::from(self.cycle.is_inhibited()) | u32::from(self.retired.inhibited) << 2
            }
            MSCRATCH => self.mscratch,
            MEPC => self.mepc,
            MCAUSE => self.mcause,
            MTVAL => self.mtval,
            ibex::CPUCTRLSTS => self.status,
            MIP => self.pending(lines),
            pmp::PMPCFG0..=0x3BF | pmp::PMPCFGM0 => self.pmp.read(number),
            TSELECT..=TCONTROL => self.triggers.read(number),
            MCYCLE | CYCLE => self.cycle.value(cycle) as u32,
            MCYCLEH | CYCLEH => (self.cycle.value(cycle) >> 32) as u32,
            MINSTRET | INSTRET => self.retired.value as u32,
            MINSTRETH | INSTRETH => (self.retired.value >> 32) as u32,
            irq::MEICONTEXT => {
                let saved = if operand >> 1 & 1 == 1 { self.mie } else { 0 };
                let timer = saved >> Interrupt::Timer.code() & 1;
                let software = saved >> Interrupt::Software.code() & 1;
                self.controller.read(number, operand, lines.external) | timer << 3 | software << 2
            }
            irq::MEIEA..=irq::MEINEXT => self.controller.read(number, operand, lines.external),
            MSLEEP => self.msleep,
            MVENDORID => self.rules.mvendorid,
            MARCHID => self.rules.marchid,
            MIMPID => self.rules.mimpid,
            _ => 0,
        }
    }

    /// Applies the side effects of reading a register. Returns the external interrupt that the
    /// program has thereby taken over.
    pub fn was_read(&mut self, number: u16, lines: &Lines) -> Option<u16> {
        self.controller.was_read(number, lines.external)
    }

    /// Writes a register in a cycle. It holds `value` from the next cycle on.
    pub fn write(
        &mut self,
        number: u16,
        (how, operand): (CsrWrite, u32),
        value: u32,
        lines: &Lines,
        cycle: u64,
    ) {
        match number {
            MSTATUS => self.set_mstatus(value),
            MIE => self.mie = value & self.rules.mie,
            MTVEC => {
                let (changed, set) = self.rules.mtvec;
                self.mtvec = value & changed | set;
            }
            MCOUNTEREN => self.mcounteren = value & self.rules.mcounteren,
            MCOUNTINHIBIT => {
                self.cycle.inhibit(value & 1 == 1, cycle);
                self.retired.inhibited = value >> 2 & 1 == 1;
            }
            MSCRATCH => self.mscratch = value,
            MEPC => self.mepc = value & !1,
            MCAUSE if self.rules.set == RegisterSet::Ibex => self.mcause = ibex::mcause(value),
            MCAUSE => self.mcause = value & self.rules.mcause,
            MTVAL if self.rules.set == RegisterSet::Ibex => self.mtval = value,
            ibex::CPUCTRLSTS => self.status = value & ibex::STATUS,
            pmp::PMPCFG0..=0x3BF | pmp::PMPCFGM0 => self.pmp.write(number, value),
            TSELECT..=TCONTROL => self.triggers.write(number, value),
            MCYCLE | MCYCLEH => {
                let counted = self.cycle.value(cycle + self.counts_while_written());
                self.cycle.set(half_written(counted, value, number == MCYCLEH), cycle);
            }
            MINSTRET | MINSTRETH => {
                let counts = self.counts_while_written() * u64::from(self.counts_retired());
                let counted = self.retired.value.wrapping_add(counts);
                self.retired.set(half_written(counted, value, number == MINSTRETH));
            }
            irq::MEICONTEXT => {
                let saved = (value >> 3 & 1) << Interrupt::Timer.code()
                    | (value >> 2 & 1) << Interrupt::Software.code();
                let both = 1 << Interrupt::Timer.code() | 1 << Interrupt::Software.code();
                self.mie |= saved;
                if how != CsrWrite::Clear && operand >> 1 & 1 == 1 {
                    self.mie &= !both;
                }
                self.controller.write(number, operand, value, lines.external);
            }
            irq::MEIEA..=irq::MEINEXT => {
                self.controller.write(number, operand, value, lines.external);
            }
            MSLEEP => self.msleep = value & 7,
            _ => {}
        }
    }

    /// Returns whether MCAUSE holds an external interrupt.
    pub const fn is_in_external(&self) -> bool {
        let code = self.mcause & 0x1F;
        self.mcause >> 31 == 1 && (code == Interrupt::External.code() || code >= FIRST_FAST)
    }

    /// Returns whether reading a register shows what is pending.
    pub const fn reads_pending(number: u16) -> bool {
        matches!(number, MIP | irq::MEIPA | irq::MEINEXT | irq::MEICONTEXT)
    }

    /// Enables an external interrupt at a priority, as a debugger would. Interrupts with their own
    /// lines have no configurable priority.
    pub fn arm(&mut self, interrupt: u16, priority: u8) {
        if self.interrupts == Interrupts::Xh3irq {
            self.controller.arm(interrupt, priority);
        }
        self.mie |= 1 << self.interrupt_of(interrupt).code();
    }

    /// Returns whether an external interrupt of a priority would preempt the current handler.
    /// Without priorities, MSTATUS alone decides.
    pub const fn would_preempt(&self, priority: u8) -> bool {
        match self.interrupts {
            Interrupts::Xh3irq => self.controller.would_preempt(priority),
            Interrupts::Lines => true,
        }
    }

    /// Returns whether an external interrupt is enabled everywhere except in MSTATUS.
    pub const fn is_armed(&self, interrupt: u16) -> bool {
        let enabled = self.mie >> self.interrupt_of(interrupt).code() & 1 == 1;
        match self.interrupts {
            Interrupts::Xh3irq => enabled && self.controller.is_enabled(interrupt),
            Interrupts::Lines => enabled,
        }
    }

    /// Returns the architectural interrupt through which an external one is taken.
    pub const fn interrupt_of(&self, interrupt: u16) -> Interrupt {
        match self.interrupts {
            Interrupts::Xh3irq => Interrupt::External,
            Interrupts::Lines => Interrupt::of_line(interrupt),
        }
    }

    /// Returns how much the counters count in the cycle in which either half of one is written: nothing on an Ibex; on
    /// a Hazard3 the write replaces one half of what they then are, so that the other half gets the count or a carry
    /// (RTL at commit 86fc4e3f).
    const fn counts_while_written(&self) -> u64 {
        matches!(self.rules.set, RegisterSet::Hazard3) as u64
    }

    /// Counts a retired instruction, unless it has just written the counter.
    pub fn retire(&mut self, counted: bool) {
        self.retired.count(counted);
    }

    /// Counts several retired instructions.
    pub const fn retire_many(&mut self, count: u64) {
        self.retired.count_many(count);
    }

    /// Returns whether instructions are counted.
    pub const fn counts_retired(&self) -> bool {
        !self.retired.inhibited
    }

    /// Returns the target of a trap: the base, or for interrupts the vector's entry after it.
    pub const fn vector(&self, interrupt: Option<Interrupt>) -> u32 {
        let base = self.mtvec & !3;
        match interrupt {
            Some(interrupt) if self.mtvec & 1 == 1 => base | interrupt.code() << 2,
            _ => base,
        }
    }

    fn enter(&mut self, pc: u32, cause: u32, external: bool, lines: &Lines) {
        self.mepc = pc & !1;
        self.mcause = cause;
        self.was_enabled = self.enabled;
        self.enabled = false;
        self.before = self.privilege;
        self.privilege = Privilege::Machine;
        self.triggers.enter();
        self.controller.enter(external, lines.external);
    }

    /// Enters an exception; `value` is for MTVAL, if the core has it.
    pub fn enter_exception(&mut self, pc: u32, cause: Cause, value: u32, lines: &Lines) {
        self.enter(pc, cause as u32, false, lines);
        if self.rules.set == RegisterSet::Ibex {
            self.mtval = value;
            self.status = ibex::status_in_exception(self.status);
        }
    }

    /// Enters an interrupt.
    pub fn enter_interrupt(&mut self, pc: u32, interrupt: Interrupt, lines: &Lines) {
        let external = interrupt == Interrupt::External;
        self.enter(pc, 1 << 31 | interrupt.code(), external, lines);
        self.mtval = 0;
    }

    /// Executes MRET. Returns its target.
    pub fn leave(&mut self) -> u32 {
        self.enabled = self.was_enabled;
        self.was_enabled = true;
        self.privilege = self.before;
        if self.before == Privilege::User {
            self.modified = false;
        }
        self.before = Privilege::User;
        self.triggers.leave();
        self.controller.leave();
        self.status = ibex::status_behind_return(self.status);
        self.mepc
    }

    /// Returns the privilege of loads and stores.
    pub const fn data_privilege(&self) -> Privilege {
        if self.modified { self.before } else { self.privilege }
    }

    /// Returns whether WFI and `h3.block` are illegal: in user mode, if MSTATUS.TW is set.
    pub const fn refuses_sleep(&self) -> bool {
        self.user_sleep_traps && matches!(self.privilege, Privilege::User)
    }

    /// Returns whether the trigger unit has a breakpoint at an address.
    pub fn breaks_at(&self, pc: u32) -> bool {
        self.triggers.breaks_at(pc, self.privilege)
    }

    /// Returns whether only memory itself can refuse accesses and instructions: neither protection
    /// nor breakpoints are in effect.
    pub fn is_unguarded(&self) -> bool {
        let machine = Privilege::Machine;
        let is_machine = self.privilege == machine && self.data_privilege() == machine;
        self.pmp.is_open_to_all(is_machine) && !self.triggers.is_enabled()
    }

    /// Returns how deep sleeps may be.
    pub const fn depth(&self) -> SleepDepth {
        SleepDepth {
            clock_gated: self.msleep & 1 != 0,
            powered_down: self.msleep & 2 != 0,
            also_on_block: self.msleep & 4 != 0,
        }
    }
}

/// Returns a counter's value after one half of it has been written.
const fn half_written(counter: u64, half: u32, is_upper: bool) -> u64 {
    if is_upper {
        (half as u64) << 32 | counter & 0xFFFF_FFFF
    } else {
        counter & !0xFFFF_FFFF | half as u64
    }
}
