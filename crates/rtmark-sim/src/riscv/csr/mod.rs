//! Control and status registers: privilege, traps, counters, and the units behind them.
//!
//! Sources: the RISC-V privileged specification, 1.12; Hazard3's documentation, "CSRs" (RP2350
//! datasheet, 3.8.9), whose text says which there are; the Ibex Reference Guide, "Control and Status
//! Registers". Reading and writing answer by number, and
//! know nothing of instructions.

mod counter;
mod ibex;
pub mod irq;
pub mod pmp;
mod trigger;

use super::isa::op::CsrWrite;
use super::rules::{Interrupts, RegisterSet, Registers, Rules};
use super::timing::Depth;
use counter::{CycleCounter, RetiredCounter};
use irq::Controller;
use pmp::Pmp;
use trigger::Triggers;

/// What a mode may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Privilege {
    User,
    Machine,
}

/// Why a trap is taken, by the codes of MCAUSE.
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

/// The interrupts, most urgent of several first in the order of [`Csrs::wanted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupt {
    Software,
    Timer,
    External,
    /// One that has a line of its own to the core, by the line's number, 0 to 14.
    Fast(u8),
}

/// Lines that are fast interrupts, of a core that has such; the line behind them is the external one.
const FAST: u8 = 15;
const FAST_LINES: u64 = (1 << FAST) - 1;
/// The code of the first fast interrupt: those from 16 on are for a platform's own (privileged
/// specification, 3.1.9).
const FIRST_FAST: u32 = 16;

impl Interrupt {
    /// Its code in MCAUSE, which is its bit in MIP and MIE.
    pub const fn code(self) -> u32 {
        match self {
            Self::Software => 3,
            Self::Timer => 7,
            Self::External => 11,
            Self::Fast(line) => FIRST_FAST + line as u32,
        }
    }

    /// Whether it comes from outside of the core and its timer.
    pub const fn is_external(self) -> bool {
        matches!(self, Self::External | Self::Fast(_))
    }

    /// The interrupt of a line of a core whose interrupts have lines of their own.
    const fn of_line(line: u16) -> Self {
        if line < FAST as u16 { Self::Fast(line as u8) } else { Self::External }
    }
}

/// The interrupt inputs as the core sees them in a cycle.
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
    /// MSTATUS, by its fields.
    enabled: bool,
    was_enabled: bool,
    before: Privilege,
    /// Loads and stores have the privilege of `before`.
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
    /// After a reset, with this MTVEC.
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

    /// Whether an instruction may access a register.
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

    /// MIP: what is pending, enabled or not.
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

    /// The interrupt that is pending and enabled, the most urgent of several (privileged
    /// specification, 3.1.9; fast ones before them, of these the lowest: Ibex Reference Guide,
    /// "Exceptions and Interrupts"), whether masked by MSTATUS or not.
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

    /// The external interrupt, by its number, for which one that is taken now is entered.
    pub fn line_taken(&self, interrupt: Interrupt, lines: &Lines) -> Option<u16> {
        match (self.interrupts, interrupt) {
            (Interrupts::Xh3irq, _) => self.controller.taken(lines.external),
            (Interrupts::Lines, Interrupt::Fast(line)) => Some(u16::from(line)),
            (Interrupts::Lines, Interrupt::External) => Some(u16::from(FAST)),
            (Interrupts::Lines, Interrupt::Software | Interrupt::Timer) => None,
        }
    }

    /// The external interrupt that would be taken before another one that becomes pending now.
    pub fn line_before(&self, interrupt: u16, lines: &Lines) -> Option<u16> {
        match self.interrupts {
            Interrupts::Xh3irq => self.controller.taken_before(interrupt, lines.external),
            Interrupts::Lines => {
                let external = lines.external | 1 << interrupt.min(63);
                let all = Lines { external, ..*lines };
                let first = self.wanted(&all).and_then(|first| self.line_taken(first, &all));
                first.filter(|first| *first != interrupt)
            }
        }
    }

    /// Whether MSTATUS.MIE lets interrupts through. A Hazard3 looks at it in user mode, too, where
    /// the specification would not (RTL at commit 86fc4e3f).
    pub const fn takes_interrupts(&self) -> bool {
        self.enabled
            || matches!(self.privilege, Privilege::User)
                && matches!(self.rules.set, RegisterSet::Ibex)
    }

    /// The value of a register in a cycle; `operand` is what the instruction writes, which chooses
    /// among the windows of an array.
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

    /// What reading a register changes; answers the external interrupt that the program has taken
    /// over by it.
    pub fn was_read(&mut self, number: u16, lines: &Lines) -> Option<u16> {
        self.controller.was_read(number, lines.external)
    }

    /// Writes a register in a cycle; what it holds is `value` from the next cycle on.
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
            MCYCLE => {
                let high = self.cycle.value(cycle) & !0xFFFF_FFFF;
                self.cycle.set(high | u64::from(value), cycle);
            }
            MCYCLEH => {
                // An Ibex does not count in the cycle in which half of the counter is written.
                let counted = u64::from(self.rules.set == RegisterSet::Hazard3);
                let low = self.cycle.value(cycle + counted) & 0xFFFF_FFFF;
                self.cycle.set(u64::from(value) << 32 | low, cycle);
            }
            MINSTRET => {
                self.retired.set(self.retired.value & !0xFFFF_FFFF | u64::from(value));
            }
            MINSTRETH => {
                let low = self.retired.value & 0xFFFF_FFFF;
                self.retired.set(u64::from(value) << 32 | low);
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

    /// Whether MCAUSE says that the newest trap was an external interrupt's.
    pub const fn is_in_external(&self) -> bool {
        let code = self.mcause & 0x1F;
        self.mcause >> 31 == 1 && (code == Interrupt::External.code() || code >= FIRST_FAST)
    }

    /// Whether reading a register tells what is pending.
    pub const fn tells_pending(number: u16) -> bool {
        matches!(number, MIP | irq::MEIPA | irq::MEINEXT | irq::MEICONTEXT)
    }

    /// Enables an external interrupt at a priority, as a debugger would. Those that have lines of
    /// their own have no priorities that could be set.
    pub fn arm(&mut self, interrupt: u16, priority: u8) {
        if self.interrupts == Interrupts::Xh3irq {
            self.controller.arm(interrupt, priority);
        }
        self.mie |= 1 << self.interrupt_of(interrupt).code();
    }

    /// Whether an external interrupt of a priority would not wait for the handler that executes; where
    /// there are no priorities, MSTATUS alone decides.
    pub const fn would_preempt(&self, priority: u8) -> bool {
        match self.interrupts {
            Interrupts::Xh3irq => self.controller.would_preempt(priority),
            Interrupts::Lines => true,
        }
    }

    /// Whether an external interrupt is enabled wherever it can be disabled, but for MSTATUS.
    pub const fn is_armed(&self, interrupt: u16) -> bool {
        let enabled = self.mie >> self.interrupt_of(interrupt).code() & 1 == 1;
        match self.interrupts {
            Interrupts::Xh3irq => enabled && self.controller.is_enabled(interrupt),
            Interrupts::Lines => enabled,
        }
    }

    /// By which interrupt of the architecture an external one is taken.
    pub const fn interrupt_of(&self, interrupt: u16) -> Interrupt {
        match self.interrupts {
            Interrupts::Xh3irq => Interrupt::External,
            Interrupts::Lines => Interrupt::of_line(interrupt),
        }
    }

    /// Counts an instruction, unless it has just written the counter.
    pub fn retire(&mut self, counted: bool) {
        self.retired.count(counted);
    }

    /// So many instructions have retired.
    pub const fn retire_many(&mut self, count: u64) {
        self.retired.count_many(count);
    }

    /// Whether instructions are counted.
    pub const fn counts_retired(&self) -> bool {
        !self.retired.inhibited
    }

    /// Where a trap leads: the base, or for interrupts a vector's place behind it.
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

    /// An exception is taken; `value` is for MTVAL, where there is such.
    pub fn enter_exception(&mut self, pc: u32, cause: Cause, value: u32, lines: &Lines) {
        self.enter(pc, cause as u32, false, lines);
        if self.rules.set == RegisterSet::Ibex {
            self.mtval = value;
            self.status = ibex::status_in_exception(self.status);
        }
    }

    /// An interrupt is taken.
    pub fn enter_interrupt(&mut self, pc: u32, interrupt: Interrupt, lines: &Lines) {
        let external = interrupt == Interrupt::External;
        self.enter(pc, 1 << 31 | interrupt.code(), external, lines);
        self.mtval = 0;
    }

    /// MRET; answers where it leads.
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

    /// The privilege of loads and stores.
    pub const fn data_privilege(&self) -> Privilege {
        if self.modified { self.before } else { self.privilege }
    }

    /// Whether WFI and `h3.block` are refused: in user mode, with MSTATUS.TW.
    pub const fn refuses_sleep(&self) -> bool {
        self.user_sleep_traps && matches!(self.privilege, Privilege::User)
    }

    /// Whether a breakpoint of the trigger unit stands at an address.
    pub fn breaks_at(&self, pc: u32) -> bool {
        self.triggers.breaks_at(pc, self.privilege)
    }

    /// Whether nothing but memory itself can refuse an access or an instruction: neither protection
    /// nor breakpoints.
    pub fn is_unguarded(&self) -> bool {
        let machine = Privilege::Machine;
        let is_machine = self.privilege == machine && self.data_privilege() == machine;
        self.pmp.is_open_to_all(is_machine) && !self.triggers.is_enabled()
    }

    /// How deeply sleeps may be.
    pub const fn depth(&self) -> Depth {
        Depth {
            clock_gated: self.msleep & 1 != 0,
            powered_down: self.msleep & 2 != 0,
            also_on_block: self.msleep & 4 != 0,
        }
    }
}
