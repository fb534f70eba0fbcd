//! The system control space: the registers by which software speaks to its core.
//!
//! State and decoding of 0xE0000000 to 0xE00FFFFF (DDI 0403, B3.2; DDI 0419, B3.2
//! for ARMv6-M, which has fewer). What a register write sets in motion (an
//! exception that becomes pending, a clock that starts) is told to the machine.

use crate::cpu::Features;
use crate::devices::Direction;
use crate::dwt::Dwt;
use crate::exec::{Done, Trap};
use crate::identity::Identity;
use crate::itm::{Itm, Writer};
use crate::machine::Machine;
use crate::mpu::Mpu;
use crate::nvic::{
    BUS_FAULT, DEBUG_MONITOR, ExceptionSet, FIRST_INTERRUPT, HARD_FAULT, MEM_MANAGE, NMI, Nvic,
    PENDSV, SECURE_FAULT, SVCALL, SYSTICK, USAGE_FAULT,
};
use crate::soc::{Generation, Soc};
use crate::systick::SysTick;

/// The private peripheral bus; what lies above it belongs to the chip's vendor.
const PRIVATE_BUS: std::ops::Range<u32> = 0xE000_0000..0xE010_0000;
/// Where chips may have registers of their own: units on that bus behind those of Arm's
/// (DDI 0403, B3.2.1), such as STM32's DBGMCU, and the vendor's region (B3.1).
pub const VENDORS: [std::ops::Range<u64>; 2] =
    [0xE004_2000..0xE00F_F000, 0xE010_0000..0x1_0000_0000];
const ITM: std::ops::Range<u32> = 0xE000_0000..0xE000_1000;
const DWT: std::ops::Range<u32> = 0xE000_1000..0xE000_2000;
const SYSTICK_REGISTERS: std::ops::Range<u32> = 0xE000_E010..0xE000_E020;
/// CCR bits that matter here.
const CCR_UNALIGN_TRP: u32 = 1 << 3;
const CCR_DIV_0_TRP: u32 = 1 << 4;
const CCR_BFHFNMIGN: u32 = 1 << 8;
const CCR_STKALIGN: u32 = 1 << 9;
/// DEMCR bits: vector catches are kept, but only a halting debugger would act on them.
const DEMCR_MON_EN: u32 = 1 << 16;
const DEMCR_MON_PEND: u32 = 1 << 17;
const DEMCR_MON_STEP: u32 = 1 << 18;
const DEMCR_TRCENA: u32 = 1 << 24;
const DEMCR_WRITABLE: u32 = 0x010D_07F1;
const CCR_STKOFHFNMIGN: u32 = 1 << 10;
/// CCR bits of ARMv8-M: STKALIGN and NONBASETHRDENA, which are always one, and those
/// that can be written (DDI 0553, D1.2, CCR).
const CCR_V8M_ONES: u32 = CCR_STKALIGN | 1;
const CCR_V8M_WRITABLE: u32 = 0x51A;
/// What AIRCR writes must carry in their upper half.
const AIRCR_KEY: u32 = 0x05FA;
/// SHCSR: which bit says that a handler is enabled, active, pending.
const HANDLERS_ENABLED: &[(u32, u16)] =
    &[(16, MEM_MANAGE), (17, BUS_FAULT), (18, USAGE_FAULT), (19, SECURE_FAULT)];
const HANDLERS_ACTIVE: &[(u32, u16)] = &[
    (0, MEM_MANAGE),
    (1, BUS_FAULT),
    (3, USAGE_FAULT),
    (4, SECURE_FAULT),
    (7, SVCALL),
    (8, DEBUG_MONITOR),
    (10, PENDSV),
    (11, SYSTICK),
];
const HANDLERS_PENDING: &[(u32, u16)] =
    &[(12, USAGE_FAULT), (13, MEM_MANAGE), (14, BUS_FAULT), (15, SVCALL), (20, SECURE_FAULT)];

/// Control of floating-point state (FPCCR, FPCAR, FPDSCR).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FpControl {
    /// FPCCR: whether and when to stack, and what was noted when that was put off.
    pub control: u32,
    /// FPCAR: where the lazily stacked registers belong.
    pub address: u32,
    /// FPDSCR: the status that a new context begins with.
    pub default_status: u32,
}

impl FpControl {
    pub const LAZY_ACTIVE: u32 = 1;
    /// The state at entry, for when the registers are stored.
    pub const USER: u32 = 1 << 1;
    pub const THREAD: u32 = 1 << 3;
    pub const HARD_FAULT_READY: u32 = 1 << 4;
    pub const MEM_MANAGE_READY: u32 = 1 << 5;
    pub const BUS_FAULT_READY: u32 = 1 << 6;
    pub const DEBUG_MONITOR_READY: u32 = 1 << 8;
    /// These are ARMv8-M's: UFRDY, SPLIMVIOL, TS, CLRONRET; and S, which says that the
    /// state is the Secure program's.
    pub const USAGE_FAULT_READY: u32 = 1 << 10;
    pub const LIMIT_VIOLATED: u32 = 1 << 9;
    const COVERS_ALL: u32 = 1 << 26;
    const CLEARED_ON_RETURN: u32 = 1 << 28;
    const SECURE: u32 = 1 << 2;
    /// What is noted when registers are left to be stored later.
    pub const NOTES: u32 = Self::USER
        | Self::THREAD
        | Self::HARD_FAULT_READY
        | Self::MEM_MANAGE_READY
        | Self::BUS_FAULT_READY
        | Self::DEBUG_MONITOR_READY
        | Self::USAGE_FAULT_READY
        | Self::LIMIT_VIOLATED;
    const LAZY_ENABLED: u32 = 1 << 30;
    const AUTOMATIC: u32 = 1 << 31;

    const fn at_reset(features: Features) -> Self {
        let secure = if features.v8m { Self::SECURE } else { 0 };
        let control = Self::AUTOMATIC | Self::LAZY_ENABLED | secure;
        Self { control, address: 0, default_status: 0 }
    }

    /// The bits that a program can write.
    const fn writable(features: Features) -> u32 {
        if features.v8m { 0xFC00_07FF } else { 0xC000_017B }
    }

    /// Whether frames hold S16 to S31 too.
    pub const fn covers_all(&self) -> bool {
        self.control & Self::COVERS_ALL != 0
    }

    /// Whether an exception's return clears the registers that it may have left results in.
    pub const fn cleared_on_return(&self) -> bool {
        self.control & Self::CLEARED_ON_RETURN != 0
    }

    pub const fn lazy_pending(&self) -> bool {
        self.control & Self::LAZY_ACTIVE != 0
    }

    pub const fn lazy_enabled(&self) -> bool {
        self.control & Self::LAZY_ENABLED != 0
    }

    /// Whether exception entry looks after floating-point state.
    pub const fn automatic(&self) -> bool {
        self.control & Self::AUTOMATIC != 0
    }
}

/// The registers of the system control space.
#[derive(Clone, Debug)]
pub struct System {
    identity: Identity,
    features: Features,
    pub nvic: Nvic,
    pub systick: SysTick,
    pub dwt: Dwt,
    pub itm: Itm,
    pub fp: FpControl,
    pub mpu: Mpu,
    pub vector_table: u32,
    /// SCR: bit 1 SLEEPONEXIT, bit 4 SEVONPEND.
    pub sleep_control: u32,
    configuration: u32,
    /// CFSR and HFSR, MMFAR, BFAR.
    pub fault_status: u32,
    pub hard_fault_status: u32,
    pub mem_manage_address: u32,
    pub bus_fault_address: u32,
    /// DFSR and DEMCR.
    pub debug_status: u32,
    debug_control: u32,
    /// DCRDR, and what DHCSR says once.
    debug_data: u32,
    was_reset: bool,
    /// ACTLR.
    auxiliary_control: u32,
    /// SFSR.
    pub secure_fault_status: u32,
    /// CPACR.
    coprocessor_access: u32,
    interrupts: u16,
}

impl System {
    pub fn new(soc: &Soc, features: Features) -> Self {
        let configuration = if features.v8m {
            CCR_V8M_ONES
        } else if soc.generation() == Generation::EarlyCortexM3 {
            0
        } else if features.mainline {
            CCR_STKALIGN
        } else {
            CCR_STKALIGN | CCR_UNALIGN_TRP
        };
        Self {
            identity: Identity::of(soc),
            features,
            nvic: Nvic::new(soc.interrupts, soc.priority_bits),
            systick: SysTick::new(soc.systick_reference_divisor),
            dwt: Dwt::new(features),
            itm: Itm::default(),
            mpu: Mpu::new(features, soc.mpu_regions()),
            fp: FpControl::at_reset(features),
            vector_table: soc.vector_base(),
            sleep_control: 0,
            configuration,
            fault_status: 0,
            hard_fault_status: 0,
            mem_manage_address: 0,
            bus_fault_address: 0,
            debug_status: 0,
            debug_control: 0,
            debug_data: 0,
            was_reset: true,
            auxiliary_control: 0,
            secure_fault_status: 0,
            coprocessor_access: 0,
            interrupts: soc.interrupts,
        }
    }

    pub const fn allows_unaligned(&self) -> bool {
        self.configuration & CCR_UNALIGN_TRP == 0
    }

    pub const fn traps_division_by_zero(&self) -> bool {
        self.configuration & CCR_DIV_0_TRP != 0
    }

    pub const fn aligns_stack(&self) -> bool {
        self.configuration & CCR_STKALIGN != 0
    }

    /// Whether stack limits do not count at negative priorities (ARMv8-M).
    pub const fn ignores_stack_limits(&self) -> bool {
        self.configuration & CCR_STKOFHFNMIGN != 0
    }

    /// CCR.NONBASETHRDENA: handlers may return to thread mode past active exceptions.
    pub const fn thread_from_any_level(&self) -> bool {
        self.configuration & 1 != 0
    }

    /// CCR.BFHFNMIGN: bus faults do not count at negative priorities.
    pub const fn ignores_bus_faults(&self) -> bool {
        self.configuration & CCR_BFHFNMIGN != 0
    }

    /// ACTLR.DISDEFWBUF.
    pub const fn has_no_write_buffer(&self) -> bool {
        self.auxiliary_control & 2 != 0
    }

    /// ACTLR.DISMCYCINT: instructions of several cycles do not give way to interrupts.
    pub const fn completes_instructions(&self) -> bool {
        self.auxiliary_control & 1 != 0
    }

    pub const fn allows_fp(&self, privileged: bool) -> bool {
        match self.coprocessor_access >> 20 & 3 {
            3 => true,
            1 => privileged,
            _ => false,
        }
    }

    /// DEMCR.MON_STEP: the monitor runs after each instruction.
    pub const fn steps_by_monitor(&self) -> bool {
        self.debug_control & (DEMCR_MON_EN | DEMCR_MON_STEP) == DEMCR_MON_EN | DEMCR_MON_STEP
    }

    /// DHCSR: no debugger is there, the core has been reset since it was last asked, and
    /// instructions retire.
    const fn read_halting_control(&mut self) -> u32 {
        let reset = std::mem::replace(&mut self.was_reset, false);
        (reset as u32) << 25 | 1 << 24 | 1 << 16
    }

    /// The exception whose set or clear register bit 0 stands for.
    fn first_of(register: u32) -> u16 {
        FIRST_INTERRUPT + (register / 4 * 32) as u16
    }

    /// SHPRn and IPRn: four priorities to a word.
    fn priorities(&self, first: u16) -> u32 {
        (0..4)
            .rev()
            .fold(0, |word, at| word << 8 | u32::from(self.nvic.priority_register(first + at)))
    }

    fn handler_state(&self) -> u32 {
        let word = |table: &[(u32, u16)], set: ExceptionSet| {
            table
                .iter()
                .fold(0, |word, &(bit, exception)| word | u32::from(set.contains(exception)) << bit)
        };
        let (enabled, active, pending) =
            (self.nvic.enabled(), self.nvic.active(), self.nvic.pending());
        let mut state = word(HANDLERS_ENABLED, enabled)
            | word(HANDLERS_ACTIVE, active)
            | word(HANDLERS_PENDING, pending);
        if self.features.v8m {
            state |=
                word(&[(2, HARD_FAULT), (5, NMI)], active) | word(&[(21, HARD_FAULT)], pending);
        }
        state
    }
}

impl Machine {
    /// Reads a word of the system space.
    pub(crate) fn read_system(&mut self, address: u32) -> Result<u32, Trap> {
        // Of the private peripheral bus only the ITM is there for unprivileged code (B3.1.1).
        let unprivileged = !self.has_privileged_access() && !ITM.contains(&address);
        if !PRIVATE_BUS.contains(&address) {
            return self.read_peripheral(address);
        }
        if unprivileged {
            return Err(self.no_answer(address));
        }
        if VENDORS[0].contains(&address.into()) {
            return self.read_peripheral(address);
        }
        let now = self.data_phase();
        self.pass_time(now);
        let mainline = self.features.mainline;
        let (spent, next) = (self.spent(now), self.cpu.pc);
        let system = &mut self.system;
        let value = match address {
            0xE000_0000..=0xE000_0FFF if mainline => {
                let value = system.itm.read(address - ITM.start);
                self.or_note(value, address)?
            }
            0xE000_1000..=0xE000_1FFF if mainline => {
                let value = system.dwt.read(address - DWT.start, &spent, next);
                self.or_note(value, address)?
            }
            0xE000_EDF0 if mainline => system.read_halting_control(),
            0xE000_EDF8 if mainline => system.debug_data,
            0xE000_EDFC if mainline => {
                let pending = system.nvic.pending().contains(DEBUG_MONITOR);
                system.debug_control | if pending { DEMCR_MON_PEND } else { 0 }
            }
            0xE000_E008 if mainline => system.auxiliary_control,
            0xE000_ED30 if mainline => system.debug_status,
            0xE000_E004 => u32::from(system.interrupts.div_ceil(32)) - 1,
            0xE000_E010 => system.systick.read_control(),
            0xE000_E014 => system.systick.read_reload(),
            0xE000_E018 => system.systick.read_value(now),
            0xE000_E01C => system.systick.calibration(),
            0xE000_E100..=0xE000_E11C => {
                system.nvic.enabled().word(System::first_of(address & 0x1F))
            }
            0xE000_E180..=0xE000_E19C => {
                system.nvic.enabled().word(System::first_of(address & 0x1F))
            }
            0xE000_E200..=0xE000_E21C => {
                system.nvic.pending().word(System::first_of(address & 0x1F))
            }
            0xE000_E280..=0xE000_E29C => {
                system.nvic.pending().word(System::first_of(address & 0x1F))
            }
            0xE000_E300..=0xE000_E31C if mainline => {
                system.nvic.active().word(System::first_of(address & 0x1F))
            }
            0xE000_E400..=0xE000_E4EC => {
                system.priorities(FIRST_INTERRUPT + (address - 0xE000_E400) as u16)
            }
            0xE000_ED00 => system.identity.cpuid,
            0xE000_ED40..=0xE000_ED70 | 0xE000_EF40..=0xE000_EF48 if mainline => {
                let value = system.identity.read(address);
                self.or_note(value, address)?
            }
            0xE000_ED04 => self.interrupt_control(),
            0xE000_ED08 => system.vector_table,
            0xE000_ED0C => 0xFA05_0000 | u32::from(system.nvic.group) << 8,
            0xE000_ED10 => system.sleep_control,
            0xE000_ED14 => system.configuration,
            0xE000_ED18 if mainline => system.priorities(4),
            0xE000_ED1C => system.priorities(8),
            0xE000_ED20 => system.priorities(12),
            0xE000_ED24 => system.handler_state(),
            0xE000_ED28 if mainline => system.fault_status,
            0xE000_ED2C if mainline => system.hard_fault_status,
            0xE000_ED34 if mainline => system.mem_manage_address,
            0xE000_ED38 if mainline => system.bus_fault_address,
            0xE000_ED88 if mainline => system.coprocessor_access,
            0xE000_ED90..=0xE000_EDC4 => {
                let value = system.mpu.read(address - 0xE000_ED90);
                self.or_note(value, address)?
            }
            0xE000_EDE4 if self.features.v8m => system.secure_fault_status,
            0xE000_EF34 if self.features.fp => system.fp.control,
            0xE000_EF38 if self.features.fp => system.fp.address,
            0xE000_EF3C if self.features.fp => system.fp.default_status,
            _ => self.or_note(None, address)?,
        };
        Ok(value)
    }

    /// What a register reads as, and zero where there is none.
    fn or_note(&mut self, value: Option<u32>, address: u32) -> Result<u32, Trap> {
        if value.is_none() {
            self.note_unmodelled(address, Direction::Read)?;
        }
        Ok(value.unwrap_or(0))
    }

    /// ICSR without its write-only bits.
    fn interrupt_control(&self) -> u32 {
        let nvic = &self.system.nvic;
        let pending = nvic.pending();
        let external = pending.iter().any(|exception| exception >= FIRST_INTERRUPT);
        // Of handler mode alone: "whether there is an active exception other than the exception
        // indicated by the current value of the IPSR" (DDI 0403, B3.2.4). Thread mode, for which
        // the manual says nothing, reads zero on chips and in QEMU.
        let ipsr = self.cpu.ipsr;
        let returns_to_base = ipsr != 0 && nvic.active().iter().all(|exception| exception == ipsr);
        u32::from(ipsr)
            | u32::from(self.features.mainline && returns_to_base) << 11
            | u32::from(nvic.vect_pending()) << 12
            | u32::from(external) << 22
            | u32::from(pending.contains(SYSTICK)) << 26
            | u32::from(pending.contains(PENDSV)) << 28
            | u32::from(pending.contains(NMI)) << 31
    }

    /// Writes to the system space. Only priorities and fault status take less than a word.
    pub(crate) fn write_system(&mut self, address: u32, value: u32, size: u32) -> Done {
        let user_trigger = address == 0xE000_EF00 && self.system.configuration & 2 != 0;
        let privileged = self.has_privileged_access();
        let unprivileged = !privileged && !ITM.contains(&address) && !user_trigger;
        let is_private = PRIVATE_BUS.contains(&address);
        if is_private && unprivileged {
            return Err(self.no_answer(address));
        }
        if !is_private || VENDORS[0].contains(&address.into()) {
            let (shift, mask) = (8 * (address & 3), u32::MAX >> (32 - 8 * size));
            return self.write_peripheral(address & !3, (value & mask) << shift, mask << shift);
        }
        let now = self.data_phase();
        let mainline = self.features.mainline;
        let spent = self.spent(now);
        if SYSTICK_REGISTERS.contains(&address) {
            // What it has counted to by then is told first.
            self.pass_time(now + 1);
        }
        let system = &mut self.system;
        match address {
            0xE000_0000..=0xE000_0FFF if mainline => {
                let writer = if privileged { Writer::Privileged } else { Writer::Unprivileged };
                let bytes = &value.to_le_bytes()[..size as usize];
                if !system.itm.write(address - ITM.start, bytes, writer) {
                    self.note_unmodelled(address, Direction::Write)?;
                } else if address == ITM.start {
                    self.console.extend(system.itm.take(0));
                }
            }
            0xE000_1000..=0xE000_1FFF if mainline => {
                if !system.dwt.write(address - DWT.start, value, &spent) {
                    self.note_unmodelled(address, Direction::Write)?;
                }
                self.update_watchers();
            }
            // Software cannot enable halting debug, nor use it (C1.6.2).
            0xE000_EDF0 | 0xE000_EDF4 if mainline => {}
            0xE000_EDF8 if mainline => system.debug_data = value,
            0xE000_EDFC if mainline => self.write_debug_control(value),
            0xE000_E008 if mainline => {
                system.auxiliary_control = value & system.identity.auxiliary_control;
                self.update_write_buffer();
            }
            0xE000_ED30 if mainline => system.debug_status &= !value,
            0xE000_E010 => system.systick.write_control(value, now + 1),
            0xE000_E014 => system.systick.write_reload(value, now + 1),
            0xE000_E018 => system.systick.write_value(now + 1),
            0xE000_E100..=0xE000_E11C => self.for_each_bit(address, value, Self::enable_interrupt),
            0xE000_E180..=0xE000_E19C => self.for_each_bit(address, value, Self::disable_interrupt),
            0xE000_E200..=0xE000_E21C => self.for_each_bit(address, value, Self::pend_soon),
            0xE000_E280..=0xE000_E29C => self.for_each_bit(address, value, Self::unpend),
            0xE000_E400..=0xE000_E4EF => {
                let first = FIRST_INTERRUPT + (address - 0xE000_E400) as u16;
                self.set_priorities(first, value, size);
            }
            0xE000_ED04 => self.write_interrupt_control(value),
            0xE000_ED08 => system.vector_table = value & if mainline { !0x7F } else { !0xFF },
            0xE000_ED0C if value >> 16 == AIRCR_KEY => {
                if mainline {
                    system.nvic.group = (value >> 8 & 7) as u8;
                }
                self.reset_requested = value & 4 != 0;
                // VECTCLRACTIVE, which is meant for a halted core.
                if value & 2 != 0 {
                    system.nvic.clear_active();
                    self.cpu.switch(|cpu| cpu.ipsr = 0);
                }
            }
            0xE000_ED10 => system.sleep_control = value & 0x16,
            0xE000_ED14 if self.features.v8m => {
                system.configuration = value & CCR_V8M_WRITABLE | CCR_V8M_ONES;
            }
            0xE000_ED14 if mainline => system.configuration = value & 0x31B,
            0xE000_ED18..=0xE000_ED23 => {
                let first = 4 + (address - 0xE000_ED18) as u16;
                self.set_priorities(first, value, size);
            }
            0xE000_ED24 if mainline => self.write_handler_state(value),
            0xE000_ED28..=0xE000_ED2B if mainline => {
                system.fault_status &= !(value << (8 * (address & 3)));
            }
            0xE000_ED2C if mainline => system.hard_fault_status &= !value,
            0xE000_ED34 if mainline => system.mem_manage_address = value,
            0xE000_ED38 if mainline => system.bus_fault_address = value,
            0xE000_ED88 if mainline => {
                let fpu = if system.features.fp { 0x00F0_0000 } else { 0 };
                system.coprocessor_access = value & fpu;
            }
            0xE000_ED90..=0xE000_EDC4 => {
                if !system.mpu.write(address - 0xE000_ED90, value) {
                    self.note_unmodelled(address, Direction::Write)?;
                }
            }
            0xE000_EF00 if mainline => self.pend_soon(FIRST_INTERRUPT + (value & 0x1FF) as u16),
            0xE000_EDE4 if self.features.v8m => system.secure_fault_status &= !value,
            0xE000_EF34 if self.features.fp => {
                system.fp.control = value & FpControl::writable(self.features);
            }
            0xE000_EF38 if self.features.fp => system.fp.address = value & !7,
            0xE000_EF3C if self.features.fp => system.fp.default_status = value & 0x07C0_0000,
            _ => self.note_unmodelled(address, Direction::Write)?,
        }
        self.attend_soon();
        Ok(())
    }

    fn for_each_bit(&mut self, address: u32, value: u32, act: impl Fn(&mut Self, u16)) {
        let first = System::first_of(address & 0x1C);
        (0..32).filter(|bit| value >> bit & 1 == 1).for_each(|bit| act(self, first + bit));
    }

    fn enable_interrupt(&mut self, exception: u16) {
        self.system.nvic.enable(exception, true);
    }

    fn disable_interrupt(&mut self, exception: u16) {
        self.system.nvic.enable(exception, false);
    }

    fn set_priorities(&mut self, first: u16, value: u32, size: u32) {
        for (at, priority) in value.to_le_bytes().into_iter().take(size as usize).enumerate() {
            let exception = first + at as u16;
            // DDI 0403, B3.2.10 to B3.2.12; ARMv6-M has SVCall, PendSV and SysTick only.
            let exists = match exception {
                MEM_MANAGE..=USAGE_FAULT | DEBUG_MONITOR => self.features.mainline,
                SECURE_FAULT => self.features.v8m,
                SVCALL | PENDSV.. => true,
                _ => false,
            };
            if exists {
                self.system.nvic.set_priority(exception, priority);
            }
        }
    }

    fn write_interrupt_control(&mut self, value: u32) {
        for (set, clear, exception) in [(28, 27, PENDSV), (26, 25, SYSTICK)] {
            if value >> set & 1 == 1 {
                self.pend_soon(exception);
            } else if value >> clear & 1 == 1 {
                self.unpend(exception);
            }
        }
        if value >> 31 == 1 {
            self.pend_soon(NMI);
        }
    }

    fn write_handler_state(&mut self, value: u32) {
        let v8m = self.features.v8m;
        let nvic = &mut self.system.nvic;
        let bits = |table: &'static [(u32, u16)]| {
            let there =
                table.iter().filter(move |&&(_, exception)| v8m || exception != SECURE_FAULT);
            there.map(move |&(bit, exception)| (exception, value >> bit & 1 == 1))
        };
        bits(HANDLERS_ENABLED).for_each(|(exception, on)| nvic.enable(exception, on));
        bits(HANDLERS_ACTIVE).for_each(|(exception, on)| nvic.set_active(exception, on));
        bits(HANDLERS_PENDING).for_each(|(exception, on)| {
            nvic.pend(exception, on);
        });
    }

    /// DEMCR: the monitor's exception, and power for the trace units.
    fn write_debug_control(&mut self, value: u32) {
        let now = self.data_phase();
        let spent = self.spent(now);
        self.system.dwt.power(value & DEMCR_TRCENA != 0, &spent);
        self.system.nvic.enable(DEBUG_MONITOR, value & DEMCR_MON_EN != 0);
        if value & DEMCR_MON_PEND == 0 {
            self.unpend(DEBUG_MONITOR);
        } else {
            self.pend_soon(DEBUG_MONITOR);
        }
        self.system.debug_control = value & DEMCR_WRITABLE;
        self.update_watchers();
    }

    /// Whether a configurable fault is handled by its own handler.
    pub(crate) fn handles_fault(&self, exception: u16) -> bool {
        exception != HARD_FAULT && self.system.nvic.enabled().contains(exception)
    }
}
