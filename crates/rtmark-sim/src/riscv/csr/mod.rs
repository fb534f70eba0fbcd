//! Control and status registers: privilege, traps, counters, and the units behind them.
//!
//! Sources: the RISC-V privileged specification, 1.12; Hazard3's documentation, "CSRs" (RP2350
//! datasheet, 3.8.9), whose text says which there are. Reading and writing answer by number, and
//! know nothing of instructions.

mod counter;
pub mod irq;
pub mod pmp;
mod trigger;

use super::isa::op::CsrWrite;
use super::timing::pipeline::Depth;
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

/// The interrupts of the architecture, by the codes of MCAUSE and their bits in MIP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interrupt {
    Software = 3,
    Timer = 7,
    External = 11,
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

/// MXL 1, and the letters A, C, I, M, U, X.
const MISA_VALUE: u32 = 1 << 30 | 1 << 23 | 1 << 20 | 1 << 12 | 1 << 8 | 1 << 2 | 1;
/// Raspberry Pi's JEDEC number, and the revision of the RTL (RP2350 datasheet, 3.8.9).
const VENDOR: u32 = 0x0000_0493;
const ARCHITECTURE: u32 = 27;
const REVISION: u32 = 0x86FC_4E3F;

/// The registers.
#[derive(Clone, Debug)]
pub struct Csrs {
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
    pub fn new(mtvec: u32) -> Self {
        Self {
            privilege: Privilege::Machine,
            enabled: false,
            was_enabled: false,
            before: Privilege::Machine,
            modified: false,
            user_sleep_traps: false,
            mie: 0,
            mtvec,
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mcounteren: 0,
            cycle: CycleCounter::default(),
            retired: RetiredCounter::default(),
            msleep: 0,
            pmp: Pmp::default(),
            triggers: Triggers::default(),
            controller: Controller::default(),
        }
    }

    /// Whether an instruction may access a register.
    pub fn is_legal(&self, number: u16, writes: bool) -> bool {
        let machine = self.privilege == Privilege::Machine;
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
        u32::from(self.controller.is_pending(lines.external)) << Interrupt::External as u32
            | u32::from(lines.timer) << Interrupt::Timer as u32
            | u32::from(lines.software) << Interrupt::Software as u32
    }

    /// The interrupt that is pending and enabled, the most urgent of several (privileged
    /// specification, 3.1.9), whether masked by MSTATUS or not.
    pub fn wanted(&self, lines: &Lines) -> Option<Interrupt> {
        if self.mie == 0 {
            return None;
        }
        let wanted = self.pending(lines) & self.mie;
        [Interrupt::External, Interrupt::Software, Interrupt::Timer]
            .into_iter()
            .find(|interrupt| wanted >> *interrupt as u32 & 1 == 1)
    }

    /// Whether MSTATUS.MIE lets interrupts through. It is looked at in user mode, too, where the
    /// specification would not (RTL at commit 86fc4e3f).
    pub const fn takes_interrupts(&self) -> bool {
        self.enabled
    }

    /// The value of a register in a cycle; `operand` is what the instruction writes, which chooses
    /// among the windows of an array.
    pub fn read(&self, number: u16, operand: u32, lines: &Lines, cycle: u64) -> u32 {
        match number {
            MSTATUS => self.mstatus(),
            MISA => MISA_VALUE,
            MIE => self.mie,
            MTVEC => self.mtvec,
            MCOUNTEREN => self.mcounteren,
            MCOUNTINHIBIT => {
                u32::from(self.cycle.is_inhibited()) | u32::from(self.retired.inhibited) << 2
            }
            MSCRATCH => self.mscratch,
            MEPC => self.mepc,
            MCAUSE => self.mcause,
            MIP => self.pending(lines),
            pmp::PMPCFG0..=0x3BF | pmp::PMPCFGM0 => self.pmp.read(number),
            TSELECT..=TCONTROL => self.triggers.read(number),
            MCYCLE | CYCLE => self.cycle.value(cycle) as u32,
            MCYCLEH | CYCLEH => (self.cycle.value(cycle) >> 32) as u32,
            MINSTRET | INSTRET => self.retired.value as u32,
            MINSTRETH | INSTRETH => (self.retired.value >> 32) as u32,
            irq::MEICONTEXT => {
                let saved = if operand >> 1 & 1 == 1 { self.mie } else { 0 };
                let timer = saved >> Interrupt::Timer as u32 & 1;
                let software = saved >> Interrupt::Software as u32 & 1;
                self.controller.read(number, operand, lines.external) | timer << 3 | software << 2
            }
            irq::MEIEA..=irq::MEINEXT => self.controller.read(number, operand, lines.external),
            MSLEEP => self.msleep,
            MVENDORID => VENDOR,
            MARCHID => ARCHITECTURE,
            MIMPID => REVISION,
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
            MSTATUS => {
                self.enabled = value >> 3 & 1 == 1;
                self.was_enabled = value >> 7 & 1 == 1;
                let machine = value >> 12 & 1 == 1;
                self.before = if machine { Privilege::Machine } else { Privilege::User };
                self.modified = value >> 17 & 1 == 1;
                self.user_sleep_traps = value >> 21 & 1 == 1;
            }
            MIE => self.mie = value & 0x888,
            MTVEC => self.mtvec = value & !2,
            MCOUNTEREN => self.mcounteren = value & 7,
            MCOUNTINHIBIT => {
                self.cycle.inhibit(value & 1 == 1, cycle);
                self.retired.inhibited = value >> 2 & 1 == 1;
            }
            MSCRATCH => self.mscratch = value,
            MEPC => self.mepc = value & !1,
            MCAUSE => self.mcause = value & 0x8000_000F,
            pmp::PMPCFG0..=0x3BF | pmp::PMPCFGM0 => self.pmp.write(number, value),
            TSELECT..=TCONTROL => self.triggers.write(number, value),
            MCYCLE => {
                let high = self.cycle.value(cycle) & !0xFFFF_FFFF;
                self.cycle.set(high | u64::from(value), cycle);
            }
            MCYCLEH => {
                let low = self.cycle.value(cycle + 1) & 0xFFFF_FFFF;
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
                let saved = (value >> 3 & 1) << Interrupt::Timer as u32
                    | (value >> 2 & 1) << Interrupt::Software as u32;
                let both = 1 << Interrupt::Timer as u32 | 1 << Interrupt::Software as u32;
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
        self.mcause == 1 << 31 | Interrupt::External as u32
    }

    /// Whether reading a register tells what is pending.
    pub const fn tells_pending(number: u16) -> bool {
        matches!(number, MIP | irq::MEIPA | irq::MEINEXT | irq::MEICONTEXT)
    }

    /// Enables an external interrupt at a priority, as a debugger would.
    pub fn arm(&mut self, interrupt: u16, priority: u8) {
        self.controller.arm(interrupt, priority);
        self.mie |= 1 << Interrupt::External as u32;
    }

    /// Whether an external interrupt is enabled, in MEIEA and in MIE.
    pub const fn is_armed(&self, interrupt: u16) -> bool {
        let external = self.mie >> Interrupt::External as u32 & 1 == 1;
        external && self.controller.is_enabled(interrupt)
    }

    /// Counts an instruction, unless it has just written the counter.
    pub fn retire(&mut self, counted: bool) {
        self.retired.count(counted);
    }

    /// Whether instructions are counted.
    pub const fn counts_retired(&self) -> bool {
        !self.retired.inhibited
    }

    /// Where a trap leads: the base, or for interrupts a vector's place behind it.
    pub const fn vector(&self, interrupt: Option<Interrupt>) -> u32 {
        let base = self.mtvec & !3;
        match interrupt {
            Some(interrupt) if self.mtvec & 1 == 1 => base | (interrupt as u32) << 2,
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

    /// An exception is taken.
    pub fn enter_exception(&mut self, pc: u32, cause: Cause, lines: &Lines) {
        self.enter(pc, cause as u32, false, lines);
    }

    /// An interrupt is taken.
    pub fn enter_interrupt(&mut self, pc: u32, interrupt: Interrupt, lines: &Lines) {
        let external = interrupt == Interrupt::External;
        self.enter(pc, 1 << 31 | interrupt as u32, external, lines);
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

    /// How deeply sleeps may be.
    pub const fn depth(&self) -> Depth {
        Depth {
            clock_gated: self.msleep & 1 != 0,
            powered_down: self.msleep & 2 != 0,
            also_on_block: self.msleep & 4 != 0,
        }
    }
}
